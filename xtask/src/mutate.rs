//! Runs the mutation tests longer than the gate does: parses external texts after random changes.

use crate::process::{self, cargo};
use anyhow::Result;

/// How much `cargo xtask mutate` tries.
#[derive(clap::Args)]
pub struct Options {
    /// Times what the gate does, which takes about a minute
    #[arg(long, default_value_t = 60)]
    times: u64,
    /// Seed of the first input; the next one is the next number
    #[arg(long, default_value_t = 1_000_000)]
    seed: u64,
    /// Only kinds of input with this in their names: study, stress, nb, ycsb, easy, hlog, …
    #[arg(long, value_name = "PART")]
    only: Option<String>,
}

/// Runs it. Failing inputs are kept as files, and the output names them.
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
