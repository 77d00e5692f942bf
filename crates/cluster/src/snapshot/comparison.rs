//! Comparison of a snapshot with restored or imported data: fingerprints, and numbers that show the
//! size of differences.

use cassandra::snapshot::contents::{NodeContents, TableContents};

/// Comparison of original and current data, with a row for each node and table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Rows, in the order of nodes and tables.
    pub rows: Vec<ComparedTable>,
    /// Name of each node, with its original fingerprint and its current fingerprint.
    pub fingerprints: Vec<(String, String, String)>,
}

/// Original and current contents of a table on one node.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedTable {
    /// Node that has the table now.
    pub node: String,
    /// Name of the table.
    pub table: String,
    /// Original contents of the table.
    pub was: TableContents,
    /// Current contents of the table.
    pub is: TableContents,
}

/// Fingerprint and contents of a node.
pub(super) type Side = (String, NodeContents);

impl Comparison {
    /// Compares the original data of each node with its current data. Each item of `nodes` contains
    /// the name of the node, the original data and the current data.
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

    /// Returns true if all fingerprints and numbers are equal.
    pub fn is_equal(&self) -> bool {
        let prints = self.fingerprints.iter().all(|(_, was, is)| was == is);
        prints && self.rows.iter().all(|row| row.was == row.is)
    }
}
