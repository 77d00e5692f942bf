//! `cassay target up|status|down`: local clusters that outlive a command.

mod status;

use super::dirs;
use crate::args::{Common, HostArgs, StatusArgs, TargetCommand, UpArgs};
use crate::exit::Exit;
use crate::terminal;
use ::target::kept;
use ::target::{AttachSpec, Dirs, HostSpec, HostsSpec, LinkSpec, LocalSpec, Spec};
use anyhow::Result;
use serde_json::json;
use std::time::Duration;

/// Does the command.
pub fn run(command: &TargetCommand, common: &Common) -> Result<Exit> {
    let dirs = dirs()?;
    match command {
        TargetCommand::Up(args) => up(args, &dirs, common),
        TargetCommand::Status(args) => show_status(args, &dirs, common),
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
    let hosts = args.hosts.map(|count| hosts_of(&args.host, count));
    let spec = LocalSpec {
        version: args.cassandra.clone(),
        nodes: match (args.nodes, args.hosts) {
            (Some(nodes), _) => nodes,
            (None, Some(hosts)) => hosts * args.nodes_per_host.unwrap_or(1),
            (None, None) => 1,
        },
        hosts,
        heap_bytes: args.heap,
        ..LocalSpec::default()
    };
    let cluster = kept::up(&spec, dirs, &mut |text| terminal::say(text))?;
    status::show(&[status::of_kept(&cluster, None)], common);
    terminal::say("it runs until `cassay target down`");
    Ok(Exit::Done)
}

/// Hosts as the arguments say.
fn hosts_of(args: &HostArgs, count: usize) -> HostsSpec {
    HostsSpec {
        count,
        isolation: args.isolation,
        host: HostSpec {
            cpus: args.host_cpus.clone(),
            cpu_quota: args.host_quota,
            memory_bytes: args.host_memory,
            volume_bytes: args.host_volume,
            link: LinkSpec {
                rate_bits_per_s: args.link_rate,
                delay: args.link_delay.map(Duration::from_nanos),
            },
        },
    }
}

fn show_status(args: &StatusArgs, dirs: &Dirs, common: &Common) -> Result<Exit> {
    let keyspace = args.keyspace.as_deref();
    let shown = match &args.target {
        Some(point) => {
            let spec = Spec::Attach(AttachSpec {
                contact_points: vec![point.clone()],
                ..AttachSpec::default()
            });
            let cluster = ::target::start(&spec, dirs, &mut |text| terminal::say(text))?;
            vec![status::of_attached(&cluster, point, keyspace)]
        }
        None => {
            let clusters = kept::status(dirs);
            let each = clusters.iter();
            each.map(|one| status::of_kept(one, keyspace)).collect()
        }
    };
    if shown.is_empty() {
        terminal::say("no local cluster runs");
    }
    status::show(&shown, common);
    let is_nowhere = |name: &str| !shown.iter().any(|one| one.has_keyspace(name));
    match keyspace.filter(|name| is_nowhere(name) && !shown.is_empty()) {
        Some(_) => Ok(Exit::Error),
        None => Ok(Exit::Done),
    }
}
