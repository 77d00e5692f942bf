//! Determines which trials the procedures of a run still request, based on the trials so far.
//!
//! Invariant: the decision depends only on the findings, in the order of the plan. So a resumed run
//! requests the same trials as an uninterrupted run.

use analysis::procedure::{Ask, Next, Point, SeenTrial};
use findings::StopReason;
use findings::trial_outcome::found;
use std::collections::BTreeMap;
use store::record::TrialFinding;
use study::plan::{BlockIndex, Plan, Trial, Turn, VariantIndex};
use study::settings::{Settings, Study};

/// Trials so far, for each variant and block, in the order in which they ran.
pub struct Histories<'a> {
    study: &'a Study,
    seen: BTreeMap<(VariantIndex, BlockIndex), Vec<SeenTrial>>,
    /// Findings so far. Empty unless the study ends at its answer.
    found: Vec<TrialFinding>,
    /// Last block before which the engine looked for the answer of the study, and the reason why
    /// the study ended, if it has ended.
    looked: (usize, Option<StopReason>),
}

impl<'a> Histories<'a> {
    /// Returns histories that contain no trials.
    pub fn new(study: &'a Study) -> Histories<'a> {
        Histories {
            study,
            seen: BTreeMap::new(),
            found: Vec::new(),
            looked: (0, None),
        }
    }

    /// Adds a trial. `finding` is `None` if the trial failed. Returns true if the trial belongs to
    /// a search and its load was more than the target can handle. In that case, the target may
    /// still be working off the backlog.
    pub fn note(&mut self, trial: &Trial, finding: Option<&TrialFinding>) -> bool {
        let settings = self.settings(trial.variant);
        let seen = SeenTrial {
            point: trial.point,
            role: trial.role,
            found: finding.map(|finding| found(settings, finding)),
        };
        let step = settings.procedure.step(&seen);
        let history = self.seen.entry((trial.variant, trial.block)).or_default();
        history.push(seen);
        if let (Some(finding), Some(_)) = (finding, self.study.repeat.first_look) {
            self.found.push(finding.clone());
        }
        step.is_some_and(|step| step.is_too_much())
    }

    /// Decides the next step of a turn. `found` is the earlier finding of the turn, if any. If the
    /// earlier finding still counts, this function adds it to the history.
    pub fn next_step(&mut self, turn: &Turn, found: Option<&TrialFinding>) -> NextStep {
        let next = self.next(turn);
        if let Some((finding, ask)) = found.and_then(|finding| still_counts(finding, turn, &next)) {
            self.note(
                &turn.trial_for(ask, self.settings(turn.variant)),
                Some(finding),
            );
            return NextStep::Done;
        }
        match self.ended_before(turn.block) {
            Some(ended) => NextStep::Nowhere(ended.words().to_owned()),
            None => decide(turn.point, next),
        }
    }

    /// Returns the reason why the run does not measure this block and later blocks, or `None` if
    /// the run measures this block.
    fn ended_before(&mut self, block: BlockIndex) -> Option<&StopReason> {
        if self.study.repeat.is_certain(block) {
            return None;
        }
        let (looked, ended) = &mut self.looked;
        let block = block.0;
        if ended.is_none() && *looked < block {
            *looked = block;
            let before: Vec<TrialFinding> =
                self.found.iter().filter(|finding| finding.block < block).cloned().collect();
            *ended = findings::look(self.study, &before, block);
        }
        ended.as_ref()
    }

    /// Returns true if a future turn may still result in a trial.
    pub fn may_come(&self, turn: &Turn) -> bool {
        let is_over = self.looked.1.is_some() && !self.study.repeat.is_certain(turn.block);
        !is_over && matches!(self.next(turn), Next::Measure(_))
    }

    /// Returns true if the study has its answer, or can no longer find one.
    pub fn is_answered(&self) -> bool {
        self.looked.1.is_some()
    }

    fn next(&self, turn: &Turn) -> Next {
        let seen = self
            .seen
            .get(&(turn.variant, turn.block))
            .map(Vec::as_slice)
            .unwrap_or_default();
        self.settings(turn.variant).procedure.next(seen)
    }

    fn settings(&self, variant: VariantIndex) -> &'a Settings {
        &self.study.variant(variant).settings
    }
}

/// Decision about a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum NextStep {
    /// The trial is finished.
    Done,
    /// Run the trial at this point.
    Here(Ask),
    /// The procedure requests other points at the moment.
    Elsewhere,
    /// The procedure does not request further trials. Contains the reason.
    Nowhere(String),
}

impl NextStep {
    /// Returns the load of the trial, or the reason why the engine does not run the trial.
    pub fn here(self) -> Result<Ask, String> {
        match self {
            NextStep::Here(ask) => Ok(ask),
            NextStep::Done => Err("the run is complete".to_owned()),
            NextStep::Elsewhere => Err("the procedure of the run chooses other points".to_owned()),
            NextStep::Nowhere(reason) => Err(reason),
        }
    }
}

/// Decides the next step of a turn. The plan may contain the point of the turn, or leave the choice
/// to the procedure.
fn decide(planned: Option<Point>, next: Next) -> NextStep {
    match (next, planned) {
        (Next::Answer(answer), _) => NextStep::Nowhere(answer.words()),
        (Next::Measure(asks), Some(point)) => {
            let planned = asks.into_iter().find(|ask| ask.point == point);
            planned.map_or(NextStep::Elsewhere, NextStep::Here)
        }
        (Next::Measure(asks), None) => {
            let first = asks.first();
            first.map_or(NextStep::Elsewhere, |ask| NextStep::Here(*ask))
        }
    }
}

/// Returns the finding of a turn with the point and role of the trial, if the finding still counts.
/// A finding at a planned point always counts. A finding at a point that the procedure chose during
/// the run counts only if the procedure would choose that point again.
fn still_counts<'f>(
    finding: &'f TrialFinding,
    turn: &Turn,
    next: &Next,
) -> Option<(&'f TrialFinding, Ask)> {
    let role = finding.role;
    if let Some(point) = turn.point {
        return Some((finding, Ask { point, role }));
    }
    let ask = Ask {
        point: finding.point?,
        role,
    };
    let is_asked = matches!(next, Next::Measure(asks) if asks.contains(&ask));
    is_asked.then_some((finding, ask))
}

/// Returns the number of trials that remain after the `finished` trials. Also counts each trial
/// that a procedure may still request, depending on later results.
pub fn left(study: &Study, plan: &Plan, finished: &BTreeMap<usize, TrialFinding>) -> usize {
    let mut histories = Histories::new(study);
    let mut left = 0;
    for turn in &plan.trials {
        let asked = histories.next_step(turn, finished.get(&turn.index));
        left += usize::from(matches!(asked, NextStep::Here(_) | NextStep::Elsewhere));
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::procedure::Answer;
    use analysis::procedure::Role;
    use store::record::Verdict;
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

    /// Returns the finding of a trial in which requests time out if the point has more than `limit`
    /// threads.
    fn finding(trial: &Trial, limit: f64) -> TrialFinding {
        let mut finding = TrialFinding {
            point: Some(trial.point),
            role: trial.role,
            verdict: Verdict::Valid,
            ..TrialFinding::default()
        };
        finding.all.latency_ms.p99 = trial.point.value().into();
        finding.all.latency_ms.p50 = trial.point.value().into();
        if trial.point.value() > limit {
            finding.errors.insert("client_timeout".to_owned(), 1);
        }
        finding
    }

    /// Runs the engine's loop over the plan. Kills and resumes the loop after each number of
    /// further trials in `kills`. Returns the slugs of the trials that began, and the number of
    /// trials that are left.
    fn run(study: &Study, kills: &[usize]) -> (Vec<String>, usize) {
        let plan = plan(study).unwrap();
        let mut finished = BTreeMap::new();
        let mut ran = Vec::new();
        for &most in kills.iter().chain([&usize::MAX]) {
            let mut histories = Histories::new(study);
            let mut now = 0;
            for turn in &plan.trials {
                let Ok(ask) = histories.next_step(turn, finished.get(&turn.index)).here() else {
                    continue;
                };
                if now == most {
                    break;
                }
                now += 1;
                ran.push(turn.slug.clone());
                // Variant b reaches its limit one step of the search earlier than variant a.
                let limit = [4.0, 2.0][turn.variant.0];
                let trial = turn.trial_for(ask, &study.variant(turn.variant).settings);
                let found = finding(&trial, limit);
                histories.note(&trial, Some(&found));
                finished.insert(turn.index, found);
            }
        }
        (ran, left(study, &plan, &finished))
    }

    #[test]
    fn a_run_killed_anywhere_does_the_trials_of_an_unbroken_one() {
        for procedure in [
            "procedure: {sweep: {threads: [1, 2, 4, 8, 16], until: timeout}}\n",
            "procedure: {band: {threads: {from: 1, step: 2, to: 9}, p99_ms: [1, 2]}}\n",
            "procedure: {band: {threads: {from: 1, step: 2, to: 9}, p99_ms: [2, 4], expected: \
             0.7}}\n",
            "procedure: {peak: {threads: {from: 2, to: 64}, p99_ms: 5, expected: 0.5}}\n",
            "procedure: {latency_target: {threads: {from: 2, to: 64}, p50_ms: 3}}\n",
            "procedure: {sweep: {threads: [1, 2, 4, 8, 16]}}\n",
            "procedure: {endurance: {threads: 4, for: 2h, beside: [10m, 10m]}}\n",
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

    /// Returns a finding whose throughput depends only on the variant and the block. Variant `b` is
    /// faster by `effect`.
    fn finding_with_effect(trial: &Trial, effect: f64) -> TrialFinding {
        let seed = (trial.block.0 * 2 + trial.variant.0) as u64;
        let mut chance = workload::random::Draws::sequence(seed);
        let noise = 0.02 * (chance.unit() + chance.unit() + chance.unit() - 1.5);
        let mut found = TrialFinding {
            index: trial.index,
            variant: ["a", "b"][trial.variant.0].into(),
            block: trial.block.0,
            verdict: Verdict::Valid,
            point: Some(trial.point),
            ..TrialFinding::default()
        };
        found.all.ops_per_s = 1000.0 * (noise + effect * trial.variant.0 as f64).exp();
        found.all.latency_ms.p50 = 1.0.into();
        found
    }

    /// Runs the engine's loop over a study that ends at its answer. Kills and resumes the loop
    /// after each number of further trials in `kills`. Returns the trials that began, and the
    /// reason why the study ended.
    fn run_until_answered(study: &Study, effect: f64, kills: &[usize]) -> (Vec<usize>, String) {
        let plan = plan(study).unwrap();
        let mut finished = BTreeMap::new();
        let mut ran = Vec::new();
        let mut why = String::new();
        for &most in kills.iter().chain([&usize::MAX]) {
            let mut histories = Histories::new(study);
            let mut now = 0;
            for turn in &plan.trials {
                let ask = match histories.next_step(turn, finished.get(&turn.index)) {
                    NextStep::Here(ask) => ask,
                    NextStep::Nowhere(reason) => {
                        why = reason;
                        continue;
                    }
                    NextStep::Done | NextStep::Elsewhere => continue,
                };
                if now == most {
                    break;
                }
                now += 1;
                ran.push(turn.index);
                let trial = turn.trial_for(ask, &study.variant(turn.variant).settings);
                let found = finding_with_effect(&trial, effect);
                histories.note(&trial, Some(&found));
                finished.insert(turn.index, found);
            }
        }
        assert_eq!(left(study, &plan, &finished), 0);
        let trials = finished.into_values().collect();
        let found = findings::combine(study, trials, &|_| None, None);
        (ran, why + &serde_json::to_string(&found).unwrap())
    }

    #[test]
    fn an_adaptive_study_killed_anywhere_has_the_same_end() {
        let study = study("procedure: {fixed: {threads: 4}}\n");
        let text = study.text.replace("blocks: 2", "until: answered, min: 4, max: 9");
        let study = resolve("s", &text, &Overrides::default()).unwrap();
        let mut ends = Vec::new();
        for effect in [0.0, 0.01, 0.02, 0.2] {
            let whole = run_until_answered(&study, effect, &[]);
            for first in 0..=whole.0.len() {
                assert_eq!(
                    run_until_answered(&study, effect, &[first]),
                    whole,
                    "{first}"
                );
            }
            let kills: Vec<usize> = (0..10).map(|kill| kill % 4).collect();
            assert_eq!(run_until_answered(&study, effect, &kills), whole);
            ends.push(whole.0.len() / 2);
        }
        assert_eq!(ends[3], 4, "20 % at 1.4 %: at the first look");
        assert!(
            ends.iter().any(|blocks| (5..9).contains(blocks)),
            "{ends:?}"
        );
    }

    #[test]
    fn blocks_end_after_too_many_lost_pairs_but_added_ones_run() {
        let study = study("procedure: {fixed: {threads: 4}}\n");
        let text = study.text.replace("blocks: 2", "until: answered, min: 3, max: 6");
        let mut study = resolve("s", &text, &Overrides::default()).unwrap();
        study.added = vec![2];
        let plan = plan(&study).unwrap();
        let mut histories = Histories::new(&study);
        let mut ran = Vec::new();
        let mut why = String::new();
        for turn in &plan.trials {
            assert_eq!(
                histories.may_come(turn),
                histories.looked.1.is_none() || turn.block.0 > 5
            );
            match histories.next_step(turn, None) {
                NextStep::Here(ask) => {
                    ran.push(turn.block.0);
                    let trial = turn.trial_for(ask, &study.variant(turn.variant).settings);
                    let mut found = finding_with_effect(&trial, 0.05);
                    // Two of three pairs are invalid, so one pair is left.
                    if turn.block.0 < 2 && turn.variant.0 == 1 {
                        found.verdict = store::record::Verdict::Invalid;
                    }
                    histories.note(&trial, Some(&found));
                }
                NextStep::Nowhere(reason) => why = reason,
                other => panic!("{other:?}"),
            }
        }
        ran.dedup();
        // The study must still find its answer if two of six pairs are lost, so it continues until
        // it has enough pairs.
        assert_eq!(ran, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(why, "");
        let lost: Vec<TrialFinding> = plan.trials[..6]
            .iter()
            .map(|turn| {
                let ask = Ask::probe(Point::Threads(4));
                let trial = turn.trial_for(ask, &study.variant(turn.variant).settings);
                TrialFinding {
                    verdict: Verdict::Invalid,
                    ..finding_with_effect(&trial, 0.05)
                }
            })
            .collect();
        let ended = findings::look(&study, &lost, 3).unwrap();
        assert!(
            ended.words().starts_with("3 of 3 blocks do not have two usable trials"),
            "{ended:?}"
        );
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
    fn trials_that_depend_on_another_are_left_until_it_is_done() {
        let study = study("procedure: {sweep: {threads: [1, 2, 4], until: timeout}}\n");
        let plan = plan(&study).unwrap();
        assert_eq!(left(&study, &plan, &BTreeMap::new()), 12);
        let ask = Ask::probe(Point::Threads(1));
        let first = plan.trials[0].trial_for(ask, &study.variants[0].settings);
        let over = BTreeMap::from([(0, finding(&first, 0.0))]);
        assert_eq!(
            left(&study, &plan, &over),
            9,
            "the run omits the rest of the block"
        );
    }

    #[test]
    fn a_turn_without_a_point_is_measured_where_the_procedure_asks() {
        let (four, eight) = (Point::Threads(4), Point::Threads(8));
        let points = || Next::Measure([four, eight].map(Ask::probe).to_vec());
        assert_eq!(decide(None, points()), NextStep::Here(Ask::probe(four)));
        assert_eq!(
            decide(Some(eight), points()),
            NextStep::Here(Ask::probe(eight))
        );
        assert_eq!(
            decide(Some(Point::Threads(1)), points()),
            NextStep::Elsewhere
        );
        let answer = || Next::Answer(Answer::Complete);
        assert!(matches!(decide(None, answer()), NextStep::Nowhere(_)));

        let study = study("procedure: {fixed: {threads: 4}}\n");
        let planned = &plan(&study).unwrap().trials[0];
        let open = Turn {
            point: None,
            ..planned.clone()
        };
        let found = TrialFinding {
            point: Some(eight),
            ..TrialFinding::default()
        };
        let counts =
            |turn: &Turn, next| still_counts(&found, turn, &next).map(|(_, ask)| ask.point);
        assert_eq!(
            counts(planned, points()),
            Some(four),
            "the plan contains this trial"
        );
        assert_eq!(counts(&open, points()), Some(eight));
        let only_four = || Next::Measure(vec![Ask::probe(four)]);
        assert_eq!(counts(&open, only_four()), None);
        let role = Role::Hold;
        let held = Next::Measure(vec![Ask { point: eight, role }]);
        assert_eq!(counts(&open, held), None, "the trial had another role");
        assert_eq!(counts(&open, answer()), None);
    }
}
