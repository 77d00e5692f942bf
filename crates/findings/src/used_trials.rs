//! Selects the trials that the findings of a run use.

use analysis::procedure::Role;
use analysis::rules::Verdict;
use store::record::TrialFinding;

/// Returns one trial for each variant, point and block: the first usable trial, or the first trial
/// if none is usable. A trial that confirms a point or repeats an invalid trial does not count as
/// another block. In an endurance study, a usable long trial takes precedence.
pub fn once_each(trials: &[TrialFinding]) -> Vec<TrialFinding> {
    let mut once: Vec<TrialFinding> = Vec::with_capacity(trials.len());
    for trial in trials {
        let same = |other: &&mut TrialFinding| {
            (&other.variant, &other.point, other.block)
                == (&trial.variant, &trial.point, trial.block)
        };
        match once.iter_mut().find(same) {
            Some(other) if usable(trial) && (!usable(other) || is_long(trial)) => {
                *other = trial.clone();
            }
            Some(_) => {}
            None => once.push(trial.clone()),
        }
    }
    once
}

pub fn usable(trial: &TrialFinding) -> bool {
    trial.verdict != Verdict::Invalid
}

/// Returns true for the long trial of an endurance study.
pub fn is_long(trial: &TrialFinding) -> bool {
    trial.role == Role::Endurance
}
