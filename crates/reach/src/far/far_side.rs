//! The far side before it is an agent: lines of ours among whatever its shell prints, and bytes to
//! it. What must hold: no wait is without a limit, and none goes on after Ctrl-C.

use crate::process;
use anyhow::{Context, Result, anyhow, bail, ensure};
use measure::clock::Deadline;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::process::{ChildStdin, ChildStdout};
use std::time::Duration;

/// What a line of ours begins with: a login shell may say something before.
const MARK: &str = "cassay-agent: ";

/// The most that is read in search of it: more than any message of the day, and little memory.
const SAID_BYTES_MAX: usize = 64 << 10;

/// How long one wait is, between two looks at whether somebody wants us to end.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How much is written after one wait: what a pipe always takes that takes anything.
const PIECE_BYTES: usize = 4096;

/// How long it may take nothing of what is sent: `ssh` itself sees a line that is cut after 15 s.
const STALL_LIMIT: Duration = Duration::from_secs(60);

/// Both ways to the far side.
pub(super) struct FarSide {
    pub(super) writer: ChildStdin,
    pub(super) reader: ChildStdout,
}

/// Why the far side is not heard.
#[derive(Debug)]
pub(super) enum Unheard {
    /// It is gone.
    HungUp,
    /// Its shell prints more than we read.
    TooMuch,
    /// It is silent for so long.
    Late(Duration),
    /// Something here, or somebody who wants us to end.
    Other(anyhow::Error),
}

impl From<anyhow::Error> for Unheard {
    fn from(error: anyhow::Error) -> Unheard {
        Unheard::Other(error)
    }
}

impl FarSide {
    /// What its next line of ours says.
    pub(super) fn line(&mut self, limit: Duration) -> Result<String, Unheard> {
        line(&mut self.reader, limit)
    }

    /// Says words that its script waits for.
    ///
    /// # Errors
    /// As [`FarSide::send`].
    pub(super) fn say(&mut self, words: &str) -> Result<()> {
        self.send(&mut format!("{words}\n").as_bytes())
    }

    /// Sends it bytes, for as long as it takes some. Why one is gone that takes no more, what is
    /// heard of it tells.
    ///
    /// # Errors
    /// They cannot be read, or it takes nothing.
    pub(super) fn send(&mut self, bytes: &mut impl Read) -> Result<()> {
        let mut piece = [0; PIECE_BYTES];
        loop {
            let count = bytes.read(&mut piece).context("read what is sent")?;
            if count == 0 {
                return self.writer.flush().context("send");
            }
            let is_ready = wait(&self.writer, PollFlags::OUT, Deadline::after(STALL_LIMIT))?;
            ensure!(is_ready, "it takes nothing for {} s", STALL_LIMIT.as_secs());
            match self.writer.write_all(&piece[..count]) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
                sent => sent.context("send")?,
            }
        }
    }
}

/// Waits until something can be read or written; false where it cannot by the deadline.
fn wait(fd: impl AsFd, flags: PollFlags, deadline: Deadline) -> Result<bool> {
    loop {
        if process::is_interrupted() {
            bail!("interrupted");
        }
        let left = Timespec::try_from(deadline.left().min(LOOK_EVERY))
            .context("a time that can be waited")?;
        match poll(&mut [PollFd::new(&fd, flags)], Some(&left)) {
            Ok(0) if deadline.passed() => return Ok(false),
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            ready => return Ok(ready.context("wait for the far side")? > 0),
        }
    }
}

fn line(reader: &mut ChildStdout, limit: Duration) -> Result<String, Unheard> {
    let deadline = Deadline::after(limit);
    let mut said = Vec::new();
    let mut count_said = 0;
    let mut byte = [0];
    loop {
        // A far side that never stops talking is always ready to be read.
        if deadline.passed() || !wait(&*reader, PollFlags::IN, deadline)? {
            return Err(Unheard::Late(limit));
        }
        let count = reader.read(&mut byte).map_err(|error| anyhow!(error))?;
        if count == 0 {
            return Err(Unheard::HungUp);
        }
        if count_said == SAID_BYTES_MAX {
            return Err(Unheard::TooMuch);
        }
        count_said += count;
        if byte != *b"\n" {
            said.push(byte[0]);
            continue;
        }
        // What is printed without an end of line stands before ours.
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

    fn said(script: &str) -> Result<String, Unheard> {
        let (mut child, mut far) = child(script);
        let line = far.line(LIMIT);
        drop(far);
        child.wait().unwrap();
        line
    }

    #[test]
    fn what_a_login_shell_says_before_is_passed_over_up_to_a_limit() {
        let before = ["echo hello; printf 'x\\0y\\n'", "printf 'no end of line'"];
        for before in before {
            let ours = said(&format!("{before}; echo cassay-agent: is Linux"));
            assert_eq!(ours.unwrap(), "is Linux", "{before}");
        }
        assert!(matches!(said("echo hello"), Err(Unheard::HungUp)));
        for endless in ["head -c 70000 /dev/zero", "yes hello"] {
            assert!(matches!(said(endless), Err(Unheard::TooMuch)), "{endless}");
        }
    }

    #[test]
    fn a_deadline_holds_though_there_is_always_more_to_read() {
        let (mut child, mut far) = child("yes hello");
        // What can be read is there before the time is up.
        assert!(wait(&far.reader, PollFlags::IN, Deadline::after(LIMIT)).unwrap());
        assert!(matches!(
            far.line(Duration::ZERO),
            Err(Unheard::Late(Duration::ZERO))
        ));
        drop(far);
        child.wait().unwrap();
    }

    #[test]
    fn more_than_a_pipe_holds_arrives_whole_and_who_is_gone_is_heard_of() {
        let bytes = vec![b'x'; 1 << 20];
        let (mut child, mut far) = child("echo cassay-agent: $(head -c 1048576 | wc -c)");
        far.send(&mut &bytes[..]).unwrap();
        assert_eq!(far.line(LIMIT).unwrap(), "1048576");
        child.wait().unwrap();
        far.send(&mut &bytes[..]).unwrap();
        assert!(matches!(far.line(LIMIT), Err(Unheard::HungUp)));
    }
}
