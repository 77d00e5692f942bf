//! A run on three hosts, with nodes, settings, proofs, series of every probe, phases and restored
//! data. The tests write the run to a folder and read it back, so that the page uses the files on
//! disk.
//!
//! In every trial, the disk of one host has a peak in one second, and one node has more load than
//! the others. One setting is not in effect, and the series of hints are missing. The page must
//! show each of these.

use crate::fixture::{self, Shape};
use crate::machines;
use measure::Interval;
use report::RunView;
use std::collections::BTreeMap;
use std::path::Path;
use store::RunWriter;
use store::record::SettingVerdict;
use store::record::*;

/// Seconds of preparation before the warm-up: schema, load, settling and restore.
const BEFORE_S: u64 = 90;
/// Second in which the disk of one host was busy, in every trial, counted from the start line.
pub const PEAK_S: f64 = 101.0;
/// Height of the peak in percent. No other value of any series has this height.
pub const PEAK: f64 = 98.765;

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(key, value): &(&str, &str)| ((*key).to_string(), (*value).to_string());
    pairs.iter().map(owned).collect()
}

/// Returns the records of one trial with `count` hosts and nodes. `writes` is the value of
/// `concurrent_writes`, in which the variants differ.
pub fn nodes(index: usize, count: usize, writes: &str) -> NodesRecord {
    let host = |i: usize| HostRecord {
        machine: None,
        name: format!("host{i}"),
        address: format!("10.94.1.{i}"),
        limits: map(&[("cpus", "2"), ("memory", "2 GiB"), ("link_delay", "1 ms")]),
        volume_bytes: Some(20 << 30),
        volume_used_bytes: Some((6 << 30) + ((index as u64) << 27)),
    };
    let node = |i: usize| NodeRecord {
        name: format!("node{i}"),
        host: format!("host{i}"),
        address: format!("10.94.1.{i}:9042"),
        version: "5.0.8".into(),
        datacenter: "dc1".into(),
        rack: format!("r{i}"),
        state: "UN".into(),
        load_bytes: Some((5 << 30) + ((index as u64) << 26)),
        tokens: 16,
        owns: Some(1.0),
        settings: map(&[
            ("listen_address", &format!("10.94.1.{i}")),
            (
                "data_file_directories",
                &format!("[/c/host{i}/node{i}/data]"),
            ),
            ("concurrent_writes", writes),
            ("concurrent_reads", "32"),
            (
                "compaction_throughput",
                if i == 2 { "16MiB/s" } else { "64MiB/s" },
            ),
        ]),
        flags: map(&[("MaxHeapSize", "1073741824"), ("UseG1GC", "true")]),
        jvm: map(&[
            ("version", "17.0.15"),
            ("container", "cgroupv1"),
            ("processors", "2"),
        ]),
    };
    let proof = |i: usize, key: &str, wanted: &str, effective: &str| ProofRecord {
        node: format!("node{i}"),
        key: key.into(),
        wanted: wanted.into(),
        effective: effective.into(),
        source: "system_views.settings".into(),
        holds: wanted == effective,
        ..ProofRecord::default()
    };
    let proofs = |i: usize| {
        let throughput = if i == 2 { "16MiB/s" } else { "64MiB/s" };
        [
            proof(i, "concurrent_writes", writes, writes),
            proof(i, "compaction_throughput", "64MiB/s", throughput),
        ]
    };
    NodesRecord {
        format: FORMAT,
        isolation: "hosts".into(),
        hosts: (1..=count).map(host).collect(),
        nodes: (1..=count).map(node).collect(),
        proofs: (1..=count).flat_map(proofs).collect(),
        host_settings: (1..=count).flat_map(|i| host_settings(i, index)).collect(),
        machines: vec![machines::small(count)],
        placements: machines::all_over(count, index),
        unseen: vec!["numa: this machine has one node, so nothing can be remote".into()],
    }
}

/// Returns one setting for each verdict. The setting `irq.disk` has a different value in each
/// trial.
fn host_settings(i: usize, trial: usize) -> Vec<HostSettingRecord> {
    let one = |setting: &str, on: &str, value: &str, wanted: &str, verdict: &str| {
        let deviates = ["warning", "advice"].contains(&verdict);
        let say = |text: &str| {
            if deviates {
                text.to_owned()
            } else {
                String::new()
            }
        };
        HostSettingRecord {
            host: format!("host{i}"),
            setting: setting.into(),
            on: on.into(),
            value: value.into(),
            wanted: wanted.into(),
            verdict: SettingVerdict::from_name(verdict).expect("a word"),
            why: say("It costs time."),
            fix: say("sysctl --system"),
            source: say("Apache Cassandra"),
            start_check: Some(say("checkIt warns")).filter(|said| !said.is_empty()),
        }
    };
    let node = format!("node{i}");
    vec![
        one(
            "vm.max_map_count",
            "",
            "65530",
            "at least 1048575",
            "warning",
        ),
        one(
            "irq.disk",
            "",
            &format!("9{trial} % on CPU 1"),
            "several CPUs",
            "advice",
        ),
        one(
            "disk.scheduler",
            "vda",
            "no /sys/block/vda/queue/scheduler",
            "none",
            "unknown",
        ),
        one("heap.size", &node, "1 GiB", "below 32 GiB", "ok"),
    ]
}

/// Returns a wave that differs by place, so that readers can distinguish the lines.
fn wave(t_s: f64, place: usize, mean: f64) -> f64 {
    mean * (1.0 + 0.25 * (t_s / 7.0 + place as f64).sin())
}

/// A series, as its name, the part of the host or node, its unit and its mean.
type Series = (&'static str, &'static str, &'static str, f64);
const HOSTS: [Series; 13] = [
    ("mpstat.%usr", "", "%", 35.0),
    ("mpstat.%sys", "", "%", 12.0),
    ("mpstat.%soft", "", "%", 3.0),
    ("mpstat.%iowait", "", "%", 6.0),
    ("mpstat.%steal", "", "%", 1.0),
    ("mpstat.%usr", "/cpu0", "%", 40.0),
    ("iostat.%util", "/vda", "%", 30.0),
    ("iostat.rkB/s", "/vda", "kB/s", 9_000.0),
    ("iostat.wkB/s", "/vda", "kB/s", 22_000.0),
    ("sar.rxkB/s", "/eth0", "kB/s", 4_000.0),
    ("sar.txkB/s", "/eth0", "kB/s", 5_000.0),
    ("free.available", "", "kB", 900_000.0),
    ("vmstat.cache", "", "kB", 700_000.0),
];
const CASSANDRA: [Series; 10] = [
    ("compactions.pending", "", "count", 3.0),
    ("thread_pools.MutationStage.pending", "", "count", 5.0),
    ("thread_pools.ReadStage.pending", "", "count", 2.0),
    ("thread_pools.GossipStage.pending", "", "count", 0.0),
    ("sstables_per_read.p99", "", "count", 4.0),
    ("dropped.MUTATION/s", "", "/s", 0.0),
    ("client_request.Read.timeouts/s", "", "/s", 0.0),
    ("client_request.Write.ops/s", "", "/s", 9_000.0),
    ("client_request.Read.ops/s", "", "/s", 1_000.0),
    ("strange.thing", "", "furlongs", 7.0),
];
const JVM: [Series; 2] = [
    ("jvm.heap_used", "", "bytes", 6e8),
    ("jvm.threads", "", "count", 120.0),
];

/// Returns the samples of all probes over `seconds`, by the name of the probe. Each series has one
/// sample per second at every place. The log of the garbage collector has a pause every four
/// seconds.
pub fn samples(seconds: u64, count: usize) -> Vec<(&'static str, Vec<SampleRecord>)> {
    let of = |all: &[Series], owner: &str| -> Vec<SampleRecord> {
        let at = |second: u64| {
            let t_s = second as f64 + 0.37;
            let each = all.iter().flat_map(move |(name, part, unit, mean)| {
                (1..=count).map(move |i| {
                    // The second node has a larger backlog than the other nodes.
                    let more = if i == 2 && name.contains("pending") {
                        6.0
                    } else {
                        1.0
                    };
                    let peak = *name == "iostat.%util" && i == 1 && t_s as u64 == PEAK_S as u64;
                    SampleRecord {
                        t_s,
                        name: (*name).into(),
                        place: format!("{owner}{i}{part}"),
                        unit: (*unit).into(),
                        value: if peak {
                            PEAK
                        } else {
                            wave(t_s, i, mean * more)
                        },
                    }
                })
            });
            each.collect::<Vec<_>>()
        };
        (0..seconds).flat_map(at).collect()
    };
    let pause = |(number, second): (usize, u64)| SampleRecord {
        t_s: second as f64 + 0.5,
        name: "gc.pause.young".into(),
        place: format!("node{}", number % count + 1),
        unit: "ms".into(),
        value: 20.0 + (number % 5) as f64,
    };
    let pauses = (0..seconds).step_by(4).enumerate().map(pause).collect();
    vec![
        ("hosts", of(&HOSTS, "host")),
        ("cassandra", of(&CASSANDRA, "node")),
        ("jvm", of(&JVM, "node")),
        ("gc_log", pauses),
    ]
}

fn phases(measure_to_s: f64) -> Vec<PhaseTimeRecord> {
    let phase = |(name, from_s, to_s): (&str, f64, f64)| PhaseTimeRecord {
        name: name.into(),
        from_s,
        to_s,
    };
    [
        ("schema", 0.0, 1.5),
        ("load", 1.5, 60.0),
        ("settle", 60.0, 85.0),
        ("restore", 85.0, 90.0),
        ("warmup", 90.0, 95.0),
        ("measure", 95.0, measure_to_s),
        ("verify", measure_to_s, measure_to_s + 4.0),
    ]
    .map(phase)
    .into()
}

fn probe(name: &str, place: &str, problems: &[&str]) -> ProbeRecord {
    ProbeRecord {
        probe: name.into(),
        place: place.into(),
        period_s: 1.0,
        looks: 129,
        values: 4_000,
        cpu_s: 0.4,
        longest_s: 0.012,
        problems: problems.iter().map(|p| (*p).to_string()).collect(),
        ..ProbeRecord::default()
    }
}

/// Completes the finding of a trial with the phases, probes and restored data of this module.
pub fn complete(finding: &mut TrialFinding, measure_to_s: f64) {
    finding.phases = phases(measure_to_s);
    finding.probes = vec![
        probe("hosts", "", &[]),
        probe("jvm", "node1", &[]),
        probe("jvm", "node2", &[]),
        probe("cassandra", "node1", &["hints: the MBean is not there"]),
    ];
    finding.data = Some(DataRecord {
        snapshot: "loaded".into(),
        how: "online".into(),
        seconds: 2.75,
        sstables: 96,
        bytes: 15 << 30,
        fingerprints: map(&[("node1", "93ac01f2b6"), ("node2", "11d0e44f08")]),
        page_cache: "dropped".into(),
    });
}

/// Writes the run into the folder `results`. Returns the writer, which contains the path of the
/// run.
pub fn write(results: &Path) -> RunWriter {
    let shapes: &[Shape] = &fixture::shapes(1)[..4];
    let trials: Vec<_> = shapes.iter().map(|s| fixture::intervals(*s, 7)).collect();
    let plan = fixture::plan(shapes);
    let mut writer = RunWriter::create(results, "study: vtopology\n", &plan).expect("a run");
    let kinds = fixture::KINDS.map(str::to_string);
    let mut findings = fixture::findings(shapes, &trials);
    for ((record, intervals), shape) in plan.trials.iter().zip(&trials).zip(shapes) {
        let mut trial = writer.begin_trial(record, &kinds).expect("a trial");
        let begin_ns = trial.start_ns() + BEFORE_S * 1_000_000_000;
        for (phase, interval) in intervals {
            let moved = Interval {
                start_ns: interval.start_ns + begin_ns,
                end_ns: interval.end_ns + begin_ns,
                ..interval.clone()
            };
            trial.write_interval(phase, &moved).expect("an interval");
        }
        let writes = if shape.variant == "on" { "64" } else { "32" };
        trial.write_nodes(&nodes(record.index, 3, writes)).expect("nodes");
        for (probe, samples) in samples(129, 3) {
            trial.write_samples(probe, &samples).expect("samples");
        }
        complete(&mut findings.trials[record.index], 125.0);
    }
    writer.finish(&findings, "0.1.0", None).expect("findings");
    writer
}

/// Writes the run into a temporary folder, reads it back, and returns it.
pub fn run() -> RunView {
    let folder = tempfile::tempdir().expect("a folder");
    let writer = write(folder.path());
    let run = store::Run::open(writer.path()).expect("the run opens");
    let mut view = RunView::read(&run).expect("the run reads");
    // The name and the folder of the run contain the current time, so fixed names replace them.
    view.name = "vtopology/20261121T120000Z".into();
    view.folder = "results/vtopology/20261121T120000Z".into();
    view.journal.clear();
    view
}
