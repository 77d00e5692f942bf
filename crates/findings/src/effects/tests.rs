//! Tests the effects of artificial matrices, and the sentences about them.

use crate::{combine, test_runs};
use expect_test::{Expect, expect};
use measure::Known;
use store::record::{EffectsRecord, FindingsRecord};
use study::resolve::resolve;
use study::settings::{Overrides, Study};

fn study(blocks: usize, rest: &str) -> Study {
    let text = format!(
        "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{use: standard1}}\n\
         repeat: {{blocks: {blocks}}}\n{rest}\n"
    );
    resolve("s", &text, &Overrides::default()).unwrap()
}

const MATRIX: &str = "matrix:\n  heap: {small: {}, large: {client: {timeout: 9s}}}\n  \
                      sync: {periodic: {}, batch: {verify: {reads: none}}}\n";
const FIXED: &str = "procedure: {fixed: {threads: 32}}";

/// Returns the findings of a run in which `did` determines the throughput of a cell at a point. The
/// pattern of the noise is the same in every test.
fn run(study: &Study, did: impl Fn(&[usize], f64) -> f64, noise: f64) -> FindingsRecord {
    let trials = test_runs::trials(study, |trial| {
        let wobble = trial.one_of([0.0, 1.0, -1.0, 0.5, -0.5]) * noise;
        let drift = 0.1 * trial.block as f64;
        let ops = did(&trial.variant.cell, trial.point.value()) * (1.0 + drift + wobble);
        (ops, Known::Exactly(1e6 / ops))
    });
    combine(study, trials, &|_| None, None)
}

fn says(found: &FindingsRecord, expect: Expect) {
    let said: Vec<&str> = found
        .answer
        .iter()
        .take_while(|s| !s.contains(" achieved "))
        .map(String::as_str)
        .collect();
    let said = said
        .join("\n")
        .replace("; ", ";\n  ")
        .replace(" interact: ", " interact:\n  ")
        .replace("on throughput: ", "on throughput:\n  ")
        .replace(
            ": the run does not show whether “",
            ":\n  the run does not show whether “",
        )
        .replace("changes throughput: ", "changes throughput:\n  ")
        .replace(" (", "\n  (");
    expect.assert_eq(&format!("{said}\n"));
}

fn verdicts(effects: &EffectsRecord, kind: &str) -> Vec<&'static str> {
    let of = effects.effects.iter().filter(|e| e.kind.name() == kind);
    of.map(|e| e.verdict.name()).collect()
}

/// Returns the throughput of a cell. A larger heap increases the throughput by 13 % with one commit
/// log and by 9 % with the other. The values are the means of the cells in the worked example of
/// the crate `analysis`.
fn two_by_two(cell: &[usize], _: f64) -> f64 {
    [[70_923.0, 68_682.0], [80_284.0, 74_852.0]][cell[0]][cell[1]]
}

#[test]
fn a_planted_interaction_is_named_first() {
    let found = run(&study(5, &format!("{MATRIX}{FIXED}")), two_by_two, 0.002);
    let effects = &found.effects[0];
    assert_eq!((found.effects.len(), effects.primary), (1, true));
    assert_eq!(verdicts(effects, "main"), ["faster", "slower"]);
    assert_eq!(verdicts(effects, "interaction"), ["matters"]);
    assert_eq!(effects.cells[3].values, ["large", "batch"]);
    assert_eq!(effects.cells[3].variant.as_str(), "large-batch");
    says(
        &found,
        expect![[r#"
        At 32 threads, heap and sync interact:
          “large” instead of “small” changes throughput by +13.2 %
          (95 %: +12.9 to +13.5 %) where sync is “periodic” and by +9.0 %
          (95 %: +8.6 to +9.3 %) where sync is “batch”: a ratio of ratios of 0.963
          (95 %: 0.959 to 0.967).
        heap: “large” instead of “small” changes throughput by +11.1 %
          (95 %: +10.8 to +11.3 %), on average over sync, which hides the interaction.
        sync: “batch” instead of “periodic” changes throughput by -5.0 %
          (95 %: -5.1 to -4.9 %), on average over heap, which hides the interaction.
    "#]],
    );
}

/// A study that may stop at any look has several chances to find a difference. So its intervals for
/// the same five blocks are wider.
#[test]
fn effects_of_a_sequential_study_hold_over_all_looks() {
    let once = study(5, &format!("{MATRIX}{FIXED}"));
    let until = once.text.replace("blocks: 5", "until: answered, min: 3, max: 5");
    let until = resolve("s", &until, &Overrides::default()).unwrap();
    let [once, until] = [once, until].map(|study| run(&study, two_by_two, 0.02));
    let width = |found: &FindingsRecord| -> Vec<f64> {
        let intervals = found.effects[0].effects.iter().map(|e| e.ci95.unwrap());
        intervals.map(|[low, high]| (high / low).ln()).collect()
    };
    assert_eq!(
        until.effects[0].looks,
        Some(store::record::LooksHow::Repeated)
    );
    for (once, until) in width(&once).into_iter().zip(width(&until)) {
        assert!(until > once * 1.2, "{once} {until}");
    }
    let said = until.answer.join(" ");
    assert!(said.contains("valid at all looks"), "{said}");
}

#[test]
fn axes_that_do_not_act_on_each_other_are_said_to_be_free() {
    let did = |cell: &[usize], _: f64| 1000.0 * [1.0, 1.1][cell[0]];
    let found = run(&study(5, &format!("{MATRIX}{FIXED}")), did, 0.002);
    assert_eq!(
        verdicts(&found.effects[0], "main"),
        ["faster", "equivalent"]
    );
    assert_eq!(verdicts(&found.effects[0], "interaction"), ["negligible"]);
    says(
        &found,
        expect![[r#"
        At 32 threads, heap: “large” instead of “small” changes throughput by +10.0 %
          (95 %: +9.7 to +10.3 %), on average over sync.
        sync: “batch” instead of “periodic” makes no relevant difference to throughput: +0.0 %
          (95 %: -0.1 to +0.1 %), on average over heap.
        No relevant interaction
          (within ±3 %): heap “large” with sync “batch”, +0.0 %
          (95 %: -0.4 to +0.4 %).
    "#]],
    );
}

#[test]
fn an_interaction_hidden_by_noise_is_not_resolved() {
    let found = run(&study(5, &format!("{MATRIX}{FIXED}")), two_by_two, 0.2);
    assert_eq!(verdicts(&found.effects[0], "main"), ["inconclusive"; 2]);
    assert_eq!(verdicts(&found.effects[0], "interaction"), ["not_resolved"]);
    says(
        &found,
        expect![[r#"
            At 32 threads, heap:
              the run does not show whether “large” instead of “small” changes throughput:
              +10.4 %, anything from -13.1 to +40.3 %, on average over sync;
              29 blocks would decide.
            sync:
              the run does not show whether “batch” instead of “periodic” changes throughput:
              -5.1 %, anything from -13.6 to +4.3 %, on average over heap;
              19 blocks would decide.
            The run does not show whether these settings interact:
              heap “large” with sync “batch”, -0.7 %
              (95 %: -33.4 to +48.0 %).
        "#]],
    );
}

#[test]
fn of_one_block_there_are_ratios_and_no_word() {
    for blocks in [1, 2] {
        let found = run(&study(blocks, &format!("{MATRIX}{FIXED}")), two_by_two, 0.0);
        let effects = &found.effects[0];
        assert_eq!(
            effects.without_interval,
            Some(store::record::WithoutInterval::Blocks)
        );
        assert_eq!(verdicts(effects, "main"), ["inconclusive"; 2]);
        let known = |e: &store::record::EffectRecord| e.ci95.is_some() || e.p.is_some();
        assert!(!effects.effects.iter().any(known), "{effects:?}");
        let said = found.answer.join("\n");
        assert!(said.contains("No effect has an interval"), "{said}");
    }
}

#[test]
fn cells_that_did_not_take_turns_have_no_effect_interval() {
    let text = format!("{MATRIX}{FIXED}");
    let text = study(5, &text).text.replace("blocks: 5", "blocks: 5, order: sequential");
    let study = resolve("s", &text, &Overrides::default()).unwrap();
    let found = run(&study, two_by_two, 0.002);
    assert_eq!(
        found.effects[0].without_interval,
        Some(store::record::WithoutInterval::Sequential)
    );
    assert_eq!(verdicts(&found.effects[0], "interaction"), ["not_resolved"]);
    assert!(found.answer.join("\n").contains("were not interleaved"));
}

#[test]
fn at_a_rate_the_tail_is_compared_and_one_point_is_primary() {
    let sweep = "procedure: {sweep: {rate: [100, 200]}}";
    let did = |cell: &[usize], rate: f64| rate * (1.0 + 0.2 * (cell[0] * cell[1]) as f64);
    let found = run(&study(5, &format!("{MATRIX}{sweep}")), did, 0.002);
    let seen = found.effects.iter().map(|e| (e.metric.as_str(), e.primary));
    assert_eq!(
        seen.collect::<Vec<_>>(),
        [("latency_ms.p99", false), ("latency_ms.p99", true)]
    );
    let p = |at: usize| {
        let e = &found.effects[at].effects[2];
        e.p_adjusted.unwrap() / e.p.unwrap()
    };
    assert!(p(0) > p(1), "{} {}", p(0), p(1));
}

#[test]
fn a_study_without_two_axes_has_no_effects() {
    let one = "matrix: {heap: {small: {}, large: {client: {timeout: 9s}}}, k: {same: {}}}\n";
    for rest in [one, "variants: {a: {}, b: {}}\n"] {
        let found = run(&study(5, &format!("{rest}{FIXED}")), |_, _| 1000.0, 0.01);
        assert!(found.effects.is_empty());
        assert!(!found.comparisons.is_empty());
    }
}
