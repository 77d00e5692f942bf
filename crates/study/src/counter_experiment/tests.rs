//! Tests the changes of counter-experiments, and the studies that they produce.

use super::*;
use crate::resolve::resolve;
use crate::settings::{Overrides, Settings, Workload};

/// A study that sets every setting that an experiment changes.
const LIMITED: &str = "\
study: which
question: Which limit?
target:
  local:
    hosts: 1
    heap: 512MiB
    isolation: hosts
    host:
      cpu_quota: 0.5
      memory: 2GiB
      volume: 2GiB
      disk: {write_rate: 8MiB, read_iops: 1000}
      link: {rate: 100Mbit, delay: 2ms}
    yaml: {compaction_throughput: 16MiB/s, concurrent_reads: 2, commitlog_sync: batch}
workload: {use: standard1}
data: {load: {operations: 10k}}
procedure: {sweep: {threads: [1, 8]}}
window: {measure: 5s}
faults: [{kind: node-pause, at: 1s, for: 1s}]
variants: {one: {}, two: {window: {measure: 6s}}}
";

/// A node with two CPUs, and a client machine with four.
const CPUS: MachineCpus = MachineCpus {
    node: Some(2.0),
    client: 4,
};

fn study(text: &str) -> Study {
    resolve("s", text, &Overrides::default()).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

fn changed(kind: LimitKind, tree: &Tree) -> Result<(String, String, String), String> {
    let change = change(kind, tree, CPUS)?;
    let joined = |of: fn(&ChangedSetting) -> &String| {
        let words: Vec<&str> = change.settings.iter().map(|one| of(one).as_str()).collect();
        words.join(" and ")
    };
    Ok((
        joined(|one| &one.setting),
        joined(|one| &one.from),
        joined(|one| &one.to),
    ))
}

#[test]
fn each_resource_changes_its_own_setting() {
    let tree = study(LIMITED).variants[0].tree.clone();
    let of = |kind| {
        let (setting, from, to) = changed(kind, &tree).unwrap();
        format!("{setting}: {from} -> {to}")
    };
    assert_eq!(
        of(LimitKind::CpuQuota),
        "target.local.host.cpu_quota: 0.5 -> 0.625"
    );
    assert_eq!(of(LimitKind::Cpu), of(LimitKind::CpuQuota));
    assert_eq!(
        of(LimitKind::GarbageCollection),
        "target.local.heap: 512MiB -> 640MiB"
    );
    assert_eq!(
        of(LimitKind::DiskRate),
        "target.local.host.disk.read_iops and target.local.host.disk.write_rate: 1000 and 8MiB -> \
         1250 and 10MiB"
    );
    assert_eq!(
        of(LimitKind::Network),
        "target.local.host.link.rate: 100Mbit -> 125Mbit"
    );
    assert_eq!(
        of(LimitKind::ClientLink),
        "target.local.host.link.delay: 2ms -> 1500us"
    );
    assert_eq!(
        of(LimitKind::CompactionThroughput),
        "target.local.yaml.compaction_throughput: 16MiB/s -> 20MiB/s"
    );
    assert_eq!(
        of(LimitKind::Stage),
        "target.local.yaml.concurrent_reads and target.local.yaml.concurrent_writes: 2 and 32 -> 3 \
         and 40"
    );
    assert_eq!(
        of(LimitKind::CommitLogSync),
        "target.local.yaml.commitlog_sync: batch -> periodic"
    );
    assert_eq!(
        of(LimitKind::MemtableSpace),
        "target.local.yaml.memtable_heap_space: 128MiB -> 160MiB"
    );
}

/// A node without a CPU limit already has all CPUs, so the experiment reduces the number.
#[test]
fn an_unlimited_resource_is_reduced_or_refused() {
    let free = LIMITED.replace("      cpu_quota: 0.5\n", "");
    let tree = study(&free).variants[0].tree.clone();
    let change = change(LimitKind::Cpu, &tree, CPUS).unwrap();
    assert_eq!(
        (change.settings[0].to.as_str(), change.enlarges),
        ("1.5", false)
    );
    let said = changed(LimitKind::CpuQuota, &tree).unwrap_err();
    assert_eq!(said, "the study does not set `target.local.host.cpu_quota`");
    assert!(changed(LimitKind::Tombstones, &tree).is_err());
    let null = study(
        "study: s\nquestion: q\ntarget: {null: {}}\nworkload: {use: standard1}\n\
                      procedure: {fixed: {threads: 1}}\n",
    );
    assert!(changed(LimitKind::Cpu, &null.variants[0].tree).is_err());
}

/// The client of a null target can be enlarged too, because no node has to change.
#[test]
fn a_full_client_gets_more_workers_up_to_its_cpus() {
    let of = |client: &str, cpus: usize| {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{use: standard1}}\n\
             procedure: {{fixed: {{threads: 1}}}}\n{client}"
        );
        let cpus = MachineCpus {
            node: None,
            client: cpus,
        };
        let change = change(LimitKind::Client, &study(&text).variants[0].tree, cpus)?;
        let [setting] = &change.settings[..] else {
            panic!("{change:?}");
        };
        assert!(change.enlarges && setting.setting == "client.workers");
        Ok::<_, String>((setting.from.clone(), setting.to.clone()))
    };
    let pair = |from: &str, to: &str| Ok((from.to_owned(), to.to_owned()));
    assert_eq!(of("", 2), pair("1", "2"));
    assert_eq!(of("client: {workers: auto}\n", 16), pair("8", "10"));
    assert_eq!(of("client: {workers: 3}\n", 16), pair("3", "4"));
    let said = of("client: {workers: 2}\n", 2).unwrap_err();
    assert!(said.contains("2 workers on 2 CPUs"), "{said}");
    let said = of("client: {machines: [here, here]}\n", 8).unwrap_err();
    assert!(said.contains("several machines"), "{said}");
}

/// For every change, the experiment resolves to a study with two variants that differ only in the
/// change.
#[test]
fn every_experiment_is_a_study_of_two_variants() {
    let study = study(LIMITED);
    let variant = &study.variants[1];
    for kind in LimitKind::ALL {
        let Ok(change) = change(kind, &variant.tree, CPUS) else {
            continue;
        };
        let text = text(&study, variant, Point::Threads(64), &change, 4);
        let made = resolve("why.yaml", &text, &Overrides::default())
            .unwrap_or_else(|mistakes| panic!("{kind}: {mistakes}"));
        let [as_it_was, changed] = &made.variants[..] else {
            panic!("{kind}: {text}");
        };
        let of = |variant: &Variant| variant.settings.clone();
        assert_eq!(of(as_it_was).target, of(variant).target, "{kind}");
        let part = |settings: Settings| (settings.target, settings.client);
        assert_ne!(part(of(changed)), part(of(variant)), "{kind}");
        assert_eq!(of(changed).window.measure_ns, 6_000_000_000, "{kind}");
        assert!(
            of(changed).faults.is_empty() && made.repeat.blocks == 4,
            "{kind}"
        );
        let same_resources = Settings {
            target: of(as_it_was).target,
            client: of(as_it_was).client,
            ..of(changed)
        };
        assert_eq!(same_resources, of(as_it_was), "{kind}");
        let Workload { name, .. } = of(changed).workload;
        assert_eq!(name, "standard1");
    }
}

#[test]
fn a_load_keeps_twice_the_operations_in_flight() {
    assert_eq!(threads_for(12_000.0, 10.0), 240);
    assert_eq!(threads_for(10.0, 1.0), 8);
    assert_eq!(threads_for(1e9, 1e3), 4096);
}

#[test]
fn whole_numbers_always_change() {
    assert_eq!(changed_number("k", 2, MORE), Ok(3));
    assert_eq!(changed_number("k", 1, MORE), Ok(2));
    assert!(changed_number("k", 1, LESS).is_err());
    assert_eq!(changed_number("k", 4, LESS), Ok(3));
    assert_eq!(scaled_text("key", "15ms", LESS), Ok(json!("11ms")));
    let said = scaled_text("key", "auto", MORE).unwrap_err();
    assert_eq!(said, "key is auto, which is not a quantity");
}
