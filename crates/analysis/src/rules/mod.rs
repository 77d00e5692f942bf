//! The validity rules V1 to V21: whether a trial may be believed.
//!
//! Each rule says pass, warn, fail or unknown, with the numbers and the limit. Any fail makes the
//! trial *invalid* (kept, never compared), any warn makes it *suspect*; what is unknown is listed
//! and costs nothing, since a rule that cannot look must not accuse. The limits are proposals of
//! ours (see [`Limits`]), not laws, and the same in every study.

mod client;
mod client_evidence;
mod data;
mod evidence;
mod fleet;
mod limits;
mod machine;
mod rule_outcome;
mod target;
#[cfg(test)]
mod tests;

pub use client_evidence::ClientSeen;
pub use evidence::{
    ClockMove, CpuUse, Environment, Evidence, Fault, LostBy, Machine, Offered, PresentRows,
    Pressure, ReadBack, Registers, ServerCounts, Settle, Spell, Window,
};
pub use limits::Limits;
pub use rule_outcome::Outcome;

use std::cmp::Reverse;

/// One rule, judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// `V1` to `V21`.
    pub id: &'static str,
    /// How it was judged.
    pub outcome: Outcome,
    /// What was seen and what the limit is: one sentence without a full stop.
    pub detail: String,
}

measure::word_enum! {
    /// Whether a trial, or a whole run, may be believed. Ordered from good to bad.
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
    /// The worst of several; of none, invalid: a run without a finished trial shows nothing.
    pub fn worst(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
        verdicts.into_iter().max().unwrap_or(Verdict::Invalid)
    }
}

/// What [`judge`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, one sentence each: what failed before what warned, and the more serious rule first;
    /// empty when valid.
    pub reasons: Vec<String>,
    /// All rules, in order.
    pub rules: Vec<Rule>,
}

/// How a rule came out, with the numbers behind it.
type Judged = (Outcome, String);

type Judge = fn(&Evidence, &Limits) -> Judged;

/// Every rule: its name, what must hold in a few words, and how that is judged.
const RULES: [(&str, &str, Judge); 21] = [
    ("V1", "The load was sent when it was due", client::schedule),
    (
        "V2",
        "Latency runs from the intended start",
        |evidence, _| client::two_clocks(evidence),
    ),
    (
        "V3",
        "The client was not the limit",
        fleet::not_the_bottleneck,
    ),
    (
        "V4",
        "Every client was there from start to end",
        fleet::present,
    ),
    (
        "V5",
        "Clients started together, clocks agree",
        fleet::together,
    ),
    (
        "V6",
        "Histograms are merged and hold every operation",
        |evidence, _| client::histograms_complete(evidence),
    ),
    (
        "V7",
        "The server counted what the client counted",
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
    ("V10", "The load can be sustained", |evidence, _| {
        target::sustainable(evidence)
    }),
    ("V11", "The environment did not change", target::environment),
    ("V12", "Steady, long enough, enough samples", client::window),
    ("V13", "Faults were confirmed and healed", |evidence, _| {
        target::faults(evidence)
    }),
    ("V14", "The data read is the data written", |evidence, _| {
        data::data(evidence)
    }),
    ("V15", "The run can be repeated", |evidence, _| {
        target::recorded(evidence)
    }),
    ("V16", "Caching is declared", |evidence, _| {
        target::caching(evidence)
    }),
    ("V17", "The cost of observing is known", target::probes),
    ("V18", "Nobody else used the machine", fleet::undisturbed),
    (
        "V19",
        "The target answered all the time",
        machine::answering,
    ),
    ("V20", "Nobody set the clock", fleet::clock_unset),
    (
        "V21",
        "Nodes met no exception that nothing caught",
        |evidence, _| target::exceptions(evidence),
    ),
];

/// All rules by seriousness, the most serious first: lost or false data, a target that was not as
/// it was to be, the machine, the client that a busy machine holds up, and how it was measured.
const BY_SERIOUSNESS: [&[&str]; 5] = [
    &["V14"],
    &["V13", "V21", "V8", "V19", "V11", "V9", "V10", "V7"],
    &["V18", "V20"],
    &["V4", "V3", "V1", "V5", "V2", "V6"],
    &["V12", "V17", "V15", "V16"],
];

/// How serious a rule is beside the others: 0 of the most serious one. A name that no rule has
/// comes last.
pub fn seriousness(rule: &str) -> usize {
    let mut names = BY_SERIOUSNESS.iter().copied().flatten();
    names.position(|name| *name == rule).unwrap_or(RULES.len())
}

/// The names of all rules, in order.
pub fn names() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|(name, ..)| *name)
}

/// What must hold by a rule, in a few words; none of a name that no rule has.
pub fn title(rule: &str) -> Option<&'static str> {
    RULES.iter().find(|(name, ..)| *name == rule).map(|(_, title, _)| *title)
}

/// Judges a trial by all rules.
pub fn judge(evidence: &Evidence, limits: &Limits) -> Judgement {
    let rules = RULES.map(|(id, _, judge)| {
        let (outcome, detail) = judge(evidence, limits);
        Rule {
            id,
            outcome,
            detail,
        }
    });
    let is_bad = |rule: &&Rule| matches!(rule.outcome, Outcome::Warn | Outcome::Fail);
    let mut bad: Vec<&Rule> = rules.iter().filter(is_bad).collect();
    bad.sort_by_key(|rule| (Reverse(rule.outcome), seriousness(rule.id)));
    let reasons = bad.iter().map(|rule| format!("{}: {}", rule.id, rule.detail)).collect();
    let verdict = match rules.iter().map(|rule| rule.outcome).max() {
        Some(Outcome::Fail) => Verdict::Invalid,
        Some(Outcome::Warn) => Verdict::Suspect,
        _ => Verdict::Valid,
    };
    Judgement {
        verdict,
        reasons,
        rules: rules.into(),
    }
}
