//! Runs bisections over builds of a real Cassandra. The command chooses the first slow build, and
//! counts how many bisections find this build.
//!
//! A slow build is a distribution with an additional jar, which delays each request before
//! Cassandra handles it.

use crate::version_line::Fetched;
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use xtask::process::{self, cargo};
use xtask::tree;

/// Options of `cargo xtask bisects`.
#[derive(clap::Args)]
pub struct Options {
    /// Number of bisections, run one after the other
    #[arg(long, default_value_t = 10)]
    count: usize,
    /// Number of builds in each bisection, at least 2
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(2..))]
    builds: u16,
    /// Added delay of each request in a slow build, µs
    #[arg(long, default_value_t = 3000)]
    delay_us: u64,
}

/// Release of Cassandra in all builds. The class in the additional jar is written for the
/// interfaces of this release.
const RELEASE: &str = "5.0.8";
/// Name of the class in the additional jar of a slow build.
const CLASS: &str = "SlowQueryHandler";
const SOURCE: &str = include_str!("bisects/SlowQueryHandler.java");

/// Minimum share of the bisections that must find the first slow build.
const FOUND_SHARE: f64 = 0.9;
/// Number of positions by which the first slow build moves from one bisection to the next. With
/// this number and the default number of builds, all positions are used, and neighbouring positions
/// are not used in succession.
const STRIDE: usize = 3;

const STUDY: &str = "\
study: planted
question: Which build made it slower?
target: {local: {nodes: 1, heap: 512MiB, class_sharing: true}}
workload: {use: kv, mix: {read: 1, write: 1}}
data: {load: {operations: 1000}}
procedure: {fixed: {rate: 500}}
window: {warmup: 3s, measure: 3s}
primary: {metric: p50}
";

/// Runs the bisections, and prints the number of those that found the first slow build.
///
/// # Errors
/// A requirement is missing, or too few bisections find the first slow build.
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
    let folder = std::env::temp_dir().join(format!("cassay-bisects-{}", std::process::id()));
    let told = bisections(options, &folder);
    // The result is ignored, because a folder that remains does no harm.
    let _ = std::fs::remove_dir_all(&folder);
    let found = told?;
    println!(
        "{found} of {} bisections found the first slow build",
        options.count
    );
    ensure!(
        found as f64 >= FOUND_SHARE * options.count as f64,
        "too few bisections found the first slow build"
    );
    Ok(())
}

/// Returns the number of bisections that found the first slow build.
fn bisections(options: &Options, folder: &Path) -> Result<usize> {
    let jars = Fetched::download(RELEASE)?.jars;
    let good = distribution(&folder.join("good"), &jars)?;
    let slow = distribution(&folder.join("slow"), &jars)?;
    plant(&folder.join("class"), &slow, &jars)?;
    let study = folder.join("study.yaml");
    std::fs::write(&study, STUDY).context("write the study")?;
    let places = usize::from(options.builds) - 1;
    let mut found = 0;
    for at in 0..options.count {
        let first = 2 + at * STRIDE % places;
        let builds = folder.join(format!("builds-{at}.yaml"));
        let row = row(options, first, [&good, &slow]);
        std::fs::write(&builds, row).context("write the builds")?;
        let said = bisect(folder, &study, &builds, at)?;
        let is_found = said["first_worse"] == name(first);
        found += usize::from(is_found);
        println!(
            "{} {} is the first slow build: {}",
            if is_found { "found " } else { "MISSED" },
            name(first),
            said["words"].as_str().unwrap_or("the bisection gave no answer")
        );
    }
    Ok(found)
}

/// Creates a folder that looks like an unpacked distribution. The folder contains links to the
/// jars.
fn distribution(folder: &Path, jars: &[PathBuf]) -> Result<PathBuf> {
    let lib = folder.join("lib");
    std::fs::create_dir_all(&lib).context("make the folder of a build")?;
    for jar in jars {
        // Cassandra's jar is renamed, because it has different names in distributions and in Maven.
        let name = jar.file_name().context("a jar has a name")?.to_string_lossy();
        let link = lib.join(name.replace("cassandra-all-", "apache-cassandra-"));
        let whole = jar.canonicalize().context("find a jar")?;
        std::os::unix::fs::symlink(whole, link).context("link a jar")?;
    }
    Ok(folder.to_owned())
}

/// Adds the jar that makes a build slow to the folder `build`.
fn plant(work: &Path, build: &Path, jars: &[PathBuf]) -> Result<()> {
    std::fs::create_dir_all(work).context("make a folder for the class")?;
    let source = work.join(format!("{CLASS}.java"));
    std::fs::write(&source, SOURCE).context("write the class")?;
    let path = std::env::join_paths(jars).context("a path of a jar has a colon")?;
    let [work, source, path, jar] = [
        work.display().to_string(),
        source.display().to_string(),
        path.to_string_lossy().into_owned(),
        build.join("lib/slow.jar").display().to_string(),
    ];
    let compile = [
        "--release",
        "11",
        "-proc:none",
        "-cp",
        &path,
        "-d",
        &work,
        &source,
    ];
    process::run("javac", &compile)?;
    let class = format!("{CLASS}.class");
    process::run("jar", &["--create", "--file", &jar, "-C", &work, &class])
}

/// Returns the list of builds as text. The builds from number `first` on are slow.
fn row(options: &Options, first: usize, [good, slow]: [&Path; 2]) -> String {
    let mut row = String::new();
    for build in 1..=usize::from(options.builds) {
        let (home, jvm) = if build < first {
            (good, String::new())
        } else {
            let delay_ns = options.delay_us * 1000;
            let handler = format!("-Dcassandra.custom_query_handler_class={CLASS}");
            let delay = format!("-Dcassay.delay_ns={delay_ns}");
            (slow, format!(", jvm: ['{handler}', '{delay}']"))
        };
        let home = home.display();
        // The result is ignored, because writing to a string cannot fail.
        let _ = writeln!(
            row,
            "{}: {{target: {{local: {{cassandra: {{home: '{home}'}}{jvm}}}}}}}",
            name(build)
        );
    }
    row
}

fn name(build: usize) -> String {
    format!("b{build}")
}

fn bisect(folder: &Path, study: &Path, builds: &Path, at: usize) -> Result<Value> {
    let [program, data, study, builds, out] = [
        tree::root().join("target/launch/cassay"),
        folder.join("data"),
        study.to_owned(),
        builds.to_owned(),
        folder.join(format!("results-{at}")),
    ]
    .map(|path| path.display().to_string());
    let words = [
        "bisect", &study, "--builds", &builds, "--out", &out, "--trust", "--json",
    ];
    // The study may run on a shared machine, because other load is not important for this test.
    let variables = [
        ("CASSAY_DATA", data),
        ("CASSAY_SHARED_MACHINE", "1".to_owned()),
    ];
    // The exit code is ignored, because a bisection without a conclusion does not exit with 0, but
    // still prints its result.
    let (said, _) = process::read_output(&program, &words, &variables, false)?;
    let mut values = serde_json::Deserializer::from_str(&said).into_iter();
    let found = values.next().and_then(|found| found.ok());
    found.with_context(|| format!("the bisection found no slow build: {said}"))
}
