//! Sentences on the target, its data and the record, for rules V7, V10, V11, V13, V15 to V17 and
//! V21.

use crate::rules::evidence::{NodeStatePeriod, ServerCounts};
use crate::rules::measurement::{Measurement, Quantity};
use crate::rules::statement::{Statement, percent};

/// V7: compares the numbers of operations that server and client counted, for one kind of
/// operation, `reads` or `writes`.
pub fn counts_of_kind(kind: &str, server: u64, client: u64, limits: [f64; 2]) -> Statement {
    let difference = (server as f64 - client as f64) / client.max(1) as f64;
    let words = format!(
        "{server} {kind} for the client's {client} ({})",
        percent(difference)
    );
    let difference = Measurement::new(Quantity::CountDifference, difference).at(kind);
    Statement::with(words, difference.within(limits))
}

/// V7: compares the numbers of operations that server and client counted, for reads and writes
/// together.
pub fn server_counts(kinds: Statement, counts: &ServerCounts, limit: f64) -> Statement {
    Statement {
        words: format!(
            "the server counted {} (limit {}, {} uncertain omitted; from {})",
            kinds.words,
            percent(limit),
            counts.uncertain,
            counts.source
        ),
        ..kinds
    }
}

/// V7: states why the numbers of operations cannot be compared.
pub fn not_compared(why: &str) -> Statement {
    format!("not compared: {why}").into()
}

/// V10: states the mean number of pending compactions in the first third and in the last third of
/// the window.
pub fn pending_compactions(first: f64, last: f64, limit: f64) -> Statement {
    let pending = Measurement::new(Quantity::PendingAtEnd, last);
    Statement::with(
        format!(
            "pending compactions: {first:.1} in the first third of the window, {last:.1} in the \
             last third (limit {limit:.1})"
        ),
        pending.warning_at(limit),
    )
}

/// V11: names the nodes that ran in another process at the end of the trial.
pub fn restarted(nodes: &[String]) -> Statement {
    let names = nodes.join(", ");
    let restarted = Measurement::counting(Quantity::RestartedNodes, nodes.len() as u64);
    Statement::with(format!("restarted: {names}"), restarted.at(names))
}

/// V11: lists observations after a heading.
pub fn listed(heading: &str, observations: &[String], between: &str) -> Statement {
    format!("{heading}: {}", observations.join(between)).into()
}

pub fn stolen_cpu(share: f64, limit: f64) -> Statement {
    let words = format!(
        "the hypervisor stole {} of the CPU time (limit {})",
        percent(share),
        percent(limit)
    );
    let stolen = Measurement::new(Quantity::StolenCpu, share);
    Statement::with(words, stolen.warning_at(limit))
}

/// V11: states that a node did not run although its process existed, because the process was
/// stopped or blocked.
pub fn stood_still(period: &NodeStatePeriod, quantity: Quantity) -> Statement {
    let what = if quantity == Quantity::NodeStopped {
        "the node's process was stopped (state T)"
    } else {
        "threads waited in the kernel (state D), for example for a disk that does not answer or a \
         frozen file system"
    };
    let [from_s, to_s] = [period.from_s, period.to_s].map(|s| format!("{s:.0} s"));
    let when = if from_s == to_s {
        format!("at {from_s}")
    } else {
        format!("from {from_s} to {to_s}")
    };
    Statement::with(
        format!("{}: {what}, seen {when} of the window", period.node),
        Measurement::new(quantity, period.to_s - period.from_s).at(&period.node),
    )
}

pub fn fault(kind: &str, result: &str) -> Statement {
    format!("{kind} {result}").into()
}

/// V15: states the missing parts of the record.
pub fn not_on_record(parts: &[String]) -> Statement {
    format!("not recorded: {}", parts.join(", ")).into()
}

pub fn data_per_memory(ratio: f64) -> Statement {
    let what = if ratio < 1.0 {
        "the node can cache all data"
    } else {
        "the node cannot cache all data"
    };
    Statement::with(
        format!("the data is {ratio:.2} times the memory of a node: {what}"),
        Measurement::new(Quantity::DataPerMemory, ratio),
    )
}

pub fn probes_cpu(share: f64, limit: f64) -> Statement {
    let words = format!(
        "probes used {} of a core (limit {})",
        percent(share),
        percent(limit)
    );
    let used = Measurement::new(Quantity::ProbesCpu, share);
    Statement::with(words, used.warning_at(limit))
}

/// V21: states the uncaught exceptions. `faults` names the faults of the trial, if any.
pub fn exceptions(met: &[String], faults: Option<&str>) -> Statement {
    let met = met.join("; ");
    match faults {
        None => format!("uncaught exceptions: {met}").into(),
        Some(kinds) => format!("uncaught exceptions in a trial with {kinds}: {met}").into(),
    }
}
