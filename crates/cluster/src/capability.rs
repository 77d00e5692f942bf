//! Capabilities of a target. If a plan needs a capability that the target lacks, cassay refuses the
//! plan before it starts anything.
//!
//! [`crate::capabilities_of`] derives capabilities from a spec before the start. It treats facts
//! that are only known later as present, for example the version of an attached node.
//! [`crate::Cluster::capabilities`] contains the capabilities of the running target.

use crate::attach::pods;
use cassandra::COUNTS_SOURCE;
use std::collections::BTreeMap;
use target_spec::{Capability, CapabilityStatus};

/// Way in which an action is possible, or the reason why it is impossible, with a remedy.
pub(crate) type Answer = Result<String, String>;

/// Capabilities of isolated hosts, or the reason why the nodes share one machine.
/// [`Capability::DropPageCache`] is included, because a host has one page cache.
pub(crate) type HostsAnswer = Result<BTreeMap<Capability, Answer>, String>;

pub(crate) const NO_HOSTS: &str =
    "the nodes share this machine; to give them separate hosts, set `target: {local: {hosts: 3}}`";

pub(crate) const LOOPBACK: &str =
    "the hosts are only loopback addresses of this machine (isolation: loopback)";

pub(crate) fn managed_capabilities(mbeans: &Answer, hosts: &HostsAnswer) -> Vec<CapabilityStatus> {
    all(|capability| local(capability, mbeans, hosts))
}

fn local(capability: Capability, mbeans: &Answer, hosts: &HostsAnswer) -> Answer {
    let ok = |how: &str| Ok(how.to_string());
    let by_mbeans = |how: &str, without: &str| match mbeans {
        Ok(_) => Ok(how.to_string()),
        Err(why) => Err(format!("{why}: {without}")),
    };
    match capability {
        Capability::Provision => ok(
            "cassay sets cassandra.yaml, heap, JVM options, racks, hosts and the number of nodes",
        ),
        Capability::Restart => {
            ok("cassay drains, stops, changes and starts one node after the other")
        }
        Capability::OperationCounts => ok(COUNTS_SOURCE),
        Capability::Settle => by_mbeans(
            "MBeans, through the Jolokia agents",
            "cassay sees running compactions in virtual tables, but cannot flush memtables or see \
             pending compactions",
        ),
        Capability::Snapshot => by_mbeans(
            "hard links on the volumes of the nodes, and imports through MBeans",
            "cassay cannot flush memtables or import files",
        ),
        Capability::OfflineRestore => by_mbeans(
            "cassay swaps files while the node is stopped",
            "snapshots require them",
        ),
        Capability::DropPageCache => match host_capability(hosts, capability) {
            Ok(how) => Ok(format!("for all files of a host together: {how}")),
            Err(_) => ok("file by file: cassay asks the kernel to drop the pages of each file"),
        },
        Capability::Mbeans => mbeans.clone(),
        Capability::JvmMetrics => by_mbeans(
            "the MBeans of the JVM, through the Jolokia agents",
            "cassay can read only the log of the collector",
        ),
        Capability::GcLog => ok("each node writes a log on this machine"),
        Capability::ProcessStatistics => ok("processes of this machine"),
        Capability::HostMetrics => ok("/proc and /sys of this machine"),
        Capability::Logs => ok("files of this machine"),
        Capability::Settings => ok("system_views.settings"),
        Capability::NodeSignals | Capability::NodeControl => ok("cassay's agents started the \
            processes"),
        Capability::PodControl => Err(
            "no Kubernetes operator would replace a pod of these nodes after cassay deleted it. \
             cassay can delete pods of an attached cluster (`attach: {kubernetes: …}`)"
                .to_owned(),
        ),
        Capability::NetworkPolicy => {
            let answer = hosts.as_ref().ok().and_then(|all| all.get(&capability));
            answer.cloned().unwrap_or_else(|| Err(pods::NO_PODS.to_owned()))
        }
        _ => host_capability(hosts, capability),
    }
}

fn host_capability(hosts: &HostsAnswer, capability: Capability) -> Answer {
    let unasked = || Err("cassay did not check this capability on this machine".to_string());
    let answers = hosts.as_ref().map_err(String::clone)?;
    answers.get(&capability).cloned().unwrap_or_else(unasked)
}

const NO_AGENT: &str = "the folder of this distribution contains no Jolokia agent (to download the \
                        agent, run once without CASSANDRA_HOME)";

pub(crate) fn running_mbeans(has_agents: bool) -> Answer {
    if has_agents {
        Ok("the Jolokia agent in every node's JVM".to_string())
    } else {
        Err(NO_AGENT.to_string())
    }
}

/// Capabilities on the machines of attached nodes, grouped by the required access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OnMachines {
    /// Metrics of the machines.
    pub figures: Answer,
    pub processes: Answer,
    pub logs: Answer,
    /// Pausing and killing processes by signals.
    pub signals: Answer,
    /// Stopping and starting nodes.
    pub control: Answer,
    /// Answer for each capability in [`OF_NETWORK`]. Empty if cassay can reach no machine.
    pub network: BTreeMap<Capability, Answer>,
}

/// Capabilities on the machines of attached nodes for network faults.
pub(crate) const OF_NETWORK: [Capability; 4] = [
    Capability::HostCut,
    Capability::PacketFilter,
    Capability::PacketLoss,
    Capability::Reset,
];

impl OnMachines {
    /// Returns the capabilities if cassay can reach no machine.
    pub(crate) fn none() -> OnMachines {
        let no = |why: &str| -> Answer { Err(format!("{why}; {BY_HOSTS}")) };
        OnMachines {
            figures: no(
                "cassay reads only this machine, on which the client runs. To import data that \
                 other tools record on the hosts, set `probes: {import: …}`",
            ),
            processes: no("CQL does not show processes"),
            logs: no("CQL does not show log files"),
            signals: no("cassay did not start the processes"),
            control: no("cassay did not start the nodes"),
            network: BTreeMap::new(),
        }
    }
}

const BY_HOSTS: &str = "to name the nodes' machines, set `attach: {hosts: {ssh: [HOST, …]}}`";

/// Sources of data about attached nodes that need no access to their machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sources {
    pub tables: Answer,
    /// Access to MBeans through Jolokia agents.
    pub mbeans: Answer,
    /// Metrics tables, which exist since Cassandra 6.0.
    pub metrics: Answer,
}

const WITHOUT_MBEANS: &str = "without MBeans, virtual tables show running compactions, but cassay \
     cannot flush memtables, and before Cassandra 6.0 it cannot see pending compactions";

pub(crate) const BY_METRICS: &str = "running and pending compactions from system_metrics and \
                                     system_views, but no flush of memtables";

pub(crate) fn attached_capabilities(
    shown: &Sources,
    on_machines: &OnMachines,
    in_pods: &Answer,
) -> Vec<CapabilityStatus> {
    all(|capability| match capability {
        Capability::PodControl | Capability::NetworkPolicy => in_pods.clone(),
        _ => attached(capability, shown, on_machines),
    })
}

fn attached(capability: Capability, shown: &Sources, there: &OnMachines) -> Answer {
    let no = |why: &str| Err(why.to_string());
    let by_tables = |how: &str| shown.tables.clone().map(|_| how.to_string());
    let mbeans = &shown.mbeans;
    match capability {
        Capability::Provision | Capability::Restart => {
            no("cassay did not start the cluster, so it cannot configure the nodes")
        }
        Capability::OperationCounts => by_tables(COUNTS_SOURCE),
        Capability::Settings => by_tables("system_views.settings"),
        Capability::Mbeans => mbeans.clone(),
        Capability::Settle => {
            let unseen = |why: &String| format!("{why}; {WITHOUT_MBEANS}");
            mbeans.clone().or_else(|why| shown.metrics.clone().map_err(|_| unseen(&why)))
        }
        Capability::JvmMetrics => {
            mbeans.clone().map_err(|why| format!("cassay cannot reach the JVMs: {why}"))
        }
        Capability::Snapshot => {
            let how = "the server's snapshots, which cassay creates and imports through MBeans";
            mbeans.clone().map(|_| how.to_owned())
        }
        Capability::OfflineRestore => no("cassay did not start the processes of the nodes"),
        Capability::DropPageCache => no("cassay cannot reach the nodes' machines"),
        Capability::ProcessStatistics => there.processes.clone(),
        Capability::HostMetrics => there.figures.clone(),
        Capability::Logs | Capability::GcLog => there.logs.clone(),
        Capability::NodeSignals => there.signals.clone(),
        Capability::NodeControl => there.control.clone(),
        Capability::Hosts => there.figures.clone(),
        // The remaining capabilities need access to the network, or hosts that cassay created.
        _ => match there.network.get(&capability) {
            Some(answer) => answer.clone(),
            None => no("cassay did not create the cluster's hosts"),
        },
    }
}

fn all(of: impl Fn(Capability) -> Answer) -> Vec<CapabilityStatus> {
    let status = |capability| CapabilityStatus::from_answer(capability, of(capability));
    Capability::ALL.into_iter().map(status).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn one(all: &[CapabilityStatus], capability: Capability) -> (bool, &str) {
        let found = all.iter().find(|one| one.capability == capability);
        found
            .map(|one| (one.present, one.detail.as_str()))
            .expect("the list has an entry for every capability")
    }

    /// Returns the answers of a machine with all capabilities except delaying a link.
    fn machine() -> HostsAnswer {
        let of_hosts = Capability::ALL.into_iter().filter(|one| *one >= Capability::Hosts);
        let answer = |capability: Capability| match capability {
            Capability::LinkDelay => (capability, Err("no netem".to_string())),
            _ => (capability, Ok("by the kernel".to_string())),
        };
        Ok(of_hosts.chain([Capability::DropPageCache]).map(answer).collect())
    }

    #[test]
    fn names_are_unique_and_every_capability_is_answered_in_order() {
        let mut names = Capability::ALL.map(Capability::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Capability::ALL.len());
        let mbeans = running_mbeans(true);
        let shown = Sources {
            tables: mbeans.clone(),
            mbeans: mbeans.clone(),
            metrics: mbeans.clone(),
        };
        let attached = attached_capabilities(&shown, &OnMachines::none(), &mbeans);
        for all in [managed_capabilities(&mbeans, &machine()), attached] {
            let order: Vec<Capability> = all.iter().map(|one| one.capability).collect();
            assert_eq!(order, Capability::ALL);
            assert!(all.iter().all(|one| !one.detail.is_empty()));
        }
    }

    #[test]
    fn a_host_can_what_the_machine_can() {
        let all = managed_capabilities(&running_mbeans(true), &machine());
        assert_eq!(one(&all, Capability::Hosts), (true, "by the kernel"));
        assert_eq!(one(&all, Capability::Volume), (true, "by the kernel"));
        assert_eq!(one(&all, Capability::LinkDelay), (false, "no netem"));
        let (present, how) = one(&all, Capability::DropPageCache);
        assert!(present && how.contains("all files of a host"), "{how}");
    }

    #[test]
    fn without_agents_there_are_no_mbeans_and_no_snapshots() {
        let without = managed_capabilities(&running_mbeans(false), &machine());
        let by_agent = [
            Capability::Settle,
            Capability::Snapshot,
            Capability::OfflineRestore,
            Capability::Mbeans,
            Capability::JvmMetrics,
        ];
        let of_pods = [Capability::PodControl, Capability::NetworkPolicy];
        for capability in Capability::ALL.into_iter().filter(|one| !of_pods.contains(one)) {
            let (present, why) = one(&without, capability);
            let expected = !by_agent.contains(&capability) && capability != Capability::LinkDelay;
            assert_eq!(present, expected, "{capability:?}: {why}");
            assert!(
                present || why.contains("CASSANDRA_HOME") || why == "no netem",
                "{why}"
            );
        }
    }
}
