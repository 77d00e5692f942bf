//! Describes the cause of a run's scatter in a short sentence, because the first screen must have
//! space for three causes.

use measure::number::{counted, short, whole};
use store::record::{CauseKind, CauseRecord};

pub fn sentence(cause: &CauseRecord) -> String {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let share = |before: &str| {
        cause.share.map_or(String::new(), |share| format!("{before}{}", percent(share)))
    };
    let what = match cause.kind {
        CauseKind::Others => {
            let most = share(": up to ");
            let of = if most.is_empty() { "" } else { " of its CPU" };
            format!("Other programs used the machine{most}{of}{}", trials(cause))
        }
        CauseKind::Client => format!("The client was near its own limit{}", trials(cause)),
        CauseKind::Warming => match ends(cause) {
            Some(ends) => format!("The target was still warming up: {ends}"),
            None => format!(
                "The target was still warming up: throughput rose within the windows{}",
                trials(cause)
            ),
        },
        CauseKind::Slowing => match ends(cause) {
            Some(ends) => format!("The target became slower over the run: {ends}"),
            None => format!(
                "The target became slower: throughput fell within the windows{}",
                trials(cause)
            ),
        },
        CauseKind::Backlog => match ends(cause) {
            Some(ends) => format!("Compactions piled up: {ends}"),
            None => format!("Compactions piled up{}", trials(cause)),
        },
        CauseKind::Collections => format!(
            "Garbage collections stopped the nodes{} of the time{}",
            share(" for up to "),
            trials(cause)
        ),
        CauseKind::OddBlock => {
            let block = cause.block.unwrap_or_default();
            format!("Block {block} differs from all others")
        }
    };
    format!("{what}.")
}

/// Returns the number of affected trials in parentheses, such as ` (5 of 6 trials)`.
fn trials(cause: &CauseRecord) -> String {
    format!(" ({} of {})", cause.trials, counted(cause.of, "trial"))
}

/// Returns the values at the start and at the end of the run, such as `7,200 op/s in its first
/// trial, 34,700 in its last`.
fn ends(cause: &CauseRecord) -> Option<String> {
    let [first, last] = cause.ends?;
    Some(match cause.metric.as_deref()? {
        "ops_per_s" => format!(
            "{} op/s in the first trial, {} in the last",
            whole(first),
            whole(last)
        ),
        "pending_compactions" => {
            format!(
                "{} were pending after the first trial, {} after the last",
                whole(first),
                whole(last)
            )
        }
        _ => format!(
            "a median latency of {} ms in the first trial, {} ms in the last",
            short(first, 3),
            short(last, 3)
        ),
    })
}
