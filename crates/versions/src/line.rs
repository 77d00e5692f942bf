//! What a line of versions is.

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
