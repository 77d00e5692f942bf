//! Actions that change one target into another. Only this module decides which settings a restart
//! can change.

use crate::spec::{LocalSpec, Target};

/// Action that changes one target into another. The actions are ordered from the smallest to the
/// largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// cassay uses the running target unchanged.
    None,
    /// cassay sets the limits of the running hosts, such as those of links and disks, without
    /// restarting nodes.
    Limits,
    /// The nodes restart and keep their data.
    Restart,
    /// cassay starts a new cluster. The running cluster is stopped, and its data is lost.
    Start,
}

/// Order in which running nodes get another configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restarts {
    /// The nodes restart one after the other, so that the ring always answers. Such a restart took
    /// 286 s on three hosts that share two cores.
    InTurn,
    /// All nodes stop, and then all nodes start. A caller uses this order if it restores the data
    /// afterwards.
    Together,
}

/// Keys of `cassandra.yaml` that determine where or in which format data is stored. Such a key must
/// not change on a node with data. Otherwise the node does not start, does not find the data, or
/// has files of both kinds.
const STORAGE_KEYS: [&str; 9] = [
    "allocate_tokens_for_keyspace",
    "allocate_tokens_for_local_replication_factor",
    "endpoint_snitch",
    "initial_token",
    "num_tokens",
    "partitioner",
    "sstable",
    "storage_compatibility_mode",
    "uuid_sstable_identifiers_enabled",
];

impl Target {
    /// Returns the action that changes the running target `from` into this target.
    pub fn change_from(&self, from: &Target) -> Change {
        match (self, from) {
            _ if self == from => Change::None,
            (Target::Local(local), Target::Local(from)) => local.change_from(from),
            _ => Change::Start,
        }
    }
}

impl LocalSpec {
    fn change_from(&self, from: &LocalSpec) -> Change {
        let limits = |spec: &LocalSpec| spec.hosts.as_ref().map(|hosts| hosts.host.clone());
        if !self.hindrances(from).is_empty() {
            Change::Start
        } else if self.has_other_files(from) || self.has_other_machine(from) {
            Change::Restart
        } else if limits(self) != limits(from) {
            Change::Limits
        } else {
            Change::None
        }
    }

    /// Describes the differences between two specifications that require a new cluster.
    pub fn hindrances(&self, from: &LocalSpec) -> Vec<&'static str> {
        let fixed = |spec: &LocalSpec| {
            let hosts = spec.hosts.as_ref();
            hosts.map(|hosts| {
                let machines = hosts.machines.clone();
                (
                    hosts.count,
                    hosts.pods.clone(),
                    machines,
                    hosts.isolation,
                    hosts.host.volume_bytes,
                )
            })
        };
        let mut found = Vec::new();
        let mut differs = |what: &'static str, differs: bool| {
            if differs {
                found.push(what);
            }
        };
        differs("the version", self.release != from.release);
        differs("the source of Cassandra", self.origin != from.origin);
        differs("the Java", self.java != from.java);
        differs("the number of nodes", self.nodes != from.nodes);
        differs("the racks", self.racks != from.racks);
        differs("the data center", self.datacenter != from.datacenter);
        differs("the address", self.address != from.address);
        differs(
            "the users who may connect",
            self.authentication != from.authentication,
        );
        differs("the hosts or their volumes", fixed(self) != fixed(from));
        for key in STORAGE_KEYS {
            differs(key, self.yaml.get(key) != from.yaml.get(key));
        }
        found
    }

    /// Returns true if the nodes need other files or other options.
    pub fn has_other_files(&self, from: &LocalSpec) -> bool {
        self.heap_bytes != from.heap_bytes
            || self.collector != from.collector
            || self.yaml != from.yaml
            || self.jvm_options != from.jvm_options
            || self.class_sharing != from.class_sharing
            || self.profiler != from.profiler
            || self.topology != from.topology
    }

    /// Returns true if a JVM would see a machine of another size. A JVM reads the size only at its
    /// start. It rounds a CPU quota up to whole CPUs, so a quota of 0.5 and one of 0.75 are equal.
    pub fn has_other_machine(&self, from: &LocalSpec) -> bool {
        let machine = |spec: &LocalSpec| {
            let host = spec.hosts.as_ref().map(|hosts| hosts.host.clone());
            host.map(|host| {
                let whole_cpus = host.cpu_quota.map(f64::ceil);
                (host.cpus, whole_cpus, host.memory_bytes)
            })
        };
        machine(self) != machine(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{HostSpec, HostsSpec};
    use crate::null::NullSpec;
    use crate::placement::Placing;
    use crate::spec::{Authentication, Collector};
    use serde_json::json;
    use std::time::Duration;

    fn local(change: impl FnOnce(&mut LocalSpec)) -> Target {
        let mut spec = LocalSpec {
            nodes: 4,
            hosts: Some(HostsSpec {
                count: 2,
                ..HostsSpec::default()
            }),
            ..LocalSpec::default()
        };
        change(&mut spec);
        Target::Local(spec)
    }

    fn host(change: impl FnOnce(&mut HostSpec)) -> Target {
        local(|spec| change(&mut spec.hosts.as_mut().unwrap().host))
    }

    fn yaml(key: &str) -> Target {
        local(|spec| drop(spec.yaml.insert(key.to_owned(), json!(7))))
    }

    #[test]
    fn a_change_costs_no_more_than_it_must() {
        let from = local(|_| {});
        for (to, expected) in [
            (local(|_| {}), Change::None),
            (
                local(|spec| spec.start_timeout = Duration::from_secs(1)),
                Change::None,
            ),
            (
                host(|host| host.link.rate_bits_per_s = Some(1000)),
                Change::Limits,
            ),
            (host(|host| host.cpu_quota = Some(1.5)), Change::Restart),
            (host(|host| host.disk.read_iops = Some(100)), Change::Limits),
            (local(|spec| spec.heap_bytes = 640 << 20), Change::Restart),
            (
                local(|spec| spec.collector = Some(Collector::Z)),
                Change::Restart,
            ),
            (
                local(|spec| spec.jvm_options.push("-Xss1m".into())),
                Change::Restart,
            ),
            (local(|spec| spec.class_sharing = true), Change::Restart),
            (local(|spec| spec.profiler = true), Change::Restart),
            (
                local(|spec| spec.topology.placing = Placing::Pinned),
                Change::Restart,
            ),
            (yaml("concurrent_reads"), Change::Restart),
            (yaml("num_tokens"), Change::Start),
            (yaml("sstable"), Change::Start),
            (
                local(|spec| spec.authentication = Authentication::Password),
                Change::Start,
            ),
            (
                host(|host| host.volume_bytes = Some(1 << 30)),
                Change::Start,
            ),
            (local(|spec| spec.nodes = 2), Change::Start),
            (local(|spec| spec.racks = vec!["a".into()]), Change::Start),
            (local(|spec| spec.hosts = None), Change::Start),
            (
                local(|spec| spec.release = versions::LINES[0].release()),
                Change::Start,
            ),
            (Target::Null(NullSpec::default()), Change::Start),
        ] {
            assert_eq!(to.change_from(&from), expected, "{to:?}");
        }
    }

    #[test]
    fn a_jvm_only_sees_whole_cpus_of_a_quota() {
        let quota = |cores| host(|host| host.cpu_quota = Some(cores));
        assert_eq!(quota(0.75).change_from(&quota(0.5)), Change::Limits);
        assert_eq!(quota(1.25).change_from(&quota(1.0)), Change::Restart);
    }
}
