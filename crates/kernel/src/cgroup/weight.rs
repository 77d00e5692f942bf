//! What a host weighs when it competes with other programs for the CPUs.
//!
//! To the kernel a group is one party beside every single thread that is in none: with the weight
//! that a group has at first, all threads of a JVM together get what one thread of a compiler gets,
//! and under competition the JVM starves, which it would not do without a host. Where there is no
//! competition, weights do nothing.

use super::{CgroupDir, Group, read, write};
use anyhow::Result;
use target::HostSpec;

/// The weight of one thread, in version 1.
const SHARES_PER_THREAD: u64 = 1024;
/// The same in version 2.
const WEIGHT_PER_THREAD: u64 = 100;
/// The most that the kernel takes.
const SHARES_MAX: u64 = 1 << 18;
const WEIGHT_MAX: u64 = 10_000;

/// How many busy threads a host is worth on each CPU that it may use: a loaded JVM has about as
/// many that want to run, and so weighs as much where it is in no group. The client's few threads
/// still get their part.
const THREADS_PER_CPU: u64 = 4;

impl Group {
    /// Gives the group the weight that its JVMs would have by themselves.
    ///
    /// # Errors
    /// The kernel refuses.
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

    /// The weight that the kernel has, in busy threads; none where it has none.
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

/// The busy threads that a host is worth on a machine with so many CPUs.
fn threads(spec: &HostSpec, cpus: usize) -> u64 {
    let may_use = spec.cpus.as_ref().map_or(cpus, Vec::len) as u64;
    // Of more CPU time than its quota it makes no use.
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
