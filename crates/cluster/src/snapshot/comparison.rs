//! What a snapshot has, beside what came of it: equal by fingerprint, and in which numbers not.

use super::contents::{NodeContents, TableContents};

/// What was put away or exported beside what is here, a row for each node and table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// In the order of nodes and tables.
    pub rows: Vec<ComparedTable>,
    /// The nodes, each with both fingerprints: as it was, as it is.
    pub fingerprints: Vec<(String, String, String)>,
}

/// A table of one node on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedTable {
    /// The node that has it now.
    pub node: String,
    /// The table.
    pub table: String,
    /// As it was.
    pub was: TableContents,
    /// As it is.
    pub is: TableContents,
}

/// A fingerprint and what is behind it.
pub(super) type Side = (String, NodeContents);

impl Comparison {
    /// Of nodes, each as it was and as it is.
    pub(super) fn of(nodes: impl Iterator<Item = (String, Side, Side)>) -> Comparison {
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

    /// Whether every fingerprint and every number is the same.
    pub fn is_equal(&self) -> bool {
        let prints = self.fingerprints.iter().all(|(_, was, is)| was == is);
        prints && self.rows.iter().all(|row| row.was == row.is)
    }
}
