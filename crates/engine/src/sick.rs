//! A target that a trial has left in another state than it began with: what is measured on it next
//! would be measured on something that nobody asked for.

use super::preflight::NotAllowed;
use super::schema_check::OtherTypes;
use super::{End, Engine, Event};
use anyhow::Result;
use load::LoadError;
use store::record::{FaultRecord, JournalEvent, TrialFinding};
use study::plan::{Trial, Turn};
use target::Target;

/// What was broken and not seen to be whole again, a sentence each.
pub fn not_whole(faults: &[FaultRecord]) -> Vec<String> {
    let begun = faults.iter().filter(|fault| fault.injected_s.is_some());
    let not_whole = begun.filter(|fault| fault.healing_s.is_some() && fault.whole_s.is_none());
    not_whole
        .map(|fault| format!("{} was not seen to be whole again", fault.name()))
        .collect()
}

/// Whether every later trial of the same variant would fail by the same error: it is of what was
/// asked for, and not of how things happened to be.
pub fn is_of_the_study(error: &anyhow::Error) -> bool {
    let is_config = |error: &LoadError| matches!(error, LoadError::Config(_));
    error.is::<OtherTypes>()
        || error.is::<NotAllowed>()
        || error.downcast_ref().is_some_and(is_config)
}

impl Engine<'_> {
    /// Why a trial is left out, if it is.
    pub(super) fn refused(&self, turn: &Turn) -> Option<String> {
        let target = &self.study.variants[turn.variant].settings.target;
        if self.refused.contains(target) {
            return Some("its target could not be started for an earlier trial".to_owned());
        }
        let is_same = self.hopeless.contains(&turn.variant);
        is_same.then(|| "it would fail as an earlier trial of the same did".to_owned())
    }

    /// Puts down a trial that could not be done, with what it found and why it ended.
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

    /// Starts the next trial's nodes anew where this one's faults were not seen to heal; the end of
    /// the run where the nodes are not ours to start.
    pub(super) fn after_faults(
        &mut self,
        trial: &Trial,
        not_whole: &[String],
    ) -> Result<Option<End>> {
        let upgraded = self.running.as_ref().and_then(|running| running.upgraded.clone());
        if let Some(release) = upgraded {
            (self.events)(Event::Said(format!(
                "nodes are Cassandra {release} now, and files do not go back: they are stopped, \
                 and started anew for the next trial"
            )));
            self.stop_target()?;
            return Ok(None);
        }
        if not_whole.is_empty() {
            return Ok(None);
        }
        let why = not_whole.join("; ");
        let target = &self.study.variants[trial.variant].settings.target;
        if let Target::Attach(_) = target {
            return Ok(Some(End::Stopped(format!(
                "{why}: what is measured next would be measured on a sick cluster, which is not \
                 ours to start anew"
            ))));
        }
        (self.events)(Event::Said(format!(
            "{why}: the nodes are stopped, and started anew for the next trial"
        )));
        self.stop_target()?;
        Ok(None)
    }

    /// Makes all available that nodes are brought to by this trial's upgrades, before its load.
    pub(super) fn ready_upgrades(&mut self, trial: &Trial) -> Result<()> {
        let faults = &self.study.variants[trial.variant].settings.faults;
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

    /// Whether the target is of no more use since a restart has failed.
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
    fn what_was_broken_and_not_seen_whole_makes_a_target_sick() {
        let fault = |injected_s, healing_s, whole_s| FaultRecord {
            kind: "node-pause".to_owned(),
            place: Some("node2".to_owned()),
            injected_s,
            healing_s,
            whole_s,
            ..FaultRecord::default()
        };
        let said = |fault: FaultRecord| not_whole(&[fault]).join("");
        let sick = "node-pause of node2 was not seen to be whole again";
        assert_eq!(said(fault(Some(1.0), Some(2.0), None)), sick);
        assert_eq!(said(fault(Some(1.0), Some(2.0), Some(3.0))), "");
        // It was never injected, or is not to be healed.
        assert_eq!(said(fault(None, None, None)), "");
        assert_eq!(said(fault(Some(1.0), None, None)), "");
    }
}
