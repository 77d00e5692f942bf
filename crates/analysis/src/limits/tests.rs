//! Tests the decision table with planted limits.

use super::*;
use measure::Bins;

fn series<'a>(name: &'a str, place: &'a str, values: &[f64]) -> WindowSeries<'a> {
    let mut bins = Bins::new(64);
    for (second, value) in values.iter().enumerate() {
        bins.push(second as f64, *value);
    }
    WindowSeries {
        name,
        place,
        bins: bins.numbered().map(|(_, bin)| *bin).collect(),
    }
}

fn facts() -> TrialFacts {
    TrialFacts {
        nodes: vec![NodeFacts {
            name: "node1".to_owned(),
            host: "host1".to_owned(),
            cpus: Some(2.0),
            compaction_bytes_per_s: Some(1_048_576.0),
            compactors: Some(2.0),
            link_bytes_per_s: Some(125_000_000.0),
            ..NodeFacts::default()
        }],
        client: vec![ClientLoad {
            value: 0.3,
            limit: 0.85,
        }],
        window_s: 10.0,
        service_mean_ms: Some(1.0),
        p999_ms: Some(40.0),
        are_others_unknown: false,
    }
}

fn calm() -> Vec<WindowSeries<'static>> {
    let constant = [
        ("mpstat.%idle", "machine", 40.0),
        ("psi.cpu.some", "machine", 15.0),
        ("pidstat.%CPU", "node1", 90.0),
        ("cgroup.throttled", "host1", 0.0),
        ("threads.%CPU", "node1/C2 CompilerThre", 55.0),
        ("jvm.gc.G1_Young_Generation.paused_ms/s", "node1", 8.0),
        ("gc.pause.young", "node1", 9.0),
        ("safepoint.stopped", "node1", 9.0),
        ("safepoint.reach", "node1", 0.2),
        ("thread_pools.ReadStage.pending", "node1", 0.0),
        ("thread_pools.MutationStage.pending", "node1", 0.0),
        (
            "thread_pools.Native-Transport-Requests.pending",
            "node1",
            0.0,
        ),
        ("thread_pools.MemtableFlushWriter.pending", "node1", 0.0),
        ("memtable_pool.blocked/s", "node1", 0.0),
        ("commit_log.waiting_on_segment/s", "node1", 0.0),
        ("commit_log.waiting_on_commit/s", "node1", 0.0),
        ("client_request.Write.p99", "node1", 4.0),
        ("client_request.Write.mean", "node1", 0.6),
        ("client_request.Write.ops/s", "node1", 900.0),
        ("table.kv.local_write.mean", "node1", 0.5),
        ("compactions.pending", "node1", 0.0),
        ("compactions.running", "node1", 0.0),
        ("compactions.running_done", "node1", 0.0),
        ("compactions.bytes/s", "node1", 0.0),
        ("iostat.aqu-sz", "host1/loop0", 0.2),
        ("iostat.w/s", "host1/loop0", 80.0),
        ("sar.rxkB/s", "host1/eth0", 900.0),
        ("sar.rxkB/s", "host1/lo", 900_000.0),
        ("netstat.retransmitted", "host1", 0.0),
        ("netstat.segments_sent", "host1", 900.0),
    ];
    constant.map(|(name, place, value)| series(name, place, &[value; 10])).into()
}

/// Returns the series of `calm`. The series in `changes` replace the series with the same name and
/// place.
fn with(changes: &[(&'static str, &'static str, &[f64])]) -> Vec<WindowSeries<'static>> {
    let mut all = calm();
    for (name, place, values) in changes {
        all.retain(|one| (one.name, one.place) != (name, place));
        all.push(series(name, place, values));
    }
    all
}

fn first(changes: &[(&'static str, &'static str, &[f64])], facts: &TrialFacts) -> LimitKind {
    let found = candidates(&observe(&with(changes), facts), Before::Nothing);
    found.first().expect("a limit was planted").reading.kind
}

#[test]
fn a_node_with_room_is_not_called_full() {
    let seen = observe(&calm(), &facts());
    let full: Vec<_> = seen.readings.iter().filter(|one| one.is_full).collect();
    assert!(full.is_empty(), "{full:?}");
    assert_eq!(candidates(&seen, Before::Nothing), []);
    let node = &seen.nodes[0];
    assert_eq!((node.used, node.available), (0.9, 2.0));
}

#[test]
fn each_planted_limit_is_named_first() {
    let plain = facts();
    let cpu_full: (&str, &str, &[f64]) = ("mpstat.%idle", "machine", &[2.0; 10]);
    let waits: (&str, &str, &[f64]) = ("psi.cpu.some", "machine", &[70.0; 10]);
    assert_eq!(first(&[cpu_full, waits], &plain), LimitKind::Cpu);
    // The stage is full because the CPU is full.
    let stage: (&str, &str, &[f64]) = ("thread_pools.ReadStage.pending", "node1", &[9.0; 10]);
    assert_eq!(first(&[cpu_full, waits, stage], &plain), LimitKind::Cpu);

    let mut quota = plain.clone();
    quota.nodes[0].has_quota = true;
    let throttled: (&str, &str, &[f64]) = ("cgroup.throttled", "host1", &[60.0; 10]);
    assert_eq!(first(&[throttled, stage], &quota), LimitKind::CpuQuota);
    assert_eq!(
        first(&[throttled, stage], &plain),
        LimitKind::Stage,
        "without a quota"
    );

    // A heap that is too small also fills the CPU, with garbage collections.
    let pauses: (&str, &str, &[f64]) = (
        "jvm.gc.G1_Young_Generation.paused_ms/s",
        "node1",
        &[300.0; 10],
    );
    let found = first(&[cpu_full, waits, pauses], &plain);
    assert_eq!(found, LimitKind::GarbageCollection);
}

#[test]
fn waits_do_not_hide_the_resource_that_causes_them() {
    let plain = facts();
    let cpu_full: (&str, &str, &[f64]) = ("mpstat.%idle", "machine", &[2.0; 10]);
    let waits: (&str, &str, &[f64]) = ("psi.cpu.some", "machine", &[70.0; 10]);
    // If the disk is slow, writes also wait for segments and memtables.
    let mut disk = plain.clone();
    disk.nodes[0].disk = [None, Some(100.0), None, None];
    let writes: (&str, &str, &[f64]) = ("iostat.w/s", "host1/loop0", &[99.0; 10]);
    let segments: (&str, &str, &[f64]) = ("commit_log.waiting_on_segment/s", "node1", &[2.0; 10]);
    assert_eq!(first(&[writes, segments], &disk), LimitKind::DiskRate);
    let queue: (&str, &str, &[f64]) = ("iostat.aqu-sz", "host1/loop0", &[12.0; 10]);
    let found = candidates(&observe(&with(&[writes, queue]), &disk), Before::Nothing);
    let kinds: Vec<_> = found.iter().map(|one| one.reading.kind).collect();
    assert_eq!(kinds, [LimitKind::DiskRate, LimitKind::DiskQueue]);

    let commits: (&str, &str, &[f64]) = ("commit_log.waiting_on_commit/s", "node1", &[900.0; 10]);
    let sync: (&str, &str, &[f64]) = ("commit_log.waiting_on_commit.p99", "node1", &[3.6; 10]);
    assert_eq!(first(&[commits, sync], &plain), LimitKind::CommitLogSync);

    let pending: (&str, &str, &[f64]) = (
        "compactions.pending",
        "node1",
        &[4.0, 4.0, 5.0, 6.0, 7.0, 7.0, 8.0, 9.0, 9.0, 9.0],
    );
    let ended: (&str, &str, &[f64]) = ("compactions.bytes/s", "node1", &[1_040_000.0; 10]);
    assert_eq!(
        first(&[pending, ended], &plain),
        LimitKind::CompactionThroughput
    );
    // A compaction that has not ended has processed 10 MB during the window.
    let done = [
        0.0, 1.1e6, 2.2e6, 3.3e6, 4.5e6, 5.6e6, 6.7e6, 7.8e6, 8.9e6, 1e7,
    ];
    let done: (&str, &str, &[f64]) = ("compactions.running_done", "node1", &done);
    assert_eq!(
        first(&[pending, done], &plain),
        LimitKind::CompactionThroughput
    );

    // In `calm`, the compiler thread is the busiest thread. Here, this is true for 10 of 310
    // readings.
    let thread: (&str, &str, &[f64]) = ("threads.%CPU", "node1/MutationStage-1", &[98.0; 300]);
    assert_eq!(first(&[thread], &plain), LimitKind::Thread);
    assert_eq!(first(&[thread, cpu_full, waits], &plain), LimitKind::Cpu);
    let once: (&str, &str, &[f64]) = ("threads.%CPU", "node1/MutationStage-1", &[98.0; 10]);
    let seen = observe(&with(&[once]), &plain);
    assert_eq!(
        candidates(&seen, Before::Nothing),
        [],
        "in half of the readings only"
    );

    let mut client = plain.clone();
    client.client[0].value = 0.97;
    assert_eq!(first(&[cpu_full, waits], &client), LimitKind::Client);

    let mut far = plain;
    far.service_mean_ms = Some(21.0);
    assert_eq!(first(&[], &far), LimitKind::ClientLink);
}

#[test]
fn a_busy_cpu_without_a_queue_is_not_full() {
    let busy = with(&[("mpstat.%idle", "machine", &[5.0; 10])]);
    assert_eq!(candidates(&observe(&busy, &facts()), Before::Nothing), []);
}

#[test]
fn other_programs_on_a_full_machine_come_first() {
    let others: (&str, &str, &[f64]) = ("cpu.others", "machine", &[38.0; 10]);
    let waits: (&str, &str, &[f64]) = ("psi.cpu.some", "machine", &[70.0; 10]);
    let full: (&str, &str, &[f64]) = ("mpstat.%idle", "machine", &[2.0; 10]);
    assert_eq!(
        first(&[others, waits, full], &facts()),
        LimitKind::OtherPrograms
    );
    // Nodes of an attached target may be the other programs.
    let attached = TrialFacts {
        are_others_unknown: true,
        ..facts()
    };
    let seen = observe(&with(&[others, waits, full]), &attached);
    assert!(
        seen.unobserved.contains(&LimitKind::OtherPrograms),
        "{seen:?}"
    );
    assert_ne!(
        first(&[others, waits, full], &attached),
        LimitKind::OtherPrograms
    );
    // On a machine with idle CPUs, other programs do not limit the load.
    let seen = observe(&with(&[others]), &facts());
    assert_eq!(candidates(&seen, Before::Nothing), []);
}

#[test]
fn a_resource_as_full_on_the_other_side_explains_nothing() {
    let waits: (&str, &str, &[f64]) = ("psi.cpu.some", "machine", &[70.0; 10]);
    let full: (&str, &str, &[f64]) = ("mpstat.%idle", "machine", &[2.0; 10]);
    let seen = observe(&with(&[waits, full]), &facts());
    assert_eq!(candidates(&seen, Before::OtherSide(&seen)), []);
    assert_eq!(candidates(&seen, Before::LowerLoad(&seen)).len(), 1);
    let calm = observe(&calm(), &facts());
    assert_eq!(candidates(&seen, Before::OtherSide(&calm)).len(), 1);
}

#[test]
fn a_node_is_judged_by_the_cpus_that_it_may_use() {
    let mut pinned = facts();
    pinned.nodes[0].cpu_numbers = vec![1];
    let all = with(&[
        ("mpstat.%idle", "machine/cpu0", &[99.0; 10]),
        ("mpstat.%idle", "machine/cpu1", &[1.0; 10]),
        ("psi.cpu.some", "host1", &[80.0; 10]),
    ]);
    let seen = observe(&all, &pinned);
    let cpu = seen.readings.iter().find(|one| one.kind == LimitKind::Cpu).unwrap();
    assert!((cpu.value - 0.99).abs() < 1e-9 && cpu.is_full, "{cpu:?}");
}

#[test]
fn a_value_that_no_load_changes_must_have_risen() {
    let reads = [
        ("sstables_per_read.p99", "node1", &[6.0; 10][..]),
        ("client_request.Read.ops/s", "node1", &[100.0; 10][..]),
    ];
    let at = observe(&with(&reads), &facts());
    assert_eq!(candidates(&at, Before::LowerLoad(&at)), []);
    let alone = candidates(&at, Before::Nothing);
    assert_eq!(alone[0].reading.kind, LimitKind::SstablesPerRead);
    assert_eq!(alone[0].confidence, Confidence::Low);
    let below = [("sstables_per_read.p99", "node1", &[2.0; 10][..])];
    let risen = candidates(&at, Before::LowerLoad(&observe(&with(&below), &facts())));
    assert_eq!(risen[0].before, Some(2.0));
    assert_eq!(risen[0].confidence, Confidence::Medium);
}

#[test]
fn rows_without_their_series_are_unobserved() {
    let seen = observe(&[], &TrialFacts::default());
    assert_eq!(seen.unobserved, LimitKind::ALL);
    let seen = observe(&calm(), &facts());
    assert!(seen.unobserved.contains(&LimitKind::Tombstones));
    assert!(!seen.unobserved.contains(&LimitKind::CommitLogSync));
}

#[test]
fn the_node_nearest_the_limit_is_named() {
    let mut two = facts();
    two.nodes.push(NodeFacts {
        name: "node2".to_owned(),
        host: "host2".to_owned(),
        ..NodeFacts::default()
    });
    let all = with(&[("memtable_pool.blocked/s", "node2", &[7.0; 10])]);
    let found = candidates(&observe(&all, &two), Before::Nothing);
    assert_eq!(found[0].reading.place, "node2");
    assert_eq!(found[0].reading.value, 7.0);
}

#[test]
fn a_table_needs_only_series_that_probes_have() {
    assert!(is_needed("gc.pause.young") && is_needed("table.kv.local_read.mean"));
    assert!(!is_needed("vmstat.free"));
}
