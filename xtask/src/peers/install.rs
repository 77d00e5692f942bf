//! Downloads the peers and builds cassay's programs. Nothing is written into the tree, and existing
//! downloads are kept.

use super::Places;
use super::tools::Tool;
use crate::{process, tree};
use anyhow::{Context, Result, ensure};

/// Version of latte, from its crate.
pub const LATTE: &str = "0.29.0";
/// Version of the Cassandra whose stress tool runs: the last of the 3.x line. Later ones are no
/// faster.
pub const CASSANDRA_STRESS: &str = "3.11.4";

/// Installs or builds each of `tools`, and the server against which they run.
pub fn all(tools: &[Tool], places: &Places) -> Result<()> {
    std::fs::create_dir_all(&places.peers)
        .with_context(|| format!("create {}", places.peers.display()))?;
    for tool in tools {
        match tool {
            // cassandra-stress writes cassay's rows on a real Cassandra.
            Tool::Cassay | Tool::CassayBatched => cassandra_stress(places)?,
            Tool::Latte => latte(places)?,
            Tool::CassandraStress => cassandra_stress(places)?,
        }
    }
    let release = ["build", "--release", "--locked", "--package"];
    let server = ["null_server", "--example", "null"];
    process::run(&process::cargo(), &[&release[..], &server].concat())?;
    // cassay also starts the real Cassandra, whichever tools are measured.
    process::run(&process::cargo(), &[&release[..], &["cassay"]].concat())
}

/// Returns the path of a program that [`all`] has built with the profile `release`. The launcher's
/// profile builds faster and may give a slower program.
pub fn built(program: &str) -> String {
    let target = std::env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    path(tree::root().join(target).join("release").join(program))
}

fn latte(places: &Places) -> Result<()> {
    if places.peers.join("bin/latte").is_file() {
        return Ok(());
    }
    let root = path(places.peers.clone());
    let install = [
        "install",
        "latte-cli",
        "--version",
        LATTE,
        "--locked",
        "--root",
        &root,
    ];
    process::run(&process::cargo(), &install)
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
    ensure!(jar.is_file(), "{archive} holds no {}", jar.display());
    Ok(())
}

/// Returns a path as an argument. The paths here consist of HOME and ASCII names.
pub fn path(path: std::path::PathBuf) -> String {
    path.to_string_lossy().into_owned()
}
