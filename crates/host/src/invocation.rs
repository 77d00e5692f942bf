//! Runs a user's programs that inject, observe or heal faults on hosts without agents. Each program
//! runs on this machine until it ends, or until its time limit expires.

use crate::agent;
use crate::process::{self, Patience};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;
use target_spec::Invocation;

/// Time limit of a program that injects or heals. It may first have to reach another machine.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Number of bytes to keep from the end of a program's output. This number is enough for an error
/// message and its context.
const OUTPUT_BYTES_MAX: usize = 300;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramResult {
    /// Exit code of the program. `None` if the program was killed, for example at the time limit.
    pub code: Option<i32>,
    /// End of the program's output, on one line.
    pub said: String,
}

/// Runs a program. When the time limit expires, kills the program with its process group.
///
/// # Errors
/// The program cannot be started.
pub fn run(what: &Invocation, limit: Duration) -> Result<ProgramResult> {
    let (program, arguments) = what.words.split_first().context("the program is missing")?;
    let program = if program.contains('/') {
        what.folder.join(program)
    } else {
        Path::new(program).to_owned()
    };
    let mut command = process::command(&program);
    // The program must not inherit the mark of an agent. Otherwise cassay would kill the program
    // when it removes the leftovers of the agent.
    command.args(arguments).current_dir(&what.folder).env_remove(agent::MARK);
    // Ctrl-C must not end a program that heals a fault.
    let patience = Patience {
        limit,
        heeds_interrupt: false,
    };
    let mut said = Vec::new();
    let ended = process::listen(command, b"", patience, |_, piece| {
        said.extend_from_slice(piece);
        said.drain(..said.len().saturating_sub(OUTPUT_BYTES_MAX));
        Ok(())
    })?;
    let said = String::from_utf8_lossy(&said);
    let words: Vec<&str> = said.split_whitespace().collect();
    Ok(ProgramResult {
        code: ended.and_then(|status| status.code()),
        said: words.join(" "),
    })
}

/// Runs a program that must exit with 0 within `limit`.
///
/// # Errors
/// The program cannot be started, does not end in time, or exits with another code.
pub fn succeed(what: &Invocation, limit: Duration) -> Result<()> {
    let done = run(what, limit)?;
    match done.code {
        Some(0) => Ok(()),
        Some(code) => bail!("{what} ended with {code}: {}", done.said),
        None => bail!(
            "cassay killed {what} after at most {} s: {}",
            limit.as_secs(),
            done.said
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::clock;

    const POLL: Duration = Duration::from_millis(5);

    fn tried(words: &[&str], folder: &Path, limit: Duration) -> Result<ProgramResult> {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let folder = folder.to_owned();
        run(&Invocation { words, folder }, limit)
    }

    #[test]
    fn a_programs_output_and_exit_are_known_without_a_shell() {
        let root = tempfile::tempdir().unwrap();
        let script = "echo \"$1\" in `pwd`; echo gone >&2; exit 3";
        let words = ["sh", "-c", script, "-", "$HOME; a"];
        let done = tried(&words, root.path(), LIMIT).unwrap();
        let folder = root.path().canonicalize().unwrap();
        let said = format!("$HOME; a in {} gone", folder.display());
        assert_eq!((done.code, done.said), (Some(3), said));
        std::os::unix::fs::symlink("/bin/true", root.path().join("mine")).unwrap();
        let done = tried(&["./mine"], root.path(), LIMIT).unwrap();
        assert_eq!(done.code, Some(0), "a path begins in the folder");
        let error = tried(&["/nonexistent/a"], root.path(), LIMIT).unwrap_err();
        assert!(format!("{error:#}").contains("/nonexistent/a"), "{error:#}");
        assert!(tried(&[], root.path(), LIMIT).is_err());
    }

    #[test]
    fn one_that_does_not_end_is_killed_with_what_it_has_started() {
        let root = tempfile::tempdir().unwrap();
        let script = "sleep 600 & echo $!; yes";
        let soon = Duration::from_millis(300);
        let done = tried(&["sh", "-c", script], root.path(), soon).unwrap();
        assert_eq!(done.code, None);
        assert!(done.said.len() <= OUTPUT_BYTES_MAX, "{}", done.said.len());
        let script = "sleep 600 & echo $!; wait";
        let done = tried(&["sh", "-c", script], root.path(), soon).unwrap();
        let sleep: u32 = done.said.parse().unwrap();
        let alive = || process::Identity::read(sleep).is_some();
        while alive() {
            clock::sleep(POLL);
        }
    }
}
