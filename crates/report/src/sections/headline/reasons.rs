//! Why a run is not valid, in few words each: causes before what follows from them, each once.

use crate::view::RunView;
use store::record::{Outcome, TrialFinding};

/// Reasons that a first screen has room for.
const REASONS_MAX: usize = 3;

/// Rules by what is a cause of what: who else was there, the client, the target, the numbers.
const CAUSES_FIRST: [(&str, &str); 20] = [
    ("V18", "Other programs used the machine"),
    ("V20", "The clock was set"),
    ("V11", "The environment changed"),
    ("V3", "The client was near its own limit"),
    ("V4", "The client itself was held up"),
    ("V13", "A fault was not confirmed, or not healed"),
    ("V14", "Reads returned other data than was written"),
    ("V8", "Operations failed"),
    ("V9", "The data was not at rest"),
    ("V10", "Compactions fell behind"),
    ("V19", "The target fell silent for a while"),
    ("V12", "Not steady, or measured too briefly"),
    ("V1", "Requests left late"),
    ("V7", "The server counted other operations than the client"),
    ("V17", "Probes cost too much"),
    ("V5", "Clients did not start together"),
    ("V2", "Latency and service time disagree"),
    ("V6", "Histograms do not hold every operation"),
    ("V15", "The run cannot be repeated from its record"),
    ("V16", "How much of the data fits in memory is not stated"),
];

/// At most three reasons, each with the number of trials that it is of.
pub(super) fn short(view: &RunView) -> Vec<String> {
    let trials = &view.findings.trials;
    let reason = |(rule, words): &(&str, &str)| {
        let of = trials.iter().filter(|trial| is_against(trial, rule));
        let count = of.clone().count();
        let more = if *rule == "V18" {
            others(of)
        } else {
            String::new()
        };
        let of_all = measure::number::counted(trials.len(), "trial");
        (count > 0).then(|| format!("{words}{more} ({count} of {of_all})."))
    };
    CAUSES_FIRST.iter().filter_map(reason).take(REASONS_MAX).collect()
}

fn is_against(trial: &TrialFinding, rule: &str) -> bool {
    let is_bad = |result: Outcome| matches!(result, Outcome::Warn | Outcome::Fail);
    trial.rules.iter().any(|one| one.rule == rule && is_bad(one.result))
}

/// `: up to 33 % of its CPU`.
fn others<'a>(trials: impl Iterator<Item = &'a TrialFinding>) -> String {
    let shares = trials.filter_map(|trial| trial.machine.as_ref()?.cpu_others);
    shares.reduce(f64::max).map_or_else(String::new, |most| {
        format!(": up to {:.0} % of its CPU", most * 100.0)
    })
}
