//! Tests searches with known results. The null target answers a fixed number of operations per
//! second, and additional operations wait. This number determines the peak and, by Little's law,
//! the latency for a number of threads.

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;
use xtask::process;
use xtask::tree;

/// Options of `cargo xtask searches`.
#[derive(clap::Args)]
pub struct Options {
    /// Number of searches for a peak, run one after the other; other kinds run a third as often
    #[arg(long, default_value_t = 20)]
    count: u32,
    /// Peak of the null target, operations per second
    #[arg(long, default_value_t = 10_000)]
    capacity: u32,
}

/// Largest accepted deviation of a search from the known result, as a share of this result.
const NEAR: f64 = 0.03;
/// Maximum number of searches of a kind that may deviate by more than [`NEAR`].
const FAR_MAX: u32 = 1;

/// A kind of search, with the expected result.
struct SearchCase {
    name: &'static str,
    procedure: String,
    capacity: u32,
    count: u32,
    /// Unit of the search's points: `rate` or `threads`.
    axis: &'static str,
    truth: f64,
    outcome: &'static str,
}

impl SearchCase {
    fn all(options: &Options) -> [Self; 3] {
        let Options { count, capacity } = *options;
        let (from, to) = (capacity / 3, capacity * 20);
        [
            Self {
                name: "peak",
                procedure: format!("{{peak: {{rate: {{from: {from}, to: {to}}}, p99_ms: 50}}}}"),
                capacity,
                count,
                axis: "rate",
                truth: f64::from(capacity),
                outcome: "held",
            },
            // The expected latency is 25 ms, because 100 threads share 4000 operations per second.
            Self {
                name: "latency_target",
                procedure: "{latency_target: {threads: {from: 8, to: 512}, p50_ms: 25}}".to_owned(),
                capacity: 4000,
                count: count.div_ceil(3),
                axis: "threads",
                truth: 100.0,
                outcome: "found",
            },
            // The expected number of threads is 54. Of 24, 34, 44 and 54 threads at 1000 operations
            // per second, it is the first with a latency of at least 50 ms.
            Self {
                name: "band",
                procedure: "{band: {threads: {from: 24, step: 10, to: 94}, p99_ms: [50, 80]}}"
                    .to_owned(),
                capacity: 1000,
                count: count.div_ceil(3),
                axis: "threads",
                truth: 54.0,
                outcome: "found",
            },
        ]
    }

    fn study(&self) -> String {
        let Self {
            name,
            procedure,
            capacity,
            count,
            ..
        } = self;
        format!(
            "
study: searches-{name}
question: Does the search find the known value?
target: {{null: {{capacity: {capacity}}}}}
workload: {{use: standard1}}
procedure: {procedure}
window: {{warmup: 1s, measure: 2s}}
repeat: {{blocks: {count}}}
"
        )
    }
}

/// Runs the searches, and prints the deviation of each search from the expected result.
///
/// # Errors
/// More than one search of a kind deviates too much, or has another outcome than expected.
pub fn run(options: &Options) -> Result<()> {
    process::run(
        &process::cargo(),
        &["build", "--quiet", "--package", "cassay"],
    )?;
    let folder = std::env::temp_dir().join(format!("cassay-searches-{}", std::process::id()));
    let each = SearchCase::all(options).map(|kind| search(&kind, &folder.join(kind.name)));
    let told = each.into_iter().collect::<Result<()>>();
    // The result is ignored, because a folder that remains does no harm.
    let _ = std::fs::remove_dir_all(&folder);
    told
}

fn search(kind: &SearchCase, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).context("make a folder")?;
    let path = folder.join("study.yaml");
    std::fs::write(&path, kind.study()).context("write the study")?;
    let program = tree::root().join("target/debug/cassay");
    let data = format!("CASSAY_DATA={}", folder.display());
    // Searches may run on a shared machine, because other load is not important for this test.
    let shared = "CASSAY_SHARED_MACHINE=1";
    let [program, path, out] =
        [program, path, folder.join("results")].map(|path| path.display().to_string());
    // Invalid trials are part of a search. An overloaded trial makes the command exit with the code
    // 3.
    let words = [&data, shared, &program, "run", &path, "--out", &out];
    let mut child = process::start_silent("env", &words)?;
    child.wait().context("wait for the run")?;
    let findings = folder.join("results/latest/findings.json");
    let findings = std::fs::read_to_string(&findings).context("read the findings")?;
    let findings: Value = serde_json::from_str(&findings).context("read the findings")?;
    let searches = findings["searches"].as_array().context("the findings have searches")?;
    let mut near = 0;
    for search in searches {
        let share = search["at"][kind.axis].as_f64().unwrap_or(0.0) / kind.truth;
        let is_near = search["outcome"] == kind.outcome && (share - 1.0).abs() <= NEAR;
        near += u32::from(is_near);
        println!(
            "{} {:.3} of the known {}, {} trials: {}",
            if is_near { "near" } else { "FAR " },
            share,
            kind.axis,
            search["steps"].as_array().map_or(0, Vec::len),
            search["words"].as_str().unwrap_or_default()
        );
    }
    println!(
        "{}: {near} of {} searches ended within {NEAR} of the known value",
        kind.name, kind.count
    );
    ensure!(
        near + FAR_MAX >= kind.count,
        "too few searches ended near the known value; on a busy machine, one stall of 50 ms is \
         enough for this"
    );
    Ok(())
}
