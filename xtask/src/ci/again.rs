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

/// Runs the tests of the whole workspace; `slow` is the program of those that drive load.
pub fn workspace(slow: &str) -> Result<()> {
    let all = ["test", "--workspace", "--quiet", "--no-fail-fast"];
    let (said, passed) = process::said(&cargo(), &all, &[], false)?;
    if passed {
        return Ok(());
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
    alone(slow, &failed_tests(&said), &[], &[])
}

/// Runs the tests of one program.
pub fn program(program: &str, arguments: &[&str], variables: &[(&str, String)]) -> Result<()> {
    let (said, passed) = process::said(program, arguments, variables, true)?;
    if passed {
        return Ok(());
    }
    alone(program, &failed_tests(&said), &["--ignored"], variables)
}

fn alone(
    program: &str,
    failed: &[&str],
    arguments: &[&str],
    variables: &[(&str, String)],
) -> Result<()> {
    if failed.is_empty() || failed.len() > FAILURES_MAX {
        bail!("{} tests of {program} have failed", failed.len());
    }
    for test in failed {
        println!("== again, alone: {test}");
        let exactly = [arguments, &["--exact", test]].concat();
        process::run_with(program, &exactly, variables)?;
    }
    println!("== passed ONLY ALONE: {}", failed.join(", "));
    Ok(())
}

/// The tests under the last line `failures:` of a program, where it lists them.
fn failed_tests(said: &str) -> Vec<&str> {
    let listed = said
        .rsplit_once("\nfailures:\n")
        .map_or("", |(_, rest)| rest);
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
