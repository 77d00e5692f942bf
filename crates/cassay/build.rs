//! Determines the commit that is built. `CASSAY_VERSION` is `0.1.0+1a2b3c4d5e6f`. If the sources
//! have changed since this commit, `.dirty` is appended. Without git or outside of a repository,
//! `CASSAY_VERSION` is `0.1.0+unknown`. `CASSAY_DESCRIBED` also contains the build target, as in
//! `0.1.0 (commit 1a2b3c4d5e6f, TARGET)`.
//!
//! The topmost crate determines the commit, so that a new commit does not rebuild the other crates.

use std::path::Path;
use std::process::Command;

fn main() {
    let version = env!("CARGO_PKG_VERSION");
    let commit = commit().unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=CASSAY_VERSION={version}+{commit}");
    let target = std::env::var("TARGET").expect("cargo sets TARGET");
    println!("cargo::rustc-env=CASSAY_DESCRIBED={version} (commit {commit}, {target})");
    for path in [
        "build.rs",
        "../../crates",
        "../../studies",
        "../../workloads",
        "../../Cargo.toml",
        "../../Cargo.lock",
    ] {
        println!("cargo::rerun-if-changed={path}");
    }
    // A commit changes `logs/HEAD`, and a checkout changes both files. In a worktree, these files
    // are outside of the `.git` of the worktree, so git names their paths.
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file])
            && Path::new(&path).exists()
        {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}

/// Returns the abbreviated commit of this repository, with the suffix `.dirty` if tracked files
/// have changes. Returns `None` outside of this repository.
fn commit() -> Option<String> {
    let top = git(&["rev-parse", "--show-toplevel"])?;
    let ours = Path::new("../..").canonicalize().ok()?;
    if Path::new(&top).canonicalize().ok()? != ours {
        return None;
    }
    let commit = git(&["rev-parse", "--short=12", "HEAD"])?;
    let changes = git(&[
        "status",
        "--porcelain",
        "--untracked-files=no",
        "--",
        "../..",
    ])?;
    Some(if changes.is_empty() {
        commit
    } else {
        commit + ".dirty"
    })
}

/// Runs git and returns its trimmed output. Returns `None` if git is missing or fails.
#[expect(
    clippy::disallowed_methods,
    reason = "git ends by itself, and this script waits for it"
)]
fn git(words: &[&str]) -> Option<String> {
    let said = Command::new("git").args(words).output().ok()?;
    let text = String::from_utf8(said.stdout).ok()?;
    said.status.success().then(|| text.trim().to_owned())
}
