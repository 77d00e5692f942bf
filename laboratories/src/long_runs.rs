//! Measures the cost of viewing long runs and runs of many trials. The cost consists of time,
//! memory and the size of the page. Each of these has a limit.
//!
//! The example `long_run` writes the runs with the writers of the store. The measured program is
//! that which `./cassay` builds. These measurements are not part of the gate, because they depend
//! on time.

use crate::peers::sample::{now, used, wait};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::time::Duration;
use xtask::process::{self, cargo};
use xtask::tree;

/// Options of `cargo xtask long`.
#[derive(clap::Args)]
pub struct Options {
    /// Only one part: plans, history, trials or day
    #[arg(long, value_name = "PART")]
    only: Option<String>,
    /// Number of times that each command runs; the fastest time and the most memory count
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Keep the runs in this folder, and reuse runs that are already there
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

/// A run that is generated, and the limits for viewing it.
struct LargeRun {
    name: &'static str,
    /// Procedure, window and blocks of the study.
    study: &'static str,
    /// Arguments of the example `long_run`: seconds of each trial, number of nodes, and number of
    /// runs.
    shape: [&'static str; 3],
    /// Commands that are measured, each with the limit of its CPU time in seconds.
    commands: &'static [(&'static str, f64)],
    /// Limits of the memory and of the page, in MB.
    most_mb: [f64; 2],
}

const MADE: [LargeRun; 3] = [
    LargeRun {
        name: "history",
        study: "procedure: {fixed: {threads: 4}}\nwindow: {warmup: 0s, measure: 5s}\n",
        shape: ["5", "1", "200"],
        commands: &[("history", 3.0), ("report", 3.0)],
        most_mb: [300.0, 6.0],
    },
    LargeRun {
        name: "trials",
        study: "variants:\n  a: {client: {in_flight_max: 1000}}\n\
                \u{20} b: {client: {in_flight_max: 2000}}\n\
                procedure: {sweep: {threads: [1, 2, 4, 8, 16]}}\n\
                window: {warmup: 0s, measure: 10min}\nrepeat: {blocks: 20}\n",
        shape: ["600", "3", "1"],
        commands: &[("report", 3.0), ("show", 3.0)],
        most_mb: [300.0, 6.0],
    },
    LargeRun {
        name: "day",
        study: "procedure: {fixed: {rate: 8200}}\nwindow: {warmup: 0s, measure: 24h}\n",
        shape: ["86400", "3", "1"],
        commands: &[("report", 2.0), ("show", 2.0), ("export", 5.0)],
        most_mb: [300.0, 6.0],
    },
];

/// Time limit for a plan, in seconds.
const PLAN_S: f64 = 0.05;
/// Time between two samples of the program's memory and time.
const LOOKS: Duration = Duration::from_millis(1);
/// Accepted exit codes of a command: the code of success, and the code for an invalid run. The
/// generated runs are judged invalid, because they lack some data of a real run.
const MAY_END_WITH: [i32; 2] = [0, 3];
/// Factor by which a limit must be exceeded for the command to fail. A smaller excess may be caused
/// by other load on the machine.
const LIMIT_FACTOR: f64 = 3.0;

/// Generates the runs, and prints the cost of viewing them.
///
/// # Errors
/// A command fails, or a limit is exceeded by a large factor.
pub fn run(options: &Options) -> Result<()> {
    let build = [
        "build",
        "--quiet",
        "--profile",
        "launch",
        "--package",
        "cassay",
    ];
    process::run(&cargo(), &[&build[..], &["--bin", "cassay"]].concat())?;
    process::run(&cargo(), &[&build[..], &["--example", "long_run"]].concat())?;
    let own = std::env::temp_dir().join(format!("cassay-long-{}", std::process::id()));
    let folder = options.keep.clone().unwrap_or_else(|| own.clone());
    let done = measure(options, &folder);
    // The result is ignored, because a folder that remains does no harm.
    let _ = std::fs::remove_dir_all(own);
    let far = done?;
    ensure!(far.is_empty(), "far above the limit: {}", far.join("; "));
    Ok(())
}

/// Measures all plans and runs. Returns descriptions of the limits that were exceeded by a large
/// factor.
fn measure(options: &Options, folder: &Path) -> Result<Vec<String>> {
    let is_asked = |name: &str| options.only.as_deref().is_none_or(|only| only == name);
    let mut far = Vec::new();
    println!("| what | command | takes | of CPU | may take | memory, MB | page, MB |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    if is_asked("plans") {
        plans(options, &mut far)?;
    }
    for made in MADE.iter().filter(|made| is_asked(made.name)) {
        let results = folder.join(made.name);
        let is_new = !results.is_dir();
        if is_new {
            make(made, &results)?;
        }
        let page = results.join("page.html");
        let (results, to) = (results.display().to_string(), page.display().to_string());
        let study = format!("long-{}", made.name);
        // A single new run has no findings yet, so `resume` analyses the run before the other
        // commands.
        if is_new && made.shape[2] == "1" {
            let taken = CommandCost::measure(1, &["resume", &study, "--out", &results])?;
            report(
                made,
                "resume: analysis and report",
                &taken,
                made.commands[0].1,
                None,
                &mut far,
            );
        }
        for (command, may) in made.commands {
            let words: &[&str] = match *command {
                "report" => &["report", &study, "--to", &to, "--out", &results],
                "export" => &["export", &study, "--csv", "--parquet", "--out", &results],
                command => &[command, &study, "--out", &results],
            };
            let taken = CommandCost::measure(options.rounds, words)?;
            let is_page = *command == "report";
            let page = is_page
                .then(|| std::fs::metadata(&page))
                .transpose()?
                .map(|meta| meta.len() as f64 / 1e6);
            report(made, command, &taken, *may, page, &mut far);
        }
    }
    Ok(far)
}

/// Plans every study of the project, both as it is published and at the scale of a laptop.
fn plans(options: &Options, far: &mut Vec<String>) -> Result<()> {
    let listed = process::output("git", &["ls-files", "studies"])?;
    let is_study = |path: &&str| path.ends_with(".yaml") && !path.contains("/published");
    let (mut slowest, mut count) = ((0.0, String::new(), 0.0), 0);
    for study in listed.lines().filter(is_study) {
        for scale in [&[][..], &["--scale", "laptop"]] {
            let words = [&["plan", study, "--offline"], scale].concat();
            // An error is ignored, because not every study has the scale of a laptop.
            let Ok(taken) = CommandCost::measure(options.rounds, &words) else {
                continue;
            };
            count += 1;
            if taken.seconds > slowest.0 {
                slowest = (taken.seconds, words.join(" "), taken.memory_mb);
            }
        }
    }
    let (seconds, words, memory_mb) = slowest;
    let what = format!("{count} plans, the slowest | `{words}`");
    println!("| {what} | {seconds:.3} s | | {PLAN_S} s | {memory_mb:.0} | |");
    if seconds > PLAN_S * LIMIT_FACTOR {
        far.push(format!("`{words}` takes {seconds:.3} s"));
    }
    Ok(())
}

fn make(made: &LargeRun, results: &Path) -> Result<()> {
    std::fs::create_dir_all(results).context("make a folder")?;
    let study = results.join("study.yaml");
    let head = format!(
        "study: long-{}\nquestion: What does it cost to look at?\ntarget: {{null: {{}}}}\n\
         workload: {{use: standard1}}\n",
        made.name
    );
    std::fs::write(&study, head + made.study).context("write the study")?;
    let [out, study] = [results, &study].map(|path| path.display().to_string());
    let program = built("examples/long_run");
    let words = [&[&*out, &*study], &made.shape[..]].concat();
    process::run(&program, &words)
}

fn built(name: &str) -> String {
    let path = tree::root().join("target/launch").join(name);
    path.display().to_string()
}

fn report(
    made: &LargeRun,
    command: &str,
    taken: &CommandCost,
    may_s: f64,
    page_mb: Option<f64>,
    far: &mut Vec<String>,
) {
    let [memory, page] = made.most_mb;
    println!(
        "| {} | `{command}` | {:.2} s | {:.2} s | {may_s} s | {:.0} of {memory} | {} |",
        made.name,
        taken.seconds,
        taken.cpu_s,
        taken.memory_mb,
        page_mb.map_or(String::new(), |mb| format!("{mb:.1} of {page}"))
    );
    let is_far = taken.cpu_s > may_s * LIMIT_FACTOR
        || taken.memory_mb > memory * LIMIT_FACTOR
        || page_mb.is_some_and(|mb| mb > page * LIMIT_FACTOR);
    if is_far {
        far.push(format!("{} of {}", command, made.name));
    }
}

struct CommandCost {
    seconds: f64,
    /// CPU time of the command in seconds, which is more meaningful than the elapsed time on a busy
    /// machine.
    cpu_s: f64,
    /// Peak resident memory of the command in MB.
    memory_mb: f64,
}

impl CommandCost {
    /// Runs a command in several rounds. Returns the fastest time of all rounds, and the largest
    /// memory of all rounds.
    fn measure(rounds: u32, words: &[&str]) -> Result<CommandCost> {
        let mut best = CommandCost {
            seconds: f64::INFINITY,
            cpu_s: f64::INFINITY,
            memory_mb: 0.0,
        };
        for _ in 0..rounds.max(1) {
            let begin = now();
            let mut child = process::start_silent(&built("cassay"), words)?;
            let mut last_s = 0.0;
            let ended = loop {
                let ended = child.try_wait().context("wait for the program")?;
                if let Some(ended) = ended {
                    break ended;
                }
                let (cpu_s, peak_mb) = used(&child);
                last_s = cpu_s.unwrap_or(last_s);
                best.memory_mb = best.memory_mb.max(peak_mb);
                wait(LOOKS);
            };
            best.seconds = best.seconds.min(begin.elapsed().as_secs_f64());
            best.cpu_s = best.cpu_s.min(last_s);
            ensure!(
                ended.code().is_some_and(|code| MAY_END_WITH.contains(&code)),
                "`cassay {}` failed ({ended})",
                words.join(" ")
            );
        }
        Ok(best)
    }
}
