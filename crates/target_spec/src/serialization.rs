//! Serialized forms of durations and of absent values, as in records of earlier versions.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::time::Duration;

/// Deserializes a value. Null means the default.
pub fn null_as_default<'de, T, D>(from: D) -> Result<T, D::Error>
where
    T: Deserialize<'de> + Default,
    D: Deserializer<'de>,
{
    Option::deserialize(from).map(Option::unwrap_or_default)
}

/// Serializes a duration as seconds.
pub mod seconds {
    use super::*;

    pub fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        time.as_secs_f64().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// Serializes a duration as nanoseconds. `None` becomes null.
pub mod nanoseconds {
    use super::*;

    pub fn serialize<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
        time.map(|time| time.as_nanos() as u64).serialize(to)
    }

    pub fn deserialize<'de, D>(from: D) -> Result<Option<Duration>, D::Error>
    where
        D: Deserializer<'de>,
    {
        Ok(Option::deserialize(from)?.map(Duration::from_nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Authentication, Collector, DiskSpec, HostSpec, HostsSpec, Isolation, JavaChoice, LinkSpec,
        LocalSpec, Origin, Placing, RemoteHost, Topology,
    };
    use serde_json::json;
    use std::net::Ipv4Addr;
    use topology::{Smt, Units};

    #[test]
    fn a_spec_comes_back_from_its_record_as_it_was() {
        let yaml = json!({"commitlog_sync": "batch", "sstable": {"selected_format": "bti"}});
        let spec = LocalSpec {
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
        let text = serde_json::to_string(&spec).unwrap();
        let read: LocalSpec = serde_json::from_str(&text).unwrap();
        assert_eq!(read, spec);
        // An earlier version wrote a record of this form.
        let old = serde_json::from_value::<LocalSpec>(json!({
            "nodes": 6, "racks": ["a"], "tokens": [[-7, 8], [9]], "address": null,
            "heap_bytes": spec.heap_bytes, "collector": "zgc", "yaml": yaml,
            "jvm_options": ["-Xss512k"], "origin": {"home": "/h"}, "java": {"major": 17},
            "class_sharing": true, "start_timeout_s": 1.5, "authentication": "password",
            "topology": {"placing": "pinned", "cpus": 2, "part": ["l3", 3],
                "smt": spec.topology.smt, "housekeeping": 1, "client": 4},
            "hosts": {"count": 3, "isolation": "hosts", "cpus": [0, 1], "cpu_quota": 1.5,
                "machines": spec.machines(), "memory_bytes": 3u64 << 30,
                "volume_bytes": 20u64 << 30, "disk": spec.hosts.as_ref().unwrap().host.disk,
                "link_rate_bits_per_s": 1_000_000_000, "link_delay_ns": 1_500_000},
        }));
        assert_eq!(old.unwrap(), spec);
    }

    #[test]
    fn a_spec_of_the_oldest_records_has_nothing_but_defaults() {
        let old = serde_json::from_value::<LocalSpec>(json!({
            "nodes": 2, "racks": [], "address": null, "heap_bytes": 1u64 << 30, "collector": null,
            "yaml": {}, "jvm_options": [], "start_timeout_s": 180.0, "authentication": null,
            "topology": null, "hosts": {"count": 2, "isolation": "auto", "cpus": null,
                "cpu_quota": null, "memory_bytes": null, "volume_bytes": null,
                "link_rate_bits_per_s": null, "link_delay_ns": null},
        }));
        let hosts = HostsSpec {
            count: 2,
            ..HostsSpec::default()
        };
        let spec = LocalSpec {
            nodes: 2,
            hosts: Some(hosts),
            ..LocalSpec::default()
        };
        assert_eq!(old.unwrap(), spec);
    }
}
