//! Settings of JVMs and of Cassandra that suit the CPUs, nodes and memory of an instance.

use crate::cpuset::CpuSet;
use crate::plan::{Jvm, Yaml};
use crate::request::{Collector, PlacementRequest, Profile, YamlProfile};

/// Size of the largest heap that uses compressed pointers, in bytes, minus a margin of about 1 GiB.
/// Heaps from 32 to 38 GB have space for fewer objects.
const HEAP_BYTES_MAX: u64 = 31 << 30;

/// Returns the value of `ParallelGCThreads` that HotSpot chooses. It is one thread per CPU up to 8
/// CPUs, and five eighths of a thread for each further CPU.
pub fn parallel_gc_threads(cpus: u32) -> u32 {
    match cpus {
        0..=8 => cpus.max(1),
        _ => 8 + (cpus - 8) * 5 / 8,
    }
}

/// Returns the value of `ConcGCThreads` that G1 chooses: a quarter of the parallel threads,
/// rounded.
pub fn conc_gc_threads(parallel: u32) -> u32 {
    ((parallel + 2) / 4).max(1)
}

/// Returns the heap of an instance in whole MiB. The heap is half the memory of the instance, but
/// at most 31 GiB. The other half is for the page cache. Intel's guide recommends 25 to 50 % of the
/// memory for all heaps together.
pub fn heap_bytes(memory_bytes: u64) -> u64 {
    ((memory_bytes / 2).min(HEAP_BYTES_MAX) >> 20) << 20
}

/// Returns the settings of an instance's JVM. `cpus` are the CPUs of the instance. `nodes` are the
/// nodes that the JVM sees. These are the nodes of the guest or, for a process, those of the
/// machine.
pub(crate) fn jvm(
    wish: &PlacementRequest,
    cpus: &CpuSet,
    nodes: &CpuSet,
    memory_bytes: Option<u64>,
) -> Jvm {
    let count = cpus.len() as u32;
    let heap_bytes = memory_bytes.map(heap_bytes).filter(|&heap| heap > 0);
    let (use_numa, numa_reason) = numa(wish, nodes);
    let parallel = parallel_gc_threads(count);
    let conc = conc_gc_threads(parallel);
    let mut options = vec![
        format!("-XX:ActiveProcessorCount={count}"),
        format!("-Dcassandra.available_processors={count}"),
    ];
    options.push(match wish.collector {
        Collector::G1 => "-XX:+UseG1GC".to_owned(),
        Collector::Parallel => "-XX:+UseParallelGC".to_owned(),
        Collector::Zgc => "-XX:+UseZGC".to_owned(),
        Collector::Shenandoah => "-XX:+UseShenandoahGC".to_owned(),
        Collector::Cms => "-XX:+UseConcMarkSweepGC".to_owned(),
    });
    // ZGC computes the number of its threads by another rule from ActiveProcessorCount, and adjusts
    // the number at run time.
    if wish.collector != Collector::Zgc {
        options.push(format!("-XX:ParallelGCThreads={parallel}"));
        if wish.collector != Collector::Parallel {
            options.push(format!("-XX:ConcGCThreads={conc}"));
        }
    }
    if let Some(heap) = heap_bytes {
        options.push(format!("-Xms{}m", heap >> 20));
        options.push(format!("-Xmx{}m", heap >> 20));
    }
    options.push(format!("-XX:{}UseNUMA", if use_numa { '+' } else { '-' }));
    options.push("-XX:+AlwaysPreTouch".to_owned());
    options.push("-XX:+UseTransparentHugePages".to_owned());
    Jvm {
        options,
        heap_bytes,
        active_processors: count,
        parallel_gc_threads: parallel,
        conc_gc_threads: conc,
        use_numa,
        nodes: nodes.clone(),
        numactl: numactl(wish, cpus, nodes, use_numa),
        numa_reason,
    }
}

/// Returns true if UseNUMA is useful. Also returns the reason for this result.
fn numa(wish: &PlacementRequest, nodes: &CpuSet) -> (bool, String) {
    let jdk = wish.jdk;
    if nodes.len() < 2 {
        let reason = match jdk {
            ..=10 => format!(
                "one NUMA node: UseNUMA must be off, because JDK {jdk} would cut the young space \
                 into parts for all nodes of the machine and use only one part"
            ),
            _ => {
                "one NUMA node: the JVM would turn UseNUMA off itself; an explicit option turns it \
                 off, and removes --interleave=all of the start script"
                    .to_owned()
            }
        };
        return (false, reason);
    }
    let (is_aware, name) = match wish.collector {
        Collector::G1 => (jdk >= 14, "G1"),
        Collector::Parallel => (true, "Parallel"),
        Collector::Zgc => (true, "ZGC"),
        Collector::Shenandoah => (false, "Shenandoah"),
        Collector::Cms => (false, "CMS"),
    };
    let count = nodes.len();
    let reason = if is_aware {
        format!(
            "{count} NUMA nodes and {name} on JDK {jdk}: UseNUMA places each thread's objects on \
             its node. CPUs and memory must be bound to the same nodes, because JDK 25 otherwise \
             turns UseNUMA off"
        )
    } else {
        format!(
            "{count} NUMA nodes and {name} on JDK {jdk}, which has no NUMA support: memory is \
             interleaved over the instance's own nodes and UseNUMA is off"
        )
    };
    (is_aware, reason)
}

fn numactl(wish: &PlacementRequest, cpus: &CpuSet, nodes: &CpuSet, use_numa: bool) -> Vec<String> {
    let is_spread = nodes.len() > 1 && !use_numa;
    match wish.profile {
        Profile::None if is_spread => {
            vec![
                format!("--physcpubind={cpus}"),
                format!("--interleave={nodes}"),
            ]
        }
        Profile::None => vec![
            format!("--physcpubind={cpus}"),
            format!("--membind={nodes}"),
        ],
        _ if is_spread => vec!["--interleave=all".to_owned()],
        _ if nodes.len() > 1 => vec!["--localalloc".to_owned()],
        _ => Vec::new(),
    }
}

/// Returns Cassandra's concurrency settings for this number of CPUs and cores.
pub(crate) fn yaml(wish: &PlacementRequest, cpus: u32, cores: u32) -> Yaml {
    let drives = wish.drives.max(1);
    let (reads, writes) = match wish.yaml {
        YamlProfile::Apache => (drives.saturating_mul(16), cores.saturating_mul(8)),
        YamlProfile::Intel => (cpus.saturating_mul(3), cpus),
    };
    Yaml {
        concurrent_reads: reads,
        concurrent_writes: writes,
        concurrent_counter_writes: reads,
        concurrent_compactors: drives.min(cores).clamp(2, 8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected numbers were measured on JDK 17 and 25 with G1.
    #[test]
    fn gc_threads_are_those_that_hotspot_chooses() {
        for (cpus, parallel, conc) in [
            (4, 4, 1),
            (8, 8, 2),
            (12, 10, 3),
            (14, 11, 3),
            (16, 13, 3),
            (20, 15, 4),
            (28, 20, 5),
            (32, 23, 6),
            (48, 33, 8),
            (56, 38, 10),
            (64, 43, 11),
            (112, 73, 18),
            (128, 83, 21),
        ] {
            assert_eq!(parallel_gc_threads(cpus), parallel, "{cpus} CPUs");
            assert_eq!(conc_gc_threads(parallel), conc, "{cpus} CPUs");
        }
    }

    #[test]
    fn a_heap_is_half_the_memory_and_never_where_pointers_get_wide() {
        for (memory_gib, heap_mib) in [
            (4, 2048),
            (16, 8192),
            (62, 31744),
            (64, 31744),
            (512, 31744),
        ] {
            assert_eq!(
                heap_bytes(memory_gib << 30),
                heap_mib << 20,
                "{memory_gib} GiB"
            );
        }
    }
}
