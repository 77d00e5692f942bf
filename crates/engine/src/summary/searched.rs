//! What the searches of a study came to: each by itself, and those of a variant together.
//!
//! What is found is a rate or a number of threads, and ratios are what is compared: several
//! searches together are their geometric mean, with an interval by Student's t of the logarithms
//! (evidence: a search is a path, so that only whole searches are repetitions).

use super::{block_words, point_words, usable};
use crate::found::found;
use crate::record::point_record;
use analysis::procedure::{Answer, Next, Percentile, Point, Procedure, Role, Seen};
use analysis::series;
use measure::Known;
use measure::number::{significant, whole};
use std::collections::BTreeSet;
use store::record::{SearchRecord, SearchStepRecord, TrialFinding};
use study::settings::{Study, Variant};

/// An interval narrower than 0.1 % is none: searches end on a grid of 2 %.
const INTERVAL_LOG_MIN: f64 = 0.001;

/// Every search, variant by variant.
pub fn searches(study: &Study, trials: &[TrialFinding]) -> Vec<SearchRecord> {
    let mut records = Vec::new();
    for variant in &study.variants {
        let Some((name, goal)) = variant.settings.procedure.goal() else {
            continue;
        };
        for block in 0..study.blocks() {
            let of = |t: &&TrialFinding| t.variant == variant.name && t.block == block;
            let of: Vec<&TrialFinding> = trials.iter().filter(of).collect();
            if of.is_empty() {
                continue;
            }
            records.push(SearchRecord {
                variant: variant.name.clone(),
                block,
                procedure: name.to_owned(),
                goal: goal.clone(),
                ..search(variant, &of)
            });
        }
    }
    records
}

fn search(variant: &Variant, trials: &[&TrialFinding]) -> SearchRecord {
    let procedure = &variant.settings.procedure;
    let seen: Vec<Seen> = trials
        .iter()
        .filter_map(|trial| seen(variant, trial))
        .collect();
    let steps = trials.iter().zip(&seen);
    let steps = steps.map(|(trial, seen)| step(procedure, trial, seen));
    let (at, outcome, words) = match procedure.next(&seen) {
        Next::Answer(Answer::Searched { at, outcome, words }) => (at, outcome.name(), words),
        Next::Answer(answer) => (None, "unfinished", answer.words()),
        Next::Measure(_) => (None, "unfinished", "the search was not finished".to_owned()),
    };
    SearchRecord {
        outcome: outcome.to_owned(),
        at: point_record(at),
        words,
        steps: steps.collect(),
        ..SearchRecord::default()
    }
}

/// As a procedure sees a trial; one that no rule has judged has failed.
fn seen(variant: &Variant, trial: &TrialFinding) -> Option<Seen> {
    let (axis, value) = trial.point.iter().next()?;
    let is_judged = !trial.rules.is_empty();
    Some(Seen {
        point: Point::named(axis, *value)?,
        role: Role::named(&trial.role),
        found: is_judged.then(|| found(&variant.settings, trial)),
    })
}

fn step(procedure: &Procedure, trial: &TrialFinding, seen: &Seen) -> SearchStepRecord {
    let step = procedure.step(seen);
    let of = percentile(procedure);
    let latency = seen.found.as_ref().map(|found| found.latency_ms.of(of));
    SearchStepRecord {
        trial: trial.index,
        point: trial.point.clone(),
        role: seen.role.name().to_owned(),
        result: step.as_ref().map_or("", |step| step.word).to_owned(),
        near: step.as_ref().is_some_and(|step| step.near),
        why: step.map_or(String::new(), |step| step.why),
        latency_ms: latency.map(|latency| latency.value.least()),
        at_least: latency.is_some_and(|latency| latency.value.is_at_least()),
        ci95_ms: latency.and_then(|latency| latency.ci95),
    }
}

/// The percentile that a search goes by.
fn percentile(procedure: &Procedure) -> Percentile {
    procedure.bound().map_or(Percentile::P99, |bound| bound.of)
}

/// The trials in which a search that came to an answer saw that a load is too much, or saw nothing
/// and looked again: what they came to is no part of what was found.
pub fn beyond(searches: &[SearchRecord]) -> BTreeSet<usize> {
    let is_answer = |one: &&SearchRecord| {
        matches!(
            one.outcome.as_str(),
            "held" | "found" | "none" | "not_reached"
        )
    };
    let steps = searches.iter().filter(is_answer).flat_map(|one| &one.steps);
    let is_beyond =
        |step: &&SearchStepRecord| matches!(step.result.as_str(), "fail" | "above" | "no answer");
    steps.filter(is_beyond).map(|step| step.trial).collect()
}

/// What the searches of a variant came to, a sentence each.
pub fn sentences(
    study: &Study,
    variant: &Variant,
    searches: &[SearchRecord],
    trials: &[TrialFinding],
) -> Vec<String> {
    let of = searches.iter().filter(|one| one.variant == variant.name);
    let of: Vec<&SearchRecord> = of.collect();
    let is_exact = |one: &&&SearchRecord| matches!(one.found(), Some(Known::Exactly(_)));
    let exact: Vec<&SearchRecord> = of.iter().filter(is_exact).copied().collect();
    let together = exact.len() > 1;
    let mut said: Vec<(String, Vec<usize>)> = Vec::new();
    for one in of.iter().filter(|one| !(together && is_exact(one))) {
        match said.iter_mut().find(|(words, _)| *words == one.words) {
            Some((_, blocks)) => blocks.push(one.block + 1),
            None => said.push((one.words.clone(), vec![one.block + 1])),
        }
    }
    let who = match variant.name.as_str() {
        "-" => String::new(),
        name => format!("“{name}”: "),
    };
    let mut sentences = Vec::new();
    if together {
        sentences.push(format!("{who}{}.", mean_words(&exact)));
    }
    sentences.extend(said.iter().map(|(words, blocks)| match study.blocks() {
        1 => format!("{who}{words}."),
        _ => format!("{who}{words} ({}).", block_words(blocks)),
    }));
    sentences.extend(expected_words(variant, trials).map(|words| format!("{who}{words}.")));
    sentences
}

/// `48,200 op/s (± 2.1 %, mean of 5 searches) is the most with a p99 within 10 ms`, and how sure.
fn mean_words(searches: &[&SearchRecord]) -> String {
    let first = searches[0];
    let found = searches.iter().filter_map(|one| one.found());
    let logs: Vec<f64> = found.map(|at| at.least().ln()).collect();
    let interval = series::mean_of_blocks_ci95(&logs);
    // Whole numbers of threads are often the same: that is the grid, and no certainty.
    let interval = interval.filter(|[low, high]| high - low > INTERVAL_LOG_MIN);
    let interval = interval.map_or(String::new(), |[low, high]| {
        let half = ((high - low) / 2.0).exp() - 1.0;
        format!("± {} %, ", significant(half * 100.0, 2))
    });
    let axis = first.at.keys().next().map_or("", String::as_str);
    let unit = if axis == "rate" { "op/s" } else { axis };
    let at = format!(
        "{} {unit} ({interval}geometric mean of {} searches)",
        whole(series::mean(&logs).exp()),
        searches.len()
    );
    let held = match first.outcome.as_str() {
        "held" => ", each held twice",
        _ => "",
    };
    match first.procedure.as_str() {
        "band" => format!("{} at {at}", first.goal),
        _ => format!("{at} is the most with a {}{held}", first.goal),
    }
}

/// `at 70 % of that, 33,700 op/s, p99 was 3.1 ms`.
fn expected_words(variant: &Variant, trials: &[TrialFinding]) -> Option<String> {
    let procedure = &variant.settings.procedure;
    let share = procedure.expected()?;
    let of = percentile(procedure);
    let is_expected = |t: &&TrialFinding| {
        t.variant == variant.name && Role::named(&t.role) == Role::Expected && usable(t)
    };
    let of_each: Vec<String> = trials
        .iter()
        .filter(is_expected)
        .map(|trial| {
            let found = found(&variant.settings, trial);
            let ms = found.latency_ms.of(of).value;
            format!(
                "at {} it did {} op/s with a {} of {}{} ms",
                point_words(&trial.point),
                whole(found.ops_per_s),
                of.words(),
                ms.sign(),
                significant(ms.least(), 3)
            )
        })
        .collect();
    let percent = (share * 1000.0).round() / 10.0;
    (!of_each.is_empty()).then(|| format!("at {percent} % of that: {}", of_each.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::record::RuleRecord;
    use study::resolve::resolve;
    use study::settings::Overrides;

    const STUDY: &str = "study: s\nquestion: q\ntarget: {null: {}}\nworkload: {use: standard1}\n\
                         procedure: {peak: {rate: {from: 1000, to: 8000}, p99_ms: 10, expected: \
                         0.5}}\nvariants: {a: {}, b: {}}\nrepeat: {blocks: 3}\n";

    /// What the trials of a search come to whose p99 is within the bound up to `limit`.
    fn trials(study: &Study, variant: &str, block: usize, limit: f64) -> Vec<TrialFinding> {
        let of = study.variants.iter().find(|one| one.name == variant);
        let of = of.unwrap();
        let mut trials: Vec<TrialFinding> = Vec::new();
        loop {
            let so_far = trials.iter().filter_map(|trial| seen(of, trial));
            let so_far: Vec<Seen> = so_far.collect();
            let Next::Measure(asks) = of.settings.procedure.next(&so_far) else {
                return trials;
            };
            let at = asks[0].point;
            let mut trial = TrialFinding {
                variant: variant.to_owned(),
                block,
                index: block * 100 + trials.len() + if variant == "b" { 50 } else { 0 },
                point: point_record(Some(at)),
                role: crate::record::role_name(asks[0].role),
                verdict: "valid".to_owned(),
                rules: vec![RuleRecord {
                    rule: "V1".to_owned(),
                    result: "pass".to_owned(),
                    detail: String::new(),
                }],
                seconds: 1.0,
                ..TrialFinding::default()
            };
            trial.all.ops_per_s = at.value();
            trial.all.latency_ms.p99 = if at.value() <= limit { 2.0 } else { 30.0 }.into();
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
            “a”: 2,044 op/s (± 5.6 %, geometric mean of 3 searches)
            is the most with a p99 within 10 ms, each held twice.
            “a”: at 50 % of that:
            at 1000 op/s it did 1,000 op/s with a p99 of 2.00 ms;
            at 1045 op/s it did 1,045 op/s with a p99 of 2.00 ms;
            at 1022 op/s it did 1,022 op/s with a p99 of 2.00 ms.
            “b”: 3,050 op/s (geometric mean of 2 searches)
            is the most with a p99 within 10 ms, each held twice.
            “b”: the limit was not reached: 8,000 op/s,
            the most that was to be tried, still has a p99 within 10 ms (block 3).
            “b”: at 50 % of that:
            at 1493 op/s it did 1,493 op/s with a p99 of 2.00 ms;
            at 1559 op/s it did 1,559 op/s with a p99 of 2.00 ms;
            at 4000 op/s it did 4,000 op/s with a p99 of 2.00 ms.
        "#]];
        let all = [of(0), of(1)].concat().join("\n");
        let lines = all.replace("; ", ";\n").replace(" is the", "\nis the");
        let lines = lines
            .replace("that: ", "that:\n")
            .replace(", the", ",\nthe");
        expected.assert_eq(&(lines + "\n"));
        assert_eq!(searches.len(), 6);
        let first = &searches[0];
        assert_eq!(
            (first.outcome.as_str(), first.steps[0].result.as_str()),
            ("held", "pass")
        );
        assert_eq!(searches[5].found(), Some(Known::AtLeast(8000.0)));
    }

    /// A search is a path: of two variants the peaks are compared, block by block, and not the
    /// trials that happened to be at one point in both.
    #[test]
    fn variants_are_compared_by_what_was_found() {
        let (study, trials) = all();
        let findings = crate::summary::findings(&study, trials, &|_| None, None);
        let [compared] = findings.comparisons.as_slice() else {
            panic!("{:?}", findings.comparisons);
        };
        assert_eq!((compared.metric.as_str(), compared.primary), ("peak", true));
        assert!(compared.point.is_empty());
        let told = findings
            .answer
            .iter()
            .find(|s| s.starts_with("At their peaks"));
        assert!(told.is_some(), "{:?}", findings.answer);
        // Holds do not count as blocks of a point.
        assert!(findings.points.iter().all(|point| point.blocks <= 3));
    }

    /// What is too much times out and refuses: that is what was to be seen.
    #[test]
    fn a_trial_that_was_too_much_makes_no_run_invalid() {
        let verdict = |invalid: fn(&TrialFinding) -> bool| {
            let (study, mut trials) = all();
            for trial in trials.iter_mut().filter(|trial| invalid(trial)) {
                trial.verdict = "invalid".to_owned();
                trial.reasons = vec!["V8".to_owned()];
            }
            let findings = crate::summary::findings(&study, trials, &|_| None, None);
            (findings.verdict, findings.reasons.len())
        };
        let is_beyond = |trial: &TrialFinding| trial.all.latency_ms.p99.least() > 10.0;
        assert_eq!(verdict(is_beyond), ("valid".to_owned(), 0));
        // One that is to be believed is.
        let is_expected = |trial: &TrialFinding| trial.role == "expected" && trial.block == 0;
        assert_eq!(verdict(is_expected).0, "invalid");
    }

    #[test]
    fn searches_that_end_at_the_same_load_have_no_interval_of_nothing() {
        let (study, _) = all();
        let trials = (0..3).flat_map(|block| trials(&study, "a", block, 2000.0));
        let trials: Vec<TrialFinding> = trials.collect();
        let found = sentences(
            &study,
            &study.variants[0],
            &searches(&study, &trials),
            &trials,
        );
        assert!(
            found[0].contains("(geometric mean of 3 searches)"),
            "{}",
            found[0]
        );
    }

    #[test]
    fn a_search_that_was_cut_short_says_so() {
        let (study, trials) = all();
        let searches = searches(&study, &trials[..2]);
        assert_eq!(searches.len(), 1);
        assert_eq!(
            (searches[0].outcome.as_str(), searches[0].found()),
            ("unfinished", None)
        );
    }
}
