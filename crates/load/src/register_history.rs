//! Records each request to a register and its response, for a linearizability check.
//!
//! The request of an operation follows from the operation's number, so the history records only the
//! times and the response, in 32 bytes per operation. Each worker writes a separate part, which is
//! fully allocated before the start line. Invariants: the history contains each operation that was
//! sent. An operation whose outcome is unknown has no end. If the history is full, it contains all
//! operations that were sent before a reported time.

mod pieces;

use cql::response::RawRows;

/// Maximum number of operations in a history, over all workers. The operations take 32 MiB.
pub const HISTORY_OPERATIONS_MAX: u64 = 1 << 20;

/// Times and response of an operation on a register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegisterResult {
    /// Send time on the monotonic clock, in ns.
    pub sent_ns: u64,
    /// Time of the response on the monotonic clock, in ns. `None` if the outcome is unknown.
    pub answered_ns: Option<u64>,
    /// True if the condition of the operation held, and false if it did not. `None` if the
    /// operation was unconditional.
    pub applied: Option<bool>,
    /// Number in the register, if the response contains it.
    pub found: Option<i64>,
}

/// Form in which the history stores an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct StoredEvent {
    /// Send time, in ns. It is 0 if the operation was not sent.
    sent_ns: u64,
    /// Time of the response, in ns. It is 0 if the outcome is unknown.
    answered_ns: u64,
    found: i64,
    has_found: bool,
    /// State of the condition: 0 if the operation has no condition, 1 if the condition did not
    /// hold, and 2 if it held.
    applied: u8,
}

/// History of one worker. Entry `k` of the history belongs to operation `first + k * step`.
#[derive(Debug, Default)]
pub(crate) struct HistoryPart {
    first: u64,
    step: u64,
    kept: Vec<StoredEvent>,
    /// Send time of the first operation that did not fit into the history, in ns. It is 0 if all
    /// operations fit.
    full_ns: u64,
    beyond: u64,
}

impl HistoryPart {
    /// Creates an empty part with memory for at most `operations_max` operations.
    pub fn new(first: u64, step: u64, operations_max: u64) -> HistoryPart {
        HistoryPart {
            first,
            step: step.max(1),
            kept: vec![StoredEvent::default(); operations_max as usize],
            ..HistoryPart::default()
        }
    }

    /// Records the first send of the operation with this number. The operation must belong to this
    /// worker.
    pub fn sent(&mut self, number: u64, now_ns: u64) {
        let index = (number - self.first) / self.step;
        match self.kept.get_mut(index as usize) {
            Some(kept) => {
                *kept = StoredEvent {
                    sent_ns: now_ns,
                    ..StoredEvent::default()
                };
            }
            None => {
                self.beyond += 1;
                if self.full_ns == 0 {
                    self.full_ns = now_ns;
                }
            }
        }
    }

    /// Records the response to operation `number`. If the response to a conditional operation does
    /// not show whether the condition held, the outcome remains unknown.
    pub fn answered(&mut self, number: u64, rows: &RawRows, is_conditional: bool, now_ns: u64) {
        let index = (number - self.first) / self.step;
        let Some(kept) = self.kept.get_mut(index as usize) else {
            return;
        };
        let applied = is_conditional.then(|| rows.applied()).flatten();
        // If the condition held, the response does not contain a value. If the condition did not
        // hold, the response contains the current value.
        let found = match (is_conditional, applied) {
            (true, Some(true)) => None,
            (true, None) => return,
            (true, Some(false)) => number_at(rows, 1),
            (false, _) => number_at(rows, 0),
        };
        kept.answered_ns = now_ns;
        kept.applied = applied.map_or(0, |applied| 1 + u8::from(applied));
        (kept.has_found, kept.found) = (found.is_some(), found.unwrap_or(0));
    }
}

/// Returns the number in a cell of the first row.
fn number_at(rows: &RawRows, cell: usize) -> Option<i64> {
    let row = rows.rows().next()?.ok()?;
    let bytes = row.cells().nth(cell)??;
    Some(i64::from_be_bytes(bytes.try_into().ok()?))
}

/// History of a whole run.
#[derive(Debug, Default)]
pub struct History {
    parts: Vec<HistoryPart>,
}

impl History {
    pub(crate) fn new(parts: Vec<HistoryPart>) -> History {
        History { parts }
    }

    /// Returns the operations that were sent before [`History::until_ns`], ordered by number. An
    /// operation whose response came later than this time has no end, because operations that are
    /// not in the history may have affected the response.
    pub fn operations(&self) -> impl Iterator<Item = (u64, RegisterResult)> {
        let until_ns = self.until_ns().unwrap_or(u64::MAX);
        let length = self.parts.iter().map(|part| part.kept.len()).max();
        // Each round takes one operation from every worker, so the numbers ascend.
        (0..length.unwrap_or(0)).flat_map(move |round| {
            self.parts.iter().filter_map(move |part| {
                let kept = part.kept.get(round)?;
                let number = part.first + round as u64 * part.step;
                let is_there = (1..until_ns).contains(&kept.sent_ns);
                is_there.then(|| (number, kept.happened(until_ns)))
            })
        })
    }

    /// Returns the send time of the first operation that did not fit into a worker's part. Returns
    /// `None` if the history contains all operations.
    pub fn until_ns(&self) -> Option<u64> {
        let full = self.parts.iter().map(|part| part.full_ns);
        full.filter(|ns| *ns > 0).min()
    }

    /// Returns the number of operations that did not fit into the history.
    pub fn beyond(&self) -> u64 {
        self.parts.iter().map(|part| part.beyond).sum()
    }
}

impl StoredEvent {
    fn happened(&self, until_ns: u64) -> RegisterResult {
        let answered = Some(self.answered_ns).filter(|ns| (1..until_ns).contains(ns));
        RegisterResult {
            sent_ns: self.sent_ns,
            answered_ns: answered,
            applied: answered.and(match self.applied {
                0 => None,
                said => Some(said == 2),
            }),
            found: answered.and(self.has_found.then_some(self.found)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the body of a result of one row, without metadata.
    fn body(cells: &[&[u8]]) -> Vec<u8> {
        let mut body = Vec::new();
        for number in [2, 4, cells.len() as i32, 1] {
            body.extend_from_slice(&number.to_be_bytes());
        }
        for cell in cells {
            cql::template::append_value(&mut body, cell);
        }
        body
    }

    #[test]
    fn an_answer_says_what_it_found_and_whether_a_condition_held() {
        let number = 5_i64.to_be_bytes();
        // Each case has the cells of the row, and states whether the operation is conditional. The
        // expected result states whether the operation has an end and whether it was applied, and
        // contains the number found.
        for (cells, is_conditional, expected) in [
            (vec![&number[..]], false, (true, None, Some(5))),
            (vec![&[1]], true, (true, Some(true), None)),
            (vec![&[0], &number[..]], true, (true, Some(false), Some(5))),
            (vec![&[0]], true, (true, Some(false), None)),
            // The response does not show whether the condition held, so the outcome is unknown.
            (vec![&number[..]], true, (false, None, None)),
        ] {
            let mut part = HistoryPart::new(3, 1, 1);
            part.sent(3, 10);
            let body = body(&cells);
            let rows = RawRows::parse(&body).expect("the body is well-formed");
            part.answered(3, &rows, is_conditional, 20);
            let history = History::new(vec![part]);
            let (number, happened) = history.operations().next().expect("it was sent");
            let found = (
                happened.answered_ns.is_some(),
                happened.applied,
                happened.found,
            );
            assert_eq!((number, found), (3, expected), "{cells:?}");
        }
    }

    #[test]
    fn operations_after_a_worker_is_full_are_left_out_on_all() {
        let mut parts = vec![HistoryPart::new(10, 2, 8), HistoryPart::new(11, 2, 1)];
        // Operations 10, 12 and 14 are sent at 100, 300 and 500, and operation 11 is sent at 200.
        // Operation 13, sent at 400, does not fit into the history.
        for (number, sent_ns) in [(10, 100), (12, 300), (14, 500)] {
            parts[0].sent(number, sent_ns);
        }
        parts[1].sent(11, 200);
        parts[1].sent(13, 400);
        for (part, index, answered_ns) in [(0, 0, 150), (0, 1, 450), (1, 0, 250)] {
            parts[part].kept[index].answered_ns = answered_ns;
        }
        let history = History::new(parts);
        assert_eq!((history.until_ns(), history.beyond()), (Some(400), 1));
        let found: Vec<_> = history
            .operations()
            .map(|(number, happened)| (number, happened.sent_ns, happened.answered_ns))
            .collect();
        // Operation 12 has no end, because operation 13, which is not in the history, may have
        // affected its response.
        assert_eq!(
            found,
            [(10, 100, Some(150)), (11, 200, Some(250)), (12, 300, None)]
        );
    }
}
