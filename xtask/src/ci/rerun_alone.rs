//! Runs tests again alone if they failed while other tests were running. The gate fails in any
//! case.
//!
//! The slow tests apply load in real time and start nodes, and several of them run at the same
//! time. The second attempt distinguishes two kinds of defects. A test that also fails alone is
//! easy to debug. A test that passes alone depends on the other tests. Both kinds make the gate
//! fail, because an unsteady test has a cause in the product or in the test.

use super::units::UnitResult;
use crate::process;
use anyhow::{Result, bail, ensure};
use std::path::PathBuf;

/// Maximum number of failed tests that are repeated. If more tests failed, other load on the
/// machine is not the reason.
const FAILURES_MAX: usize = 3;

/// Test program with the slow tests. Failures of other programs are not repeated.
const SLOW: &str = "cassay it";

/// Failed tests, and the information that is needed to run them again.
#[derive(Debug, Default)]
pub struct Failed {
    program: String,
    folder: PathBuf,
    tests: Vec<String>,
    arguments: Vec<&'static str>,
    variables: Vec<(&'static str, String)>,
}

/// Returns the tests that failed in units that ran with these arguments and variables.
///
/// # Errors
/// A test of another program failed, too many tests failed, or a program ended without naming the
/// failed test.
pub fn failed(
    outcomes: &[UnitResult],
    arguments: &[&'static str],
    variables: &[(&'static str, String)],
) -> Result<Failed> {
    let mut failed = Failed {
        arguments: arguments.to_vec(),
        variables: variables.to_vec(),
        ..Failed::default()
    };
    let mut without_excuse = Vec::new();
    for outcome in outcomes.iter().filter(|outcome| !outcome.passed) {
        let tests = failed_tests(&outcome.said);
        if outcome.program.name != SLOW {
            without_excuse.push(format!("{} {}", outcome.program.name, tests.join(" ")));
            continue;
        }
        ensure!(
            !tests.is_empty(),
            "{SLOW} ended without the name of a failed test; its whole output is above"
        );
        failed.program.clone_from(&outcome.program.path);
        failed.folder.clone_from(&outcome.program.folder);
        failed.tests.extend(tests.into_iter().map(str::to_owned));
    }
    ensure!(
        without_excuse.is_empty(),
        "tests failed: {}; their output is above",
        without_excuse.join(", ")
    );
    if failed.tests.len() > FAILURES_MAX {
        bail!(
            "{} tests of {SLOW} have failed: {}",
            failed.tests.len(),
            failed.tests.join(", ")
        );
    }
    Ok(failed)
}

impl Failed {
    /// Runs each test alone. The caller must ensure that no other test runs at the same time.
    ///
    /// # Errors
    /// At least one test had failed, even if all tests pass alone. The error names all failed
    /// tests, with the result of the second attempt.
    pub fn alone(self) -> Result<()> {
        let attempts = self.tests.into_iter().map(|test| {
            println!("== running this test again, alone: {test}");
            let exactly = [&self.arguments[..], &["--exact", &test]].concat();
            let ran = process::run_in(&self.folder, &self.program, &exactly, &self.variables);
            (test, ran.is_ok())
        });
        judge(attempts)
    }
}

/// Returns an error that lists the tests that also failed alone, and separately the tests that
/// passed alone.
fn judge(attempts: impl Iterator<Item = (String, bool)>) -> Result<()> {
    let (unsteady, broken): (Vec<_>, Vec<_>) = attempts.partition(|(_, passed)| *passed);
    let names = |tests: Vec<(String, bool)>| {
        let names: Vec<String> = tests.into_iter().map(|(name, _)| name).collect();
        names.join(", ")
    };
    let mut told = Vec::new();
    if !broken.is_empty() {
        let names = names(broken);
        told.push(format!("failed beside others and alone: {names}"));
    }
    if !unsteady.is_empty() {
        let names = names(unsteady);
        told.push(format!(
            "failed beside other tests and passed only alone, which is a failure too: \
             {names}\nhint: the test, or the code that it tests, depends on timing; `stress-ng \
             --cpu 2` beside it makes this visible"
        ));
    }
    ensure!(told.is_empty(), told.join("\n"));
    Ok(())
}

/// Returns the failed tests in the output of a program. The program lists them after the last line
/// `failures:`.
fn failed_tests(said: &str) -> Vec<&str> {
    let listed = said.rsplit_once("\nfailures:\n").map_or("", |(_, rest)| rest);
    let lines = listed.lines().take_while(|line| line.starts_with("    "));
    lines.map(str::trim).collect()
}

#[cfg(test)]
mod tests {
    use super::super::programs::Program;
    use super::*;
    use std::sync::Arc;

    const FAILED_OUTPUT: &str = "\
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
";

    /// In an earlier version of the gate, a test that failed once in four runs passed for weeks.
    #[test]
    fn a_test_that_passes_only_on_its_second_try_fails_and_is_named() {
        let judged = |attempts: &[(&str, bool)]| {
            let attempts = attempts.iter().map(|(test, passed)| ((*test).to_owned(), *passed));
            judge(attempts).map_err(|error| error.to_string())
        };
        assert_eq!(judged(&[]), Ok(()));
        let said = judged(&[("a::b", true)]).expect_err("a test that failed once is an error");
        assert!(
            said.starts_with("failed beside other tests and passed only alone"),
            "{said}"
        );
        assert!(said.contains(": a::b\nhint: "), "{said}");
        let said = judged(&[("a::b", true), ("c", false), ("d", false)]).expect_err("three");
        assert!(
            said.starts_with("failed beside others and alone: c, d\n"),
            "{said}"
        );
        assert!(said.contains("too: a::b\n"), "{said}");
    }

    fn outcome(program: &str, said: &str) -> UnitResult {
        UnitResult {
            program: Arc::new(Program {
                name: program.to_owned(),
                path: format!("/{program}"),
                folder: PathBuf::from("/"),
            }),
            said: said.to_owned(),
            passed: said.is_empty(),
            seconds: Vec::new(),
        }
    }

    #[test]
    fn failed_tests_are_read_from_the_output_of_libtest() {
        assert_eq!(failed_tests(FAILED_OUTPUT), ["a::b", "c"]);
        assert!(failed_tests("signal: 6").is_empty());
        let of = |outcomes: &[UnitResult]| failed(outcomes, &[], &[]);
        let one = of(&[outcome("load", ""), outcome(SLOW, FAILED_OUTPUT)]).unwrap();
        assert_eq!(one.tests, ["a::b", "c"]);
        assert_eq!(one.program, "/cassay it");
        assert!(of(&[outcome(SLOW, "")]).unwrap().tests.is_empty());
        let error = of(&[outcome("load", FAILED_OUTPUT)]).unwrap_err().to_string();
        assert!(error.contains("load a::b c"), "{error}");
        let error = of(&[outcome(SLOW, FAILED_OUTPUT), outcome(SLOW, FAILED_OUTPUT)])
            .unwrap_err()
            .to_string();
        assert!(error.contains("4 tests"), "{error}");
        let error = of(&[outcome(SLOW, "signal: 6")]).unwrap_err().to_string();
        assert!(error.contains("without the name of"), "{error}");
    }
}
