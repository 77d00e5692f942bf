//! Tests searches with artificial trials.

use super::*;
use analysis::procedure::Point;
use analysis::procedure::Role;
use measure::Known;

fn sentences(
    study: &Study,
    variant: &Variant,
    searches: &[SearchRecord],
    trials: &[TrialFinding],
) -> Vec<String> {
    let at_share = at_share(variant, trials);
    sentences::search::sentences(&variant.name, study.blocks(), searches, at_share.as_ref())
}
use store::record::RuleOutcome;
use store::record::RuleRecord;
use store::record::Verdict;
use study::resolve::resolve;
use study::settings::Overrides;

const STUDY: &str = "study: s\nquestion: q\ntarget: {null: {}}\nworkload: {use: standard1}\n\
                     procedure: {peak: {rate: {from: 1000, to: 8000}, p99_ms: 10, expected: \
                     0.5}}\nvariants: {a: {}, b: {}}\nrepeat: {blocks: 3}\n";

/// Returns the trials of a search. The p99 is within the bound at loads up to `limit`, and exceeds
/// the bound at higher loads.
fn trials(study: &Study, variant: &str, block: usize, limit: f64) -> Vec<TrialFinding> {
    let of = study.variants.iter().find(|one| one.name.as_str() == variant).unwrap();
    let mut trials: Vec<TrialFinding> = Vec::new();
    loop {
        let so_far: Vec<SeenTrial> =
            trials.iter().filter_map(|trial| to_trial(of, trial)).collect();
        let Next::Measure(asks) = of.settings.procedure.next(&so_far) else {
            return trials;
        };
        let at = asks[0].point;
        let mut trial = TrialFinding {
            variant: variant.into(),
            block,
            index: block * 100 + trials.len() + if variant == "b" { 50 } else { 0 },
            point: Some(at),
            role: asks[0].role,
            verdict: Verdict::Valid,
            rules: vec![RuleRecord {
                rule: "V1".to_owned(),
                result: RuleOutcome::Pass,
                detail: String::new(),
                measured: Vec::new(),
            }],
            seconds: 1.0,
            ..TrialFinding::default()
        };
        trial.all.ops_per_s = at.value();
        let ms = if at.value() <= limit { 2.0 } else { 30.0 };
        trial.all.latency_ms.p50 = ms.into();
        trial.all.latency_ms.p99 = ms.into();
        trials.push(trial);
    }
}

fn all() -> (Study, Vec<TrialFinding>) {
    let study = resolve("s", STUDY, &Overrides::default()).unwrap();
    let mut all = Vec::new();
    for (block, limit) in [2000.0, 2100.0, 2050.0].into_iter().enumerate() {
        all.extend(trials(&study, "a", block, limit));
        all.extend(trials(
            &study,
            "b",
            block,
            if block == 2 { 1e9 } else { limit * 1.5 },
        ));
    }
    (study, all)
}

#[test]
fn searches_say_what_they_found_together_and_what_else_happened() {
    let (study, trials) = all();
    let searches = searches(&study, &trials);
    let of = |at: usize| sentences(&study, &study.variants[at], &searches, &trials);
    let expected = expect_test::expect![[r#"
        “a”: 2,044 op/s (± 7.7 %, geometric mean of 3 searches)
        is the highest load with a p99 within 10 ms,
        each confirmed twice;
        at 50 % of that load,
        it achieved 1,000 op/s with a p99 of 2.00 ms,
        1,045 op/s with a p99 of 2.00 ms,
        1,022 op/s with a p99 of 2.00 ms.
        “b”: 3,050 op/s (geometric mean of 2 searches)
        is the highest load with a p99 within 10 ms,
        each confirmed twice.
        “b”: the limit was not reached: 8,000 op/s,
        the highest load to try, still has a p99 within 10 ms (block 3).
        “b”: at 50 % of that load,
        it achieved 1,493 op/s with a p99 of 2.00 ms,
        1,559 op/s with a p99 of 2.00 ms,
        4,000 op/s with a p99 of 2.00 ms.
    "#]];
    let all = [of(0), of(1)].concat().join("\n");
    let lines = all
        .replace("; ", ";\n")
        .replace(" is the", "\nis the")
        .replace("load, it", "load,\nit")
        .replace(" ms, ", " ms,\n")
        .replace(", the", ",\nthe");
    expected.assert_eq(&(lines + "\n"));
    assert_eq!(searches.len(), 6);
    let first = &searches[0];
    assert_eq!(
        (first.outcome, first.steps[0].result),
        (SearchOutcome::Held, SearchResult::Pass)
    );
    assert_eq!(searches[5].found(), Some(Known::AtLeast(8000.0)));
}

/// Trials of two searches at the same point are not compared, because they are at the same point
/// only by chance.
#[test]
fn variants_are_compared_by_what_was_found() {
    let (study, trials) = all();
    let findings = crate::combine(&study, trials, &|_| None, None);
    let [compared] = findings.comparisons.as_slice() else {
        panic!("{:?}", findings.comparisons);
    };
    assert_eq!((compared.metric.as_str(), compared.primary), ("peak", true));
    assert!(compared.point.is_none());
    let mut answer = findings.answer.iter();
    let told = answer.find(|s| s.starts_with("At the loads that the searches found"));
    assert!(told.is_some(), "{:?}", findings.answer);
    // Trials that confirm a point do not count as additional blocks of the point.
    assert!(findings.points.iter().all(|point| point.blocks <= 3));
}

/// At a load beyond the limit, requests time out and are rejected. This does not make the run
/// invalid, because a search must try such a load.
#[test]
fn a_trial_that_was_too_much_makes_no_run_invalid() {
    let verdict = |invalid: fn(&TrialFinding) -> bool| {
        let (study, mut trials) = all();
        for trial in trials.iter_mut().filter(|trial| invalid(trial)) {
            trial.verdict = store::record::Verdict::Invalid;
            trial.reasons = vec!["V8".to_owned()];
        }
        let findings = crate::combine(&study, trials, &|_| None, None);
        (findings.verdict, findings.reasons.len())
    };
    let is_beyond = |trial: &TrialFinding| trial.all.latency_ms.p99.least() > 10.0;
    assert_eq!(verdict(is_beyond), (Verdict::Valid, 0));
    // A trial at the expected load affects the verdict on the run.
    let is_expected = |trial: &TrialFinding| trial.role == Role::Expected && trial.block == 0;
    assert_eq!(verdict(is_expected).0, Verdict::Invalid);
}

#[test]
fn searches_that_end_at_the_same_load_know_it_to_their_grid() {
    let (study, _) = all();
    let trials: Vec<TrialFinding> =
        (0..3).flat_map(|block| trials(&study, "a", block, 2000.0)).collect();
    let found = sentences(
        &study,
        &study.variants[0],
        &searches(&study, &trials),
        &trials,
    );
    assert!(
        found[0].contains("(± 2.0 %, geometric mean of 3 searches)"),
        "{}",
        found[0]
    );
}

/// An earlier version treated two machines that reached a bound at the same number of threads as
/// equal. It computed the price of a machine from the fastest trial of the search, and its answer
/// had no throughput.
#[test]
fn searches_over_threads_are_compared_and_priced_at_their_end() {
    let text = "study: s\nquestion: q\ntarget: {null: {}}\nworkload: {use: standard1}\n\
                procedure: {latency_target: {threads: {from: 4, to: 64}, p50_ms: 10}}\n\
                variants: {a: {price_per_hour: 1}, b: {price_per_hour: 2}}\n\
                repeat: {blocks: 5}\n";
    let study = resolve("s", text, &Overrides::default()).unwrap();
    let mut all = Vec::new();
    for block in 0..5 {
        for (variant, each) in [("a", 100.0), ("b", 150.0)] {
            let mut of = trials(&study, variant, block, 32.0);
            for trial in &mut of {
                let threads = trial.point.map_or(0.0, Point::value);
                trial.all.ops_per_s = each * threads * (1.0 + 0.001 * block as f64);
            }
            all.extend(of);
        }
    }
    let findings = crate::combine(&study, all, &|_| None, None);
    let at: Vec<f64> = findings.searches.iter().filter_map(|s| Some(s.at?.value())).collect();
    assert_eq!(at, [32.0; 10]);
    let [compared] = findings.comparisons.as_slice() else {
        panic!("{:?}", findings.comparisons);
    };
    assert!((compared.ratio - 1.5).abs() < 1e-9, "{}", compared.ratio);
    // The true limit may be one thread above the result.
    let [low, high] = compared.ci95.unwrap();
    let next = 33.0 / 32.0;
    assert!(
        (low - 1.5 / next).abs() < 1e-9 && (high - 1.5 * next).abs() < 1e-9,
        "{low} {high}"
    );
    let [one, two] = findings.prices.as_slice() else {
        panic!("{:?}", findings.prices);
    };
    assert!(one.point.is_none() && (one.ops_per_price / 3600.0 - 3206.4).abs() < 1.0);
    assert!((two.ratio.unwrap() - 0.75).abs() < 1e-9);
    let said = findings.answer.join("\n");
    assert!(
        said.contains("32 threads") && said.contains("with 3,206 op/s"),
        "{said}"
    );
    assert!(!said.contains(" did "), "no ladder: {said}");
}

/// An earlier version rejected studies of searches that end when the question is answered. Each
/// block has a separate search, and the results of the searches are compared.
#[test]
fn searches_go_on_until_what_they_found_is_told_apart() {
    let text = STUDY.replace("blocks: 3", "until: answered, min: 4, max: 8");
    let study = resolve("s", &text, &Overrides::default()).unwrap();
    let run = |times: f64| {
        let of_block = |block: usize| {
            let limit = 2000.0 * (1.0 + 0.03 * (block % 3) as f64);
            let a = trials(&study, "a", block, limit);
            a.into_iter().chain(trials(&study, "b", block, limit * times))
        };
        let all: Vec<TrialFinding> = (0..4).flat_map(of_block).collect();
        crate::look(&study, &all, 4).map(|ended| ended.words().to_owned())
    };
    let said = run(1.5).unwrap();
    assert!(
        said.contains("has an answer (faster) after 4 of at most 8"),
        "{said}"
    );
    assert!(!run(1.02).unwrap_or_default().contains("faster"));
}

#[test]
fn a_search_that_was_cut_short_says_so() {
    let (study, trials) = all();
    let searches = searches(&study, &trials[..2]);
    assert_eq!(searches.len(), 1);
    assert_eq!(
        (searches[0].outcome, searches[0].found()),
        (SearchOutcome::Unfinished, None)
    );
}
