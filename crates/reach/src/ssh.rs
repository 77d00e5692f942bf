//! The transport `ssh`: an agent on another machine, as a user of it.
//!
//! One connection, held open, made by the user's own `ssh`: its configuration, keys, jump hosts and
//! known hosts apply. This program goes to the far side once for each build, over the same
//! connection, into the user's cache there. What must hold: nothing but the far side's own shell
//! names a path there; and neither a machine's key nor a password is ever asked for or accepted.

use crate::link::{ARGUMENT, Link, OURSELVES, build};
use crate::process::{self, Life};
use anyhow::{Context, Result, anyhow, bail, ensure};
use measure::clock::Deadline;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

/// How long the far side may take to say anything: names are resolved, keys exchanged, a login
/// shell starts.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// How long putting the program there may take: 20 MB over a line of a megabit a second take 160 s.
const PUT_LIMIT: Duration = Duration::from_secs(300);

/// What a line of ours begins with: a login shell may say something before.
const MARK: &str = "cassay-agent:";

/// The most that is read in search of it.
const SAID_BYTES_MAX: usize = 64 << 10;

/// By which the far side says what it is, takes this program if it is not there, and becomes it.
/// Without single quotes, since it stands between two: login shells differ.
fn script(name: &str, bytes: u64) -> String {
    let build = build();
    let text = format!(
        "set -e; umask 077; d=\"${{XDG_CACHE_HOME:-$HOME/.cache}}/cassay/agents\"; \
         f=\"$d/{build}\"; if [ -x \"$f\" ]; then has=1; else has=0; fi; \
         echo \"{MARK} $(uname -m) $has\"; \
         if [ $has = 0 ]; then mkdir -p \"$d\"; head -c {bytes} > \"$f.$$\"; \
         [ \"$(wc -c < \"$f.$$\")\" -eq {bytes} ]; chmod 700 \"$f.$$\"; mv \"$f.$$\" \"$f\"; \
         echo \"{MARK} put\"; fi; exec \"$f\" {ARGUMENT} {name}"
    );
    format!("exec sh -c '{text}'")
}

impl Link {
    /// Starts the agent `name` at `destination`, whatever the program `ssh` knows by that name.
    /// `begin` is the first that it hears.
    ///
    /// # Errors
    /// There is no way in, as `ssh` says it with what to do about it; the machine is of another
    /// kind than this one; or the agent does not say who it is.
    pub fn over_ssh(
        ssh: &Path,
        destination: &str,
        name: &str,
        begin: &impl Serialize,
    ) -> Result<Link> {
        let is_plain = |c: char| c.is_ascii_graphic();
        ensure!(
            destination.starts_with(char::is_alphanumeric) && destination.chars().all(is_plain),
            "{destination:?} is no destination for ssh: write HOST, USER@HOST or ssh://HOST:PORT"
        );
        let mut ourselves = File::open(OURSELVES).context("open this program")?;
        let bytes = ourselves.metadata().context("measure this program")?.len();
        let mut command = process::command(ssh);
        command
            .args(["-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"])
            .args(["-o", "ServerAliveInterval=5", "--", destination])
            .arg(script(name, bytes))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = process::spawn(command, Life::Ours).map_err(|error| {
            anyhow!(
                "{error:#}\nhint: other machines are reached by it: apt-get install openssh-client"
            )
        })?;
        let (Some(mut writer), Some(mut reader)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("ssh has no pipes");
        };
        let begun = enter(&mut writer, &mut reader, &mut ourselves, begin);
        let mut stderr = child.stderr.take();
        let link = match begun {
            Ok(()) => Link::of_pipes(destination, writer, reader, child),
            Err(error) => {
                // It may still wait for something; what it has said by now is what there is.
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        };
        link.map_err(|error| refusal(destination, stderr.as_mut(), &error))
    }
}

/// Up to where the far side is an agent.
fn enter(
    writer: &mut ChildStdin,
    reader: &mut ChildStdout,
    ourselves: &mut File,
    begin: &impl Serialize,
) -> Result<()> {
    let said = line(reader, ANSWER_LIMIT)?;
    let (kind, has) = said.split_once(' ').context("an answer of another form than ours")?;
    let ours = std::env::consts::ARCH;
    ensure!(
        kind == ours,
        "that machine is {kind} and this program is for {ours}"
    );
    if has == "0" {
        std::io::copy(ourselves, writer).context("put this program there")?;
        writer.flush().context("put this program there")?;
        let put = line(reader, PUT_LIMIT)?;
        ensure!(put == "put", "it said {put:?} where this program was put");
    }
    crate::frame::write(writer, begin)
}

/// What the far side's next line of ours says.
fn line(reader: &mut ChildStdout, limit: Duration) -> Result<String> {
    let deadline = Deadline::after(limit);
    let late = || format!("nothing of ours was heard within {} s", limit.as_secs());
    let mut said = Vec::new();
    let mut count_said = 0;
    let mut byte = [0];
    loop {
        // A far side that never stops talking is always ready to be read.
        ensure!(!deadline.passed(), late());
        let left = Timespec::try_from(deadline.left()).context("a time that can be waited")?;
        let ready = poll(&mut [PollFd::new(reader, PollFlags::IN)], Some(&left));
        ensure!(ready.context("wait for an answer")? > 0, late());
        let count = reader.read(&mut byte).context("hear an answer")?;
        ensure!(count > 0, "it hung up");
        ensure!(
            count_said < SAID_BYTES_MAX,
            "its shell says more than {SAID_BYTES_MAX} bytes before anything of ours"
        );
        count_said += count;
        if byte != *b"\n" {
            said.push(byte[0]);
            continue;
        }
        let text = String::from_utf8_lossy(&said).into_owned();
        if let Some(ours) = text.strip_prefix(MARK) {
            return Ok(ours.trim().to_owned());
        }
        said.clear();
    }
}

/// Why there is no agent, in the words of `ssh` and with what to do about it.
fn refusal(
    destination: &str,
    stderr: Option<&mut ChildStderr>,
    error: &anyhow::Error,
) -> anyhow::Error {
    let output = stderr.map(said_by_now).unwrap_or_default();
    let said = output.trim();
    match (said.is_empty(), hint(destination, said)) {
        (true, _) => anyhow!("{destination}: {error:#}"),
        (false, None) => anyhow!("{destination}: {error:#}: {said}"),
        (false, Some(hint)) => anyhow!("{destination}: {error:#}: {said}\nhint: {hint}"),
    }
}

/// What stands in a pipe, that others may still hold open.
fn said_by_now(from: &mut ChildStderr) -> String {
    let mut said = vec![0; SAID_BYTES_MAX];
    let mut length = 0;
    let soon = Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    while poll(&mut [PollFd::new(from, PollFlags::IN)], Some(&soon)).is_ok_and(|ready| ready > 0) {
        match from.read(&mut said[length..]) {
            Ok(count) if count > 0 => length += count,
            _ => break,
        }
    }
    String::from_utf8_lossy(&said[..length]).into_owned()
}

/// What to do about what `ssh` or the far side's shell says.
fn hint(destination: &str, said: &str) -> Option<String> {
    let hints = [
        (
            "HOST IDENTIFICATION HAS CHANGED",
            "if the machine was made anew: `ssh-keygen -R` its name",
        ),
        (
            "Host key verification failed",
            "run `ssh DEST` once, and check its key",
        ),
        (
            "Permission denied (",
            "no key of yours opens it: see `ssh-add -l`, or name its user",
        ),
        (
            "Could not resolve",
            "check the name, or give it one in ~/.ssh/config",
        ),
        (
            "Connection refused",
            "nothing listens there: check address and port",
        ),
        (
            "Permission denied",
            "its cache may be on a volume without exec: set XDG_CACHE_HOME there",
        ),
        (
            "GLIBC",
            "its system is older than the one that this program was built on",
        ),
        ("No space left", "make room in its cache folder"),
    ];
    let found = hints.iter().find(|(words, _)| said.contains(words));
    found.map(|(_, hint)| hint.replace("DEST", destination))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Child;

    fn child(script: &str) -> (Child, ChildStdout) {
        let mut command = process::command(Path::new("sh"));
        command.args(["-c", script]).stdout(Stdio::piped());
        let mut child = process::spawn(command, Life::Ours).unwrap();
        let reader = child.stdout.take().unwrap();
        (child, reader)
    }

    #[test]
    fn what_a_login_shell_says_before_is_passed_over_up_to_a_limit() {
        let said = |script: &str| {
            let (mut child, mut reader) = child(script);
            let line = line(&mut reader, ANSWER_LIMIT).map_err(|error| format!("{error:#}"));
            drop(reader);
            child.wait().unwrap();
            line
        };
        let ours = said("echo hello; printf 'x\\0y\\n'; echo cassay-agent: x86_64 1");
        assert_eq!(ours.as_deref(), Ok("x86_64 1"));
        assert_eq!(said("echo hello"), Err("it hung up".to_owned()));
        let too_much = "its shell says more than 65536 bytes before anything of ours";
        for endless in ["head -c 70000 /dev/zero", "yes hello"] {
            assert_eq!(said(endless), Err(too_much.to_owned()), "{endless}");
        }
    }

    #[test]
    fn a_deadline_holds_though_there_is_always_more_to_read() {
        let (mut child, mut reader) = child("yes hello");
        // What can be read is there before the time is up.
        let ready = poll(&mut [PollFd::new(&reader, PollFlags::IN)], None);
        assert_eq!(ready.unwrap(), 1);
        let error = line(&mut reader, Duration::ZERO).unwrap_err();
        assert_eq!(error.to_string(), "nothing of ours was heard within 0 s");
        drop(reader);
        child.wait().unwrap();
    }

    #[test]
    fn the_script_stands_between_single_quotes_and_is_one_of_a_shell() {
        let script = script("machine", 1);
        let inner = script.strip_prefix("exec sh -c '").unwrap().strip_suffix('\'').unwrap();
        assert!(!inner.contains('\''), "{inner}");
        let mut command = process::command(Path::new("sh"));
        command.args(["-n", "-c", inner]);
        let status = process::spawn(command, Life::Ours).unwrap().wait().unwrap();
        assert!(status.success());
    }

    #[test]
    fn a_destination_is_no_option_and_no_second_word() {
        for destination in ["", "-oProxyCommand=x", "a b", "a\nb", "host\u{e9}"] {
            let ssh = Path::new("/nonexistent");
            let error = Link::over_ssh(ssh, destination, "machine", &()).unwrap_err();
            assert!(error.to_string().contains("is no destination"), "{error}");
        }
    }

    #[test]
    fn what_ssh_says_comes_with_what_to_do() {
        let said = "me@db3: Permission denied (publickey).";
        let told = hint("db3", said).unwrap();
        assert!(told.contains("no key of yours"), "{told}");
        let told = hint("db3", "Host key verification failed.").unwrap();
        assert_eq!(told, "run `ssh db3` once, and check its key");
        assert_eq!(hint("db3", "something else"), None);
    }
}
