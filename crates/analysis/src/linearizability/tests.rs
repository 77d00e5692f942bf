//! Tests the search with planted violations and legal histories, and compares it with an exhaustive
//! search.

use super::*;
use proptest::prelude::*;

const STATES: u64 = 1_000_000;

fn operation(what: RegisterEvent, invoked_ns: u64, returned_ns: u64) -> Operation {
    Operation {
        invoked_ns,
        returned_ns: Some(returned_ns),
        what,
    }
}

fn read(value: i64, invoked_ns: u64, returned_ns: u64) -> Operation {
    operation(RegisterEvent::Read(Some(value)), invoked_ns, returned_ns)
}

fn write(value: i64, invoked_ns: u64, returned_ns: u64) -> Operation {
    operation(RegisterEvent::Write(Some(value)), invoked_ns, returned_ns)
}

fn swap((from, to): (i64, i64), applied: bool, (invoked_ns, returned_ns): (u64, u64)) -> Operation {
    let what = RegisterEvent::Swap {
        from: Some(from),
        to: Some(to),
        applied,
        instead: None,
    };
    operation(what, invoked_ns, returned_ns)
}

fn unknown(operation: Operation) -> Operation {
    Operation {
        returned_ns: None,
        ..operation
    }
}

/// Every register initially contains 0.
#[test]
fn planted_violations_are_found_and_legal_histories_pass() {
    let legal: [(&str, Vec<Operation>); 6] = [
        ("nothing", vec![]),
        ("one after the other", vec![write(1, 0, 1), read(1, 2, 3)]),
        (
            "a read beside a write sees the one or the other",
            vec![write(1, 0, 10), read(0, 1, 2), read(1, 3, 4)],
        ),
        (
            "a write of unknown outcome is seen late",
            vec![unknown(write(1, 0, 0)), read(0, 5, 6), read(1, 7, 8)],
        ),
        (
            "or never",
            vec![unknown(write(1, 0, 0)), read(0, 5, 6), read(0, 7, 8)],
        ),
        (
            "a swap that lost against another",
            vec![
                swap((0, 1), true, (0, 5)),
                swap((0, 2), false, (0, 5)),
                read(1, 6, 7),
            ],
        ),
    ];
    for (what, history) in legal {
        assert_eq!(
            judge(&history, Some(0), STATES),
            HistoryVerdict::Linearizable,
            "{what}"
        );
    }
    let violations: [(&str, Vec<Operation>, &[usize]); 6] = [
        ("a stale read", vec![write(1, 0, 1), read(0, 2, 3)], &[1]),
        (
            "a lost update",
            vec![swap((0, 1), true, (0, 5)), swap((0, 2), true, (0, 5))],
            &[1],
        ),
        ("a value that nobody wrote", vec![read(7, 0, 1)], &[0]),
        (
            "a value that was there and is there again",
            vec![write(1, 0, 1), write(2, 2, 3), read(2, 4, 5), read(1, 6, 7)],
            &[3],
        ),
        (
            "a swap that should have held",
            vec![swap((0, 1), false, (0, 1)), read(0, 2, 3)],
            &[0],
        ),
        (
            "a write of unknown outcome that came and went",
            vec![unknown(write(1, 0, 0)), read(1, 5, 6), read(0, 7, 8)],
            &[2],
        ),
    ];
    for (what, history, at) in violations {
        assert_eq!(
            judge(&history, Some(0), STATES),
            HistoryVerdict::Violated(at.to_vec()),
            "{what}"
        );
    }
}

#[test]
fn the_value_that_a_swap_found_instead_counts() {
    let mut lost = swap((3, 4), false, (2, 3));
    let history = |instead: i64| {
        let RegisterEvent::Swap { instead: found, .. } = &mut lost.what else {
            unreachable!("it is a swap")
        };
        *found = Some(Some(instead));
        vec![write(1, 0, 1), lost]
    };
    let mut history = history;
    assert_eq!(
        judge(&history(1), Some(0), STATES),
        HistoryVerdict::Linearizable
    );
    assert_eq!(
        judge(&history(2), Some(0), STATES),
        HistoryVerdict::Violated(vec![1])
    );
}

/// In the worst case, swaps of unknown outcome lead from each value to every other value.
#[test]
fn a_search_that_grows_too_large_says_so() {
    let pairs = (0..14).flat_map(|from| (0..14).map(move |to| (from, to)));
    let swaps = pairs.filter(|(from, to)| from != to);
    let mut history: Vec<Operation> =
        swaps.map(|pair| unknown(swap(pair, false, (0, 0)))).collect();
    history.push(read(-1, 1, 2));
    assert_eq!(
        judge(&history, Some(0), 10_000),
        HistoryVerdict::Undecided(10_000)
    );
}

/// A busy node does not answer many writes, and most of their values are never read.
#[test]
fn unneeded_writes_of_unknown_outcome_cost_no_states() {
    let mut history: Vec<Operation> = (1..40).map(|n| unknown(write(n, 0, 0))).collect();
    let later = (1..40).flat_map(|n| {
        [
            write(n, n as u64 * 10, n as u64 * 10 + 5),
            read(n, n as u64 * 10 + 6, n as u64 * 10 + 7),
        ]
    });
    history.extend(later);
    history.push(read(50, 1000, 1001));
    let found = judge(&history, Some(0), 10_000);
    assert_eq!(found, HistoryVerdict::Violated(vec![history.len() - 1]));
}

#[test]
fn a_long_history_takes_as_many_states_as_operations() {
    let history: Vec<Operation> = (0..10_000)
        .map(|n| match n % 2 {
            0 => write(n as i64, n * 10, n * 10 + 15),
            _ => read(n as i64 - 1, n * 10, n * 10 + 15),
        })
        .collect();
    assert_eq!(judge(&history, None, 20_000), HistoryVerdict::Linearizable);
}

/// Returns true if any order of the operations is valid. The function tries every subset of the
/// operations of unknown outcome in every order.
fn brute(history: &[Operation], left: &mut Vec<usize>, value: Option<i64>) -> bool {
    if left.iter().all(|&at| history[at].returned_ns.is_none()) {
        return true;
    }
    for index in 0..left.len() {
        let at = left[index];
        let invoked_ns = history[at].invoked_ns;
        let before = |&other: &usize| {
            other != at && history[other].returned_ns.is_some_and(|ns| ns < invoked_ns)
        };
        if left.iter().any(before) {
            continue;
        }
        let after = match (history[at].what, history[at].returned_ns) {
            (RegisterEvent::Read(_), None) => Some(value),
            (RegisterEvent::Read(found), _) => (found == value).then_some(value),
            (RegisterEvent::Write(to), _) => Some(to),
            (RegisterEvent::Swap { from, to, .. }, None) => {
                Some(if from == value { to } else { value })
            }
            (
                RegisterEvent::Swap {
                    from, to, applied, ..
                },
                _,
            ) => (applied == (from == value)).then_some(if applied { to } else { value }),
        };
        let Some(after) = after else { continue };
        left.remove(index);
        let found = brute(history, left, after);
        left.insert(index, at);
        if found {
            return true;
        }
    }
    false
}

fn any_operation() -> impl Strategy<Value = Operation> {
    let value = || 0_i64..3;
    let what = prop_oneof![
        value().prop_map(|value| RegisterEvent::Read(Some(value))),
        value().prop_map(|value| RegisterEvent::Write(Some(value))),
        (value(), value(), any::<bool>()).prop_map(|(from, to, applied)| RegisterEvent::Swap {
            from: Some(from),
            to: Some(to),
            applied,
            instead: None,
        }),
    ];
    let times = (0_u64..20, 0_u64..8, prop::bool::weighted(0.8));
    (what, times).prop_map(|(what, (invoked_ns, took_ns, is_known))| Operation {
        invoked_ns,
        returned_ns: is_known.then_some(invoked_ns + took_ns),
        what,
    })
}

/// Returns the history of a register that executes its operations one after the other. Each
/// operation of known outcome takes effect between its call and its return.
fn kept_word(operations: &[Request]) -> Vec<Operation> {
    let mut made: Vec<(u64, usize)> = (0..operations.len())
        .map(|at| {
            let (invoked, took, share, ..) = operations[at];
            (invoked * 100 + took * share, at)
        })
        .collect();
    made.sort_unstable();
    let mut value = Some(0);
    let mut history = Vec::new();
    for (_, at) in made {
        let (invoked, took, _, kind, from, to, is_known, is_done) = operations[at];
        let holds = value == Some(from);
        let what = match kind {
            0 => RegisterEvent::Read(value),
            1 => RegisterEvent::Write(Some(to)),
            _ => RegisterEvent::Swap {
                from: Some(from),
                to: Some(to),
                applied: holds,
                instead: Some(value),
            },
        };
        match what {
            _ if !is_known && !is_done => {}
            RegisterEvent::Write(to) => value = to,
            RegisterEvent::Swap { to, .. } if holds => value = to,
            _ => {}
        }
        history.push(Operation {
            invoked_ns: invoked * 100,
            returned_ns: is_known.then_some((invoked + took) * 100),
            what,
        });
    }
    history
}

/// Values from which one operation is generated. The numbers are the time of sending, the duration,
/// the time of the effect in percent of the duration, the kind, and the two values of a swap. The
/// first flag is true if the outcome is known. The second flag is true if an operation of unknown
/// outcome has an effect.
type Request = (u64, u64, u64, u8, i64, i64, bool, bool);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_search_says_what_trying_everything_says(
        history in prop::collection::vec(any_operation(), 0..7),
    ) {
        let mut left: Vec<usize> = (0..history.len()).collect();
        let expected = brute(&history, &mut left, Some(0));
        let found = judge(&history, Some(0), u64::MAX);
        prop_assert_eq!(found == HistoryVerdict::Linearizable, expected, "{:?}", found);
    }

    #[test]
    fn a_register_that_keeps_its_word_is_not_accused(
        operations in prop::collection::vec((0_u64..200, 1_u64..40, 0_u64..100, 0_u8..3, 0_i64..3,
            0_i64..3, prop::bool::weighted(0.9), any::<bool>()), 0..40),
    ) {
        let history = kept_word(&operations);
        let found = judge(&history, Some(0), 5_000_000);
        prop_assert!(!matches!(found, HistoryVerdict::Violated(_)), "{:?}", found);
    }
    /// Four of ten transactions have no answer, as with a node on a busy machine. The history has
    /// as many operations and values as that of one register in the shipped workload.
    #[test]
    fn a_history_with_many_unknown_outcomes_is_decided(
        operations in prop::collection::vec((0_u64..10_000, 20_u64..400, 0_u64..100, 0_u8..3,
            0_i64..5, 0_i64..5, prop::bool::weighted(0.6), any::<bool>()), 130),
    ) {
        let found = judge(&kept_word(&operations), Some(0), 100_000);
        prop_assert_eq!(found, HistoryVerdict::Linearizable);
    }
}
