//! Copies the logs of nodes into a run's folder from time to time, so that only the latest lines
//! are lost if a host is lost.

use crate::cluster::Cluster;
use crate::missing_logs::{Gap, gap};
use anyhow::{Context, Result};
use cassandra::log_position::{Marks, is_log};
use host::{Agent, Entry};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;
use target_spec::NodeIndex;
use target_spec::redact::hidden;

/// Log to which a node writes its JVM options.
const WITH_OPTIONS: &str = "system.log";
const OPTIONS: &[u8] = b"JVM Arguments:";

/// Number of copied bytes of each log, by node index.
#[derive(Debug, Default)]
pub struct LogsTaken(BTreeMap<usize, Marks>);

/// Position up to which logs are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogsUntil {
    /// Last complete line. A later copy contains the rest.
    WholeLine,
    /// Current end of the file.
    Now,
}

impl Cluster {
    /// Appends the new part of every node's logs to `into/<node>/`. The first call copies all logs
    /// of managed nodes, but only the new lines since attaching for attached nodes. Unreadable logs
    /// of one node do not affect the others. Returns the reason for each such node.
    pub fn collect_logs(&self, taken: &mut LogsTaken, into: &Path, until: LogsUntil) -> Vec<Gap> {
        let mut missing = Vec::new();
        for (index, node) in self.nodes().iter().enumerate() {
            let Some(place) = self.control().log_place(NodeIndex(index)) else {
                continue;
            };
            let Some((folder, marks)) = &place.folder else {
                continue;
            };
            // The folder of an attached node may contain other files than logs.
            let is_kept = |entry: &&Entry| !entry.is_folder && (marks.is_none() || is_log(entry));
            let marks = taken.0.entry(index).or_insert_with(|| marks.cloned().unwrap_or_default());
            let to = into.join(&node.name);
            let why = match place.agent.lost() {
                Some(why) => Some(why),
                None => {
                    let copied = collect((place.agent, folder), is_kept, marks, &to, until);
                    copied.err().map(|error| format!("{error:#}"))
                }
            };
            missing.extend(why.map(|why| gap(node, place.host, why)));
        }
        missing
    }
}

/// # Errors
/// A log cannot be read or written.
fn collect(
    (agent, folder): (&Agent, &Path),
    is_kept: impl Fn(&&Entry) -> bool,
    marks: &mut Marks,
    to: &Path,
    until: LogsUntil,
) -> Result<()> {
    std::fs::create_dir_all(to).with_context(|| format!("make {}", to.display()))?;
    let entries = agent
        .list(folder, None)?
        .with_context(|| format!("{} does not exist", folder.display()))?;
    marks.keep(&entries);
    for entry in entries.iter().filter(is_kept) {
        let Some(from) = marks.new_from(entry) else {
            continue;
        };
        let path = folder.join(&entry.name);
        // The node may still write to the log, so the copy ends at its current length.
        let log = agent.reader(&path, from).take(entry.bytes - from);
        let copied = append(log, &entry.name, &to.join(&entry.name), until)
            .with_context(|| format!("copy {} to {}", path.display(), to.display()))?;
        marks.set(entry, from + copied);
    }
    Ok(())
}

/// Maximum length of a line, in bytes. A longer line is copied in parts, so that a file without
/// line ends does not fill the memory. The arguments of a JVM are shorter.
const PART_BYTES_MAX: u64 = 16 << 20;

/// Appends a part of a log, and returns the number of copied bytes. Masks secrets in the node's JVM
/// options.
fn append(log: impl Read, name: &str, to: &Path, until: LogsUntil) -> std::io::Result<u64> {
    let file = foreign::append(to)?;
    let mut writer = BufWriter::new(file);
    let mut reader = BufReader::new(log);
    let mut line = Vec::new();
    let mut copied = 0;
    while reader.by_ref().take(PART_BYTES_MAX).read_until(b'\n', &mut line)? > 0 {
        let is_whole = line.ends_with(b"\n") || line.len() as u64 == PART_BYTES_MAX;
        if !is_whole && until == LogsUntil::WholeLine {
            break;
        }
        copied += line.len() as u64;
        let has_options = name.starts_with(WITH_OPTIONS)
            && line.windows(OPTIONS.len()).any(|part| part == OPTIONS);
        if has_options {
            let text = String::from_utf8_lossy(&line);
            writer.write_all(hidden(&text).as_bytes())?;
        } else {
            writer.write_all(&line)?;
        }
        line.clear();
    }
    writer.flush()?;
    Ok(copied)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copied_log_hides_secrets_and_keeps_the_rest_on_every_copy() {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("copy");
        let log = b"INFO a\nJVM Arguments: [-Dx.password=hunter2, -ea]\n\xff\nend".as_slice();
        let hidden = b"INFO a\nJVM Arguments: [-Dx.password=***, -ea]\n\xff\nend".as_slice();
        // The part ends in the middle of a secret, so the first call copies only the earlier lines.
        let first = append(&log[..40], "system.log", &to, LogsUntil::WholeLine).unwrap();
        assert_eq!(first, 7);
        let rest = append(&log[7..], "system.log", &to, LogsUntil::Now).unwrap();
        assert_eq!(first + rest, log.len() as u64);
        assert_eq!(std::fs::read(&to).unwrap(), hidden);
        std::fs::remove_file(&to).unwrap();
        append(log, "jvm.log", &to, LogsUntil::Now).unwrap();
        assert_eq!(std::fs::read(&to).unwrap(), log);
    }
}
