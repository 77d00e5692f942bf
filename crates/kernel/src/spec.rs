//! What a host can be limited to: descriptions, and what follows from them by arithmetic. Making
//! one of these touches nothing but memory.

use crate::volume::BLOCK_BYTES;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// What a host is limited to; what is absent is not limited.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostSpec {
    /// Numbers of the CPUs that it may use.
    pub cpus: Option<Vec<usize>>,
    /// CPU time, in cores: 1.5 is 150 ms in each 100 ms.
    pub cpu_quota: Option<f64>,
    /// Memory in bytes, page cache included.
    pub memory_bytes: Option<u64>,
    /// Size of its data volume in bytes; absent: its data is on the machine's own file system.
    pub volume_bytes: Option<u64>,
    /// What its data volume may do; needs one.
    #[serde(default)]
    pub disk: DiskSpec,
    /// Its link to the switch.
    pub link: LinkSpec,
}

/// What a disk is asked to do when it is tried: one request after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskWork {
    /// How many requests.
    pub requests: u64,
    /// Bytes of each, whole blocks of 4 KiB.
    pub bytes: u64,
}

impl Default for DiskWork {
    /// One block.
    fn default() -> DiskWork {
        DiskWork {
            requests: 1,
            bytes: BLOCK_BYTES,
        }
    }
}

/// For how long a limited disk is kept at work by a trial, in s: more than twice the two tenths
/// that the kernel lends it at most.
const TELLING_S: f64 = 0.5;

/// The most requests of a trial. Who does so many in that time is as fast as disks are.
const REQUESTS_MAX: u64 = 2000;

/// How many of a trial of bytes, if they are large enough.
const REQUESTS_OF_RATE: u64 = 32;

/// The largest, in blocks: 1 MiB.
const REQUEST_BLOCKS_MAX: u64 = 256;

/// What a host's volume may do, all its processes together; what is absent is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskSpec {
    /// Reads per second.
    pub read_iops: Option<u64>,
    /// Writes per second.
    pub write_iops: Option<u64>,
    /// Bytes per second that are read.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes per second that are written.
    pub write_bytes_per_s: Option<u64>,
}

impl DiskSpec {
    /// Each limit by its name in files and messages.
    pub fn each(&self) -> [(&'static str, Option<u64>); 4] {
        [
            ("disk_read_iops", self.read_iops),
            ("disk_write_iops", self.write_iops),
            ("disk_read_rate", self.read_bytes_per_s),
            ("disk_write_rate", self.write_bytes_per_s),
        ]
    }

    /// Those among the limits of a group, as [`crate::cgroup::Group::limits`] has them.
    pub fn of(limits: &BTreeMap<String, String>) -> DiskSpec {
        let value = |name: &str| limits.get(name).and_then(|text| text.parse().ok());
        let names = DiskSpec::default().each().map(|(name, _)| value(name));
        let [read_iops, write_iops, read_bytes_per_s, write_bytes_per_s] = names;
        DiskSpec {
            read_iops,
            write_iops,
            read_bytes_per_s,
            write_bytes_per_s,
        }
    }

    /// These limits, and what `other` limits too: whichever is lower.
    pub fn narrowed(self, other: DiskSpec) -> DiskSpec {
        let lower = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        DiskSpec {
            read_iops: lower(self.read_iops, other.read_iops),
            write_iops: lower(self.write_iops, other.write_iops),
            read_bytes_per_s: lower(self.read_bytes_per_s, other.read_bytes_per_s),
            write_bytes_per_s: lower(self.write_bytes_per_s, other.write_bytes_per_s),
        }
    }

    /// Work by which a disk shows that it is limited like this, of what is written if that is, and
    /// how long it takes then at least. The kernel lets what has waited for nobody do some of it at
    /// once, so that a single request shows nothing.
    pub fn work(&self) -> (DiskWork, Duration) {
        let limits = if self.limits_writes() {
            (self.write_iops, self.write_bytes_per_s)
        } else {
            (self.read_iops, self.read_bytes_per_s)
        };
        let in_time = |rate: u64, unit: u64| (rate as f64 * TELLING_S / unit as f64).ceil() as u64;
        let one = DiskWork::default();
        let work = match limits {
            (Some(iops), _) => DiskWork {
                requests: in_time(iops, 1).clamp(1, REQUESTS_MAX) + 1,
                ..one
            },
            (None, Some(rate)) => {
                let blocks = in_time(rate, one.bytes * REQUESTS_OF_RATE);
                let bytes = one.bytes * blocks.clamp(1, REQUEST_BLOCKS_MAX);
                let requests = in_time(rate, bytes).clamp(1, REQUESTS_OF_RATE) + 1;
                DiskWork { requests, bytes }
            }
            (None, None) => one,
        };
        let by_iops = limits
            .0
            .map(|iops| (work.requests - 1) as f64 / iops as f64);
        let bytes = (work.requests - 1) * work.bytes;
        let by_rate = limits.1.map(|rate| bytes as f64 / rate as f64);
        let takes = by_iops.into_iter().chain(by_rate).fold(0.0, f64::max);
        (work, Duration::from_secs_f64(takes))
    }

    /// Whether it limits what is written.
    pub fn limits_writes(&self) -> bool {
        self.write_iops.is_some() || self.write_bytes_per_s.is_some()
    }

    /// Whether anything is limited.
    pub fn limits(&self) -> bool {
        *self != DiskSpec::default()
    }
}

/// A host's link, the same in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkSpec {
    /// Bits per second.
    pub rate_bits_per_s: Option<u64>,
    /// One way, added to what the path takes by itself.
    pub delay: Option<Duration>,
}

impl LinkSpec {
    /// These limits, and what `other` limits too: the lower rate, and the longer delay.
    pub fn narrowed(self, other: LinkSpec) -> LinkSpec {
        let rates = [self.rate_bits_per_s, other.rate_bits_per_s];
        LinkSpec {
            rate_bits_per_s: rates.into_iter().flatten().min(),
            delay: self.delay.max(other.delay),
        }
    }
}
