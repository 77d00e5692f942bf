//! The gate: every check in order, cheap first, so that a mistake is known after seconds.

use crate::process::{self, cargo};
use anyhow::{Result, bail};
use std::time::Duration;

/// Where the slow tests are: the modules of the one integration-test binary of the terminal crate.
const CASSANDRA_TESTS: [&str; 5] = ["test", "--package", "cassay", "--test", "it"];

/// What `cargo xtask ci` may leave out.
#[derive(clap::Args)]
pub struct Options {
    /// Leave out the tests that start a real Cassandra
    #[arg(long)]
    without_cassandra: bool,
}

/// Runs all steps; stops at the first that fails.
pub fn run(options: &Options) -> Result<()> {
    step("format", || {
        process::run(&cargo(), &["fmt", "--all", "--check"])
    })?;
    step("tidy", crate::tidy::run)?;
    step("dependencies", crate::deny::run)?;
    step("clippy", || {
        let lint = [
            "clippy",
            "--workspace",
            "--all-targets",
            "--quiet",
            "--",
            "-D",
            "warnings",
        ];
        process::run(&cargo(), &lint)
    })?;
    step("tests", || {
        process::run(&cargo(), &["test", "--workspace", "--quiet"])
    })?;
    step("generated documents", crate::docs::check)?;
    if options.without_cassandra {
        println!("== real Cassandra: left out as asked; `cargo xtask cassandra` runs it");
        return Ok(());
    }
    step("real Cassandra", cassandra)
}

/// The long versions of the simulated studies, which the gate has in short.
pub fn audit() -> Result<()> {
    let tests = ["test", "-p", "study", "--lib", "--", "--ignored", "audit_"];
    process::run(&cargo(), &[&tests[..], &["--nocapture"]].concat())
}

/// The tests that start a real Cassandra. They are `#[ignore]`d, so that `cargo test` needs no
/// Java, and run one at a time, since each node wants the whole machine.
pub fn cassandra() -> Result<()> {
    let only = ["--ignored", "cassandra::"];
    let listed = process::output(
        &cargo(),
        &[&CASSANDRA_TESTS[..], &["--quiet", "--"], &only, &["--list"]].concat(),
    )?;
    let count = listed
        .lines()
        .filter(|line| line.ends_with(": test"))
        .count();
    // A renamed module would otherwise pass by running nothing.
    if count == 0 {
        bail!("no #[ignore]d test in a module `cassandra` of crates/cassay/tests/it");
    }
    let alone = ["--test-threads=1"];
    process::run(
        &cargo(),
        &[&CASSANDRA_TESTS[..], &["--"], &only, &alone].concat(),
    )
}

fn step(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    println!("== {name}");
    let started = now();
    work()?;
    println!(
        "== {name}: passed in {:.0} s",
        (now() - started).as_secs_f64()
    );
    Ok(())
}

/// Time since an arbitrary point; xtask may not use `measure`.
#[expect(
    clippy::disallowed_methods,
    reason = "xtask uses none of the crates, so not their clock"
)]
fn now() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}
