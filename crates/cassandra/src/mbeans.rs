//! Operations of a node's MBeans, such as flush, snapshot and import.
//!
//! Jolokia requires the signature of an overloaded operation, so this module names such operations
//! with their signature.

use crate::jolokia::{Bulk, Jolokia};
use anyhow::{Context, Result, bail, ensure};
use measure::clock::{self, Deadline};
use serde_json::{Value, json};
use std::time::Duration;

pub const METRICS: &str = "org.apache.cassandra.metrics";

/// MBean that provides the operations of `nodetool`.
pub const STORAGE: &str = "org.apache.cassandra.db:type=StorageService";

/// Flushes the memtables of tables, and waits until the data is on disk.
///
/// # Errors
/// The node does not answer, or refuses the operation.
pub fn flush(agent: &Jolokia, keyspace: &str, tables: &[&str]) -> Result<()> {
    const OPERATION: &str = "forceKeyspaceFlush(java.lang.String,[Ljava.lang.String;)";
    call_for_tables(agent, OPERATION, keyspace, tables).with_context(|| format!("flush {keyspace}"))
}

/// Enables compactions of tables until the node restarts. The server immediately checks for due
/// compactions.
///
/// # Errors
/// The errors of [`flush`].
pub fn enable_compaction(agent: &Jolokia, keyspace: &str, tables: &[&str]) -> Result<()> {
    const OPERATION: &str = "enableAutoCompaction(java.lang.String,[Ljava.lang.String;)";
    call_for_tables(agent, OPERATION, keyspace, tables)
        .with_context(|| format!("enable the compactions of {keyspace}"))
}

/// Disables new compactions of tables. Running compactions continue.
///
/// # Errors
/// The errors of [`flush`].
pub fn disable_compaction(agent: &Jolokia, keyspace: &str, tables: &[&str]) -> Result<()> {
    const OPERATION: &str = "disableAutoCompaction(java.lang.String,[Ljava.lang.String;)";
    call_for_tables(agent, OPERATION, keyspace, tables)
        .with_context(|| format!("disable the compactions of {keyspace}"))
}

fn call_for_tables(
    agent: &Jolokia,
    operation: &str,
    keyspace: &str,
    tables: &[&str],
) -> Result<()> {
    if tables.is_empty() {
        // The server would treat an empty list as all tables of the keyspace.
        return Ok(());
    }
    let arguments = [json!(keyspace), json!(tables)];
    agent.call(STORAGE, operation, &arguments).map(drop)
}

/// Flushes tables and takes their snapshot `tag`, which consists of hard links in the folders of
/// the tables.
///
/// # Errors
/// The errors of [`flush`], or a snapshot with this name exists.
pub fn take_snapshot(agent: &Jolokia, tag: &str, keyspace: &str, tables: &[&str]) -> Result<()> {
    const OPERATION: &str = "takeSnapshot(java.lang.String,java.util.Map,[Ljava.lang.String;)";
    let entities: Vec<String> = tables.iter().map(|t| format!("{keyspace}.{t}")).collect();
    let arguments = [json!(tag), json!({"skipFlush": "false"}), json!(entities)];
    let taken = agent.call(STORAGE, OPERATION, &arguments);
    taken.map(drop).with_context(|| format!("create the snapshot {tag}"))
}

/// Removes the snapshot `tag` of a keyspace, if it exists.
///
/// # Errors
/// The errors of [`flush`].
pub fn clear_snapshot(agent: &Jolokia, tag: &str, keyspace: &str) -> Result<()> {
    const OPERATION: &str = "clearSnapshot(java.lang.String,[Ljava.lang.String;)";
    if tag.is_empty() {
        bail!(
            "cassay does not clear a snapshot with an empty name, because the server would clear \
             all snapshots"
        );
    }
    let cleared = agent.call(STORAGE, OPERATION, &[json!(tag), json!([keyspace])]);
    cleared.map(drop).with_context(|| format!("clear the snapshot {tag}"))
}

/// Passes a command to the profiler library that the node's JVM has loaded. `library` is the path
/// of this library on the node's host.
///
/// # Errors
/// The node does not answer, or the library refuses the command.
pub fn command_library(agent: &Jolokia, library: &str, command: &str) -> Result<()> {
    const MBEAN: &str = "com.sun.management:type=DiagnosticCommand";
    // Without the quotes, the JVM splits the command at the first `=`.
    let arguments = [json!([library, format!("\"{command}\"")])];
    let answer = agent.call(MBEAN, "jvmtiAgentLoad", &arguments)?;
    let text = answer.as_str().unwrap_or_default();
    ensure!(
        text.trim_end().ends_with("return code: 0"),
        "the JVM answers to `{command}`: {}",
        text.trim()
    );
    Ok(())
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotOfTable {
    pub snapshot: String,
    pub keyspace: String,
    pub table: String,
}

/// # Errors
/// The node does not answer.
pub fn snapshots(agent: &Jolokia) -> Result<Vec<SnapshotOfTable>> {
    // The request asks for text instead of JSON trees. In 4.1, the key of the snapshot table has
    // null columns, and Jolokia aborts at such a column in the middle of its response.
    let asked = Bulk::entries_as_texts(&[(STORAGE, "SnapshotDetails")]);
    let mut answers = agent.read_bulk(&asked)?.into_iter().flatten();
    let details = answers.next().context("the node does not report its snapshots")?;
    let texts = details.as_object().into_iter().flatten().filter_map(|(_, text)| text.as_str());
    Ok(texts.flat_map(snapshots_in).collect())
}

/// Parses the text form of Java's table of snapshots. The cells of a row are sorted by column name.
/// Newer releases have more columns.
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

/// Links the SSTables of a folder into an empty table. Callers must call this function only once,
/// because the server would import and duplicate the same SSTables again without an error.
///
/// The server does not move or change the files. Levels and repair marks remain unchanged, because
/// a reset would rewrite the metadata of the linked source files.
///
/// # Errors
/// The folder is not accessible, or the server refuses its SSTables.
pub fn import(
    agent: &Jolokia,
    version: &str,
    keyspace: &str,
    table: &str,
    folder: &str,
) -> Result<()> {
    let mbean = tables_mbean(keyspace, table);
    // The parameters are srcPaths, resetLevel, clearRepaired, verifySSTables, verifyTokens,
    // invalidateCaches, extendedVerify and copyData. Version 5.0 added failOnMissingIndex and
    // validateIndexChecksum.
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
            "the node refused the SSTables of {folder} for {keyspace}.{table}. The log of the node \
             (system.log) contains the reason. Check the snapshot with `cassay snapshot verify`"
        ),
    }
}

/// Returns the number of SSTables per level for each table. A table has `None` if its compaction
/// strategy has no levels.
///
/// # Errors
/// The node does not answer.
pub fn levels(agent: &Jolokia, keyspace: &str, tables: &[&str]) -> Result<Vec<Option<Vec<u64>>>> {
    let answers = attribute(agent, keyspace, tables, "SSTableCountPerLevel")?;
    let levels = |answer: Option<Value>| {
        let levels = answer?;
        levels.as_array()?.iter().map(Value::as_u64).collect()
    };
    Ok(answers.into_iter().map(levels).collect())
}

/// # Errors
/// The node does not answer.
pub fn disabled<'a>(agent: &Jolokia, keyspace: &str, tables: &[&'a str]) -> Result<Vec<&'a str>> {
    let answers = attribute(agent, keyspace, tables, "AutoCompactionDisabled")?;
    let of = answers.iter().zip(tables);
    let disabled = of.filter(|(answer, _)| **answer == Some(Value::Bool(true)));
    Ok(disabled.map(|(_, table)| *table).collect())
}

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

/// Returns the size of all data that is only in memtables, in bytes. Returns `None` if the node
/// does not report the size.
///
/// Cassandra's metric `AllMemtablesLiveDataSize` includes only the current memtable of each table
/// (5.0.8). A memtable that is being flushed is missing, so this function first waits for pending
/// flushes.
pub fn memtables_bytes(agent: &Jolokia) -> Option<u64> {
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

/// Time limit for running flushes. A memtable uses at most a quarter of the heap.
const FLUSHES_LIMIT: Duration = Duration::from_secs(30);

const FLUSHES_POLL: Duration = Duration::from_millis(100);

/// Returns true if the node is compacting a table, or has compacted the table since the start of
/// the node. Returns false if the node does not report compactions.
pub fn compacts(agent: &Jolokia, keyspace: &str, table: &str) -> bool {
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

/// Drains the node: flushes all memtables and stops accepting connections. The node then can only
/// be stopped.
///
/// # Errors
/// The errors of [`flush`].
pub fn drain(agent: &Jolokia) -> Result<()> {
    agent.call(STORAGE, "drain", &[]).map(drop).context("drain the node")
}

/// # Errors
/// The errors of [`flush`].
pub fn invalidate_caches(agent: &Jolokia) -> Result<()> {
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

/// Deletes the node's hints for all other nodes.
///
/// # Errors
/// The errors of [`flush`].
pub fn delete_hints(agent: &Jolokia) -> Result<()> {
    const HINTS: &str = "org.apache.cassandra.hints:type=HintsService";
    let deleted = agent.call(HINTS, "deleteAllHints", &[]);
    deleted.map(drop).context("remove the hints")
}

/// Returns two lists: the nodes that the queried node considers up (including itself), and the
/// nodes that the queried node considers unreachable.
///
/// # Errors
/// The node does not answer.
pub fn ring(agent: &Jolokia) -> Result<(Vec<String>, Vec<String>)> {
    let answers = agent.read(&[
        (STORAGE, "LiveNodesWithPort"),
        (STORAGE, "UnreachableNodesWithPort"),
    ])?;
    let names = |index: usize| -> Option<Vec<String>> {
        let names = answers.get(index)?.as_ref()?.as_array()?.iter();
        names.map(|name| Some(name.as_str()?.to_string())).collect()
    };
    names(0)
        .zip(names(1))
        .context("the node does not report the members of the ring")
}

/// # Errors
/// The node does not answer.
pub fn data_folders(agent: &Jolokia) -> Result<Vec<String>> {
    let answers = agent.read(&[(STORAGE, "AllDataFileLocations")])?;
    let folders = answers.first().and_then(Option::as_ref).and_then(Value::as_array);
    let folders: Option<Vec<String>> = folders.and_then(|folders| {
        folders.iter().map(|folder| Some(folder.as_str()?.to_string())).collect()
    });
    folders.context("the node does not report its data folder")
}

fn tables_mbean(keyspace: &str, table: &str) -> String {
    format!("org.apache.cassandra.db:type=Tables,keyspace={keyspace},table={table}")
}

pub fn table_metric(keyspace: &str, table: &str, metric: &str) -> String {
    format!("{METRICS}:type=Table,keyspace={keyspace},scope={table},name={metric}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts are from 4.1.10 and from 4.0.19, which has two columns fewer.
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
