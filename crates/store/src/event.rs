//! Events of a run's journal, with their details.
//!
//! Invariant: events and details keep the names of format 1. A later version may add details with
//! defaults, but never renames a detail. A line of an earlier version has fewer details, and a line
//! of a later version may have an unknown event. cassay can still read a run with such lines.

use crate::file_digests::{FileSum, Sums};
use crate::fleet::ClientMachineRecord;
use crate::missing_records::GapRecord;
use crate::nodes_record::{NodeRecord, ProofRecord};
use analysis::rules::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;

/// A change of state that the journal records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", content = "detail", rename_all = "snake_case")]
pub enum JournalEvent {
    /// cassay has written the plan.
    RunPlanned {
        /// Checksums of `study.yaml` and `plan.json`.
        #[serde(default)]
        files: Sums,
    },
    /// Blocks are added to a finished run.
    RunExtended {
        /// Number of blocks that are added.
        #[serde(default)]
        blocks: usize,
        /// Checksum of the file that lists the added trials.
        #[serde(default)]
        files: Sums,
    },
    /// The run begins, or is resumed.
    RunStarted {
        /// Version of cassay that runs the trials.
        #[serde(default)]
        cassay: String,
        /// Machine that the client runs on.
        #[serde(default)]
        machine: MachineFacts,
        /// Numbers of the trials that had already finished.
        #[serde(default)]
        finished_before: Vec<usize>,
    },
    /// A target is about to be started.
    TargetStarting {
        /// Kind of the target: `local`, `attach` or `null`.
        #[serde(default)]
        kind: String,
        /// Description of the target.
        #[serde(default)]
        what: String,
    },
    /// The target is ready.
    TargetReady {
        /// Kind of the target.
        #[serde(default)]
        kind: String,
        /// Nodes of the target, with their settings.
        #[serde(default)]
        nodes: Vec<NodeRecord>,
    },
    /// The clients on several machines are ready.
    ClientsReady {
        /// Records of the clients.
        #[serde(default)]
        clients: Vec<ClientMachineRecord>,
    },
    /// The target is about to be stopped.
    TargetStopped,
    /// Nodes are about to be restarted.
    NodesRestarting {
        /// Changes that the restart makes.
        #[serde(default)]
        what: String,
    },
    /// cassay checked whether the requested configuration is in effect.
    ConfigurationProved {
        /// Phase in which the check took place. After phase `load`, `nodes.json` proves the
        /// configuration of the measurement.
        #[serde(default)]
        phase: String,
        /// Settings with the value that each node reports.
        #[serde(default)]
        proofs: Vec<ProofRecord>,
    },
    /// cassay read a file of another tool. The text contains the number of series and points, or
    /// the reason why cassay could not read the file.
    Imported(String),
    /// The user's command at the end of the run has ended.
    EndCommand {
        /// Command line, which a shell ran.
        #[serde(default)]
        command: String,
        /// End of the output and of the errors of the command.
        #[serde(default)]
        output: String,
        /// Status or error of the command. Absent if it succeeded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<String>,
        /// Duration of the command, s.
        #[serde(default)]
        seconds: f64,
    },
    /// A trial begins.
    TrialStarted {
        /// Folder of the trial.
        #[serde(default)]
        slug: String,
    },
    /// A phase begins.
    PhaseStarted {
        /// Name of the phase.
        #[serde(default)]
        phase: String,
    },
    /// A fault is about to be injected.
    FaultInjecting {
        /// Kind of the fault.
        #[serde(default)]
        kind: String,
        /// Name of the node on which the fault is injected.
        #[serde(default)]
        place: String,
        /// Duration of the fault, s.
        #[serde(default)]
        seconds: f64,
    },
    /// A fault is about to be healed.
    FaultHealing {
        /// Kind of the fault.
        #[serde(default)]
        kind: String,
        /// Name of the node on which the fault is healed.
        #[serde(default)]
        place: String,
    },
    /// A trial has ended, and cassay has written its finding.
    TrialFinished {
        /// Verdict of the trial. `None` in records of earlier versions.
        #[serde(
            default,
            deserialize_with = "measure::word_or_none",
            skip_serializing_if = "Option::is_none"
        )]
        verdict: Option<Verdict>,
        /// Throughput of the trial.
        #[serde(default)]
        ops_per_s: f64,
        /// Checksum of `finding.json`. `None` in runs of versions that did not write checksums.
        #[serde(default)]
        finding: Option<FileSum>,
    },
    /// Files were added to a trial after its end.
    FilesAdded {
        /// Checksums of the added files.
        #[serde(default)]
        files: Sums,
    },
    /// cassay could not read files of the nodes when it stopped the target.
    FilesMissing {
        /// Folder of the trial that the files belong to.
        #[serde(default)]
        slug: String,
        /// Missing files, with the reasons.
        #[serde(default)]
        gaps: Vec<GapRecord>,
    },
    /// A trial failed.
    TrialFailed {
        /// Reason why the trial failed.
        #[serde(default)]
        reason: String,
    },
    /// cassay omitted a trial. The text is the reason.
    TrialSkipped(String),
    /// A resume skipped damaged lines of the journal.
    JournalDamaged {
        /// Numbers of the skipped lines, starting at 1.
        #[serde(default)]
        lines: Vec<usize>,
    },
    /// The user interrupted the run.
    RunInterrupted,
    /// The run has ended. cassay writes `findings.json` next.
    RunFinished {
        /// Verdict of the run. `None` in records of earlier versions.
        #[serde(
            default,
            deserialize_with = "measure::word_or_none",
            skip_serializing_if = "Option::is_none"
        )]
        verdict: Option<Verdict>,
        /// Reason why the run ended early.
        #[serde(default)]
        stopped: Option<String>,
        /// Checksum of `findings.json`, which cassay writes next. `None` in runs of versions
        /// without checksums.
        #[serde(default)]
        findings: Option<FileSum>,
    },
    /// An event that this version of cassay does not know, or a known event with details that this
    /// version does not know.
    #[serde(skip)]
    Unknown {
        /// Name of the event.
        event: String,
        /// Details of the event, as JSON text. `None` if the event has no details.
        detail: Option<String>,
    },
}

/// Facts about a machine that determine its performance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// Number of CPUs of the machine.
    #[serde(default)]
    pub cpus: usize,
    /// Model of the CPUs.
    #[serde(default)]
    pub cpu: Option<String>,
    /// Size of the memory as reported by the kernel.
    #[serde(default)]
    pub memory: Option<String>,
    /// Version of the kernel.
    #[serde(default)]
    pub kernel: Option<String>,
    /// Data rate of the machine's fastest network link, bit/s in each direction. Absent if the
    /// driver does not report a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_bits_per_s: Option<u64>,
}

impl MachineFacts {
    /// Returns the names of the facts, each with its value if known.
    pub fn facts(&self) -> [(&'static str, Option<String>); 4] {
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
    /// Returns the name of the event in the journal.
    pub fn name(&self) -> String {
        self.clone().into_parts().0
    }

    fn into_parts(self) -> (String, Option<Box<RawValue>>) {
        match self {
            JournalEvent::Unknown { event, detail } => {
                let detail = detail.map(RawValue::from_string);
                (event, detail.and_then(Result::ok))
            }
            known => {
                let tagged = json!(known);
                let name = tagged["event"].as_str().unwrap_or_default();
                let detail = tagged.get("detail").map(to_raw_value);
                (name.to_owned(), detail.and_then(Result::ok))
            }
        }
    }
}

/// A line of `journal.ndjson`. If a line announces a change, cassay writes the line before it makes
/// the change.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "RawRecord", into = "RawRecord")]
pub struct JournalRecord {
    /// Time of the event, ns since 1970.
    pub unix_ns: u64,
    /// Number of the trial that the event belongs to. `None` if the event belongs to the whole run.
    pub trial: Option<usize>,
    /// Event that the line records.
    pub event: JournalEvent,
}

/// A line in the form in which the file contains it.
#[derive(Serialize, Deserialize)]
struct RawRecord {
    unix_ns: u64,
    event: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trial: Option<usize>,
    /// Text and not a tree of values, because a tree needs many times the memory of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct NameAndDetail<'a, D> {
    event: &'a str,
    detail: D,
}

/// Parses the event `event` with the details `detail`. Returns `None` if this version does not know
/// the event, or the event does not have these details.
fn parse_event(event: &str, detail: impl Serialize) -> Option<JournalEvent> {
    let tagged = serde_json::to_string(&NameAndDetail { event, detail }).ok()?;
    serde_json::from_str(&tagged).ok()
}

impl From<RawRecord> for JournalRecord {
    fn from(raw: RawRecord) -> JournalRecord {
        let (event, detail) = (raw.event, raw.detail);
        // Lines of earlier versions have fewer or different details. Such a line still records the
        // same event, so it is read without details.
        let read = parse_event(&event, &detail).or_else(|| parse_event(&event, json!({})));
        JournalRecord {
            unix_ns: raw.unix_ns,
            trial: raw.trial,
            event: read.unwrap_or_else(|| {
                let detail = detail.map(|text| text.get().to_owned());
                JournalEvent::Unknown { event, detail }
            }),
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

/// Returns the trials that cassay omitted and has not run since. Maps the number of each trial to
/// the reason.
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

/// Describes the omitted trials in one line of text, such as `6 left out: the ladder ended at 8
/// threads`.
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

    /// In an earlier version, reports did not distinguish trials that a ladder skipped from trials
    /// that had yet to run.
    #[test]
    fn skipped_trials_are_reported_with_reasons_until_they_run() {
        let skipped = |why: &str| JournalEvent::TrialSkipped(why.to_owned());
        let started = JournalEvent::TrialStarted {
            slug: String::new(),
        };
        let events = [
            (0, started.clone()),
            (1, skipped("the ladder ended at 1 threads")),
            (2, skipped("the ladder ended at 1 threads")),
            (3, skipped("cassay could not start its target")),
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
            "3 left out: the ladder ended at 1 threads; cassay could not start its target"
        );
        // The resume starts the target of the run again.
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

    /// Early lines of format 1 had no details or different details.
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
