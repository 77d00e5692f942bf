//! Tests that fail beside others are run again alone.
//!
//! The slow tests drive load in real time and start nodes, several at a time on as few as two CPUs:
//! one may find its client or its node without a CPU for seconds. Alone, it cannot say that. What
//! fails alone fails the gate, and what passed only alone is named, so that it is not overlooked.

use crate::process::{self, cargo};
use anyhow::{Result, bail, ensure};

/// More failures than that are no accident of the machine.
const FAILURES_MAX: usize = 3;

/// Only the program of slow tests has failed, as cargo says it.
const SLOW: &str = "`-p cassay --test it`";

/// What is to be run again.
#[derive(Debug, Default)]
pub struct Failed {
    program: String,
    tests: Vec<String>,
    arguments: Vec<&'static str>,
    variables: Vec<(&'static str, String)>,
}

/// Runs the tests of the whole workspace; `slow` is the program of those that drive load.
pub fn workspace(slow: &str) -> Result<Failed> {
    let all = ["test", "--workspace", "--quiet", "--no-fail-fast"];
    // Those that drive load wait for their windows: one more than CPUs.
    let variables = [("RUST_TEST_THREADS", (process::cpus() + 1).to_string())];
    let (said, passed) = process::said(&cargo(), &all, &variables, false)?;
    if passed {
        return Ok(Failed::default());
    }
    let targets = failed_targets(&said);
    ensure!(
        targets == [SLOW],
        "tests have failed of {}; what they said is above",
        match targets.as_slice() {
            [] => "a program that cargo does not name".to_owned(),
            targets => targets.join(", "),
        }
    );
    Failed::of(slow, &said, Vec::new(), Vec::new())
}

/// Runs the tests of one program that are ignored elsewhere.
pub fn program(
    program: &str,
    arguments: &[&str],
    variables: Vec<(&'static str, String)>,
) -> Result<Failed> {
    let (said, passed) = process::said(program, arguments, &variables, true)?;
    if passed {
        return Ok(Failed::default());
    }
    Failed::of(program, &said, vec!["--ignored"], variables)
}

impl Failed {
    fn of(
        program: &str,
        said: &str,
        arguments: Vec<&'static str>,
        variables: Vec<(&'static str, String)>,
    ) -> Result<Failed> {
        let tests = failed_tests(said);
        if tests.is_empty() || tests.len() > FAILURES_MAX {
            bail!("{} tests of {program} have failed", tests.len());
        }
        Ok(Failed {
            program: program.to_owned(),
            tests: tests.into_iter().map(str::to_owned).collect(),
            arguments,
            variables,
        })
    }

    /// Runs each of them alone, which nothing else may run beside.
    ///
    /// # Errors
    /// One fails again.
    pub fn alone(&self) -> Result<()> {
        for test in &self.tests {
            println!("== again, alone: {test}");
            let exactly = [&self.arguments[..], &["--exact", test]].concat();
            process::run_with(&self.program, &exactly, &self.variables)?;
        }
        if !self.tests.is_empty() {
            println!("== passed ONLY ALONE: {}", self.tests.join(", "));
        }
        Ok(())
    }
}

/// The tests under the last line `failures:` of a program, where it lists them.
fn failed_tests(said: &str) -> Vec<&str> {
    let listed = said.rsplit_once("\nfailures:\n").map_or("", |(_, rest)| rest);
    let lines = listed.lines().take_while(|line| line.starts_with("    "));
    lines.map(str::trim).collect()
}

/// The programs that cargo names at its end: `error: 1 target failed:`.
fn failed_targets(said: &str) -> Vec<&str> {
    let lines = said.lines().skip_while(|line| {
        !(line.starts_with("error: ")
            && (line.ends_with("target failed:") || line.ends_with("targets failed:")))
    });
    let named = lines.skip(1).take_while(|line| line.starts_with("    "));
    named.map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
running 3 tests
a::b --- FAILED

failures:

---- a::b stdout ----
failures:
    nobody

failures:
    a::b
    c

test result: FAILED. 1 passed; 2 failed
error: test failed, to rerun pass `-p cassay --test it`
error: 1 target failed:
    `-p cassay --test it`
";

    #[test]
    fn what_has_failed_is_read_from_what_libtest_and_cargo_say() {
        assert_eq!(failed_tests(SAID), ["a::b", "c"]);
        assert_eq!(failed_targets(SAID), [SLOW]);
        let two = SAID.replace(
            "error: 1 target failed:",
            "error: 2 targets failed:\n    `x`",
        );
        assert_eq!(failed_targets(&two), ["`x`", SLOW]);
        assert!(failed_tests("signal: 6").is_empty());
        assert!(failed_targets("error: could not compile").is_empty());
    }
}
