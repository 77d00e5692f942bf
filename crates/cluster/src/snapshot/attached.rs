//! Snapshots of an attached cluster, which are the server's own snapshots in its own folders.
//!
//! cassay cannot access the files of these snapshots. So their names contain the expected result of
//! a restore. Each table on each node has a snapshot with the name
//! `cassay-NAME-COUNT-BYTES[-LEVELS]`, for example `cassay-loaded-12-704512331-0_4_8`. Any command
//! on any machine can then restore the snapshot and verify the result.
//!
//! The cluster belongs to another user. So cassay does not change its hints and caches (the server
//! ignores hints older than a TRUNCATE). Compactions that an administrator has disabled remain
//! disabled.

use super::{NodeSnapshot, RestoreHow, RestoreResult, Snapshot, online};
use crate::attach::AttachedControl;
use crate::cluster::Cluster;
use anyhow::{Context, Result, anyhow, bail, ensure};
use cassandra::owner_commands::Act;
use cassandra::snapshot::table_definitions::{self, Tables};
use cassandra::{Fingerprint, Jolokia, Metrics, NodeInfo, Session, TableLayout, mbeans};
use measure::clock;
use std::collections::BTreeMap;
use std::sync::PoisonError;
use versions::Release;

/// Prefix of cassay's snapshot names on a server.
const OURS: &str = "cassay-";

/// Number of attempts to take a snapshot of a table that changes meanwhile.
const ATTEMPTS_COUNT: usize = 3;

struct AttachedNode<'a> {
    name: &'a str,
    info: &'a NodeInfo,
    agent: &'a Jolokia,
    /// Data folders, as the node reports them.
    folders: Vec<String>,
}

/// Name of a server snapshot, and the layout of the table after a restore.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Tag {
    name: String,
    layout: TableLayout,
}

impl Tag {
    fn text(&self) -> String {
        let TableLayout {
            sstables,
            bytes,
            levels,
            ..
        } = &self.layout;
        let text = format!("{OURS}{}-{sstables}-{bytes}", self.name);
        match levels {
            None => text,
            Some(levels) => {
                let levels: Vec<String> = levels.iter().map(u64::to_string).collect();
                format!("{text}-{}", levels.join("_"))
            }
        }
    }

    /// Parses a snapshot name. Returns `None` for snapshots of others. NAME may contain dashes, but
    /// the other fields do not. The field for the levels contains underscores, unlike the field for
    /// the bytes.
    fn parse(text: &str) -> Option<Tag> {
        let mut rest = text.strip_prefix(OURS)?;
        let mut levels = None;
        if let Some((before, last)) = rest.rsplit_once('-').filter(|(_, last)| last.contains('_')) {
            let numbers: Option<Vec<u64>> = last.split('_').map(|n| n.parse().ok()).collect();
            levels = Some(numbers?);
            rest = before;
        }
        let (rest, bytes) = rest.rsplit_once('-')?;
        let (name, sstables) = rest.rsplit_once('-')?;
        let layout = TableLayout {
            sstables: sstables.parse().ok()?,
            bytes: bytes.parse().ok()?,
            levels,
            identities: None,
        };
        (!name.is_empty()).then(|| Tag {
            name: name.to_string(),
            layout,
        })
    }
}

/// Table's snapshot that cassay created, as a node lists it.
struct Row {
    tag: Tag,
    keyspace: String,
    table: String,
    created_unix_ns: u64,
}

/// Returns all nodes with their Jolokia agents.
///
/// # Errors
/// The Jolokia agents are not accessible. The message contains the missing access.
fn nodes(cluster: &Cluster) -> Result<(&AttachedControl, Vec<AttachedNode<'_>>)> {
    let attached = cluster
        .attached()
        .context("cassay started this cluster, so it is not an attached cluster")?;
    let agents = cluster.agents().context(
        "snapshots of an attached cluster need access to a Jolokia agent in each node: add \
         `jolokia` to the target's `attach`, or load the data again",
    )?;
    let of = |((name, agent), info)| -> Result<AttachedNode<'_>> {
        let folders = mbeans::data_folders(agent).with_context(|| format!("ask {name}"))?;
        Ok(AttachedNode {
            name,
            info,
            agent,
            folders,
        })
    };
    let nodes: Result<_> = agents.into_iter().zip(cluster.nodes()).map(of).collect();
    Ok((attached, nodes?))
}

/// Returns cassay's snapshots on each node, in node order. Reads the node's table of snapshots, or
/// its MBean in releases without this table. Only the table contains creation times.
///
/// # Errors
/// A node does not answer, or this user may not read the table.
fn rows_of_all(cluster: &Cluster, nodes: &[AttachedNode<'_>]) -> Result<Vec<Vec<Row>>> {
    let of = |node: &AttachedNode<'_>| {
        let has_table = Release::built(&node.info.version)
            .is_some_and(|release| release.line().has_snapshot_table);
        let found = if has_table {
            rows_of_table(&mut cluster.session_to(node.info)?)
        } else {
            rows_of_mbean(node.agent)
        };
        found.with_context(|| format!("request the snapshots of {}", node.name))
    };
    nodes.iter().map(of).collect()
}

fn rows_of_table(session: &mut Session) -> Result<Vec<Row>> {
    const QUERY: &str =
        "SELECT name, keyspace_name, table_name, created_at FROM system_views.snapshots";
    let found = session.query(QUERY).context("read system_views.snapshots")?;
    let row = |row: &Vec<cql::Value>| -> Option<Row> {
        let text = |index: usize| row.get(index)?.as_str().map(str::to_string);
        let created_ms = row.get(3)?.as_i64().unwrap_or(0);
        Some(Row {
            tag: Tag::parse(&text(0)?)?,
            keyspace: text(1)?,
            table: text(2)?,
            created_unix_ns: u64::try_from(created_ms).unwrap_or(0) * clock::MILLISECOND_NS,
        })
    };
    Ok(found.rows.iter().filter_map(row).collect())
}

fn rows_of_mbean(agent: &Jolokia) -> Result<Vec<Row>> {
    let row = |found: mbeans::SnapshotOfTable| {
        Some(Row {
            tag: Tag::parse(&found.snapshot)?,
            keyspace: found.keyspace,
            table: found.table,
            created_unix_ns: 0,
        })
    };
    Ok(mbeans::snapshots(agent)?.into_iter().filter_map(row).collect())
}

pub(crate) fn create(
    cluster: &Cluster,
    name: &str,
    keyspace: &str,
    tables: &[&str],
    say: &mut dyn FnMut(&str),
) -> Result<Snapshot> {
    let (attached, nodes) = nodes(cluster)?;
    let mut session = cluster.session()?;
    let tables = table_definitions::tables(&mut session, keyspace, tables)?;
    table_definitions::refuse_views(&mut session, keyspace, &tables)?;
    let is_taken = |row: &Row| row.tag.name == name;
    if rows_of_all(cluster, &nodes)?.iter().flatten().any(is_taken) {
        bail!("a snapshot {name} already exists: remove it first, or use another name");
    }
    say(&format!("saving {keyspace} as {name}"));
    for node in &nodes {
        for table in tables.keys() {
            create_on(attached, node, name, keyspace, table)
                .with_context(|| format!("save {keyspace}.{table} on {}", node.name))?;
        }
    }
    let made = list(cluster)?.into_iter().find(|one| one.name == name);
    made.with_context(|| {
        format!("the nodes created the snapshot {name}, but do not list it among their snapshots")
    })
}

/// Takes a snapshot of a table, under a name that describes the table's content.
fn create_on(
    attached: &AttachedControl,
    node: &AttachedNode<'_>,
    name: &str,
    keyspace: &str,
    table: &str,
) -> Result<()> {
    mbeans::flush(node.agent, keyspace, &[table])?;
    for _ in 0..ATTEMPTS_COUNT {
        let layout = layout_of(node.agent, keyspace, table)?;
        let tag = Tag {
            name: name.to_string(),
            layout,
        };
        let act = Act::Snapshot(tag.text());
        let given = attached.tell(act, keyspace, &[(node.info.address, vec![table])])?;
        if layout_of(node.agent, keyspace, table)? == tag.layout {
            let mut known = attached.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
            known.insert((node.name.to_owned(), tag.text()), given);
            return Ok(());
        }
        given.take_back()?;
    }
    bail!(
        "the SSTables of the table change continuously: stop the programs that write to the table, \
         and let its compactions end first"
    )
}

pub(crate) fn list(cluster: &Cluster) -> Result<Vec<Snapshot>> {
    let (_, nodes) = nodes(cluster)?;
    let rows = rows_of_all(cluster, &nodes)?;
    let mut snapshots: BTreeMap<String, Snapshot> = BTreeMap::new();
    for (info, rows) in cluster.nodes().iter().zip(&rows) {
        let mut parts: BTreeMap<&str, (&Row, Fingerprint)> = BTreeMap::new();
        for row in rows {
            let part = parts.entry(&row.tag.name);
            let (_, part) = part.or_insert_with(|| (row, Fingerprint::default()));
            part.tables.insert(row.table.clone(), row.tag.layout.clone());
        }
        for (name, (row, part)) in parts {
            let snapshot = snapshots.entry(name.to_string()).or_insert_with(|| Snapshot {
                name: name.to_string(),
                keyspace: row.keyspace.clone(),
                tables: part.tables.keys().cloned().collect(),
                created_unix_ns: row.created_unix_ns,
                schema: Vec::new(),
                nodes: Vec::new(),
            });
            snapshot.nodes.push(NodeSnapshot {
                node: info.name.clone(),
                sstables: part.sstables(),
                files: 0,
                bytes: part.bytes(),
                fingerprint: part.to_string(),
            });
        }
    }
    let mut whole: Vec<Snapshot> = snapshots.into_values().collect();
    whole.retain(|snapshot| snapshot.nodes.len() == rows.len());
    Ok(whole)
}

pub(crate) fn restore(
    cluster: &mut Cluster,
    name: &str,
    say: &mut dyn FnMut(&str),
) -> Result<RestoreResult> {
    let began_ns = clock::now_ns();
    let (attached, nodes) = nodes(cluster)?;
    let rows = rows_of_all(cluster, &nodes)?;
    let mut parts: Vec<BTreeMap<&str, &Row>> = Vec::new();
    for (node, rows) in nodes.iter().zip(&rows) {
        let of_name = rows.iter().filter(|row| row.tag.name == name);
        let part: BTreeMap<&str, &Row> = of_name.map(|row| (row.table.as_str(), row)).collect();
        ensure!(!part.is_empty(), "{} has no snapshot {name}", node.name);
        parts.push(part);
    }
    let first = parts.first().and_then(|part| part.values().next());
    let keyspace = first.context("the cluster has no node")?.keyspace.as_str();
    let names: Vec<&str> = parts[0].keys().copied().collect();
    for node in &nodes {
        check_ring(node)?;
    }
    let address = cluster.nodes()[0].address;
    let mut session = Session::open(address, cluster.access(), online::TRUNCATE_LIMIT)?;
    let tables = table_definitions::tables(&mut session, keyspace, &names)?;
    for table in tables.keys() {
        session.may_send(&online::truncate_statement(keyspace, table))?;
    }
    let allowed = table_definitions::compacting(&mut session, keyspace, &names)?;
    say(&format!(
        "cassay restores {keyspace} from {name} (TRUNCATE and import)"
    ));
    let mut switched = Vec::new();
    for node in &nodes {
        // Compactions that an administrator has disabled must remain disabled.
        let disabled = mbeans::disabled(node.agent, keyspace, &names)?;
        let mut ours: Vec<&str> = allowed.iter().map(String::as_str).collect();
        ours.retain(|table| !disabled.contains(table));
        switched.push((node.info.address, ours));
    }
    let off = attached
        .tell(Act::NoCompactions, keyspace, &switched)
        .context("disable compactions")?;
    let swapped = swap(&nodes, &parts, &mut session, keyspace, &tables)
        .map_err(|error| online::unfinished(&error, keyspace, name, &[], ""));
    let enabled = off.take_back().context("enable compactions again");
    let (truncate_s, import_s) = swapped.with_context(|| format!("restore {name}"))?;
    enabled?;
    let wanted: Vec<Fingerprint> = parts.iter().map(|part| fingerprint_of(part)).collect();
    let named = nodes.iter().map(|node| node.name.to_string());
    Ok(RestoreResult {
        how: RestoreHow::Online,
        seconds: online::seconds_since(began_ns),
        truncate_s,
        import_s,
        sstables: wanted.iter().map(Fingerprint::sstables).sum(),
        bytes: wanted.iter().map(Fingerprint::bytes).sum(),
        fingerprints: named.zip(wanted.iter().map(ToString::to_string)).collect(),
    })
}

/// Returns the expected fingerprint of a node after the restore of its part.
fn fingerprint_of(part: &BTreeMap<&str, &Row>) -> Fingerprint {
    let layout = |(table, row): (&&str, &&Row)| (table.to_string(), row.tag.layout.clone());
    Fingerprint {
        tables: part.iter().map(layout).collect(),
    }
}

fn check_ring(node: &AttachedNode<'_>) -> Result<()> {
    let (_, unreachable) =
        mbeans::ring(node.agent).with_context(|| format!("request the ring from {}", node.name))?;
    if !unreachable.is_empty() {
        bail!(
            "{} cannot reach {}: TRUNCATE needs every node of the ring; wait until all are up",
            node.name,
            unreachable.join(", ")
        );
    }
    Ok(())
}

/// Truncates the tables and imports the snapshot on one node after the other. Returns the durations
/// of TRUNCATE and of the import, in seconds.
fn swap(
    nodes: &[AttachedNode<'_>],
    parts: &[BTreeMap<&str, &Row>],
    session: &mut Session,
    keyspace: &str,
    tables: &Tables,
) -> Result<(f64, f64)> {
    let began_ns = clock::now_ns();
    online::truncate(session, keyspace, tables)?;
    let truncate_s = online::seconds_since(began_ns);
    let began_ns = clock::now_ns();
    for (node, part) in nodes.iter().zip(parts) {
        for (table, row) in part {
            let id = tables
                .get(*table)
                .context("a row of system_schema.tables contains no table id")?;
            import(node, row, id)
                .with_context(|| format!("import {keyspace}.{table} on {}", node.name))?;
        }
    }
    let import_s = online::seconds_since(began_ns);
    for (node, part) in nodes.iter().zip(parts) {
        let found = fingerprint(node.agent, keyspace, tables)?;
        if let Some(difference) = found.difference(&fingerprint_of(part)) {
            bail!(
                "after the restore, the data on {} is wrong: {difference}. Do not measure this \
                 data",
                node.name
            );
        }
    }
    Ok((truncate_s, import_s))
}

/// Imports a table's snapshot from the server's own folders.
fn import(node: &AttachedNode<'_>, row: &Row, id: &str) -> Result<()> {
    let (keyspace, table) = (row.keyspace.as_str(), row.table.as_str());
    let (count, _) = Metrics::from(node.agent).live_sstables(keyspace, table)?;
    ensure!(
        count == 0,
        "the table has {count} SSTables after TRUNCATE, so cassay imported nothing: another client \
         writes to the table. Stop that client and restore again"
    );
    if row.tag.layout.sstables == 0 {
        return Ok(());
    }
    let tag = row.tag.text();
    let mut failures = Vec::new();
    for folder in &node.folders {
        // Only the data folders that had SSTables of the table contain its snapshot.
        let path = format!("{folder}/{keyspace}/{table}-{id}/snapshots/{tag}").replace("//", "/");
        if let Err(error) = mbeans::import(node.agent, &node.info.version, keyspace, table, &path) {
            failures.push(error);
        }
    }
    if failures.len() < node.folders.len() {
        return Ok(());
    }
    let failure = failures.into_iter().next();
    Err(failure.unwrap_or_else(|| anyhow!("the node has no data folder")).context(
        "hint: if another user has dropped the table and created it again, the snapshot is in the \
         folder of the old table id, which cassay cannot reach",
    ))
}

pub(crate) fn remove(cluster: &Cluster, name: &str) -> Result<()> {
    let mut found = false;
    let (attached, nodes) = nodes(cluster)?;
    for (node, rows) in nodes.iter().zip(rows_of_all(cluster, &nodes)?) {
        for row in rows.iter().filter(|row| row.tag.name == name) {
            found = true;
            let tag = row.tag.text();
            let mut known = attached.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
            let cleared = match known.remove(&(node.name.to_owned(), tag.clone())) {
                Some(given) => given.take_back(),
                None => mbeans::clear_snapshot(node.agent, &tag, &row.keyspace),
            };
            cleared.with_context(|| node.name.to_string())?;
        }
    }
    ensure!(found, "no node has a snapshot {name}");
    Ok(())
}

pub(crate) fn fingerprints(
    cluster: &Cluster,
    keyspace: &str,
    tables: &Tables,
) -> Result<BTreeMap<String, Fingerprint>> {
    let of_node = |node: AttachedNode<'_>| {
        let found = fingerprint(node.agent, keyspace, tables)
            .with_context(|| format!("read the tables of {}", node.name))?;
        Ok((node.name.to_string(), found))
    };
    let (_, nodes) = nodes(cluster)?;
    nodes.into_iter().map(of_node).collect()
}

/// Returns the layout of a node's tables according to the server's counts.
fn fingerprint(agent: &Jolokia, keyspace: &str, tables: &Tables) -> Result<Fingerprint> {
    let layout = |table: &String| Ok((table.clone(), layout_of(agent, keyspace, table)?));
    let layouts: Result<_> = tables.keys().map(layout).collect();
    Ok(Fingerprint { tables: layouts? })
}

fn layout_of(agent: &Jolokia, keyspace: &str, table: &str) -> Result<TableLayout> {
    let levels = mbeans::levels(agent, keyspace, &[table])?.into_iter().next().flatten();
    let (sstables, bytes) = Metrics::from(agent).live_sstables(keyspace, table)?;
    Ok(TableLayout {
        sstables,
        bytes,
        levels,
        identities: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_on_the_server_says_what_a_restore_must_lead_to() {
        let tag = |name: &str, levels: Option<Vec<u64>>| Tag {
            name: name.to_string(),
            layout: TableLayout {
                sstables: 12,
                bytes: 704_512_331,
                levels,
                identities: None,
            },
        };
        let cases = [
            (tag("loaded", None), "cassay-loaded-12-704512331"),
            (tag("a-1-2", None), "cassay-a-1-2-12-704512331"),
            (
                tag("loaded", Some(vec![0, 4, 8])),
                "cassay-loaded-12-704512331-0_4_8",
            ),
            (tag("x_y", Some(vec![0, 0])), "cassay-x_y-12-704512331-0_0"),
        ];
        for (tag, text) in cases {
            assert_eq!(tag.text(), text);
            assert_eq!(Tag::parse(text), Some(tag), "{text}");
        }
        for other in [
            "",
            "daily",
            "cassay-",
            "cassay-loaded",
            "cassay-a-b-c",
            "cassay--1-2",
        ] {
            assert_eq!(Tag::parse(other), None, "{other}");
        }
    }
}
