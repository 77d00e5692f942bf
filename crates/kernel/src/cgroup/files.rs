//! The files of a control group: what is written there, what is read back, and what a group has
//! of the one above it.
//!
//! What must hold: a write reaches the kernel or is an error. An empty value would not: Rust makes
//! no system call for it. So no limit is taken back by writing nothing; what stands above it is
//! written instead, which every kernel takes, also for a group with processes.

use anyhow::{Context, Result};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// The CPUs of a group, as it was told.
pub(super) const CPUS: &str = "cpuset.cpus";
/// The NUMA nodes of its memory, as it was told.
pub(super) const MEMS: &str = "cpuset.mems";

pub(super) fn read(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    Ok(text.trim().to_string())
}

/// Writes in one system call, as control groups want it, into a file that is there.
pub(super) fn write(path: &Path, value: &str) -> Result<()> {
    anyhow::ensure!(
        !value.trim().is_empty(),
        "nothing would be written to {}, which stays as it is",
        path.display()
    );
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::OpenOptions::new().write(true).open(path)?;
        file.write_all(value.as_bytes())
    };
    write().with_context(|| format!("write {value:?} to {}", path.display()))
}

/// What the group above `dir` has of [`CPUS`] or [`MEMS`].
pub(super) fn inherited(dir: &Path, key: &str) -> Result<String> {
    effective(dir.parent().context("a control group at the root")?, key)
}

/// What a group has of [`CPUS`] or [`MEMS`], which may be less than it was told.
pub(super) fn effective(dir: &Path, key: &str) -> Result<String> {
    let what = key.trim_start_matches("cpuset.");
    // Version 2 and version 1 have different names for it; very old kernels have only what is set.
    let names = [
        format!("{key}.effective"),
        format!("cpuset.effective_{what}"),
        key.to_string(),
    ];
    for name in names {
        match std::fs::read_to_string(dir.join(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            found => {
                let text = found.with_context(|| format!("read {key} of {}", dir.display()))?;
                return Ok(text.trim().to_string());
            }
        }
    }
    anyhow::bail!("{} has no {key}", dir.display())
}
