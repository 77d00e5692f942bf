//! The validity rules V1 to V21, which decide whether a trial can be used.
//!
//! The outcome of each rule is pass, warn, fail or unknown. The numbers and limits of a rule are
//! available as data, and in a sentence that `describe` builds from them. Any failed rule makes the
//! trial *invalid*: the trial is kept but never compared. Any rule that warns makes the trial
//! *suspect*. An unknown outcome is listed but does not affect the verdict, because missing
//! evidence does not show a problem. The limits are proposals of this project (see [`Limits`]), not
//! laws, and are the same in every study.

mod client;
mod client_evidence;
mod data;
mod describe;
mod evidence;
mod fleet;
mod limits;
mod machine;
mod measurement;
mod rule_outcome;
mod statement;
mod target;
#[cfg(test)]
mod tests;

pub use client_evidence::{ClientSeen, ClockStep};
pub use evidence::{
    ClockMove, CpuUse, Environment, Evidence, FaultEvidence, LostWritesByAckTime, MachineUse,
    NodeStatePeriod, OfferedLoad, PresentRows, Pressure, ReadBack, Registers, ServerCounts, Settle,
    Window,
};
pub use limits::Limits;
pub use measurement::{Measurement, Quantity, is_beyond};
pub use rule_outcome::RuleOutcome;

use rule_outcome::RuleResult;
use std::cmp::Reverse;
use std::fmt;

/// Result of one rule. The text of a result is, for example, `V12: the measured window is 4.0 s
/// long (minimum 5 s)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// Name of the rule, from `V1` to `V21`.
    pub id: &'static str,
    pub outcome: RuleOutcome,
    /// Observation and limit, as one sentence without a full stop.
    pub detail: String,
    /// Numbers in the detail. Numbers that are beyond their limits come first.
    pub measured: Vec<Measurement>,
}

impl fmt::Display for Rule {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}: {}", self.id, self.detail)
    }
}

measure::word_enum! {
    /// Validity of a trial, or of a whole run. The variants are ordered from good to bad.
    #[derive(Default, PartialOrd, Ord)]
    pub enum Verdict {
        /// No rule warned or failed.
        Valid = "valid",
        /// A rule warned.
        Suspect = "suspect",
        /// A rule failed.
        #[default]
        Invalid = "invalid",
    }
}

impl Verdict {
    /// Returns the worst of several verdicts. For an empty list, returns [`Verdict::Invalid`],
    /// because a run without a finished trial shows nothing.
    pub fn worst(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
        verdicts.into_iter().max().unwrap_or(Verdict::Invalid)
    }
}

/// Result of [`judge`].
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Verdict on the trial.
    pub verdict: Verdict,
    /// Results of all rules, in order.
    pub rules: Vec<Rule>,
}

impl Judgement {
    /// Returns the reasons for the verdict, or an empty list if the trial is valid. Rules that fail
    /// come before rules that warn. Within each of these two groups, more serious rules come first.
    pub fn reasons(&self) -> Vec<&Rule> {
        let is_bad = |rule: &&Rule| matches!(rule.outcome, RuleOutcome::Warn | RuleOutcome::Fail);
        let mut bad: Vec<&Rule> = self.rules.iter().filter(is_bad).collect();
        bad.sort_by_key(|rule| (Reverse(rule.outcome), seriousness(rule.id)));
        bad
    }
}

type Judge = fn(&Evidence, &Limits) -> RuleResult;

/// Every rule, with its name, its title, and the function that judges it.
const RULES: [(&str, &str, Judge); 21] = [
    ("V1", "The client sent the load on time", client::schedule),
    (
        "V2",
        "Latency counts from the intended start",
        |evidence, _| client::two_clocks(evidence),
    ),
    (
        "V3",
        "The client was not the limit",
        fleet::not_the_bottleneck,
    ),
    (
        "V4",
        "Every client ran without long stalls to the end",
        fleet::present,
    ),
    (
        "V5",
        "Clients started together, and their clocks agree",
        fleet::together,
    ),
    (
        "V6",
        "Histograms are merged and contain every operation",
        |evidence, _| client::histograms_complete(evidence),
    ),
    (
        "V7",
        "Server and client counted the same operations",
        target::counts_agree,
    ),
    (
        "V8",
        "Errors stay within their budget",
        client::errors_in_budget,
    ),
    (
        "V9",
        "The data was settled before measuring",
        |evidence, _| target::settled(evidence),
    ),
    ("V10", "Pending compactions did not grow", |evidence, _| {
        target::sustainable(evidence)
    }),
    (
        "V11",
        "Processes, settings and the machine did not change",
        target::environment,
    ),
    (
        "V12",
        "The window was steady, and had enough time and samples",
        client::window,
    ),
    ("V13", "Faults were confirmed and healed", |evidence, _| {
        target::faults(evidence)
    }),
    ("V14", "Reads returned the written data", |evidence, _| {
        data::data(evidence)
    }),
    (
        "V15",
        "The records suffice to repeat the run",
        |evidence, _| target::recorded(evidence),
    ),
    (
        "V16",
        "The ratio of data to memory is known",
        |evidence, _| target::caching(evidence),
    ),
    ("V17", "The probes cost little", target::probes),
    (
        "V18",
        "Other programs hardly disturbed the machine",
        fleet::undisturbed,
    ),
    (
        "V19",
        "The target answered without long gaps",
        machine::answering,
    ),
    ("V20", "The wall clock did not jump", fleet::clock_unset),
    ("V21", "No node had an uncaught exception", |evidence, _| {
        target::exceptions(evidence)
    }),
];

/// Names of all rules in groups, the most serious group first. The groups are: lost or wrong data;
/// a target in a wrong state; the machine; a client that is late; the method of measurement.
const BY_SERIOUSNESS: [&[&str]; 5] = [
    &["V14"],
    &["V13", "V21", "V8", "V19", "V11", "V9", "V10", "V7"],
    &["V18", "V20"],
    &["V4", "V3", "V1", "V5", "V2", "V6"],
    &["V12", "V17", "V15", "V16"],
];

/// Returns the rank of a rule by seriousness, where 0 is the most serious. Unknown names come last.
pub fn seriousness(rule: &str) -> usize {
    let mut names = BY_SERIOUSNESS.iter().copied().flatten();
    names.position(|name| *name == rule).unwrap_or(RULES.len())
}

/// Returns the names of all rules, in order.
pub fn names() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|(name, ..)| *name)
}

/// Returns the title of a rule. Returns `None` if no rule has this name.
pub fn title(rule: &str) -> Option<&'static str> {
    RULES.iter().find(|(name, ..)| *name == rule).map(|(_, title, _)| *title)
}

/// Judges a trial by all rules.
pub fn judge(evidence: &Evidence, limits: &Limits) -> Judgement {
    let rules = RULES.map(|(id, _, judge)| {
        let (outcome, mut statement) = judge(evidence, limits);
        statement.measured.sort_by_key(|number| Reverse(number.is_beyond_limit()));
        Rule {
            id,
            outcome,
            detail: statement.words,
            measured: statement.measured,
        }
    });
    let verdict = match rules.iter().map(|rule| rule.outcome).max() {
        Some(RuleOutcome::Fail) => Verdict::Invalid,
        Some(RuleOutcome::Warn) => Verdict::Suspect,
        _ => Verdict::Valid,
    };
    Judgement {
        verdict,
        rules: rules.into(),
    }
}
