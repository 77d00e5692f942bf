//! What a line of versions is.

use serde_json::{Map, Value};

/// Releases that differ only by what was mended.
#[derive(Debug)]
pub struct Line {
    /// `4.1`.
    pub name: &'static str,
    /// The release whose files are in [`Line::lock`]: the newest when the folder was made.
    pub pinned: &'static str,
    /// SHA-256, bytes and place of each file of that release, a line each.
    pub lock: &'static str,
    /// Settings, as the crate's documentation says.
    pub(crate) settings: &'static str,
    /// Settings that are guardrails, a line each: they bind ordinary users, and nobody who is a
    /// superuser.
    pub(crate) guardrails: &'static str,
    /// The releases that there were when the folder was made, a line each, the oldest first.
    pub(crate) releases: &'static str,
    /// What its files of settings say, where that is known.
    pub(crate) presets: Option<Presets>,
    /// Classes that a study may name of which not every line has each: of memtables, compactions,
    /// compression and indexes.
    pub(crate) classes: &'static [&'static str],
    /// Settings that went without a successor of the same meaning, and what to do instead.
    pub(crate) gone: &'static [(&'static str, &'static str)],
    /// Major versions of Java that its makers run it on.
    pub java_supported: &'static [u32],
    /// Those that it is known to start on with our options.
    pub java_seen: &'static [u32],
    /// The letters in its SSTables' names.
    pub formats: Formats,
    /// Whether a node comes up without the agent that measures objects: what older lines do instead
    /// fails on the hidden classes that Java has since 15.
    pub starts_without_jamm: bool,
    /// Whether nodes agree on a log of the cluster's metadata with an epoch
    /// (`system_views.cluster_metadata_log`), instead of telling each other of the ring.
    pub has_cluster_metadata: bool,
    /// Whether nodes show their metrics as tables (`system_metrics`), so that CQL is enough to read
    /// them.
    pub has_metric_tables: bool,
    /// Whether nodes show their snapshots as a table (`system_views.snapshots`).
    pub has_snapshot_table: bool,
}

/// What files of settings say that come with a line, as far as a server without a file does
/// otherwise: not addresses, folders, who may connect and where nodes are. JSON objects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Presets {
    /// Of `conf/cassandra.yaml`.
    pub shipped: &'static str,
    /// Of `conf/cassandra_latest.yaml`.
    pub latest: &'static str,
}

/// Formats of SSTables by the letters in their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formats {
    /// The newest of the format that has been there since the beginning, `big`.
    pub big: &'static str,
    /// The newest of that with tries for an index, `bti`, if the line has it.
    pub bti: Option<&'static str>,
}

/// The oldest of `big` that all lines read: of Cassandra 3.0.
pub const BIG_OLDEST: &str = "ma";

/// The oldest of `bti` that those lines read which have it.
pub const BTI_OLDEST: &str = "da";

/// Whether letters are of `bti`: `da` and what comes after it, before those of `big`.
pub fn is_trie(letters: &str) -> bool {
    matches!(letters.as_bytes().first(), Some(b'd'..=b'l'))
}

impl Line {
    /// The letters of the files that a node of this line writes, by its settings: 5.0 writes what
    /// 4.0 and 4.1 write until `storage_compatibility_mode` says otherwise. Seen in the names of
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

/// The newest of `big` that 4.0 and 4.1 write.
const BIG_OF_4: &str = "nb";

/// The newest of `big` that 5.0 writes.
const BIG_OF_5: &str = "oa";

impl Formats {
    /// Whether files whose names have these letters are read.
    pub fn reads(&self, letters: &str) -> bool {
        if is_trie(letters) {
            self.bti.is_some_and(|bti| (BTI_OLDEST..=bti).contains(&letters))
        } else {
            (BIG_OLDEST..=self.big).contains(&letters)
        }
    }

    /// Which are read, for sentences: `ma to oa, and da to da`.
    pub fn said(&self) -> String {
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
            Line::of(line).unwrap().written_format(&yaml)
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
