//! Stores the duration of each step and each test of the gate. The gate uses these durations to run
//! the longest tests first, and to print a warning when it has become slower.
//!
//! The file `target/xtask/times.tsv` has the durations on this machine. Until it exists, the gate
//! uses `xtask/times.tsv` of the repository. Only the order of tests and the warning depend on
//! these files.

use crate::process;
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

/// Ratio of the duration of the gate to the stored duration at which the warning is printed.
const GROWTH: f64 = 1.05;

/// Duration of the shortest test that is stored, in seconds. The order of shorter tests is not
/// important.
const SHORTEST_S: f64 = 0.5;

/// Maximum number of steps and tests that the warning names.
const NAMED: usize = 5;

/// Prefix that distinguishes the name of a step from the name of a test.
const STEP: &str = "step: ";

/// Durations in seconds, by name. The name of a step has the prefix [`STEP`]. A test has the name
/// `package program test`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times(BTreeMap<String, f64>);

impl Times {
    /// Reads the durations of this machine's last stored gate, or otherwise the durations in the
    /// repository.
    ///
    /// # Errors
    /// A file cannot be read, or does not have the format that [`Times::text`] writes.
    pub fn stored() -> Result<Times> {
        for path in [machine_file(), tree_file()] {
            if path.is_file() {
                let text = std::fs::read_to_string(&path)
                    .with_context(|| format!("read {}", path.display()))?;
                return Times::parsed(&text).with_context(|| {
                    format!(
                        "{}; hint: remove it, `cargo xtask ci --times` writes it",
                        path.display()
                    )
                });
            }
        }
        Ok(Times::default())
    }

    fn parsed(text: &str) -> Result<Times> {
        let mut all = BTreeMap::new();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            let (seconds, name) = line
                .split_once('\t')
                .and_then(|(seconds, name)| Some((seconds.parse::<f64>().ok()?, name)))
                .filter(|(seconds, _)| seconds.is_finite() && *seconds >= 0.0)
                .with_context(|| {
                    format!("line {} must contain seconds, a tab and a name", at + 1)
                })?;
            all.insert(name.to_owned(), seconds);
        }
        Ok(Times(all))
    }

    /// Formats the durations as text with one duration per line, ordered from the longest to the
    /// shortest.
    fn text(&self) -> String {
        let mut text = format!(
            "# Seconds of steps and tests, by `cargo xtask ci --times` on {} CPUs.\n",
            process::cpus()
        );
        let is_kept = |name: &str, seconds: f64| name.starts_with(STEP) || seconds >= SHORTEST_S;
        for (name, seconds) in self.longest().filter(|(name, seconds)| is_kept(name, *seconds)) {
            // The result is ignored, because writing to a String cannot fail.
            let _ = writeln!(text, "{seconds:.1}\t{name}");
        }
        text
    }

    fn longest(&self) -> impl Iterator<Item = (&str, f64)> {
        let mut all: Vec<(&str, f64)> =
            self.0.iter().map(|(name, seconds)| (name.as_str(), *seconds)).collect();
        all.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        all.into_iter()
    }

    /// Returns the duration of a test in seconds. Returns `None` if the test was too short to be
    /// stored, or is new.
    pub fn seconds(&self, name: &str) -> Option<f64> {
        self.0.get(name).copied()
    }

    /// Adds the duration of a test, in seconds.
    pub fn add(&mut self, name: String, seconds: f64) {
        self.0.insert(name, seconds);
    }

    /// Adds the duration of a step, in seconds.
    pub fn add_step(&mut self, name: &str, seconds: f64) {
        self.add(format!("{STEP}{name}"), seconds);
    }

    fn steps(&self) -> f64 {
        let steps = self.0.iter().filter(|(name, _)| name.starts_with(STEP));
        steps.map(|(_, seconds)| seconds).sum()
    }

    /// Prints the durations of the steps and the tests, ordered from the longest to the shortest.
    pub fn print(&self) {
        for (name, seconds) in self.longest().filter(|(_, seconds)| *seconds >= SHORTEST_S) {
            println!("{seconds:7.1} s  {name}");
        }
        let short: Vec<f64> = self
            .longest()
            .map(|(_, seconds)| seconds)
            .filter(|seconds| *seconds < SHORTEST_S)
            .collect();
        println!(
            "{:7.1} s  {} more, less than {SHORTEST_S} s each",
            short.iter().sum::<f64>(),
            short.len()
        );
    }

    /// Returns the warning with the steps and tests that took longer than in the stored gate.
    /// Returns `None` if the gate took at most [`GROWTH`] times as long. Also returns `None` if the
    /// steps of the gates differ, because such gates cannot be compared.
    pub fn growth_over(&self, stored: &Times) -> Option<String> {
        let steps = |times: &Times| -> Vec<String> {
            times.0.keys().filter(|name| name.starts_with(STEP)).cloned().collect()
        };
        let (now, before) = (self.steps(), stored.steps());
        if steps(self) != steps(stored) || now <= before * GROWTH {
            return None;
        }
        let mut grown: Vec<(&str, f64, f64)> = self
            .0
            .iter()
            .map(|(name, now)| (name.as_str(), stored.seconds(name).unwrap_or(0.0), *now))
            .collect();
        grown.sort_by(|one, other| (other.2 - other.1).total_cmp(&(one.2 - one.1)));
        let mut text = format!(
            "the gate took {now:.0} s, {:.0} % more than the stored {before:.0} s; the largest \
             increases:",
            (now / before - 1.0) * 100.0
        );
        for (name, before, now) in grown.iter().take(NAMED) {
            let _ = write!(text, "\n   {name}: {before:.1} s then, {now:.1} s now");
        }
        Some(text)
    }

    /// Stores the durations as those of this machine, if this machine has no stored durations or if
    /// `is_asked` is true.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn store(&self, is_asked: bool) -> Result<()> {
        let path = machine_file();
        // Existing durations are kept. Otherwise the warning would never appear for a gate that
        // becomes slightly slower each time.
        if !is_asked && path.exists() {
            return Ok(());
        }
        let folder = path.parent().context("a folder")?;
        std::fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
        std::fs::write(&path, self.text()).with_context(|| format!("write {}", path.display()))?;
        println!("== times are stored in {}", path.display());
        Ok(())
    }
}

fn machine_file() -> PathBuf {
    super::target().join("xtask/times.tsv")
}

fn tree_file() -> PathBuf {
    crate::tree::root().join("xtask/times.tsv")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(all: &[(&str, f64)]) -> Times {
        Times(all.iter().map(|(name, seconds)| ((*name).to_owned(), *seconds)).collect())
    }

    #[test]
    fn written_times_are_read_longest_first_without_the_short_ones() {
        let all = times(&[
            ("step: lints", 0.1),
            ("a it b", 3.0),
            ("a it c", 0.2),
            ("a it d", 9.5),
        ]);
        let text = all.text();
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(lines, ["9.5\ta it d", "3.0\ta it b", "0.1\tstep: lints"]);
        let read = Times::parsed(&text).unwrap();
        assert_eq!(read.seconds("a it d"), Some(9.5));
        assert_eq!(read.seconds("a it c"), None);
        for wrong in ["x\ta", "1.0 a", "NaN\ta", "-1\ta"] {
            let error = Times::parsed(&format!("# first\n{wrong}\n")).unwrap_err();
            assert!(error.to_string().contains("line 2"), "{error}");
        }
    }

    #[test]
    fn a_gate_that_became_longer_says_by_what() {
        let before = times(&[
            ("step: lints", 10.0),
            ("step: tests", 90.0),
            ("a it b", 20.0),
        ]);
        let same = times(&[
            ("step: lints", 14.0),
            ("step: tests", 90.0),
            ("a it b", 80.0),
        ]);
        assert_eq!(same.growth_over(&before), None);
        let longer = times(&[
            ("step: lints", 10.0),
            ("step: tests", 100.0),
            ("a it b", 80.0),
        ]);
        let said = longer.growth_over(&before).unwrap();
        assert!(
            said.contains("110 s, 10 % more than the stored 100 s"),
            "{said}"
        );
        let first = said.lines().nth(1).unwrap();
        assert!(first.contains("a it b: 20.0 s then, 80.0 s now"), "{said}");
        let other = times(&[("step: lints", 400.0)]);
        assert_eq!(other.growth_over(&before), None, "it left a step out");
    }

    #[test]
    fn the_times_in_the_tree_can_be_read() {
        let text = std::fs::read_to_string(tree_file()).unwrap();
        assert!(!Times::parsed(&text).unwrap().0.is_empty());
    }
}
