//! Runs the mutation tests for longer than the gate. These tests parse external texts with random
//! changes.

use crate::process::{self, cargo};
use anyhow::Result;

/// Options of `cargo xtask mutate`.
#[derive(clap::Args)]
pub struct Options {
    /// Number of repetitions of the gate's mutation run, about a minute each
    #[arg(long, default_value_t = 60)]
    times: u64,
    /// Seed of the first input, increased by 1 for each further input
    #[arg(long, default_value_t = 1_000_000)]
    seed: u64,
    /// Only kinds of input whose names contain this: study, stress, nb, ycsb, easy, hlog, …
    #[arg(long, value_name = "PART")]
    only: Option<String>,
}

/// Runs the mutations. Stores the inputs that fail as files, whose names are in the output.
pub fn run(options: &Options) -> Result<()> {
    let variables = [
        ("CASSAY_MUTATE_TIMES", options.times.to_string()),
        ("CASSAY_MUTATE_SEED", options.seed.to_string()),
        (
            "CASSAY_MUTATE_ONLY",
            options.only.clone().unwrap_or_default(),
        ),
    ];
    let test = [
        "test",
        "--package",
        "cassay",
        "--test",
        "mutations",
        "--",
        "--nocapture",
    ];
    process::run_with(&cargo(), &test, &variables)
}
