//! The page cache of the nodes' data, dropped, so that a trial reads from disk what it first reads.

use crate::cluster::Cluster;
use crate::local::Nodes;
use anyhow::{Context, Result};
use rustix::fs::Advice;
use std::fs::File;
use std::num::NonZeroU64;
use std::path::Path;

/// See [`Cluster::drop_page_cache`], of which `nodes` are.
pub(crate) fn drop_of(cluster: &Cluster, nodes: &Nodes) -> Result<bool> {
    if let Some(hosts) = nodes.hosts() {
        for host in hosts.all() {
            host.drop_page_cache()?;
        }
        return Ok(true);
    }
    for place in &nodes.files() {
        let data = place.folder.join("data");
        let context = || format!("drop the page cache of {}", place.name);
        // The kernel keeps what is not written to disk yet.
        File::open(&data)
            .and_then(|folder| Ok(rustix::fs::syncfs(&folder)?))
            .with_context(context)?;
        drop_folder(&data).with_context(context)?;
    }
    let maps = |settings: &std::collections::BTreeMap<String, String>| {
        let mode = settings.get("disk_access_mode");
        mode.is_some_and(|mode| mode.starts_with("mmap"))
    };
    let settings = cluster.settings()?;
    Ok(!settings.iter().any(|(_, settings)| maps(settings)))
}

/// Drops all files below a folder. A server deletes files at any time: what is gone is dropped.
fn drop_folder(folder: &Path) -> Result<()> {
    let context = || format!("read {}", folder.display());
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.with_context(context)?,
    };
    for entry in entries {
        let entry = entry.with_context(context)?;
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => drop_folder(&path)?,
            Ok(kind) if kind.is_file() => drop_file(&path)?,
            _ => {}
        }
    }
    Ok(())
}

fn drop_file(path: &Path) -> Result<()> {
    let file = match File::open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        file => file.with_context(|| format!("open {}", path.display()))?,
    };
    // No length: to the end of the file.
    let to_the_end: Option<NonZeroU64> = None;
    rustix::fs::fadvise(&file, 0, to_the_end, Advice::DontNeed)
        .with_context(|| format!("drop {} from the page cache", path.display()))
}
