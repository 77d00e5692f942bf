//! The abilities of a target, so that a plan that needs more is refused before anything starts.
//!
//! The questions are answered twice: by [`crate::abilities_of`] from a description before the
//! start, and by [`crate::Cluster::capabilities`] from the running target. Facts that only a
//! running target reveals (the version of an attached node) count as present in the first answer,
//! so that nothing is refused on a guess.

use crate::attach::pods;
use std::collections::BTreeMap;
use target_spec::{Ability, Capability};

/// Source of the server's operation counts, as capabilities and reports name it.
pub(crate) const COUNTS_SOURCE: &str =
    "system_views.coordinator_{write,read,scan}_latency, column count";

/// Means by which something is done, or why it cannot be done and what would enable it.
pub(crate) type Answer = Result<String, String>;

/// Abilities of isolated hosts, or why the nodes share the machine. [`Ability::DropPageCache`] is
/// one of them, because it drops a host's whole cache at once.
pub(crate) type HostsAnswer = Result<BTreeMap<Ability, Answer>, String>;

/// Reason for missing host abilities if the target asks for no hosts.
pub(crate) const NO_HOSTS: &str =
    "the nodes share this machine; `target: {local: {hosts: 3}}` would bring hosts of their own";

/// Reason for missing host abilities if the hosts have no isolation.
pub(crate) const LOOPBACK: &str =
    "the hosts are addresses of this machine and nothing more (isolation loopback)";

/// Abilities of managed nodes.
pub(crate) fn managed_capabilities(mbeans: &Answer, hosts: &HostsAnswer) -> Vec<Capability> {
    all(|ability| local(ability, mbeans, hosts))
}

fn local(ability: Ability, mbeans: &Answer, hosts: &HostsAnswer) -> Answer {
    let ok = |how: &str| Ok(how.to_string());
    let by_mbeans = |how: &str, without: &str| match mbeans {
        Ok(_) => Ok(how.to_string()),
        Err(why) => Err(format!("{why}: {without}")),
    };
    match ability {
        Ability::Provision => ok("settings, heap, JVM options, racks, hosts and number of nodes"),
        Ability::Restart => ok("drain, stop, new files, start, one node after the other"),
        Ability::OperationCounts => ok(COUNTS_SOURCE),
        Ability::Settle => by_mbeans(
            "MBeans over the Jolokia agent",
            "running tasks from virtual tables, no flush, no pending estimate",
        ),
        Ability::Snapshot => by_mbeans(
            "hard links on the nodes' own volumes, and import by MBeans",
            "memtables cannot be flushed, and nothing can be imported",
        ),
        Ability::OfflineRestore => by_mbeans(
            "files are swapped while the node is stopped",
            "there are no snapshots without them",
        ),
        Ability::DropPageCache => match host_capability(hosts, ability) {
            Ok(how) => Ok(format!("of a whole host: {how}")),
            Err(_) => ok("file by file: the kernel is told that they are not needed"),
        },
        Ability::Mbeans => mbeans.clone(),
        Ability::JvmMetrics => by_mbeans(
            "the JVM's own MBeans over the Jolokia agent",
            "the log of the collector remains",
        ),
        Ability::GcLog => ok("each node writes one, on this machine"),
        Ability::ProcessStatistics => ok("processes of this machine"),
        Ability::HostMetrics => ok("/proc and /sys of this machine"),
        Ability::Logs => ok("files of this machine"),
        Ability::Settings => ok("system_views.settings"),
        Ability::NodeSignals | Ability::NodeControl => ok("processes of our agents"),
        Ability::PodControl => Err(
            "cassay's own pods only wait, and only cassay would start a node in another one; those \
             of an attached cluster (`attach: {kubernetes: …}`) can be deleted"
                .to_owned(),
        ),
        Ability::NetworkPolicy => match hosts.as_ref().ok().and_then(|all| all.get(&ability)) {
            Some(answer) => answer.clone(),
            None => Err(pods::NO_PODS.to_owned()),
        },
        // The remaining abilities depend on the hosts alone.
        _ => host_capability(hosts, ability),
    }
}

fn host_capability(hosts: &HostsAnswer, ability: Ability) -> Answer {
    let unasked = || Err("this machine was not asked".to_string());
    let answers = hosts.as_ref().map_err(String::clone)?;
    answers.get(&ability).cloned().unwrap_or_else(unasked)
}

const NO_AGENT: &str = "no Jolokia agent beside this distribution (run once without \
                        CASSANDRA_HOME to fetch it)";

/// Tells if running managed nodes have MBeans.
pub(crate) fn running_mbeans(has_agents: bool) -> Answer {
    if has_agents {
        Ok("the Jolokia agent in every node's JVM".to_string())
    } else {
        Err(NO_AGENT.to_string())
    }
}

/// Abilities on the machines of attached nodes, by the access that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OnMachines {
    /// Metrics of the machines.
    pub figures: Answer,
    /// The nodes' processes.
    pub processes: Answer,
    /// The nodes' logs.
    pub logs: Answer,
    /// Pausing and killing processes by signals.
    pub signals: Answer,
    /// Stopping and starting nodes.
    pub control: Answer,
    /// Dropping nodes' packets and connections on their machines, by the ability that it needs.
    pub network: BTreeMap<Ability, Answer>,
}

/// Abilities that network faults on the machines of attached nodes need.
pub(crate) const OF_NETWORK: [Ability; 4] = [
    Ability::HostCut,
    Ability::PacketFilter,
    Ability::PacketLoss,
    Ability::Reset,
];

impl OnMachines {
    /// Returns the value for no reachable machine.
    pub(crate) fn none() -> OnMachines {
        let no = |why: &str| -> Answer { Err(format!("{why}; {BY_HOSTS}")) };
        OnMachines {
            figures: no(
                "only this machine is in sight, where the client runs; what its hosts export can \
                 be lined up (`probes: {import: …}`)",
            ),
            processes: no("the processes are out of sight over CQL"),
            logs: no("log files are out of sight over CQL"),
            signals: no("the processes are not ours"),
            control: no("the nodes are not ours to start"),
            network: BTreeMap::new(),
        }
    }
}

/// Hint that gives access to the machines of an attached cluster.
const BY_HOSTS: &str = "`attach: {hosts: {ssh: [HOST, …]}}` would bring the nodes' machines";

/// Data that attached nodes reveal to any client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sources {
    /// Virtual tables.
    pub tables: Answer,
    /// MBeans, through Jolokia agents.
    pub mbeans: Answer,
    /// Metrics in tables.
    pub metrics: Answer,
}

/// Limits of watching compactions without MBeans and metrics.
const WITHOUT_MBEANS: &str = "without them running compactions are seen in virtual tables, but \
                              memtables are not flushed, and before Cassandra 6.0 what is pending \
                              is not known";

/// Means of watching compactions if metrics are in tables.
pub(crate) const BY_METRICS: &str = "system_metrics and system_views: running and pending \
                                     compactions; memtables are not flushed";

/// Abilities of an attached cluster: virtual tables if its version has them, MBeans if agents are
/// accessible, and machines if they are reachable.
pub(crate) fn attached_capabilities(
    shown: &Sources,
    on_machines: &OnMachines,
    in_pods: &Answer,
) -> Vec<Capability> {
    all(|ability| match ability {
        Ability::PodControl | Ability::NetworkPolicy => in_pods.clone(),
        _ => attached(ability, shown, on_machines),
    })
}

fn attached(ability: Ability, shown: &Sources, there: &OnMachines) -> Answer {
    let no = |why: &str| Err(why.to_string());
    let by_tables = |how: &str| shown.tables.clone().map(|_| how.to_string());
    let mbeans = &shown.mbeans;
    match ability {
        Ability::Provision | Ability::Restart => {
            no("the cluster is not ours to start or configure")
        }
        Ability::OperationCounts => by_tables(COUNTS_SOURCE),
        Ability::Settings => by_tables("system_views.settings"),
        Ability::Mbeans => mbeans.clone(),
        Ability::Settle => {
            let unseen = |why: &String| format!("{why}; {WITHOUT_MBEANS}");
            mbeans.clone().or_else(|why| shown.metrics.clone().map_err(|_| unseen(&why)))
        }
        Ability::JvmMetrics => mbeans.clone().map_err(|why| format!("no JVM in sight: {why}")),
        Ability::Snapshot => {
            let how = "the server's own snapshots, taken and imported by MBeans";
            mbeans.clone().map(|_| how.to_owned())
        }
        Ability::OfflineRestore => no("the nodes' processes are not ours to stop"),
        Ability::DropPageCache => no("the nodes' machines are out of reach"),
        Ability::ProcessStatistics => there.processes.clone(),
        Ability::HostMetrics => there.figures.clone(),
        Ability::Logs | Ability::GcLog => there.logs.clone(),
        Ability::NodeSignals => there.signals.clone(),
        Ability::NodeControl => there.control.clone(),
        Ability::Hosts => there.figures.clone(),
        // The remaining abilities depend on the hosts alone.
        _ => match there.network.get(&ability) {
            Some(answer) => answer.clone(),
            None => no("the cluster's hosts are not ours to make or limit"),
        },
    }
}

fn all(of: impl Fn(Ability) -> Answer) -> Vec<Capability> {
    let capability = |ability| Capability::from_answer(ability, of(ability));
    Ability::ALL.into_iter().map(capability).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn one(all: &[Capability], ability: Ability) -> (bool, &str) {
        let found = all.iter().find(|one| one.ability == ability);
        found
            .map(|one| (one.present, one.detail.as_str()))
            .expect("every ability is answered")
    }

    /// Answers of a machine that can do everything except delay a link.
    fn machine() -> HostsAnswer {
        let of_hosts = Ability::ALL.into_iter().filter(|one| *one >= Ability::Hosts);
        let answer = |ability: Ability| match ability {
            Ability::LinkDelay => (ability, Err("no netem".to_string())),
            _ => (ability, Ok("by the kernel".to_string())),
        };
        Ok(of_hosts.chain([Ability::DropPageCache]).map(answer).collect())
    }

    #[test]
    fn names_are_unique_and_every_ability_is_answered_in_order() {
        let mut names = Ability::ALL.map(Ability::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Ability::ALL.len());
        let mbeans = running_mbeans(true);
        let shown = Sources {
            tables: mbeans.clone(),
            mbeans: mbeans.clone(),
            metrics: mbeans.clone(),
        };
        let attached = attached_capabilities(&shown, &OnMachines::none(), &mbeans);
        for all in [managed_capabilities(&mbeans, &machine()), attached] {
            let order: Vec<Ability> = all.iter().map(|one| one.ability).collect();
            assert_eq!(order, Ability::ALL);
            assert!(all.iter().all(|one| !one.detail.is_empty()));
        }
    }

    #[test]
    fn a_host_can_what_the_machine_can() {
        let all = managed_capabilities(&running_mbeans(true), &machine());
        assert_eq!(one(&all, Ability::Hosts), (true, "by the kernel"));
        assert_eq!(one(&all, Ability::Volume), (true, "by the kernel"));
        assert_eq!(one(&all, Ability::LinkDelay), (false, "no netem"));
        let (present, how) = one(&all, Ability::DropPageCache);
        assert!(present && how.contains("whole host"), "{how}");
    }

    #[test]
    fn without_agents_there_are_no_mbeans_and_no_snapshots() {
        let without = managed_capabilities(&running_mbeans(false), &machine());
        let by_agent = [
            Ability::Settle,
            Ability::Snapshot,
            Ability::OfflineRestore,
            Ability::Mbeans,
            Ability::JvmMetrics,
        ];
        let of_pods = [Ability::PodControl, Ability::NetworkPolicy];
        for ability in Ability::ALL.into_iter().filter(|one| !of_pods.contains(one)) {
            let (present, why) = one(&without, ability);
            let expected = !by_agent.contains(&ability) && ability != Ability::LinkDelay;
            assert_eq!(present, expected, "{ability:?}: {why}");
            assert!(
                present || why.contains("CASSANDRA_HOME") || why == "no netem",
                "{why}"
            );
        }
    }
}
