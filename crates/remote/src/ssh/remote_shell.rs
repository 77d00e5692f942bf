//! Communication with a destination before the agent runs: finds marked lines in the output of the
//! remote shell, and sends bytes to it. Invariants: each wait has a limit, and Ctrl-C ends each
//! wait.

use crate::process;
use anyhow::{Context, Result, anyhow, bail, ensure};
use measure::clock::Deadline;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::process::{ChildStdin, ChildStdout};
use std::time::Duration;

/// Prefix of each line that the script prints. A login shell may print other lines first.
const MARK: &str = "cassay-agent: ";

/// Maximum number of bytes before the prefix, more than any message of the day.
const OUTPUT_BYTES_MAX: usize = 64 << 10;

/// Duration of one wait, after which cassay checks for an interrupt.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Maximum number of bytes to write after one wait. A pipe that is ready for writing accepts at
/// least this number.
const PIECE_BYTES: usize = 4096;

/// Time for which a destination may accept no bytes. `ssh` detects a broken connection after 15 s.
const STALL_LIMIT: Duration = Duration::from_secs(60);

/// Both directions of the connection to the destination.
pub(super) struct FarSide {
    pub(super) writer: ChildStdin,
    pub(super) reader: ChildStdout,
}

/// Reason why no marked line has arrived from the destination.
#[derive(Debug)]
pub(super) enum Unheard {
    /// The connection to the destination has ended.
    HungUp,
    /// The remote shell has printed more bytes than the limit.
    TooMuch,
    /// No marked line has arrived within this time.
    Late(Duration),
    /// Local error, or interrupt by the user.
    Other(anyhow::Error),
}

impl From<anyhow::Error> for Unheard {
    fn from(error: anyhow::Error) -> Unheard {
        Unheard::Other(error)
    }
}

impl FarSide {
    /// Returns the content of the next marked line.
    pub(super) fn line(&mut self, limit: Duration) -> Result<String, Unheard> {
        line(&mut self.reader, limit)
    }

    /// Sends a line for which the script waits.
    ///
    /// # Errors
    /// The errors of [`FarSide::send`].
    pub(super) fn say(&mut self, words: &str) -> Result<()> {
        self.send(&mut format!("{words}\n").as_bytes())
    }

    /// Sends bytes as long as the destination accepts some. If the destination has ended, returns
    /// without an error, because its output explains the reason.
    ///
    /// # Errors
    /// The bytes cannot be read, or the connection accepts no bytes for too long.
    pub(super) fn send(&mut self, bytes: &mut impl Read) -> Result<()> {
        let mut piece = [0; PIECE_BYTES];
        loop {
            let count = bytes.read(&mut piece).context("read the data to send")?;
            if count == 0 {
                return self.writer.flush().context("send");
            }
            let is_ready = wait(&self.writer, PollFlags::OUT, Deadline::after(STALL_LIMIT))?;
            ensure!(
                is_ready,
                "the machine accepted no data for {} s",
                STALL_LIMIT.as_secs()
            );
            match self.writer.write_all(&piece[..count]) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
                sent => sent.context("send")?,
            }
        }
    }
}

/// Waits until reading or writing is possible. Returns false at the deadline. Fails after an
/// interrupt by the user.
fn wait(fd: impl AsFd, flags: PollFlags, deadline: Deadline) -> Result<bool> {
    loop {
        if process::is_interrupted() {
            bail!("interrupted");
        }
        let left = Timespec::try_from(deadline.left().min(LOOK_EVERY))
            .context("compute a time to wait")?;
        match poll(&mut [PollFd::new(&fd, flags)], Some(&left)) {
            Ok(0) if deadline.passed() => return Ok(false),
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            ready => return Ok(ready.context("wait for the other machine")? > 0),
        }
    }
}

fn line(reader: &mut ChildStdout, limit: Duration) -> Result<String, Unheard> {
    let deadline = Deadline::after(limit);
    let mut said = Vec::new();
    let mut count_said = 0;
    let mut byte = [0];
    loop {
        // Without this check, a destination that never stops sending would keep this loop busy.
        if deadline.passed() || !wait(&*reader, PollFlags::IN, deadline)? {
            return Err(Unheard::Late(limit));
        }
        let count = reader.read(&mut byte).map_err(|error| anyhow!(error))?;
        if count == 0 {
            return Err(Unheard::HungUp);
        }
        if count_said == OUTPUT_BYTES_MAX {
            return Err(Unheard::TooMuch);
        }
        count_said += count;
        if byte != *b"\n" {
            said.push(byte[0]);
            continue;
        }
        // The mark may follow other output in the same line.
        let text = String::from_utf8_lossy(&said);
        if let Some((_, ours)) = text.rsplit_once(MARK) {
            return Ok(ours.trim().to_owned());
        }
        said.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Life;
    use std::path::Path;
    use std::process::{Child, Stdio};

    const LIMIT: Duration = Duration::from_secs(60);

    fn child(script: &str) -> (Child, FarSide) {
        let mut command = process::command(Path::new("sh"));
        command.args(["-c", script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = process::spawn(command, Life::Ours).unwrap();
        let (writer, reader) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        (child, FarSide { writer, reader })
    }

    fn run_script(script: &str) -> Result<String, Unheard> {
        let (mut child, mut far) = child(script);
        let line = far.line(LIMIT);
        drop(far);
        child.wait().unwrap();
        line
    }

    #[test]
    fn lines_of_a_login_shell_are_passed_over_up_to_a_limit() {
        let before = ["echo hello; printf 'x\\0y\\n'", "printf 'no end of line'"];
        for before in before {
            let ours = run_script(&format!("{before}; echo cassay-agent: is Linux"));
            assert_eq!(ours.unwrap(), "is Linux", "{before}");
        }
        assert!(matches!(run_script("echo hello"), Err(Unheard::HungUp)));
        for endless in ["head -c 70000 /dev/zero", "yes hello"] {
            assert!(
                matches!(run_script(endless), Err(Unheard::TooMuch)),
                "{endless}"
            );
        }
    }

    #[test]
    fn a_deadline_holds_though_there_is_always_more_to_read() {
        let (mut child, mut far) = child("yes hello");
        // Waits until input is available.
        assert!(wait(&far.reader, PollFlags::IN, Deadline::after(LIMIT)).unwrap());
        assert!(matches!(
            far.line(Duration::ZERO),
            Err(Unheard::Late(Duration::ZERO))
        ));
        drop(far);
        child.wait().unwrap();
    }

    #[test]
    fn more_than_a_pipe_holds_arrives_and_a_lost_peer_is_noticed() {
        let bytes = vec![b'x'; 1 << 20];
        let (mut child, mut far) = child("echo cassay-agent: $(head -c 1048576 | wc -c)");
        far.send(&mut &bytes[..]).unwrap();
        assert_eq!(far.line(LIMIT).unwrap(), "1048576");
        child.wait().unwrap();
        far.send(&mut &bytes[..]).unwrap();
        assert!(matches!(far.line(LIMIT), Err(Unheard::HungUp)));
    }
}
