//! The gate: every check in order, cheap first, so that a mistake is known after seconds.
//!
//! The workspace is compiled once: our crates by clippy's compiler, which makes the tests' programs
//! while it lints. `cargo clippy` before `cargo test` would go through all crates, and those that
//! they depend on, a second time. The tests that need no Cassandra mostly wait, and those that do
//! leave CPUs idle while nodes wait for each other: they run side by side. What one of them starves
//! of the other is run again alone, see [`again`].

mod again;

use crate::process::{self, cargo};
use crate::stress::Busy;
use crate::tree;
use again::Failed;
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Where the slow tests are: an integration-test binary of the terminal crate.
const CASSANDRA_TESTS: (&str, &str) = ("crates/cassay", "it");

/// Where tests say that they were left out; see `crates/cassay/tests/it/program.rs`.
const SKIPS: &str = "CASSAY_SKIPS";

/// Makes the soaking tests go round as often as [`cassandra`] is asked to.
const SOAK: &str = "CASSAY_SOAK";

/// Of which line nodes are in tests; `program.rs` knows it too.
const LINE: &str = "CASSAY_TEST_LINE";

/// What `cargo xtask ci` may leave out, or make harder.
#[derive(clap::Args)]
pub struct Options {
    /// Leave out the tests that start a real Cassandra
    #[arg(long)]
    without_cassandra: bool,
    /// Keep every CPU and the disk busy meanwhile (needs stress-ng)
    #[arg(long)]
    busy: bool,
    /// Run everything so often, one after the other
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    times: u32,
}

/// What `cargo xtask cassandra` may be asked.
#[derive(clap::Args)]
pub struct CassandraOptions {
    /// Only tests whose name has this in it
    filter: Option<String>,
    /// Go round this often where a test repeats itself: 10 is a soak
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Nodes of this line, as 4.1, instead of the one that is taken where a study names none
    #[arg(long, value_name = "LINE")]
    line: Option<String>,
    /// Keep every CPU and the disk busy meanwhile (needs stress-ng)
    #[arg(long)]
    busy: bool,
}

/// What `cargo xtask audit` may be asked.
#[derive(clap::Args)]
pub struct AuditOptions {
    /// Only real studies whose test has this in its name, as `equal_sides`
    filter: Option<String>,
    /// Other studies and windows than those of other seeds
    #[arg(long, default_value_t = 1)]
    seed: u32,
    /// Studies for each kind of world, and ten times as many windows
    #[arg(long, default_value_t = 4000, value_parser = clap::value_parser!(u32).range(100..))]
    runs: u32,
}

/// Runs all steps; stops at the first that fails.
pub fn run(options: &Options) -> Result<()> {
    let mut busy = options.busy.then(Busy::start).transpose()?;
    for time in 1..=options.times {
        if options.times > 1 {
            println!("== time {time} of {}", options.times);
        }
        gate(options.without_cassandra)?;
        busy.as_mut().map_or(Ok(()), Busy::still)?;
    }
    Ok(())
}

fn gate(without_cassandra: bool) -> Result<()> {
    step("format", || {
        process::run(&cargo(), &["fmt", "--all", "--check"])
    })?;
    step("tidy", crate::tidy::run)?;
    step("dependencies", crate::deny::run)?;
    process::add_environment(lints_that_compile()?);
    step("lints", || {
        let all = [
            "test",
            "--workspace",
            "--all-targets",
            "--no-run",
            "--quiet",
        ];
        process::run(&cargo(), &all)
    })?;
    step("generated documents", crate::docs::check)?;
    step("static program", || {
        if let Some(why) = crate::dist::try_static()? {
            println!("== static program: left out, {why}");
        }
        Ok(())
    })?;
    let skips = Skips::new()?;
    let slow = built_tests()?;
    if without_cassandra {
        println!("== real Cassandra: left out as asked; `cargo xtask cassandra` runs it");
        step("tests", || again::workspace(&slow)?.alone())?;
    } else {
        step("tests, and those on a real Cassandra", || {
            std::thread::scope(|scope| {
                let others = scope.spawn(|| again::workspace(&slow));
                let on_cassandra = tests_on_cassandra(&slow, "cassandra::", (2, ""), &LONG);
                let others = others.join().map_err(|_| anyhow!("running tests panicked"));
                // Nothing else runs any more.
                others??.alone()?;
                on_cassandra?.alone()?;
                clear_one_node()
            })
        })?;
    }
    skips.tell()
}

/// The environment in which cargo compiles our crates with clippy's lints, and each is an error.
///
/// # Errors
/// Clippy is not there, or lints nothing when it is called so: this is how `cargo clippy` calls it,
/// which a later version may change.
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
        "clippy's compiler does not lint: {seen}\nhint: is rust-toolchain.toml newer than \
         xtask/src/ci.rs?"
    );
    Ok(environment)
}

/// A file of ours in cargo's folder.
fn scratch(name: &str) -> Result<PathBuf> {
    let folder = target().join("xtask");
    std::fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    Ok(folder.join(name))
}

/// The long versions of the simulated studies and windows, which the gate has in short.
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
    let simulated = ["test", "-p", "engine", "-p", "analysis", "--lib", "--"];
    process::run_with(&cargo(), &[&simulated[..], &asked].concat(), &variables)?;
    // Real ones, on the null target.
    let real = ["test", "-p", "cassay", "--test", "it", "--"];
    // Each alone: beside another one it would measure that.
    let alone = ["--test-threads=1"];
    process::run_with(&cargo(), &[&real[..], &asked, &alone].concat(), &variables)
}

/// The tests that start a real Cassandra. They are `#[ignore]`d, so that `cargo test` needs no
/// Java.
pub fn cassandra(options: &CassandraOptions) -> Result<()> {
    let mut busy = options.busy.then(Busy::start).transpose()?;
    let skips = Skips::new()?;
    let filter = match &options.filter {
        Some(name) if name.starts_with("cassandra::") => name.clone(),
        Some(name) => format!("cassandra::{name}"),
        None => "cassandra::".to_owned(),
    };
    let line = options.line.as_deref().unwrap_or_default();
    tests_on_cassandra(&built_tests()?, &filter, (options.rounds, line), &[])?.alone()?;
    clear_one_node()?;
    busy.as_mut().map_or(Ok(()), Busy::still)?;
    skips.tell()
}

/// The modules whose tests are too long for the gate.
const LONG: [&str; 2] = ["--skip", "::long::"];

fn tests_on_cassandra(
    tests: &str,
    filter: &str,
    (rounds, line): (u32, &str),
    skipped: &[&str],
) -> Result<Failed> {
    let only = [&["--ignored", filter], skipped].concat();
    let listed = process::output(tests, &[&only[..], &["--list"]].concat())?;
    let count = listed.lines().filter(|line| line.ends_with(": test")).count();
    // A renamed module would otherwise pass by running nothing.
    if count == 0 {
        bail!("no #[ignore]d test {filter} in crates/cassay/tests/it");
    }
    let variables = [
        ("JAVA_HOME", quick_java()?),
        (SOAK, rounds.to_string()),
        (LINE, line.to_owned()),
    ];
    let threads = format!("--test-threads={}", threads_count()?);
    again::program(
        tests,
        &[&only[..], &[&threads]].concat(),
        variables.to_vec(),
    )
}

/// Builds all tests, as the gate has done already, and gives the program of [`CASSANDRA_TESTS`].
/// Asked for that one alone, cargo would leave out features that other tests need, and compile
/// most crates again.
fn built_tests() -> Result<String> {
    let build = ["test", "--workspace", "--no-run", "--message-format=json"];
    let said = process::output(&cargo(), &build)?;
    let (package, name) = CASSANDRA_TESTS;
    let manifest = tree::root().join(package).join("Cargo.toml");
    let program = said.lines().find_map(|line| {
        let unit: serde_json::Value = serde_json::from_str(line).ok()?;
        let is_it = unit["target"]["name"] == name
            && unit["manifest_path"].as_str() == manifest.to_str()
            && unit["profile"]["test"] == true;
        is_it.then(|| unit["executable"].as_str().map(str::to_owned))?
    });
    program.with_context(|| format!("cargo has built no test {name} of {package}"))
}

/// Memory that a test may need: of three nodes.
const TEST_BYTES: u64 = 3 << 30;

/// How many tests run at a time: nodes that start take all CPUs, and then wait for each other, and
/// windows are waited for. So one more than CPUs, as far as memory goes.
fn threads_count() -> Result<u64> {
    let cpus = process::cpus() as u64;
    let memory = std::fs::read_to_string("/proc/meminfo").context("read /proc/meminfo")?;
    let available = memory
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:")?.strip_suffix("kB"));
    let kib: u64 = available
        .and_then(|kib| kib.trim().parse().ok())
        .context("find MemAvailable in /proc/meminfo")?;
    Ok((kib * 1024 / TEST_BYTES).clamp(1, cpus + 1))
}

/// Removes the folder of the node that served several tests and has died with them; see
/// `crates/cassay/tests/it/cassandra/one_node.rs`.
fn clear_one_node() -> Result<()> {
    let folder = target().join("tmp/one-node").display().to_string();
    let program = target().join("debug/cassay").display().to_string();
    let said = process::stderr(&program, &["target", "status"], &[("CASSAY_DATA", folder)])?;
    if said.contains("not cleared") {
        bail!("{said}")
    } else {
        Ok(())
    }
}

/// Cargo's folder.
pub fn target() -> PathBuf {
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    tree::root().join(target)
}

/// A `JAVA_HOME` whose Java is the machine's, told to compile quickly rather than well: what these
/// tests ask is whether, not how fast. Half of the processor time of a node's start is the
/// optimising compiler's.
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

/// The list of tests that were left out, for a reason of this machine: a test that passes is shown
/// by nobody, and neither is what it says.
struct Skips(PathBuf);

impl Skips {
    fn new() -> Result<Skips> {
        let path = scratch("skips")?;
        std::fs::write(&path, "").with_context(|| format!("write {}", path.display()))?;
        process::add_environment(vec![(SKIPS, path.to_string_lossy().into_owned())]);
        Ok(Skips(path))
    }

    fn tell(&self) -> Result<()> {
        let text = std::fs::read_to_string(&self.0)
            .with_context(|| format!("read {}", self.0.display()))?;
        match text.lines().count() {
            0 => println!("== no test was left out"),
            count => println!("== {count} tests were LEFT OUT on this machine:"),
        }
        text.lines().for_each(|line| println!("   {line}"));
        Ok(())
    }
}

/// Says that a test of ours is left out on this machine, for this reason.
#[cfg(test)]
pub fn skip(why: &str) {
    use std::io::Write;
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    eprintln!("SKIPPED: {test}: {why}");
    if let Some(path) = std::env::var_os(SKIPS) {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        writeln!(file.expect("the list of skips"), "{test}: {why}").expect("a line");
    }
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
