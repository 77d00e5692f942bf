//! Starts child processes, identifies processes, and ends them.
//!
//! One thread, the *keeper*, starts all child processes, because the kernel ties a child's
//! parent-death signal to the thread that forked it. A child of a short-lived thread would be
//! killed when that thread ends. The keeper runs until this process ends, so kill -9 of this
//! process also kills its children, unless they are detached. Before cassay signals another
//! process, it compares the process's start time, because process ids are reused.

mod listen;

pub use listen::{Answer, Late, Patience, Stream, ask, listen};

use anyhow::{Context, Result, anyhow};
use measure::clock::{self, Deadline};
use rustix::process::{Pid, Signal, getpid, getppid, kill_process};
use serde::{Deserialize, Serialize};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Interval between two checks of a process that is ending. A JVM takes about 1 s to stop.
const POLL: Duration = Duration::from_millis(10);

/// Time limit for a killed process to end. The kernel must free its memory.
pub const KILL_LIMIT: Duration = Duration::from_secs(20);

/// Lifetime of a child process, relative to this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// The kernel kills the child when this process ends for any reason.
    Ours,
    /// The child outlives this process. It has a separate session and no parent-death signal.
    Detached,
}

/// Identity of a process, which remains valid in other processes and later commands, although
/// process ids are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    pub pid: u32,
    /// Time from boot to the start of the process, in clock ticks (field 22 of `/proc/PID/stat`).
    pub start_ticks: u64,
}

/// Machine or container within which a process id is unique.
///
/// Two containers on one machine share a kernel, but do not see each other's processes. Two
/// machines created from one image may have the same machine id, but different host names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessSpace {
    /// Host name of the machine or container.
    name: String,
    /// Content of `/etc/machine-id`. Empty without this file.
    id: String,
    /// PID namespace, as the link `/proc/self/ns/pid` identifies it.
    pids: String,
}

impl ProcessSpace {
    /// Returns the machine or container of this process.
    pub fn ours() -> ProcessSpace {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let pids = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
        ProcessSpace {
            name: read("/proc/sys/kernel/hostname").trim().to_owned(),
            id: read("/etc/machine-id").trim().to_owned(),
            pids: pids.to_string_lossy().into_owned(),
        }
    }

    /// Returns a different machine for tests, with another host name.
    pub fn called(name: &str) -> ProcessSpace {
        ProcessSpace {
            name: name.to_owned(),
            ..ProcessSpace::ours()
        }
    }
}

impl std::fmt::Display for ProcessSpace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} ({})", self.name, self.pids)
    }
}

impl Identity {
    /// Returns the identity of a running process. Returns `None` if the process does not exist or
    /// is a zombie.
    pub fn read(pid: u32) -> Option<Identity> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let (state, start_ticks) = parse_stat(&stat)?;
        (state != 'Z' && state != 'X').then_some(Identity { pid, start_ticks })
    }

    /// Returns the identity of a child that has not been reaped, running or not.
    ///
    /// # Errors
    /// The child has been reaped.
    pub fn from_child(child: &Child) -> Result<Identity> {
        let pid = child.id();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .with_context(|| format!("check the child {pid}"))?;
        let (_, start_ticks) =
            parse_stat(&stat).context("read a line in /proc that has an unexpected form")?;
        Ok(Identity { pid, start_ticks })
    }

    pub fn own() -> Identity {
        let pid = getpid().as_raw_nonzero().get() as u32;
        Identity::read(pid).unwrap_or(Identity {
            pid,
            start_ticks: 0,
        })
    }

    /// Returns true if the process still runs.
    pub fn alive(self) -> bool {
        Identity::read(self.pid) == Some(self)
    }

    /// Returns true if threads of the process still run although its first thread has ended. Such
    /// threads keep the ports of the process open.
    fn has_threads(self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid));
        let same = stat.ok().and_then(|stat| parse_stat(&stat));
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.pid));
        same.is_some_and(|(_, ticks)| ticks == self.start_ticks)
            && tasks.is_ok_and(|tasks| tasks.count() > 1)
    }

    /// Sends a signal to the process, unless its id now belongs to another one.
    pub fn signal(self, signal: Signal) {
        if self.alive()
            && let Some(pid) = Pid::from_raw(self.pid as i32)
        {
            // The process may end between the check and the signal.
            let _ = kill_process(pid, signal);
        }
    }

    /// Waits until the process has ended. Returns true if it ended within `limit`.
    pub fn wait_gone(self, limit: Duration) -> bool {
        let deadline = Deadline::after(limit);
        while self.alive() || self.has_threads() {
            if deadline.passed() {
                return false;
            }
            clock::sleep(POLL);
        }
        true
    }

    /// Sends SIGTERM, and SIGKILL after `grace`. A zero `grace` means SIGKILL only. Returns true if
    /// the process ended without SIGKILL.
    ///
    /// # Errors
    /// The process still exists after SIGKILL, because it is stuck in the kernel, or this user may
    /// not kill it.
    pub fn end(self, grace: Duration) -> Result<bool> {
        if !grace.is_zero() {
            self.signal(Signal::TERM);
            if self.wait_gone(grace) {
                return Ok(true);
            }
        }
        self.signal(Signal::KILL);
        if self.wait_gone(KILL_LIMIT) {
            return Ok(false);
        }
        Err(self.stuck())
    }

    pub fn stuck(self) -> anyhow::Error {
        anyhow!(
            "process {} is still running {} s after SIGKILL; see /proc/{}/stack",
            self.pid,
            KILL_LIMIT.as_secs(),
            self.pid
        )
    }
}

/// Parses the state and the start time from `/proc/PID/stat`. The process name, in parentheses, may
/// contain any characters.
fn parse_stat(stat: &str) -> Option<(char, u64)> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    let mut fields = after_name.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    // `state` is field 3, and the start time is field 22.
    let start_ticks = fields.nth(18)?.parse().ok()?;
    Some((state, start_ticks))
}

/// Returns the kernel's state letter of a process, as in `ps`. Returns `None` if the process has
/// ended.
pub fn state(process: Identity) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.pid)).ok()?;
    let (state, start_ticks) = parse_stat(&stat)?;
    (start_ticks == process.start_ticks && !"ZX".contains(state)).then_some(state)
}

/// Returns the program and the arguments of a process. Returns `None` if the process has ended, or
/// this user may not read its arguments.
pub fn command_line(pid: u32) -> Option<Vec<String>> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.split_terminator('\0').map(str::to_string).collect())
}

pub fn all_pids() -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// Returns the running JVMs whose command lines contain all these arguments.
pub fn jvms_with(arguments: &[String]) -> Vec<Identity> {
    let is_one = |pid: &u32| {
        command_line(*pid).is_some_and(|line| {
            let program = line.first().map(|program| program.rsplit('/').next() == Some("java"));
            program == Some(true) && arguments.iter().all(|argument| line.contains(argument))
        })
    };
    // If the process id is reused after this read, the start time differs.
    let identities = all_pids().into_iter().filter_map(Identity::read);
    identities.filter(|identity| is_one(&identity.pid)).collect()
}

/// Creates a command. The caller must start it by [`spawn`], [`ask`] or [`listen()`], which
/// determine its lifetime.
#[expect(
    clippy::disallowed_methods,
    reason = "the only function that creates commands"
)]
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.stdin(std::process::Stdio::null());
    command
}

static INTERRUPT: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Sets the flag that [`is_interrupted`] returns. When it is true, long waits end early, so that
/// cassay can end all started processes normally. Only the first call has an effect.
pub fn heed(flag: Arc<AtomicBool>) {
    let _ = INTERRUPT.set(flag);
}

/// Returns true if the user has interrupted the program.
pub fn is_interrupted() -> bool {
    let flag = INTERRUPT.get();
    flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
}

type Job = Box<dyn FnOnce() + Send>;

/// Returns the channel to the thread that forks every child, see the header of this module.
fn keeper() -> Result<&'static Sender<Job>> {
    static KEEPER: OnceLock<Option<Sender<Job>>> = OnceLock::new();
    KEEPER
        .get_or_init(|| {
            let (sender, receiver) = channel::<Job>();
            std::thread::Builder::new()
                .name("keeper".to_string())
                .spawn(move || receiver.into_iter().for_each(|job| job()))
                .ok()
                .map(|_| sender)
        })
        .as_ref()
        .context("start the thread that owns child processes")
}

/// # Errors
/// The program cannot be executed.
pub fn spawn(mut command: Command, life: Life) -> Result<Child> {
    let program = command.get_program().to_string_lossy().into_owned();
    let parent = getpid();
    let prepare = move || {
        match life {
            Life::Ours => {
                rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
                // If the parent died before the call above, no signal arrives.
                if getppid() != Some(parent) {
                    return Err(std::io::Error::other("the parent process ended"));
                }
                // With a separate process group, Ctrl-C reaches only this program, which then stops
                // the child normally.
                rustix::process::setpgid(None, None)?;
            }
            Life::Detached => {
                rustix::process::setsid()?;
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec, the child makes only system calls. It does not allocate or
    // lock. (The error for a lost parent allocates, but the child then only reports the error and
    // exits.)
    unsafe { command.pre_exec(prepare) };
    let (answer, answered) = channel();
    keeper()?
        .send(Box::new(move || {
            // Without a receiver, the caller has panicked, and the child ends with this process.
            let _ = answer.send(command.spawn());
        }))
        .ok()
        .context("the thread that owns child processes ended")?;
    answered
        .recv()
        .context("the thread that owns child processes ended")?
        .with_context(|| format!("start {program}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_time_is_found_behind_any_name() {
        let tail = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20 21";
        for name in ["(java)", "(a b) c)", "()", "(((("] {
            let stat = format!("12 {name}) {tail}");
            assert_eq!(parse_stat(&stat), Some(('S', 4711)), "{stat}");
        }
        assert_eq!(parse_stat("12 (java) S 1 2"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn a_process_is_only_itself_with_its_start_time() {
        let own = Identity::own();
        assert!(own.alive());
        let other = Identity {
            start_ticks: own.start_ticks + 1,
            ..own
        };
        assert!(!other.alive());
    }

    #[test]
    fn a_child_is_ended_and_a_stranger_with_its_id_is_not() {
        let mut sleep = command(Path::new("sleep"));
        sleep.arg("600");
        let mut child = spawn(sleep, Life::Ours).unwrap();
        let identity = Identity::read(child.id()).unwrap();
        let stranger = Identity {
            start_ticks: identity.start_ticks + 1,
            ..identity
        };
        stranger.signal(Signal::KILL);
        assert!(identity.alive(), "a wrong start time must not be signalled");
        identity.end(Duration::ZERO).unwrap();
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let missing = command(Path::new("/nonexistent/java"));
        let error = spawn(missing, Life::Ours).unwrap_err();
        assert!(
            format!("{error:#}").contains("/nonexistent/java"),
            "{error:#}"
        );
    }
}
