//! Tests a program that was built. The program must print its version, plan a study, run a study on
//! the null target, measure operations and write a page.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use xtask::architecture::Architecture;
use xtask::process;

const STUDY: &str = "\
study: smoke
question: Does this program work?
target: {null: {}}
workload: {use: standard1, mix: {write: 3, read: 1}}
data: {load: {operations: 2k}}
procedure: {sweep: {threads: [2]}}
window: {warmup: 0s, measure: 1s}
";

/// A program, and the command that runs it on this machine.
pub struct Runner {
    one: Architecture,
    words: Vec<String>,
    folder: PathBuf,
}

impl Runner {
    /// Returns the runner of the program for `one`. Creates an empty folder next to the program for
    /// the program's output.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn new(one: Architecture, program: &Path) -> Result<Runner> {
        let folder = program.with_file_name("tried");
        if folder.exists() {
            std::fs::remove_dir_all(&folder).context("clear a folder")?;
        }
        std::fs::create_dir_all(&folder).context("make a folder")?;
        let emulator = (!one.is_ours()).then(|| one.emulator().to_owned());
        let words = emulator.into_iter().chain([program.display().to_string()]).collect();
        Ok(Runner { one, words, folder })
    }

    /// Returns the folder for the program's output.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs the program, and returns its stdout.
    ///
    /// # Errors
    /// The program does not exit with 0.
    pub fn output(&self, arguments: &[&str]) -> Result<String> {
        let (program, words) = self.line(arguments);
        process::output(program, &words)
    }

    fn line<'a>(&'a self, arguments: &[&'a str]) -> (&'a str, Vec<&'a str>) {
        let words = self.words[1..].iter().map(String::as_str);
        (
            &self.words[0],
            words.chain(arguments.iter().copied()).collect(),
        )
    }

    /// Returns the version and the commit of the program in the form that records use, such as
    /// `0.1.0+1a2b3c4d5e6f`.
    ///
    /// # Errors
    /// The program does not start, or was built for another target.
    pub fn version(&self) -> Result<String> {
        let said = self.output(&["--version"])?;
        let target = self.one.target();
        let parsed = said
            .trim()
            .strip_prefix("cassay ")
            .and_then(|rest| rest.split_once(" (commit "))
            .and_then(|(number, rest)| Some((number, rest.split_once(", ")?)))
            .filter(|(_, (_, made_for))| made_for.trim_end_matches(')') == target);
        let (number, (commit, _)) = parsed
            .with_context(|| format!("the program reports {said:?}, but should be for {target}"))?;
        Ok(format!("{number}+{commit}"))
    }
}

/// Tests the program in several steps.
///
/// # Errors
/// One of the steps fails.
pub fn run(runner: &Runner) -> Result<()> {
    let folder = runner.folder();
    let study = folder.join("study.yaml");
    std::fs::write(&study, STUDY).context("write a study")?;
    let results = folder.join("results");
    let (study, out) = (study.display().to_string(), results.display().to_string());
    let plan = runner.output(&["plan", &study])?;
    ensure!(
        plan.contains("smoke"),
        "the program printed an unexpected plan: {plan:?}"
    );
    let (program, words) = runner.line(&["run", &study, "--out", &out]);
    // The exit code is ignored, because a run on a busy machine may be invalid, which is not a
    // defect of the program.
    let (said, _) = process::read_output(program, &words, &[], false)?;
    let measured = measured(&results.join("smoke"))
        .with_context(|| format!("the program printed:\n{said}"))?;
    ensure!(measured > 0, "the program measured no operation:\n{said}");
    let page = folder.join("page.html");
    runner.output(&["report", "--out", &out, "--to", &page.display().to_string()])?;
    ensure!(page.exists(), "the program wrote no page of the run");
    Ok(())
}

/// Returns the number of measured operations in all trials of the run.
fn measured(runs: &Path) -> Result<u64> {
    let mut all = std::fs::read_dir(runs).context("list its runs")?;
    let run = all
        .find_map(|run| Some(run.ok()?.path().join("findings.json")).filter(|path| path.exists()))
        .context("the run has no findings")?;
    let text = std::fs::read_to_string(&run).context("read its findings")?;
    let findings: Value = serde_json::from_str(&text).context("parse its findings")?;
    let trials = findings["trials"]
        .as_array()
        .context("the findings of the run have no trials")?;
    Ok(trials.iter().filter_map(|trial| trial["all"]["ops"].as_u64()).sum())
}
