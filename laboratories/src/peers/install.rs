//! Downloads the peers and builds the programs of cassay. The module does not change the tree, and
//! keeps existing downloads.

use super::Places;
use super::tools::Tool;
use anyhow::{Context, Result, ensure};
use xtask::{process, tree};

/// Version of latte's crate.
pub const LATTE: &str = "0.29.0";
/// Version of ScyllaDB's latte, which is a tag of its repository.
pub const LATTE_SCYLLA: &str = "0.49.0-scylladb";
const LATTE_SCYLLA_REPOSITORY: &str = "https://github.com/scylladb/latte";
/// Version of the Cassandra release that contains the stress tool. A release of the 3.x line is
/// used, because later versions of the tool are not faster.
pub const CASSANDRA_STRESS: &str = "3.11.4";

/// Installs or builds each of `tools`, and the null server against which they run.
pub fn all(tools: &[Tool], places: &Places) -> Result<()> {
    std::fs::create_dir_all(&places.peers)
        .with_context(|| format!("create {}", places.peers.display()))?;
    for tool in tools {
        match tool {
            // cassay also needs cassandra-stress, which writes the rows that cassay reads from a
            // real Cassandra.
            Tool::Cassay | Tool::CassayBatched => cassandra_stress(places)?,
            Tool::CassayLatteTable => latte(places)?,
            Tool::Latte => latte(places)?,
            Tool::LatteScylla => latte_scylla(places)?,
            Tool::CassandraStress => cassandra_stress(places)?,
        }
    }
    let release = ["build", "--release", "--locked", "--package"];
    let server = ["null_server", "--example", "null"];
    process::run(&process::cargo(), &[&release[..], &server].concat())?;
    // cassay is always built, because it starts the real Cassandra.
    process::run(&process::cargo(), &[&release[..], &["cassay"]].concat())
}

/// Returns the path of a program that [`all`] has built with the profile `release`. The profile of
/// the launcher builds faster, but its program may be slower.
pub fn built(program: &str) -> String {
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    path(tree::root().join(target).join("release").join(program))
}

fn latte(places: &Places) -> Result<()> {
    if places.peers.join("bin/latte").is_file() {
        return Ok(());
    }
    let root = path(places.peers.clone());
    let of_crate = ["install", "latte-cli", "--version", LATTE];
    process::run(
        &process::cargo(),
        &[&of_crate[..], &["--locked", "--root", &root]].concat(),
    )
}

/// Installs ScyllaDB's latte from its repository, because its crate is not in a registry.
fn latte_scylla(places: &Places) -> Result<()> {
    let root = places.peers.join("scylla");
    if root.join("bin/latte").is_file() {
        return Ok(());
    }
    let root = path(root);
    // The timers of the program require these flags. The repository of the program also contains
    // them, but cargo does not read the settings of that repository.
    let flags = [("RUSTFLAGS", "--cfg tokio_unstable".to_owned())];
    let of_tag = [
        "install",
        "--git",
        LATTE_SCYLLA_REPOSITORY,
        "--tag",
        LATTE_SCYLLA,
    ];
    let arguments = [&of_tag[..], &["--locked", "--root", &root, "latte-cli"]].concat();
    process::run_with(&process::cargo(), &arguments, &flags)
}

fn cassandra_stress(places: &Places) -> Result<()> {
    let name = format!("apache-cassandra-{CASSANDRA_STRESS}");
    if places.peers.join(&name).join("tools/lib/stress.jar").is_file() {
        return Ok(());
    }
    let root = path(places.peers.clone());
    let artefact =
        format!("-Dartifact=org.apache.cassandra:apache-cassandra:{CASSANDRA_STRESS}:tar.gz:bin");
    let folder = format!("-DoutputDirectory={root}");
    let goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy";
    process::run("mvn", &["-B", "-q", goal, &artefact, &folder])?;
    let archive = format!("{root}/{name}-bin.tar.gz");
    process::run("tar", &["-xzf", &archive, "-C", &root])?;
    std::fs::remove_file(&archive).with_context(|| format!("remove {archive}"))?;
    let jar = places.peers.join(&name).join("tools/lib/stress.jar");
    ensure!(jar.is_file(), "{archive} contains no {}", jar.display());
    Ok(())
}

/// Converts a path to an argument. The paths of this benchmark consist of HOME and ASCII names.
pub fn path(path: std::path::PathBuf) -> String {
    path.to_string_lossy().into_owned()
}
