//! The files of a control group. The module writes values, reads them back, and reads the values
//! that a group inherits from its parent.
//!
//! Invariant: a write reaches the kernel or is an error. Rust does not issue a system call for an
//! empty value, so an empty value would never reach the file. Therefore the module never removes a
//! limit by writing an empty value. It writes the parent's value instead, which every kernel
//! accepts, even for a group with processes.

use anyhow::{Context, Result};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// File with the configured CPUs of a group.
pub(super) const CPUS: &str = "cpuset.cpus";
/// File with the configured NUMA nodes of a group's memory.
pub(super) const MEMS: &str = "cpuset.mems";

pub(super) fn read(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    Ok(text.trim().to_string())
}

/// Writes a value to an existing file in one system call, as control groups require.
pub(super) fn write(path: &Path, value: &str) -> Result<()> {
    anyhow::ensure!(
        !value.trim().is_empty(),
        "the value for {} is empty, and the kernel would ignore it",
        path.display()
    );
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::OpenOptions::new().write(true).open(path)?;
        file.write_all(value.as_bytes())
    };
    write().with_context(|| format!("write {value:?} to {}", path.display()))
}

/// Returns the [`CPUS`] or [`MEMS`] of the parent of `dir`.
pub(super) fn inherited(dir: &Path, key: &str) -> Result<String> {
    effective(
        dir.parent().context("find the parent of the control group")?,
        key,
    )
}

/// Returns the effective [`CPUS`] or [`MEMS`] of a group. The effective set may be smaller than the
/// configured set.
pub(super) fn effective(dir: &Path, key: &str) -> Result<String> {
    let what = key.trim_start_matches("cpuset.");
    // The file with the effective set has different names in versions 2 and 1. Very old kernels
    // have only the file with the configured set.
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
