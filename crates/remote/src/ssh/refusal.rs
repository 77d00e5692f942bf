//! Reasons why an agent cannot run at a destination, derived from the output of `ssh`, `kubectl`, a
//! login shell or `sudo`, with the next step for the user.
//!
//! The known messages come from OpenSSH 7.6 to 10, kubectl and Kubernetes 1.34, sudo 1.8 and 1.9,
//! dash, bash and busybox. cassay reports unknown messages verbatim.

mod rows;

use super::destination::{Destination, DestinationKind};
use rows::{BEFORE_LOGIN, BY_KUBECTL, BY_LOGIN, BY_OTHERS, BY_SSH_ITSELF, Row};
use std::fmt;
use std::process::ExitStatus;

/// Number of examined lines at the end of the output. The message about a changed key has 14 lines,
/// and a banner may precede it.
const LINES_MAX: usize = 20;

/// Maximum length of an unknown message, in characters.
const MESSAGE_CHARS_MAX: usize = 1000;

/// Exit status of `ssh` for its own errors.
const BY_SSH: i32 = 255;

/// Reason why an agent cannot be started at a destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Name of the machine or pod.
    pub destination: String,
    /// Cause, as a sentence.
    pub cause: String,
    /// Remedy for the user, if known.
    pub hint: Option<String>,
    /// True if the machine's sshd closed the connection before authentication, perhaps because it
    /// was busy.
    pub(super) is_before_login: bool,
}

impl Refusal {
    pub(super) fn new(wanted: &Destination, trouble: Trouble) -> Refusal {
        let told = |cause, hint| Refusal {
            destination: wanted.name().to_owned(),
            cause,
            hint,
            is_before_login: false,
        };
        match trouble {
            Trouble::Told { cause, hint } => told(cause, hint),
            Trouble::BrokeOff(end) => end.explained(wanted).unwrap_or_else(|| {
                let (cause, hint) = end.as_it_stands(wanted);
                told(cause, hint)
            }),
        }
    }

    /// Adds a remark on the number of attempts.
    pub(super) fn after_tries(mut self, count: u32) -> Refusal {
        self.cause = format!("{}, {count} times in a row", self.cause);
        self
    }
}

impl Refusal {
    /// Returns the cause and the hint, without the destination.
    pub fn why(&self) -> String {
        match &self.hint {
            Some(hint) => format!("{}\nhint: {hint}", self.cause),
            None => self.cause.clone(),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.destination, self.why())
    }
}

impl std::error::Error for Refusal {}

/// Unreachable machines of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreachedMachines {
    /// Number of machines in the group.
    pub count_wanted: usize,
    /// Unreachable machines with the reasons, in the order of the group.
    pub refusals: Vec<Refusal>,
}

impl fmt::Display for UnreachedMachines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.refusals.len();
        if self.count_wanted > 1 {
            writeln!(
                f,
                "cassay did not reach {count} of {} machines",
                self.count_wanted
            )?;
        }
        let each: Vec<String> = self.refusals.iter().map(Refusal::to_string).collect();
        f.write_str(&each.join("\n"))
    }
}

impl std::error::Error for UnreachedMachines {}

/// Problem that prevents the start of an agent.
#[derive(Debug)]
pub(super) enum Trouble {
    Told {
        cause: String,
        hint: Option<String>,
    },
    /// The connection to the destination has ended, or the destination does not answer.
    BrokeOff(End),
}

impl Trouble {
    pub(super) fn with_hint(cause: impl Into<String>, hint: impl Into<String>) -> Trouble {
        Trouble::Told {
            cause: cause.into(),
            hint: Some(hint.into()),
        }
    }

    /// Converts an error of this program, which may include a hint.
    pub(super) fn from_error(error: &anyhow::Error) -> Trouble {
        let words = format!("{error:#}");
        let (cause, hint) = match words.split_once("\nhint: ") {
            Some((cause, hint)) => (cause.to_owned(), Some(hint.to_owned())),
            None => (words, None),
        };
        Trouble::Told { cause, hint }
    }

    /// Converts an obstacle that the script at the destination has reported. `lines` contains the
    /// end of the error output.
    pub(super) fn from_obstacle(wanted: &Destination, obstacle: &str, lines: &[String]) -> Trouble {
        let (what, folder) = obstacle.split_once(' ').unwrap_or((obstacle, ""));
        let other = "name another folder for the program (`folder`)";
        let because = lines.last().map(|line| format!(" ({line})")).unwrap_or_default();
        let there = |words: &str| wanted.command_words(words);
        match what {
            "home" => Trouble::with_hint(
                "the user on that machine has no home folder for the program",
                other,
            ),
            "folder" => Trouble::with_hint(
                format!("cassay cannot create the folder {folder}{because}"),
                other,
            ),
            "exec" => Trouble::with_hint(
                format!(
                    "cassay cannot start a program from {folder}, which is mounted with noexec"
                ),
                other,
            ),
            "write" => Trouble::with_hint(
                format!("cassay cannot write the program into {folder}{because}"),
                format!(
                    "see `{}`, and free some space on that disk, or {other}",
                    there(&format!("df -h {folder}"))
                ),
            ),
            "whole" => Trouble::with_hint(
                format!("the copy of the program in {folder} differs from the original"),
                format!(
                    "check the disk and the memory of the machine: `{}`",
                    there("dmesg")
                ),
            ),
            _ => Trouble::Told {
                cause: format!("the answer has an unexpected form: {obstacle:?}"),
                hint: None,
            },
        }
    }
}

/// End of a connection to a machine.
#[derive(Debug)]
pub(super) struct End {
    /// Description of the step in which the connection ended, or of the unexpected response.
    pub(super) words: String,
    /// Exit status of `ssh` or `kubectl`. `None` if it has not ended.
    pub(super) status: Option<ExitStatus>,
    /// Stage that the connection had reached.
    pub(super) stage: Stage,
    /// Last lines of the output of `ssh` or `kubectl`.
    pub(super) lines: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// cassay has not received a marked line yet.
    Login,
    Script,
    Program,
}

impl Row {
    /// Returns the last line in `lines` that contains all words of this row.
    fn line<'a>(&self, lines: &'a [String]) -> Option<&'a str> {
        let fits = |line: &&String| self.words.iter().all(|words| line.contains(words));
        lines.iter().rfind(fits).map(String::as_str)
    }

    fn refusal(&self, wanted: &Destination, line: &str, lines: &[String]) -> Refusal {
        let filled = |text: &str| {
            text.replace("FORGET", &forget(lines))
                .replace("DEST", wanted.name())
                .replace("THERE", wanted.command_words("").trim_end())
                .replace("LINE", line.trim_end_matches('.'))
        };
        Refusal {
            destination: wanted.name().to_owned(),
            cause: filled(self.cause),
            hint: Some(filled(self.hint)),
            is_before_login: false,
        }
    }
}

/// Returns the command with which the user can remove a changed host key.
fn forget(lines: &[String]) -> String {
    let between = |before: &str, after: &str| {
        let within = |line: &String| {
            let (_, rest) = line.split_once(before)?;
            Some(rest.rsplit_once(after)?.0.to_owned())
        };
        lines.iter().find_map(within)
    };
    let name = between("Host key for ", " has changed");
    let file = between(" key in ", ":");
    match (name, file) {
        (Some(name), Some(file)) => format!("`ssh-keygen -f {file} -R '{name}'`"),
        (Some(name), None) => format!("`ssh-keygen -R '{name}'`"),
        _ => "`ssh-keygen -R` with the name of the machine".to_owned(),
    }
}

impl End {
    fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// Returns the last lines of the output, which may explain the end.
    fn last_lines(&self) -> &[String] {
        let from = self.lines.len().saturating_sub(LINES_MAX);
        &self.lines[from..]
    }

    /// Returns an explanation of the end, if the messages are known.
    fn explained(&self, wanted: &Destination) -> Option<Refusal> {
        let lines = self.last_lines();
        let of = |rows: &[Row]| {
            let found = rows.iter().find_map(|row| Some((row, row.line(lines)?)));
            found.map(|(row, line)| row.refusal(wanted, line, lines))
        };
        if let (Stage::Login, DestinationKind::Pod(_)) = (self.stage, wanted.place()) {
            return of(&BY_KUBECTL);
        }
        match (self.stage, self.code()) {
            (Stage::Login, Some(BY_SSH)) => of(&BY_SSH_ITSELF).or_else(|| self.hung_up(wanted)),
            (Stage::Login, _) => of(&BY_LOGIN),
            _ => of(&BY_OTHERS).or_else(|| self.not_started(wanted)),
        }
    }

    fn hung_up(&self, wanted: &Destination) -> Option<Refusal> {
        let is_one = |line: &&String| BEFORE_LOGIN.iter().any(|words| line.starts_with(words));
        let line = self.last_lines().iter().rfind(is_one)?;
        Some(Refusal {
            destination: wanted.name().to_owned(),
            cause: format!(
                "the sshd of the machine closed the connection before the login ({line})"
            ),
            hint: Some(
                "the sshd may be starting, have too many connections (MaxStartups), refuse this \
                 machine's address, or have a banner of more than 256 KiB: see its log"
                    .to_owned(),
            ),
            is_before_login: true,
        })
    }

    /// Explains the exit statuses 126 and 127, with which a shell reports a program that it cannot
    /// start.
    fn not_started(&self, wanted: &Destination) -> Option<Refusal> {
        let line = self.lines.last().map_or("ssh reported no reason", String::as_str);
        let (cause, hint) = match (self.stage, self.code()?) {
            (Stage::Program, 126) => (
                format!("cassay cannot start the program on that machine ({line})"),
                "the folder of the program may be on a volume with noexec: name another folder \
                 (`folder`)",
            ),
            (Stage::Program, 127) => (
                format!("the machine lacks the C library that this program needs ({line})"),
                "use the static program of a release, which needs no C library; from source, \
                 `cargo xtask dist` builds it",
            ),
            _ => return None,
        };
        Some(Refusal {
            destination: wanted.name().to_owned(),
            cause,
            hint: Some(hint.to_owned()),
            is_before_login: false,
        })
    }

    /// Returns a cause with the end of an unknown message, and a hint if cassay has one.
    fn as_it_stands(&self, wanted: &Destination) -> (String, Option<String>) {
        let said = self.last_lines().join("; ");
        let surplus = said.chars().count().saturating_sub(MESSAGE_CHARS_MAX);
        let said: String = said.chars().skip(surplus).collect();
        let said = if said.is_empty() {
            said
        } else {
            format!(": {said}")
        };
        let ended = match self.status {
            Some(status) => match status.code() {
                Some(code) => format!("status {code}"),
                None => status.to_string(),
            },
            None => {
                let hint = format!("see what `{}` waits for", wanted.command_words("true"));
                let hint = (self.stage == Stage::Login).then_some(hint);
                return (format!("{}{said}", self.words), hint);
            }
        };
        let ssh = wanted.name();
        match self.stage {
            Stage::Login if matches!(wanted.place(), DestinationKind::Pod(_)) => (
                format!("kubectl ended with {ended} and ran no command of cassay{said}"),
                Some(format!("try `{}`", wanted.command_words("true"))),
            ),
            Stage::Login if self.code() == Some(BY_SSH) => (
                format!("ssh cannot log in{said}"),
                Some(format!("`ssh -v {ssh}` shows more")),
            ),
            Stage::Login => (
                format!("the login shell ended with {ended} and ran no command of cassay{said}"),
                Some(format!(
                    "`ssh {ssh} true` must succeed: the user needs a shell, and no forced command"
                )),
            ),
            Stage::Script => (format!("{}, with {ended}{said}", self.words), None),
            Stage::Program => (
                format!(
                    "the program ended immediately after its start on that machine, with \
                     {ended}{said}"
                ),
                None,
            ),
        }
    }
}

#[cfg(test)]
mod tests;
