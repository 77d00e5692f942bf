//! `cassay snapshot create|list|restore|verify|remove|export|import`: saves and restores the data
//! of kept clusters, and moves the data to other clusters.

mod comparison;

use super::dirs;
use crate::args::{
    ClusterName, Common, SnapshotCommand, SnapshotExportArgs, SnapshotImportArgs, SnapshotName,
};
use crate::exit::Exit;
use crate::{interrupt, terminal};
use ::cluster::{
    Cluster, Comparison, NodeSnapshot, RestoreHow, RestoreResult, Snapshot, kept_cluster,
};
use anyhow::{Result, bail};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Runs the subcommand on its kept cluster.
pub fn run(command: &SnapshotCommand, common: &Common) -> Result<Exit> {
    match command {
        SnapshotCommand::Create(args) => {
            let cluster = open(&args.snapshot.cluster)?;
            let tables: Vec<&str> = args.tables.iter().map(String::as_str).collect();
            let name = &args.snapshot.name;
            let made = cluster.snapshot_create(name, &args.keyspace, &tables, &mut say)?;
            show(&[made], common);
            Ok(Exit::Done)
        }
        SnapshotCommand::List(name) => {
            let found = open(name)?.snapshots()?;
            if found.is_empty() {
                terminal::say("the cluster has no snapshot");
            }
            show(&found, common);
            Ok(Exit::Done)
        }
        SnapshotCommand::Restore(args) => {
            let how = if args.offline {
                RestoreHow::Offline
            } else {
                RestoreHow::Online
            };
            let mut cluster = open(&args.snapshot.cluster)?;
            let restored = cluster.snapshot_restore(&args.snapshot.name, how, &mut say)?;
            let compared = cluster.snapshot_compare(&args.snapshot.name)?;
            show_restored(&args.snapshot.name, &restored, compared.as_ref(), common);
            Ok(Exit::Done)
        }
        SnapshotCommand::Verify(name) => verify(name, common),
        SnapshotCommand::Remove(name) => {
            open(&name.cluster)?.snapshot_remove(&name.name)?;
            terminal::say(&format!("removed {}", name.name));
            if common.json {
                terminal::json(&json!({"removed": name.name}));
            }
            Ok(Exit::Done)
        }
        SnapshotCommand::Export(args) => export(args, common),
        SnapshotCommand::Import(args) => import(args, common),
    }
}

fn export(args: &SnapshotExportArgs, common: &Common) -> Result<Exit> {
    let interrupt = interrupt::flag()?;
    host::process::heed(Arc::clone(&interrupt));
    let (name, to) = (&args.snapshot.name, &args.to);
    let made = open(&args.snapshot.cluster)?.snapshot_export(name, to, &mut say);
    if made.is_err() && interrupt.load(Ordering::Relaxed) {
        terminal::say("interrupted: cassay removed the partial export");
        return Ok(Exit::Interrupted);
    }
    comparison::show_export(&made?, to, common);
    Ok(Exit::Done)
}

fn import(args: &SnapshotImportArgs, common: &Common) -> Result<Exit> {
    let interrupt = interrupt::flag()?;
    host::process::heed(Arc::clone(&interrupt));
    let name = args.name.as_deref();
    let made = open(&args.cluster)?.snapshot_import(&args.from, name, &mut say);
    if made.is_err() && interrupt.load(Ordering::Relaxed) {
        terminal::say("interrupted: cassay removed the partial import");
        return Ok(Exit::Interrupted);
    }
    comparison::show_import(&made?, common);
    Ok(Exit::Done)
}

fn say(text: &str) {
    terminal::say(text);
}

fn open(name: &ClusterName) -> Result<Cluster> {
    kept_cluster::open(&dirs()?, name.cluster.as_deref(), &mut say)
}

fn verify(name: &SnapshotName, common: &Common) -> Result<Exit> {
    let found = open(&name.cluster)?.snapshot_verify(&name.name)?;
    if common.json {
        let node = |(node, whole): &(String, Result<(), String>)| {
            let problem = whole.as_ref().err();
            json!({"node": node, "whole": whole.is_ok(), "problem": problem})
        };
        terminal::json(&found.iter().map(node).collect());
    }
    let mut problems = Vec::new();
    for (node, whole) in &found {
        match whole {
            Ok(()) if !common.json => terminal::data(&format!("{node}: whole\n")),
            Ok(()) => {}
            Err(problem) => problems.push(format!("{node}: {problem}")),
        }
    }
    if problems.is_empty() {
        return Ok(Exit::Done);
    }
    bail!(
        "cassay could not verify all files of the snapshot {}\n{}",
        name.name,
        problems.join("\n")
    )
}

fn show(snapshots: &[Snapshot], common: &Common) {
    if common.json {
        terminal::json(&snapshots.iter().map(to_json).collect());
        return;
    }
    for snapshot in snapshots {
        let tables = snapshot.tables.join(", ");
        let mut text = format!("{} ({}: {tables})\n", snapshot.name, snapshot.keyspace);
        for node in &snapshot.nodes {
            text += &format!(
                "  {}: {} SSTables, {}, fingerprint {}\n",
                node.node,
                node.sstables,
                measure::number::bytes(node.bytes),
                node.fingerprint
            );
        }
        terminal::data(&text);
    }
}

fn to_json(snapshot: &Snapshot) -> Value {
    let node = |node: &NodeSnapshot| {
        json!({
            "node": node.node,
            "sstables": node.sstables,
            "files": node.files,
            "bytes": node.bytes,
            "fingerprint": node.fingerprint,
        })
    };
    json!({
        "name": snapshot.name,
        "keyspace": snapshot.keyspace,
        "tables": snapshot.tables,
        "created_unix_ns": snapshot.created_unix_ns,
        "schema": snapshot.schema,
        "nodes": snapshot.nodes.iter().map(node).collect::<Vec<_>>(),
    })
}

fn show_restored(
    name: &str,
    restored: &RestoreResult,
    compared: Option<&Comparison>,
    common: &Common,
) {
    if common.json {
        terminal::json(&json!({
            "name": name,
            "how": restored.how.name(),
            "seconds": restored.seconds,
            "truncate_s": restored.truncate_s,
            "import_s": restored.import_s,
            "sstables": restored.sstables,
            "bytes": restored.bytes,
            "fingerprints": restored.fingerprints,
            "comparison": compared.map(comparison::to_json),
        }));
        return;
    }
    let mut text = format!(
        "{name}: {} SSTables, {}, restored {} in {:.1} s\n",
        restored.sstables,
        measure::number::bytes(restored.bytes),
        restored.how.name(),
        restored.seconds
    );
    for (node, fingerprint) in &restored.fingerprints {
        text += &format!("  {node}: fingerprint {fingerprint}\n");
    }
    text += &compared.map(|all| comparison::text(all, "the snapshot")).unwrap_or_default();
    terminal::data(&text);
}
