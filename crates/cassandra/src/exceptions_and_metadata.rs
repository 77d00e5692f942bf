//! Compares two reports of the nodes: their uncaught exceptions, and the cluster's metadata (schema
//! and ring).
//!
//! A node counts exceptions from its start. Since 6.0, a virtual table lists the exceptions by
//! class and location. Older nodes have only a metric with the total count. A node of 6.0
//! identifies its metadata by an epoch, and keeps a log of changes. Older nodes have only a schema
//! version.

use crate::mbeans::METRICS;
use crate::node::Node;
use crate::session::Session;
use anyhow::{Context, Result};
use cql::Value;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelfReport {
    /// Number of uncaught exceptions of each kind since the start of the node. Nodes that do not
    /// report exceptions are absent.
    exceptions: BTreeMap<String, BTreeMap<Exception, u64>>,
    /// Metadata according to the first node that answers.
    metadata: Option<Metadata>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Exception {
    /// Class and location of the exception. Empty if the node reports only a total count.
    name: String,
    /// Message of the most recent exception of this kind.
    message: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Metadata {
    schema: String,
    log: BTreeMap<i64, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportedChanges {
    /// One sentence for each kind of new uncaught exception. `None` if no node reports exceptions.
    pub exceptions: Option<Vec<String>>,
    /// One sentence about the changes of the metadata. Empty if nothing changed.
    pub metadata: Vec<String>,
}

const MESSAGE_CHARS_SHOWN: usize = 160;

fn exceptions(node: &Node<'_>, session: Option<&mut Session>) -> Option<BTreeMap<Exception, u64>> {
    let table = session.and_then(|session| by_table(session).ok().flatten());
    table.or_else(|| {
        let mbean = format!("{METRICS}:type=Storage,name=Exceptions");
        let answers = node.metrics().ok()?.read(&[(&mbean, "Count")]).ok()?;
        let count = answers.first()?.as_ref()?.as_u64()?;
        Some(BTreeMap::from([(Exception::default(), count)]))
    })
}

fn by_table(session: &mut Session) -> Result<Option<BTreeMap<Exception, u64>>> {
    let asked = "SELECT exception_class, exception_location, count, last_message FROM \
                 system_views.uncaught_exceptions";
    let Some(found) = session.query_if_shown(asked)? else {
        return Ok(None);
    };
    let row = |row: &Vec<Value>| {
        let text = |index: usize| row.get(index).and_then(Value::as_str).unwrap_or_default();
        let count = row.get(2).and_then(Value::as_i64).unwrap_or_default();
        let exception = Exception {
            name: match text(1) {
                "" => text(0).to_owned(),
                place => format!("{} at {place}", text(0)),
            },
            message: text(3).chars().take(MESSAGE_CHARS_SHOWN).collect(),
        };
        (exception, u64::try_from(count).unwrap_or_default())
    };
    Ok(Some(found.rows.iter().map(row).collect()))
}

fn metadata(session: &mut Session) -> Result<Metadata> {
    let local = session.query("SELECT schema_version FROM system.local")?;
    let schema = local.rows.first().and_then(|row| row.first());
    let log = session
        .query_if_shown("SELECT epoch, kind FROM system_views.cluster_metadata_log")?
        .unwrap_or_default();
    let entry = |row: &Vec<Value>| {
        let kind = row.get(1)?.as_str()?;
        Some((row.first()?.as_i64()?, kind.to_owned()))
    };
    Ok(Metadata {
        schema: schema
            .context("the node does not report the version of its schema")?
            .to_string(),
        log: log.rows.iter().filter_map(entry).collect(),
    })
}

impl SelfReport {
    /// Adds the report of a node. Keeps the metadata of the first node that reports metadata.
    pub fn add(&mut self, node: &Node<'_>) {
        let mut session = node.session().ok();
        if let Some(exceptions) = exceptions(node, session.as_mut()) {
            self.exceptions.insert(node.name().to_owned(), exceptions);
        }
        if self.metadata.is_none() {
            self.metadata = session.and_then(|mut session| metadata(&mut session).ok());
        }
    }

    pub fn since(&self, before: &SelfReport) -> ReportedChanges {
        let told: Vec<String> = self
            .exceptions
            .iter()
            .flat_map(|(node, after)| {
                let known = before.exceptions.get(node);
                after.iter().filter_map(move |(exception, count)| {
                    let new = new_of(exception, *count, known);
                    (new > 0).then(|| format!("{node}: {new} of {exception}"))
                })
            })
            .collect();
        let metadata = before.metadata.as_ref().zip(self.metadata.as_ref());
        ReportedChanges {
            exceptions: (!self.exceptions.is_empty()).then_some(told),
            metadata: metadata
                .and_then(|(before, after)| after.since(before))
                .into_iter()
                .collect(),
        }
    }
}

/// Returns the number of new exceptions of a kind. The count starts at zero when a node restarts.
fn new_of(exception: &Exception, count: u64, known: Option<&BTreeMap<Exception, u64>>) -> u64 {
    // Only the names are compared, because each occurrence may have a different message.
    let same = |(one, _): &(&Exception, &u64)| one.name == exception.name;
    let before = known.and_then(|known| known.iter().find(same)).map_or(0, |(_, count)| *count);
    if count < before {
        count
    } else {
        count - before
    }
}

impl std::fmt::Display for Exception {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.name.as_str(), self.message.as_str()) {
            ("", _) => f.write_str("an unknown type (see the log of the node)"),
            (name, "") => f.write_str(name),
            (name, message) => write!(f, "{name} ({message})"),
        }
    }
}

impl Metadata {
    fn since(&self, before: &Metadata) -> Option<String> {
        let epoch = |metadata: &Metadata| metadata.log.keys().next_back().copied();
        if let (Some(was), Some(is)) = (epoch(before), epoch(self)) {
            let new = self.log.range(was + 1..);
            let words: Vec<String> =
                new.map(|(epoch, kind)| format!("epoch {epoch}: {kind}")).collect();
            let between = || format!("from epoch {was} to {is}");
            let told = if words.is_empty() {
                between()
            } else {
                words.join(", ")
            };
            return (is != was).then_some(told);
        }
        let (was, is) = (&before.schema, &self.schema);
        (was != is).then(|| format!("the schema, from version {was} to {is}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exceptions(of: &[(&str, &str, u64)]) -> BTreeMap<Exception, u64> {
        let one = |(name, message, count): &(&str, &str, u64)| {
            let (name, message) = ((*name).to_owned(), (*message).to_owned());
            (Exception { name, message }, *count)
        };
        of.iter().map(one).collect()
    }

    fn report(
        nodes: &[(&str, BTreeMap<Exception, u64>)],
        metadata: Option<Metadata>,
    ) -> SelfReport {
        let node = |(name, of): &(&str, BTreeMap<Exception, u64>)| ((*name).to_owned(), of.clone());
        SelfReport {
            exceptions: nodes.iter().map(node).collect(),
            metadata,
        }
    }

    #[test]
    fn only_new_exceptions_are_told_and_a_restart_begins_anew() {
        let before = report(
            &[
                ("node1", exceptions(&[("A at x", "old words", 2)])),
                ("node2", exceptions(&[("", "", 9)])),
            ],
            None,
        );
        let after = report(
            &[
                (
                    "node1",
                    exceptions(&[("A at x", "new words", 3), ("B at y", "", 1)]),
                ),
                ("node2", exceptions(&[("", "", 4)])),
            ],
            None,
        );
        assert_eq!(
            after.since(&before).exceptions.unwrap(),
            [
                "node1: 1 of A at x (new words)",
                "node1: 1 of B at y",
                "node2: 4 of an unknown type (see the log of the node)"
            ]
        );
        assert_eq!(after.since(&after).exceptions, Some(Vec::new()));
        assert_eq!(SelfReport::default().since(&after).exceptions, None);
    }

    #[test]
    fn metadata_is_told_by_epochs_or_by_the_version_of_the_schema() {
        let metadata = |schema: &str, log: &[(i64, &str)]| {
            let log = log.iter().map(|(epoch, kind)| (*epoch, (*kind).to_owned())).collect();
            let schema = schema.to_owned();
            report(&[], Some(Metadata { schema, log }))
        };
        let was = metadata("a", &[(2, "JOIN"), (3, "SCHEMA_CHANGE")]);
        let is = metadata(
            "b",
            &[(3, "SCHEMA_CHANGE"), (4, "SCHEMA_CHANGE"), (5, "LEAVE")],
        );
        assert_eq!(
            is.since(&was).metadata,
            ["epoch 4: SCHEMA_CHANGE, epoch 5: LEAVE"]
        );
        assert_eq!(was.since(&was).metadata, Vec::<String>::new());
        let (old, new) = (metadata("a", &[]), metadata("b", &[]));
        assert_eq!(
            new.since(&old).metadata,
            ["the schema, from version a to b"]
        );
        assert_eq!(
            old.since(&SelfReport::default()).metadata,
            Vec::<String>::new()
        );
    }
}
