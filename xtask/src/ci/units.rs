//! Runs tests in units. A unit is one process that runs its tests one after the other. Units run in
//! parallel. The longest unit starts first, so that a long unit does not start when the other units
//! have already ended.
//!
//! libtest runs the tests of one program in the order of their names, and cargo runs one program
//! after the other. So each program waits for its longest test. In this module, a long test is a
//! separate unit. Short tests share a process, which saves the start of further processes.

use super::programs::Program;
use super::times::Times;
use crate::process;
use anyhow::{Result, anyhow};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// Duration at which a unit of short tests is full, in seconds. A test that takes longer has a
/// separate unit.
const UNIT_S: f64 = 3.0;

/// Maximum duration of a unit of tests that share a node, in seconds. With a longer unit, waiting
/// for its last test would take more time than starting another node.
const SHARED_S: f64 = 200.0;

/// Environment variable with the number of a unit. Tests use it in the names of their resources.
const UNIT: &str = "CASSAY_UNIT";

/// Duration that is assumed for a test without a stored duration, in seconds. It is short, because
/// such tests are usually short.
const UNKNOWN_S: f64 = 0.05;

/// Tests that one process runs, one after the other.
#[derive(Clone, Debug)]
pub struct Unit {
    program: Arc<Program>,
    tests: Vec<String>,
    /// Expected duration in seconds, from stored times.
    expected_s: f64,
}

pub struct UnitResult {
    /// Test program.
    pub program: Arc<Program>,
    /// Complete output of the unit.
    pub said: String,
    /// True if every test of the unit passed.
    pub passed: bool,
    /// Tests that have finished, with their durations in seconds.
    pub seconds: Vec<(String, f64)>,
}

pub fn divide(program: &Arc<Program>, tests: Vec<String>, times: &Times) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut short: Option<Unit> = None;
    for test in tests {
        let known = times.seconds(&format!("{} {test}", program.name));
        let one = Unit {
            program: Arc::clone(program),
            tests: vec![test],
            expected_s: known.unwrap_or(UNKNOWN_S),
        };
        if one.expected_s >= UNIT_S {
            units.push(one);
            continue;
        }
        let open = short.get_or_insert_with(|| Unit {
            tests: Vec::new(),
            expected_s: 0.0,
            ..one.clone()
        });
        open.tests.extend(one.tests);
        open.expected_s += one.expected_s;
        if open.expected_s >= UNIT_S {
            units.extend(short.take());
        }
    }
    units.extend(short);
    units
}

/// Divides tests that share the resources of their process into units. The units are as few as
/// possible, but not longer than [`SHARED_S`].
pub fn together(program: &Arc<Program>, tests: Vec<String>, times: &Times) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for test in tests {
        let known = times.seconds(&format!("{} {test}", program.name));
        let expected_s = known.unwrap_or(UNKNOWN_S);
        match units.last_mut().filter(|unit| unit.expected_s + expected_s <= SHARED_S) {
            Some(unit) => {
                unit.tests.push(test);
                unit.expected_s += expected_s;
            }
            None => units.push(Unit {
                program: Arc::clone(program),
                tests: vec![test],
                expected_s,
            }),
        }
    }
    units
}

/// Runs units. `at_a_time` units run in parallel, and the longest unit starts first. `more`
/// contains additional arguments of libtest.
///
/// # Errors
/// A unit cannot be started.
pub fn run(
    mut units: Vec<Unit>,
    at_a_time: usize,
    more: &[&str],
    variables: &[(&str, String)],
) -> Result<Vec<UnitResult>> {
    units.sort_by(|one, other| other.expected_s.total_cmp(&one.expected_s));
    let queue: VecDeque<(usize, Unit)> = units.into_iter().enumerate().collect();
    let queue = Mutex::new(queue);
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let work = || -> Result<Vec<UnitResult>> {
        let mut outcomes = Vec::new();
        while let Some((number, unit)) = next() {
            outcomes.push(unit.run(number, more, variables)?);
        }
        Ok(outcomes)
    };
    let lanes: Vec<Result<Vec<UnitResult>>> = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..at_a_time).map(|_| scope.spawn(work)).collect();
        let ended = lanes.into_iter().map(|lane| lane.join());
        ended.map(|lane| lane.map_err(|_| anyhow!("running tests panicked"))?).collect()
    });
    let outcomes: Result<Vec<Vec<UnitResult>>> = lanes.into_iter().collect();
    Ok(outcomes?.into_iter().flatten().collect())
}

impl Unit {
    fn run(self, number: usize, more: &[&str], variables: &[(&str, String)]) -> Result<UnitResult> {
        let mut arguments = vec!["--exact", "--test-threads=1"];
        arguments.extend(more);
        arguments.extend(self.tests.iter().map(String::as_str));
        // Like cargo, this sets the variable by which tests find the files of their package.
        let folder = self.program.folder.display().to_string();
        let own = [("CARGO_MANIFEST_DIR", folder), (UNIT, number.to_string())];
        let variables = [variables, &own].concat();
        let mut seconds = Vec::new();
        let (mut last_s, mut last_cpu_s) = (super::now().as_secs_f64(), 0.0);
        let heard = |line: &str, read_cpu_s: &dyn Fn() -> f64| {
            let now_s = super::now().as_secs_f64();
            // The tests of a unit run one after the other. So the duration of a test is the time
            // from the end of the previous test to its own end.
            if let Some(test) = ended(line) {
                let cpu_s = read_cpu_s();
                let (took_s, took_cpu_s) = (now_s - last_s, cpu_s - last_cpu_s);
                if took_s >= UNIT_S {
                    let name = &self.program.name;
                    println!("{took_s:7.1} s ({took_cpu_s:.1} s of CPU)  {name} {test}");
                }
                seconds.push((test.to_owned(), took_s));
                (last_s, last_cpu_s) = (now_s, cpu_s);
            }
        };
        let folder = &self.program.folder;
        let (said, passed) =
            process::heard(folder, &self.program.path, &arguments, &variables, heard)?;
        if !passed {
            println!("{said}");
        }
        Ok(UnitResult {
            program: self.program,
            said,
            passed,
            seconds,
        })
    }
}

/// Returns the name of the test that has passed or failed according to a line of libtest's output.
/// Returns `None` for other lines.
fn ended(line: &str) -> Option<&str> {
    let (test, how) = line.strip_prefix("test ")?.split_once(" ... ")?;
    // Only the end of the text is compared, because output of the test that libtest did not capture
    // may come before the result.
    (how.ends_with("ok") || how.ends_with("FAILED")).then_some(test)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn program() -> Arc<Program> {
        Arc::new(Program {
            name: "a it".to_owned(),
            path: "/a".to_owned(),
            folder: PathBuf::from("/"),
        })
    }

    fn names(all: &[&str]) -> Vec<String> {
        all.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn each_test_is_in_one_unit_and_a_long_one_in_its_own() {
        let mut times = Times::default();
        times.add("a it long".to_owned(), 40.0);
        times.add("a it half".to_owned(), 2.0);
        times.add("a it other_half".to_owned(), 2.0);
        let tests = names(&["a", "half", "long", "other_half", "z"]);
        let units = divide(&program(), tests, &times);
        let found: Vec<&[String]> = units.iter().map(|unit| unit.tests.as_slice()).collect();
        let expected = [
            names(&["long"]),
            names(&["a", "half", "other_half"]),
            names(&["z"]),
        ];
        assert_eq!(found, expected);
        assert!(divide(&program(), Vec::new(), &times).is_empty());
        let all = together(&program(), names(&["long", "half"]), &times);
        assert_eq!(
            (all.len(), all[0].tests.len(), all[0].expected_s),
            (1, 2, 42.0)
        );
        times.add("a it longer".to_owned(), SHARED_S);
        let all = together(&program(), names(&["long", "longer", "half"]), &times);
        let found: Vec<&[String]> = all.iter().map(|unit| unit.tests.as_slice()).collect();
        assert_eq!(
            found,
            [names(&["long"]), names(&["longer"]), names(&["half"])]
        );
    }

    #[test]
    fn the_end_of_a_test_is_seen_in_what_libtest_says() {
        assert_eq!(ended("test a::b ... ok"), Some("a::b"));
        assert_eq!(
            ended("test a::b - should panic ... FAILED"),
            Some("a::b - should panic")
        );
        assert_eq!(
            ended("test a::b ... said without a line's end ok"),
            Some("a::b")
        );
        assert_eq!(ended("test result: ok. 3 passed"), None);
        assert_eq!(ended("running 3 tests"), None);
    }
}
