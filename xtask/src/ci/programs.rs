//! The test programs that cargo builds, and the tests in each program.

use crate::process::{self, cargo};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::PathBuf;

/// A program that contains tests.
#[derive(Clone, Debug)]
pub struct Program {
    /// Package and target of the program, such as `cassay it`. The names of its tests begin with
    /// this text.
    pub name: String,
    pub path: String,
    /// Folder of the program's package, in which cargo starts the program.
    pub folder: PathBuf,
}

/// Builds all tests in the same way as the gate, and returns the test programs. All are built,
/// because for a single program cargo would omit features that other tests require, and compile
/// most crates again.
///
/// # Errors
/// The tests do not compile, or cargo has built no test programs.
pub fn built() -> Result<Vec<Program>> {
    let build = [&super::BUILD[..], &["--message-format=json"]].concat();
    let programs = parsed(&process::output(&cargo(), &build)?);
    ensure!(!programs.is_empty(), "cargo built no test programs");
    Ok(programs)
}

fn parsed(said: &str) -> Vec<Program> {
    let program = |line: &str| -> Option<Program> {
        let unit: Value = serde_json::from_str(line).ok()?;
        let path = unit["executable"].as_str().filter(|_| unit["profile"]["test"] == true)?;
        let folder = PathBuf::from(unit["manifest_path"].as_str()?).parent()?.to_owned();
        let package = folder.file_name()?.to_string_lossy().into_owned();
        let target = unit["target"]["name"].as_str()?;
        let is_unit = package == target;
        Some(Program {
            name: if is_unit {
                package
            } else {
                format!("{package} {target}")
            },
            path: path.to_owned(),
            folder,
        })
    };
    said.lines().filter_map(program).collect()
}

impl Program {
    /// Returns the names of the program's tests, without those that are `#[ignore]`d.
    ///
    /// # Errors
    /// The program cannot be started, or it fails.
    pub fn tests(&self) -> Result<Vec<String>> {
        let ignored = self.listed(&["--ignored"])?;
        let mut tests = self.listed(&[])?;
        tests.retain(|test| !ignored.contains(test));
        Ok(tests)
    }

    /// Returns the tests that the program lists with these arguments.
    ///
    /// # Errors
    /// The program cannot be started, or it fails.
    pub fn listed(&self, arguments: &[&str]) -> Result<Vec<String>> {
        let listed = process::output(&self.path, &[arguments, &["--list"]].concat())
            .with_context(|| format!("list the tests of {}", self.name))?;
        let names = listed.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_tests_are_told_from_all_else_that_cargo_builds() {
        let unit = |target: &str, executable: &str, test: bool| {
            format!(
                "{{\"manifest_path\":\"/c/crates/load/Cargo.toml\",\
                 \"target\":{{\"name\":\"{target}\"}},\"profile\":{{\"test\":{test}}},\
                 \"executable\":{executable}}}\n"
            )
        };
        let said = unit("load", "\"/t/load-1\"", true)
            + &unit("load", "null", false)
            + &unit("it", "\"/t/it-2\"", true)
            + &unit("null", "\"/t/null\"", false)
            + "{\"reason\":\"build-finished\",\"success\":true}\n";
        let found: Vec<(String, String)> =
            parsed(&said).into_iter().map(|one| (one.name, one.path)).collect();
        let expected = [("load", "/t/load-1"), ("load it", "/t/it-2")];
        assert_eq!(
            found,
            expected.map(|(name, path)| (name.to_owned(), path.to_owned()))
        );
    }
}
