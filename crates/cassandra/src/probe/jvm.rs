//! Probe of a node's JVM: heap, pools, collections, threads, CPU, classes and buffers.

use super::beans::{BeanAttribute, Beans, Conversion, Series};
use crate::jolokia::Jolokia;
use anyhow::Result;
use host::probe::{Out, SampledSource};

const MEMORY: &str = "java.lang:type=Memory";
const THREADS: &str = "java.lang:type=Threading";
const SYSTEM: &str = "java.lang:type=OperatingSystem";
const CLASSES: &str = "java.lang:type=ClassLoading";
const COMPILER: &str = "java.lang:type=Compilation";

/// Garbage collectors of Java 11 to 21. For a name that ends in `Cycles`, the time is concurrent
/// work, not a pause.
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

/// Memory pools of [`COLLECTORS`] and of every JVM.
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

/// Keys of a composite memory size. An unlimited size has no `max`.
const PARTS: [&str; 3] = ["used", "committed", "max"];

pub(super) struct Jvm(Beans);

impl Jvm {
    /// Creates a probe for the node `place`. A JVM never changes its collectors and pools, so the
    /// probe requests missing ones only once.
    pub(super) fn new(agent: &Jolokia, place: &str) -> Jvm {
        Jvm(Beans::new(agent.into(), place, series(), true))
    }
}

impl SampledSource for Jvm {
    fn look(&mut self, _now_ns: u64, out: &mut Out) -> Result<()> {
        self.0.look(out)
    }
}

fn series() -> Vec<Series> {
    let mut list = List(Vec::new());
    memory(&mut list);
    collectors(&mut list);
    for (name, mbean, attribute) in [
        ("jvm.threads", THREADS, "ThreadCount"),
        ("jvm.threads_daemon", THREADS, "DaemonThreadCount"),
        ("jvm.classes", CLASSES, "LoadedClassCount"),
        ("jvm.file_descriptors", SYSTEM, "OpenFileDescriptorCount"),
        ("jvm.file_descriptors_max", SYSTEM, "MaxFileDescriptorCount"),
    ] {
        list.level(name, "count", BeanAttribute::new(mbean, attribute));
    }
    for (name, mbean, attribute) in [
        ("jvm.threads_started/s", THREADS, "TotalStartedThreadCount"),
        ("jvm.classes_loaded/s", CLASSES, "TotalLoadedClassCount"),
    ] {
        list.rate(name, "/s", BeanAttribute::new(mbean, attribute), 1.0);
    }
    let compiling = BeanAttribute::new(COMPILER, "TotalCompilationTime");
    list.rate("jvm.compiling_ms/s", "ms/s", compiling, 1.0);
    // 1 ns of CPU time per second is a billionth of a CPU.
    let cpu = BeanAttribute::new(SYSTEM, "ProcessCpuTime");
    list.rate("jvm.%cpu", "%", cpu, 100.0 / 1e9);
    list.0
}

struct List(Vec<Series>);

impl List {
    fn level(&mut self, name: &str, unit: &'static str, source: BeanAttribute) {
        self.add(name, unit, Conversion::Level(source, 1.0));
    }

    fn rate(&mut self, name: &str, unit: &'static str, source: BeanAttribute, factor: f64) {
        self.add(name, unit, Conversion::Rate(source, factor));
    }

    fn add(&mut self, name: &str, unit: &'static str, kind: Conversion) {
        let name = name.to_string();
        self.0.push(Series { name, unit, kind });
    }
}

fn memory(list: &mut List) {
    for part in PARTS {
        let heap = BeanAttribute::part(MEMORY, "HeapMemoryUsage", part);
        list.level(&format!("jvm.heap_{part}"), "bytes", heap);
        let nonheap = BeanAttribute::part(MEMORY, "NonHeapMemoryUsage", part);
        list.level(&format!("jvm.nonheap_{part}"), "bytes", nonheap);
        for pool in POOLS {
            let source = BeanAttribute::part(bean("MemoryPool", pool), "Usage", part);
            let name = format!("jvm.pool.{}.{part}", one_word(pool));
            list.level(&name, "bytes", source);
        }
    }
    for pool in ["direct", "mapped"] {
        for (what, unit, attribute) in [
            ("used", "bytes", "MemoryUsed"),
            ("capacity", "bytes", "TotalCapacity"),
            ("count", "count", "Count"),
        ] {
            let source =
                BeanAttribute::new(format!("java.nio:type=BufferPool,name={pool}"), attribute);
            list.level(&format!("jvm.buffers.{pool}.{what}"), unit, source);
        }
    }
}

fn collectors(list: &mut List) {
    for collector in COLLECTORS {
        let cycles = collector.ends_with("Cycles");
        let time = if cycles { "cycling" } else { "paused" };
        let source = |attribute| BeanAttribute::new(bean("GarbageCollector", collector), attribute);
        let name = format!("jvm.gc.{}", one_word(collector));
        let (count, spent) = (source("CollectionCount"), source("CollectionTime"));
        list.rate(&format!("{name}.collections/s"), "/s", count, 1.0);
        list.rate(&format!("{name}.{time}_ms/s"), "ms/s", spent, 1.0);
    }
}

fn bean(kind: &str, name: &str) -> String {
    format!("java.lang:type={kind},name={name}")
}

/// Converts a name such as `CodeHeap 'non-nmethods'` to `CodeHeap_non-nmethods`.
fn one_word(name: &str) -> String {
    name.replace(' ', "_").replace('\'', "")
}
