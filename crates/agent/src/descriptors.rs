//! Open files of a process, and the limit on their number.

use anyhow::{Context, Result};
use host::process::Identity;

/// Returns the file descriptors of a process in ascending order.
pub(crate) fn numbers(process: Identity) -> Result<Vec<u64>> {
    let folder = format!("/proc/{}/fd", process.pid);
    let entries = std::fs::read_dir(&folder).with_context(|| format!("list {folder}"))?;
    let number =
        |entry: std::io::Result<std::fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    let mut numbers: Vec<u64> = entries.filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Returns the soft and the hard limit on a process's open files. `None` means unlimited.
pub(crate) fn files_limit(process: Identity) -> Result<(Option<u64>, Option<u64>)> {
    let path = format!("/proc/{}/limits", process.pid);
    let text = std::fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix("Max open files"));
    let mut words = line.unwrap_or_default().split_ascii_whitespace();
    let mut word = || match words.next() {
        Some("unlimited") => Ok(None),
        Some(word) => word.parse().map(Some).map_err(anyhow::Error::new),
        None => Err(anyhow::anyhow!("the file contains no limit on open files")),
    };
    let both = word().and_then(|now| Ok((now, word()?)));
    both.with_context(|| format!("read the limits in {path}"))
}
