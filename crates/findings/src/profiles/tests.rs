//! Tests the profiles of artificial runs on disk, with and without a planted frame.

use super::*;
use crate::test_runs::trials;
use store::RunWriter;
use store::record::{FORMAT, PlanRecord, Role, TrialRecord, Verdict};
use study::resolve::resolve;
use study::settings::Overrides;

const OPERATIONS: u64 = 200_000;
const INTERVAL_NS: u64 = 10_000_000;

fn study(variants: &[&str], load: &str, blocks: usize) -> Study {
    let variants: Vec<String> = variants.iter().map(|name| format!("{name}: {{}}")).collect();
    let text = format!(
        "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{use: kv}}\n\
         window: {{warmup: 0s, measure: 10s}}\nprocedure: {{fixed: {{{load}}}}}\n\
         variants: {{{}}}\nrepeat: {{blocks: {blocks}}}\n",
        variants.join(", ")
    );
    resolve("s", &text, &Overrides::default()).unwrap_or_else(|no| panic!("{no:?}"))
}

/// Returns the number of samples of a method that costs this many µs per operation. Depending on
/// `index`, the number deviates by up to 1 %.
fn samples(us: f64, index: usize) -> u64 {
    let noise = [1.0, 1.01, 0.99, 1.005, 0.995][index * 3 % 5];
    (us * noise * OPERATIONS as f64 / (INTERVAL_NS as f64 / 1e3)).round() as u64
}

/// Returns the stacks of one of two nodes, as the profiler prints them.
fn folded(index: usize, planted_us: f64) -> String {
    let stage = format!("[ReadStage-{index} tid=1{index}];java/lang/Thread.run");
    let run = "org/apache/cassandra/Verb.run";
    let mut lines = format!(
        "{stage};{run};org/apache/cassandra/Read.get {}\n[GC Thread#{index} tid=9];mark {}\n",
        samples(70.0, index),
        samples(5.0, index)
    );
    if planted_us > 0.0 {
        let planted = samples(planted_us, index);
        lines += &format!("{stage};{run};lab/SlowStage.burn {planted}\n");
    }
    lines
}

/// Writes a run of the study. `planted_us` returns the cost of the planted frame in a trial, or
/// `None` if the trial has no profile.
fn written(
    study: &Study,
    folder: &Path,
    planted_us: impl Fn(&str) -> Option<f64>,
) -> (std::path::PathBuf, Vec<TrialFinding>) {
    let found = trials(study, |made| {
        let is_profiled = made.variant.name.as_str().ends_with(PROFILED);
        let slower = if is_profiled { 0.99 } else { 1.0 };
        (
            1000.0 * slower * made.one_of([1.0, 1.002, 0.998, 1.001, 0.999]),
            5.0.into(),
        )
    });
    let record = |trial: &TrialFinding| TrialRecord {
        format: FORMAT,
        index: trial.index,
        slug: format!("{:02}", trial.index),
        variant: trial.variant.clone(),
        point: trial.point,
        role: Role::Probe,
        block: trial.block,
        phases: Vec::new(),
        settings: serde_json::json!({}),
    };
    let mut plan: PlanRecord = serde_json::from_value(serde_json::json!({
        "format": 1, "cassay": "0", "study": "s", "question": "?", "seed": 1, "rerun": "",
        "estimate": {"seconds": 1.0, "disk_bytes": 1, "memory_bytes": 1}, "trials": [],
        "resolved": {}
    }))
    .unwrap();
    plan.trials = found.iter().map(record).collect();
    let mut run = RunWriter::create(folder, "study: s\n", &plan).unwrap();
    for trial in &found {
        let writer = run.begin_trial(&record(trial), &["read".to_owned()]).unwrap();
        if let Some(us) = planted_us(trial.variant.as_str()) {
            let nodes = ["node1", "node2"].map(|node| {
                let record = ProfileRecord {
                    node: node.to_owned(),
                    event: "ctimer".to_owned(),
                    interval_ns: INTERVAL_NS,
                    window_s: 10.0,
                    operations: OPERATIONS,
                    unit: "ns".to_owned(),
                    ..ProfileRecord::default()
                };
                (record, folded(trial.index, us / 2.0))
            });
            writer.write_profiles(nodes.into()).unwrap();
        }
        run.finish_trial(trial.index, &format!("{:02}", trial.index), trial).unwrap();
    }
    (run.path().to_owned(), found)
}

fn profiled(variant: &str, us: f64) -> Option<f64> {
    let is_new = variant.starts_with("new");
    variant.ends_with(PROFILED).then_some(if is_new { us } else { 0.0 })
}

const FOUR: [&str; 4] = ["old", "old-profiled", "new", "new-profiled"];

fn recorded(study: &Study, folder: &Path, us: f64) -> ProfilesRecord {
    let (path, found) = written(study, folder, |variant| profiled(variant, us));
    of_trials(study, &Run::look(&path).unwrap(), &found).unwrap().unwrap()
}

#[test]
fn a_planted_frame_is_found_with_the_cost_of_all_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let record = recorded(&study(&FOUR, "threads: 8", 4), folder.path(), 50.0);
    let names: Vec<&str> = record.variants.iter().map(|one| one.variant.as_str()).collect();
    assert_eq!(names, ["old", "new"]);
    // Two nodes spend 75 µs each.
    assert!(
        (record.variants[0].cost - 150.0).abs() < 3.0,
        "{}",
        record.variants[0].cost
    );
    assert_eq!(
        (record.variants[1].trials, record.variants[1].operations),
        (4, 800_000)
    );
    let [difference] = &record.differences[..] else {
        panic!("{:?}", record.differences);
    };
    let first = &difference.frames[0];
    assert_eq!(
        (first.frame.as_str(), first.named),
        ("lab/SlowStage.burn", true)
    );
    let [low, high] = first.ci95.unwrap();
    assert!(
        low < 50.0 && 50.0 < high && high - low < 10.0,
        "{low} to {high}"
    );
    // The thread pool has the same stacks as its only method, which represents the pool.
    let caller = &difference.frames[1];
    assert_eq!(caller.frame, "org/apache/cassandra/Verb.run");
    assert_eq!(caller.explained_by.as_deref(), Some("lab/SlowStage.burn"));
    assert!(
        record.says[0].contains("in SlowStage.burn"),
        "{:?}",
        record.says
    );
    let tree = &record.variants[1].tree;
    let names: Vec<&str> =
        tree.name.iter().map(|name| tree.names[*name as usize].as_str()).collect();
    assert_eq!(names[..2], ["GC Thread", "mark"]);
    assert_eq!(tree.depth, [0, 1, 0, 1, 2, 3, 3]);
}

#[test]
fn equal_variants_differ_in_no_frame() {
    let folder = tempfile::tempdir().unwrap();
    let record = recorded(&study(&FOUR, "threads: 8", 4), folder.path(), 0.0);
    assert!(record.differences[0].frames.iter().all(|frame| !frame.named));
    assert!(
        record.says[0].starts_with("No frame costs significantly more or less in “new”"),
        "{:?}",
        record.says
    );
}

#[test]
fn the_cost_of_the_profiler_is_that_of_pairs_of_trials() {
    let folder = tempfile::tempdir().unwrap();
    let record = recorded(&study(&FOUR, "threads: 8", 4), folder.path(), 0.0);
    let [old, new] = &record.profiler_costs[..] else {
        panic!("{:?}", record.profiler_costs);
    };
    assert_eq!((old.variant.as_str(), new.variant.as_str()), ("old", "new"));
    assert_eq!((old.metric.as_str(), old.blocks), ("ops_per_s", 4));
    assert!((old.ratio - 0.99).abs() < 0.004, "{}", old.ratio);
    let [low, high] = old.ci95.unwrap();
    assert!(low < old.ratio && old.ratio < high);
    let folder = tempfile::tempdir().unwrap();
    let at_rate = recorded(&study(&FOUR, "rate: 1000", 4), folder.path(), 0.0);
    assert_eq!(at_rate.profiler_costs[0].metric, "latency_ms.p99");
}

#[test]
fn one_variant_has_a_tree_and_no_difference() {
    let folder = tempfile::tempdir().unwrap();
    let one = study(&["old", "old-profiled"], "threads: 8", 4);
    let record = recorded(&one, folder.path(), 0.0);
    assert_eq!((record.variants.len(), record.differences.len()), (1, 0));
    assert_eq!(record.says.len(), 1, "the cost of the profiler");
}

#[test]
fn nothing_is_concluded_from_invalid_trials_or_without_profiles() {
    let folder = tempfile::tempdir().unwrap();
    let study = study(&FOUR, "threads: 8", 4);
    let (path, mut found) = written(&study, folder.path(), |variant| profiled(variant, 50.0));
    let run = Run::look(&path).unwrap();
    for trial in found.iter_mut().filter(|trial| trial.block == 1) {
        trial.verdict = Verdict::Invalid;
    }
    let record = of_trials(&study, &run, &found).unwrap().unwrap();
    assert_eq!(record.differences[0].blocks, 3);
    assert!(record.differences[0].frames.iter().all(|frame| !frame.named));
    for trial in &mut found {
        trial.verdict = Verdict::Invalid;
    }
    assert_eq!(of_trials(&study, &run, &found).unwrap(), None);
    let other = tempfile::tempdir().unwrap();
    let (path, found) = written(&study, other.path(), |_| None);
    let none = of_trials(&study, &Run::look(&path).unwrap(), &found).unwrap();
    assert_eq!(none, None);
}

#[test]
fn the_run_takes_the_profiles_of_the_run_inside_it() {
    let folder = tempfile::tempdir().unwrap();
    let study = study(&FOUR, "threads: 8", 4);
    let inner = folder.path().join("profile");
    let (path, trials) = written(&study, &inner, |variant| profiled(variant, 50.0));
    let child = crate::conclude(&study, trials, &path, None, &mut |said| panic!("{said}"));
    assert!(child.profiles.is_some());
    let mut writer = RunWriter::resume(&path).unwrap();
    writer.finish(&child, "0.0.0", None).unwrap();
    drop(writer);
    let mut found = FindingsRecord::default();
    add(folder.path(), &path, &mut found).unwrap();
    let profiles = found.profiles.as_ref().unwrap();
    let place = profiles.run_folder().unwrap();
    assert!(place.starts_with("profile/s/"), "{place}");
    let (own, of_child) = (
        &profiles.differences[0],
        &child.profiles.unwrap().differences[0],
    );
    assert_eq!(
        (&own.baseline, own.costs),
        (&of_child.baseline, of_child.costs)
    );
    assert_eq!(own.frames.len(), of_child.frames.len());
    assert_eq!(found.answer.len(), 1);
    assert!(
        found.answer[0].contains("in SlowStage.burn"),
        "{:?}",
        found.answer
    );
}

#[test]
fn a_run_without_profiles_has_the_reason() {
    let mut found = FindingsRecord::default();
    add_reason("the target is attached".to_owned(), &mut found);
    let profiles = found.profiles.unwrap();
    assert_eq!(
        profiles.says,
        ["There are no profiles: the target is attached."]
    );
    assert!(found.answer.is_empty());
    assert!(
        add(
            Path::new("/nowhere"),
            Path::new("/nowhere/profile"),
            &mut FindingsRecord::default()
        )
        .is_err()
    );
}
