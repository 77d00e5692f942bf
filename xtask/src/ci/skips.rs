//! Lists the tests that this machine cannot run. Because libtest does not show the output of
//! passing tests, each test that is skipped appends a line to a file.

use super::scratch;
use crate::process;
use anyhow::{Context, Result, bail};
use std::path::PathBuf;

/// Environment variable with the path of the file to which skipped tests append a line. See
/// `crates/cassay/tests/it/program.rs` and `crates/linux/src/skip_report.rs`.
const SKIPS: &str = "CASSAY_SKIPS";

/// Prefix of the line of a test that this machine cannot run, even if the user installs additional
/// programs.
const UNABLE: &str = "unable ";

/// Path of the file with the skipped tests.
pub struct Skips(PathBuf);

impl Skips {
    /// Creates an empty file, to which the tests of all later commands append.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new() -> Result<Skips> {
        let path = scratch("skips")?;
        std::fs::write(&path, "").with_context(|| format!("write {}", path.display()))?;
        process::add_environment(vec![(SKIPS, path.to_string_lossy().into_owned())]);
        Ok(Skips(path))
    }

    /// Prints the skipped tests.
    ///
    /// # Errors
    /// A test was skipped although all tests are required. See [`is_complete_expected`].
    pub fn tell(&self) -> Result<()> {
        let text = std::fs::read_to_string(&self.0)
            .with_context(|| format!("read {}", self.0.display()))?;
        text.lines().for_each(|line| println!("   {line}"));
        let Some(summary) = summary(&text) else {
            println!("== no test was skipped");
            return Ok(());
        };
        let is_missing = text.lines().any(|line| !line.starts_with(UNABLE));
        if is_missing && is_complete_expected() {
            bail!(
                "{summary}\nhint: `scripts/prerequisites ssh musl rpm notebook browser` installs \
                 the programs that tests need; without CI in the environment, tests may be skipped"
            );
        }
        println!("== {summary}");
        Ok(())
    }
}

/// Returns a line with the number of skipped tests and the reasons. Returns `None` if no test was
/// skipped.
fn summary(text: &str) -> Option<String> {
    let mut reasons: Vec<(&str, usize)> = Vec::new();
    for line in text.lines() {
        let reason = line.split_once(": ").map_or(line, |(_, reason)| reason);
        match reasons.iter_mut().find(|(one, _)| *one == reason) {
            Some((_, count)) => *count += 1,
            None => reasons.push((reason, 1)),
        }
    }
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let all: usize = reasons.iter().map(|(_, count)| count).sum();
    let said: Vec<String> =
        reasons.iter().map(|(reason, count)| format!("{count}: {reason}")).collect();
    (all > 0).then(|| {
        format!(
            "NOT TESTED on this machine: {all} tests ({})",
            said.join("; ")
        )
    })
}

/// Returns true if all tests must run. This is the case if `CI` is set, and the user is root on
/// Debian, so that `scripts/prerequisites` can install missing programs.
fn is_complete_expected() -> bool {
    let is_ci = std::env::var("CI").is_ok_and(|value| !value.is_empty());
    let is_root = || process::output("id", &["-u"]).is_ok_and(|id| id.trim() == "0");
    is_ci && std::path::Path::new("/etc/debian_version").exists() && is_root()
}

/// Records that a test of the crate `laboratories` is skipped on this machine, with the reason.
///
/// # Panics
/// The list of skipped tests cannot be written.
pub fn skip(why: &str) {
    use std::io::Write;
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    eprintln!("SKIPPED: {test}: {why}");
    if let Some(path) = std::env::var_os(SKIPS) {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        writeln!(file.expect("the list of skips"), "{test}: {why}").expect("a line");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipped_tests_are_one_line_with_every_reason_once() {
        assert_eq!(summary(""), None);
        let text = "ssh::a: no sshd: apt-get install it\nrpm::b: no rpmbuild\nssh::c: no sshd: \
                    apt-get install it\n";
        let said = summary(text).unwrap();
        assert!(
            said.ends_with("3 tests (2: no sshd: apt-get install it; 1: no rpmbuild)"),
            "{said}"
        );
        assert_eq!(said.lines().count(), 1);
    }
}
