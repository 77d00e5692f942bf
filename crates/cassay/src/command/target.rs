//! `cassay target up|status|down`: local clusters that outlive a command.

use super::dirs;
use crate::args::{Common, TargetCommand, UpArgs};
use crate::exit::Exit;
use crate::terminal;
use ::target::kept::{self, KeptCluster};
use ::target::{Dirs, LocalSpec};
use anyhow::Result;
use serde_json::json;

/// Does the command.
pub fn run(command: &TargetCommand, common: &Common) -> Result<Exit> {
    let dirs = dirs()?;
    match command {
        TargetCommand::Up(args) => up(args, &dirs, common),
        TargetCommand::Status => {
            let clusters = kept::status(&dirs);
            if clusters.is_empty() {
                terminal::say("no local cluster runs");
            }
            show(&clusters, common);
            Ok(Exit::Done)
        }
        TargetCommand::Down { id } => {
            let ended = kept::down(&dirs, id.as_deref(), &mut |text| terminal::say(text))?;
            if ended.is_empty() {
                terminal::say("no kept cluster runs");
            }
            if common.json {
                terminal::json(&json!({"stopped": ended}));
            }
            Ok(Exit::Done)
        }
    }
}

fn up(args: &UpArgs, dirs: &Dirs, common: &Common) -> Result<Exit> {
    let spec = LocalSpec {
        version: args.cassandra.clone(),
        nodes: args.nodes,
        heap_bytes: args.heap,
        ..LocalSpec::default()
    };
    let cluster = kept::up(&spec, dirs, &mut |text| terminal::say(text))?;
    show(std::slice::from_ref(&cluster), common);
    terminal::say("it runs until `cassay target down`");
    Ok(Exit::Done)
}

fn show(clusters: &[KeptCluster], common: &Common) {
    if common.json {
        terminal::json(&clusters.iter().map(to_json).collect());
        return;
    }
    for cluster in clusters {
        let keep = if cluster.keep {
            "kept"
        } else {
            "of a running command"
        };
        let mut text = format!("{} (Cassandra {}, {keep})\n", cluster.id, cluster.version);
        for node in &cluster.nodes {
            let state = match (node.pid, node.answers) {
                (Some(pid), true) => format!("answers, pid {pid}"),
                (Some(pid), false) => format!("does not answer, pid {pid}"),
                (None, _) => "has ended".to_owned(),
            };
            text += &format!("  {} {} {}: {state}\n", node.name, node.address, node.rack);
        }
        terminal::data(&text);
    }
}

fn to_json(cluster: &KeptCluster) -> serde_json::Value {
    let nodes = cluster.nodes.iter().map(|node| {
        json!({
            "name": node.name,
            "address": node.address.to_string(),
            "rack": node.rack,
            "pid": node.pid,
            "answers": node.answers,
        })
    });
    json!({
        "id": cluster.id,
        "version": cluster.version,
        "keep": cluster.keep,
        "folder": cluster.folder,
        "nodes": nodes.collect::<Vec<_>>(),
    })
}
