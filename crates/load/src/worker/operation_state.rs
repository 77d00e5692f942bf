//! State of an operation with more than one request and response: its page, its part, its attempt,
//! and the other waiting attempt.
//!
//! Each slot has a state, in a separate array, so that plain operations never access it.

use crate::inflight::{NONE, Slot};

/// Maximum number of successive pages without a row. Cassandra ends a page early if a filter or
/// tombstones take too much time, but this never happens for this number of successive pages.
const EMPTY_PAGES_MAX: u32 = 1_000;
/// Expected maximum size of a paging state, in bytes. A paging state of Cassandra contains the
/// partition key, the clustering of the last row and a few counters.
const PAGING_STATE_BYTES_USUAL: usize = 256;
/// Maximum number of pages of one operation. A result with more pages counts as endless.
const PAGES_MAX: u32 = 10_000_000;

/// State of the operation in a slot.
#[derive(Debug)]
pub(crate) struct OperationState {
    /// Send time of the operation's first request, in ns.
    pub first_sent_ns: u64,
    /// Due time of the current part, in ns. The first part is due at the same time as the
    /// operation.
    pub part_due_ns: u64,
    /// Send time of the first request of the current part, in ns.
    pub part_sent_ns: u64,
    /// Timestamp that the client sets for the write, in µs since 1970. All attempts have the same
    /// timestamp, so that they count as one write.
    pub timestamp_us: i64,
    /// Number of rows that the current part has read.
    rows: u64,
    pages: u32,
    empty_pages: u32,
    /// Paging state of the most recently requested page. The paging state is empty for the first
    /// page.
    pub paging_state: Vec<u8>,
    /// Number of retries that the whole operation has used.
    pub retries: u8,
    /// True if the operation had more than one attempt.
    pub is_repeated: bool,
    /// True if the operation had a speculative attempt.
    pub is_speculated: bool,
    /// Slot of the operation's other waiting attempt, or [`NONE`].
    pub twin: u16,
    /// True if this attempt is the speculative attempt of the operation.
    pub speculative: bool,
    /// Statement that the client is preparing again.
    pub preparing: u16,
    /// Number of tables that the request writes. The server counts the request once for each table.
    pub tables: u8,
    pub statements: u16,
}

impl Default for OperationState {
    fn default() -> OperationState {
        OperationState {
            first_sent_ns: 0,
            part_due_ns: 0,
            part_sent_ns: 0,
            timestamp_us: 0,
            rows: 0,
            pages: 0,
            empty_pages: 0,
            paging_state: Vec::new(),
            retries: 0,
            is_repeated: false,
            is_speculated: false,
            twin: NONE,
            speculative: false,
            preparing: 0,
            tables: 1,
            statements: 1,
        }
    }
}

/// Due times and first send times of an operation and of its current part, with facts about its
/// attempts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StartTimes {
    pub intended_ns: u64,
    /// Send time of the first request, in ns. `None` if the client did not send a request.
    pub sent_ns: Option<u64>,
    pub part_due_ns: u64,
    part_sent_ns: u64,
    pub connection: u16,
    pub retries: u8,
    pub is_speculated: bool,
}

impl StartTimes {
    /// Returns the times of an operation that consists of one request.
    pub fn once(slot: &Slot) -> StartTimes {
        StartTimes {
            intended_ns: slot.intended_ns,
            sent_ns: Some(slot.sent_ns),
            part_due_ns: slot.intended_ns,
            part_sent_ns: slot.sent_ns,
            connection: slot.connection,
            retries: 0,
            is_speculated: false,
        }
    }

    /// Returns the send time of the part. Returns `None` if the client did not send any request of
    /// the operation.
    pub fn part_sent_ns(&self) -> Option<u64> {
        self.sent_ns.map(|_| self.part_sent_ns)
    }
}

/// Continuation of an operation after a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The operation ends, because this was the last page, or because the operation requests no
    /// further pages.
    Last,
    /// The operation reads the next page, which begins at [`OperationState::paging_state`].
    Next,
    /// The operation fails, because the pages would never end.
    Endless(Endless),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Endless {
    #[error("page {0} names itself as the next page")]
    SamePage(u32),
    #[error("the node returned {EMPTY_PAGES_MAX} pages without a row, one after another")]
    Empty,
    #[error("the result has more than {PAGES_MAX} pages; set a page limit")]
    TooMany,
}

impl OperationState {
    /// Creates an empty state. If `has_pages` is true, the state has memory for a paging state of
    /// ordinary length.
    pub fn with_room(has_pages: bool) -> OperationState {
        let bytes = if has_pages {
            PAGING_STATE_BYTES_USUAL
        } else {
            0
        };
        OperationState {
            paging_state: Vec::with_capacity(bytes),
            ..OperationState::default()
        }
    }

    /// Copies another state into this state, and reuses the memory of this state.
    pub fn copy_from(&mut self, other: &OperationState) {
        let mut paging_state = std::mem::take(&mut self.paging_state);
        paging_state.clear();
        paging_state.extend_from_slice(&other.paging_state);
        *self = OperationState {
            paging_state,
            ..*other
        };
    }

    /// Begins an operation that was due at `due_ns`. The worker sends the operation for the first
    /// time at `now_ns`.
    pub fn begin(&mut self, due_ns: u64, now_ns: u64, timestamp_us: i64) {
        let mut paging_state = std::mem::take(&mut self.paging_state);
        paging_state.clear();
        *self = OperationState {
            first_sent_ns: now_ns,
            part_due_ns: due_ns,
            part_sent_ns: now_ns,
            timestamp_us,
            paging_state,
            ..OperationState::default()
        };
    }

    /// Begins the next part of an operation, after the response to the previous statement. The part
    /// is due now, and the worker sends it at once.
    pub fn begin_part(&mut self, now_ns: u64) {
        self.part_due_ns = now_ns;
        self.part_sent_ns = now_ns;
        self.rows = 0;
        self.pages = 0;
        self.empty_pages = 0;
        self.paging_state.clear();
    }

    /// Returns the start times of the operation, which was due at `intended_ns`. `connection` is
    /// the connection of its last attempt.
    pub fn begun(&self, intended_ns: u64, connection: u16) -> StartTimes {
        StartTimes {
            intended_ns,
            sent_ns: Some(self.first_sent_ns),
            part_due_ns: self.part_due_ns,
            part_sent_ns: self.part_sent_ns,
            connection,
            retries: self.retries,
            is_speculated: self.is_speculated,
        }
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Records a page of `rows_count` rows, and returns the continuation of the operation. `next`
    /// is the paging state of the next page.
    pub fn turn(&mut self, rows_count: u64, next: Option<&[u8]>, pages_max: u32) -> Turn {
        self.rows += rows_count;
        self.pages += 1;
        let Some(next) = next.filter(|_| self.pages < pages_max) else {
            return Turn::Last;
        };
        self.empty_pages = match rows_count {
            0 => self.empty_pages + 1,
            _ => 0,
        };
        if next == self.paging_state {
            return Turn::Endless(Endless::SamePage(self.pages));
        }
        if self.empty_pages >= EMPTY_PAGES_MAX {
            return Turn::Endless(Endless::Empty);
        }
        if self.pages >= PAGES_MAX {
            return Turn::Endless(Endless::TooMany);
        }
        self.paging_state.clear();
        self.paging_state.extend_from_slice(next);
        Turn::Next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun() -> OperationState {
        let mut course = OperationState::default();
        course.begin(1, 2, 3);
        course
    }

    #[test]
    fn pages_end_with_the_last_one_or_the_last_one_wanted() {
        let mut course = begun();
        assert_eq!(course.turn(10, Some(b"a"), u32::MAX), Turn::Next);
        assert_eq!(course.paging_state, b"a");
        assert_eq!(course.turn(10, Some(b"b"), u32::MAX), Turn::Next);
        assert_eq!(course.turn(3, None, u32::MAX), Turn::Last);
        assert_eq!(course.rows(), 23);
        let mut course = begun();
        assert_eq!(course.turn(10, Some(b"a"), 2), Turn::Next);
        assert_eq!(course.turn(10, Some(b"b"), 2), Turn::Last);
        course.begin_part(9);
        assert_eq!((course.rows(), course.paging_state.len()), (0, 0));
    }

    /// The client of another tool looped forever when a server or proxy repeated the same paging
    /// state.
    #[test]
    fn pages_that_go_round_in_circles_or_never_end_are_an_error() {
        let endless = |turn: Turn| matches!(turn, Turn::Endless(_));
        let mut same = begun();
        assert_eq!(same.turn(5, Some(b"a"), u32::MAX), Turn::Next);
        assert!(endless(same.turn(5, Some(b"a"), u32::MAX)));
        assert!(
            endless(begun().turn(0, Some(b""), u32::MAX)),
            "the first page again"
        );

        let mut empty = begun();
        let mut state = 0u32;
        let mut next = |course: &mut OperationState, rows: u64| {
            state += 1;
            course.turn(rows, Some(&state.to_be_bytes()), u32::MAX)
        };
        for _ in 1..EMPTY_PAGES_MAX {
            assert_eq!(next(&mut empty, 0), Turn::Next);
        }
        assert_eq!(
            next(&mut empty, 1),
            Turn::Next,
            "a row begins the count again"
        );
        for _ in 1..EMPTY_PAGES_MAX {
            assert_eq!(next(&mut empty, 0), Turn::Next);
        }
        assert!(endless(next(&mut empty, 0)));

        let mut many = begun();
        many.pages = PAGES_MAX - 2;
        assert_eq!(next(&mut many, 1), Turn::Next);
        assert!(endless(next(&mut many, 1)));
    }
}
