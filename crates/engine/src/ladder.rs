//! Ladders of points that end early: after the trial in which what the study waits for happens.

use super::Engine;
use store::record::TrialFinding;
use study::plan::Trial;
use study::settings::Until;

impl Engine<'_> {
    /// Ends the ladder of the trial's variant in its block, if `until` says so.
    pub(super) fn note_ladder(&mut self, trial: &Trial, finding: &TrialFinding) {
        let until = self.study.variants[trial.variant].settings.procedure.until;
        let ends = match until {
            Some(Until::Flat) => self.is_flat(trial, finding),
            Some(until) => ends_ladder(until, finding),
            None => false,
        };
        if ends {
            self.ladders
                .push((trial.variant, trial.block, trial.point.value()));
        }
    }

    /// Whether the rates of the trial's ladder so far have stopped growing.
    fn is_flat(&self, trial: &Trial, finding: &TrialFinding) -> bool {
        let same = |other: &&Trial| {
            (other.variant, other.block) == (trial.variant, trial.block)
                && other.index < trial.index
        };
        let before = self.plan.trials.iter().filter(same);
        let before = before.filter_map(|other| self.findings.get(&other.index));
        let rates = before.map(|found| found.all.ops_per_s);
        let rates: Vec<f64> = rates.chain([finding.all.ops_per_s]).collect();
        imports::stress::is_flat(&rates, None)
    }

    /// Why a trial lies beyond the end of its ladder; none if it does not.
    pub(super) fn ladder_ended(&self, trial: &Trial) -> Option<String> {
        let until = self.study.variants[trial.variant]
            .settings
            .procedure
            .until?;
        let ended = |(variant, block, value): &&(usize, usize, f64)| {
            (*variant, *block) == (trial.variant, trial.block) && trial.point.value() > *value
        };
        let (_, _, value) = self.ladders.iter().find(ended)?;
        let what = study::plan::until_words(until);
        Some(format!(
            "the ladder ended at {value} {}: {what}",
            trial.point.axis()
        ))
    }
}

fn ends_ladder(until: Until, finding: &TrialFinding) -> bool {
    let timed_out = finding
        .errors
        .get("client_timeout")
        .is_some_and(|count| *count > 0);
    match until {
        Until::Flat => false,
        Until::Timeout => timed_out,
        Until::P99Ms(bound) => {
            // A lower bound below the limit does not end it: nobody knows.
            timed_out || finding.all.latency_ms.p99.is_above(bound) == Some(true)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Known;

    #[test]
    fn a_ladder_ends_when_p99_is_above_its_bound_for_certain() {
        let ends = |p99_ms: Known| {
            let mut finding = TrialFinding::default();
            finding.all.latency_ms.p99 = p99_ms;
            ends_ladder(Until::P99Ms(10.0), &finding)
        };
        assert!(ends(Known::Exactly(10.1)) && ends(Known::AtLeast(10.1)));
        assert!(!ends(Known::Exactly(9.9)) && !ends(Known::AtLeast(9.9)));
    }
}
