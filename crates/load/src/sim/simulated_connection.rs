//! A simulated connection, and the responses in transit on it.

use super::server::Reply;
use crate::worker_io::Watch;
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub struct Wire {
    pub is_open: bool,
    pub watch: Option<Watch>,
    /// Time from which on the worker and the server cannot reach each other. The flag is true if
    /// the worker can still read data that arrived earlier.
    pub ends: Option<(u64, bool)>,
    pub blocked_until_ns: u64,
    /// Iteration of the worker in which the socket was full.
    pub blocked_in: u64,
    /// Bytes from the worker that do not form a complete request yet.
    pub asked: Vec<u8>,
    pub answers: VecDeque<Arrival>,
    /// Time until which the server does not answer, in ns of the simulated clock.
    pub stalled_until_ns: u64,
    /// Arrival time of the last response in the most recent read.
    pub arrived_ns: Option<u64>,
}

/// Response in transit.
#[derive(Debug)]
pub struct Arrival {
    pub at_ns: u64,
    pub bytes: Vec<u8>,
    pub read: usize,
    pub stream: i16,
    pub reply: Reply,
}

/// Returns the arrival time of the last response from which a read of `bytes` bytes takes data.
pub fn last_of(answers: &VecDeque<Arrival>, bytes: usize, now_ns: u64) -> Option<u64> {
    let mut left = bytes;
    let come = answers.iter().take_while(|answer| answer.at_ns <= now_ns);
    let taken = come.take_while(|answer| {
        let had = left;
        left = left.saturating_sub(answer.bytes.len() - answer.read);
        had > 0
    });
    taken.last().map(|answer| answer.at_ns)
}
