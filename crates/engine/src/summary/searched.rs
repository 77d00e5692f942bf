//! What the searches of a study came to: each by itself, and those of a variant together.
//!
//! What is found is a rate or a number of threads, and ratios are what is compared: several
//! searches together are their geometric mean, with an interval by Student's t of the logarithms
//! (evidence: a search is a path, so that only whole searches are repetitions).

use super::{block_words, point_words, usable};
use crate::found::found;
use crate::record::point_record;
use analysis::procedure::{Answer, BRACKET, Next, Percentile, Point, Procedure, Role, Seen};
use analysis::series;
use measure::Known;
use measure::number::{significant, whole};
use std::collections::BTreeSet;
use store::record::{SearchRecord, SearchStepRecord, TrialFinding};
use study::settings::{Study, Variant};

/// How many times as much the next point of a search's grid is, at `least`: the bracket at which it
/// ends, or a whole number.
pub fn grid(least: f64) -> f64 {
    BRACKET.max(1.0 + 1.0 / least)
}

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
    let at = point_record(at);
    let there = trials
        .iter()
        .rfind(|trial| trial.point == at && usable(trial));
    SearchRecord {
        outcome: outcome.to_owned(),
        ended: there.map(|trial| trial.index),
        ops_per_s: there.map(|trial| trial.all.ops_per_s),
        at,
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
        role: seen.role.name(),
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
        let words = with_throughput(one);
        match said.iter_mut().find(|(known, _)| *known == words) {
            Some((_, blocks)) => blocks.push(one.block + 1),
            None => said.push((words, vec![one.block + 1])),
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
    if let Some(words) = expected_words(variant, trials) {
        match sentences.as_mut_slice() {
            // What was found and what is left at a share of it are one answer.
            [one] => *one = format!("{}; {words}.", one.trim_end_matches('.')),
            _ => sentences.push(format!("{who}{words}.")),
        }
    }
    sentences
}

/// The words of a search, with what its number of threads comes to: `8 threads (3,030 op/s)`.
fn with_throughput(search: &SearchRecord) -> String {
    let did = search
        .found_ops_per_s()
        .filter(|_| !search.at.contains_key("rate"));
    let Some(did) = did else {
        return search.words.clone();
    };
    let at = point_words(&search.at);
    let both = format!("{at} ({} op/s)", whole(did.least()));
    search.words.replacen(&at, &both, 1)
}

/// `48,200 op/s (± 2.1 %, mean of 5 searches) is the most with a p99 within 10 ms`, and how sure.
fn mean_words(searches: &[&SearchRecord]) -> String {
    let first = searches[0];
    let mean = |of: &dyn Fn(&SearchRecord) -> Option<Known>| -> Option<(f64, Option<[f64; 2]>)> {
        let logs = searches.iter().map(|one| Some(of(one)?.least().ln()));
        let logs: Option<Vec<f64>> = logs.collect();
        let logs = logs?;
        let interval = series::mean_of_blocks_ci95(&logs);
        Some((series::mean(&logs).exp(), interval))
    };
    let least = searches.iter().filter_map(|one| one.found());
    let least = least.map(Known::least).fold(f64::INFINITY, f64::min);
    // What a search ends with is the grid's point below: that all ended alike is no certainty.
    let half = |[low, high]: [f64; 2]| ((high - low) / 2.0).exp() * grid(least) - 1.0;
    let error = |interval: Option<[f64; 2]>| {
        let half = interval.map(|interval| significant(half(interval) * 100.0, 2));
        half.map_or(String::new(), |half| format!("± {half} %, "))
    };
    let count = searches.len();
    let found = mean(&SearchRecord::found);
    let at = found.map_or(String::new(), |(at, interval)| {
        let axis = first.at.keys().next().map_or("", String::as_str);
        match axis {
            "rate" => format!(
                "{} op/s ({}geometric mean of {count} searches)",
                whole(at),
                error(interval)
            ),
            axis => format!("{} {axis} (geometric mean of {count} searches)", whole(at)),
        }
    });
    let did = mean(&SearchRecord::found_ops_per_s).filter(|_| !first.at.contains_key("rate"));
    let did = did.map_or(String::new(), |(did, interval)| {
        let error = error(interval);
        let error = error.trim_end_matches(", ");
        match error.is_empty() {
            true => format!(", with {} op/s", whole(did)),
            false => format!(", with {} op/s ({error})", whole(did)),
        }
    });
    let held = match first.outcome.as_str() {
        "held" => ", each held twice",
        _ => "",
    };
    match first.procedure.as_str() {
        "band" => format!("{} at {at}{did}", first.goal),
        _ => format!("{at} is the most with a {}{held}{did}", first.goal),
    }
}

/// `at 70 % of that it did 1,667 op/s at 6 threads with a p99 of 22.1 ms`.
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
            // A rate that was kept up with is what was done.
            let did = match trial.point.contains_key("rate") {
                true => point_words(&trial.point),
                false => format!(
                    "{} op/s at {}",
                    whole(found.ops_per_s),
                    point_words(&trial.point)
                ),
            };
            format!(
                "{did} with a {} of {}{} ms",
                of.words(),
                ms.sign(),
                significant(ms.least(), 3)
            )
        })
        .collect();
    let percent = (share * 1000.0).round() / 10.0;
    (!of_each.is_empty()).then(|| format!("at {percent} % of that it did {}", of_each.join(", ")))
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
            is the most with a p99 within 10 ms,
            each held twice;
            at 50 % of that
            it did 1000 op/s with a p99 of 2.00 ms,
            1045 op/s with a p99 of 2.00 ms,
            1022 op/s with a p99 of 2.00 ms.
            “b”: 3,050 op/s (geometric mean of 2 searches)
            is the most with a p99 within 10 ms,
            each held twice.
            “b”: the limit was not reached: 8,000 op/s,
            the most that was to be tried, still has a p99 within 10 ms (block 3).
            “b”: at 50 % of that
            it did 1493 op/s with a p99 of 2.00 ms,
            1559 op/s with a p99 of 2.00 ms,
            4000 op/s with a p99 of 2.00 ms.
        "#]];
        let all = [of(0), of(1)].concat().join("\n");
        let lines = all.replace("; ", ";\n").replace(" is the", "\nis the");
        let lines = lines
            .replace("that it", "that\nit")
            .replace(" ms, ", " ms,\n")
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
        let mut answer = findings.answer.iter();
        let told = answer.find(|s| s.starts_with("At what the searches have found"));
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
    fn searches_that_end_at_the_same_load_know_it_to_their_grid() {
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
            found[0].contains("(± 2.0 %, geometric mean of 3 searches)"),
            "{}",
            found[0]
        );
    }

    /// Two machines that reach a bound at the same number of threads were the same machine, the
    /// price of one was that of its fastest probe, and its answer had no throughput.
    #[test]
    fn searches_over_threads_are_compared_and_priced_by_what_was_done_there() {
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
                    let threads = trial.point["threads"];
                    trial.all.ops_per_s = each * threads * (1.0 + 0.001 * block as f64);
                }
                all.extend(of);
            }
        }
        let findings = crate::summary::findings(&study, all, &|_| None, None);
        let at: Vec<f64> = findings.searches.iter().map(|s| s.at["threads"]).collect();
        assert_eq!(at, [32.0; 10]);
        let [compared] = findings.comparisons.as_slice() else {
            panic!("{:?}", findings.comparisons);
        };
        assert!((compared.ratio - 1.5).abs() < 1e-9, "{}", compared.ratio);
        // As far as the next number of threads may be better.
        let [low, high] = compared.ci95.unwrap();
        let next = 33.0 / 32.0;
        assert!(
            (low - 1.5 / next).abs() < 1e-9 && (high - 1.5 * next).abs() < 1e-9,
            "{low} {high}"
        );
        let [one, two] = findings.prices.as_slice() else {
            panic!("{:?}", findings.prices);
        };
        assert!(one.point.is_empty() && (one.ops_per_price / 3600.0 - 3206.4).abs() < 1.0);
        assert!((two.ratio.unwrap() - 0.75).abs() < 1e-9);
        let said = findings.answer.join("\n");
        assert!(
            said.contains("32 threads") && said.contains("with 3,206 op/s"),
            "{said}"
        );
        assert!(!said.contains(" did "), "no ladder: {said}");
    }

    /// It was refused: each block has a search of its own, compared by what they found.
    #[test]
    fn searches_go_on_until_what_they_found_is_told_apart() {
        let text = STUDY.replace("blocks: 3", "until: answered, min: 4, max: 8");
        let study = resolve("s", &text, &Overrides::default()).unwrap();
        let run = |times: f64| {
            let of_block = |block: usize| {
                let limit = 2000.0 * (1.0 + 0.03 * (block % 3) as f64);
                let a = trials(&study, "a", block, limit);
                a.into_iter()
                    .chain(trials(&study, "b", block, limit * times))
            };
            let all: Vec<TrialFinding> = (0..4).flat_map(of_block).collect();
            crate::summary::look(&study, &all, 4).map(|ended| ended.words().to_owned())
        };
        let said = run(1.5).unwrap();
        assert!(
            said.contains("is answered (faster) after 4 of at most 8"),
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
            (searches[0].outcome.as_str(), searches[0].found()),
            ("unfinished", None)
        );
    }
}
