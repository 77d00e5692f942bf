//! Which trials the findings of a run stand on.

use analysis::procedure::Role;
use analysis::rules::Verdict;
use store::record::TrialFinding;

/// Of the trials of a variant at one place in one block, the first that may be used, or else the
/// first: what holds it, or was measured again because nobody could believe it, is no further block
/// of its point. Of an endurance the long one, if that may be used.
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

/// Whether a trial is the long one of an endurance.
pub fn is_long(trial: &TrialFinding) -> bool {
    trial.role == Role::Endurance
}
