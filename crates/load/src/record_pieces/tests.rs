//! Tests that the joined records of several clients equal the records of a single client.

use super::*;
use crate::ledger::{LedgerPart, Numbers, WriteState};
use crate::register_history::HistoryPart;
use proptest::prelude::*;

const START_NS: u64 = 5_000_000_000;

/// Returns the summary of one client. The client runs the workers `own` of the `workers` workers of
/// the run.
fn summary(first: u64, workers: u64, own: std::ops::Range<u64>, writes: &[(u64, u64)]) -> Summary {
    let part = |worker| {
        let mut part = LedgerPart::new(first + worker, workers, 1 << 20, 1).timed(1 << 20, 1);
        part.start(START_NS);
        part
    };
    let room = crate::register_history::HISTORY_OPERATIONS_MAX / workers;
    let mut ledgers: Vec<LedgerPart> = own.clone().map(part).collect();
    let mut histories: Vec<HistoryPart> = own
        .clone()
        .map(|worker| HistoryPart::new(first + worker, workers, room))
        .collect();
    for (index, took_ns) in writes {
        let Some(at) = (index % workers).checked_sub(own.start) else {
            continue;
        };
        let Some(part) = ledgers.get_mut(at as usize) else {
            continue;
        };
        let (number, sent_ns) = (first + index, START_NS + index * 1_000_000);
        part.set(number, WriteState::Acknowledged);
        part.sent(number, sent_ns);
        part.acknowledged(number, sent_ns + took_ns);
        histories[at as usize].sent(number, sent_ns);
    }
    let numbers = Numbers {
        first,
        step: workers,
        before: own.start,
    };
    Summary {
        start_ns: START_NS,
        operations_sent: 0,
        operations_ended: 0,
        next_operation: first,
        workers: own.count(),
        realtime: false,
        connections: 0,
        first_errors: Vec::new(),
        missed_rows: Vec::new(),
        failures: Vec::new(),
        slowest: Vec::new(),
        ledger: Some(Arc::new(Ledger::new(numbers, ledgers))),
        history: Some(Arc::new(History::new(histories))),
    }
}

proptest! {
    #[test]
    fn the_pieces_of_all_clients_are_the_ledger_of_one(
        first in 0u64..50,
        clients in prop::collection::vec(1u64..4, 1..4),
        writes in prop::collection::btree_map(0u64..5_000, 1u64..1 << 30, 1..60),
        bytes_max in prop::sample::select(vec![64usize, 4096, 1 << 18]),
    ) {
        let writes: Vec<(u64, u64)> = writes.into_iter().collect();
        let workers = clients.iter().sum();
        let all = ClientRecords { first, workers, start_ns: START_NS, keeps: LedgerMode::History };
        let mut kept = KeptRecords::new(all);
        let mut before = 0;
        for own in clients {
            let client = summary(first, workers, before..before + own, &writes);
            before += own;
            for piece in client.pieces(bytes_max) {
                prop_assert!(piece.bytes.len() <= bytes_max.max(64));
                prop_assert_eq!(kept.add(&piece, ClockConversion::default()), Some(()));
            }
        }
        let one = summary(first, workers, 0..workers, &writes);
        let (ledger, history) = kept.finish();
        let (ledger, expected) = (ledger.unwrap(), one.ledger.unwrap());
        for number in 0..first + 5_100 {
            prop_assert_eq!(ledger.state(number), expected.state(number));
            prop_assert_eq!(ledger.sent_after_ns(number), expected.sent_after_ns(number));
            prop_assert_eq!(ledger.done_before_ns(number), expected.done_before_ns(number));
        }
        let operations = |history: &History| history.operations().collect::<Vec<_>>();
        prop_assert_eq!(operations(&history.unwrap()), operations(&one.history.unwrap()));
    }
}

#[test]
fn times_of_another_clock_are_widened_by_its_uncertainty() {
    let time = ClockConversion {
        ahead_ns: 1_000_000,
        bound_ns: 50,
    };
    assert_eq!(
        (time.before(3_000_000), time.after(3_000_000)),
        (1_999_950, 2_000_050)
    );
    assert_eq!((time.before(0), time.after(0)), (0, 0));
    assert_eq!(time.before(10), 1, "and never none");
}

#[test]
fn a_piece_that_belongs_nowhere_is_refused() {
    let all = ClientRecords {
        first: 10,
        workers: 2,
        start_ns: 0,
        keeps: LedgerMode::Times,
    };
    let mut kept = KeptRecords::new(all);
    let piece = |what, first, chunk, at, length| RecordPiece {
        what,
        first,
        chunk,
        at,
        bytes: vec![1; length],
    };
    for wrong in [
        piece(RecordKind::States, 9, 0, 0, 8),
        piece(RecordKind::States, 12, 0, 0, 8),
        piece(RecordKind::States, 10, usize::MAX, 0, 8),
        piece(RecordKind::States, 10, 0, 1 << 20, 8),
        piece(RecordKind::States, 10, 0, usize::MAX, 8),
        piece(RecordKind::Times, 10, 0, 4, 8),
        piece(RecordKind::Times, 10, 0, 0, 7),
        piece(RecordKind::Times, 10, 1 << 40, 0, 8),
        piece(RecordKind::Operations, 10, 0, 0, 25),
    ] {
        assert_eq!(
            kept.add(&wrong, ClockConversion::default()),
            None,
            "{wrong:?}"
        );
    }
    assert_eq!(
        kept.add(
            &piece(RecordKind::Times, 11, 0, 8, 8),
            ClockConversion::default()
        ),
        Some(())
    );
}
