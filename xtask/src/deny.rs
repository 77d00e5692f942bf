//! Checks the dependencies: their licences, their sources, duplicate versions, and advisories. The
//! rules are in `deny.toml`. [`rules`] checks all of these except the advisories, in a second and
//! on any machine. Building cargo-deny for this purpose would take a third of the gate's time. If
//! cargo-deny is installed, it also checks the advisories. Otherwise the output says that the
//! advisories were not checked. See `docs/decisions/083-the-gate-checks-licences-itself.md`.

mod rules;

use crate::process::{self, cargo};
use crate::tree;
use anyhow::{Context, Result, bail, ensure};
use rules::{Package, Rules};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Checks the dependencies, and prints which checks were skipped.
///
/// # Errors
/// A dependency breaks a rule.
pub fn run() -> Result<()> {
    own()?;
    if process::output(&cargo(), &["deny", "--version"]).is_err() {
        println!(
            "not checked: advisories; `cargo install --locked cargo-deny` installs the program \
             that checks them"
        );
        return Ok(());
    }
    // cargo-deny checks the same rules again, independently of this program.
    deny(&["--offline"], &["bans", "licenses", "sources"])?;
    // This fetches the database of advisories from the network. If that is not possible, the
    // database that was fetched last is used.
    if process::run(&cargo(), &["deny", "fetch", "db"]).is_ok() {
        return deny(&[], &["advisories"]);
    }
    if !has_database() {
        println!(
            "not checked: advisories; their database is neither available for download nor on this \
             machine"
        );
        return Ok(());
    }
    println!("advisories as of their last successful download");
    deny(&["--offline"], &["advisories"])
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

fn own() -> Result<()> {
    let path = tree::root().join("deny.toml");
    let text =
        std::fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
    let rules = Rules::read(&text)
        .context("deny.toml contains settings that `cargo xtask deny` cannot check")?;
    let words = [
        "metadata",
        "--format-version=1",
        "--all-features",
        "--locked",
    ];
    let metadata = process::output(&cargo(), &words)?;
    let metadata: Metadata =
        serde_json::from_str(&metadata).context("parse the output of cargo metadata")?;
    let taken = taken(&rules.graph.targets)?;
    let packages: Vec<Package> = metadata
        .packages
        .into_iter()
        .filter(|one| taken.contains(&one.full_name()))
        .collect();
    ensure!(
        packages.len() == taken.len(),
        "cargo tree names {} packages, of which cargo metadata has {}",
        taken.len(),
        packages.len()
    );
    let broken = rules.broken_by(&packages);
    if !broken.is_empty() {
        bail!(
            "dependencies break rules of deny.toml:\n  {}",
            broken.join("\n  ")
        );
    }
    println!(
        "{} packages: licences, sources and versions are as deny.toml requires",
        packages.len()
    );
    Ok(())
}

/// Returns the packages that are compiled for at least one of the targets, as `name version`.
/// `cargo metadata` lists more packages, because it includes packages that no enabled feature
/// requires.
fn taken(targets: &[String]) -> Result<BTreeSet<String>> {
    let mut taken = BTreeSet::new();
    for target in targets {
        let words = [
            "tree",
            "--workspace",
            "--all-features",
            "--locked",
            "--target",
            target,
        ];
        let shape = ["--edges=normal,build,dev", "--prefix=none", "--format={p}"];
        let said = process::output(&cargo(), &[&words[..], &shape].concat())?;
        taken.extend(said.lines().filter_map(parse_package));
    }
    Ok(taken)
}

/// Parses the package in a line of `cargo tree`, so that `name v1.2.3 (where) (*)` becomes `name
/// 1.2.3`. Returns `None` for other lines.
fn parse_package(line: &str) -> Option<String> {
    let mut words = line.split(' ');
    let (name, version) = (words.next()?, words.next()?);
    Some(format!("{name} {}", version.strip_prefix('v')?))
}

fn deny(how: &[&str], checks: &[&str]) -> Result<()> {
    let all = ["--all-features", "check", "--hide-inclusion-graph"];
    process::run(&cargo(), &[&["deny"], how, &all, checks].concat())
}

/// Returns true if cargo-deny has already fetched a database of advisories. In this case,
/// cargo-deny's folder for databases is not empty.
fn has_database() -> bool {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let folders = home.and_then(|home| std::fs::read_dir(home.join("advisory-dbs")).ok());
    let is_filled =
        |folder: &Path| std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    folders.is_some_and(|mut folders| {
        folders.any(|folder| folder.is_ok_and(|folder| is_filled(&folder.path())))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_read_from_the_lines_of_cargo_tree() {
        let lines = [
            "syn v2.0.119",
            "load v0.1.0 (/c/crates/load) (*)",
            "",
            "[dev-dependencies]",
        ];
        let found: Vec<String> = lines.iter().filter_map(|line| parse_package(line)).collect();
        assert_eq!(found, ["syn 2.0.119", "load 0.1.0"]);
    }
}
