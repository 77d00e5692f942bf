//! Disk requests whose duration shows the speed of a disk.

use crate::volume::BLOCK_BYTES;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use target_spec::DiskSpec;

/// Duration of the trial of a limited disk, in seconds. The kernel grants an idle group a credit of
/// at most 0.2 s, so the trial is more than twice as long.
const TELLING_S: f64 = 0.5;

/// Maximum number of requests of a trial. A disk that performs all of them in time is not limited.
const REQUESTS_MAX: u64 = 2000;

/// Number of requests in the trial of a limit in bytes per second. A trial has fewer requests if
/// they would otherwise be too small.
const REQUESTS_OF_RATE: u64 = 32;

/// Size of the largest request, in blocks. It corresponds to 1 MiB.
const REQUEST_BLOCKS_MAX: u64 = 256;

/// Work of a disk trial, in which requests follow each other without overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskWork {
    /// Number of requests.
    pub requests: u64,
    /// Size of each request in bytes. It is a multiple of 4 KiB.
    pub bytes: u64,
}

impl Default for DiskWork {
    /// Returns one request of one block.
    fn default() -> DiskWork {
        DiskWork {
            requests: 1,
            bytes: BLOCK_BYTES,
        }
    }
}

impl DiskWork {
    /// Returns work that shows whether a disk has the limits of `spec`. Also returns the minimum
    /// time of this work under the limits. If the disk has write limits, the work tests them. The
    /// kernel lets an idle group do some work at once, so a single request would show nothing.
    pub fn showing(spec: &DiskSpec) -> (DiskWork, Duration) {
        let limits = if spec.limits_writes() {
            (spec.write_iops, spec.write_bytes_per_s)
        } else {
            (spec.read_iops, spec.read_bytes_per_s)
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
        let by_iops = limits.0.map(|iops| (work.requests - 1) as f64 / iops as f64);
        let bytes = (work.requests - 1) * work.bytes;
        let by_rate = limits.1.map(|rate| bytes as f64 / rate as f64);
        let takes = by_iops.into_iter().chain(by_rate).fold(0.0, f64::max);
        (work, Duration::from_secs_f64(takes))
    }
}
