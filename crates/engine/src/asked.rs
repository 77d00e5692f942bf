//! What the procedures of a run have seen, and which trials they still ask for.
//!
//! What must hold: it follows from the findings alone, in the plan's order. So a run that is taken
//! up again asks for what it would have asked for without the interruption.

use analysis::procedure::{Found, Next, Seen};
use std::collections::BTreeMap;
use store::record::TrialFinding;
use study::plan::{Plan, Trial};
use study::settings::Study;

/// What the trials of each variant came to in each block, in the order in which they ran.
pub struct Histories<'a> {
    study: &'a Study,
    seen: BTreeMap<(usize, usize), Vec<Seen>>,
}

impl<'a> Histories<'a> {
    /// Nothing has been seen.
    pub fn new(study: &'a Study) -> Histories<'a> {
        Histories {
            study,
            seen: BTreeMap::new(),
        }
    }

    /// Adds a trial, with what it came to; none if it could not be done.
    pub fn note(&mut self, trial: &Trial, finding: Option<&TrialFinding>) {
        let history = self.seen.entry((trial.variant, trial.block)).or_default();
        history.push(Seen {
            point: trial.point,
            found: finding.map(found),
        });
    }

    /// Why a trial is not asked for any more; none if it is, now or perhaps later.
    pub fn why_not(&self, trial: &Trial) -> Option<String> {
        let seen = self.seen.get(&(trial.variant, trial.block));
        let seen = seen.map(Vec::as_slice).unwrap_or_default();
        let procedure = &self.study.variants[trial.variant].settings.procedure;
        match procedure.next(seen) {
            Next::Measure(_) => None,
            Next::Answer(answer) => Some(answer.words()),
        }
    }
}

/// How many trials are left to do after those that are `finished`: of those that depend on what is
/// still to be found, all.
pub fn left(study: &Study, plan: &Plan, finished: &BTreeMap<usize, TrialFinding>) -> usize {
    let mut histories = Histories::new(study);
    let mut left = 0;
    for trial in &plan.trials {
        match finished.get(&trial.index) {
            Some(finding) => histories.note(trial, Some(finding)),
            None => left += usize::from(histories.why_not(trial).is_none()),
        }
    }
    left
}

/// As far as a procedure decides by it.
fn found(finding: &TrialFinding) -> Found {
    Found {
        ops_per_s: finding.all.ops_per_s,
        p99_ms: finding.all.latency_ms.p99,
        timed_out: finding.errors.get("client_timeout").copied().unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::btree_map::Entry;
    use study::plan::plan;
    use study::resolve::resolve;
    use study::settings::Overrides;

    fn study(rest: &str) -> Study {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{use: standard1}}\n\
             variants: {{a: {{}}, b: {{}}}}\nrepeat: {{blocks: 2}}\n{rest}"
        );
        resolve("s", &text, &Overrides::default()).unwrap()
    }

    /// A trial in which requests time out beyond so many threads.
    fn finding(trial: &Trial, limit: f64) -> TrialFinding {
        let mut finding = TrialFinding::default();
        if trial.point.value() > limit {
            finding.errors.insert("client_timeout".to_owned(), 1);
        }
        finding
    }

    /// The loop of the engine over what is `finished`, `kills` after so many more trials each; the
    /// slugs of what was begun.
    fn run(study: &Study, kills: &[usize]) -> (Vec<String>, usize) {
        let plan = plan(study).unwrap();
        let mut finished = BTreeMap::new();
        let mut ran = Vec::new();
        for &most in kills.iter().chain([&usize::MAX]) {
            let mut histories = Histories::new(study);
            let mut now = 0;
            for trial in &plan.trials {
                if let Entry::Vacant(place) = finished.entry(trial.index) {
                    if histories.why_not(trial).is_some() {
                        continue;
                    }
                    if now == most {
                        break;
                    }
                    now += 1;
                    ran.push(trial.slug.clone());
                    // Variant b breaks a step earlier.
                    let limit = [4.0, 2.0][trial.variant];
                    place.insert(finding(trial, limit));
                }
                histories.note(trial, finished.get(&trial.index));
            }
        }
        (ran, left(study, &plan, &finished))
    }

    #[test]
    fn a_run_that_is_killed_anywhere_does_the_trials_of_one_that_is_not() {
        for procedure in [
            "procedure: {sweep: {threads: [1, 2, 4, 8, 16], until: timeout}}\n",
            "procedure: {sweep: {threads: [1, 2, 4, 8, 16]}}\n",
            "procedure: {fixed: {threads: 4}}\n",
        ] {
            let study = study(procedure);
            let whole = run(&study, &[]);
            assert_eq!(whole.1, 0, "nothing is left of {procedure}");
            for first in 0..=whole.0.len() {
                for second in 0..=whole.0.len() - first {
                    assert_eq!(run(&study, &[first, second]), whole, "{first} {second}");
                }
            }
        }
    }

    #[test]
    fn each_variant_ends_where_it_ends_in_each_block() {
        let study = study("procedure: {sweep: {threads: [1, 2, 4, 8, 16], until: timeout}}\n");
        let (mut ran, _) = run(&study, &[]);
        ran.iter_mut().for_each(|slug| *slug = slug[3..].to_owned());
        ran.sort_unstable();
        let expected = [
            "a-threads-1-block-1",
            "a-threads-1-block-2",
            "a-threads-2-block-1",
            "a-threads-2-block-2",
            "a-threads-4-block-1",
            "a-threads-4-block-2",
            "a-threads-8-block-1",
            "a-threads-8-block-2",
            "b-threads-1-block-1",
            "b-threads-1-block-2",
            "b-threads-2-block-1",
            "b-threads-2-block-2",
            "b-threads-4-block-1",
            "b-threads-4-block-2",
        ];
        assert_eq!(ran, expected);
    }

    #[test]
    fn what_depends_on_a_trial_is_left_until_that_is_done() {
        let study = study("procedure: {sweep: {threads: [1, 2, 4], until: timeout}}\n");
        let plan = plan(&study).unwrap();
        assert_eq!(left(&study, &plan, &BTreeMap::new()), 12);
        let first = &plan.trials[0];
        let over = BTreeMap::from([(0, finding(first, 0.0))]);
        assert_eq!(left(&study, &plan, &over), 9, "its block of its variant");
    }
}
