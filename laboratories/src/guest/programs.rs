//! Builds the programs that a guest runs. These are cassay, tests of crates that require a real
//! kernel, and a program that the user provides. Each program comes with its shared libraries.

use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use xtask::process::{self, cargo};

/// Tests that each guest runs as its last steps. To add an executable, add a row here.
const TESTS: [Test; 2] = [
    Test {
        package: "topology",
        target: &["--test", "it"],
        arguments: &["this_machine::"],
    },
    Test {
        package: "agent",
        target: &["--test", "it"],
        // The tests run one at a time, because all emulated CPUs share one CPU of this machine.
        arguments: &["confine::", "nodes::", "--test-threads", "1", "--nocapture"],
    },
];

struct Test {
    package: &'static str,
    /// Target of the test program, in cargo's notation: `--lib`, or `--test NAME`.
    target: &'static [&'static str],
    /// Arguments of the test program in the guest. They are names of tests and options of libtest.
    arguments: &'static [&'static str],
}

/// A program that a guest runs, with its arguments.
pub struct Program {
    pub name: String,
    pub path: PathBuf,
    pub arguments: Vec<String>,
    /// True if the program is a test program of this repository, whose output names the tests that
    /// it ran.
    is_test: bool,
}

impl Program {
    /// Returns a program that the user provides.
    pub fn given(path: &Path, arguments: &[String]) -> Result<Program> {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .with_context(|| format!("{} has no name", path.display()))?;
        Ok(Program {
            name: name.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-"),
            path: path.to_owned(),
            arguments: arguments.to_vec(),
            is_test: false,
        })
    }

    /// Returns the problems in the output of a program that exited with 0. Missing and skipped
    /// tests are problems. libtest exits with 0 even if no test has the given name, for example
    /// after a test was renamed. A skipped test prints a line with `SKIPPED`.
    pub fn faults(&self, said: &str) -> Vec<String> {
        let skipped = said.lines().filter_map(|line| line.split_once("SKIPPED "));
        let mut faults: Vec<String> = skipped.map(|(_, what)| format!("skipped: {what}")).collect();
        if !self.is_test {
            return faults;
        }
        let results = said.lines().filter_map(|line| line.split_once("test result: ok. "));
        let passed: Option<u32> = results
            .filter_map(|(_, rest)| rest.split_once(" passed"))
            .map(|(count, _)| count.parse::<u32>().ok())
            .sum();
        if passed.unwrap_or(0) == 0 {
            faults.push(format!("{} reports no passed test", self.name));
        }
        let modules = self.arguments.iter().filter(|word| word.ends_with("::"));
        let unknown = modules.filter(|module| !said.contains(&format!("test {module}")));
        faults.extend(unknown.map(|module| format!("{} has no test {module}", self.name)));
        faults
    }
}

pub fn cassay() -> Result<PathBuf> {
    let words = [
        "build",
        "--quiet",
        "--profile",
        "launch",
        "--package",
        "cassay",
    ];
    process::run(&cargo(), &words)?;
    Ok(xtask::target().join("launch/cassay"))
}

/// Builds the tests in the table.
pub fn tests() -> Result<Vec<Program>> {
    let build = |test: &Test| {
        let words = [
            "test",
            "--quiet",
            "--no-run",
            "--message-format",
            "json",
            "--package",
        ];
        let words = [&words[..], &[test.package], test.target].concat();
        let said = process::output(&cargo(), &words)?;
        let path = executable(&said)
            .with_context(|| format!("cargo names no test of {}", test.package))?;
        let words: Vec<String> = test.arguments.iter().map(|&word| word.to_owned()).collect();
        let kind = test.target.last().map_or("", |word| word.trim_start_matches('-'));
        Ok(Program {
            name: format!("{}-{kind}", test.package),
            is_test: true,
            ..Program::given(&path, &words)?
        })
    };
    TESTS.iter().map(build).collect()
}

/// Returns the path of the test program in cargo's messages. Returns `None` if the messages contain
/// no program.
fn executable(messages: &str) -> Option<PathBuf> {
    let messages = messages.lines().rev();
    let mut messages = messages.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    messages.find_map(|message| Some(PathBuf::from(message["executable"].as_str()?)))
}

/// Returns the shared libraries of a program, and its loader.
pub fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let path = program.to_str().context("the path of a program is not UTF-8")?;
    match process::output("ldd", &[path]) {
        Ok(said) => paths(&said),
        Err(error) if error.to_string().contains("not a dynamic executable") => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Returns the paths in the output of ldd.
fn paths(said: &str) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for line in said.lines().filter(|line| !line.contains("statically linked")) {
        let line = line.trim();
        let path = line.split_once("=> ").map_or(line, |(_, path)| path);
        if path.starts_with("not found") {
            bail!("a library is missing here: {line}");
        }
        let path = path.split(' ').next().filter(|path| path.starts_with('/'));
        paths.extend(path.map(PathBuf::from));
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_those_with_a_path() {
        let said = "\tlinux-vdso.so.1 (0x00007ff)\n\tlibc.so.6 => /lib/x/libc.so.6 (0x0)\n\
                    \t/lib64/ld-linux-x86-64.so.2 (0x0)\n";
        let found = ["/lib/x/libc.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(paths(said).unwrap(), found.map(PathBuf::from));
        assert!(paths("\tstatically linked\n").unwrap().is_empty());
        assert!(paths("\tlibx.so => not found\n").is_err());
    }

    #[test]
    fn a_test_program_is_the_last_that_cargo_names() {
        let said = "{\"executable\":null}\n{\"executable\":\"/a\"}\n{\"success\":true}\n";
        assert_eq!(executable(said), Some(PathBuf::from("/a")));
        assert_eq!(executable("{\"executable\":null}\n"), None);
    }

    /// In an earlier version, a test that had been renamed did not run in any guest, but all guests
    /// passed.
    #[test]
    fn a_test_program_without_the_requested_tests_is_an_error() {
        let words = ["confine::", "nodes::", "--nocapture"].map(str::to_owned);
        let test = Program {
            is_test: true,
            ..Program::given(Path::new("/it"), &words).unwrap()
        };
        let all = "running 2 tests\ntest confine::a ... said\nok\ntest nodes::b ... ok\n\n\
                   test result: ok. 2 passed; 0 failed; 0 ignored\n";
        let one = "test nodes::b ... ok\ntest result: ok. 1 passed; 0 failed\n";
        let none = "running 0 tests\n\ntest result: ok. 0 passed; 0 failed\n";
        let ignored = "test confine::a ... ignored\ntest nodes::b ... ignored\n\
                       test result: ok. 0 passed; 0 failed; 2 ignored\n";
        let no_pass = "it reports no passed test";
        for (said, faults) in [
            (all, &[][..]),
            (one, &["it has no test confine::"]),
            (
                none,
                &[
                    no_pass,
                    "it has no test confine::",
                    "it has no test nodes::",
                ],
            ),
            (ignored, &[no_pass]),
            (
                "",
                &[
                    no_pass,
                    "it has no test confine::",
                    "it has no test nodes::",
                ],
            ),
            (
                &format!("{all}SKIPPED c: no root\n"),
                &["skipped: c: no root"],
            ),
        ] {
            assert_eq!(test.faults(said), faults, "{said}");
        }
        let given = Program::given(Path::new("/it"), &words).unwrap();
        assert!(given.faults("done").is_empty(), "a program is not a test");
    }
}
