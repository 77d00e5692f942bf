//! Handles a target that a trial has left in a state other than the initial one. Otherwise the next
//! trial would measure a system that the study does not describe.

use super::preflight::NotAllowed;
use super::schema_check::OtherTypes;
use super::{End, Engine, Event};
use anyhow::Result;
use load::LoadError;
use store::record::{FaultRecord, JournalEvent, TrialFinding};
use study::plan::{Trial, Turn};
use target_spec::Target;

/// Returns a sentence for each healed fault after which cassay did not observe a healthy target.
pub fn not_whole(faults: &[FaultRecord]) -> Vec<String> {
    let begun = faults.iter().filter(|fault| fault.injected_s.is_some());
    let not_whole = begun.filter(|fault| fault.healing_s.is_some() && fault.whole_s.is_none());
    not_whole
        .map(|fault| {
            format!(
                "cassay did not observe a healthy target after {}",
                fault.name()
            )
        })
        .collect()
}

/// Returns true if the study itself causes the error, so that every later trial of the same variant
/// would fail in the same way.
pub fn is_of_the_study(error: &anyhow::Error) -> bool {
    let is_config = |error: &LoadError| matches!(error, LoadError::Config(_));
    error.is::<OtherTypes>()
        || error.is::<NotAllowed>()
        || error.downcast_ref().is_some_and(is_config)
}

impl Engine<'_> {
    /// Returns the reason why cassay omits a trial, or `None` if cassay runs the trial.
    pub(super) fn refused(&self, turn: &Turn) -> Option<String> {
        let target = &self.study.variant(turn.variant).settings.target;
        if self.refused.contains(target) {
            return Some(
                "cassay omits this trial, because it could not start the same target for an \
                 earlier trial"
                    .to_owned(),
            );
        }
        let is_same = self.hopeless.contains(&turn.variant);
        is_same.then(|| {
            "cassay omits this trial, because it would fail like an earlier trial of the same \
             variant"
                .to_owned()
        })
    }

    pub(super) fn fail(
        &mut self,
        trial: &Trial,
        name: String,
        found: TrialFinding,
        why: &str,
    ) -> Result<()> {
        let reason = why.to_owned();
        self.writer.journal(Some(trial.index), JournalEvent::TrialFailed { reason })?;
        self.histories.note(trial, None);
        self.failed.insert(trial.index, found);
        (self.events)(Event::TrialFailed {
            index: trial.index,
            name,
            reason: why.to_owned(),
        });
        Ok(())
    }

    /// Stops the nodes if the faults of this trial upgraded them, or if cassay did not observe a
    /// healthy target after the faults. If an attached cluster is not healthy, ends the run
    /// instead.
    pub(super) fn after_faults(
        &mut self,
        trial: &Trial,
        not_whole: &[String],
    ) -> Result<Option<End>> {
        let upgraded = self.running.as_ref().and_then(|running| running.upgraded.clone());
        if let Some(release) = upgraded {
            (self.events)(Event::Said(format!(
                "the nodes now run Cassandra {release}, which cannot downgrade its files: cassay \
                 stops the nodes, and starts new nodes for the next trial"
            )));
            self.stop_target()?;
            return Ok(None);
        }
        if not_whole.is_empty() {
            return Ok(None);
        }
        let why = not_whole.join("; ");
        let target = &self.study.variant(trial.variant).settings.target;
        if let Target::Attach(_) = target {
            return Ok(Some(End::Stopped(format!(
                "{why}: the run ends, because later trials would measure a damaged cluster, which \
                 cassay did not start and cannot replace"
            ))));
        }
        (self.events)(Event::Said(format!(
            "{why}: cassay stops the nodes, and starts new nodes for the next trial"
        )));
        self.stop_target()?;
        Ok(None)
    }

    /// Fetches the releases for this trial's upgrades before its load begins.
    pub(super) fn ready_upgrades(&mut self, trial: &Trial) -> Result<()> {
        let faults = &self.study.variant(trial.variant).settings.faults;
        let Some(running) = &mut self.running else {
            return Ok(());
        };
        for options in faults.iter().map(|fault| &fault.options) {
            let Some(to) = &options.to else { continue };
            let upgraded = (to, &options.yaml);
            running.cluster.prepare_upgrade(upgraded, &self.options.dirs, &mut |text| {
                (self.events)(Event::Said(text.to_owned()));
            })?;
        }
        Ok(())
    }

    /// Returns true if a restart has failed, so that the engine cannot use the target again.
    pub(super) fn is_broken(&self) -> bool {
        self.running.as_ref().is_some_and(|running| running.broken)
    }

    pub(super) fn target_died(&mut self) -> Option<String> {
        let died = self.running.as_mut()?.cluster.died(&[]);
        died.first().map(ToString::to_string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_not_seen_whole_again_makes_its_target_sick() {
        let fault = |injected_s, healing_s, whole_s| FaultRecord {
            kind: "node-pause".to_owned(),
            place: Some("node2".to_owned()),
            injected_s,
            healing_s,
            whole_s,
            ..FaultRecord::default()
        };
        let said = |fault: FaultRecord| not_whole(&[fault]).join("");
        let sick = "cassay did not observe a healthy target after node-pause of node2";
        assert_eq!(said(fault(Some(1.0), Some(2.0), None)), sick);
        assert_eq!(said(fault(Some(1.0), Some(2.0), Some(3.0))), "");
        // The first fault was never injected. The second fault was injected, and is never healed.
        assert_eq!(said(fault(None, None, None)), "");
        assert_eq!(said(fault(Some(1.0), None, None)), "");
    }
}
