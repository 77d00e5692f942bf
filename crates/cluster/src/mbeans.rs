//! What cassay asks a node's MBeans to do with the tables of a keyspace: flush, snapshot, import,
//! compactions on and off.
//!
//! Operations that are overloaded are named with their signature; without it the agent refuses.

use crate::jolokia::{Bulk, Jolokia};
use anyhow::{Context, Result, bail};
use measure::clock::{self, Deadline};
use serde_json::{Value, json};
use std::time::Duration;

/// The domain of MBeans that are metrics.
pub(crate) const METRICS: &str = "org.apache.cassandra.metrics";

/// The MBean with what `nodetool` does.
pub(crate) const STORAGE: &str = "org.apache.cassandra.db:type=StorageService";

/// Writes the memtables of tables to disk; returns when they are there.
///
/// # Errors
/// The node does not answer, or refuses.
pub(crate) fn flush(agent: &Jolokia, keyspace: &str, tables: &[&str]) -> Result<()> {
    const OPERATION: &str = "forceKeyspaceFlush(java.lang.String,[Ljava.lang.String;)";
    of_tables(agent, OPERATION, keyspace, tables).with_context(|| format!("flush {keyspace}"))
}

/// Lets compactions of tables begin, and looks at once whether one is due. The node forgets it
/// when it is restarted.
///
/// # Errors
/// As [`flush`].
pub(crate) fn enable_compaction(agent: &Jolokia, keyspace: &str, tables: &[&str]) -> Result<()> {
    const OPERATION: &str = "enableAutoCompaction(java.lang.String,[Ljava.lang.String;)";
    of_tables(agent, OPERATION, keyspace, tables)
        .with_context(|| format!("enable the compactions of {keyspace}"))
}

/// Lets no compaction of tables begin; what runs goes on.
///
/// # Errors
/// As [`flush`].
pub(crate) fn disable_compaction(agent: &Jolokia, keyspace: &str, tables: &[&str]) -> Result<()> {
    const OPERATION: &str = "disableAutoCompaction(java.lang.String,[Ljava.lang.String;)";
    of_tables(agent, OPERATION, keyspace, tables)
        .with_context(|| format!("disable the compactions of {keyspace}"))
}

fn of_tables(agent: &Jolokia, operation: &str, keyspace: &str, tables: &[&str]) -> Result<()> {
    if tables.is_empty() {
        // An empty list would mean all tables of the keyspace.
        return Ok(());
    }
    let arguments = [json!(keyspace), json!(tables)];
    agent.call(STORAGE, operation, &arguments).map(drop)
}

/// Makes the server's own snapshot `tag` of tables: hard links in the tables' folders.
///
/// # Errors
/// As [`flush`]; there is one of this name already.
pub(crate) fn take_snapshot(
    agent: &Jolokia,
    tag: &str,
    keyspace: &str,
    tables: &[&str],
) -> Result<()> {
    const OPERATION: &str = "takeSnapshot(java.lang.String,java.util.Map,[Ljava.lang.String;)";
    let entities: Vec<String> = tables.iter().map(|t| format!("{keyspace}.{t}")).collect();
    let arguments = [json!(tag), json!({"skipFlush": "false"}), json!(entities)];
    let taken = agent.call(STORAGE, OPERATION, &arguments);
    taken.map(drop).with_context(|| format!("take the snapshot {tag}"))
}

/// Removes the server's own snapshot `tag` of a keyspace; that there is none is fine.
///
/// # Errors
/// As [`flush`].
pub(crate) fn clear_snapshot(agent: &Jolokia, tag: &str, keyspace: &str) -> Result<()> {
    const OPERATION: &str = "clearSnapshot(java.lang.String,[Ljava.lang.String;)";
    if tag.is_empty() {
        bail!("a server that is asked to clear the snapshot without a name clears all of them");
    }
    let cleared = agent.call(STORAGE, OPERATION, &[json!(tag), json!([keyspace])]);
    cleared.map(drop).with_context(|| format!("clear the snapshot {tag}"))
}

/// A table's snapshot on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SnapshotOfTable {
    pub snapshot: String,
    pub keyspace: String,
    pub table: String,
}

/// All snapshots that a node has, of each table.
///
/// # Errors
/// The node does not answer.
pub(crate) fn snapshots(agent: &Jolokia) -> Result<Vec<SnapshotOfTable>> {
    // As trees they cannot be read: 4.1 has columns that are null in the key of its table of
    // snapshots, on which the agent breaks off in the middle of its answer.
    let asked = Bulk::of_entries_as_texts(&[(STORAGE, "SnapshotDetails")]);
    let mut answers = agent.read_bulk(&asked)?.into_iter().flatten();
    let details = answers.next().context("the node does not list its snapshots")?;
    let texts = details.as_object().into_iter().flatten().filter_map(|(_, text)| text.as_str());
    Ok(texts.flat_map(snapshots_in).collect())
}

/// The rows of a table of snapshots, as Java writes it: the cells of a row are in the order of
/// their names, and columns are more in newer releases.
fn snapshots_in(text: &str) -> Vec<SnapshotOfTable> {
    const FIRST_CELL: &str = "{Column family name=";
    let cell = |text: &str| text.split([',', '}']).next().map(str::to_owned);
    let row = |row: &str| {
        let named = |name: &str| cell(row.split_once(name)?.1);
        Some(SnapshotOfTable {
            snapshot: named(", Snapshot name=")?,
            keyspace: named(", Keyspace name=")?,
            table: cell(row)?,
        })
    };
    text.split(FIRST_CELL).skip(1).filter_map(row).collect()
}

/// Links the SSTables of a folder into a table, which must be empty: a server imports the same
/// SSTables any number of times, and doubles them.
///
/// Nothing is verified, moved or changed: levels and repair marks stay as they are, since
/// resetting them rewrites the files of the source.
///
/// # Errors
/// The folder is out of reach, or its SSTables are refused.
pub(crate) fn import(
    agent: &Jolokia,
    version: &str,
    keyspace: &str,
    table: &str,
    folder: &str,
) -> Result<()> {
    let mbean = tables_mbean(keyspace, table);
    // srcPaths, resetLevel, clearRepaired, verifySSTables, verifyTokens, invalidateCaches,
    // extendedVerify, copyData; since 5.0 also failOnMissingIndex, validateIndexChecksum.
    let flags = [false, false, false, false, true, false, true, false, false];
    let count = if version.starts_with("4.") { 7 } else { 9 };
    let operation = format!(
        "importNewSSTables(java.util.Set{})",
        ",boolean".repeat(count)
    );
    let mut arguments = vec![json!([folder])];
    arguments.extend(flags[..count].iter().map(|flag| json!(flag)));
    let context = || format!("import {folder} into {keyspace}.{table}");
    let refused = agent.call(&mbean, &operation, &arguments).with_context(context)?;
    match refused.as_array() {
        Some(folders) if folders.is_empty() => Ok(()),
        _ => bail!(
            "the node refused the SSTables of {folder} for {keyspace}.{table}: its log \
             (system.log) says why; check the snapshot with `verify`"
        ),
    }
}

/// SSTables per level of each table, where its compaction strategy has levels.
///
/// # Errors
/// The node does not answer.
pub(crate) fn levels(
    agent: &Jolokia,
    keyspace: &str,
    tables: &[&str],
) -> Result<Vec<Option<Vec<u64>>>> {
    let answers = attribute(agent, keyspace, tables, "SSTableCountPerLevel")?;
    let levels = |answer: Option<Value>| {
        let levels = answer?;
        levels.as_array()?.iter().map(Value::as_u64).collect()
    };
    Ok(answers.into_iter().map(levels).collect())
}

/// Which of the tables have their compactions disabled.
///
/// # Errors
/// The node does not answer.
pub(crate) fn disabled<'a>(
    agent: &Jolokia,
    keyspace: &str,
    tables: &[&'a str],
) -> Result<Vec<&'a str>> {
    let answers = attribute(agent, keyspace, tables, "AutoCompactionDisabled")?;
    let of = answers.iter().zip(tables);
    let disabled = of.filter(|(answer, _)| **answer == Some(Value::Bool(true)));
    Ok(disabled.map(|(_, table)| *table).collect())
}

/// An attribute of the MBean of each table.
fn attribute(
    agent: &Jolokia,
    keyspace: &str,
    tables: &[&str],
    name: &str,
) -> Result<Vec<Option<Value>>> {
    let mbeans: Vec<String> = tables.iter().map(|t| tables_mbean(keyspace, t)).collect();
    let attributes: Vec<_> = mbeans.iter().map(|mbean| (mbean.as_str(), name)).collect();
    agent.read(&attributes)
}

/// Bytes of the data in the memtables of all tables of a node that have yet to be written out; none
/// if the node does not tell.
///
/// The server sums up, over all tables, the memtable that is written to now
/// (`TableMetrics.allMemtablesLiveDataSize` of 5.0.8): one that is on its way to the disk is not
/// in it. So those on their way are waited for first.
pub(crate) fn memtables_bytes(agent: &Jolokia) -> Option<u64> {
    const SIZE: &str = "org.apache.cassandra.metrics:type=Table,name=AllMemtablesLiveDataSize";
    const PENDING: &str = "org.apache.cassandra.metrics:type=Table,name=PendingFlushes";
    let deadline = Deadline::after(FLUSHES_LIMIT);
    loop {
        let answers = agent.read(&[(SIZE, "Value"), (PENDING, "Value")]).ok()?;
        let number = |index: usize| answers.get(index)?.as_ref()?.as_u64();
        if number(1).unwrap_or(0) == 0 || deadline.passed() {
            return number(0);
        }
        clock::sleep(FLUSHES_POLL);
    }
}

/// How long flushes that run may take: a memtable is at most a quarter of the heap.
const FLUSHES_LIMIT: Duration = Duration::from_secs(30);

/// Between two looks at them.
const FLUSHES_POLL: Duration = Duration::from_millis(100);

/// Whether a table is compacted now, or was since the node started; false too if the node does not
/// tell.
pub(crate) fn compacts(agent: &Jolokia, keyspace: &str, table: &str) -> bool {
    const RUNNING: &str = "org.apache.cassandra.db:type=CompactionManager";
    let written = table_metric(keyspace, table, "CompactionBytesWritten");
    let answers = agent.read(&[(&written, "Count"), (RUNNING, "Compactions")]).unwrap_or_default();
    let answer = |index: usize| answers.get(index).and_then(Option::as_ref);
    let running = answer(1).and_then(Value::as_array).is_some_and(|tasks| {
        let of_table =
            |task: &Value| task["keyspace"] == *keyspace && task["columnfamily"] == *table;
        tasks.iter().any(of_table)
    });
    running || answer(0).and_then(Value::as_u64) > Some(0)
}

/// Flushes the node and closes it for clients: it can only be ended afterwards.
///
/// # Errors
/// As [`flush`].
pub(crate) fn drain(agent: &Jolokia) -> Result<()> {
    agent.call(STORAGE, "drain", &[]).map(drop).context("drain the node")
}

/// Forgets what the node has cached of keys, rows and counters.
///
/// # Errors
/// As [`flush`].
pub(crate) fn invalidate_caches(agent: &Jolokia) -> Result<()> {
    const CACHES: &str = "org.apache.cassandra.db:type=Caches";
    for operation in [
        "invalidateKeyCache",
        "invalidateRowCache",
        "invalidateCounterCache",
    ] {
        agent.call(CACHES, operation, &[])?;
    }
    Ok(())
}

/// Removes hints that wait for other nodes, of all keyspaces.
///
/// # Errors
/// As [`flush`].
pub(crate) fn delete_hints(agent: &Jolokia) -> Result<()> {
    const HINTS: &str = "org.apache.cassandra.hints:type=HintsService";
    let deleted = agent.call(HINTS, "deleteAllHints", &[]);
    deleted.map(drop).context("remove the hints")
}

/// The nodes that this one holds to be up, itself too, and those that it cannot reach.
///
/// # Errors
/// The node does not answer.
pub(crate) fn ring(agent: &Jolokia) -> Result<(Vec<String>, Vec<String>)> {
    let answers = agent.read(&[
        (STORAGE, "LiveNodesWithPort"),
        (STORAGE, "UnreachableNodesWithPort"),
    ])?;
    let names = |index: usize| -> Option<Vec<String>> {
        let names = answers.get(index)?.as_ref()?.as_array()?.iter();
        names.map(|name| Some(name.as_str()?.to_string())).collect()
    };
    names(0).zip(names(1)).context("the node does not list the nodes of the ring")
}

/// The folders of Cassandra's data on the node, as the node calls them.
///
/// # Errors
/// The node does not answer.
pub(crate) fn data_folders(agent: &Jolokia) -> Result<Vec<String>> {
    let answers = agent.read(&[(STORAGE, "AllDataFileLocations")])?;
    let folders = answers.first().and_then(Option::as_ref).and_then(Value::as_array);
    let folders: Option<Vec<String>> = folders.and_then(|folders| {
        folders.iter().map(|folder| Some(folder.as_str()?.to_string())).collect()
    });
    folders.context("the node does not say where its data is")
}

fn tables_mbean(keyspace: &str, table: &str) -> String {
    format!("org.apache.cassandra.db:type=Tables,keyspace={keyspace},table={table}")
}

/// The MBean of a metric of a table.
pub(crate) fn table_metric(keyspace: &str, table: &str, metric: &str) -> String {
    format!("{METRICS}:type=Table,keyspace={keyspace},scope={table},name={metric}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As 4.1.10 answers, and 4.0.19, which has two columns less.
    #[test]
    fn a_table_of_snapshots_is_read_as_java_writes_it() {
        const TYPE: &str = "CompositeDataSupport(compositeType=CompositeType(name=SnapshotDetails,\
            items=((itemName=Column family name,itemType=SimpleType(name=java.lang.String)))),\
            contents=";
        let of = |rows: &[&str]| {
            let rows: Vec<String> =
                rows.iter().map(|row| format!("[x, null]={TYPE}{row})")).collect();
            let text = format!("TabularDataSupport(contents={{{}}})", rows.join(", "));
            let found = snapshots_in(&text);
            let words = found
                .iter()
                .map(|one| format!("{} {} {}", one.snapshot, one.keyspace, one.table));
            words.collect::<Vec<_>>()
        };
        let newer = "{Column family name=local, Creation time=2026-11-28T18:57:51.713Z, \
                     Expiration time=null, Keyspace name=system, Size on disk=6.59 KiB, \
                     Snapshot name=cassay-x-1-2, True size=88 bytes}";
        let older = "{Column family name=t, Keyspace name=k, Size on disk=1 bytes, \
                     Snapshot name=theirs, True size=0 bytes}";
        assert_eq!(
            of(&[newer, older]),
            ["cassay-x-1-2 system local", "theirs k t"]
        );
        assert!(of(&[]).is_empty());
    }
}
