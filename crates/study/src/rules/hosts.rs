//! Rules for local nodes and their hosts. They check numbers, racks, limits, placement and garbage
//! collectors.

use super::machines;
use super::rule_input::Subject;
use crate::checked_tree::Tree;
use crate::format;
use crate::settings::Draft;
use crate::units;
use ::yaml::Diagnostics;
use measure::number::counted;

const HOSTS: &str = "target.local.hosts";
const HOST: &str = "target.local.host";

/// Applies the rules for hosts.
pub fn check(subject: &Subject<'_>, out: &mut Diagnostics) {
    if !subject.has("target.local") {
        return;
    }
    nodes(subject, out);
    racks(subject, out);
    replication(subject, out);
    without_hosts(subject, out);
    limits_of_loopback(subject, out);
    memory(subject, out);
    volume(subject, out);
    disk(subject, out);
    collector(subject, out);
    topology(subject, out);
    startable(subject, out);
}

/// Reports settings with which nodes could not start on any machine.
fn startable(subject: &Subject<'_>, out: &mut Diagnostics) {
    let local = super::cassandra::found(&Draft::from_tree(subject.tree), subject);
    for refusal in target_spec::spec_refusals(&local) {
        let path = format!("target.local.{}", refusal.key);
        subject.say(&path, refusal.why, Some(&refusal.hint), out);
    }
}

/// Checks the placement of nodes on the CPUs of the machine. Units and their number need each
/// other, and other keys must not contradict the placement. The CPUs of the nodes must fit into the
/// stated cores.
fn topology(subject: &Subject<'_>, out: &mut Diagnostics) {
    const KEYS: [(&str, &str, &str); 2] = [
        ("units", "count", "add `count: 2`, or remove `units`"),
        (
            "count",
            "units",
            "add `units: cores` (or l3, numa, sockets), or remove `count`",
        ),
    ];
    let path = |key: &str| format!("target.local.topology.{key}");
    for (key, needs, hint) in KEYS {
        if subject.wrote(&path(key)) && !subject.wrote(&path(needs)) {
            let message = format!("`{}` needs `{needs}`", path(key));
            subject.say(&path(key), message, Some(hint), out);
        }
    }
    let word = subject.text("target.local.topology");
    let placing = word.or_else(|| subject.text(&path("placing")));
    let floats = placing.filter(|word| matches!(*word, "none" | "one-socket-per-vcpu"));
    let kept = subject.count(&path("housekeeping")).unwrap_or(0);
    if let Some(word) = floats.filter(|_| kept > 0) {
        let message = format!(
            "`{}` is {kept}, but with `placing: {word}` nodes may use every core",
            path("housekeeping")
        );
        let hint = "use `placing: auto` or `pinned`, or set `housekeeping: 0`; `units` and \
                    `count` limit all nodes to a part of the machine";
        subject.say(&path("housekeeping"), message, Some(hint), out);
    }
    let is_placed = floats.is_none() && subject.wrote("target.local.topology");
    let seats_client = is_placed || subject.wrote(&path("client"));
    if seats_client && subject.wrote("client.cpus") {
        let message = "`client.cpus` and `target.local.topology` both place the client";
        let hint = "remove `client.cpus`: the client then uses the remaining CPUs; to reserve CPUs \
                    for the client, set `topology: {client: 2}`";
        subject.say("client.cpus", message.to_owned(), Some(hint), out);
    }
    let cpus = path("cpus");
    if let Some(nodes) = nodes_count(subject)
        && let Some(each) = subject.count(&cpus)
        && let Some(count) = subject.count(&path("count"))
        && subject.text(&path("units")) == Some("cores")
        && nodes * each > count * THREADS_OF_CORE_MAX
    {
        let message = format!(
            "{} with {each} CPUs each do not fit into {}",
            counted(nodes, "node"),
            counted(count, "core")
        );
        subject.say(
            &cpus,
            message,
            Some("lower `cpus`, or remove it: the nodes then share the available CPUs"),
            out,
        );
    }
}

const THREADS_OF_CORE_MAX: u64 = 8;

/// Returns the number of local nodes. `None` if it is unknown. Several keys can define this number.
pub fn nodes_count(subject: &Subject<'_>) -> Option<u64> {
    subject.has("target.local").then_some(())?;
    match on_hosts(subject) {
        Some(nodes) => Some(nodes),
        None if subject.wrote(HOSTS) => None,
        None if subject.wrote("target.local.nodes") => subject.count("target.local.nodes"),
        None => Some(1),
    }
}

fn on_hosts(subject: &Subject<'_>) -> Option<u64> {
    Some(shares(subject)?.iter().sum())
}

/// Returns the number of nodes on each host.
fn shares(subject: &Subject<'_>) -> Option<Vec<u64>> {
    let hosts = subject.count(HOSTS)?.min(format::LOCAL_NODES_MAX);
    let each = subject.count("target.local.nodes_per_host")?;
    let stated = machines::nodes(subject.node)?;
    let of = |host: usize| stated.get(host).copied().flatten().unwrap_or(each);
    Some((0..hosts as usize).map(of).collect())
}

/// Returns the largest number of nodes on one host.
fn most(subject: &Subject<'_>) -> Option<u64> {
    if subject.wrote(HOSTS) {
        return shares(subject)?.into_iter().max();
    }
    subject.count("target.local.nodes_per_host")
}

fn nodes(subject: &Subject<'_>, out: &mut Diagnostics) {
    let Some(product) = on_hosts(subject) else {
        return;
    };
    if let Some(nodes) = subject.count("target.local.nodes")
        && nodes != product
    {
        let path = "target.local.nodes";
        let message =
            format!("`{path}` is {nodes}, but the number of nodes on all hosts is {product}");
        subject.say(path, message, Some("remove one of the two keys"), out);
    }
    if product > format::LOCAL_NODES_MAX {
        let most = format::LOCAL_NODES_MAX;
        let message = format!("hosts × nodes per host is {product}; the maximum is {most}");
        subject.say(HOSTS, message, None, out);
    }
}

fn racks(subject: &Subject<'_>, out: &mut Diagnostics) {
    let path = "target.local.racks";
    let Some(tree) = subject.tree.find(path) else {
        return;
    };
    let hosts = subject.count(HOSTS);
    if tree.text().is_some() && hosts.is_none() && !subject.wrote(HOSTS) {
        let message = format!("`{path}: per-host` needs hosts");
        let hint = "add `hosts: 3`, or name the racks; cassay assigns nodes to them one after the \
                    other";
        subject.say(path, message, Some(hint), out);
        return;
    }
    // If the study has hosts, racks belong to hosts instead of nodes.
    let (Some(places), word) = (
        hosts.or_else(|| nodes_count(subject)),
        hosts.map(|_| "host"),
    ) else {
        return;
    };
    let (racks, word) = (tree.items().len() as u64, word.unwrap_or("node"));
    if racks > places {
        let message = format!(
            "the target has {racks} racks but only {}, so at least one rack would be empty",
            counted(places, word)
        );
        subject.say(path, message, Some("name fewer racks"), out);
    }
}

fn replication(subject: &Subject<'_>, out: &mut Diagnostics) {
    let path = "keyspace.replication";
    let (Some(nodes), Some(tree)) = (nodes_count(subject), subject.tree.find(path)) else {
        return;
    };
    let datacenter = subject.text("target.local.datacenter").unwrap_or_default();
    for (name, copies) in tree.entries() {
        let path = format!("{path}.{name}");
        if name != datacenter {
            let message = format!(
                "`keyspace.replication` names the datacenter `{name}`, but the target has only \
                 `{datacenter}`"
            );
            subject.say(&path, message, None, out);
        }
        too_many_copies(subject, &path, copies.count(), nodes, out);
    }
    too_many_copies(subject, path, tree.count(), nodes, out);
}

fn too_many_copies(
    subject: &Subject<'_>,
    path: &str,
    copies: Option<u64>,
    nodes: u64,
    out: &mut Diagnostics,
) {
    if let Some(copies) = copies.filter(|copies| *copies > nodes) {
        let message = format!(
            "`{path}` is {copies}, but the target has {}",
            counted(nodes, "node")
        );
        let more = if subject.wrote(HOSTS) {
            "raise target.local.hosts, or lower the number of replicas"
        } else {
            "raise target.local.nodes, or lower the number of replicas"
        };
        subject.say(path, message, Some(more), out);
    }
}

/// Reports keys that need hosts if the study has none.
fn without_hosts(subject: &Subject<'_>, out: &mut Diagnostics) {
    if subject.wrote(HOSTS) {
        return;
    }
    for path in [
        HOST,
        "target.local.isolation",
        "target.local.nodes_per_host",
    ] {
        if subject.wrote(path) {
            let message = format!("`{path}` applies to hosts, but the target has no hosts");
            let hint = "add `hosts: 3` instead of `nodes: 3`";
            subject.say(path, message, Some(hint), out);
        }
    }
}

/// Reports limits of hosts if the isolation is loopback. Loopback hosts have only separate
/// addresses and cannot have limits.
fn limits_of_loopback(subject: &Subject<'_>, out: &mut Diagnostics) {
    if subject.text("target.local.isolation") != Some("loopback") {
        return;
    }
    for key in ["cpus", "cpu_quota", "memory", "volume", "disk", "link"] {
        let path = format!("{HOST}.{key}");
        if subject.wrote(&path) {
            let message = format!("`{path}` is not available with `isolation: loopback`");
            let hint = "use `isolation: hosts`, as root: `loopback` only gives each host an \
                        address";
            subject.say(&path, message, Some(hint), out);
        }
    }
}

fn disk(subject: &Subject<'_>, out: &mut Diagnostics) {
    let path = "target.local.host.disk";
    if subject.wrote(path) && !subject.wrote("target.local.host.volume") {
        let message = format!("`{path}` limits the data volume, but the hosts have no volumes");
        let hint = "add `volume: 8GiB`, or the size that the data needs, to `host`";
        subject.say(path, message, Some(hint), out);
    }
}

fn memory(subject: &Subject<'_>, out: &mut Diagnostics) {
    let path = "target.local.host.memory";
    let (Some(memory), Some(heap), Some(nodes)) = (
        subject.bytes(path),
        subject.bytes("target.local.heap"),
        most(subject),
    ) else {
        return;
    };
    let least = target_spec::memory_bytes(usize::try_from(nodes).unwrap_or(usize::MAX), heap);
    if memory < least {
        let message = format!(
            "`{path}` is {}, but {} with {} of heap take at least {}",
            units::format_bytes(memory),
            counted(nodes, "node"),
            units::format_bytes(heap),
            measure::number::bytes(least)
        );
        let hint = "raise this limit, or lower target.local.heap: the page cache needs additional \
                    memory";
        subject.say(path, message, Some(hint), out);
    }
}

fn volume(subject: &Subject<'_>, out: &mut Diagnostics) {
    let path = "data.load.bytes_per_node";
    let (Some(volume), Some(bytes), Some(nodes)) = (
        subject.bytes("target.local.host.volume"),
        subject.bytes(path),
        most(subject),
    ) else {
        return;
    };
    let data = bytes.saturating_mul(nodes);
    if data >= volume {
        let message = format!(
            "`{path}` is {} on each of {} per host, but the volume of a host has only {}",
            units::format_bytes(bytes),
            counted(nodes, "node"),
            units::format_bytes(volume)
        );
        let hint =
            "raise target.local.host.volume: compactions and the commit log need additional space";
        subject.say(path, message, Some(hint), out);
    }
}

/// Reports a study that selects two garbage collectors, because the JVM refuses to start with both.
fn collector(subject: &Subject<'_>, out: &mut Diagnostics) {
    let path = "target.local.jvm";
    let options = subject.tree.find(path).map(Tree::items).unwrap_or_default();
    let chooses = |option: &&str| option.starts_with("-XX:+Use") && option.ends_with("GC");
    if let Some(option) = options.iter().filter_map(Tree::text).find(chooses)
        && subject.wrote("target.local.gc")
    {
        let message = format!("`{option}` and `target.local.gc` both choose a garbage collector");
        subject.say(path, message, Some("remove one of the two settings"), out);
    }
}
