//! Finds, stops and starts the process of a server that cassay did not start.
//!
//! Invariants: a process is identified by its socket or by its supervisor (systemd, Docker), never
//! by its name. cassay starts a server only after it has checked that the server is not running.

use crate::invocation::{self, ProgramResult};
use crate::process::Identity;
use crate::service::Service;
use anyhow::{Context, Result, bail, ensure};
use linux::listener;
use measure::clock::{self, Deadline};
use std::path::PathBuf;
use std::time::Duration;
use target_spec::{Invocation, ProcessControl};

/// Time limit of a program that only reports the state of a server.
const TELL_LIMIT: Duration = Duration::from_secs(10);

/// Time limit of a program that stops a server. It is long, because the server drains, and systemd
/// waits 90 s by default.
const STOP_LIMIT: Duration = Duration::from_secs(120);

/// Time for which a process may still exist after the stop program has ended.
const GONE_LIMIT: Duration = Duration::from_secs(20);

/// Time to wait for the process of a started server. Without systemd or Docker, cassay finds the
/// process only once it accepts connections, which may be later than this limit.
const FOUND_LIMIT: Duration = Duration::from_secs(20);

const POLL: Duration = Duration::from_millis(250);

impl Service {
    /// Returns the current process of the server. Returns `None` if the server is not running.
    ///
    /// # Errors
    /// The process cannot be determined: the owner of its socket is not visible, or a program
    /// fails.
    pub fn process(&self) -> Result<Option<Identity>> {
        let pid = match &self.control {
            // The socket may belong to Docker's own proxy, so cassay gets the process from Docker.
            Some(ProcessControl::Docker(name)) => {
                let words = ["docker", "inspect", "--format", "{{.State.Pid}}", name];
                told_pid(&words)?
            }
            Some(ProcessControl::Systemd(unit)) => match listener::pid(self.serves) {
                Ok(Some(pid)) => Some(pid),
                // The server does not accept connections, or this user may not see the owner of the
                // socket.
                _ => {
                    let words = ["systemctl", "show", "--property=MainPID", "--value", unit];
                    told_pid(&words)?
                }
            },
            Some(ProcessControl::Command { .. }) | None => listener::pid(self.serves)?,
        };
        Ok(pid.and_then(Identity::read))
    }

    /// Stops the server, and waits until `process` has ended.
    ///
    /// # Errors
    /// The stop program fails, or the process still exists.
    pub fn stop(&self, process: Identity) -> Result<()> {
        let [stop, _] = self.programs()?;
        invocation::succeed(&stop, STOP_LIMIT)?;
        wait_until_gone(process)
            .with_context(|| format!("{stop} succeeded, but the server did not end"))
    }

    /// Kills the process of the server, and waits until it has ended.
    ///
    /// # Errors
    /// No program that starts the server is known, or the process still exists.
    pub fn kill(&self, process: Identity) -> Result<()> {
        // This check comes first, because cassay must not kill a server that it cannot start again.
        self.programs()?;
        process.signal(rustix::process::Signal::KILL);
        wait_until_gone(process)
    }

    /// Starts the server unless it is running. Returns the server's process, if the process appears
    /// soon.
    ///
    /// # Errors
    /// The start program fails.
    pub fn start(&self) -> Result<Option<Identity>> {
        if let Some(process) = self.process()? {
            return Ok(Some(process));
        }
        let [_, start] = self.programs()?;
        invocation::succeed(&start, invocation::LIMIT)?;
        let deadline = Deadline::after(FOUND_LIMIT);
        loop {
            match self.process()? {
                None if !deadline.passed() => clock::sleep(POLL),
                found => return Ok(found),
            }
        }
    }

    /// Starts the server like [`Service::start`], but does not wait for its process.
    ///
    /// # Errors
    /// The start program fails.
    pub(crate) fn start_again(&self) -> Result<()> {
        // If the state of the server is unknown, cassay starts it, which does no harm to a running
        // server.
        if matches!(self.process(), Ok(Some(_))) {
            return Ok(());
        }
        let [_, start] = self.programs()?;
        invocation::succeed(&start, invocation::LIMIT)
    }

    fn programs(&self) -> Result<[Invocation; 2]> {
        let control = self.control.as_ref().with_context(|| {
            format!(
                "cassay knows no program that starts the server of {}: set `control` for its \
                 machine",
                self.serves
            )
        })?;
        let folder = PathBuf::from("/");
        let programs = control.programs(self.serves.ip());
        Ok(programs.map(|words| Invocation {
            words,
            folder: folder.clone(),
        }))
    }
}

/// Returns the process id that a program prints. Returns `None` if the program prints 0.
fn told_pid(words: &[&str]) -> Result<Option<u32>> {
    let what = Invocation {
        words: words.iter().map(|word| (*word).to_owned()).collect(),
        folder: "/".into(),
    };
    let ProgramResult { code, said } = invocation::run(&what, TELL_LIMIT)?;
    ensure!(code == Some(0), "{what} has failed: {said}");
    match said.parse() {
        Ok(0) => Ok(None),
        Ok(pid) => Ok(Some(pid)),
        Err(_) => bail!("{what} reports no process id: {said}"),
    }
}

fn wait_until_gone(process: Identity) -> Result<()> {
    let deadline = Deadline::after(GONE_LIMIT);
    while process.alive() {
        ensure!(
            !deadline.passed(),
            "process {} is still running after {} s",
            process.pid,
            GONE_LIMIT.as_secs()
        );
        clock::sleep(POLL);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{SocketAddr, TcpListener};

    fn service(serves: SocketAddr, start: &[&str]) -> Service {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        Service {
            serves,
            control: Some(ProcessControl::Command {
                stop: words(&["true"]),
                start: words(start),
            }),
        }
    }

    #[test]
    fn a_running_service_is_not_started_and_a_stopped_one_is() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let fails = service(address, &["false"]);
        assert_eq!(fails.process().unwrap(), Some(Identity::own()));
        assert_eq!(fails.start().unwrap(), Some(Identity::own()));
        fails.start_again().unwrap();
        drop(listener);
        assert_eq!(fails.process().unwrap(), None);
        let said = fails.start_again().unwrap_err().to_string();
        assert!(said.starts_with("false ended with 1"), "{said}");
        service(address, &["true"]).start_again().unwrap();
    }

    #[test]
    fn an_unsupervised_process_is_not_killed_a_survivor_is_reported() {
        let unknown = Service {
            serves: "127.0.0.1:1".parse().unwrap(),
            control: None,
        };
        let said = unknown.kill(Identity::own()).unwrap_err().to_string();
        assert!(said.contains("cassay knows no program"), "{said}");
        assert!(Identity::own().alive());
    }
}
