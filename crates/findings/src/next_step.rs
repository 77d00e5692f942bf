//! Proposes the next run if a run leaves its question open. The proposal is one command, with its
//! expected duration.

use analysis::recovery::{BEFORE_MIN, EARLIEST_PROPOSED_S, proposed_window_s};
use analysis::rules::{Quantity, title};
use measure::number::{about_duration, counted};
use sentences::comparison::BLOCKS_ADDED_MAX;
use sentences::data;
use std::path::Path;
use store::record::{
    Aftermath, CauseKind, ComparisonRecord, Finding, FindingsRecord, MeasurementRecord,
    NextStepRecord, NotMeasured, ReasonRecord, RuleOutcome, SearchOutcome, TrialFinding, Verdict,
};
use study::rerun_command::rerun;
use study::settings::Study;
use target_spec::Target;

/// Warm-up durations that may be proposed, in seconds.
const WARMUPS_S: [f64; 7] = [10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0];
/// Number of blocks to propose if the run could not judge a difference.
const BLOCKS_TO_BEGIN_WITH: usize = 5;

/// Returns the next run to propose. Returns `None` if no question is open, or if no proposal fits.
pub fn suggest(study: &Study, found: &FindingsRecord, run: &Path) -> Option<NextStepRecord> {
    // If data was lost or wrong, the user should examine it before further measurements.
    if !data::against(&found.trials).is_empty() {
        return Some(look_at_data(found, run));
    }
    let step = without_a_client(found, run)
        .or_else(|| after_failed_rule(found, run))
        .or_else(|| with_longer_window(study, found))
        .or_else(|| with_later_fault(study, found));
    if step.is_some() {
        return step;
    }
    let is_open = |one: &&ComparisonRecord| one.primary && one.verdict == Finding::Inconclusive;
    let open: Vec<_> = found.comparisons.iter().filter(is_open).collect();
    let is_searching = found.searches.iter().any(|search| {
        let outcome = search.outcome;
        matches!(
            outcome,
            SearchOutcome::Nowhere | SearchOutcome::Inconclusive
        )
    });
    if found.verdict == Verdict::Valid && open.is_empty() && !is_searching {
        return None;
    }
    let took_s = run_seconds(found);
    let has = |kind| found.causes.iter().find(|cause| cause.kind == kind);
    if let Some(cause) = has(CauseKind::Warming)
        && let Some(step) = with_longer_warmup(study, &found.trials, cause.arrived_s, took_s)
    {
        return Some(step);
    }
    if has(CauseKind::Others).is_some() {
        return Some(NextStepRecord {
            says: "Repeat the run while no other program runs on this machine".to_owned(),
            command: rerun(study, &[]),
            seconds: Some(took_s),
        });
    }
    if failed_rules(found).next().is_some() {
        return Some(NextStepRecord {
            says: "Repeat the run with a client that has more CPU time".to_owned(),
            command: rerun(study, &[]),
            seconds: Some(took_s),
        });
    }
    let judged = open.iter().filter(|one| one.blocks > 1);
    let more = judged.filter_map(|one| Some(one.blocks_to_settle?.saturating_sub(one.blocks)));
    if let Some(more) = more.max().filter(|more| (1..=BLOCKS_ADDED_MAX).contains(more)) {
        let blocks = 1 + found.trials.iter().map(|trial| trial.block).max().unwrap_or(0);
        return Some(NextStepRecord {
            says: format!(
                "Add {} to decide the comparison",
                counted(more, "more block")
            ),
            command: format!(
                "cassay resume {} --more {more}",
                yaml::shell_word(&run.display().to_string())
            ),
            seconds: Some(took_s / blocks as f64 * more as f64),
        });
    }
    let is_one_block = !open.is_empty() && open.iter().all(|one| one.blocks < 2);
    (is_one_block && study.overrides.command.is_none()).then(|| NextStepRecord {
        says: format!(
            "Repeat the run with {BLOCKS_TO_BEGIN_WITH} blocks, so that it shows the spread \
             between blocks"
        ),
        command: rerun(study, &[format!("repeat.blocks={BLOCKS_TO_BEGIN_WITH}")]),
        seconds: Some(took_s * BLOCKS_TO_BEGIN_WITH as f64),
    })
}

/// Proposes to resume the run if a trial lost one of its clients, because the trial does not count.
fn without_a_client(found: &FindingsRecord, run: &Path) -> Option<NextStepRecord> {
    let mut clients = found.trials.iter().flat_map(|trial| &trial.clients);
    let is_lost = clients.any(|one| one.lost.is_some());
    is_lost.then(|| NextStepRecord {
        says: "Resume the run, which repeats the trials that lost a client".to_owned(),
        command: format!(
            "cassay resume {}",
            yaml::shell_word(&run.display().to_string())
        ),
        seconds: None,
    })
}

/// Rules that can fail because other programs use the machine of the client. A failure of any other
/// rule has another cause, which a quieter machine does not remove.
const RULES_OF_BUSY_MACHINES: [&str; 8] = ["V1", "V3", "V4", "V5", "V12", "V17", "V18", "V19"];

/// Returns the reasons whose rules failed, the most serious first.
fn failed_rules(found: &FindingsRecord) -> impl Iterator<Item = ReasonRecord> {
    let reasons = found.reasons_as_data().into_owned().into_iter();
    reasons.filter(|reason| reason.rule.is_some() && reason.result == Some(RuleOutcome::Fail))
}

/// Returns true if other programs may be the cause of a failed rule. A timeout of the client also
/// occurs if other programs delay its machine.
fn may_come_from_others(reason: &ReasonRecord) -> bool {
    let is_timeout = |one: &MeasurementRecord| one.quantity == Quantity::ClientTimeouts;
    let rule = reason.rule.as_deref().unwrap_or_default();
    RULES_OF_BUSY_MACHINES.contains(&rule) || reason.measured.iter().any(is_timeout)
}

/// Proposes to remove the cause of the most serious failed rule, if a repetition of the run would
/// fail again.
fn after_failed_rule(found: &FindingsRecord, run: &Path) -> Option<NextStepRecord> {
    let reason = failed_rules(found).find(|reason| !may_come_from_others(reason))?;
    let rule = reason.rule?;
    let is_failed = |trial: &&TrialFinding| {
        let mut own = trial.rules.iter();
        own.any(|one| one.rule == rule && one.result == RuleOutcome::Fail)
    };
    Some(NextStepRecord {
        says: format!(
            "Remove the cause before you measure again: {rule} (“{}”) failed in {} of {}",
            title(&rule)?,
            found.trials.iter().filter(is_failed).count(),
            counted(found.trials.len(), "trial")
        ),
        command: format!(
            "cassay show --trials {}",
            yaml::shell_word(&run.display().to_string())
        ),
        seconds: None,
    })
}

/// Proposes a later first fault, if too little of the window precedes it to determine the level
/// before the fault. Otherwise returns `None`, and also if the study is not a file.
fn with_later_fault(study: &Study, found: &FindingsRecord) -> Option<NextStepRecord> {
    let is_early = |trial: &TrialFinding| {
        let window = trial.phases.iter().find(|phase| phase.name == "measure")?;
        let injected = trial.faults.iter().filter_map(|fault| Some((fault.injected_s?, fault)));
        let (at_s, first) = injected.min_by(|one, other| one.0.total_cmp(&other.0))?;
        let is_unknown = first.recovery.as_ref()?.ops_per_s.is_none();
        Some(is_unknown && at_s - window.from_s < BEFORE_MIN as f64)
    };
    let is_any_early = found.trials.iter().any(|trial| is_early(trial).unwrap_or(false));
    (is_any_early && study.overrides.command.is_none()).then(|| NextStepRecord {
        says: format!(
            "Set `at: {EARLIEST_PROPOSED_S}s` or more for the first fault, so that the level \
             before it is known"
        ),
        command: rerun(study, &[]),
        seconds: Some(run_seconds(found)),
    })
}

/// Proposes a window long enough to show the recovery from faults that ended too late. Returns
/// `None` if all recoveries completed, or if the study is not a file.
fn with_longer_window(study: &Study, found: &FindingsRecord) -> Option<NextStepRecord> {
    let needed = found.trials.iter().flat_map(|trial| {
        let window = trial.phases.iter().find(|phase| phase.name == "measure");
        trial.faults.iter().filter_map(move |fault| {
            let why = Aftermath::from_fault(fault)?.not_measured?;
            let is_cut = fault.recovery.as_ref()?.cut_by_fault;
            let is_late = matches!(why, NotMeasured::WholeLater(_) | NotMeasured::LittleLeft(_));
            (is_late && !is_cut).then_some(fault.whole_s? - window?.from_s)
        })
    });
    let whole_s = needed.reduce(f64::max)?;
    if study.overrides.command.is_some() {
        return None;
    }
    let window_s = proposed_window_s(whole_s);
    let took_s = run_seconds(found);
    let longer_s: f64 = found.trials.iter().map(|one| (window_s - one.seconds).max(0.0)).sum();
    Some(NextStepRecord {
        says: format!(
            "Repeat the run with a window of {}, so that it shows the recovery",
            about_duration(window_s)
        ),
        command: rerun(study, &[format!("window.measure={window_s}s")]),
        seconds: Some(took_s + longer_s),
    })
}

/// Tells the user where to find the rows that were lost, wrong or resurrected, with the statement
/// that reads the first of these rows.
fn look_at_data(found: &FindingsRecord, run: &Path) -> NextStepRecord {
    let read_by = data::first_row(&found.trials).map(|row| match row.read_by.as_str() {
        "" => format!(", and at row {}", row.row),
        statement => format!(", and read row {}: {statement}", row.row),
    });
    NextStepRecord {
        says: format!(
            "Look at the lost or wrong rows of each trial before you measure again{}",
            read_by.unwrap_or_default()
        ),
        command: format!(
            "cassay show --trials {}",
            yaml::shell_word(&run.display().to_string())
        ),
        seconds: None,
    }
}

/// Proposes a warm-up of at least `arrived_s`, the time in seconds after which trials do not get
/// faster any more. If nodes start only once, only the first window needs this warm-up. Returns
/// `None` if no duration in the list is long enough, or if the study is not a file.
fn with_longer_warmup(
    study: &Study,
    trials: &[TrialFinding],
    arrived_s: Option<f64>,
    took_s: f64,
) -> Option<NextStepRecord> {
    let is_first_only = arrived_s.is_some() && starts_nodes_once(study);
    let count = if is_first_only { 1 } else { trials.len() };
    let cured = trials.get(..count)?;
    let had_s = cured.iter().map(|trial| trial.warmup.seconds).fold(0.0, f64::max);
    let asked_s = arrived_s.unwrap_or(took_s).max(had_s * 1.5);
    let warmup_s = WARMUPS_S.into_iter().find(|s| *s >= asked_s)?;
    if study.overrides.command.is_some() {
        return None;
    }
    let longer_s: f64 = cured.iter().map(|trial| (warmup_s - trial.warmup.seconds).max(0.0)).sum();
    let (first, key) = if is_first_only {
        ("first ", "window.first_warmup")
    } else {
        ("", "window.warmup")
    };
    Some(NextStepRecord {
        says: format!(
            "Repeat the run with a {first}warm-up of {}",
            about_duration(warmup_s)
        ),
        command: rerun(study, &[format!("{key}={warmup_s}s")]),
        seconds: Some(took_s + longer_s),
    })
}

/// Returns true if cassay starts the nodes once, and measures all trials on the same processes.
fn starts_nodes_once(study: &Study) -> bool {
    let target = &study.variants[0].settings.target;
    matches!(target, Target::Local(_))
        && study
            .variants
            .iter()
            .all(|one| one.settings.target == *target && one.settings.faults.is_empty())
}

/// Returns the wall time of the run. Without a record of its time use, the result is the wall time
/// of its trials.
fn run_seconds(found: &FindingsRecord) -> f64 {
    match &found.time_use {
        Some(used) if used.seconds > 0.0 => used.seconds,
        _ => found.trials.iter().map(seconds_of).sum(),
    }
}

/// Returns the wall time of a trial, from the start of its first phase to the end of its last.
fn seconds_of(trial: &TrialFinding) -> f64 {
    let from = trial.phases.iter().map(|phase| phase.from_s).reduce(f64::min);
    let to = trial.phases.iter().map(|phase| phase.to_s).reduce(f64::max);
    match (from, to) {
        (Some(from), Some(to)) => to - from,
        _ => trial.warmup.seconds + trial.seconds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::record::{
        CauseRecord, ClientEndRecord, FaultRecord, PhaseTimeRecord, RecoveryRecord, ReturnTime,
        Returns, RuleRecord, TimeUseRecord, WarmupRecord,
    };
    use study::resolve::resolve;
    use study::settings::Overrides;

    fn study() -> Study {
        study_of("target: {null: {}}\nvariants: {a: {}, b: {}}\n")
    }

    fn study_of(target: &str) -> Study {
        let text = format!(
            "study: s\nquestion: q\nworkload: {{use: kv, mix: {{write: 1}}}}\n\
             procedure: {{fixed: {{threads: 4}}}}\n{target}"
        );
        let mut study = resolve("s", &text, &Overrides::default()).unwrap();
        study.source = "my studies/s.yaml".to_owned();
        study
    }

    fn found(causes: &[CauseKind], comparison: ComparisonRecord) -> FindingsRecord {
        let trial = |block: usize| TrialFinding {
            block,
            seconds: 10.0,
            warmup: WarmupRecord {
                seconds: 5.0,
                ..WarmupRecord::default()
            },
            ..TrialFinding::default()
        };
        let cause = |kind: &CauseKind| CauseRecord {
            kind: *kind,
            ..CauseRecord::default()
        };
        FindingsRecord {
            verdict: Verdict::Suspect,
            causes: causes.iter().map(cause).collect(),
            comparisons: vec![ComparisonRecord {
                primary: true,
                ..comparison
            }],
            trials: (0..4).map(trial).collect(),
            ..FindingsRecord::default()
        }
    }

    fn open(blocks: usize, blocks_to_settle: Option<usize>) -> ComparisonRecord {
        ComparisonRecord {
            verdict: Finding::Inconclusive,
            blocks,
            blocks_to_settle,
            ..ComparisonRecord::default()
        }
    }

    /// Returns a trial with a window of 75 s. Node2 was up again 4.7 s after the end of this
    /// window.
    fn back_late() -> TrialFinding {
        let back = ReturnTime {
            left_s: Some(1.0),
            back_s: None,
            watched_s: 35.0,
        };
        let recovery = RecoveryRecord {
            watched_s: 55.0,
            throughput: Some(Returns {
                injected: back,
                healed: Some(back),
            }),
            ..RecoveryRecord::default()
        };
        TrialFinding {
            phases: vec![PhaseTimeRecord {
                name: "measure".to_owned(),
                from_s: 0.0,
                to_s: 75.0,
            }],
            faults: vec![FaultRecord {
                injected_s: Some(20.0),
                healing_s: Some(40.0),
                whole_s: Some(79.7),
                recovery: Some(recovery),
                ..FaultRecord::default()
            }],
            ..TrialFinding::default()
        }
    }

    #[test]
    fn a_lost_client_leads_to_resume_whatever_else_was_found() {
        let mut found = found(&[CauseKind::Others, CauseKind::Warming], open(4, Some(6)));
        found.trials[2].clients = vec![
            ClientEndRecord::default(),
            ClientEndRecord {
                lost: Some("client2 (db7) has ended".to_owned()),
                ..ClientEndRecord::default()
            },
        ];
        let step = suggest(&study(), &found, Path::new("results/my s/1")).unwrap();
        assert_eq!(step.command, "cassay resume 'results/my s/1'");
        assert!(step.says.contains("that lost a client"), "{}", step.says);
    }

    #[test]
    fn nodes_that_start_once_are_warmed_up_once_for_longer() {
        let next = |target: &str, arrived_s| {
            let mut found = found(&[CauseKind::Warming], open(4, None));
            found.causes[0].arrived_s = arrived_s;
            let step = suggest(&study_of(target), &found, Path::new("results/s/1")).unwrap();
            (step.command, step.seconds.unwrap())
        };
        let sides = "variants: {a: {}, b: {workload: {consistency: ONE}}}\n";
        let once = format!("target: {{local: {{}}}}\n{sides}");
        let run_with = |set: &str| format!("cassay run 'my studies/s.yaml' --set {set}");
        assert_eq!(
            next(&once, Some(25.0)),
            (run_with("window.first_warmup=30s"), 60.0 + 25.0)
        );
        assert_eq!(
            next(&once, None),
            (run_with("window.warmup=60s"), 60.0 + 4.0 * 55.0),
            "each window rises, so each warm-up is too short"
        );
        let restarted = "target: {local: {}}\nvariants: {a: {}, b: {target: {local: {gc: zgc}}}}\n";
        assert_eq!(
            next(restarted, Some(25.0)),
            (run_with("window.warmup=30s"), 60.0 + 4.0 * 25.0)
        );
    }

    /// Returns findings in which these rules failed in the first trial.
    fn failed(rules: &[&str], causes: &[CauseKind]) -> FindingsRecord {
        let mut found = found(causes, open(4, Some(9)));
        found.verdict = Verdict::Invalid;
        for rule in rules {
            found.reasons.push(format!("a: {rule}: words"));
            found.reason_records.push(ReasonRecord {
                rule: Some((*rule).to_owned()),
                result: Some(RuleOutcome::Fail),
                trials: vec![0],
                ..ReasonRecord::default()
            });
            found.trials[0].rules.push(RuleRecord {
                rule: (*rule).to_owned(),
                result: RuleOutcome::Fail,
                detail: String::new(),
                measured: Vec::new(),
            });
        }
        found
    }

    /// In a user's run, 3 % of the operations failed on a busy machine. The report proposed to
    /// repeat the run on a quiet machine, which would fail again.
    #[test]
    fn a_failed_rule_decides_the_next_step() {
        let says = |found: FindingsRecord| {
            let step = suggest(&study(), &found, Path::new("results/s/1")).unwrap();
            (step.says, step.command)
        };
        let (words, command) = says(failed(&["V8"], &[CauseKind::Others]));
        assert_eq!(
            words,
            "Remove the cause before you measure again: V8 (“Errors stay within their budget”) \
             failed in 1 of 4 trials"
        );
        assert_eq!(command, "cassay show --trials results/s/1");
        let (words, _) = says(failed(&["V1"], &[CauseKind::Others]));
        assert!(words.contains("while no other program runs"), "{words}");
        let (words, command) = says(failed(&["V1"], &[]));
        assert!(words.contains("a client that has more CPU time"), "{words}");
        assert_eq!(command, "cassay run 'my studies/s.yaml'");
        // A client that stops waiting on a busy machine may succeed on a quiet one.
        let mut timeouts = failed(&["V8"], &[CauseKind::Others]);
        timeouts.reason_records[0].measured.push(MeasurementRecord {
            quantity: Quantity::ClientTimeouts,
            value: 3.0,
            limit: Some(1.0),
            fail_limit: Some(1.0),
            minimum: false,
            unit: "operations".to_owned(),
            place: None,
        });
        assert!(says(timeouts).0.contains("while no other program runs"));
    }

    #[test]
    fn a_fault_too_early_for_its_level_leads_to_a_later_one() {
        let mut found = found(&[], open(1, None));
        let mut trial = back_late();
        trial.faults[0].injected_s = Some(8.4);
        // Without a level before the fault, the recovery of throughput is unknown.
        trial.faults[0].recovery.as_mut().unwrap().throughput = None;
        found.trials[0] = trial;
        let step = suggest(&study(), &found, Path::new("results/s/1")).unwrap();
        assert!(
            step.says.starts_with("Set `at: 15s` or more"),
            "{}",
            step.says
        );
        // For a later fault, the level is unknown for another reason.
        found.trials[0].faults[0].injected_s = Some(20.0);
        let step = suggest(&study(), &found, Path::new("results/s/1")).unwrap();
        assert!(!step.says.contains("`at:"), "{}", step.says);
    }

    #[test]
    fn each_open_run_has_one_command_with_its_time() {
        let run = Path::new("results/s/1");
        let next = |causes: &[CauseKind], comparison| {
            let step = suggest(&study(), &found(causes, comparison), run)?;
            Some((step.command, step.seconds?))
        };
        let run_with = |set: &str| format!("cassay run 'my studies/s.yaml'{set}");
        assert_eq!(
            next(&[CauseKind::Others, CauseKind::Warming], open(4, None)),
            Some((run_with(" --set window.warmup=60s"), 60.0 + 4.0 * 55.0)),
            "a longer warm-up also helps on a busy machine"
        );
        assert_eq!(
            next(&[CauseKind::Others], open(4, Some(9))),
            Some((run_with(""), 60.0))
        );
        assert_eq!(
            next(&[], open(4, Some(9))),
            Some(("cassay resume results/s/1 --more 5".to_owned(), 75.0))
        );
        assert_eq!(
            next(&[], open(1, None)),
            Some((run_with(" --set repeat.blocks=5"), 300.0))
        );
        assert_eq!(
            next(&[], open(4, Some(900))),
            None,
            "900 blocks are too many"
        );
        let mut timed = found(&[], open(1, None));
        timed.time_use = Some(TimeUseRecord {
            seconds: 70.0,
            ..TimeUseRecord::default()
        });
        let seconds = suggest(&study(), &timed, run).unwrap().seconds;
        assert_eq!(
            seconds,
            Some(350.0),
            "a run takes more time than its trials alone"
        );
        let mut late = found(&[CauseKind::Others], open(4, Some(9)));
        late.trials[0] = back_late();
        let step = suggest(&study(), &late, run).unwrap();
        assert_eq!(step.command, run_with(" --set window.measure=150s"));
        let mut told = found(&[CauseKind::Others], ComparisonRecord::default());
        told.verdict = Verdict::Valid;
        told.comparisons[0].verdict = Finding::Faster;
        assert_eq!(suggest(&study(), &told, run), None);
    }
}
