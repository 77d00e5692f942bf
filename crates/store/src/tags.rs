//! Tags in `results/tags.json`. A tag is a name that a user gives to a run in order to compare
//! later runs with it.

use crate::file;
use crate::name::Name;
use crate::run::Run;
use crate::write::write_whole;
use anyhow::{Context, Result, bail};
use foreign::FileKind;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

/// Returns the tags of a results folder, each with the study and stamp of its run. Returns an empty
/// map if the file does not exist.
///
/// # Errors
/// The file exists, but cannot be read or is damaged.
pub fn tags(results: &Path) -> Result<BTreeMap<String, String>> {
    let path = results.join(file::TAGS);
    let text = match foreign::text(FileKind::Tags, &path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        text => text.with_context(|| format!("read {}", path.display()))?,
    };
    serde_json::from_str(&text).with_context(|| format!("read {}", path.display()))
}

/// Assigns a tag to a run. If another run has the tag, removes the tag from that run.
///
/// # Errors
/// The tag is not a valid file name, or equals `latest` or the name of an object in the results
/// folder. Also fails if the file cannot be read or written.
pub fn tag(results: &Path, name: &str, run: &Run) -> Result<()> {
    Name::new("tag", name)?;
    if name == file::LATEST || results.join(name).exists() {
        bail!("{name:?} already names the last run or the runs of a study; choose another tag");
    }
    let mut all = tags(results)?;
    all.insert(name.to_owned(), format!("{}/{}", run.plan.study, run.stamp));
    write(results, &all)
}

/// Removes a tag. Returns true if the tag existed.
///
/// # Errors
/// The file cannot be read or written.
pub fn untag(results: &Path, name: &str) -> Result<bool> {
    let mut all = tags(results)?;
    let was_there = all.remove(name).is_some();
    if was_there {
        write(results, &all)?;
    }
    Ok(was_there)
}

fn write(results: &Path, all: &BTreeMap<String, String>) -> Result<()> {
    let text = serde_json::to_string_pretty(all).context("encode the tags")?;
    write_whole(&results.join(file::TAGS), format!("{text}\n").as_bytes())
}
