//! Searches for a peak that is known: the null target answers so many operations a second, and what
//! comes faster waits.

use crate::process;
use crate::tree;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::Path;

/// What `cargo xtask searches` may be asked.
#[derive(clap::Args)]
pub struct Options {
    /// How many searches, one after the other
    #[arg(long, default_value_t = 20)]
    count: u32,
    /// What the null target can do, operations per second
    #[arg(long, default_value_t = 10_000)]
    capacity: u32,
}

/// How near a search must come, as a share of what is known.
const NEAR: f64 = 0.03;
/// How many of them must.
const SHARE_MIN: f64 = 0.95;

fn study(options: &Options) -> String {
    let Options { count, capacity } = options;
    let (from, to) = (capacity / 3, capacity * 20);
    format!(
        "
study: searches
question: Is a peak found that is known?
target: {{null: {{capacity: {capacity}}}}}
workload: {{use: standard1}}
procedure: {{peak: {{rate: {{from: {from}, to: {to}}}, p99_ms: 50}}}}
window: {{warmup: 1s, measure: 2s}}
repeat: {{blocks: {count}}}
"
    )
}

/// Searches, and says how near each came.
///
/// # Errors
/// Fewer than 19 of 20 are near, or one was not held.
pub fn run(options: &Options) -> Result<()> {
    process::run(
        &process::cargo(),
        &["build", "--quiet", "--package", "cassay"],
    )?;
    let folder = std::env::temp_dir().join(format!("cassay-searches-{}", std::process::id()));
    std::fs::create_dir_all(&folder).context("make a folder")?;
    let told = search(options, &folder);
    // What is left behind is in the way of nobody, and the result matters more.
    let _ = std::fs::remove_dir_all(&folder);
    told
}

fn search(options: &Options, folder: &Path) -> Result<()> {
    let path = folder.join("study.yaml");
    std::fs::write(&path, study(options)).context("write the study")?;
    let program = tree::root().join("target/debug/cassay");
    let data = format!("CASSAY_DATA={}", folder.display());
    // What others do to this machine is not what is asked here.
    let shared = "CASSAY_SHARED_MACHINE=1";
    let [program, path, out] =
        [program, path, folder.join("results")].map(|path| path.display().to_string());
    // Invalid trials are part of a search: that of the overloaded ones ends the command with 3.
    let words = [&data, shared, &program, "run", &path, "--out", &out];
    let mut child = process::start_silent("env", &words)?;
    child.wait().context("wait for the run")?;
    let findings = folder.join("results/latest/findings.json");
    let findings = std::fs::read_to_string(&findings).context("read the findings")?;
    let findings: Value = serde_json::from_str(&findings).context("read the findings")?;
    let searches = findings["searches"]
        .as_array()
        .context("the findings have searches")?;
    let mut near = 0;
    for search in searches {
        let share = search["at"]["rate"].as_f64().unwrap_or(0.0) / f64::from(options.capacity);
        let is_near = search["outcome"] == "held" && (share - 1.0).abs() <= NEAR;
        near += u32::from(is_near);
        println!(
            "{} {:.3} of the capacity, {} trials: {}",
            if is_near { "near" } else { "FAR " },
            share,
            search["steps"].as_array().map_or(0, Vec::len),
            search["words"].as_str().unwrap_or_default()
        );
    }
    println!(
        "{near} of {} searches were held within {NEAR} of the capacity",
        options.count
    );
    ensure!(
        f64::from(near) >= f64::from(options.count) * SHARE_MIN,
        "too few searches came near; on a machine that others use a stall of 50 ms is enough"
    );
    Ok(())
}
