//! The Java machine of a node: heap, pools, collections, threads, CPU, classes, buffers.

use super::beans::{Beans, Kind, Series, Source};
use super::{Look, Out};
use crate::jolokia::Jolokia;
use anyhow::Result;

const MEMORY: &str = "java.lang:type=Memory";
const THREADS: &str = "java.lang:type=Threading";
const SYSTEM: &str = "java.lang:type=OperatingSystem";
const CLASSES: &str = "java.lang:type=ClassLoading";
const COMPILER: &str = "java.lang:type=Compilation";

/// Collectors of Java 11 to 21. The time of those that end in `Cycles` is that of work beside the
/// application: no pause.
const COLLECTORS: [&str; 15] = [
    "G1 Young Generation",
    "G1 Old Generation",
    "G1 Concurrent GC",
    "PS Scavenge",
    "PS MarkSweep",
    "ZGC Pauses",
    "ZGC Cycles",
    "ZGC Minor Pauses",
    "ZGC Minor Cycles",
    "ZGC Major Pauses",
    "ZGC Major Cycles",
    "Shenandoah Pauses",
    "Shenandoah Cycles",
    "Copy",
    "MarkSweepCompact",
];

/// Memory pools of these collectors, and those that every JVM has.
const POOLS: [&str; 19] = [
    "G1 Eden Space",
    "G1 Survivor Space",
    "G1 Old Gen",
    "PS Eden Space",
    "PS Survivor Space",
    "PS Old Gen",
    "ZHeap",
    "ZGC Young Generation",
    "ZGC Old Generation",
    "Shenandoah",
    "Eden Space",
    "Survivor Space",
    "Tenured Gen",
    "Metaspace",
    "Compressed Class Space",
    "CodeCache",
    "CodeHeap 'non-nmethods'",
    "CodeHeap 'profiled nmethods'",
    "CodeHeap 'non-profiled nmethods'",
];

/// What a size consists of; the most is left out where there is no limit.
const PARTS: [&str; 3] = ["used", "committed", "max"];

/// Looks at the Java machine of one node.
pub(super) struct Jvm(Beans);

impl Jvm {
    /// Of the node `place`. Collectors and pools do not change while a JVM runs, so that those that
    /// it does not have are asked for once.
    pub(super) fn new(agent: &Jolokia, place: &str) -> Jvm {
        Jvm(Beans::new(agent, place, series(), true))
    }
}

impl Look for Jvm {
    fn look(&mut self, _now_ns: u64, out: &mut Out) -> Result<()> {
        self.0.look(out)
    }
}

fn series() -> Vec<Series> {
    let mut all = Vec::new();
    let mut add = |name: String, unit: &'static str, kind: Kind| {
        all.push(Series { name, unit, kind });
    };
    for part in PARTS {
        for (name, attribute) in [
            ("heap", "HeapMemoryUsage"),
            ("nonheap", "NonHeapMemoryUsage"),
        ] {
            let source = Source::part(MEMORY, attribute, part);
            add(
                format!("jvm.{name}_{part}"),
                "bytes",
                Kind::Level(source, 1.0),
            );
        }
        for pool in POOLS {
            let source = Source::part(bean("MemoryPool", pool), "Usage", part);
            let name = format!("jvm.pool.{}.{part}", one_word(pool));
            add(name, "bytes", Kind::Level(source, 1.0));
        }
    }
    for collector in COLLECTORS {
        let time = if collector.ends_with("Cycles") {
            "cycling"
        } else {
            "paused"
        };
        let source = |attribute| Source::new(bean("GarbageCollector", collector), attribute);
        let name = |what: &str| format!("jvm.gc.{}.{what}", one_word(collector));
        add(
            name("collections/s"),
            "/s",
            Kind::Rate(source("CollectionCount"), 1.0),
        );
        let time = format!("{time}_ms/s");
        add(
            name(&time),
            "ms/s",
            Kind::Rate(source("CollectionTime"), 1.0),
        );
    }
    for pool in ["direct", "mapped"] {
        let source =
            |attribute| Source::new(format!("java.nio:type=BufferPool,name={pool}"), attribute);
        let name = |what: &str| format!("jvm.buffers.{pool}.{what}");
        add(
            name("used"),
            "bytes",
            Kind::Level(source("MemoryUsed"), 1.0),
        );
        add(
            name("capacity"),
            "bytes",
            Kind::Level(source("TotalCapacity"), 1.0),
        );
        add(name("count"), "count", Kind::Level(source("Count"), 1.0));
    }
    let levels = [
        ("jvm.threads", THREADS, "ThreadCount"),
        ("jvm.threads_daemon", THREADS, "DaemonThreadCount"),
        ("jvm.classes", CLASSES, "LoadedClassCount"),
        ("jvm.file_descriptors", SYSTEM, "OpenFileDescriptorCount"),
    ];
    for (name, mbean, attribute) in levels {
        let source = Source::new(mbean, attribute);
        add(name.to_string(), "count", Kind::Level(source, 1.0));
    }
    let rates = [
        (
            "jvm.threads_started/s",
            "/s",
            THREADS,
            "TotalStartedThreadCount",
            1.0,
        ),
        (
            "jvm.classes_loaded/s",
            "/s",
            CLASSES,
            "TotalLoadedClassCount",
            1.0,
        ),
        (
            "jvm.compiling_ms/s",
            "ms/s",
            COMPILER,
            "TotalCompilationTime",
            1.0,
        ),
        // Nanoseconds a second are a billionth of a CPU.
        ("jvm.%cpu", "%", SYSTEM, "ProcessCpuTime", 100.0 / 1e9),
    ];
    for (name, unit, mbean, attribute, factor) in rates {
        let source = Source::new(mbean, attribute);
        add(name.to_string(), unit, Kind::Rate(source, factor));
    }
    all
}

fn bean(kind: &str, name: &str) -> String {
    format!("java.lang:type={kind},name={name}")
}

/// A name without blanks and quotes: `CodeHeap 'non-nmethods'` is `CodeHeap_non-nmethods`.
fn one_word(name: &str) -> String {
    name.replace(' ', "_").replace('\'', "")
}
