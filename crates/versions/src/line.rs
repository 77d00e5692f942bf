//! A line of releases of Cassandra.

use serde_json::{Map, Value};

/// A line of releases. The releases of a line differ only by fixes.
#[derive(Debug)]
pub struct Line {
    /// Name of the line, such as `4.1`.
    pub name: &'static str,
    /// Release whose files [`Line::lock`] lists. It was the newest release of the line when the
    /// folder of the line was created.
    pub pinned: &'static str,
    /// SHA-256, size in bytes and path of each file of the pinned release, one file per line.
    pub lock: &'static str,
    /// Settings of the line, in the format that the documentation of the crate describes.
    pub(crate) settings: &'static str,
    /// Limits of the settings beyond their types, in the format that the documentation of the crate
    /// describes.
    pub(crate) limits: &'static str,
    /// Names of the settings that are guardrails, one per line. The server applies guardrails to
    /// ordinary users, but not to superusers.
    pub(crate) guardrails: &'static str,
    /// Releases of the line that existed when the folder of the line was created. The text has one
    /// release per line, and the oldest release comes first.
    pub(crate) releases: &'static str,
    /// Contents of the settings files that come with the line, if known.
    pub(crate) presets: Option<Presets>,
    /// Classes of this line that a study may name, but that some other lines do not have. These are
    /// classes for memtables, compaction, compression and indexes.
    pub(crate) classes: &'static [&'static str],
    /// Settings that were removed and have no successor with the same meaning, each with advice for
    /// the user.
    pub(crate) gone: &'static [(&'static str, &'static str)],
    /// Major versions of Java that the maintainers of the line support.
    pub java_supported: &'static [u32],
    /// Major versions of Java with which the line was observed to start with cassay's options.
    pub java_seen: &'static [u32],
    /// Newest formats of the line's SSTables, by the letters in the names of the files.
    pub formats: Formats,
    /// True if `cassandra.yaml` may name a part of a setting with a dot, as in
    /// `sstable.selected_format: bti`.
    pub(crate) has_dotted_names: bool,
    /// True if a node starts without the agent that measures the size of objects. Without this
    /// agent, older lines use a method that fails on the hidden classes of Java 15 and later.
    pub starts_without_jamm: bool,
    /// True if the nodes agree on a log of the cluster's metadata with an epoch
    /// (`system_views.cluster_metadata_log`). In other lines, the nodes exchange the ring by
    /// gossip.
    pub has_cluster_metadata: bool,
    /// True if nodes show their metrics as tables (`system_metrics`), so that CQL is enough to read
    /// the metrics.
    pub has_metric_tables: bool,
    /// True if nodes show their snapshots as a table (`system_views.snapshots`).
    pub has_snapshot_table: bool,
}

/// Contents of the settings files of a line, as JSON objects. The objects contain only settings
/// that differ from a server's defaults. They do not contain addresses, folders, access, or the
/// position of nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Presets {
    /// Contents of `conf/cassandra.yaml`.
    pub shipped: &'static str,
    /// Contents of `conf/cassandra_latest.yaml`.
    pub latest: &'static str,
}

/// Newest formats of SSTables of a line, given by the letters in the names of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formats {
    /// Letters of the newest version of `big`, the original format.
    pub big: &'static str,
    /// Letters of the newest version of `bti`, the format with a trie index. `None` if the line
    /// does not have this format.
    pub bti: Option<&'static str>,
}

/// Oldest version of `big` that all lines read. Cassandra 3.0 writes this version.
pub const BIG_OLDEST: &str = "ma";

/// Oldest version of `bti` that lines with this format read.
pub const BTI_OLDEST: &str = "da";

/// Returns true if the letters in the name of a file belong to the format `bti`. These are the
/// letters from `da` up to the first letters of `big`.
pub fn is_trie(letters: &str) -> bool {
    matches!(letters.as_bytes().first(), Some(b'd'..=b'l'))
}

impl Line {
    /// Returns the letters in the names of the files that a node of this line writes with the
    /// settings in `yaml`. Nodes of 5.0 write the format of 4.0 and 4.1 unless
    /// `storage_compatibility_mode` allows another format. This was observed in the names of
    /// flushed files of 4.1.10, 5.0.9 and 6.0-alpha2.
    pub fn written_format(&self, yaml: &Map<String, Value>) -> &'static str {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_ascii_uppercase();
        let mode = yaml.get("storage_compatibility_mode").map(text);
        let sstable = yaml.get("sstable").and_then(|sstable| sstable.get("selected_format"));
        let selected = sstable.or(yaml.get("sstable.selected_format")).map(text);
        let is_trie = selected.as_deref() == Some("BTI");
        match mode.as_deref() {
            _ if self.formats.big == BIG_OF_4 => BIG_OF_4,
            Some("CASSANDRA_4") => BIG_OF_4,
            None if self.name == "5.0" => BIG_OF_4,
            Some("CASSANDRA_5") if is_trie => BTI_OLDEST,
            Some("CASSANDRA_5") => BIG_OF_5,
            _ => self.formats.bti.filter(|_| is_trie).unwrap_or(self.formats.big),
        }
    }
}

/// Newest version of `big` that 4.0 and 4.1 write.
const BIG_OF_4: &str = "nb";

/// Newest version of `big` that 5.0 writes.
const BIG_OF_5: &str = "oa";

impl Formats {
    /// Returns true if nodes of this line can read files whose names contain these letters of a
    /// format.
    pub fn reads(&self, letters: &str) -> bool {
        if is_trie(letters) {
            self.bti.is_some_and(|bti| (BTI_OLDEST..=bti).contains(&letters))
        } else {
            (BIG_OLDEST..=self.big).contains(&letters)
        }
    }

    /// Describes the readable formats in words, such as `ma to oa, and da`.
    pub fn describe(&self) -> String {
        let bti = self.bti.map(|bti| match bti {
            BTI_OLDEST => format!(", and {bti}"),
            _ => format!(", and {BTI_OLDEST} to {bti}"),
        });
        format!("{BIG_OLDEST} to {}{}", self.big, bti.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_format_that_a_node_writes_is_of_its_line_and_mode() {
        let written = |line: &str, yaml: Value| {
            let yaml = yaml.as_object().unwrap().clone();
            Line::find(line).unwrap().written_format(&yaml)
        };
        for (line, yaml, expected) in [
            ("4.0", json!({}), "nb"),
            ("4.1", json!({}), "nb"),
            ("5.0", json!({}), "nb"),
            (
                "5.0",
                json!({"storage_compatibility_mode": "CASSANDRA_4"}),
                "nb",
            ),
            (
                "5.0",
                json!({"storage_compatibility_mode": "UPGRADING"}),
                "oa",
            ),
            ("5.0", json!({"storage_compatibility_mode": "none"}), "oa"),
            (
                "5.0",
                json!({
                    "storage_compatibility_mode": "NONE",
                    "sstable": {"selected_format": "bti"},
                }),
                "da",
            ),
            ("6.0", json!({}), "pa"),
        ] {
            assert_eq!(written(line, yaml.clone()), expected, "{line} {yaml}");
        }
    }
}
