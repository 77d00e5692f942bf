//! The guard of an agent: a process that does nothing but outlive it, to undo what it could not.
//!
//! It gets the whole list each time that the list changes, by a pipe that ends with the agent. An
//! agent that ends in order has an empty list by then.

use anyhow::{Context, Result};
use host::noted::undo_of_another;
use host::process::{self, Identity, Life};
use host::undo::Undo;
use reach::frame;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The argument, after the agent's own, that makes this program a guard.
pub const ARGUMENT: &str = "guard";

/// How often the guard looks whether its agent still lives.
const LOOK: Timespec = Timespec {
    tv_sec: 1,
    tv_nsec: 0,
};

/// An agent's guard, as the agent has it: there is always one.
pub struct Guard {
    name: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The pipe to the present one, and its process.
    pipe: Option<ChildStdin>,
    pid: u32,
    last: Vec<Undo>,
    dismissed: bool,
}

/// The guard's own life.
pub fn run() -> Result<()> {
    let copy = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3);
    let mut pipe = File::from(copy.context("copy the pipe")?);
    let agent =
        rustix::process::getppid().and_then(|pid| Identity::of(pid.as_raw_nonzero().get() as u32));
    let mut all = Vec::new();
    // What cannot be read is the end as well: the last list stands.
    while has_news(&pipe, agent)
        && let Ok(Some(newer)) = frame::read(&mut pipe)
    {
        all = newer;
    }
    undo_of_another(&all)
}

/// Waits for the next list, or the end of the pipe; false if the agent was killed, and one of its
/// threads holds the pipe, since it waits for a volume that is frozen.
fn has_news(pipe: &File, agent: Option<Identity>) -> bool {
    loop {
        let mut polled = [PollFd::new(pipe, PollFlags::IN)];
        match poll(&mut polled, Some(&LOOK)) {
            Ok(0) | Err(Errno::INTR) => {}
            _ => return true,
        }
        // Of a process whose first thread has ended there is no state.
        if agent.is_some_and(|agent| process::state(agent).is_none()) {
            return false;
        }
    }
}

impl Guard {
    /// Starts one for the agent `name`.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(name: &str) -> Result<Arc<Guard>> {
        let guard = Arc::new(Guard {
            name: name.to_owned(),
            state: Mutex::default(),
        });
        guard.begin(&mut guard.lock())?;
        Ok(guard)
    }

    /// Gives it the list as it is now.
    ///
    /// # Errors
    /// There is no guard, and none can be started.
    pub fn tell(self: &Arc<Guard>, all: &[Undo]) -> Result<()> {
        let mut state = self.lock();
        state.last = all.to_vec();
        match state.send() {
            Ok(()) => Ok(()),
            // It was killed: the next one gets the list, too.
            Err(_) => self.begin(&mut state),
        }
    }

    /// Lets it go: nothing is left to be undone.
    pub fn dismiss(&self) {
        let mut state = self.lock();
        state.dismissed = true;
        state.pipe = None;
    }

    fn begin(self: &Arc<Guard>, state: &mut State) -> Result<()> {
        let mut command = process::command(Path::new("/proc/self/exe"));
        command
            .arg0("cassay")
            .args([reach::ARGUMENT, &self.name, ARGUMENT])
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null());
        let mut child = process::spawn(command, Life::Detached).context("start the guard")?;
        state.pipe = child.stdin.take();
        state.pid = child.id();
        let guard = Arc::clone(self);
        std::thread::Builder::new()
            .name("guard".to_owned())
            .spawn(move || guard.replace(child))
            .context("start a thread that looks after the guard")?;
        state.send()
    }

    /// Waits for the end of a guard, which needs another then.
    fn replace(self: Arc<Guard>, mut child: Child) {
        let pid = child.id();
        let ended = child.wait();
        let mut state = self.lock();
        if state.dismissed || state.pid != pid {
            return;
        }
        if let Err(error) = self.begin(&mut state) {
            // This is the agent's log.
            let _ = writeln!(std::io::stderr(), "the guard ended ({ended:?}): {error:#}");
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn send(&mut self) -> Result<()> {
        let pipe = self.pipe.as_mut().context("there is no guard")?;
        frame::write(pipe, &self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_hears_its_agent_and_notices_that_it_was_killed_though_its_pipe_is_held() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let pipe = File::from(std::os::fd::OwnedFd::from(reader));
        let mut command = process::command(Path::new("/bin/sleep"));
        command.arg("600");
        let mut child = process::spawn(command, Life::Ours).unwrap();
        let agent = Identity::of(child.id());
        assert!(agent.is_some());
        writer.write_all(b"x").unwrap();
        assert!(has_news(&pipe, agent));
        std::io::Read::read_exact(&mut &pipe, &mut [0]).unwrap();
        // Nobody takes its status, and the pipe stays open: what is left is as of a process with a
        // thread that cannot be killed.
        child.kill().unwrap();
        assert!(!has_news(&pipe, agent));
        drop(writer);
        assert!(has_news(&pipe, agent), "that it has ended");
        child.wait().unwrap();
    }
}
