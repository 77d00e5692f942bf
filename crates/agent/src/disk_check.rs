//! Disk test in a separate process.
//!
//! Invariants: the process is in the control groups of its host, so it has the limits of the host's
//! other processes. Its file has no name, so nothing remains on the disk even if the process is
//! killed. If the process hangs, the agent does not hang.

use crate::host_state::AgentState;
use anyhow::{Context, Result, ensure};
use host::process;
use host::{Attempt, DiskWork, QueryAnswer};
use linux::volume::{BLOCK_BYTES, Blocks};
use measure::clock::{self, Deadline};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Signal;
use std::fs::File;
use std::io::{PipeReader, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Command line argument for a disk test, after the argument of an agent. The folder and the amount
/// of I/O follow.
pub const ARGUMENT: &str = "try-disk";

/// Maximum number of processes that hang on a disk. At this number, the agent starts no further
/// process.
const WAITING_MAX: usize = 4;

const POLL: Duration = Duration::from_millis(5);

/// Maximum number of files and folders in the search for a readable file.
const ENTRIES_MAX: usize = 10_000;

/// Prefix of cassay's own files. The test ignores them, because the file that fills a disk has no
/// readable content.
const OWN: &str = ".cassay";

/// Results of the write test and of the read test.
type Attempts = (Attempt, Attempt);

const WORK_MAX_BYTES: u64 = 64 << 20;

/// Tests the disk of `folder` with `requests` requests of `bytes` bytes, and prints the results.
///
/// # Errors
/// The output is closed, or the amount of I/O is zero or too large.
pub fn run(folder: &Path, requests: &str, bytes: &str) -> Result<()> {
    let number = |text: &str| {
        text.parse::<u64>().context(
            "read the number of requests and the bytes of each: a disk benchmark requires two \
             whole numbers",
        )
    };
    let work = DiskWork {
        requests: number(requests)?,
        bytes: number(bytes)?,
    };
    let all_bytes = work.requests.saturating_mul(work.bytes);
    ensure!(
        (1..=WORK_MAX_BYTES).contains(&all_bytes) && work.bytes.is_multiple_of(BLOCK_BYTES),
        "a disk benchmark of {requests} requests of {bytes} bytes is too large: the maximum is \
         {WORK_MAX_BYTES} bytes in blocks of {BLOCK_BYTES} bytes"
    );
    let writing = {
        let folder = folder.to_owned();
        std::thread::Builder::new()
            .name("write".to_owned())
            .spawn(move || {
                let begun_ns = clock::now_ns();
                let written = write(&folder, work);
                say(
                    "write",
                    begun_ns,
                    written.as_ref().map(drop).map_err(|error| *error),
                )?;
                anyhow::Ok(written.ok())
            })
            .context("start the thread that writes to the disk")?
    };
    let found = file_below(folder, work.bytes);
    if let Some(path) = &found {
        let begun_ns = clock::now_ns();
        let flags = OFlags::RDONLY | OFlags::DIRECT | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty());
        say(
            "read",
            begun_ns,
            file.and_then(|file| read(&File::from(file), work)),
        )?;
    }
    let written = writing
        .join()
        .ok()
        .context("the writing thread of the disk benchmark panicked")??;
    match (found, written) {
        (Some(_), _) => Ok(()),
        // Without another file, the test reads the file that it has just written.
        (None, Some(file)) => {
            let begun_ns = clock::now_ns();
            say("read", begun_ns, read(&file, work))
        }
        (None, None) => tell("read none"),
    }
}

/// Writes to an unnamed file on disk. Each request overwrites the previous one.
fn write(folder: &Path, work: DiskWork) -> Result<File, Errno> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
    let file = rustix::fs::open(folder, flags, Mode::from_raw_mode(0o600))?;
    let blocks = Blocks::new(work.bytes);
    for _ in 0..work.requests {
        rustix::io::pwrite(&file, blocks.bytes(), 0)?;
    }
    rustix::fs::fsync(&file)?;
    Ok(File::from(file))
}

/// Repeatedly reads the beginning of a file that was opened for direct I/O.
fn read(file: &File, work: DiskWork) -> Result<(), Errno> {
    let mut reads = (0..work.requests).map(|_| Blocks::read(file, 0, work.bytes));
    let read = reads.try_for_each(|read| read.map(drop));
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// Finds a file of at least `bytes` bytes below a folder, except cassay's files. Returns `None` if
/// none of the first [`ENTRIES_MAX`] entries is such a file.
fn file_below(folder: &Path, bytes: u64) -> Option<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    let mut left = ENTRIES_MAX;
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder).into_iter().flatten();
        for entry in entries.filter_map(Result::ok) {
            left = left.checked_sub(1)?;
            let Ok(found) = entry.metadata() else {
                continue;
            };
            let is_own = entry.file_name().to_string_lossy().starts_with(OWN);
            if found.is_dir() {
                folders.push(entry.path());
            } else if found.is_file() && found.len() >= bytes && !is_own {
                return Some(entry.path());
            }
        }
    }
    None
}

fn say(what: &str, begun_ns: u64, done: Result<(), Errno>) -> Result<()> {
    let took_ns = clock::now_ns().saturating_sub(begun_ns);
    match done {
        Ok(()) => tell(&format!("{what} took {took_ns}")),
        Err(error) => tell(&format!("{what} refused {}", error.raw_os_error())),
    }
}

fn tell(line: &str) -> Result<()> {
    let line = format!("{line}\n");
    let written = rustix::io::write(rustix::stdio::stdout(), line.as_bytes());
    written.map(drop).context("report the result of a disk benchmark")
}

/// Tests the disk of `folder` in a separate process. A read or write that exceeds `limit` results
/// in [`Attempt::Silent`].
///
/// Fails if the folder does not belong to the agent, its volume is not mounted, or no process can
/// be started.
pub(crate) fn look(
    here: &AgentState,
    folder: &Path,
    work: DiskWork,
    limit: Duration,
) -> Result<QueryAnswer> {
    let seen = |(write, read): Attempts| QueryAnswer::Disk { write, read };
    // Without a mounted volume, the test would measure the disk below the mount point.
    here.files.admit(folder)?;
    let deadline = Deadline::after(limit);
    let mut waiting = here.trials();
    loop {
        waiting.retain(|one| here.children.runs(*one));
        if waiting.len() < WAITING_MAX {
            break;
        }
        if deadline.passed() {
            return Ok(seen((Attempt::Silent, Attempt::Silent)));
        }
        // A process that hangs on a disk may be about to end.
        drop(waiting);
        clock::sleep(POLL);
        waiting = here.trials();
    }
    let (output, input) = std::io::pipe().context("make a pipe")?;
    let mut command = process::command(Path::new("/proc/self/exe"));
    command
        .arg(remote::ARGUMENT)
        .arg(here.name())
        .arg(ARGUMENT)
        .arg(folder)
        .arg(work.requests.to_string())
        .arg(work.bytes.to_string());
    command.current_dir("/").stdout(input).stderr(std::process::Stdio::null());
    if let Ok(group) = here.group() {
        group.let_in(&mut command)?;
    }
    let process = here.children.start(command)?;
    waiting.push(process);
    drop(waiting);
    let said = heard(&listen(output, deadline)?);
    process.signal(Signal::KILL);
    Ok(seen(said))
}

/// Reads the output until its end or the deadline.
fn listen(mut pipe: PipeReader, deadline: Deadline) -> Result<String> {
    let mut said = Vec::new();
    let mut buffer = [0; 256];
    loop {
        let left = Timespec::try_from(deadline.left()).context("wait for this long")?;
        let mut polled = [PollFd::new(&pipe, PollFlags::IN)];
        match poll(&mut polled, Some(&left)) {
            Ok(0) => break,
            Err(Errno::INTR) => continue,
            ready => ready.context("wait for a disk benchmark")?,
        };
        match pipe.read(&mut buffer).context("receive the result of a disk benchmark")? {
            0 => break,
            count => said.extend_from_slice(&buffer[..count]),
        }
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

fn heard(said: &str) -> Attempts {
    let of = |what: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(what));
        let mut words = line.unwrap_or_default().split_ascii_whitespace();
        let word = words.next();
        let number = words.next().and_then(|number| number.parse().ok());
        match (word, number) {
            (Some("took"), Some(ns)) => Attempt::Took(Duration::from_nanos(ns)),
            (Some("refused"), Some(errno)) => Attempt::Refused(errno as i32),
            (Some("none"), _) => Attempt::None,
            _ => Attempt::Silent,
        }
    };
    (of("write "), of("read "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_cut_off_on_the_way_count_as_silent() {
        let took = Attempt::Took(Duration::from_nanos(7));
        assert_eq!(
            heard("write took 7\nread refused 5\n"),
            (took, Attempt::Refused(5))
        );
        assert_eq!(heard("read none\nwrite took 7"), (took, Attempt::None));
        for cut in ["", "write", "write took", "write took x", "reads took 7"] {
            assert_eq!(heard(cut), (Attempt::Silent, Attempt::Silent), "{cut}");
        }
    }
}
