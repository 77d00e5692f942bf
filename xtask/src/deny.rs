//! What the dependencies are: their licences, where they come from, whether one is there twice, and
//! what is known against them. cargo-deny says it, by `deny.toml`, where it is installed; to build
//! it takes as long as the whole gate may take, so where it is not that is said.

use crate::process::{self, cargo};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Checks the dependencies; says what was not checked.
pub fn run() -> Result<()> {
    if process::output(&cargo(), &["deny", "--version"]).is_err() {
        println!(
            "not checked: licences, sources, duplicates and advisories; `cargo install --locked \
             cargo-deny` brings what checks them"
        );
        return Ok(());
    }
    deny(&["--offline"], &["bans", "licenses", "sources"])?;
    // The database is fetched from the network; without one, the last that was fetched is used.
    if process::run(&cargo(), &["deny", "fetch", "db"]).is_ok() {
        return deny(&[], &["advisories"]);
    }
    if !has_database() {
        println!("not checked: advisories; their database cannot be fetched, and none is here");
        return Ok(());
    }
    println!("advisories as of the last time that they could be fetched");
    deny(&["--offline"], &["advisories"])
}

fn deny(how: &[&str], checks: &[&str]) -> Result<()> {
    let all = ["--all-features", "check", "--hide-inclusion-graph"];
    process::run(&cargo(), &[&["deny"], how, &all, checks].concat())
}

/// Whether a database of advisories was ever fetched: a folder with something in it, where
/// cargo-deny puts them.
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
