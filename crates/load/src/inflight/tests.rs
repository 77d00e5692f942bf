//! Tests the table of operations in flight against a model. The model is a map of the waiting
//! attempts in the order of sending.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const ONE: [Class; 1] = [class(0, NEVER_NS)];

const fn class(timeout_ns: u64, speculate_ns: u64) -> Class {
    Class {
        timeout_ns,
        speculate_ns,
    }
}

fn operation(number: u64) -> Operation {
    Operation {
        number,
        key: number,
        ..Operation::default()
    }
}

#[test]
fn an_answer_on_another_connection_finds_nothing() {
    let mut table = InFlight::new(4, &ONE);
    let id = table.insert(operation(1), 0, 0, 0, 0).unwrap() as i16;
    assert!(table.get(id, 1).is_none());
    assert!(table.get(-1, 0).is_none());
    assert!(table.get(99, 0).is_none());
    assert_eq!(table.get(id, 0).unwrap().operation.number, 1);
}

#[test]
fn a_timed_out_stream_is_not_used_again_before_its_answer() {
    let mut table = InFlight::new(1, &[class(5, NEVER_NS)]);
    let id = table.insert(operation(1), 0, 0, 0, 10).unwrap();
    assert!(table.expire(14).is_none());
    assert_eq!(table.expire(15).unwrap().1.operation.number, 1);
    assert!(!table.has_room());
    assert_eq!(table.get(id as i16, 0).unwrap().state, State::Orphaned);
    table.release(id);
    assert!(table.has_room());
    assert_eq!((table.waiting_count(), table.orphans_count()), (0, 0));
}

/// The client of another tool increased its stream ids without limit. The ids became negative, and
/// the server mistook them for its own stream ids.
#[test]
fn a_stream_id_is_never_negative_after_many_operations() {
    let mut table = InFlight::new(SLOTS_MAX, &ONE);
    let mut ids = std::collections::BTreeSet::new();
    while let Some(id) = table.insert(operation(0), 0, 0, 0, 0) {
        assert!(id as i16 >= 0 && ids.insert(id), "{id}");
    }
    assert_eq!(ids.len(), SLOTS_MAX);
    for number in 0..100_000u64 {
        table.release((number % SLOTS_MAX as u64) as u16);
        let id = table.insert(operation(number), 0, 0, 0, number).unwrap();
        assert!(id as i16 >= 0, "{id}");
    }
}

#[test]
fn each_class_has_its_own_time_out_and_its_own_delay() {
    let mut table = InFlight::new(8, &[class(100, NEVER_NS), class(10, 4)]);
    let slow = table.insert(operation(1), 0, 0, 0, 0).unwrap();
    let quick = table.insert(operation(2), 0, 1 | SPECIAL, 0, 1).unwrap();
    assert_eq!(table.wake_ns(), Some(5));
    assert_eq!(table.speculate(4), None);
    assert_eq!(table.speculate(5), Some(quick));
    assert_eq!(table.speculate(1000), None, "each comes once");
    assert_eq!(table.wake_ns(), Some(11));
    assert!(table.expire(10).is_none());
    assert_eq!(table.expire(11).map(|(id, _)| id), Some(quick));
    assert_eq!(table.wake_ns(), Some(100));
    assert_eq!(table.expire(100).map(|(id, _)| id), Some(slow));
    assert_eq!(table.wake_ns(), None);
}

#[test]
fn a_request_sent_on_the_same_stream_has_its_whole_time_again() {
    let mut table = InFlight::new(8, &[class(10, 4)]);
    let first = table.insert(operation(1), 0, SPECIAL, 0, 0).unwrap();
    let second = table.insert(operation(2), 0, SPECIAL, 0, 1).unwrap();
    assert_eq!(table.speculate(4), Some(first));
    table.resend(first, 8);
    assert_eq!(table.speculate(100), Some(second));
    assert_eq!(
        table.speculate(100),
        Some(first),
        "it may wait too long again"
    );
    assert_eq!(table.expire(11).map(|(id, _)| id), Some(second));
    assert!(table.expire(17).is_none());
    assert_eq!(table.expire(18).map(|(id, _)| id), Some(first));
}

/// The model. The keys are the send time and the id of each waiting slot.
type Waiting = BTreeMap<(u64, u16), (u8, u16)>;

proptest! {
    #[test]
    fn the_table_agrees_with_a_model(
        steps in prop::collection::vec((0u8..5, 0u16..8), 1..300),
    ) {
        let timeouts = [3, 7];
        let mut table = InFlight::new(8, &timeouts.map(|ns| class(ns, NEVER_NS)));
        let mut waiting = Waiting::new();
        let mut orphans: Vec<(u16, u16)> = Vec::new();
        for (time, (action, pick)) in steps.into_iter().enumerate() {
            let time = time as u64;
            let picked = waiting.iter().nth(usize::from(pick) % waiting.len().max(1))
                .map(|(&key, &value)| (key, value));
            match action {
                0 => {
                    let (connection, class) = (pick % 2, (pick / 2 % 2) as u8);
                    match table.insert(operation(time), connection, class, time, time) {
                        Some(id) => { waiting.insert((time, id), (class, connection)); }
                        None => prop_assert_eq!(waiting.len() + orphans.len(), 8),
                    }
                }
                1 => if let Some(((sent, id), (_, connection))) = picked {
                    prop_assert_eq!(table.get(id as i16, connection).unwrap().sent_ns, sent);
                    table.release(id);
                    waiting.remove(&(sent, id));
                },
                2 => {
                    let due = |(&(sent, id), &(class, _)): (&(u64, u16), &(u8, u16))| {
                        (sent + timeouts[usize::from(class)], (sent, id))
                    };
                    let first = waiting.iter().map(due).min().map(|(at, _)| at);
                    prop_assert_eq!(table.wake_ns(), first);
                    while let Some((id, slot)) = table.expire(time) {
                        let (class, connection) = waiting.remove(&(slot.sent_ns, id)).unwrap();
                        prop_assert!(slot.sent_ns + timeouts[usize::from(class)] <= time);
                        orphans.push((id, connection));
                    }
                    prop_assert!(waiting.iter().map(due).all(|(at, _)| at > time));
                }
                3 => if let Some(((sent, id), place)) = picked {
                    table.resend(id, time);
                    waiting.remove(&(sent, id));
                    waiting.insert((time, id), place);
                },
                _ => {
                    let connection = pick % 2;
                    let mut lost = Vec::new();
                    let mut next = 0;
                    while let Some((id, slot)) = table.drop_next(connection, next) {
                        next = id + 1;
                        lost.push((slot.sent_ns, id));
                    }
                    lost.sort_unstable();
                    let expected: Vec<(u64, u16)> = waiting.iter()
                        .filter(|(_, at)| at.1 == connection).map(|(&key, _)| key).collect();
                    prop_assert_eq!(lost, expected);
                    waiting.retain(|_, at| at.1 != connection);
                    orphans.retain(|at| at.1 != connection);
                }
            }
            prop_assert_eq!(table.waiting_count() as usize, waiting.len());
            prop_assert_eq!(table.orphans_count() as usize, orphans.len());
        }
    }
}
