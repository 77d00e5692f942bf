//! Records that are missing from a run. The run lists them, so that a reader knows that they do not
//! exist.

use serde::{Deserialize, Serialize};

measure::word_enum! {
    /// Kind of a missing record.
    #[derive(Default)]
    pub enum GapKind {
        /// The logs of a node.
        #[default]
        Logs = "logs",
        /// Readings of the probes on a node's host, from the moment when cassay lost the host.
        Readings = "readings",
    }
}

/// A missing record of a node, with the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GapRecord {
    /// Kind of the record: `logs` or `readings`.
    pub what: GapKind,
    /// Name of the node.
    pub node: String,
    /// Name of the host of the node.
    #[serde(default)]
    pub host: String,
    /// Reason why the record is missing.
    #[serde(default)]
    pub why: String,
    /// Time at which cassay detected the loss, ns since 1970.
    #[serde(default)]
    pub found_unix_ns: u64,
}

impl GapRecord {
    /// Describes the gap, such as `the logs of node2 on db2 are lost: …`.
    pub fn words(&self) -> String {
        let what = match self.what {
            GapKind::Logs => "the logs of",
            GapKind::Readings => "the readings of",
        };
        let (node, host, why) = (&self.node, &self.host, &self.why);
        format!("{what} {node} on {host} are lost: {why}")
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
