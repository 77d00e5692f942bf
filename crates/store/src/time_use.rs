//! Use of a run's wall time: the time in measured windows, and the steps that took the remaining
//! time.

use crate::event::{JournalEvent, JournalRecord};
use crate::record::TrialFinding;
use measure::clock::SECOND_NS;
use serde::{Deserialize, Serialize};

measure::word_enum! {
    /// A kind of work in a run, other than a measured window.
    pub enum TimedStep {
        /// cassay starts nodes, stops nodes, or connects to nodes.
        Target = "target",
        /// The client measures its own ceiling.
        Ceiling = "ceiling",
        /// cassay creates or empties the keyspace and the tables.
        Schema = "schema",
        /// cassay writes the rows of the load phase.
        Load = "load",
        /// The trial waits for flushes and compactions.
        Settle = "settle",
        /// cassay saves the loaded data as a snapshot.
        Snapshot = "snapshot",
        /// cassay changes the configuration of nodes.
        Restart = "restart",
        /// cassay restores the data from a snapshot.
        Restore = "restore",
        /// The client applies load before the measured window (warm-up).
        Warmup = "warmup",
        /// cassay does the work after a window: it waits for the last responses, reads the counts
        /// of the servers, and computes the verdict.
        Finish = "finish",
        /// cassay reads rows back and compares them with the written values.
        Verify = "verify",
        /// cassay does any other kind of work.
        Other = "other",
    }
}

/// Use of a run's wall time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeUseRecord {
    /// Wall time from the start of the run to its findings, s. It excludes pauses between an
    /// interruption and the resumption of the run.
    #[serde(default)]
    pub seconds: f64,
    /// Time in measured windows of finished trials, s.
    #[serde(default)]
    pub measured_s: f64,
    /// Share of the wall time in measured windows: `measured_s` ÷ `seconds`, 0 to 1.
    #[serde(default)]
    pub measured_share: f64,
    /// Time of each kind of work outside measured windows. The kind that took longest comes first.
    #[serde(default)]
    pub steps: Vec<StepTimeRecord>,
}

/// Time that a run spent on one kind of step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepTimeRecord {
    /// Kind of step: `target`, `ceiling`, `schema`, `load`, `settle`, `snapshot`, `restart`,
    /// `restore`, `warmup`, `finish`, `verify` or `other`.
    #[serde(default)]
    pub step: String,
    /// Total time of the steps of this kind, s.
    #[serde(default)]
    pub seconds: f64,
}

/// Returns how a run used its time. The run finishes at `now_unix_ns`. The journal must be
/// undamaged.
pub fn time_use(
    journal: &[JournalRecord],
    now_unix_ns: u64,
    trials: &[TrialFinding],
) -> TimeUseRecord {
    let mut spent_ns = [0_u64; TimedStep::ALL.len()];
    let mut current: Option<(TimedStep, u64)> = None;
    let mut ended = |current: &mut Option<(TimedStep, u64)>, at_ns: u64| {
        if let Some((step, from_ns)) = current.take() {
            spent_ns[step as usize] += at_ns.saturating_sub(from_ns);
        }
    };
    for record in journal {
        let next = match &record.event {
            JournalEvent::RunStarted { .. }
            | JournalEvent::TrialFinished { .. }
            | JournalEvent::TrialFailed { .. } => Some(TimedStep::Other),
            JournalEvent::TargetStarting { .. } | JournalEvent::TargetStopped => {
                Some(TimedStep::Target)
            }
            JournalEvent::TrialStarted { .. } | JournalEvent::TargetReady { .. } => {
                Some(TimedStep::Ceiling)
            }
            JournalEvent::NodesRestarting { .. } => Some(TimedStep::Restart),
            JournalEvent::PhaseStarted { phase } => Some(step_of_phase(phase)),
            JournalEvent::RunInterrupted | JournalEvent::RunFinished { .. } => None,
            _ => continue,
        };
        // A run that was killed could not record its end. So the time from the last record to the
        // resumption does not count.
        if matches!(record.event, JournalEvent::RunStarted { .. }) {
            current = None;
        }
        ended(&mut current, record.unix_ns);
        current = next.map(|step| (step, record.unix_ns));
    }
    ended(&mut current, now_unix_ns);
    let seconds = spent_ns.iter().sum::<u64>() as f64 / SECOND_NS as f64;
    let measured_s = trials.iter().map(|trial| trial.seconds).sum::<f64>().min(seconds);
    // In the journal, the last phase of a trial is its window. The time of this phase includes the
    // work after the window, which is subtracted here.
    let finish_ns = &mut spent_ns[TimedStep::Finish as usize];
    *finish_ns = finish_ns.saturating_sub((measured_s * SECOND_NS as f64) as u64);
    let mut steps: Vec<StepTimeRecord> = TimedStep::ALL
        .into_iter()
        .filter(|step| spent_ns[*step as usize] > 0)
        .map(|step| StepTimeRecord {
            step: step.name().to_owned(),
            seconds: spent_ns[step as usize] as f64 / SECOND_NS as f64,
        })
        .collect();
    steps.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    TimeUseRecord {
        seconds,
        measured_s,
        measured_share: if seconds > 0.0 {
            measured_s / seconds
        } else {
            0.0
        },
        steps,
    }
}

fn step_of_phase(phase: &str) -> TimedStep {
    match phase {
        "measure" => TimedStep::Finish,
        phase => TimedStep::from_name(phase).unwrap_or(TimedStep::Other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record_at(second: f64, event: JournalEvent) -> JournalRecord {
        JournalRecord {
            unix_ns: (second * SECOND_NS as f64) as u64,
            trial: None,
            event,
        }
    }

    fn started() -> JournalEvent {
        JournalEvent::RunStarted {
            cassay: String::new(),
            machine: Default::default(),
            finished_before: Vec::new(),
        }
    }

    fn phase(phase: &str) -> JournalEvent {
        JournalEvent::PhaseStarted {
            phase: phase.to_owned(),
        }
    }

    fn trial_started() -> JournalEvent {
        JournalEvent::TrialStarted {
            slug: "00".to_owned(),
        }
    }

    fn finding(seconds: f64) -> TrialFinding {
        TrialFinding {
            seconds,
            ..TrialFinding::default()
        }
    }

    fn seconds_of(used: &TimeUseRecord, step: TimedStep) -> f64 {
        let found = used.steps.iter().find(|one| one.step == step.name());
        found.map_or(0.0, |one| one.seconds)
    }

    #[test]
    fn the_steps_and_the_windows_are_the_whole_run() {
        let journal = [
            record_at(100.0, started()),
            record_at(101.0, trial_started()),
            record_at(
                101.5,
                JournalEvent::TargetStarting {
                    kind: String::new(),
                    what: String::new(),
                },
            ),
            record_at(
                110.0,
                JournalEvent::TargetReady {
                    kind: String::new(),
                    nodes: Vec::new(),
                },
            ),
            record_at(111.0, phase("schema")),
            record_at(112.0, phase("load")),
            record_at(115.0, phase("settle")),
            record_at(117.0, phase("warmup")),
            record_at(127.0, phase("measure")),
            record_at(140.0, JournalEvent::TargetStopped),
        ];
        let used = time_use(&journal, 142_000_000_000, &[finding(12.0)]);
        assert_eq!(used.seconds, 42.0);
        assert_eq!(used.measured_s, 12.0);
        assert!((used.measured_share - 12.0 / 42.0).abs() < 1e-12);
        let steps: f64 = used.steps.iter().map(|step| step.seconds).sum();
        assert!((steps + used.measured_s - used.seconds).abs() < 1e-9);
        assert_eq!(used.steps[0].step, "target");
        assert_eq!(seconds_of(&used, TimedStep::Target), 8.5 + 2.0);
        assert_eq!(seconds_of(&used, TimedStep::Ceiling), 0.5 + 1.0);
        assert_eq!(seconds_of(&used, TimedStep::Warmup), 10.0);
        assert_eq!(seconds_of(&used, TimedStep::Finish), 1.0);
    }

    #[test]
    fn the_pause_between_a_killed_run_and_its_resume_is_not_counted() {
        let journal = [
            record_at(0.0, started()),
            record_at(1.0, trial_started()),
            record_at(2.0, phase("load")),
            // In this journal, the run was killed after the previous record and resumed an hour
            // later.
            record_at(3600.0, started()),
            record_at(3601.0, trial_started()),
            record_at(3602.0, phase("measure")),
        ];
        let used = time_use(&journal, 3_608_000_000_000, &[finding(5.0)]);
        assert_eq!(used.seconds, 1.0 + 1.0 + 1.0 + 1.0 + 6.0);
        let journal = [
            record_at(0.0, started()),
            record_at(4.0, JournalEvent::RunInterrupted),
            record_at(50.0, started()),
        ];
        assert_eq!(time_use(&journal, 51_000_000_000, &[]).seconds, 5.0);
    }
}
