//! What should be on record of a run and is not: named, so that nobody takes it for there.

use serde::{Deserialize, Serialize};

measure::word_enum! {
    /// A sort of file that cannot be had.
    #[derive(Default)]
    pub enum GapKind {
        /// The logs of a node.
        #[default]
        Logs = "logs",
        /// What probes on a node's host have read since it was lost.
        Readings = "readings",
    }
}

/// Something of a node that is not here, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GapRecord {
    /// What is missing: `logs` or `readings`.
    pub what: GapKind,
    /// The node.
    pub node: String,
    /// The host that it was on.
    #[serde(default)]
    pub host: String,
    /// Why it is missing.
    #[serde(default)]
    pub why: String,
    /// When that was found, in nanoseconds since 1970.
    #[serde(default)]
    pub found_unix_ns: u64,
}

impl GapRecord {
    /// In words: `the logs of node2 on db2 are lost: …`.
    pub fn words(&self) -> String {
        let (what, verb) = match self.what {
            GapKind::Logs => ("the logs of", "are"),
            GapKind::Readings => ("what the host has seen of", "is"),
        };
        let (node, host, why) = (&self.node, &self.host, &self.why);
        format!("{what} {node} on {host} {verb} lost: {why}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_names_the_file_the_node_the_host_and_the_reason() {
        let gap = GapRecord {
            node: "node2".to_owned(),
            host: "db2".to_owned(),
            why: "the agent has ended".to_owned(),
            ..GapRecord::default()
        };
        assert_eq!(
            gap.words(),
            "the logs of node2 on db2 are lost: the agent has ended"
        );
        let text = serde_json::to_string(&gap).unwrap();
        assert!(text.contains("\"what\":\"logs\""), "{text}");
        assert_eq!(serde_json::from_str::<GapRecord>(&text).unwrap(), gap);
    }
}
