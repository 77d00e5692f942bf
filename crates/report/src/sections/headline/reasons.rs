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

/// At most three reasons: what is true of the whole run, and then those of its trials, each with
/// the number of trials that it is of.
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
    let whole = of_the_whole(view).cloned();
    whole.chain(CAUSES_FIRST.iter().filter_map(reason)).take(REASONS_MAX).collect()
}

/// Reasons that no trial has: that the run was stopped, that no trial was finished.
fn of_the_whole(view: &RunView) -> impl Iterator<Item = &String> {
    let of_trials = || view.findings.trials.iter().flat_map(|trial| &trial.reasons);
    let reasons = view.findings.reasons.iter();
    reasons.filter(move |reason| !of_trials().any(|of_one| reason.ends_with(of_one.as_str())))
}

/// What is most likely the cause of a trial's verdict, in few words; none of a valid one.
pub fn cause(trial: &TrialFinding) -> Option<&'static str> {
    let cause = CAUSES_FIRST.iter().find(|(rule, _)| is_against(trial, rule));
    cause.map(|(_, words)| *words)
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
