//! Rules about the heaps and threads of the nodes' JVMs, compared with the resources of their host.

use super::rule::{APACHE, Check, INTEL, JDK, OURS, Rule, SettingResult, View, unless};
use crate::finding::Severity;
use crate::jvm::{Jvm, concurrent_threads, list, parallel_threads};
use measure::number::bytes;
use target_spec::{Collector, narrow_heap_max_bytes};

const GIB: u64 = 1 << 30;

/// Size of the smallest heap without compressed pointers that can store as many objects as the
/// largest heap with compressed pointers, in bytes.
const WORTH_IT_BYTES: u64 = 38 * GIB;

/// Limits for the share of the memory that all heaps together use. Above the first share, little
/// memory remains for the page cache. Above the second share, too little memory remains for
/// buffers, maps and the kernel.
const HEAPS_SHARE_MAX: f64 = 0.5;
const HEAPS_SHARE_WARN: f64 = 0.75;

const FLAGS: &str = "in jvm-server.options and jvmNN-server.options";

pub(super) const RULES: &[Rule] = &[
    Rule {
        setting: "heap.size",
        wanted: "below 32 GiB, or above 38 GiB",
        why: "From 32 GiB, every pointer needs 8 bytes instead of 4, so a heap of 32 to 38 GiB \
              contains less data than a heap of 31 GiB.",
        fix: "-Xms31G -Xmx31G in jvm-server.options",
        source: INTEL,
        start_check: "",
        look: Check::By(heap_size),
    },
    Rule {
        setting: "heap.initial",
        wanted: "the same as the maximum",
        why: "A heap grows only during pauses, and other programs may already use the memory when \
              the heap needs more.",
        fix: "the same value for -Xms and -Xmx in jvm-server.options",
        source: APACHE,
        start_check: "",
        look: Check::By(heap_initial),
    },
    Rule {
        setting: "heap.of_all",
        wanted: "at most 50 % of memory (25 to 50 % is usual)",
        why: "The rest of the memory is for the page cache, which serves most reads, and for the \
              memory that nodes use outside their heaps.",
        fix: "smaller -Xms and -Xmx in jvm-server.options, or fewer nodes on the host",
        source: INTEL,
        start_check: "",
        look: Check::By(heap_of_all),
    },
    Rule {
        setting: "heap.in_group",
        wanted: "at most 75 % of the memory limit of the node's control group",
        why: "The limit also covers buffers, maps and page cache. The kernel kills a node that \
              exceeds the limit. Cassandra's scripts compute the heap from the memory of the whole \
              machine.",
        fix: "smaller -Xms and -Xmx in jvm-server.options, or a larger MemoryMax= or limit",
        source: OURS,
        start_check: "",
        look: Check::By(heap_in_group),
    },
    Rule {
        setting: "jvm.version",
        wanted: "a Java version that this Cassandra version supports",
        why: "Cassandra may start on other Java versions, but its developers have not tested them.",
        fix: "install one of these versions, and set JAVA_HOME",
        source: APACHE,
        start_check: "bin/cassandra refuses unknown versions of Java",
        look: Check::By(version),
    },
    Rule {
        setting: "jvm.use_numa",
        wanted: "on if the JVM may use the memory of several NUMA nodes",
        why: "With several NUMA nodes, each thread allocates on its own NUMA node. A JVM that may \
              use only one NUMA node ignores the option. Since version 9, such a JVM switches the \
              option off.",
        fix: "-XX:-UseNUMA (or +) in jvm-server.options",
        source: JDK,
        start_check: "",
        look: Check::By(use_numa),
    },
    Rule {
        setting: "jvm.active_processors",
        wanted: "the number of CPUs that the JVM may use",
        why: "The JVM and Cassandra choose the size of their thread pools by this number.",
        fix: "-XX:ActiveProcessorCount and -Dcassandra.available_processors in \
              jvm-server.options: the number of CPUs in the cpuset, or neither option",
        source: JDK,
        start_check: "",
        look: Check::By(active_processors),
    },
    Rule {
        setting: "jvm.parallel_gc_threads",
        wanted: "the JVM's default for its CPUs: one thread for each of the first 8 CPUs, and 5 \
                 for each further 8",
        why: "During a pause, more threads than CPUs compete with each other, and fewer threads \
             leave CPUs idle.",
        fix: "no -XX:ParallelGCThreads, or a value that fits the JVM's CPUs",
        source: JDK,
        start_check: "",
        look: Check::By(parallel_gc_threads),
    },
    Rule {
        setting: "jvm.conc_gc_threads",
        wanted: "at least a quarter of the number of parallel threads, and at most that number",
        why: "These threads work in parallel with requests, so too many of them take CPUs from \
              requests. With too few threads, allocation is faster than collection, and a full \
              collection stops the JVM.",
        fix: "no -XX:ConcGCThreads, or a value in this range",
        source: JDK,
        start_check: "",
        look: Check::By(conc_gc_threads),
    },
    Rule {
        setting: "jvm.jemalloc",
        wanted: "preloaded, if memory outside the heap grows",
        why: "glibc's allocator fragments the memory when many threads allocate and free buffers. \
              This advice does not affect the verdict.",
        fix: "apt-get install libjemalloc2 || dnf install jemalloc; Cassandra's script finds it",
        source: APACHE,
        start_check: "checkJemalloc reports whether the library exists",
        look: Check::By(jemalloc),
    },
];

fn each(view: &View<'_>, judge: impl Fn(&Jvm<'_>) -> Option<SettingResult>) -> Vec<SettingResult> {
    let of = |jvm: &Jvm<'_>| Some(judge(jvm)?.on(jvm.name()));
    view.jvms.iter().filter_map(of).collect()
}

const NO_SIZE: &str = "neither the JVM nor its command line states the maximum heap";

fn heap_size(view: &View<'_>) -> Vec<SettingResult> {
    each(view, |jvm| {
        let Some(max) = jvm.number("MaxHeapSize") else {
            return Some(SettingResult::not_told(NO_SIZE));
        };
        // If objects have a larger alignment, compressed pointers of 4 bytes can address larger
        // heaps.
        let alignment = jvm.number("ObjectAlignmentInBytes").unwrap_or(8);
        let collector = if jvm.is_on("UseParallelGC") {
            Collector::Parallel
        } else {
            Collector::G1
        };
        let is_wide = max > narrow_heap_max_bytes(collector, alignment);
        let is_between = is_wide && max < WORTH_IT_BYTES;
        // Pointers of ZGC always have 8 bytes, so the size of the heap does not matter.
        let is_fine = !is_between || jvm.is_on("UseZGC");
        Some(SettingResult::new(
            bytes(max),
            unless(is_fine, Severity::Warning),
        ))
    })
}

fn version(view: &View<'_>) -> Vec<SettingResult> {
    each(view, |jvm| {
        let (release, java) = jvm.runs()?;
        let supported = release.line().java_supported;
        let level = unless(supported.contains(&java), Severity::Advice);
        let judged = SettingResult::new(format!("Java {java}, with Cassandra {release}"), level);
        Some(judged.wanted(format!("Java {}", target_spec::majors_words(supported))))
    })
}

fn heap_initial(view: &View<'_>) -> Vec<SettingResult> {
    each(view, |jvm| {
        let (initial, max) = (jvm.number("InitialHeapSize"), jvm.number("MaxHeapSize"));
        Some(match (initial, max) {
            (Some(initial), Some(max)) => {
                let judged =
                    SettingResult::new(bytes(initial), unless(initial == max, Severity::Advice));
                judged.wanted(format!("the maximum, {}", bytes(max)))
            }
            (None, Some(_)) => SettingResult::new("not given", Severity::Advice),
            _ => SettingResult::not_told(NO_SIZE),
        })
    })
}

fn heap_of_all(view: &View<'_>) -> Vec<SettingResult> {
    if view.jvms.is_empty() {
        return Vec::new();
    }
    let sizes: Option<Vec<u64>> = view.jvms.iter().map(|jvm| jvm.number("MaxHeapSize")).collect();
    let sum = sizes.map(|all| all.into_iter().fold(0, u64::saturating_add));
    vec![match (sum, view.memory_bytes()) {
        (Some(sum), Ok(memory)) if memory > 0 => {
            let share = sum as f64 / memory as f64;
            let value = format!(
                "{} of {} ({:.0} %)",
                bytes(sum),
                bytes(memory),
                100.0 * share
            );
            let level = match share {
                share if share <= HEAPS_SHARE_MAX => Severity::Ok,
                share if share <= HEAPS_SHARE_WARN => Severity::Advice,
                _ => Severity::Warning,
            };
            SettingResult::new(value, level)
        }
        (None, _) => SettingResult::not_told(NO_SIZE),
        (_, Err(why)) => SettingResult::not_told(why),
        _ => SettingResult::not_told("the machine reports no memory"),
    }]
}

fn heap_in_group(view: &View<'_>) -> Vec<SettingResult> {
    each(view, |jvm| {
        let Some(limit) = jvm.process.memory_limit_bytes else {
            return Some(SettingResult::new("no limit", Severity::Ok));
        };
        let Some(max) = jvm.number("MaxHeapSize") else {
            return Some(SettingResult::not_told(NO_SIZE));
        };
        let is_fine = max as f64 <= HEAPS_SHARE_WARN * limit as f64;
        let value = format!("{} of {}", bytes(max), bytes(limit));
        Some(SettingResult::new(
            value,
            unless(is_fine, Severity::Warning),
        ))
    })
}

fn use_numa(view: &View<'_>) -> Vec<SettingResult> {
    each(view, |jvm| {
        let is_on = jvm.is_on("UseNUMA");
        let own = list(&jvm.process.memory_nodes).map(|nodes| nodes.len());
        let nodes = own.unwrap_or(usize::MAX).min(view.memory_nodes());
        let is_bound = nodes < view.memory_nodes();
        let (value, level) = match (is_on, nodes) {
            (true, 0..=1) if is_bound => ("on, and bound to one NUMA node", Severity::Advice),
            (true, 0..=1) => ("on, but without effect with one NUMA node", Severity::Ok),
            (false, 0..=1) => ("off, with one NUMA node", Severity::Ok),
            (true, _) => ("on", Severity::Ok),
            (false, _) => ("off, with several NUMA nodes", Severity::Advice),
        };
        Some(SettingResult::new(value, level))
    })
}

fn active_processors(view: &View<'_>) -> Vec<SettingResult> {
    each(view, |jvm| {
        let (Some(reckons_with), Some(allowed)) = (jvm.reckons_with(), jvm.allowed()) else {
            return Some(SettingResult::not_told(
                "the kernel does not report its CPUs",
            ));
        };
        let given = jvm.count("cassandra.available_processors");
        let level = match given.unwrap_or(reckons_with).max(reckons_with) {
            most if most > allowed => Severity::Warning,
            _ => Severity::Ok,
        };
        let cassandra = given.map(|count| format!(", Cassandra with {count}"));
        let value = format!("{reckons_with}{}", cassandra.unwrap_or_default());
        Some(
            SettingResult::new(value, level)
                .wanted(format!("at most {allowed}, the CPUs that the JVM may use")),
        )
    })
}

fn parallel_gc_threads(view: &View<'_>) -> Vec<SettingResult> {
    each(view, |jvm| {
        if !jvm.reckons() {
            return None;
        }
        let Some(cpus) = jvm.counted() else {
            return Some(SettingResult::not_told(
                "the kernel does not report its CPUs",
            ));
        };
        let wanted = parallel_threads(cpus);
        let given = jvm.count("ParallelGCThreads");
        let (count, origin) = match (given, jvm.parallel()) {
            (Some(count), _) => (count, ""),
            (None, Some(count)) => (count, ", reckoned"),
            (None, None) => {
                return Some(SettingResult::not_told(
                    "the JVM does not report the number of these threads",
                ));
            }
        };
        let level = match count {
            _ if count > cpus => Severity::Warning,
            _ if count != wanted => Severity::Advice,
            _ => Severity::Ok,
        };
        let judged = SettingResult::new(format!("{count}{origin}"), level);
        let cpus = match cpus {
            1 => "1 CPU".to_owned(),
            _ => format!("{cpus} CPUs"),
        };
        let fix = format!("-XX:ParallelGCThreads={wanted}, or omit this flag, {FLAGS}");
        Some(judged.wanted(format!("{wanted} on {cpus}")).fix(fix))
    })
}

fn conc_gc_threads(view: &View<'_>) -> Vec<SettingResult> {
    each(view, |jvm| {
        let parallel = jvm.parallel().filter(|_| jvm.reckons())?;
        let reckoned = concurrent_threads(parallel);
        let Some(count) = jvm.count("ConcGCThreads") else {
            return Some(SettingResult::new(
                format!("{reckoned}, reckoned"),
                Severity::Ok,
            ));
        };
        let is_fine = (reckoned..=parallel.max(reckoned)).contains(&count);
        let judged = SettingResult::new(count.to_string(), unless(is_fine, Severity::Advice));
        let fix = format!("-XX:ConcGCThreads={reckoned}, or omit this flag, {FLAGS}");
        let wanted = if parallel == reckoned {
            reckoned.to_string()
        } else {
            format!("{reckoned} to {parallel}")
        };
        Some(judged.wanted(wanted).fix(fix))
    })
}

fn jemalloc(view: &View<'_>) -> Vec<SettingResult> {
    each(view, |jvm| {
        Some(match &jvm.process.has_library {
            Ok(true) => SettingResult::new("preloaded", Severity::Ok),
            Ok(false) => SettingResult::new("not preloaded", Severity::Ok),
            Err(why) => SettingResult::not_told(why),
        })
    })
}
