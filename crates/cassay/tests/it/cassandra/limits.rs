//! Tests that cassay names the resource that limits a real node. Each study makes one resource
//! scarce.

use super::assert_nothing_is_left;
use crate::program::Lab;
use analysis::limits::LimitKind;
use store::record::ExperimentOutcome;

/// A workload with rows of SIZE bytes.
const ROWS: &str = "\
keyspace: big
schema:
  - CREATE TABLE docs (id bigint PRIMARY KEY, body blob)
values:
  id: row
  body: blob(SIZE)
statements:
  write: INSERT INTO docs (id, body) VALUES (:id, :body)
  read: SELECT id, body FROM docs WHERE id = :id
mix: {write: 1, read: 1}
load: write
verify: read
";

const STUDY: &str = "\
study: NAME
question: Which resource limits this node?
target: {local: TARGET}
workload: WORKLOAD
data: {load: {operations: ROWS_COUNT}, settle: none}
procedure: {sweep: {threads: [1, 4, 16]}}
repeat: {blocks: 2}
window: {warmup: 5s, measure: 10s}
verify: {reads: none, sample: 0}
why: {confirm: {minutes: 4}}
MORE
";

/// A study with one scarce resource.
struct ScarceResource {
    name: &'static str,
    /// Settings of `target.local`.
    target: &'static str,
    workload: &'static str,
    rows: &'static str,
    /// Further keys of the study.
    more: &'static str,
    /// Resources that describe the scarcity. Some limits show as two resources: a node without heap
    /// is stopped by collections, which are pauses.
    expected: &'static [LimitKind],
}

const SMALL: &str = "{use: kv, mix: {write: 1, read: 1}, consistency: ONE}";

const SCARCE: [ScarceResource; 8] = [
    ScarceResource {
        name: "cpu-quota",
        target: "{hosts: 1, host: {cpu_quota: 0.5}}",
        workload: SMALL,
        rows: "20k",
        more: "",
        expected: &[LimitKind::CpuQuota, LimitKind::Cpu],
    },
    ScarceResource {
        name: "disk",
        target: "{hosts: 1, host: {volume: 4GiB, disk: {write_rate: 4MiB}}}",
        workload: "{file: docs.yaml, consistency: ONE, mix: {write: 1}}",
        rows: "5k",
        more: "",
        expected: &[LimitKind::DiskRate, LimitKind::DiskQueue],
    },
    ScarceResource {
        name: "heap",
        target: "{heap: 256MiB}",
        workload: "{file: large.yaml, consistency: ONE, mix: {write: 1, read: 9}}",
        rows: "2k",
        more: "",
        expected: &[LimitKind::GarbageCollection, LimitKind::Pause],
    },
    ScarceResource {
        name: "compaction",
        target: "{yaml: {compaction_throughput: 1MiB/s, memtable_heap_space: 8MiB, \
                 memtable_offheap_space: 8MiB}}",
        workload: "{file: docs.yaml, consistency: ONE, mix: {write: 1}}",
        rows: "20k",
        more: "",
        expected: &[LimitKind::CompactionThroughput],
    },
    ScarceResource {
        name: "commit-log",
        target: "{yaml: {commitlog_sync: batch}}",
        workload: "{use: kv, mix: {write: 1}, consistency: ONE}",
        rows: "20k",
        more: "",
        expected: &[LimitKind::CommitLogSync],
    },
    ScarceResource {
        name: "thread",
        target: "{yaml: {native_transport_max_threads: 1}}",
        workload: SMALL,
        rows: "20k",
        more: "",
        expected: &[LimitKind::Thread, LimitKind::TransportQueue],
    },
    ScarceResource {
        name: "link",
        target: "{hosts: 1, host: {link: {rate: 20Mbit}}}",
        workload: "{file: docs.yaml, consistency: ONE}",
        rows: "20k",
        more: "",
        expected: &[LimitKind::Network, LimitKind::ClientLink],
    },
    ScarceResource {
        name: "client",
        target: "{hosts: 1, host: {cpus: [1]}}",
        workload: "{file: large.yaml, consistency: ONE, mix: {write: 1}}",
        rows: "2k",
        more: "client: {workers: 1, cpus: [0], compression: lz4}\n",
        expected: &[LimitKind::Client],
    },
];

/// Outcome of one study.
struct Named {
    is_first: bool,
    text: String,
}

fn name_limit(scarce: &ScarceResource) -> Named {
    let lab = Lab::new();
    lab.write("docs.yaml", &ROWS.replace("SIZE", "4096"));
    lab.write("large.yaml", &ROWS.replace("SIZE", "65536"));
    let study = STUDY
        .replace("NAME", scarce.name)
        .replace("TARGET", scarce.target)
        .replace("WORKLOAD", scarce.workload)
        .replace("ROWS_COUNT", scarce.rows)
        .replace("MORE", scarce.more);
    lab.write("study.yaml", &study);
    lab.cassay(&["run", "study.yaml"]).measured(&lab);
    assert_nothing_is_left(&lab);
    let findings = lab.run().findings.expect("findings");
    let [limit] = &findings.limits[..] else {
        panic!("{}: {:#?}", scarce.name, findings.limits);
    };
    // A confirmed candidate is moved to the front, so the first full resource is not always first.
    let first = limit.candidates.first();
    let outcome = first.and_then(|first| first.experiment.as_ref());
    assert!(
        outcome.is_none_or(|one| one.outcome != ExperimentOutcome::Refuted),
        "{}: {limit:#?}",
        scarce.name
    );
    let names: Vec<String> = limit
        .candidates
        .iter()
        .map(|one| {
            let outcome = one.experiment.as_ref();
            let outcome = outcome.map_or(String::new(), |one| format!(" {}", one.outcome));
            format!("{}{outcome}", one.kind)
        })
        .collect();
    Named {
        is_first: first.is_some_and(|first| scarce.expected.contains(&first.kind)),
        text: format!("{}: {}", scarce.name, names.join(", ")),
    }
}

mod long {
    use super::*;

    #[test]
    #[ignore = "starts a real Cassandra: cargo xtask cassandra"]
    fn the_scarce_resource_is_named_first_in_seven_of_eight() {
        let named: Vec<Named> = SCARCE.iter().map(name_limit).collect();
        let texts: Vec<&str> = named.iter().map(|one| one.text.as_str()).collect();
        println!("{}", texts.join("\n"));
        let first = named.iter().filter(|one| one.is_first).count();
        assert!(first >= 7, "{first} of 8: {texts:#?}");
    }

    /// At a tenth of its throughput, a node without scarce resources has no full resource.
    #[test]
    #[ignore = "starts a real Cassandra: cargo xtask cassandra"]
    fn a_node_with_little_load_has_no_full_resource() {
        let lab = Lab::with(
            &STUDY
                .replace("NAME", "idle")
                .replace("TARGET", "{}")
                .replace("WORKLOAD", SMALL)
                .replace("ROWS_COUNT", "20k")
                .replace("{sweep: {threads: [1, 4, 16]}}", "{fixed: {rate: 300}}")
                .replace("MORE", ""),
        );
        lab.cassay(&["run", "study.yaml"]).measured(&lab);
        assert_nothing_is_left(&lab);
        for limit in lab.run().findings.expect("findings").limits {
            assert!(limit.candidates.is_empty(), "{limit:#?}");
        }
    }
}
