//! `cassay fault list|test|run`: lists the faults that a kept or an attached cluster supports,
//! tests them, or injects one by hand.

use super::{attached, capabilities_here, dirs};
use crate::args::{
    BrokenArgs, ClusterName, Common, FaultCommand, FaultKnobs, FaultRunArgs, FaultTestArgs,
};
use crate::exit::Exit;
use crate::{interrupt, terminal};
use ::cluster::{Cluster, Dirs, kept_cluster};
use ::fault::{FaultResult, FaultStep, FaultVerdict, Live, Order};
use anyhow::{Context, Result, bail, ensure};
use cassandra::Permit;
use measure::clock;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use target_spec::fault::{FaultKind, FaultOption, FaultPlace, Hit, KINDS, Length, Options, Sides};
use target_spec::{CapabilityStatus, DiskSpec, HostIndex, NO_HA_OF_MACHINES, NodeIndex};

/// Time for which `cassay fault test` keeps a fault active.
const TRIED_FOR: Duration = Duration::from_secs(3);

/// Maximum time until a probe observes a tested fault.
const OBSERVATION_LIMIT: Duration = Duration::from_secs(60);

/// Time limit of a fault that performs a task. It is long because such a fault restarts every node,
/// one after the other.
const TASK_LIMIT: Duration = Duration::from_secs(15 * 60);

/// Time limit for injecting a fault by hand.
const MANUAL_INJECTION_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Runs `list`, `test` or `run`.
pub fn run(command: &FaultCommand, common: &Common) -> Result<Exit> {
    match command {
        FaultCommand::List(name) => list(name, common),
        FaultCommand::Test(args) => test(args, common),
        FaultCommand::Run(args) => by_hand(args, common),
    }
}

/// Returns the capabilities of a kept cluster. Without a kept cluster, returns the capabilities of
/// hosts on this machine.
fn capabilities(name: &ClusterName, dirs: &Dirs) -> Result<Vec<CapabilityStatus>> {
    let is_there = kept_cluster::status(dirs).iter().any(|one| one.keep);
    if name.cluster.is_some() || is_there {
        return Ok(open(name, dirs)?.capabilities().to_vec());
    }
    Ok(capabilities_here())
}

fn open(name: &ClusterName, dirs: &Dirs) -> Result<Cluster> {
    let say = &mut |text: &str| terminal::say(text);
    kept_cluster::open(dirs, name.cluster.as_deref(), say)
}

fn open_target(args: &BrokenArgs) -> Result<Cluster> {
    let Some(target) = &args.target else {
        args.way_in.nothing()?;
        ensure!(
            args.allow.joined().is_empty(),
            "--allow requires a cluster that cassay did not start; add --target attach:HOST"
        );
        return open(&args.cluster, &dirs()?);
    };
    ensure!(
        args.cluster.cluster.is_none(),
        "use either --cluster, which names a kept cluster, or --target, which names an attached \
         cluster"
    );
    let cluster = attached(target, &args.way_in)?;
    cluster.permit(Permit {
        allow: args.allow.joined(),
        ..Permit::default()
    });
    Ok(cluster)
}

/// Returns the reasons why a kind of fault is not possible. Returns no reason if the fault is
/// possible.
fn refused(kind: &FaultKind, capabilities: &[CapabilityStatus]) -> Vec<String> {
    let of = |capability| capabilities.iter().find(|one| one.capability == capability);
    let missing = kind.needs.iter().filter_map(|needed| of(*needed)).filter(|one| !one.present);
    missing
        .map(|one| format!("{}: {}", one.capability.name(), one.detail))
        .collect()
}

/// Returns the reasons why a kind of fault is not possible on a cluster. The reasons include acts
/// that the user does not allow on the cluster.
fn refused_by(kind: &FaultKind, cluster: &Cluster) -> Vec<String> {
    let mut refused = refused(kind, cluster.capabilities());
    let acts = kind.acts().into_iter().flatten();
    let not_allowed = acts.filter_map(|act| Some(format!("{:#}", cluster.may_do(*act).err()?)));
    refused.extend(not_allowed);
    refused
}

/// Returns the number of hosts. For an attached cluster, counts only the machines that cassay
/// reaches.
fn hosts_count(cluster: &Cluster) -> Result<usize> {
    if cluster.is_attached() {
        Ok(cluster.host_names().len())
    } else {
        Ok(cluster.hosts()?.len())
    }
}

fn list(name: &ClusterName, common: &Common) -> Result<Exit> {
    let capabilities = capabilities(name, &dirs()?)?;
    if common.json {
        let of = |kind: &FaultKind| {
            let refused = refused(kind, &capabilities);
            let knobs: Vec<&str> = kind.takes.iter().map(|knob| knob.name()).collect();
            json!({
                "kind": kind.name, "what": kind.what, "breaks": place(kind.place),
                "takes": knobs, "moment": !kind.length.is_said(),
                "task": kind.length == Length::Task,
                "present": refused.is_empty(), "missing": refused,
            })
        };
        terminal::json(&KINDS.iter().map(of).collect());
        return Ok(Exit::Done);
    }
    let head = ["Kind", "Breaks", "There", "Effect, or reason"].map(str::to_owned);
    let row = |kind: &FaultKind| {
        let refused = refused(kind, &capabilities);
        let (there, what) = if refused.is_empty() {
            ("yes", described(kind))
        } else {
            ("no", refused.join("; "))
        };
        vec![
            kind.name.to_string(),
            place(kind.place).to_owned(),
            there.to_owned(),
            what,
        ]
    };
    let rows: Vec<_> = [head.to_vec()].into_iter().chain(KINDS.iter().map(row)).collect();
    terminal::data(&terminal::table(&rows, &[false; 4]));
    Ok(Exit::Done)
}

fn described(kind: &FaultKind) -> String {
    let knobs: Vec<&str> = kind.takes.iter().map(|knob| knob.name()).collect();
    if knobs.is_empty() {
        kind.what.to_string()
    } else {
        format!("{} ({})", kind.what, knobs.join(", "))
    }
}

fn place(place: FaultPlace) -> &'static str {
    match place {
        FaultPlace::Node => "node",
        FaultPlace::Host => "host",
        FaultPlace::Split => "hosts",
        FaultPlace::Cluster => "all nodes",
    }
}

struct FaultRun {
    kind: FaultKind,
    on: String,
    outcome: FaultResult,
}

fn test(args: &FaultTestArgs, common: &Common) -> Result<Exit> {
    let mut cluster = open_target(&args.at)?;
    listen()?;
    let mut done = Vec::new();
    for kind in if args.kinds.is_empty() {
        KINDS
    } else {
        &args.kinds
    } {
        let mut refused = refused_by(kind, &cluster);
        if kind.must.contains(&FaultOption::To) {
            refused.push(IN_A_STUDY.to_owned());
        }
        if !refused.is_empty() {
            terminal::say(&format!(
                "{}: not possible here: {}",
                kind.name,
                refused.join("; ")
            ));
            continue;
        }
        // The last of several nodes or hosts is not a seed, so the fault affects that one.
        let hit = last(kind, &cluster)?;
        let held = HoldTime::AfterSeen(TRIED_FOR);
        let options = kind.options(&Options::tried());
        let tried = one(kind, &hit, &options, held, &mut cluster)?;
        let is_whole = tried.outcome.whole;
        done.push(tried);
        if !is_whole {
            terminal::say(
                "the cluster has not recovered, so cassay does not test the remaining faults",
            );
        }
        if !is_whole || host::process::is_interrupted() {
            break;
        }
    }
    finish(&done, common)
}

const IN_A_STUDY: &str = "only a study can upgrade nodes: Cassandra cannot downgrade its files, \
                          and only a study starts its next trial with new nodes";

/// Returns the part of the cluster on which `test` injects a fault: the last node, the last host,
/// the split of the last host from all others, or the cluster.
fn last(kind: &FaultKind, cluster: &Cluster) -> Result<Hit> {
    let hosts = hosts_count(cluster)?;
    Ok(match kind.place {
        FaultPlace::Node => Hit::Node(NodeIndex(cluster.nodes().len() - 1)),
        FaultPlace::Host => Hit::Host(HostIndex(hosts - 1)),
        FaultPlace::Split => Hit::Split(Sides {
            of: vec![HostIndex(hosts - 1)],
            from: (0..hosts - 1).map(HostIndex).collect(),
        }),
        FaultPlace::Cluster => Hit::Cluster,
    })
}

fn by_hand(args: &FaultRunArgs, common: &Common) -> Result<Exit> {
    let kind = &args.kind;
    ensure!(
        !kind.must.contains(&FaultOption::To),
        "{}: {IN_A_STUDY}",
        kind.name
    );
    let mut cluster = open_target(&args.at)?;
    listen()?;
    let refused = refused_by(kind, &cluster);
    if !refused.is_empty() {
        bail!(
            "{} is not possible on this cluster: {}",
            kind.name,
            refused.join("; ")
        );
    }
    let options = options(&args.knobs);
    for knob in FaultOption::ALL {
        let said = knob.describe(&options).is_some();
        if said && !kind.takes(knob) {
            bail!(
                "{} does not apply to {}: remove this option",
                knob.name(),
                kind.name
            );
        }
        if !said && kind.must.contains(&knob) {
            bail!(
                "{} requires {}: see `cassay fault run --help`",
                kind.name,
                knob.name()
            );
        }
    }
    let moves = options.ha_after.is_some() || options.ha_on.is_some();
    if moves && cluster.handles()?.switch.is_none() {
        let [why, _] = NO_HA_OF_MACHINES;
        bail!(
            "--ha-after {why}\nhint: remove this option, so that the nodes start when their host \
             is up again"
        );
    }
    let hit = hit(args, &cluster)?;
    if let (Hit::Host(host), Some(on)) = (&hit, options.ha_on) {
        let count = hosts_count(&cluster)?;
        if on.0 >= count || on == *host {
            bail!(
                "--ha-on {}: use a number from 1 to {count}, except {}, the host with the fault",
                on.number(),
                host.number()
            );
        }
    }
    let held = HoldTime::For(Duration::from_nanos(args.for_ns));
    let done = one(kind, &hit, &options, held, &mut cluster)?;
    finish(&[done], common)
}

/// Returns the target that the arguments name. The arguments number nodes and hosts from 1, but
/// indexes start at 0.
fn hit(args: &FaultRunArgs, cluster: &Cluster) -> Result<Hit> {
    let (nodes, hosts) = (cluster.nodes().len(), hosts_count(cluster)?);
    let index = |number: usize, count: usize, what: &str| match number {
        0 => bail!("{what} 0 does not exist: numbers start at 1"),
        _ if number > count => {
            bail!("{what} {number} does not exist: the number of {what}s in the cluster is {count}")
        }
        _ => Ok(number - 1),
    };
    let node = |number: usize| index(number, nodes, "node").map(NodeIndex);
    let host = |number: usize| index(number, hosts, "host").map(HostIndex);
    let host_of = |node: NodeIndex| -> Result<HostIndex> {
        let name = &cluster.node_at(node)?.host;
        let found = cluster.host_of(node);
        found.with_context(|| {
            format!("cassay has no agent on {name}, so it cannot inject a fault there")
        })
    };
    match (args.kind.place, args.node, args.host) {
        (FaultPlace::Node, Some(number), _) => Ok(Hit::Node(node(number)?)),
        // Nodes are assigned to hosts in turn, so the first node of a host has the same index as
        // the host.
        (FaultPlace::Node, None, Some(number)) => Ok(Hit::Node(NodeIndex(host(number)?.0))),
        (FaultPlace::Host, None, Some(number)) => Ok(Hit::Host(host(number)?)),
        (FaultPlace::Host, Some(number), _) => Ok(Hit::Host(node(number).and_then(host_of)?)),
        (FaultPlace::Split, ..) if !args.hosts.is_empty() => {
            let all = |numbers: &[usize]| -> Result<Vec<HostIndex>> {
                numbers.iter().map(|number| host(*number)).collect()
            };
            let of = all(&args.hosts)?;
            let from = if args.from.is_empty() {
                (0..hosts).map(HostIndex).filter(|host| !of.contains(host)).collect()
            } else {
                all(&args.from)?
            };
            Ok(Hit::Split(Sides { of, from }))
        }
        (FaultPlace::Cluster, None, None) if args.hosts.is_empty() => Ok(Hit::Cluster),
        (FaultPlace::Cluster, ..) => bail!(
            "{} affects all nodes: remove --node, --host and --hosts",
            args.kind.name
        ),
        (FaultPlace::Node, ..) => bail!("the fault requires a node's number: add --node NUMBER"),
        (FaultPlace::Host, ..) => bail!("the fault requires a host's number: add --host NUMBER"),
        (FaultPlace::Split, ..) => {
            bail!("the fault requires the numbers of the hosts to cut off: add --hosts NUMBERS")
        }
    }
}

fn options(knobs: &FaultKnobs) -> Options {
    Options {
        cpus: knobs.cpus,
        disk: DiskSpec {
            read_iops: knobs.read_iops,
            write_iops: knobs.write_iops,
            ..DiskSpec::default()
        },
        leave_bytes: knobs.leave,
        loss: knobs.loss,
        rate_bits_per_s: knobs.rate,
        delay: knobs.delay.map(Duration::from_nanos),
        by: knobs.by.map(Duration::from_nanos),
        ha_after: knobs.ha_after.map(Duration::from_nanos),
        ha_on: knobs.ha_on.map(|number| HostIndex(number.get() - 1)),
        yaml: knobs.yaml.iter().cloned().collect(),
        ..Options::default()
    }
}

/// Makes Ctrl-C heal the fault.
fn listen() -> Result<()> {
    host::process::heed(Arc::clone(&interrupt::flag()?));
    Ok(())
}

#[derive(Clone, Copy)]
enum HoldTime {
    /// Time since the injection of the fault, or since the completion of its task.
    For(Duration),
    /// Time since a probe observed the fault.
    AfterSeen(Duration),
}

fn one(
    kind: &FaultKind,
    hit: &Hit,
    options: &Options,
    held: HoldTime,
    cluster: &mut Cluster,
) -> Result<FaultRun> {
    let on = describe(hit, cluster);
    terminal::say(&format!("{} of {on}", kind.name));
    let (order, orders) = ::fault::orders();
    let order = Arc::new(order);
    let mut live = Live::new(cluster.handles()?, orders);
    let began_ns = clock::now_ns();
    let planned = match held {
        HoldTime::For(length) => length,
        HoldTime::AfterSeen(length) => tried_within(kind) + length,
    };
    // With [`HoldTime::AfterSeen`], the hold time begins when the fault reaches this step.
    let shown = if kind.length.works() {
        FaultStep::Done
    } else {
        FaultStep::Seen
    };
    let outcome = ::fault::run(kind, hit, options, &mut live, planned, &mut |step| {
        let seconds = (step.at_ns.saturating_sub(began_ns)) as f64 / 1e9;
        terminal::say(&format!("  {seconds:6.1} s  {}: {}", step.what, step.words));
        let length = match (held, step.what) {
            _ if !kind.length.is_said() => return,
            (HoldTime::For(length), what) if what == ::fault::holds_from(kind) => length,
            // The command continues an injection until the injection succeeds, the time limit
            // passes, or the user presses Ctrl-C.
            (HoldTime::For(_), FaultStep::Injecting) => MANUAL_INJECTION_LIMIT,
            (HoldTime::AfterSeen(length), what) if what == shown => length,
            // Without this limit, the command would wait forever for a fault that no probe
            // observes.
            (HoldTime::AfterSeen(_), FaultStep::Injecting) => tried_within(kind),
            _ => return,
        };
        if heal_after(length, Arc::clone(&order)).is_err() {
            // If this code cannot start a timer, it heals the fault at once, because no other code
            // would heal the fault.
            order.heal();
        }
    });
    for (index, process) in live.processes().into_pairs() {
        let known = cluster.node_at(index)?.pid;
        let ours = !cluster.is_attached();
        if let Some(process) = process.filter(|one| ours && known != Some(one.pid)) {
            cluster.started(index, process)?;
        }
    }
    Ok(FaultRun {
        kind: kind.clone(),
        on,
        outcome,
    })
}

/// Returns the time within which a probe must observe a fault, or within which a fault must finish
/// its task.
fn tried_within(kind: &FaultKind) -> Duration {
    if kind.length.works() {
        TASK_LIMIT
    } else {
        OBSERVATION_LIMIT
    }
}

/// Requests healing when the time limit expires, or when the user presses Ctrl-C.
fn heal_after(length: Duration, order: Arc<Order>) -> Result<()> {
    let deadline = clock::Deadline::after(length);
    std::thread::Builder::new()
        .name("heal".to_owned())
        .spawn(move || {
            while !deadline.passed() && !host::process::is_interrupted() {
                clock::sleep(deadline.left().min(Duration::from_millis(100)));
            }
            order.heal();
        })
        .map(drop)
        .context("start the thread that requests healing")
}

fn describe(hit: &Hit, cluster: &Cluster) -> String {
    let hosts = cluster.host_names();
    match hit {
        Hit::Node(index) => cluster.nodes()[index.0].name.clone(),
        Hit::Host(_) | Hit::Split(_) | Hit::Nodes(_) | Hit::Cluster => {
            hit.words(|host| hosts.get(host).cloned().unwrap_or_default())
        }
    }
}

fn finish(done: &[FaultRun], common: &Common) -> Result<Exit> {
    if common.json {
        terminal::json(&done.iter().map(to_json).collect());
    } else {
        let head = [
            "Kind",
            "On",
            "Verdict",
            "Seen after",
            "Intact after healing",
        ];
        let row = |one: &FaultRun| {
            let between = |from: FaultStep, to: FaultStep| {
                let (from, to) = (one.outcome.at_ns(from), one.outcome.at_ns(to));
                let both = from.zip(to);
                both.map_or("\u{2013}".to_owned(), |(from, to)| {
                    format!("{:.1} s", to.saturating_sub(from) as f64 / 1e9)
                })
            };
            let verdict = one.outcome.verdict().name().to_owned();
            let times = [
                between(FaultStep::Injecting, FaultStep::Seen),
                between(FaultStep::Healing, FaultStep::Whole),
            ];
            let first = vec![one.kind.name.to_string(), one.on.clone(), verdict];
            [first, times.to_vec()].concat()
        };
        let head = head.map(str::to_owned).to_vec();
        let rows: Vec<_> = [head].into_iter().chain(done.iter().map(row)).collect();
        terminal::data(&terminal::table(&rows, &[false, false, false, true, true]));
    }
    let all = |verdict: FaultVerdict| done.iter().all(|one| one.outcome.verdict() == verdict);
    Ok(match all(FaultVerdict::Confirmed) {
        _ if host::process::is_interrupted() => Exit::Interrupted,
        true => Exit::Done,
        false => Exit::Invalid,
    })
}

fn to_json(done: &FaultRun) -> Value {
    let step = |step: &::fault::LifeCycleStep| {
        let said = &step.words;
        json!({"at_ns": step.at_ns, "step": step.what, "said": said})
    };
    let steps: Vec<Value> = done.outcome.steps.iter().map(step).collect();
    json!({
        "kind": done.kind.name,
        "place": done.on,
        "verdict": done.outcome.verdict().name(),
        "steps": steps,
    })
}
