//! `slowest.json`: the slowest operations of a trial's measured window.
//!
//! Each operation has its times on two clocks. The seconds count from the trial's start line, like
//! the seconds of all other records. So a reader can match operations with events of nodes.
//! With the time since 1970, a reader can find an operation in the logs of the nodes.

use crate::file;
use crate::record::FORMAT;
use crate::run::{Trial, read_json};
use crate::trial::TrialWriter;
use crate::write::write_json;
use anyhow::Result;
use serde::{Deserialize, Serialize};

/// One of the slowest operations of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SlowOperationRecord {
    /// Number of the operation, which determines its values.
    pub number: u64,
    /// Kind of the operation, such as `read`.
    pub kind: String,
    /// Node to which the client sent the operation last. Absent if the client did not send it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Time at which the operation was due, s since the trial's start line.
    pub due_s: f64,
    /// Time at which the client sent the first request, s since the trial's start line. Absent if
    /// the client did not send any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent_s: Option<f64>,
    /// Time at which the operation ended for the client, s since the trial's start line.
    pub end_s: f64,
    /// Time at which the operation was due, ns since 1970 on the clock of the controller.
    pub due_unix_ns: u64,
    /// Latency from the due time to the end, ms.
    pub latency_ms: f64,
    /// True if the latency is a lower bound, because the client does not know when the target ended
    /// the operation.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// Outcome of the operation, such as `ok` or `client_timeout`. It is `never_sent` if the
    /// operation was due in the window and still waited when the drain ended.
    pub outcome: String,
    /// Number of retries after failed attempts.
    #[serde(skip_serializing_if = "is_none")]
    pub retries: u8,
    /// True if the client sent a speculative attempt in parallel.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub speculated: bool,
}

fn is_none(count: &u8) -> bool {
    *count == 0
}

/// The slowest operations of a trial, in `slowest.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct SlowestRecord {
    format: u32,
    operations: Vec<SlowOperationRecord>,
}

impl TrialWriter {
    /// Writes the slowest operations of the measured window, slowest first. Call this function
    /// before the trial ends, so that the file receives a checksum.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_slowest(&self, operations: Vec<SlowOperationRecord>) -> Result<()> {
        let record = SlowestRecord {
            format: FORMAT,
            operations,
        };
        write_json(&self.path().join(file::SLOWEST), &record).map(|_| ())
    }
}

impl Trial {
    /// Returns the slowest operations of the measured window, slowest first. The list is empty in
    /// runs of earlier versions.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn slowest(&self) -> Result<Vec<SlowOperationRecord>> {
        let path = self.path.join(file::SLOWEST);
        if !path.exists() {
            return Ok(Vec::new());
        }
        Ok(read_json::<SlowestRecord>(&path)?.operations)
    }
}
