//! Tests studies that end as soon as their question is answered, and blocks that are added to a
//! run.

use crate::program::Lab;
use serde_json::Value;

fn pair(latencies_ms: [u32; 2], repeat: &str) -> String {
    let [fast, slow] = latencies_ms;
    format!(
        "\
study: pair
question: Is the slow one slower?
target: {{null: {{}}}}
workload: {{use: standard1, mix: {{write: 1}}}}
procedure: {{fixed: {{threads: 2}}}}
variants:
  fast: {{target: {{null: {{latency: {fast}ms}}}}}}
  slow: {{target: {{null: {{latency: {slow}ms}}}}}}
repeat: {repeat}
window: {{warmup: 0s, measure: 1s}}
"
    )
}

/// The second target is four times as slow. So the difference is significant long before the last
/// block, at any load of the machine.
const FAR: [u32; 2] = [4, 16];

fn primary(findings: &Value) -> &Value {
    let all = findings["comparisons"].as_array().unwrap();
    all.iter().find(|one| one["primary"] == true).unwrap()
}

#[test]
fn a_study_ends_when_answered_and_gives_its_number_of_blocks() {
    let repeat = "{until: answered, min: 3, max: 12, primary: ops_per_s, detect: 5%}";
    let lab = Lab::with(&pair(FAR, repeat));
    let plan = lab.cassay(&["plan", "study.yaml"]).ended_with(0).stdout;
    for part in [
        "cassay runs blocks 4 to 12 only until the primary comparison has an answer",
        "No run of this study has been finished yet",
        "6 to 24 trials",
        "block 4 of 3 to 12, if needed",
    ] {
        assert!(plan.contains(part), "{part}: {plan}");
    }
    let json = lab.cassay(&["plan", "study.yaml", "--json"]).ended_with(0);
    let expected = json.json()["expected"].to_string();
    assert!(expected.contains("with 2.0 % scatter"), "{expected}");
    let said = lab.cassay(&["run", "study.yaml"]).ended_with(0);
    said.says(&[
        "6 to 24 trials, about",
        "slow, 2 threads, block 3 of 3 to 12",
        "further blocks: left out",
    ]);
    let answer = &said.stdout;
    assert!(
        answer.contains("“slow” is slower than “fast”: -"),
        "{answer}"
    );
    let (finished, skipped) = (
        lab.journaled("trial_finished", None),
        lab.journaled("trial_skipped", None),
    );
    assert_eq!(finished + skipped, 24);
    let after = format!("answered after {} of at most 12 blocks", finished / 2);
    assert!(answer.contains(&after), "{finished} trials: {answer}");
    lab.cassay(&["resume"]).ended_with(0).says(&["so no trials remain"]);
    let shown = lab.cassay(&["show"]).ended_with(0).stdout;
    assert!(shown.contains("HOW THE EVIDENCE GREW"), "{shown}");
    // cassay refuses to add blocks to an answered comparison.
    let refused = lab.cassay(&["resume", "--more", "2"]).ended_with(1);
    refused.says(&["ended with an answer", "cassay run study.yaml"]);
    let plan = lab.cassay(&["plan", "study.yaml"]).ended_with(0).stdout;
    assert!(plan.contains("Estimated from the run "), "{plan}");
}

#[test]
fn blocks_are_added_to_a_run_and_its_intervals_say_so() {
    let lab = Lab::with(&pair(FAR, "{blocks: 2}"));
    let once = lab.cassay(&["run", "study.yaml", "--json"]).ended_with(0);
    assert_eq!(primary(&once.json())["looks"], Value::Null);
    let first = lab.run().plan.trials;
    let more = ["resume", "--more", "4", "--json"];
    let found = lab.cassay(&more).ended_with(0).json();
    let primary = primary(&found);
    assert_eq!(primary["looks"]["how"], "anytime", "{primary:#}");
    // Other work on the machine may invalidate a trial, so the test checks the number of planned
    // blocks.
    assert_eq!(primary["blocks_planned"], 6, "{primary:#}");
    let answer = found["answer"][0].as_str().unwrap();
    assert!(answer.contains("4 blocks were added to the 2"), "{answer}");
    let run = lab.run();
    assert_eq!(
        (run.added.as_slice(), run.plan.trials.len()),
        (&[4][..], 12)
    );
    let slugs = |trials: &[store::record::TrialRecord]| -> Vec<String> {
        trials.iter().map(|trial| trial.slug.clone()).collect()
    };
    assert_eq!(slugs(&run.plan.trials[..4]), slugs(&first));
    assert_eq!(lab.journaled("run_extended", None), 1);
    assert_eq!(lab.journaled("trial_finished", None), 12);
    lab.cassay(&["resume"]).ended_with(0).says(&["so no trials remain"]);
    let report = lab.cassay(&["show"]).ended_with(0).stdout;
    assert!(report.contains("anytime-valid"), "{report}");
}

/// A study of two equal null targets. In half of the audit's studies, the machine limits the
/// targets. In the other half, a stated latency limits them.
const EQUAL: &str = "\
study: equal
question: Are equal targets called different?
target: {null: {}}
workload: {use: standard1, mix: {write: 1}}
procedure: {fixed: {threads: 4}}
variants: {a: {}, b: {}}
repeat: {until: answered, min: 4, max: 12, primary: ops_per_s}
window: {warmup: 0s, measure: 1s}
";

/// Runs real studies, which takes a quarter of an hour. Suppose that each of the forty studies
/// shows a difference with a probability of 3 %. Then more than four of them show a difference in 1
/// of 150 audits.
#[test]
#[ignore = "long: cargo xtask audit"]
fn audit_of_forty_real_studies_of_equal_targets() {
    let (mut verdicts, mut blocks) = (Vec::new(), 0);
    for seed in 0..40 {
        let latency = ["null: {}", "null: {latency: 1ms}"][seed % 2];
        let lab = Lab::with(&EQUAL.replace("null: {}", latency));
        let seed = seed.to_string();
        let said = lab.cassay(&["run", "study.yaml", "--json", "--seed", &seed]);
        let findings = said.json();
        let primary = primary(&findings);
        let verdict = primary["verdict"].as_str().unwrap().to_owned();
        println!("{seed}: {verdict}: {}", primary["looks"]["ended"]);
        blocks += primary["blocks_planned"].as_u64().unwrap();
        verdicts.push(verdict);
    }
    let of = |word: &str| verdicts.iter().filter(|verdict| *verdict == word).count();
    let different = of("faster") + of("slower");
    println!(
        "{different} of 40 called different, {} equivalent, {} not answered; {blocks} blocks",
        of("equivalent"),
        of("inconclusive")
    );
    assert!(different <= 4, "{verdicts:?}");
}

/// Returns the finished trials of the run, and the verdict and the number of blocks of its primary
/// comparison. Asserts that no trial finished twice.
fn came_to(lab: &Lab) -> (Vec<String>, String, u64) {
    let run = lab.run();
    let ended = |trial: &&store::record::TrialRecord| {
        lab.journaled("trial_finished", Some(trial.index)) == 1
    };
    let ended: Vec<_> = run.plan.trials.iter().filter(ended).collect();
    assert_eq!(lab.journaled("trial_finished", None), ended.len(), "twice");
    let findings = lab.cassay(&["show", "--json"]).ended_with(0).json();
    let primary = primary(&findings);
    (
        ended.iter().map(|trial| trial.slug.clone()).collect(),
        primary["verdict"].as_str().unwrap().to_owned(),
        primary["blocks"].as_u64().unwrap(),
    )
}

/// Kills cassay with SIGKILL at ten moments of a run, and resumes the run each time. The trials and
/// the answer equal those of an undisturbed run. Each of the two runs takes half a minute.
#[test]
#[ignore = "long: cargo xtask audit"]
fn audit_of_a_study_that_is_killed_at_ten_moments_and_resumed() {
    // Both targets state their latency, and one target is a tenth slower. The study is answered at
    // the first evaluation, after eight blocks.
    let near = pair(
        [20, 22],
        "{until: answered, min: 8, max: 12, primary: ops_per_s}",
    );
    let untouched = Lab::with(&near);
    untouched.cassay(&["run", "study.yaml"]);
    let lab = Lab::with(&near);
    let mut chance = 11_u64;
    let mut arguments = ["run", "study.yaml"].as_slice();
    let mut kills = 0;
    while kills < 10 {
        let run = lab.start(arguments);
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let after = std::time::Duration::from_millis(300 + (chance >> 33) % 3_000);
        measure::clock::sleep(after);
        run.kill();
        let has_begun = store::find(&lab.path().join("results"), "latest").is_ok();
        kills += usize::from(has_begun);
        arguments = if has_begun { &["resume"] } else { arguments };
        println!("killed after {after:?}");
    }
    lab.cassay(&["resume"]);
    let (trials, verdict, blocks) = came_to(&lab);
    println!("{verdict} after {blocks} blocks, {} trials", trials.len());
    assert_eq!((trials, verdict, blocks), came_to(&untouched));
}

/// The effects of latency and capacity interact. With unlimited capacity, 8 threads reach 2000 op/s
/// at 4 ms and 500 op/s at 16 ms. With a capacity of 1000 op/s, the server takes 1 ms per request,
/// one request at a time. The threads then reach 1000 op/s at 4 ms, and 8 operations per 17 ms at
/// 16 ms. The page size does not affect writes.
const PLANTED: &str = "\
study: planted
question: Do latency and capacity act on each other?
target: {null: {}}
workload: {use: standard1, mix: {write: 1}}
procedure: {fixed: {threads: 8}}
matrix:
  latency: {short: {target: {null: {latency: 4ms}}}, long: {target: {null: {latency: 16ms}}}}
  OTHER
repeat: {blocks: 5}
window: {warmup: 1s, measure: 2s}
";

/// In a real matrix on the null target, cassay names an existing interaction first, with its size.
/// It does not name a missing interaction.
#[test]
#[ignore = "long: cargo xtask audit"]
fn audit_of_an_interaction_that_is_planted() {
    let said = |other: &str| {
        let lab = Lab::with(&PLANTED.replace("OTHER", other));
        let run = lab.cassay(&["run", "study.yaml", "--json"]);
        let findings = run.measured(&lab).json();
        println!("{:#}", findings["answer"]);
        let effects = findings["effects"][0]["effects"].as_array().unwrap().clone();
        let interaction = effects.iter().find(|one| one["kind"] == "interaction");
        let first = findings["answer"][0].as_str().unwrap().to_owned();
        (first, interaction.unwrap().clone())
    };
    let (first, found) = said("limit: {free: {}, bound: {target: {null: {capacity: 1000}}}}");
    assert!(first.contains("latency and limit interact"), "{first}");
    let truth = (8.0 / 17e-3 / 1000.0) / (500.0 / 2000.0);
    let ratio = found["ratio"].as_f64().unwrap();
    assert!((ratio / truth - 1.0).abs() < 0.05, "{truth}: {found:#}");
    let (_, found) = said("page: {small: {}, large: {workload: {page_size: 11}}}");
    assert_ne!(found["verdict"], "matters", "{found:#}");
}
