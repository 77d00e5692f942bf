//! Weight of a host when it competes with other programs for the CPUs.
//!
//! By default, the kernel gives a group the same weight as a single thread outside of groups. All
//! threads of a JVM together then get as much CPU time as one thread of a compiler. Under
//! competition, the JVM would starve, which would not happen without a group. Without competition,
//! weights have no effect.

use super::{CgroupDir, Group, read, write};
use anyhow::Result;
use target_spec::HostSpec;

const SHARES_PER_THREAD: u64 = 1024;
const WEIGHT_PER_THREAD: u64 = 100;
/// Largest weight that the kernel accepts, in version 1.
const SHARES_MAX: u64 = 1 << 18;
/// Largest weight that the kernel accepts, in version 2.
const WEIGHT_MAX: u64 = 10_000;

/// Number of busy threads that a host represents on each of its CPUs. A loaded JVM has about this
/// number of runnable threads, so with this value the JVM gets the same weight as without a group.
/// The client's few threads still get their share.
const THREADS_PER_CPU: u64 = 4;

impl Group {
    /// Sets the weight that the host's JVMs would have without a group.
    pub(super) fn weigh(&self, spec: &HostSpec) -> Result<()> {
        let Some(place) = self.place("cpu") else {
            return Ok(());
        };
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get());
        let threads = threads(spec, cpus);
        let (file, value) = if place.unified {
            ("cpu.weight", (threads * WEIGHT_PER_THREAD).min(WEIGHT_MAX))
        } else {
            ("cpu.shares", (threads * SHARES_PER_THREAD).min(SHARES_MAX))
        };
        write(&place.dir.join(file), &value.to_string())
    }

    /// Returns the weight that the kernel reports, in busy threads. Returns `None` without such a
    /// controller.
    pub(super) fn weight(&self) -> Option<u64> {
        let place: &CgroupDir = self.place("cpu")?;
        let (file, one) = if place.unified {
            ("cpu.weight", WEIGHT_PER_THREAD)
        } else {
            ("cpu.shares", SHARES_PER_THREAD)
        };
        let weight: u64 = read(&place.dir.join(file)).ok()?.parse().ok()?;
        Some((weight / one).max(1))
    }
}

/// Returns the number of busy threads whose weight a host gets on a machine with `cpus` CPUs.
fn threads(spec: &HostSpec, cpus: usize) -> u64 {
    let may_use = spec.cpus.as_ref().map_or(cpus, Vec::len) as u64;
    // A host cannot use more CPU time than its quota.
    let quota = spec.cpu_quota.map_or(u64::MAX, |cores| cores.ceil() as u64);
    may_use.min(quota).max(1) * THREADS_PER_CPU
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_weighs_as_much_as_its_cpus_and_not_as_one_thread() {
        let spec = |cpus: Option<usize>, cpu_quota| HostSpec {
            cpus: cpus.map(|count| (0..count).collect()),
            cpu_quota,
            ..HostSpec::default()
        };
        assert_eq!(threads(&spec(None, None), 2), 8);
        assert_eq!(threads(&spec(Some(3), None), 8), 12);
        assert_eq!(threads(&spec(None, Some(1.5)), 8), 8);
        assert_eq!(threads(&spec(None, Some(0.2)), 8), 4);
    }
}
