//! The events during which the slowest operations of a trial waited. The records belong to
//! [`crate::record`].

use analysis::VariantName;
use analysis::procedure::Point;
use serde::{Deserialize, Serialize};

measure::word_enum! {
    /// Kind of an event that may explain slow operations.
    #[derive(Default, PartialOrd, Ord)]
    pub enum TailEventKind {
        /// Pauses of all threads of a node by its garbage collector.
        #[default]
        Collection = "collection",
        /// Waits of threads of a node for memory that its garbage collector had not freed yet.
        AllocationStall = "allocation_stall",
        /// Injected faults and tasks, from the injection to the healing.
        Fault = "fault",
        /// Retries of the operation itself, after a failed attempt.
        Retry = "retry",
        /// Speculative attempts of the operation itself.
        Speculation = "speculation",
    }
}

/// Events of one kind at one place, and the slowest operations that spent at least half of their
/// time in them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TailEventsRecord {
    /// Kind of the events.
    #[serde(deserialize_with = "measure::word_or_default")]
    pub kind: TailEventKind,
    /// Node or other place of the events. Empty for retries and speculative attempts.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// Kind of the fault, such as `node-pause`. Empty for other events.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fault: String,
    /// Number of slow operations that spent at least half of their time in the events. For retries
    /// and speculative attempts, the number of slow operations that had any.
    pub matched: usize,
    /// Number of matched operations that the client sent to the place of the events.
    pub sent_there: usize,
    /// Number of events with a matched operation.
    pub events: usize,
    /// Number of events in the window.
    pub events_in_window: usize,
    /// Share of the window that the events cover. For retries and speculative attempts, the share
    /// of all operations that had any.
    pub covered: f64,
    /// Number of matched operations to be expected if the events had occurred at other times.
    pub expected: f64,
    /// Probability of at least as many matched operations if the events had occurred at other
    /// times.
    pub chance: f64,
    /// True if there are significantly more matched operations than expected by chance, so that
    /// these events explain them.
    pub explains: bool,
}

impl TailEventsRecord {
    /// Returns the name of one of the events, such as `garbage collection` or `fault node-pause`.
    pub fn event_name(&self) -> String {
        match self.kind {
            TailEventKind::Collection => "garbage collection".to_owned(),
            TailEventKind::AllocationStall => "allocation stall".to_owned(),
            TailEventKind::Fault => format!("fault {}", self.fault),
            TailEventKind::Retry => "retry".to_owned(),
            TailEventKind::Speculation => "speculative attempt".to_owned(),
        }
    }
}

/// The slowest operations of a trial, matched with events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TailRecord {
    /// Number of the trial.
    pub trial: usize,
    /// Name of the variant.
    pub variant: VariantName,
    /// Load of the trial.
    #[serde(with = "crate::point")]
    pub point: Option<Point>,
    /// Number of slow operations, at most 100.
    pub operations: usize,
    /// Latency of the fastest of these operations, ms.
    pub from_ms: f64,
    /// Number of these operations that events explain. An operation that several events explain
    /// counts once.
    pub explained: usize,
    /// Events that matched at least one operation. The events that explain most operations come
    /// first.
    pub events: Vec<TailEventsRecord>,
    /// Kinds of events that cassay did not observe in the trial.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unobserved: Vec<TailEventKind>,
    /// Sentence about these operations.
    pub says: String,
}

impl TailRecord {
    /// Returns true if events explain at least half of the slowest operations.
    pub fn is_explained(&self) -> bool {
        self.operations > 0 && 2 * self.explained >= self.operations
    }
}
