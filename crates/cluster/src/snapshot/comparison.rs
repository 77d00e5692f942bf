//! Comparison of a snapshot with restored or imported data by fingerprints and sizes.

use cassandra::snapshot::contents::{NodeContents, TableContents};

/// Comparison of original and current data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// One row for each node and table.
    pub rows: Vec<ComparedTable>,
    /// Name, original fingerprint and current fingerprint of each node.
    pub fingerprints: Vec<(String, String, String)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ComparedTable {
    /// Node that has the table now.
    pub node: String,
    pub table: String,
    /// Original contents.
    pub was: TableContents,
    /// Current contents.
    pub is: TableContents,
}

/// Fingerprint and contents of a node.
pub(super) type Side = (String, NodeContents);

impl Comparison {
    /// Compares data of nodes. Each item contains the node's name, the original data and the
    /// current data.
    pub(super) fn new(nodes: impl Iterator<Item = (String, Side, Side)>) -> Comparison {
        let mut all = Comparison::default();
        for (node, (was_print, was), (is_print, is)) in nodes {
            for (table, was) in was {
                let is = is.get(&table).cloned().unwrap_or_default();
                all.rows.push(ComparedTable {
                    node: node.clone(),
                    table,
                    was,
                    is,
                });
            }
            all.fingerprints.push((node, was_print, is_print));
        }
        all
    }

    pub fn is_equal(&self) -> bool {
        let prints = self.fingerprints.iter().all(|(_, was, is)| was == is);
        prints && self.rows.iter().all(|row| row.was == row.is)
    }
}
