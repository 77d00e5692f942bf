//! Agents on other machines, under a user's account, or in pods.
//!
//! The user's own `ssh` or `kubectl` makes one connection for each agent. So the user's
//! configurations, keys, jump hosts, known hosts and contexts apply. At the destination, the
//! program's file name contains its SHA-256. If the file is missing, cassay sends the program over
//! the connection. Invariants: cassay never accepts an unknown host key, and never prompts for a
//! password. It executes only a program with the expected digest, or with the expected size if the
//! destination lacks `sha256sum`. cassay reports all unreachable destinations together, before any
//! work begins.

mod destination;
mod refusal;
mod remote_shell;
mod upload;

pub use destination::{Destination, Fate, Pod, is_context_name};
pub use refusal::{Refusal, UnreachedMachines};

use crate::link::{Link, STATUS_LIMIT, Tunnel};
use crate::process::{self, Identity, Life};
use crate::stderr_tail::{LAST_WORDS_LIMIT, LastWords};
use anyhow::anyhow;
use destination::DestinationKind;
use measure::clock::{self, Deadline};
use refusal::{End, Stage, Trouble};
use remote_shell::{FarSide, Unheard};
use rustix::process::Signal;
use serde::Serialize;
use std::net::IpAddr;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use upload::Program;

/// Maximum number of simultaneous connection attempts. Many names may lead to the same sshd, such
/// as that of a jump host. By default (`MaxStartups 10:30:100`), sshd begins to drop connections
/// when 10 of them are unauthenticated.
const CONNECTING_MAX: usize = 8;

/// Maximum number of attempts if sshd closes the connection before the login.
const TRIES_MAX: u32 = 4;
/// Pause before the second attempt. It doubles before each further attempt, to 7 s in total.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Time limit for the first response of the destination, including name resolution, key exchange
/// and the start of a login shell.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// Time limit for the destination to receive the rest of the program after cassay has written it.
/// Pipes and sockets on the way may contain some megabytes, which take a minute at 1 Mbit/s.
const PUT_LIMIT: Duration = Duration::from_secs(300);

/// Time limit for an idle agent to end.
const END_LIMIT: Duration = Duration::from_secs(30);

/// Interval between two checks for an interrupt, or for the end of a process.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Treatment of reached agents if some destinations are unreachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherAgents {
    End,
    /// The agents continue, because they ran before.
    Leave,
}

/// Script that runs at the destination before the agent starts.
const SCRIPT: &str = include_str!("ssh/begin.sh");

/// Returns the command with which `sh` reads the script.
fn first_line() -> String {
    format!("eval \"$(head -c {})\"", SCRIPT.len())
}

/// Returns the command for `ssh`. Any login shell, even fish or csh, must be able to read this
/// line. So it consists of two words and a quoted word, which only `sh` interprets.
fn command_line() -> String {
    format!("exec sh -c '{}'", first_line())
}

impl Link {
    /// Starts an agent at a destination. `begin` is the first message to the agent. Retries if the
    /// machine's sshd closes the connection before the login.
    ///
    /// # Errors
    /// The agent does not start. The error contains the reason and a remedy.
    pub fn to(wanted: &Destination, begin: &impl Serialize) -> Result<Link, Refusal> {
        let mut count = 1;
        loop {
            let refusal = match Link::try_to(wanted, begin) {
                Ok(link) => return Ok(link),
                Err(refusal) => refusal,
            };
            if !refusal.is_before_login {
                return Err(refusal);
            }
            if count == TRIES_MAX || !paused(FIRST_PAUSE * 2_u32.pow(count - 1)) {
                return Err(if count > 1 {
                    refusal.after_tries(count)
                } else {
                    refusal
                });
            }
            count += 1;
        }
    }

    /// Starts an agent at each destination, with a limited number of simultaneous attempts. Returns
    /// each agent, or the reason for its failure, in the order of the destinations.
    pub fn to_each<B: Serialize + Sync>(wanted: &[(Destination, B)]) -> Vec<Result<Link, Refusal>> {
        let next = AtomicUsize::new(0);
        let connect = || {
            let mut mine = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some((destination, begin)) = wanted.get(index) else {
                    return mine;
                };
                mine.push((index, Link::to(destination, begin)));
            }
        };
        let mut answers = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..CONNECTING_MAX.min(wanted.len())).map(|_| scope.spawn(connect)).collect();
            let answers = threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            answers.flatten().collect::<Vec<_>>()
        });
        answers.sort_by_key(|(index, _)| *index);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// Starts an agent at each destination, with a limited number of simultaneous attempts.
    ///
    /// # Errors
    /// Destinations are unreachable. The error contains each of them with the reason. The other
    /// agents have ended, unless `others` is [`OtherAgents::Leave`].
    pub fn to_all<B: Serialize + Sync>(
        wanted: &[(Destination, B)],
        others: OtherAgents,
    ) -> Result<Vec<Link>, UnreachedMachines> {
        let mut links = Vec::new();
        let mut refusals = Vec::new();
        for answer in Link::to_each(wanted) {
            match answer {
                Ok(link) => links.push(link),
                Err(refusal) => refusals.push(refusal),
            }
        }
        if refusals.is_empty() {
            return Ok(links);
        }
        if others == OtherAgents::Leave {
            links.iter().for_each(Link::leave);
            links.clear();
        }
        std::thread::scope(|scope| {
            for link in &links {
                // An agent that does not end in time ends when its lease expires.
                scope.spawn(move || link.end(END_LIMIT));
            }
        });
        Err(UnreachedMachines {
            count_wanted: wanted.len(),
            refusals,
        })
    }

    fn try_to(wanted: &Destination, begin: &impl Serialize) -> Result<Link, Refusal> {
        let refused = |trouble| Refusal::new(wanted, trouble);
        let mut connection = Connection::open(wanted).map_err(refused)?;
        let entered = connection.enter(wanted, begin);
        connection.begun(wanted, entered).map_err(refused)
    }
}

/// Waits for `length`. Returns false after an interrupt by the user.
fn paused(length: Duration) -> bool {
    let deadline = Deadline::after(length);
    while !deadline.passed() && !process::is_interrupted() {
        clock::sleep(deadline.left().min(LOOK_EVERY));
    }
    !process::is_interrupted()
}

/// Connection to a machine before the conversation with the agent.
struct Connection {
    far: FarSide,
    child: Child,
    last_words: Arc<LastWords>,
    stage: Stage,
    /// Program for the destination. `None` if it is the running program.
    other: Option<Arc<Program>>,
    /// Address at which cassay reached the machine's sshd, or address of the pod.
    reached_at: Option<IpAddr>,
}

impl Connection {
    fn open(wanted: &Destination) -> Result<Connection, Trouble> {
        let mut command = process::command(wanted.program());
        let remedy = match wanted.place() {
            DestinationKind::Machine { ssh, .. } => {
                by_ssh(&mut command, ssh);
                "cassay reaches other machines with ssh; install it: apt-get install openssh-client"
            }
            DestinationKind::Pod(pod) => {
                by_kubectl(&mut command, pod);
                "cassay reaches pods with kubectl; install a kubectl whose version is close to \
                 that of the cluster"
            }
        };
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = process::spawn(command, Life::Ours)
            .map_err(|error| Trouble::with_hint(format!("{error:#}"), remedy))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(writer), Some(reader), Some(stderr)) = pipes else {
            return Err(Trouble::from_error(&anyhow!("the program has no pipes")));
        };
        let last_words = LastWords::read(stderr).map_err(|error| Trouble::from_error(&error))?;
        Ok(Connection {
            far: FarSide { writer, reader },
            child,
            last_words,
            stage: Stage::Login,
            other: None,
            reached_at: match wanted.place() {
                DestinationKind::Machine { .. } => None,
                DestinationKind::Pod(pod) => pod.address,
            },
        })
    }

    /// Runs all steps up to the start of the agent at the destination.
    fn enter(&mut self, wanted: &Destination, begin: &impl Serialize) -> Result<(), Trouble> {
        let sent = self.far.send(&mut SCRIPT.as_bytes());
        sent.map_err(|error| Trouble::from_error(&error))?;
        let said = self.hear("its shell starts", ANSWER_LIMIT)?;
        self.stage = Stage::Script;
        let words: Vec<&str> = said.split(' ').collect();
        let ["is", system, machine, pack, at] = words[..] else {
            return Err(Trouble::from_obstacle(wanted, &said, &[]));
        };
        self.reached_at = self.reached_at.or(at.parse().ok());
        if system != "Linux" {
            return Err(Trouble::with_hint(
                format!("the machine runs {system}"),
                "cassay runs on Linux: name a machine with Linux",
            ));
        }
        let program = Program::for_machine(machine).map_err(|error| Trouble::from_error(&error))?;
        let Program { digest, bytes, .. } = &*program;
        let folder = wanted.folder().unwrap_or("-");
        let user = if wanted.is_root_wanted() { "root" } else { "-" };
        let said = self.far.say(&format!(
            "{digest} {bytes} {folder} {user} {}",
            wanted.agent()
        ));
        said.map_err(|error| Trouble::from_error(&error))?;
        if program.other().is_some() {
            self.other = Some(Arc::clone(&program));
        }
        let mut said = self.hear("it looked for the program", ANSWER_LIMIT)?;
        if said == "send" {
            self.put(&program, pack == "gzip")
                .map_err(|error| Trouble::from_error(&error.context("send the program")))?;
            said = self.hear("the program arrives", PUT_LIMIT)?;
        }
        if let Some(obstacle) = said.strip_prefix("no ") {
            let lines = self.last_words.lines(LAST_WORDS_LIMIT);
            return Err(Trouble::from_obstacle(wanted, obstacle, &lines));
        }
        if said != "run" {
            return Err(Trouble::from_obstacle(wanted, &said, &[]));
        }
        self.stage = Stage::Program;
        // If the connection has ended, the next read detects it.
        let _ = crate::frame::write(&mut self.far.writer, begin);
        Ok(())
    }

    /// Sends the program, compressed by gzip if `is_packed` is true.
    fn put(&mut self, program: &Program, is_packed: bool) -> anyhow::Result<()> {
        if is_packed {
            let packed = program.packed()?;
            self.far.say(&packed.len().to_string())?;
            return self.far.send(&mut &packed[..]);
        }
        self.far.say(&program.bytes.to_string())?;
        self.far.send(&mut program.plain()?)
    }

    /// Reads the next line of the destination. `what` describes the awaited step.
    fn hear(&mut self, what: &str, limit: Duration) -> Result<String, Trouble> {
        let unheard = match self.far.line(limit) {
            Ok(said) => return Ok(said),
            Err(unheard) => unheard,
        };
        let end = |words: String, status, lines| {
            Trouble::BrokeOff(End {
                words,
                status,
                stage: self.stage,
                lines,
            })
        };
        Err(match unheard {
            Unheard::HungUp => {
                let status = ended(&mut self.child);
                let lines = self.last_words.lines(LAST_WORDS_LIMIT);
                end(
                    format!("the machine ended the connection while {what}"),
                    status,
                    lines,
                )
            }
            Unheard::TooMuch => Trouble::with_hint(
                "the startup files of the login shell print more than 64 KiB",
                "let them print only to a terminal: `[ -t 1 ] && …`",
            ),
            Unheard::Late(limit) => {
                let lines = self.last_words.lines(Duration::ZERO);
                let seconds = limit.as_secs();
                let words = format!("the agent did not answer within {seconds} s while {what}");
                end(words, None, lines)
            }
            Unheard::Other(error) => Trouble::from_error(&error),
        })
    }

    /// Begins the conversation with the started agent.
    fn begun(
        mut self,
        wanted: &Destination,
        entered: Result<(), Trouble>,
    ) -> Result<Link, Trouble> {
        if let Err(trouble) = entered {
            // The process may still wait for input.
            let _ = self.child.kill();
            let _ = self.child.wait();
            return Err(trouble);
        }
        let way_there = Identity::from_child(&self.child);
        let last_words = Arc::clone(&self.last_words);
        let way = Tunnel {
            child: self.child,
            last_words: Some(Arc::clone(&last_words)),
            fate: wanted.fate(),
        };
        let FarSide { writer, reader } = self.far;
        let no = match Link::from_pipes(wanted.name(), writer, reader, way) {
            Ok(link) => {
                last_words.forget();
                return Ok(link.reached_at(self.reached_at));
            }
            Err(no) => no,
        };
        // cassay ends the ssh process that tried to connect. A separate thread collects its status.
        if let Ok(way_there) = way_there {
            way_there.signal(Signal::KILL);
        }
        if no.is_other_build {
            let file = self.other.as_ref().and_then(|program| program.other());
            let file = file.map_or("this program".into(), |file| file.display().to_string());
            return Err(Trouble::with_hint(
                format!(
                    "{file}, which cassay would send to the machine, is from another build than \
                     this program"
                ),
                "use the file of the same release, or from the same sources",
            ));
        }
        Err(Trouble::BrokeOff(End {
            words: format!("the program {:#}", no.why),
            status: no.status,
            stage: self.stage,
            lines: last_words.lines(LAST_WORDS_LIMIT),
        }))
    }
}

/// Adds options of `ssh`: no prompts, no other command or forwarding from the user's configuration,
/// and error messages even with a quiet configuration.
fn by_ssh(command: &mut Command, destination: &str) {
    for option in [
        "BatchMode=yes",
        "ConnectTimeout=10",
        "ServerAliveInterval=5",
        "RemoteCommand=none",
        "ClearAllForwardings=yes",
        "LogLevel=INFO",
    ] {
        command.args(["-o", option]);
    }
    command.args(["-T", "-a", "-x", "--", destination]).arg(command_line());
}

fn by_kubectl(command: &mut Command, pod: &Pod) {
    if let Some(context) = &pod.context {
        command.arg("--context").arg(context);
    }
    command.args([
        "--namespace",
        &pod.namespace,
        "exec",
        "--stdin",
        "--quiet",
        &pod.name,
    ]);
    command
        .args(["--container", &pod.container, "--", "sh", "-c"])
        .arg(first_line());
}

/// Returns the exit status of a process that has closed its output. Returns `None` if it still runs
/// after [`STATUS_LIMIT`].
fn ended(child: &mut Child) -> Option<ExitStatus> {
    let deadline = Deadline::after(STATUS_LIMIT);
    loop {
        match child.try_wait() {
            Ok(None) if !deadline.passed() => clock::sleep(LOOK_EVERY),
            Ok(status) => return status,
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_command_line_is_short_and_quoted_once() {
        let line = command_line();
        let inner = line.strip_prefix("exec sh -c '").unwrap().strip_suffix('\'').unwrap();
        assert!(!inner.contains(['\'', '!', '\\']), "{inner}");
        assert!(line.len() < 100, "{line}");
    }

    #[test]
    fn the_script_is_one_that_sh_reads() {
        let mut command = process::command(Path::new("sh"));
        command.args(["-n", "-c", SCRIPT]);
        let status = process::spawn(command, Life::Ours).unwrap().wait().unwrap();
        assert!(status.success());
    }

    #[test]
    fn without_ssh_it_is_said_where_it_comes_from() {
        let plain = Destination::new("db1", false, None).unwrap();
        let wanted = plain.by_program(Path::new("/nonexistent/ssh"));
        let refusal = Link::to(&wanted, &()).unwrap_err();
        let said = refusal.to_string();
        assert!(said.starts_with("db1: start /nonexistent/ssh"), "{said}");
        assert!(
            said.ends_with(
                "hint: cassay reaches other machines with ssh; install it: apt-get install \
                 openssh-client"
            ),
            "{said}"
        );
    }
}
