//! What happens in a run, as its journal names it, with the details of each.
//!
//! What must hold: the names of events and details are those of format 1. A detail may be added,
//! with a default; none is renamed. Lines of earlier versions had fewer of them, and those of later
//! ones may have events that are not known here: neither is a reason not to read a run.

use crate::fleet::ClientMachineRecord;
use crate::gap::GapRecord;
use crate::lab::{NodeRecord, ProofRecord};
use crate::sums::{FileSum, Sums};
use analysis::rules::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A change of state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", content = "detail", rename_all = "snake_case")]
pub enum JournalEvent {
    /// The plan is there.
    RunPlanned {
        /// What `study.yaml` and `plan.json` are.
        #[serde(default)]
        files: Sums,
    },
    /// Blocks are added to a run that had come to its end.
    RunExtended {
        /// How many.
        #[serde(default)]
        blocks: usize,
        /// What the file is that says which trials they are.
        #[serde(default)]
        files: Sums,
    },
    /// The run begins, or goes on.
    RunStarted {
        /// Version of cassay.
        #[serde(default)]
        cassay: String,
        /// The machine that the client runs on.
        #[serde(default)]
        machine: MachineFacts,
        /// Numbers of the trials that were finished before.
        #[serde(default)]
        finished_before: Vec<usize>,
    },
    /// A target is about to be started.
    TargetStarting {
        /// `local`, `attach` or `null`.
        #[serde(default)]
        kind: String,
        /// What it is, in words.
        #[serde(default)]
        what: String,
    },
    /// It can be used.
    TargetReady {
        /// As above.
        #[serde(default)]
        kind: String,
        /// What the nodes are and how they are set.
        #[serde(default)]
        nodes: Vec<NodeRecord>,
    },
    /// Clients are there, on several machines.
    ClientsReady {
        /// Each of them.
        #[serde(default)]
        clients: Vec<ClientMachineRecord>,
    },
    /// It is about to be stopped.
    TargetStopped,
    /// Nodes are about to be restarted.
    NodesRestarting {
        /// What that changes.
        #[serde(default)]
        what: String,
    },
    /// What was asked for was looked for.
    ConfigurationProved {
        /// `load`: what is measured is proved in `nodes.json`.
        #[serde(default)]
        phase: String,
        /// What each node says.
        #[serde(default)]
        proofs: Vec<ProofRecord>,
    },
    /// A file of another tool was read: how many series and points, or why nothing.
    Imported(String),
    /// A trial begins.
    TrialStarted {
        /// Its folder.
        #[serde(default)]
        slug: String,
    },
    /// A phase begins.
    PhaseStarted {
        /// Its name.
        #[serde(default)]
        phase: String,
    },
    /// Something is about to be broken on purpose.
    FaultInjecting {
        /// The kind of the fault.
        #[serde(default)]
        kind: String,
        /// What: the name of a node.
        #[serde(default)]
        place: String,
        /// For how long, seconds.
        #[serde(default)]
        seconds: f64,
    },
    /// It is about to be healed.
    FaultHealing {
        /// How it was broken.
        #[serde(default)]
        kind: String,
        /// What: the name of a node.
        #[serde(default)]
        place: String,
    },
    /// A trial has ended, and its finding is there.
    TrialFinished {
        /// Its verdict; none in records of earlier versions.
        #[serde(
            default,
            deserialize_with = "measure::word_or_none",
            skip_serializing_if = "Option::is_none"
        )]
        verdict: Option<Verdict>,
        /// Its throughput.
        #[serde(default)]
        ops_per_s: f64,
        /// What `finding.json` is; none in runs of versions without checksums.
        #[serde(default)]
        finding: Option<FileSum>,
    },
    /// Files came to a trial after its end.
    FilesAdded {
        /// What they are.
        #[serde(default)]
        files: Sums,
    },
    /// Files of the nodes could not be had when the target was stopped.
    FilesMissing {
        /// The folder of the trial that they would have been in.
        #[serde(default)]
        slug: String,
        /// What is missing.
        #[serde(default)]
        gaps: Vec<GapRecord>,
    },
    /// A trial could not be done.
    TrialFailed {
        /// Why it could not be done.
        #[serde(default)]
        reason: String,
    },
    /// A trial is left out, and why.
    TrialSkipped(String),
    /// A resume goes on without lines that are damaged.
    JournalDamaged {
        /// Their numbers, from 1.
        #[serde(default)]
        lines: Vec<usize>,
    },
    /// Somebody wanted an end.
    RunInterrupted,
    /// The run has ended; `findings.json` comes next.
    RunFinished {
        /// Its verdict; none in records of earlier versions.
        #[serde(
            default,
            deserialize_with = "measure::word_or_none",
            skip_serializing_if = "Option::is_none"
        )]
        verdict: Option<Verdict>,
        /// Why it ended before its plan did.
        #[serde(default)]
        stopped: Option<String>,
        /// What `findings.json` will be; none in runs of versions without checksums.
        #[serde(default)]
        findings: Option<FileSum>,
    },
    /// One that this version does not know, or with other details than it knows.
    #[serde(skip)]
    Unknown {
        /// Its name.
        event: String,
        /// What it says.
        detail: Value,
    },
}

/// What of a machine decides how fast things are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// How many CPUs there are.
    #[serde(default)]
    pub cpus: usize,
    /// Their model.
    #[serde(default)]
    pub cpu: Option<String>,
    /// How much memory, as the kernel says it.
    #[serde(default)]
    pub memory: Option<String>,
    /// Version of the kernel.
    #[serde(default)]
    pub kernel: Option<String>,
    /// Rate of its fastest link, bit/s in each direction. Absent where its driver does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_bits_per_s: Option<u64>,
}

impl MachineFacts {
    /// By their names, as far as they are known.
    pub fn named(&self) -> [(&'static str, Option<String>); 4] {
        let text = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        [
            ("cpu", text(&self.cpu)),
            ("cpus", (self.cpus > 0).then(|| self.cpus.to_string())),
            ("kernel", text(&self.kernel)),
            ("memory", text(&self.memory)),
        ]
    }
}

impl JournalEvent {
    /// Its name on disk.
    pub fn name(&self) -> String {
        self.clone().into_parts().0
    }

    /// Name and details.
    fn into_parts(self) -> (String, Value) {
        match self {
            JournalEvent::Unknown { event, detail } => (event, detail),
            known => {
                let mut tagged = json!(known);
                let name = tagged["event"].as_str().unwrap_or_default();
                (name.to_owned(), tagged["detail"].take())
            }
        }
    }
}

/// One line of `journal.ndjson`, written before the change is made.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "RawRecord", into = "RawRecord")]
pub struct JournalRecord {
    /// When, nanoseconds since 1970.
    pub unix_ns: u64,
    /// Number of the trial it belongs to.
    pub trial: Option<usize>,
    /// What happens.
    pub event: JournalEvent,
}

/// As it stands on disk.
#[derive(Serialize, Deserialize)]
struct RawRecord {
    unix_ns: u64,
    event: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trial: Option<usize>,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    detail: Value,
}

impl From<RawRecord> for JournalRecord {
    fn from(raw: RawRecord) -> JournalRecord {
        let (event, detail) = (raw.event, raw.detail);
        let known = |detail: &Value| {
            let tagged = json!({"event": event, "detail": detail});
            serde_json::from_value(tagged).ok()
        };
        // What an earlier version wrote without details, or with others, is the event it was.
        let read = known(&detail).or_else(|| known(&json!({})));
        JournalRecord {
            unix_ns: raw.unix_ns,
            trial: raw.trial,
            event: read.unwrap_or(JournalEvent::Unknown { event, detail }),
        }
    }
}

impl From<JournalRecord> for RawRecord {
    fn from(record: JournalRecord) -> RawRecord {
        let (event, detail) = record.event.into_parts();
        RawRecord {
            unix_ns: record.unix_ns,
            event,
            trial: record.trial,
            detail,
        }
    }
}

/// The trials that were left out and that nothing has come of since, by number, with the reason.
pub fn left_out(journal: &[JournalRecord]) -> BTreeMap<usize, &str> {
    let mut left_out = BTreeMap::new();
    for line in journal {
        match (line.trial, &line.event) {
            (Some(trial), JournalEvent::TrialSkipped(why)) => {
                left_out.insert(trial, why.as_str());
            }
            (Some(trial), JournalEvent::TrialStarted { .. }) => {
                left_out.remove(&trial);
            }
            _ => {}
        }
    }
    left_out
}

/// The same in words, for a line: `6 left out: the ladder ended at 8 threads: …`.
pub fn left_out_words(journal: &[JournalRecord]) -> Option<String> {
    let left_out = left_out(journal);
    let mut reasons: Vec<&str> = Vec::new();
    for why in left_out.values() {
        if !reasons.contains(why) {
            reasons.push(why);
        }
    }
    let (first, others) = reasons.split_first()?;
    let more = match others.len() {
        0 => String::new(),
        1 => format!("; {}", others[0]),
        count => format!("; and {count} other reasons"),
    };
    Some(format!("{} left out: {first}{more}", left_out.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Trials that a ladder no longer asked for looked as if they were still to come.
    #[test]
    fn what_is_left_out_is_said_with_its_reasons_until_it_is_done() {
        let skipped = |why: &str| JournalEvent::TrialSkipped(why.to_owned());
        let started = JournalEvent::TrialStarted {
            slug: String::new(),
        };
        let events = [
            (0, started.clone()),
            (1, skipped("the ladder ended at 1 threads")),
            (2, skipped("the ladder ended at 1 threads")),
            (3, skipped("its target could not be started")),
        ];
        let line = |(trial, event)| JournalRecord {
            unix_ns: 1,
            trial: Some(trial),
            event,
        };
        let mut journal: Vec<JournalRecord> = events.into_iter().map(line).collect();
        assert_eq!(left_out_words(&journal[..1]), None);
        let words = |journal: &[JournalRecord]| left_out_words(journal).unwrap();
        assert_eq!(
            words(&journal),
            "3 left out: the ladder ended at 1 threads; its target could not be started"
        );
        // A resume had the target.
        journal.push(line((3, started)));
        assert_eq!(words(&journal), "2 left out: the ladder ended at 1 threads");
        journal.push(line((4, skipped("a"))));
        journal.push(line((5, skipped("b"))));
        assert!(words(&journal).ends_with("; and 2 other reasons"));
    }

    fn read(line: &str) -> JournalEvent {
        serde_json::from_str::<JournalRecord>(line).unwrap().event
    }

    #[test]
    fn a_line_is_written_as_it_was_read() {
        for line in [
            r#"{"unix_ns":1,"event":"run_interrupted"}"#,
            r#"{"unix_ns":1,"event":"phase_started","trial":3,"detail":{"phase":"load"}}"#,
            r#"{"unix_ns":1,"event":"trial_skipped","trial":3,"detail":"why"}"#,
            r#"{"unix_ns":1,"event":"from_the_future","detail":{"b":1,"a":[null]}}"#,
        ] {
            let record: JournalRecord = serde_json::from_str(line).unwrap();
            assert_eq!(serde_json::to_string(&record).unwrap(), line);
        }
    }

    /// Format 1 has begun without details, and with others.
    #[test]
    fn an_event_is_what_it_was_whatever_its_details_are() {
        let finished = JournalEvent::TrialFinished {
            verdict: None,
            ops_per_s: 0.0,
            finding: None,
        };
        assert_eq!(read(r#"{"unix_ns":1,"event":"trial_finished"}"#), finished);
        let other = r#"{"unix_ns":1,"event":"trial_finished","detail":{"finding":7}}"#;
        assert_eq!(read(other), finished);
        let stopped = r#"{"unix_ns":1,"event":"target_stopped","detail":null}"#;
        assert_eq!(read(stopped), JournalEvent::TargetStopped);
        assert_eq!(read(stopped).name(), "target_stopped");
    }
}
