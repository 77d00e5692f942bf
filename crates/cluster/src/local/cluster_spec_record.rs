//! Spec of a cluster in its `state.json`. With the spec, a later command can restart nodes of a
//! kept cluster, and knows the settings to expect.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::net::Ipv4Addr;
use std::time::Duration;
use target_spec::{
    Authentication, BuildIdentity, Collector, DiskSpec, HostSpec, HostsSpec, Isolation, JavaChoice,
    LinkSpec, LocalSpec, Origin, Placing, RemoteHost, Topology,
};
use topology::{Smt, Units};
use versions::Release;

/// Serialized [`LocalSpec`], without the fields that the state has elsewhere.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SpecState {
    nodes: usize,
    racks: Vec<String>,
    /// Absent if tokens are spread evenly, and in states of earlier versions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tokens: Vec<Vec<i64>>,
    address: Option<Ipv4Addr>,
    heap_bytes: u64,
    collector: Option<String>,
    yaml: Map<String, Value>,
    jvm_options: Vec<String>,
    /// Absent in states of earlier versions.
    #[serde(default)]
    origin: Origin,
    /// Absent for a release, and in states of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    build: Option<Box<BuildIdentity>>,
    /// Absent if a Java was found automatically, and in states of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    java: Option<JavaChoice>,
    #[serde(default)]
    class_sharing: bool,
    /// Absent without placement, and in states of earlier versions.
    #[serde(default)]
    topology: Option<TopologyState>,
    start_timeout_s: f64,
    hosts: Option<HostsState>,
    /// Absent if every user of the machine may connect, and in states of earlier versions.
    #[serde(default)]
    authentication: Option<String>,
}

/// Serialized [`HostsSpec`].
#[derive(Clone, Debug, Serialize, Deserialize)]
struct HostsState {
    count: usize,
    /// Absent in states of earlier versions.
    #[serde(default)]
    machines: Vec<RemoteHost>,
    isolation: String,
    cpus: Option<Vec<usize>>,
    cpu_quota: Option<f64>,
    memory_bytes: Option<u64>,
    volume_bytes: Option<u64>,
    /// Absent in states of earlier versions.
    #[serde(default)]
    disk: DiskSpec,
    link_rate_bits_per_s: Option<u64>,
    link_delay_ns: Option<u64>,
}

/// Serialized [`Topology`].
#[derive(Clone, Debug, Serialize, Deserialize)]
struct TopologyState {
    placing: String,
    cpus: Option<u32>,
    part: Option<(Units, u32)>,
    smt: Option<Smt>,
    #[serde(default)]
    housekeeping: u32,
    client: Option<u32>,
}

impl SpecState {
    pub fn from_spec(spec: &LocalSpec) -> SpecState {
        SpecState {
            nodes: spec.nodes,
            racks: spec.racks.clone(),
            tokens: spec.tokens.clone(),
            address: spec.address,
            heap_bytes: spec.heap_bytes,
            collector: spec.collector.map(|one| one.name().to_string()),
            yaml: spec.yaml.clone(),
            jvm_options: spec.jvm_options.clone(),
            origin: spec.origin.clone(),
            build: spec.build.clone(),
            java: spec.java.clone(),
            class_sharing: spec.class_sharing,
            topology: TopologyState::from_topology(&spec.topology),
            start_timeout_s: spec.start_timeout.as_secs_f64(),
            hosts: spec.hosts.as_ref().map(HostsState::from_spec),
            authentication: match spec.authentication {
                Authentication::None => None,
                asked => Some(asked.name().to_string()),
            },
        }
    }

    /// Returns the authentication. `None` if its name is unknown.
    pub fn authentication(&self) -> Option<Authentication> {
        match &self.authentication {
            None => Some(Authentication::None),
            Some(name) => Authentication::from_name(name),
        }
    }

    /// Returns the spec of a cluster of `version` in `datacenter`. `None` if a name is unknown.
    pub fn spec(&self, version: &str, datacenter: &str) -> Option<LocalSpec> {
        let collector = match &self.collector {
            Some(name) => Some(Collector::from_name(name)?),
            None => None,
        };
        let hosts = match &self.hosts {
            Some(hosts) => Some(hosts.spec()?),
            None => None,
        };
        let topology = match &self.topology {
            Some(topology) => topology.topology()?,
            None => Topology::default(),
        };
        Some(LocalSpec {
            release: Release::built(version)?,
            origin: self.origin.clone(),
            build: self.build.clone(),
            java: self.java.clone(),
            nodes: self.nodes,
            hosts,
            racks: self.racks.clone(),
            tokens: self.tokens.clone(),
            datacenter: datacenter.to_string(),
            address: self.address,
            heap_bytes: self.heap_bytes,
            collector,
            yaml: self.yaml.clone(),
            jvm_options: self.jvm_options.clone(),
            class_sharing: self.class_sharing,
            topology,
            start_timeout: Duration::try_from_secs_f64(self.start_timeout_s).ok()?,
            authentication: self.authentication()?,
        })
    }
}

impl TopologyState {
    fn from_topology(topology: &Topology) -> Option<TopologyState> {
        let is_said = *topology != Topology::default();
        is_said.then(|| TopologyState {
            placing: topology.placing.name().to_string(),
            cpus: topology.cpus,
            part: topology.part,
            smt: topology.smt,
            housekeeping: topology.housekeeping,
            client: topology.client,
        })
    }

    fn topology(&self) -> Option<Topology> {
        Some(Topology {
            placing: Placing::from_name(&self.placing)?,
            cpus: self.cpus,
            part: self.part,
            smt: self.smt,
            housekeeping: self.housekeeping,
            client: self.client,
        })
    }
}

impl HostsState {
    fn from_spec(spec: &HostsSpec) -> HostsState {
        let host = &spec.host;
        HostsState {
            count: spec.count,
            machines: spec.machines.clone(),
            isolation: spec.isolation.name().to_string(),
            cpus: host.cpus.clone(),
            cpu_quota: host.cpu_quota,
            memory_bytes: host.memory_bytes,
            volume_bytes: host.volume_bytes,
            disk: host.disk,
            link_rate_bits_per_s: host.link.rate_bits_per_s,
            link_delay_ns: host.link.delay.map(|delay| delay.as_nanos() as u64),
        }
    }

    fn spec(&self) -> Option<HostsSpec> {
        Some(HostsSpec {
            count: self.count,
            pods: None,
            machines: self.machines.clone(),
            isolation: Isolation::from_name(&self.isolation)?,
            host: HostSpec {
                cpus: self.cpus.clone(),
                cpu_quota: self.cpu_quota,
                memory_bytes: self.memory_bytes,
                volume_bytes: self.volume_bytes,
                disk: self.disk,
                link: LinkSpec {
                    rate_bits_per_s: self.link_rate_bits_per_s,
                    delay: self.link_delay_ns.map(Duration::from_nanos),
                },
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_spec_comes_back_from_its_record_as_it_was() {
        let yaml = json!({"commitlog_sync": "batch", "sstable": {"selected_format": "bti"}});
        let spec = LocalSpec {
            release: Release::parse("5.0.6").unwrap(),
            java: Some(JavaChoice::Major(17)),
            origin: Origin::Home("/h".into()),
            nodes: 6,
            hosts: Some(HostsSpec {
                count: 3,
                pods: None,
                machines: vec![RemoteHost {
                    ssh: "db1".to_string(),
                    pod: None,
                    folder: Some("/data/cassay".into()),
                    sudo: true,
                    machine_type: Some("i4i.2xlarge".to_string()),
                    address: Some(Ipv4Addr::new(10, 0, 0, 7)),
                    nodes: Some(2),
                }],
                isolation: Isolation::Hosts,
                host: HostSpec {
                    cpus: Some(vec![0, 1]),
                    cpu_quota: Some(1.5),
                    memory_bytes: Some(3 << 30),
                    volume_bytes: Some(20 << 30),
                    disk: DiskSpec {
                        read_iops: Some(500),
                        ..DiskSpec::default()
                    },
                    link: LinkSpec {
                        rate_bits_per_s: Some(1_000_000_000),
                        delay: Some(Duration::from_micros(1500)),
                    },
                },
            }),
            racks: vec!["a".to_string()],
            tokens: vec![vec![-7, 8], vec![9]],
            datacenter: "dc7".to_string(),
            collector: Some(Collector::Z),
            yaml: yaml.as_object().cloned().unwrap(),
            jvm_options: vec!["-Xss512k".to_string()],
            class_sharing: true,
            topology: Topology {
                placing: Placing::Pinned,
                cpus: Some(2),
                part: Some((Units::L3, 3)),
                smt: Some(Smt::OnePerCore),
                housekeeping: 1,
                client: Some(4),
            },
            start_timeout: Duration::from_millis(1500),
            authentication: Authentication::Password,
            ..LocalSpec::default()
        };
        let text = serde_json::to_string(&SpecState::from_spec(&spec)).unwrap();
        let record: SpecState = serde_json::from_str(&text).unwrap();
        let read = record.spec("5.0.6", "dc7").unwrap();
        assert_eq!(format!("{read:?}"), format!("{spec:?}"));
    }
}
