//! Guard of an agent: a process that outlives the agent and undoes its remaining changes.
//!
//! The guard receives the complete undo list at every change, through a pipe that closes when the
//! agent ends. An agent that ends normally first sends an empty list.

use anyhow::{Context, Result};
use host::process::{self, Identity, Life};
use host::undo::Undo;
use host::undo_file::undo_of_another;
use remote::frame;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::{PipeWriter, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Command line argument for a guard, after the argument of an agent.
pub const ARGUMENT: &str = "guard";

/// Interval between two checks whether the agent is alive.
const LOOK: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// Capacity of a pipe in bytes. Linux uses 16 pages of 4 KiB.
const PIPE_BYTES: usize = 64 << 10;

/// An agent's control over its guard. If the guard is killed, the agent starts another one.
pub struct Guard {
    name: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Pipe to the current guard, whose process id is `pid`.
    pipe: Option<PipeWriter>,
    pid: u32,
    last: Vec<Undo>,
    dismissed: bool,
}

/// Receives undo lists until the pipe closes or the agent is killed, and then undoes the changes of
/// the last list.
pub fn run() -> Result<()> {
    let copy = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3);
    let mut pipe = File::from(copy.context("copy the pipe")?);
    let agent = rustix::process::getppid()
        .and_then(|pid| Identity::read(pid.as_raw_nonzero().get() as u32));
    let mut all = Vec::new();
    // An unreadable message counts as the end of the pipe.
    while has_news(&pipe, agent)
        && let Ok(Some(newer)) = frame::read(&mut pipe)
    {
        all = newer;
    }
    undo_of_another(&all)
}

/// Waits for the next list or the end of the pipe. Returns false if the agent was killed while one
/// of its threads waits for a frozen volume and keeps the pipe open.
fn has_news(pipe: &File, agent: Option<Identity>) -> bool {
    loop {
        let mut polled = [PollFd::new(pipe, PollFlags::IN)];
        match poll(&mut polled, Some(&LOOK)) {
            Ok(0) | Err(Errno::INTR) => {}
            _ => return true,
        }
        // `None` means that the first thread of the agent has ended, even if others still exist.
        if agent.is_some_and(|agent| process::state(agent).is_none()) {
            return false;
        }
    }
}

impl Guard {
    /// # Errors
    /// The guard cannot be started.
    pub fn start(name: &str) -> Result<Arc<Guard>> {
        let guard = Arc::new(Guard {
            name: name.to_owned(),
            state: Mutex::default(),
        });
        guard.begin(&mut guard.lock())?;
        Ok(guard)
    }

    /// # Errors
    /// The guard has ended, and no other guard can be started.
    pub fn tell(self: &Arc<Guard>, all: &[Undo]) -> Result<()> {
        let mut state = self.lock();
        state.last = all.to_vec();
        match state.send() {
            Ok(()) => Ok(()),
            // The guard was killed. Its replacement also receives the list.
            Err(_) => self.begin(&mut state),
        }
    }

    /// Ends the guard, because the undo list is empty.
    pub fn dismiss(&self) {
        let mut state = self.lock();
        state.dismissed = true;
        state.pipe = None;
    }

    /// Writes the list to the pipe before the guard starts, up to the capacity of the pipe. So
    /// every guard receives a list, even if the agent ends immediately.
    fn begin(self: &Arc<Guard>, state: &mut State) -> Result<()> {
        let (reader, mut pipe) = std::io::pipe().context("create a pipe to the guard")?;
        let mut list = Vec::new();
        frame::write(&mut list, &state.last)?;
        let (early, late) = list.split_at(list.len().min(PIPE_BYTES));
        pipe.write_all(early).context("notify the guard")?;
        let mut command = process::command(Path::new("/proc/self/exe"));
        command
            .arg0("cassay")
            .args([remote::ARGUMENT, &self.name, ARGUMENT])
            .current_dir("/")
            .stdin(reader)
            .stdout(Stdio::null());
        let child = process::spawn(command, Life::Detached).context("start the guard")?;
        state.pid = child.id();
        let guard = Arc::clone(self);
        std::thread::Builder::new()
            .name("guard".to_owned())
            .spawn(move || guard.replace(child))
            .context("start a thread that waits for the guard")?;
        pipe.write_all(late).context("notify the guard")?;
        state.pipe = Some(pipe);
        Ok(())
    }

    /// Waits until a guard has ended, and then starts another one unless the guard was dismissed.
    fn replace(self: Arc<Guard>, mut child: Child) {
        let pid = child.id();
        let ended = child.wait();
        let mut state = self.lock();
        if state.dismissed || state.pid != pid {
            return;
        }
        if let Err(error) = self.begin(&mut state) {
            // The standard error of this process is the agent's log.
            let _ = writeln!(
                std::io::stderr(),
                "the guard of the agent ended ({ended:?}), and its replacement did not start: \
                 {error:#}"
            );
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn send(&mut self) -> Result<()> {
        let pipe = self.pipe.as_mut().context("the guard process of the agent is not running")?;
        frame::write(pipe, &self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_notices_a_killed_agent_though_its_pipe_is_held_open() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(reader));
        let mut command = process::command(Path::new("/bin/sleep"));
        command.arg("600");
        let mut child = process::spawn(command, Life::Ours).unwrap();
        let agent = Identity::read(child.id());
        assert!(agent.is_some());
        writer.write_all(b"x").unwrap();
        assert!(has_news(&pipe, agent));
        std::io::Read::read_exact(&mut &pipe, &mut [0]).unwrap();
        // Simulates an agent with a thread that cannot be killed: its exit status is not collected,
        // and the pipe remains open.
        child.kill().unwrap();
        assert!(!has_news(&pipe, agent));
        drop(writer);
        assert!(
            has_news(&pipe, agent),
            "the pipe reports the end of the agent"
        );
        child.wait().unwrap();
    }
}
