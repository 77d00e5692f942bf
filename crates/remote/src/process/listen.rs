//! Runs a program and reads its output, with limits on the time and on the number of bytes. cassay
//! runs all programs that answer a query through this module.
//!
//! A program may wait forever, print more than fits into memory, or leave children behind that keep
//! its pipes open. After the time limit, this module kills the program's process group. It does not
//! wait for other processes that have the pipes open.

use super::{Life, is_interrupted, spawn};
use anyhow::{Context, Result, bail};
use measure::clock::{self, Deadline};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Duration of one wait, and maximum delay in noticing the end of the program or Ctrl-C.
const TICK: Duration = Duration::from_millis(20);
const PIECE_BYTES: usize = 64 << 10;
/// Maximum number of pieces between two checks of the clock, enough for a full pipe of the largest
/// size (1 MiB).
const PIECES_AT_ONCE: usize = 17;

/// Maximum number of bytes in each of the two output streams. The largest answers are pod lists of
/// large clusters.
const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Time limit for a program.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Time after which cassay ends the program.
    pub limit: Duration,
    /// True if Ctrl-C ends the program earlier. False for a program that cleans up after another
    /// one.
    pub heeds_interrupt: bool,
}

/// Output stream of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Errors,
}

/// Output of a program that ended by itself.
#[derive(Debug)]
pub struct Answer {
    pub status: ExitStatus,
    pub output: Vec<u8>,
    pub errors: Vec<u8>,
}

/// Error for a program that cassay has ended after the time limit.
#[derive(Debug)]
pub struct Late {
    program: String,
    limit: Duration,
}

impl std::fmt::Display for Late {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.limit.as_secs_f64();
        write!(
            f,
            "{} did not end within {seconds} s, so cassay stopped it",
            self.program
        )
    }
}

impl std::error::Error for Late {}

impl Patience {
    /// Creates a limit that Ctrl-C shortens.
    pub fn up_to(limit: Duration) -> Patience {
        Patience {
            limit,
            heeds_interrupt: true,
        }
    }
}

/// Runs a program with `input`, and waits for its output.
///
/// # Errors
/// The program cannot be started, takes longer than `patience`, prints more than 64 MiB into one
/// stream, or is interrupted by Ctrl-C. cassay ends a started program.
pub fn ask(command: Command, input: &[u8], patience: Patience) -> Result<Answer> {
    let program = command.get_program().to_string_lossy().into_owned();
    let (mut output, mut errors) = (Vec::new(), Vec::new());
    let ended = listen(command, input, patience, |stream, piece| {
        let kept = match stream {
            Stream::Output => &mut output,
            Stream::Errors => &mut errors,
        };
        if kept.len() + piece.len() > ANSWER_BYTES_MAX {
            bail!("{program} prints more than {ANSWER_BYTES_MAX} bytes, so cassay stopped it");
        }
        kept.extend_from_slice(piece);
        Ok(())
    })?;
    let status = ended.ok_or(Late {
        program: program.clone(),
        limit: patience.limit,
    })?;
    Ok(Answer {
        status,
        output,
        errors,
    })
}

/// Runs a program with `input`, and passes its output to `take` as it arrives. Returns `None` if
/// the program took longer than `patience` and cassay has killed its process group.
///
/// # Errors
/// The program cannot be started, Ctrl-C ended it, or `take` refuses the output.
pub fn listen(
    mut command: Command,
    input: &[u8],
    patience: Patience,
    mut take: impl FnMut(Stream, &[u8]) -> Result<()>,
) -> Result<Option<ExitStatus>> {
    let program = command.get_program().to_string_lossy().into_owned();
    let stdin = if input.is_empty() {
        Stdio::null()
    } else {
        Stdio::piped()
    };
    command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running::new(spawn(command, Life::Ours)?, input)
        .with_context(|| format!("listen to {program}"))?;
    let deadline = Deadline::after(patience.limit);
    loop {
        let said_all = running.hear(&mut take).with_context(|| format!("listen to {program}"))?;
        if let Some(status) = running.status()? {
            // All output of the program has arrived. Its children may keep the pipes open.
            running.hear(&mut take)?;
            return Ok(Some(status));
        }
        if patience.heeds_interrupt && is_interrupted() {
            bail!("interrupted while {program} ran: cassay stopped it");
        }
        if deadline.passed() {
            return Ok(None);
        }
        if said_all {
            clock::sleep(TICK.min(deadline.left()));
        } else {
            running.wait(TICK.min(deadline.left()))?;
        }
    }
}

/// Program with non-blocking pipes. Dropping this value kills the program's process group.
struct Running<'i> {
    child: Child,
    input: &'i [u8],
    has_ended: bool,
    piece: Vec<u8>,
}

impl<'i> Running<'i> {
    fn new(child: Child, input: &'i [u8]) -> Result<Running<'i>> {
        let running = Running {
            child,
            input,
            has_ended: false,
            piece: vec![0; PIECE_BYTES],
        };
        for pipe in running.pipes() {
            let flags = fcntl_getfl(pipe).context("check a pipe")?;
            fcntl_setfl(pipe, flags | OFlags::NONBLOCK).context("read a pipe in time")?;
        }
        Ok(running)
    }

    fn pipes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let input = self.child.stdin.as_ref().map(AsFd::as_fd);
        let output = self.child.stdout.as_ref().map(AsFd::as_fd);
        let errors = self.child.stderr.as_ref().map(AsFd::as_fd);
        input.into_iter().chain(output).chain(errors)
    }

    /// Reads the available output, and writes as much input as the program accepts. Returns true if
    /// both streams have ended.
    fn hear(&mut self, take: &mut impl FnMut(Stream, &[u8]) -> Result<()>) -> Result<bool> {
        self.give();
        let piece = &mut self.piece;
        let output = drained(&mut self.child.stdout, piece, |piece| {
            take(Stream::Output, piece)
        })?;
        let errors = drained(&mut self.child.stderr, piece, |piece| {
            take(Stream::Errors, piece)
        })?;
        Ok(output && errors)
    }

    fn give(&mut self) {
        let Some(stdin) = &mut self.child.stdin else {
            return;
        };
        while !self.input.is_empty() {
            match stdin.write(self.input) {
                Ok(count) => self.input = &self.input[count..],
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                // If the program has closed its input because it ended, its exit status and output
                // explain the reason.
                Err(_) => break,
            }
        }
        self.child.stdin = None;
    }

    fn status(&mut self) -> Result<Option<ExitStatus>> {
        let status = self.child.try_wait().context("wait for a program")?;
        self.has_ended = status.is_some();
        Ok(status)
    }

    fn wait(&self, limit: Duration) -> Result<()> {
        let input = self.child.stdin.as_ref().map(AsFd::as_fd);
        let mut all: Vec<PollFd<'_>> = Vec::with_capacity(3);
        all.extend(input.iter().map(|pipe| PollFd::from_borrowed_fd(*pipe, PollFlags::OUT)));
        let rest = self.pipes().skip(all.len());
        all.extend(rest.map(|pipe| PollFd::from_borrowed_fd(pipe, PollFlags::IN)));
        let limit = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: limit.subsec_nanos().into(),
        };
        match poll(&mut all, Some(&limit)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error).context("wait for the output of a program"),
        }
    }
}

/// Reads the available output of a stream. Returns true at its end.
fn drained(
    stream: &mut Option<impl Read>,
    piece: &mut [u8],
    mut take: impl FnMut(&[u8]) -> Result<()>,
) -> Result<bool> {
    for _ in 0..PIECES_AT_ONCE {
        let Some(open) = stream else {
            return Ok(true);
        };
        match open.read(piece) {
            Ok(0) => *stream = None,
            Ok(count) => take(&piece[..count])?,
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e).context("read the output of a program"),
        }
    }
    Ok(stream.is_none())
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        // The child's status has not been collected, so the kernel cannot have reused the ids of
        // the child and its group.
        if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::{Identity, command};
    use std::path::Path;

    fn shell(script: &str) -> Command {
        let mut shell = command(Path::new("sh"));
        shell.args(["-c", script]);
        shell
    }

    const LONG: Patience = Patience {
        limit: Duration::from_secs(600),
        heeds_interrupt: false,
    };

    #[test]
    fn both_streams_and_the_end_of_a_program_are_heard() {
        let answer = ask(shell("echo a; echo b >&2; exit 3"), b"", LONG).unwrap();
        assert_eq!(answer.status.code(), Some(3));
        assert_eq!(
            (&*answer.output, &*answer.errors),
            (&b"a\n"[..], &b"b\n"[..])
        );
    }

    #[test]
    fn more_input_than_a_pipe_holds_comes_back_whole() {
        let input: Vec<u8> = (0..1_000_000u32).map(|n| (n % 251) as u8).collect();
        let answer = ask(shell("cat"), &input, LONG).unwrap();
        assert!(answer.output == input, "{} bytes", answer.output.len());
        // A program that does not read its input must not block cassay.
        assert!(ask(shell("true"), &input, LONG).unwrap().status.success());
    }

    #[test]
    fn a_program_that_waits_is_ended_with_what_it_started() {
        let mut said = Vec::new();
        let patience = Patience::up_to(Duration::from_millis(300));
        let script = "sleep 601 & echo $!; echo $$; wait";
        let ended = listen(shell(script), b"", patience, |_, piece| {
            said.extend_from_slice(piece);
            Ok(())
        });
        assert_eq!(ended.unwrap(), None);
        let said = String::from_utf8(said).unwrap();
        for pid in said.lines() {
            let gone = Identity::read(pid.parse().unwrap());
            assert!(gone.is_none_or(|left| left.wait_gone(Duration::from_secs(60))));
        }
        let error = ask(shell("sleep 601"), b"", patience).unwrap_err().to_string();
        assert!(error.contains("did not end within 0.3 s"), "{error}");
    }

    #[test]
    fn an_endless_answer_is_refused_and_its_program_ended() {
        let error = ask(shell("exec cat /dev/zero"), b"", LONG).unwrap_err();
        assert!(
            format!("{error:#}").contains("prints more than"),
            "{error:#}"
        );
    }

    #[test]
    fn an_endless_talker_whom_all_is_taken_of_is_ended_in_time() {
        let patience = Patience::up_to(Duration::from_millis(300));
        let ended = listen(shell("exec cat /dev/zero"), b"", patience, |_, _| Ok(()));
        assert_eq!(ended.unwrap(), None);
    }

    #[test]
    fn a_child_that_keeps_the_pipes_is_not_waited_for() {
        let answer = ask(shell("sleep 602 & echo $!"), b"", LONG).unwrap();
        let pid: u32 = String::from_utf8(answer.output).unwrap().trim().parse().unwrap();
        let left = Identity::read(pid).expect("the child outlives its parent");
        left.end(Duration::ZERO).unwrap();
    }
}
