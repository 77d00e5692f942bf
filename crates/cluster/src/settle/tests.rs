//! Tests of the end of the wait for compactions, with invented samples.

use super::*;

fn sample(running: u64, pending: Option<u64>, bytes: u64) -> CompactionSample {
    CompactionSample {
        running,
        progress: (0, 0),
        pending,
        bytes_compacted: Some(bytes),
        sstables: Some(1),
    }
}

/// Returns each decision with the number of its sample, except decisions to take another sample.
/// Samples are one second apart.
fn states(looks: impl IntoIterator<Item = CompactionSample>) -> Vec<(usize, State)> {
    let rule = Rule {
        sample: Duration::from_secs(1),
        idle_samples: 3,
        stalled_after: Duration::from_secs(10),
        limit: Duration::from_secs(1000),
    };
    let mut watch = Watch::default();
    let mut states = Vec::new();
    for (index, look) in looks.into_iter().enumerate() {
        let now_ns = (1 + index as u64) * clock::SECOND_NS;
        let state = watch.judge(&[look], now_ns, &rule);
        if state != State::Open {
            states.push((index, state));
        }
        if matches!(state, State::Over(_)) {
            break;
        }
    }
    states
}

fn over(index: usize, outcome: SettleOutcome) -> (usize, State) {
    (index, State::Over(outcome))
}

#[test]
fn rest_is_believed_after_several_quiet_looks() {
    let quiet = || sample(0, Some(0), 7);
    assert_eq!(states([quiet(), quiet()]), []);
    assert_eq!(
        states([quiet(), quiet(), quiet()]),
        [over(2, SettleOutcome::Settled)]
    );
    let interrupted = [
        quiet(),
        quiet(),
        sample(1, Some(0), 7),
        quiet(),
        quiet(),
        quiet(),
    ];
    assert_eq!(states(interrupted), [over(5, SettleOutcome::Settled)]);
}

#[test]
fn pending_work_that_never_moves_is_kicked_and_then_stalled() {
    let still = || std::iter::repeat_with(|| sample(0, Some(3), 7));
    let stalled = [(10, State::Stuck), over(20, SettleOutcome::Stalled)];
    assert_eq!(states(still().take(30)), stalled);
    // After the second trigger, the pending compactions run, and then all nodes are idle.
    let helped = still()
        .take(11)
        .chain([sample(1, Some(3), 7)])
        .chain(std::iter::repeat_with(|| sample(0, Some(0), 9)).take(9));
    assert_eq!(
        states(helped),
        [(10, State::Stuck), over(14, SettleOutcome::Settled)]
    );
}

#[test]
fn pending_work_that_moves_is_waited_for() {
    let moving = (0..30).map(|bytes| sample(0, Some(3), bytes));
    assert_eq!(states(moving), []);
    let running = std::iter::repeat_with(|| sample(1, Some(3), 7)).take(30);
    assert_eq!(states(running), []);
}

#[test]
fn without_an_estimate_rest_is_not_claimed() {
    let blind = std::iter::repeat_with(|| sample(0, None, 7)).take(5);
    assert_eq!(states(blind), [over(2, SettleOutcome::Unknown)]);
}

#[test]
fn the_limit_ends_waiting() {
    let rule = Rule {
        limit: Duration::ZERO,
        ..Rule::for_small_data(Duration::ZERO)
    };
    let busy = || Ok(vec![sample(1, Some(1), 7)]);
    let (outcome, last) = wait(&rule, busy, || Ok(()), &mut |_| ()).unwrap();
    assert_eq!(outcome, SettleOutcome::Timeout);
    assert_eq!(last[0].running, 1);
}

#[test]
fn the_published_rule_is_for_large_data_or_unknown_sizes() {
    let idle = |bytes| {
        let rule = Rule::for_data(bytes, Duration::ZERO);
        rule.sample * rule.idle_samples
    };
    assert_eq!(idle(Some(LARGE_DATA_BYTES - 1)), Duration::from_millis(750));
    assert_eq!(idle(Some(LARGE_DATA_BYTES)), Duration::from_secs(30));
    assert_eq!(idle(None), Duration::from_secs(30));
}

#[test]
fn the_terminal_hears_how_far_compactions_are() {
    let half = CompactionSample {
        progress: (55, 100),
        ..sample(1, Some(2), 0)
    };
    let text = summary(&[half, sample(0, Some(1), 0)]);
    assert_eq!(text, "compacting: 1 running (50 % done), 3 pending");
    let text = summary(&[sample(0, Some(1), 0)]);
    assert_eq!(text, "compacting: 0 running, 1 pending");
}
