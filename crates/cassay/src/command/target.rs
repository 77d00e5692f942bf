//! `cassay target up|status|capabilities|down`: starts and stops local clusters that outlive a
//! command, and shows the state and the capabilities of any cluster.

mod status;

use super::{capabilities_here, dirs};
use crate::args::{
    CapabilitiesArgs, Common, Elsewhere, HostArgs, StatusArgs, TargetCommand, UpArgs,
};
use crate::exit::Exit;
use crate::{interrupt, terminal};
use ::cluster::kept_cluster;
use ::cluster::{Cluster, Dirs, Export};
use anyhow::{Result, anyhow, ensure};
use measure::number::counted;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use target_spec::{
    AttachSpec, Authentication, CapabilityStatus, DiskSpec, HostSpec, HostsSpec, JavaChoice,
    LinkSpec, LocalSpec, Target,
};
use versions::Release;

/// Runs `up`, `status`, `capabilities` or `down`.
pub fn run(command: &TargetCommand, common: &Common) -> Result<Exit> {
    let dirs = dirs()?;
    match command {
        TargetCommand::Up(args) => up(args, &dirs, common),
        TargetCommand::Status(args) => show_status(args, &dirs, common),
        TargetCommand::Capabilities(args) => show_capabilities(args, &dirs, common),
        TargetCommand::Down { id } => {
            let ended = kept_cluster::down(&dirs, id.as_deref(), &mut |text| terminal::say(text))?;
            if ended.is_empty() {
                terminal::say("no kept cluster is running");
            }
            if common.json {
                terminal::json(&json!({"stopped": ended}));
            }
            Ok(Exit::Done)
        }
    }
}

fn up(args: &UpArgs, dirs: &Dirs, common: &Common) -> Result<Exit> {
    let Some(machines) = super::machines::read(args.machines.as_deref(), common)? else {
        return Ok(Exit::Usage);
    };
    let like = args.like.as_deref().map(Export::read).transpose()?;
    let count = args.hosts.or((!machines.is_empty()).then_some(machines.len()));
    anyhow::ensure!(
        machines.is_empty() || count <= Some(machines.len()),
        "--hosts requests {} hosts, but the file of --machines lists {}",
        count.unwrap_or_default(),
        counted(machines.len(), "machine")
    );
    let hosts = count.map(|count| HostsSpec {
        machines: machines.into_iter().take(count).collect(),
        ..hosts_of(&args.host, count)
    });
    let shared = hosts.as_ref().map(|hosts| hosts.nodes(args.nodes_per_host.unwrap_or(1)));
    let like = like.as_ref().map(Like::read).transpose()?.unwrap_or_default();
    let release = args.cassandra.clone().or(like.release);
    let release = release.unwrap_or_else(|| versions::DEFAULT.release());
    let yaml = args.yaml.iter().cloned().collect();
    let spec = LocalSpec {
        yaml: target_spec::yaml_named(release.line(), &yaml),
        release,
        java: args.java.map(JavaChoice::Major),
        nodes: args.nodes.or(like.nodes).or(shared).unwrap_or(1),
        racks: like.racks,
        datacenter: like.datacenter.unwrap_or_else(|| LocalSpec::default().datacenter),
        tokens: like.tokens,
        hosts,
        heap_bytes: args.heap,
        collector: args.gc,
        jvm_options: args.jvm.clone(),
        class_sharing: args.class_sharing,
        topology: super::topology::requested(&args.placing),
        start_timeout: Duration::from_nanos(args.start_timeout),
        authentication: if args.authentication {
            Authentication::Password
        } else {
            Authentication::None
        },
        ..LocalSpec::default()
    };
    let interrupt = interrupt::flag()?;
    host::process::heed(Arc::clone(&interrupt));
    let cluster = match kept_cluster::up(&spec, dirs, &mut |text| terminal::say(text)) {
        Err(_) if interrupt.load(Ordering::Relaxed) => {
            terminal::say("interrupted: cassay stopped all processes that it started");
            return Ok(Exit::Interrupted);
        }
        cluster => cluster?,
    };
    status::show(&[status::kept_status(&cluster, None)], common);
    terminal::say(&match &cluster.login {
        Some(_) => "the cluster runs until `cassay target down`".to_owned(),
        None => format!(
            "the cluster runs until `cassay target down`. The cluster requires no password, so {} \
             can read and change its data (`--authentication` makes Cassandra require a password)",
            if spec.machines().is_empty() {
                "every user of this machine"
            } else {
                "everyone who can reach its machines"
            }
        ),
    });
    Ok(Exit::Done)
}

fn release_of(version: &str) -> Result<Release> {
    Release::parse(version).map_err(|unknown| anyhow!("{unknown}\nhint: {}", unknown.hint))
}

/// Properties that a cluster takes from an export, so that the export can be imported. Empty
/// without an export.
#[derive(Default)]
struct Like {
    release: Option<Release>,
    nodes: Option<usize>,
    racks: Vec<String>,
    datacenter: Option<String>,
    tokens: Vec<Vec<i64>>,
}

impl Like {
    fn read(export: &Export) -> Result<Like> {
        let nodes = export.nodes.iter();
        let first = export.nodes.first().map(|node| node.datacenter.as_str());
        let other = nodes.clone().find(|node| Some(node.datacenter.as_str()) != first);
        ensure!(
            other.is_none(),
            "the export has nodes in several data centers, {} and {}, but a local cluster has only \
             one",
            first.unwrap_or_default(),
            other.map_or("another", |other| other.datacenter.as_str())
        );
        Ok(Like {
            release: Some(release_of(&export.version)?),
            nodes: Some(export.nodes.len()),
            racks: nodes.clone().map(|node| node.rack.clone()).collect(),
            datacenter: first.map(str::to_owned),
            tokens: nodes.map(|node| node.tokens.clone()).collect(),
        })
    }
}

fn hosts_of(args: &HostArgs, count: usize) -> HostsSpec {
    HostsSpec {
        count,
        isolation: args.isolation,
        host: HostSpec {
            cpus: args.host_cpus.clone(),
            cpu_quota: args.host_quota,
            memory_bytes: args.host_memory,
            volume_bytes: args.host_volume,
            disk: DiskSpec::default(),
            link: LinkSpec {
                rate_bits_per_s: args.link_rate,
                delay: args.link_delay.map(Duration::from_nanos),
            },
        },
        ..HostsSpec::default()
    }
}

fn show_status(args: &StatusArgs, dirs: &Dirs, common: &Common) -> Result<Exit> {
    let keyspace = args.keyspace.as_deref();
    let shown = match &args.target {
        Some(point) => {
            let cluster = attach(point, dirs)?;
            vec![status::attached_status(&cluster, point, keyspace)]
        }
        None => {
            let clusters = kept_cluster::status(dirs);
            let each = clusters.iter();
            each.map(|one| status::kept_status(one, keyspace)).collect()
        }
    };
    if shown.is_empty() {
        terminal::say("no local cluster is running");
    }
    status::show(&shown, common);
    let is_nowhere = |name: &str| !shown.iter().any(|one| one.has_keyspace(name));
    match keyspace.filter(|name| is_nowhere(name) && !shown.is_empty()) {
        Some(_) => Ok(Exit::Error),
        None => Ok(Exit::Done),
    }
}

fn attach(point: &str, dirs: &Dirs) -> Result<Cluster> {
    let spec = Target::Attach(AttachSpec {
        contact_points: vec![point.to_owned()],
        ..AttachSpec::default()
    });
    ::cluster::start(&spec, dirs, &mut |text| terminal::say(text))
}

fn show_capabilities(args: &CapabilitiesArgs, dirs: &Dirs, common: &Common) -> Result<Exit> {
    let capabilities = match &args.target {
        Some(Elsewhere::Attach(point)) => {
            args.ssh.nothing()?;
            attach(point, dirs)?.capabilities().to_vec()
        }
        Some(Elsewhere::Ssh(name)) => {
            let agent = host::Agent::to(&args.ssh.destination(name)?)?;
            ::cluster::capabilities_there(&agent)?
        }
        None => capabilities_here(),
    };
    if common.json {
        let of = |one: &CapabilityStatus| {
            let CapabilityStatus {
                present, detail, ..
            } = one;
            json!({"ability": one.capability.name(), "present": present, "detail": detail})
        };
        terminal::json(&capabilities.iter().map(of).collect());
        return Ok(Exit::Done);
    }
    let row = |one: &CapabilityStatus| {
        let there = if one.present { "yes" } else { "no" };
        [one.capability.name(), there, &one.detail].map(str::to_owned).to_vec()
    };
    let head = ["Capability", "There", "Method, or reason"].map(str::to_owned).to_vec();
    let rows: Vec<Vec<String>> = [head].into_iter().chain(capabilities.iter().map(row)).collect();
    terminal::data(&terminal::table(&rows, &[false; 3]));
    Ok(Exit::Done)
}
