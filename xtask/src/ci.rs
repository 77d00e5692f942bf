//! The gate, which runs all checks in order. Cheap checks come first, so that mistakes are found
//! within seconds.
//!
//! The workspace is compiled only once. Clippy's compiler builds the test programs of cassay's
//! crates while it lints. If `cargo clippy` ran before `cargo test`, all crates and their
//! dependencies would be compiled twice. Tests without Cassandra mostly wait, and tests with
//! Cassandra leave CPUs idle while nodes wait for each other, so both run at the same time. A test
//! that fails makes the gate fail. The test also runs again alone to classify the failure. See
//! [`rerun_alone`].

mod programs;
mod rerun_alone;
mod skips;
mod times;
mod units;

use crate::process::{self, cargo};
use crate::stress::Busy;
use crate::tree;
use anyhow::{Context, Result, anyhow, bail, ensure};
use programs::Program;
use rerun_alone::Failed;
use skips::Skips;
pub use skips::skip;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use times::Times;
use units::UnitResult;

/// Arguments of cargo that build everything that the gate runs. The arguments are always the same,
/// because with other arguments cargo would select other features and recompile most crates.
pub const BUILD: [&str; 4] = ["test", "--workspace", "--no-run", "--quiet"];

/// Test program with the slow tests, which are the integration tests of the crate `cassay`.
const CASSANDRA_TESTS: &str = "cassay it";

/// Module of the tests that start a real Cassandra. All of these tests are `#[ignore]`d.
const CASSANDRA: &str = "cassandra::";

/// Modules whose tests share the nodes that their process starts.
const SHARED: [&str; 2] = ["cassandra::shared::", "cassandra::shared_pair::"];

/// Prefix of the tests that are omitted, because `cargo xtask tidy`, which is a step of the gate,
/// makes the same checks.
const TIDY: &str = "tidy::tests::the_";

/// Environment variable with the number of rounds of repeating tests. See [`cassandra`].
const SOAK: &str = "CASSAY_SOAK";

/// Environment variable with the Python program for the test of the documented notebook
/// (`crates/cassay/tests/it/null_target/leaving.rs`) and for the tests of pages in a browser.
const PYTHON: &str = "CASSAY_PYTHON";

/// Environment variable with the line of Cassandra versions for the nodes in tests.
/// `crates/cassay/tests/it/program.rs` reads this variable.
const LINE: &str = "CASSAY_TEST_LINE";

/// Options of `cargo xtask ci`.
#[derive(clap::Args)]
pub struct Options {
    /// Leave out the tests that start a real Cassandra
    #[arg(long)]
    without_cassandra: bool,
    /// Keep every CPU and the disk busy during the tests (needs stress-ng)
    #[arg(long)]
    busy: bool,
    /// Number of times to run everything, one after the other
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Print the seconds of each step and test, and store them for comparison with later gates
    #[arg(long)]
    times: bool,
}

/// Options of `cargo xtask cassandra`.
#[derive(clap::Args)]
pub struct CassandraOptions {
    /// Only tests whose names contain this
    filter: Option<String>,
    /// Number of times that each repeating test runs; 10 make a soak test
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Cassandra line of the nodes, such as 4.1, instead of the default line
    #[arg(long, value_name = "LINE")]
    line: Option<String>,
    /// Keep every CPU and the disk busy during the tests (needs stress-ng)
    #[arg(long)]
    busy: bool,
}

/// Options of `cargo xtask audit`.
#[derive(clap::Args)]
pub struct AuditOptions {
    /// Only real studies whose test name contains this, such as `equal_sides`
    filter: Option<String>,
    /// Seed of the studies and windows
    #[arg(long, default_value_t = 1)]
    seed: u32,
    /// Number of studies per kind of simulated world; windows are ten times as many
    #[arg(long, default_value_t = 4000, value_parser = clap::value_parser!(u32).range(100..))]
    runs: u32,
}

/// Runs all steps. Stops at the first failure.
pub fn run(options: &Options) -> Result<()> {
    let mut busy = options.busy.then(Busy::start).transpose()?;
    for time in 1..=options.repeat {
        if options.repeat > 1 {
            println!("== time {time} of {}", options.repeat);
        }
        gate(options)?;
        busy.as_mut().map_or(Ok(()), Busy::still)?;
    }
    Ok(())
}

fn gate(options: &Options) -> Result<()> {
    let stored = Times::stored()?;
    let mut times = Times::default();
    let mut step = |name: &str, work: &mut dyn FnMut() -> Result<()>| {
        let seconds = timed(name, work)?;
        times.add_step(name, seconds);
        Ok::<(), anyhow::Error>(())
    };
    step("format", &mut || {
        process::run(&cargo(), &["fmt", "--all", "--check"])
    })?;
    step("tidy", &mut crate::tidy::run)?;
    step("dependencies", &mut crate::deny::run)?;
    process::add_environment(lints_that_compile()?);
    step("lints", &mut || process::run(&cargo(), &BUILD))?;
    step("generated documents", &mut crate::docs::check)?;
    step("static program", &mut || {
        if let Some(why) = crate::static_program::check()? {
            println!("== static program: skipped, {why}");
        }
        Ok(())
    })?;
    let skips = Skips::new()?;
    process::add_environment(python());
    let mut seconds = Vec::new();
    let passed = step("tests", &mut || {
        let (passed, taken) = tests(&stored, options.without_cassandra)?;
        seconds = taken;
        passed
    });
    seconds.into_iter().for_each(|(test, seconds)| times.add(test, seconds));
    if options.times {
        times.print();
    }
    passed?;
    if let Some(grown) = times.growth_over(&stored) {
        println!("== warning: {grown}");
    }
    times.store(options.times)?;
    skips.tell()
}

/// Returns the environment variable with the Python that `scripts/prerequisites` has installed for
/// `notebook` and `browser`. The list is empty if this Python is not installed, or if the user has
/// set the variable.
fn python() -> Vec<(&'static str, String)> {
    let python = target().join("python/bin/python");
    let is_wanted = python.exists() && std::env::var_os(PYTHON).is_none();
    is_wanted.then(|| (PYTHON, python.display().to_string())).into_iter().collect()
}

/// Runs all tests. The tests on a real Cassandra run at the same time as the other tests. Returns
/// the result of the tests, and the duration of each test in seconds.
fn tests(stored: &Times, without_cassandra: bool) -> Result<(Result<()>, Seconds)> {
    let programs = programs::built()?;
    if without_cassandra {
        println!(
            "== real Cassandra: skipped as requested; `cargo xtask cassandra` runs these tests"
        );
        let (others, seconds) = tests_of_all(&programs, stored)?;
        return Ok((others.alone(), seconds));
    }
    std::thread::scope(|scope| {
        let others = scope.spawn(|| tests_of_all(&programs, stored));
        let on_cassandra = tests_on_cassandra(&programs, stored, CASSANDRA, (2, ""), &LONG);
        let others = others.join().map_err(|_| anyhow!("running tests panicked"));
        // From here on, no other test is running.
        let (others, mut seconds) = others??;
        let (on_cassandra, more) = on_cassandra?;
        let passed = both(others.alone(), on_cassandra.alone());
        clear_shared_nodes()?;
        seconds.extend(more);
        Ok((passed, seconds))
    })
}

/// Names of tests, with their durations in seconds.
type Seconds = Vec<(String, f64)>;

type Ran = (Failed, Seconds);

/// Runs the tests of all programs, except those that are `#[ignore]`d.
fn tests_of_all(programs: &[Program], stored: &Times) -> Result<Ran> {
    let mut all = Vec::new();
    for program in programs {
        let program = Arc::new(program.clone());
        let mut tests = program.tests()?;
        if program.name == "xtask" {
            tests.retain(|test| !test.starts_with(TIDY));
        }
        all.extend(units::divide(&program, tests, stored));
    }
    // The number of processes is one more than the number of CPUs, because tests that apply load
    // mostly wait for their windows.
    let outcomes = units::run(all, process::cpus() + 1, &[], &[])?;
    Ok((
        rerun_alone::failed(&outcomes, &[], &[])?,
        seconds_of(&outcomes),
    ))
}

fn seconds_of(outcomes: &[UnitResult]) -> Seconds {
    let of = |outcome: &UnitResult| -> Vec<(String, f64)> {
        let name = |test: &str| format!("{} {test}", outcome.program.name);
        outcome.seconds.iter().map(|(test, seconds)| (name(test), *seconds)).collect()
    };
    outcomes.iter().flat_map(of).collect()
}

fn both(one: Result<()>, other: Result<()>) -> Result<()> {
    match (one, other) {
        (Err(one), Err(other)) => bail!("{one:#}\n{other:#}"),
        (one, other) => one.and(other),
    }
}

/// Returns the environment in which cargo compiles the crates of cassay with clippy's lints as
/// errors.
///
/// # Errors
/// Clippy is missing, or does not find the defect in a file with a known defect. In the second
/// case, `cargo clippy` probably calls clippy in another way than before.
fn lints_that_compile() -> Result<Vec<(&'static str, String)>> {
    let sysroot = process::output("rustc", &["--print", "sysroot"])?;
    let driver = Path::new(sysroot.trim())
        .join("bin/clippy-driver")
        .to_string_lossy()
        .into_owned();
    let arguments = ["-D", "warnings", ""].join("__CLIPPY_HACKERY__");
    let environment = vec![
        ("RUSTC_WORKSPACE_WRAPPER", driver.clone()),
        ("CLIPPY_ARGS", arguments),
    ];
    let canary = scratch("lint.rs")?;
    let text =
        "//! Wrong on purpose.\n/// As well.\npub fn f(v: &[u8]) -> bool {\n    v.len() == 0\n}\n";
    std::fs::write(&canary, text).with_context(|| format!("write {}", canary.display()))?;
    let canary = canary.to_string_lossy().into_owned();
    let metadata = format!("{canary}.rmeta");
    let compile = [
        "rustc",
        "--crate-type=lib",
        "--emit=metadata",
        &canary,
        "-o",
        &metadata,
    ];
    let seen = process::stderr(&driver, &compile, &environment)?;
    ensure!(
        seen.contains("error: length comparison to zero"),
        "clippy's compiler found no mistake in a file with mistakes: {seen}\nhint: is \
         rust-toolchain.toml newer than xtask/src/ci.rs?"
    );
    Ok(environment)
}

/// Returns the path of a file with this name, in the folder of xtask within cargo's target folder.
fn scratch(name: &str) -> Result<PathBuf> {
    let folder = target().join("xtask");
    std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    Ok(folder.join(name))
}

/// Runs the long versions of the audits: simulated studies and windows, and real studies on the
/// null target. With a filter, runs only the real studies that match. The gate runs only short
/// audits.
pub fn audit(options: &AuditOptions) -> Result<()> {
    let variables = [
        ("CASSAY_AUDIT_SEED", options.seed.to_string()),
        ("CASSAY_AUDIT_RUNS", options.runs.to_string()),
    ];
    if let Some(filter) = &options.filter {
        let one = [
            "test",
            "-p",
            "cassay",
            "--test",
            "it",
            "--",
            filter,
            "--ignored",
        ];
        let alone = ["--nocapture", "--test-threads=1"];
        return process::run_with(&cargo(), &[&one[..], &alone].concat(), &variables);
    }
    let asked = ["--ignored", "audit_", "--nocapture"];
    let simulated = ["test", "-p", "findings", "-p", "analysis", "--lib", "--"];
    process::run_with(&cargo(), &[&simulated[..], &asked].concat(), &variables)?;
    // These tests are real studies on the null target.
    let real = ["test", "-p", "cassay", "--test", "it", "--"];
    // The tests run one at a time, because two tests at the same time would measure the load of
    // both.
    let alone = ["--test-threads=1"];
    process::run_with(&cargo(), &[&real[..], &asked, &alone].concat(), &variables)
}

/// Runs the tests that start a real Cassandra. They are `#[ignore]`d, so that `cargo test` does not
/// require Java.
pub fn cassandra(options: &CassandraOptions) -> Result<()> {
    let mut busy = options.busy.then(Busy::start).transpose()?;
    let skips = Skips::new()?;
    let filter = options.filter.as_deref().unwrap_or(CASSANDRA);
    let line = options.line.as_deref().unwrap_or_default();
    let rounds = (options.rounds, line);
    // The audits are omitted. They are studies that take hours, and `cargo xtask audit` runs them
    // one at a time on an idle machine.
    let audits: &[&str] = match options.filter {
        Some(_) => &[],
        None => &["--skip", "::audit_"],
    };
    let (failed, _) = tests_on_cassandra(
        &programs::built()?,
        &Times::stored()?,
        filter,
        rounds,
        audits,
    )?;
    failed.alone()?;
    clear_shared_nodes()?;
    busy.as_mut().map_or(Ok(()), Busy::still)?;
    skips.tell()
}

/// Arguments of libtest that skip the tests of [`kills`], and tests too long for the gate.
const LONG: [&str; 4] = ["--skip", "::long::", "--skip", KILLS];

/// Modules of tests that kill a process in each phase.
const KILLS: &str = "::kills::";

/// Tests of the program `agent it` that kill a process at many different times. The gate runs them
/// for only a few of these times.
const KILLS_OF_AGENTS: [&str; 2] = ["endings::", "volume_ends::"];

/// Runs the tests that kill a process in each phase and at many different times. The gate runs only
/// one of them for each signal.
///
/// # Errors
/// A test fails, or no such tests exist.
pub fn kills() -> Result<()> {
    let (programs, stored) = (programs::built()?, Times::stored()?);
    let agents = programs.iter().find(|program| program.name == "agent it");
    let agents =
        Arc::new(agents.context("cargo built no test program `it` of the crate agent")?.clone());
    let tests = agents.listed(&KILLS_OF_AGENTS)?;
    ensure!(
        !tests.is_empty(),
        "no test {} in crates/agent/tests/it",
        KILLS_OF_AGENTS.join(" or ")
    );
    let variables = [("CASSAY_KILLS", "1".to_owned())];
    // These tests run one after the other, because on a busy machine the times of the kills would
    // be less exact.
    let outcomes = units::run(units::divide(&agents, tests, &stored), 1, &[], &variables)?;
    rerun_alone::failed(&outcomes, &[], &variables)?.alone()?;
    tests_on_cassandra(&programs, &stored, KILLS, (1, ""), &[])?.0.alone()
}

fn tests_on_cassandra(
    programs: &[Program],
    stored: &Times,
    filter: &str,
    (rounds, line): (u32, &str),
    skipped: &[&str],
) -> Result<Ran> {
    let program = programs.iter().find(|program| program.name == CASSANDRA_TESTS);
    let program =
        Arc::new(program.context("cargo built no test program `it` of the crate cassay")?.clone());
    let mut tests = program.listed(&[&["--ignored", filter], skipped].concat())?;
    tests.retain(|test| test.starts_with(CASSANDRA));
    // Without this check, the command would pass without running a test after the module was
    // renamed.
    ensure!(
        !tests.is_empty(),
        "no #[ignore]d test {filter} in crates/cassay/tests/it/cassandra"
    );
    let mut all = Vec::new();
    for module in SHARED {
        let shared: Vec<String> = tests.extract_if(.., |test| test.starts_with(module)).collect();
        all.extend(units::together(&program, shared, stored));
    }
    // Each remaining test is a separate unit. Most of the time of such a test is the start of a
    // node, whose duration varies.
    all.extend(tests.into_iter().flat_map(|test| units::together(&program, vec![test], stored)));
    let variables = [
        ("JAVA_HOME", quick_java()?),
        (SOAK, rounds.to_string()),
        (LINE, line.to_owned()),
    ];
    let outcomes = units::run(all, threads_count()?, &["--ignored"], &variables)?;
    let failed = rerun_alone::failed(&outcomes, &["--ignored"], &variables)?;
    Ok((failed, seconds_of(&outcomes)))
}

/// Memory that a test may require, in bytes. This is the memory of three nodes.
const TEST_BYTES: u64 = 3 << 30;

/// Returns the number of tests that run at a time. If the memory is sufficient, this is one more
/// than the number of CPUs. One more is useful, because starting nodes use all CPUs but then wait
/// for each other, and tests wait for windows.
fn threads_count() -> Result<usize> {
    let cpus = process::cpus() as u64;
    let memory = std::fs::read_to_string("/proc/meminfo").context("read /proc/meminfo")?;
    let available = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:")?.strip_suffix("kB"));
    let kib: u64 = available
        .and_then(|kib| kib.trim().parse().ok())
        .context("find MemAvailable in /proc/meminfo")?;
    Ok((kib * 1024 / TEST_BYTES).clamp(1, cpus + 1) as usize)
}

/// Removes the folders of nodes that several tests have shared. These nodes ended together with the
/// tests. See `crates/cassay/tests/it/cassandra/shared.rs`.
fn clear_shared_nodes() -> Result<()> {
    let program = target().join("debug/cassay").display().to_string();
    let folders = std::fs::read_dir(target().join("tmp/shared-nodes")).into_iter().flatten();
    for folder in folders {
        let folder = folder.context("list the folders of shared nodes")?.path();
        let data = [("CASSAY_DATA", folder.display().to_string())];
        let said = process::stderr(&program, &["target", "status"], &data)?;
        ensure!(!said.contains("not cleared"), "{said}");
        std::fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    Ok(())
}

/// Returns cargo's target folder.
pub fn target() -> PathBuf {
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    tree::root().join(target)
}

/// Returns a `JAVA_HOME` with the machine's Java, which uses a fast compiler instead of the
/// optimising compiler. The optimising compiler takes half of the CPU time of a node's start, and
/// these tests check only results, not speed.
fn quick_java() -> Result<String> {
    use std::os::unix::fs::PermissionsExt;
    let home = std::env::var("JAVA_HOME").ok().filter(|home| !home.is_empty());
    let java = match home {
        Some(home) => PathBuf::from(home).join("bin/java"),
        None => {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let found = std::env::split_paths(&path).map(|folder| folder.join("java"));
            found
                .into_iter()
                .find(|program| program.is_file())
                .context("find java: it is in no folder of PATH")?
        }
    };
    let script = scratch("quick-java/bin/java")?;
    let folder = script.parent().context("a folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let text = format!(
        "#!/bin/sh\nexec '{}' -XX:TieredStopAtLevel=1 \"$@\"\n",
        java.display()
    );
    std::fs::write(&script, text)
        .and_then(|()| std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)))
        .with_context(|| format!("write {}", script.display()))?;
    let home = folder.parent().context("a folder")?;
    Ok(home.to_string_lossy().into_owned())
}

/// Runs a step, and prints its duration and CPU time. Returns the duration in seconds.
fn timed(name: &str, work: &mut dyn FnMut() -> Result<()>) -> Result<f64> {
    println!("== {name}");
    let (started, cpu_s) = (now(), process::children_cpu_s());
    work()?;
    let seconds = (now() - started).as_secs_f64();
    println!(
        "== {name}: passed in {seconds:.0} s ({:.0} s of CPU)",
        process::children_cpu_s() - cpu_s
    );
    Ok(seconds)
}

/// Returns the time since an arbitrary point. xtask cannot use the crate `measure` for this,
/// because it does not depend on cassay's crates.
#[expect(
    clippy::disallowed_methods,
    reason = "xtask uses no crate of cassay, so it cannot use measure::clock"
)]
fn now() -> Duration {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    START.get_or_init(std::time::Instant::now).elapsed()
}
