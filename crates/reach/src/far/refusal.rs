//! Why there is no agent in a place: what `ssh`, `kubectl`, a login shell or `sudo` says, as a
//! sentence with the next step.
//!
//! The words that are looked for are those of OpenSSH 7.6 to 10, of kubectl and Kubernetes 1.34, of
//! dash, bash and busybox, and of sudo 1.8 and 1.9. What none of them has said is told as it stands.

use super::destination::{Destination, Place};
use std::fmt;
use std::process::ExitStatus;

/// How many lines of the end are looked at: a changed key takes 14, and a banner comes before.
const LINES_MAX: usize = 20;

/// How much is told of words that nobody knows.
const TOLD_CHARS_MAX: usize = 1000;

/// The status with which `ssh` ends by itself.
const BY_SSH: i32 = 255;

/// Why an agent cannot be had somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which machine, or which pod.
    pub destination: String,
    /// The cause, a sentence.
    pub cause: String,
    /// What to do about it, if that is known.
    pub hint: Option<String>,
    /// Whether its sshd hung up on us before anybody had to prove who he is: it may be busy.
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

    /// The same after it was tried more than once.
    pub(super) fn after_tries(mut self, count: u32) -> Refusal {
        self.cause = format!("{}, {count} times in a row", self.cause);
        self
    }
}

impl Refusal {
    /// Cause and hint, where it is said already of whom.
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

/// Machines that were wanted together and are not reached, all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreached {
    /// How many were wanted.
    pub count_wanted: usize,
    /// Those that are not reached, in the order in which they were named.
    pub refusals: Vec<Refusal>,
}

impl fmt::Display for Unreached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.refusals.len();
        if self.count_wanted > 1 {
            let are = if count == 1 { "is" } else { "are" };
            writeln!(
                f,
                "{count} of {} machines {are} not reached",
                self.count_wanted
            )?;
        }
        let each: Vec<String> = self.refusals.iter().map(Refusal::to_string).collect();
        f.write_str(&each.join("\n"))
    }
}

impl std::error::Error for Unreached {}

/// What has come in the way.
#[derive(Debug)]
pub(super) enum Trouble {
    /// It is known.
    Told { cause: String, hint: Option<String> },
    /// The far side is gone, or silent.
    BrokeOff(End),
}

impl Trouble {
    pub(super) fn told(cause: impl Into<String>, hint: impl Into<String>) -> Trouble {
        Trouble::Told {
            cause: cause.into(),
            hint: Some(hint.into()),
        }
    }

    /// Words of ours, which may have their hint behind them.
    pub(super) fn of_error(error: &anyhow::Error) -> Trouble {
        let words = format!("{error:#}");
        let (cause, hint) = match words.split_once("\nhint: ") {
            Some((cause, hint)) => (cause.to_owned(), Some(hint.to_owned())),
            None => (words, None),
        };
        Trouble::Told { cause, hint }
    }

    /// What stands in the way there, as the script says it.
    pub(super) fn of_obstacle(wanted: &Destination, obstacle: &str, lines: &[String]) -> Trouble {
        let (what, folder) = obstacle.split_once(' ').unwrap_or((obstacle, ""));
        let other = "name another folder for the program (`folder`)";
        let because = lines.last().map(|line| format!(" ({line})")).unwrap_or_default();
        let there = |words: &str| wanted.command_words(words);
        match what {
            "home" => Trouble::told("its user has no home there to put the program into", other),
            "folder" => Trouble::told(
                format!("the folder {folder} cannot be made{because}"),
                other,
            ),
            "exec" => Trouble::told(
                format!("no program can be started from {folder}, which is mounted with noexec"),
                other,
            ),
            "write" => Trouble::told(
                format!("the program cannot be written into {folder}{because}"),
                format!(
                    "see `{}`, and make room there, or {other}",
                    there(&format!("df -h {folder}"))
                ),
            ),
            "whole" => Trouble::told(
                format!("the program has arrived in {folder} with other bytes than were sent"),
                format!("check its disk and memory: `{}`", there("dmesg")),
            ),
            _ => Trouble::Told {
                cause: format!("something of another form than ours was said there: {obstacle:?}"),
                hint: None,
            },
        }
    }
}

/// How the way to a machine ended.
#[derive(Debug)]
pub(super) struct End {
    /// What we were about, or what was said instead of what we waited for.
    pub(super) words: String,
    /// How `ssh` ended, if it did.
    pub(super) status: Option<ExitStatus>,
    /// How far it had come.
    pub(super) stage: Stage,
    /// The end of what it has said.
    pub(super) lines: Vec<String>,
}

/// How far it has come there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing of ours has been heard.
    Login,
    /// Our script runs.
    Script,
    /// The program is being started.
    Program,
}

/// Words, and what they mean. `DEST` stands for the destination, `LINE` for the line that has them,
/// `THERE` for what a command there begins with.
struct Row {
    words: &'static [&'static str],
    cause: &'static str,
    hint: &'static str,
}

/// What `ssh` says. Of several the first counts: a jump host's trouble comes with others behind it.
const BY_SSH_ITSELF: [Row; 12] = [
    Row {
        words: &["REMOTE HOST IDENTIFICATION HAS CHANGED"],
        cause: "its host key is not the one that this machine knows",
        hint: "if the machine was made anew, FORGET and then `ssh DEST` once; if it was not, \
               somebody else may be answering",
    },
    Row {
        words: &["Host key verification failed"],
        cause: "its host key is not known here",
        hint: "run `ssh DEST` once, and compare the key that it shows with the machine's own",
    },
    Row {
        words: &["Too many authentication failures"],
        cause: "it was offered more keys than it takes (LINE)",
        hint: "name the right one in ~/.ssh/config: IdentityFile, with `IdentitiesOnly yes`",
    },
    Row {
        words: &[": Permission denied ("],
        cause: "no key of yours opens it, or it has no such user (LINE)",
        hint: "see `ssh-add -l` for your keys, and name another user as USER@HOST; \
               `ssh-copy-id DEST` puts a key there",
    },
    Row {
        words: &["Could not resolve hostname"],
        cause: "its name is not known here (LINE)",
        hint: "check the name, or give it an address in ~/.ssh/config: HostName",
    },
    Row {
        words: &["open failed:"],
        cause: "its jump host does not get through to it (LINE)",
        hint: "try `ssh -v DEST`, and what the jump host says to that address and port",
    },
    Row {
        words: &["Connection refused"],
        cause: "nothing listens for ssh there (LINE)",
        hint: "check address and port, and that sshd runs there",
    },
    Row {
        words: &["No route to host"],
        cause: "no way leads there (LINE)",
        hint: "check that the machine runs, and the address",
    },
    Row {
        words: &["Network is unreachable"],
        cause: "no way leads there (LINE)",
        hint: "check the address, and the network of this machine",
    },
    Row {
        words: &["timed out"],
        cause: "it does not answer (LINE)",
        hint: "check that the machine runs, and that no firewall is between: `ssh -v DEST`",
    },
    Row {
        words: &["no matching", "found"],
        cause: "it speaks only what this machine's ssh does not any more (LINE)",
        hint: "allow it for this machine in ~/.ssh/config, or bring its sshd up to date",
    },
    Row {
        words: &["onfiguration option"],
        cause: "ssh does not understand its configuration here (LINE)",
        hint: "see `ssh -G DEST`",
    },
];

/// What `kubectl` says, and what the API server and the container runtime say through it.
const BY_KUBECTL: [Row; 12] = [
    Row {
        words: &["locate context"],
        cause: "kubectl has no such context (LINE)",
        hint: "see `kubectl config get-contexts`",
    },
    Row {
        words: &["must be logged in"],
        cause: "the cluster does not know who asks (LINE)",
        hint: "log in to it as its provider wants, until `kubectl auth whoami` answers",
    },
    Row {
        words: &["is forbidden", "pods/exec"],
        cause: "you may not start anything in its pods (LINE)",
        hint: "`cassay kubernetes rbac` prints the role that is needed",
    },
    Row {
        words: &["(Forbidden)"],
        cause: "you may not do that there (LINE)",
        hint: "`cassay kubernetes rbac` prints the role that is needed",
    },
    Row {
        words: &["(NotFound)"],
        cause: "it is not there any more (LINE)",
        hint: "`kubectl get events` may say who deleted or evicted it",
    },
    Row {
        words: &["container not found"],
        cause: "its container does not run (LINE)",
        hint: "see `kubectl describe pod DEST`",
    },
    Row {
        words: &["completed pod"],
        cause: "it has ended (LINE)",
        hint: "see `kubectl describe pod DEST`",
    },
    Row {
        words: &["executable file not found"],
        cause: "its image has no shell (LINE)",
        hint: "name an image that has `sh`, `head` and `chmod`, such as that of Cassandra",
    },
    Row {
        words: &["connection to the server", "refused"],
        cause: "the cluster's API server does not answer (LINE)",
        hint: "check the server of that context: `kubectl cluster-info`",
    },
    Row {
        words: &["Unable to connect to the server"],
        cause: "the cluster's API server is not reached (LINE)",
        hint: "check the server of that context: `kubectl cluster-info`",
    },
    Row {
        words: &["certificate"],
        cause: "the cluster's certificate is not believed, or ours is not (LINE)",
        hint: "bring the configuration of kubectl up to date, as the cluster's provider says",
    },
    Row {
        words: &["error dialing backend"],
        cause: "the API server does not get through to its node (LINE)",
        hint: "see `kubectl get nodes`, and whether the kubelet there answers",
    },
];

/// What a login says that has let somebody in and does not let him do anything.
const BY_LOGIN: [Row; 1] = [Row {
    words: &["assword", "expired"],
    cause: "the password of its user has expired (LINE)",
    hint: "log in by `ssh DEST` and change it",
}];

/// With what sshd hangs up on somebody who has not proved who he is.
const BEFORE_LOGIN: [&str; 4] = [
    "kex_exchange_identification:",
    "ssh_exchange_identification:",
    "Connection closed by",
    "Connection reset by",
];

/// What a shell, a loader or `sudo` says where the program was to be started.
const BY_OTHERS: [Row; 8] = [
    Row {
        words: &["sudo: ", "password is required"],
        cause: "sudo wants a password there, and nobody is asked for one (LINE)",
        hint: "do without `sudo`; or let its user run the program without a password: NOPASSWD in \
               its sudoers",
    },
    Row {
        words: &["sudo: ", "a terminal is required"],
        cause: "sudo wants a password there, and nobody is asked for one (LINE)",
        hint: "do without `sudo`; or let its user run the program without a password: NOPASSWD in \
               its sudoers",
    },
    Row {
        words: &["sudo: ", "must have a tty"],
        cause: "sudo wants a terminal there, and none is needed here (LINE)",
        hint: "take `requiretty` out of its sudoers, or do without `sudo`",
    },
    Row {
        words: &["sudo", "not found"],
        cause: "there is no sudo (LINE)",
        hint: "name root as its user, root@HOST, or do without `sudo`",
    },
    Row {
        words: &["not allowed to execute"],
        cause: "sudo does not let its user run the program (LINE)",
        hint: "do without `sudo`, or allow it in its sudoers",
    },
    Row {
        words: &["not in the sudoers"],
        cause: "sudo does not let its user run the program (LINE)",
        hint: "do without `sudo`, or allow it in its sudoers",
    },
    Row {
        words: &["xec format error"],
        cause: "its kernel does not run the program (LINE)",
        hint: "the programs of releases are for 64 bits: see `THERE getconf LONG_BIT`",
    },
    Row {
        words: &["GLIBC"],
        cause: "its C library is older than the one that this program was built with (LINE)",
        hint: "use the static program of a release, which needs none; of sources `cargo xtask \
               dist` makes it",
    },
];

impl Row {
    /// The line of `lines` that has all its words.
    fn line<'a>(&self, lines: &'a [String]) -> Option<&'a str> {
        let fits = |line: &&String| self.words.iter().all(|words| line.contains(words));
        lines.iter().rfind(fits).map(String::as_str)
    }

    fn refusal(&self, wanted: &Destination, line: &str, lines: &[String]) -> Refusal {
        let filled = |text: &str| {
            let text = text.replace("FORGET", &forget(lines)).replace("DEST", wanted.name());
            let text = text.replace("THERE", wanted.command_words("").trim_end());
            text.replace("LINE", line.trim_end_matches('.'))
        };
        Refusal {
            destination: wanted.name().to_owned(),
            cause: filled(self.cause),
            hint: Some(filled(self.hint)),
            is_before_login: false,
        }
    }
}

/// The command that forgets a host key which has changed.
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
        _ => "`ssh-keygen -R` with its name".to_owned(),
    }
}

impl End {
    fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// The last lines: only they are about the end.
    fn last_lines(&self) -> &[String] {
        let from = self.lines.len().saturating_sub(LINES_MAX);
        &self.lines[from..]
    }

    /// What it means, where somebody knows that.
    fn explained(&self, wanted: &Destination) -> Option<Refusal> {
        let lines = self.last_lines();
        let of = |rows: &[Row]| {
            let found = rows.iter().find_map(|row| Some((row, row.line(lines)?)));
            found.map(|(row, line)| row.refusal(wanted, line, lines))
        };
        if let (Stage::Login, Place::Pod(_)) = (self.stage, wanted.place()) {
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
            cause: format!("its sshd hung up before anybody could log in ({line})"),
            hint: Some(
                "it may be starting, have too many connections (MaxStartups), refuse this \
                 machine's address, or have a banner of more than 256 KiB: see its log"
                    .to_owned(),
            ),
            is_before_login: true,
        })
    }

    /// A shell's statuses for what it cannot start.
    fn not_started(&self, wanted: &Destination) -> Option<Refusal> {
        let line = self.lines.last().map_or("no word of why", String::as_str);
        let (cause, hint) = match (self.stage, self.code()?) {
            (Stage::Program, 126) => (
                format!("the program cannot be started there ({line})"),
                "its folder may be on a volume with noexec: name another folder for it (`folder`)",
            ),
            (Stage::Program, 127) => (
                format!("the C library that this program needs is not there ({line})"),
                "use the static program of a release, which needs none; of sources `cargo xtask \
                 dist` makes it",
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

    /// In the words of whoever has said something.
    fn as_it_stands(&self, wanted: &Destination) -> (String, Option<String>) {
        let said = self.last_lines().join("; ");
        let surplus = said.chars().count().saturating_sub(TOLD_CHARS_MAX);
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
            Stage::Login if matches!(wanted.place(), Place::Pod(_)) => (
                format!("kubectl ended with {ended} and ran nothing of ours{said}"),
                Some(format!("try `{}`", wanted.command_words("true"))),
            ),
            Stage::Login if self.code() == Some(BY_SSH) => (
                format!("ssh does not get in{said}"),
                Some(format!("`ssh -v {ssh}` says more")),
            ),
            Stage::Login => (
                format!("its login shell ended with {ended} and ran nothing of ours{said}"),
                Some(format!(
                    "`ssh {ssh} true` has to work: its user needs a shell, and no forced command"
                )),
            ),
            Stage::Script => (format!("{}, with {ended}{said}", self.words), None),
            Stage::Program => (
                format!("the program ended at once there, with {ended}{said}"),
                None,
            ),
        }
    }
}

#[cfg(test)]
mod tests;
