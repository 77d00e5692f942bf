//! Capabilities of a target, derived from its spec before cassay starts the target.

use crate::attach::{NO_AGENTS, NO_METRICS, from_kubernetes, machine_capabilities, pods};
use crate::capability::{
    Answer, BY_METRICS, OnMachines, Sources, attached_capabilities, managed_capabilities,
};
use crate::local::assign_hosts;
use target_spec::{AttachSpec, CapabilityStatus, Target};

/// Returns the status of every capability of the target, in the order of [`Capability::ALL`].
/// Probes the machine that runs cassay, but does not contact the nodes of an attached cluster.
pub fn capabilities_of(target: &Target) -> Vec<CapabilityStatus> {
    let attached = |spec: &AttachSpec, metrics: Answer| {
        let agents = spec.kubernetes.as_ref().and_then(|described| described.agents.as_ref());
        let on_machines = match (&spec.hosts[..], agents) {
            // The pods are unknown before the discovery.
            (_, Some(agents)) => {
                machine_capabilities::expected(&[from_kubernetes::placeholder(agents)])
            }
            ([], None) => OnMachines::none(),
            (hosts, None) => machine_capabilities::expected(hosts),
        };
        let in_pods = match &spec.kubernetes {
            Some(_) => Ok(pods::BY_CLUSTER.to_owned()),
            None => Err(pods::NO_PODS.to_owned()),
        };
        let shown = Sources {
            tables: attached_tables(),
            mbeans: attached_mbeans(spec),
            metrics,
        };
        attached_capabilities(&shown, &on_machines, &in_pods)
    };
    match target {
        Target::Local(spec) => managed_capabilities(&local_mbeans(), &assign_hosts::answer(spec)),
        Target::Attach(spec) => attached(spec, attached_metrics()),
        Target::Null(_) => attached(&AttachSpec::default(), Err(NO_METRICS.to_owned())),
    }
}

/// Returns the capabilities of simulated hosts on the agent's machine.
///
/// # Errors
/// The agent has ended.
pub fn capabilities_there(agent: &host::Agent) -> anyhow::Result<Vec<CapabilityStatus>> {
    let mut all = agent.capabilities()?;
    all.sort_by_key(|one| one.capability);
    Ok(all)
}

fn local_mbeans() -> Answer {
    match std::env::var_os("CASSANDRA_HOME").filter(|home| !home.is_empty()) {
        None => Ok("the Jolokia agent in every node's JVM".to_string()),
        Some(_) => Ok("the Jolokia agent, if cassay has downloaded it for this user".to_string()),
    }
}

fn attached_tables() -> Answer {
    Ok("since Cassandra 4.0".to_string())
}

fn attached_metrics() -> Answer {
    Ok(format!("{BY_METRICS} (since Cassandra 6.0)"))
}

fn attached_mbeans(spec: &AttachSpec) -> Answer {
    match &spec.jolokia {
        Some(access) => Ok(format!("Jolokia agents on port {}", access.port)),
        None => Err(NO_AGENTS.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::tests::one;
    use crate::capability::{LOOPBACK, running_mbeans};
    use target_spec::{AttachedHost, Capability, HostsSpec, Isolation, JolokiaAccess, LocalSpec};

    #[test]
    fn nodes_that_share_the_machine_have_nothing_of_hosts() {
        let local = |isolation: Option<Isolation>| {
            let hosts = isolation.map(|isolation| HostsSpec {
                count: 3,
                isolation,
                ..HostsSpec::default()
            });
            capabilities_of(&Target::Local(LocalSpec {
                hosts,
                ..LocalSpec::default()
            }))
        };
        let plain = local(None);
        let loopback = local(Some(Isolation::Loopback));
        for capability in Capability::ALL.into_iter().filter(|one| *one >= Capability::Hosts) {
            let (present, why) = one(&plain, capability);
            assert!(
                !present && why.contains("hosts: 3"),
                "{capability:?}: {why}"
            );
            assert_eq!(
                one(&loopback, capability),
                (false, LOOPBACK),
                "{capability:?}"
            );
        }
        let (present, how) = one(&loopback, Capability::DropPageCache);
        assert!(present && how.contains("file by file"), "{how}");
    }

    #[test]
    fn an_attached_cluster_is_seen_by_cql_and_more_by_agents() {
        let there = |spec: AttachSpec| -> Vec<&'static str> {
            let all = capabilities_of(&Target::Attach(spec));
            let present = all.into_iter().filter(|one| one.present);
            present.map(|one| one.capability.name()).collect()
        };
        assert_eq!(
            there(AttachSpec::default()),
            ["operation-counts", "settle", "settings"]
        );
        let with_agents = AttachSpec {
            jolokia: Some(JolokiaAccess::default()),
            ..AttachSpec::default()
        };
        assert_eq!(
            there(with_agents),
            [
                "operation-counts",
                "settle",
                "snapshot",
                "mbeans",
                "jvm-metrics",
                "settings"
            ]
        );
        let with_hosts = AttachSpec {
            hosts: vec![AttachedHost::default()],
            ..AttachSpec::default()
        };
        assert_eq!(
            there(with_hosts),
            [
                "operation-counts",
                "settle",
                "process-statistics",
                "host-metrics",
                "settings",
                "node-signals",
                "hosts",
                "host-cut",
                "packet-filter",
                "packet-loss",
                "connection-reset"
            ]
        );
        let old = Err("needs virtual tables".to_string());
        let shown = Sources {
            tables: old.clone(),
            mbeans: running_mbeans(true),
            metrics: old.clone(),
        };
        let all = attached_capabilities(&shown, &OnMachines::none(), &old);
        assert_eq!(
            one(&all, Capability::Settings),
            (false, "needs virtual tables")
        );
    }
}
