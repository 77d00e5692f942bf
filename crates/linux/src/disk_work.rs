//! Work that shows the speed of a disk.

use crate::volume::BLOCK_BYTES;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use target_spec::DiskSpec;

/// Duration of the trial of a limited disk, s: more than twice the 0.2 s of credit that the kernel
/// grants at most.
const TELLING_S: f64 = 0.5;

/// Maximum number of requests of a trial. A disk that performs this number in that time is as fast
/// as any disk.
const REQUESTS_MAX: u64 = 2000;

/// Number of requests of a trial of bytes per second, if the requests are large enough.
const REQUESTS_OF_RATE: u64 = 32;

/// Largest request, in blocks: 1 MiB.
const REQUEST_BLOCKS_MAX: u64 = 256;

/// Work of a disk trial: one request after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskWork {
    /// Number of requests.
    pub requests: u64,
    /// Bytes of each request, whole blocks of 4 KiB.
    pub bytes: u64,
}

impl Default for DiskWork {
    /// Returns a request of one block.
    fn default() -> DiskWork {
        DiskWork {
            requests: 1,
            bytes: BLOCK_BYTES,
        }
    }
}

impl DiskWork {
    /// Returns work that shows if a disk has the limits of `spec`, and the minimum time of this
    /// work with the limits. It tests the write limits if there are any. The kernel lets an idle
    /// group do some work at once, so a single request would show nothing.
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
