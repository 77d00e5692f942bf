//! `cassay target up|status|down`: clusters that outlive the command.

use crate::args::{TargetAction, TargetArguments};
use crate::exit::Exit;
use crate::places::Places;
use crate::speech;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use target::LocalSpec;
use target::kept::{self, KeptCluster};

/// Starts, lists or stops.
pub fn target(arguments: &TargetArguments, places: &Places, json: bool) -> Result<Exit> {
    match &arguments.action {
        TargetAction::Up { .. } => {
            let spec = spec(&arguments.action)?;
            let cluster = kept::up(&spec, &places.dirs, &mut |line| speech::say(line))?;
            show(std::slice::from_ref(&cluster), json);
        }
        TargetAction::Status => show(&kept::status(&places.dirs), json),
        TargetAction::Down { id } => {
            let ended = kept::down(&places.dirs, id.as_deref(), &mut |line| speech::say(line))?;
            if json {
                speech::json(&json!({ "stopped": ended }));
            } else if ended.is_empty() {
                speech::say("nothing to stop");
            } else {
                speech::data(&format!("stopped {}", ended.join(", ")));
            }
        }
    }
    Ok(Exit::Valid)
}

fn spec(action: &TargetAction) -> Result<LocalSpec> {
    let TargetAction::Up {
        cassandra,
        nodes,
        heap,
        racks,
        address,
        yaml,
    } = action
    else {
        return Ok(LocalSpec::default());
    };
    let heap_bytes = study::human::parse_bytes(heap)
        .map_err(|problem| anyhow::anyhow!("--heap {heap}: {problem}"))?;
    ensure!(
        (1..=target::NODES_COUNT_MAX).contains(nodes),
        "--nodes {nodes}: must be 1 to {}",
        target::NODES_COUNT_MAX
    );
    let mut settings = serde_json::Map::new();
    for pair in yaml {
        let (key, value) = pair
            .split_once('=')
            .with_context(|| format!("--yaml {pair}: must be KEY=VALUE"))?;
        // Numbers, true and false keep their type; everything else is a text.
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        settings.insert(key.trim().to_owned(), value);
    }
    Ok(LocalSpec {
        version: cassandra.clone(),
        nodes: *nodes,
        racks: racks.clone(),
        heap_bytes,
        address: *address,
        yaml: settings,
        ..LocalSpec::default()
    })
}

fn show(clusters: &[KeptCluster], json: bool) {
    if json {
        return speech::json(&json!(clusters.iter().map(record).collect::<Vec<_>>()));
    }
    if clusters.is_empty() {
        return speech::say("no clusters of cassay on this machine");
    }
    let mut out = String::new();
    for cluster in clusters {
        let owner = if cluster.keep {
            "until `cassay target down`"
        } else {
            "of a running command"
        };
        out.push_str(&format!(
            "{}  Cassandra {}, {} node(s), {owner}\n",
            cluster.id,
            cluster.version,
            cluster.nodes.len()
        ));
        for node in &cluster.nodes {
            let pid = node
                .pid
                .map_or_else(|| "-".to_owned(), |pid| pid.to_string());
            let state = if node.answers {
                "answers"
            } else {
                "does not answer"
            };
            out.push_str(&format!(
                "  {:<6} {:<21} {}/{}  pid {pid}  {state}\n",
                node.name,
                node.address.to_string(),
                cluster.datacenter,
                node.rack
            ));
        }
        out.push_str(&format!("  {}\n", cluster.folder.display()));
    }
    speech::data(&out);
}

fn record(cluster: &KeptCluster) -> Value {
    let nodes: Vec<_> = cluster
        .nodes
        .iter()
        .map(|node| {
            json!({ "name": node.name, "address": node.address.to_string(), "rack": node.rack,
                    "pid": node.pid, "answers": node.answers })
        })
        .collect();
    json!({ "id": cluster.id, "kept": cluster.keep, "cassandra": cluster.version,
            "datacenter": cluster.datacenter, "folder": cluster.folder, "nodes": nodes })
}
