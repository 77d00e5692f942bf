//! Outcomes of trials in the form that procedures use, and the comparison of an outcome with a
//! bound.

use measure::Known;
use measure::number::{significant, whole};
use serde::{Deserialize, Serialize};

/// A finished trial, with its load and its outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenTrial {
    /// Load of the trial.
    pub point: super::Point,
    /// Purpose of the trial.
    pub role: Role,
    /// Outcome of the trial. `None` if the trial failed.
    pub found: Option<TrialOutcome>,
}

/// Purpose of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Role {
    /// The trial measures a load of the procedure.
    #[default]
    Probe,
    /// The trial checks the result of a probe with a longer window.
    Hold,
    /// The trial measures at a share of the load that the search found.
    Expected,
    /// The trial measures one of the shorter windows, which are compared with the long window. The
    /// index of the shorter window starts at 0.
    Beside(u8),
    /// The trial measures for hours. It is the long window of an endurance study.
    Endurance,
}

impl Role {
    /// Returns the name of the role in files. The name of the first shorter window is `beside-1`.
    pub fn name(self) -> String {
        match self {
            Role::Probe => "probe".to_owned(),
            Role::Hold => "hold".to_owned(),
            Role::Expected => "expected".to_owned(),
            Role::Beside(number) => format!("{BESIDE}{}", u32::from(number) + 1),
            Role::Endurance => "endurance".to_owned(),
        }
    }

    /// Returns the role with the name `name`. Any unknown name is a probe, because files omit the
    /// role if all trials are probes.
    pub fn parse(name: &str) -> Role {
        match name {
            "hold" => Role::Hold,
            "expected" => Role::Expected,
            "endurance" => Role::Endurance,
            _ => beside(name).map_or(Role::Probe, Role::Beside),
        }
    }

    /// Returns true for a probe. Records omit the role if all trials are probes.
    pub fn is_probe(&self) -> bool {
        *self == Role::Probe
    }

    /// Returns the length of the trial's window, as a multiple of the window of the study.
    /// Procedures that set the length themselves ignore this value.
    pub(super) fn windows(self) -> u64 {
        match self {
            Role::Probe | Role::Expected | Role::Beside(_) | Role::Endurance => 1,
            Role::Hold => HOLD_WINDOWS,
        }
    }
}

impl From<Role> for String {
    fn from(role: Role) -> String {
        role.name()
    }
}

impl From<String> for Role {
    fn from(name: String) -> Role {
        Role::parse(&name)
    }
}

const BESIDE: &str = "beside-";

/// Returns the index, starting at 0, from a name such as `beside-1`.
fn beside(name: &str) -> Option<u8> {
    let number: u8 = name.strip_prefix(BESIDE)?.parse().ok()?;
    number.checked_sub(1)
}

/// Length of a hold, as a multiple of the window of the study. A hold must be long enough not to
/// repeat a result that a probe had by chance.
const HOLD_WINDOWS: u64 = 3;

/// The part of a trial's outcome that procedures use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialOutcome {
    /// Operations completed per second.
    pub ops_per_s: f64,
    /// Operations completed in the best second of the trial; 0 if unknown.
    pub best_ops_per_s: f64,
    pub latency_ms: Percentiles,
    /// Number of requests that timed out.
    pub timed_out: u64,
    /// Share of the operations that failed, timeouts included.
    pub error_share: f64,
    /// Share of the offered operations that the target did not do, beyond what chance explains; 0
    /// in a closed loop.
    pub shortfall: f64,
    /// True if, in an open loop, the target did less than the client offered, and the trial had no
    /// other problem.
    pub is_saturated: bool,
    /// True if the number of pending compactions grew during the window.
    pub pending_grew: bool,
    /// Number of pending compactions at the end of the window. `None` if the number is unknown.
    pub pending_at_end: Option<f64>,
    /// Judgement of the trial by the validity rules.
    pub judged: TrialJudgement,
    /// Description of a disturbance that may explain why the trial missed the bound. Other programs
    /// or a stalled client caused the disturbance. `None` if the trial was not disturbed.
    pub disturbed: Option<String>,
}

/// Judgement of a trial by the validity rules. Variants with a string contain the reason.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum TrialJudgement {
    /// The trial can be used.
    #[default]
    Fair,
    /// The trial is invalid because of the target.
    Invalid(String),
    /// The client did not offer the load in time. The load was too high for the client, perhaps
    /// because the target used too much of the machine's CPU.
    Late(String),
    /// The client was the limit, or the numbers of the client contradict each other, so the trial
    /// has no answer.
    Client(String),
    /// Other programs disturbed the trial, so the trial has no answer. A repetition may have an
    /// answer.
    Disturbed(String),
}

/// Percentiles of latency, in ms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Percentiles {
    /// The median.
    pub p50: MeasuredFigure,
    /// The 95th percentile.
    pub p95: MeasuredFigure,
    /// The 99th percentile.
    pub p99: MeasuredFigure,
    /// The 99.9th percentile.
    pub p999: MeasuredFigure,
}

/// A measured value with its confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeasuredFigure {
    /// Measured value, which may be known only as a lower bound.
    pub value: Known,
    /// 95 % confidence interval of the value, if known.
    pub ci95: Option<[f64; 2]>,
}

impl Percentiles {
    pub fn get(&self, which: Percentile) -> MeasuredFigure {
        match which {
            Percentile::P50 => self.p50,
            Percentile::P95 => self.p95,
            Percentile::P99 => self.p99,
            Percentile::P999 => self.p999,
        }
    }
}

measure::word_enum! {
    /// Percentile of latency to which a bound can apply.
    #[derive(Default)]
    pub enum Percentile {
        /// The median.
        P50 = "p50",
        /// The 95th percentile.
        P95 = "p95",
        /// The 99th percentile.
        #[default]
        P99 = "p99",
        /// The 99.9th percentile.
        P999 = "p999",
    }
}

impl Percentile {
    /// Returns the name of the percentile in sentences.
    pub fn words(self) -> &'static str {
        match self {
            Percentile::P50 => "median",
            Percentile::P95 => "p95",
            Percentile::P99 => "p99",
            Percentile::P999 => "p99.9",
        }
    }
}

/// Limits that a trial at a load must stay within.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bound {
    /// Percentile of latency to which the bound applies.
    pub of: Percentile,
    /// Maximum of the percentile, in ms.
    pub ms: f64,
    /// Maximum share of operations that may fail.
    pub errors: f64,
    /// Maximum number of pending compactions at the end of the window. If `None`, the number of
    /// pending compactions must not grow during the window.
    pub pending: Option<u64>,
}

/// Maximum shortfall, as a share. With this value, the target must do 99 % of the operations that
/// were due.
const SHORTFALL_MAX: f64 = 0.01;

/// Shortfall of a disturbed trial, as a share, above which the load was certainly too high. A
/// smaller shortfall may be due to a pause at the end of a short window, which costs a few percent.
const SATURATED_SHORTFALL: f64 = 0.25;

/// Multiple of the limit above which other programs cannot explain the median latency, because they
/// delay only some of the requests.
const FAR_BEYOND: f64 = 4.0;

/// Result of comparing a trial with a bound. Variants with a string contain the reason.
#[derive(Clone, Debug, PartialEq)]
pub enum BoundCheck {
    /// The trial stayed within the bound.
    Yes,
    /// The trial exceeded the bound.
    No(String),
    /// The client could not offer the load. The load was too high, but perhaps not for the target.
    NotOffered(String),
    /// The trial does not decide, but another trial at this load may.
    Inconclusive(String),
    /// The client is the limit, so further trials cannot decide either.
    Client(String),
}

/// Information that a disturbed trial still provides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Despite {
    /// The trial stayed within the bound.
    Kept,
    /// Even the median latency was far above the limit.
    FarBeyond,
    /// The target did far less than the client offered. The value is the throughput of the best
    /// second, in op/s.
    Saturated(f64),
    /// No further information.
    Nothing,
}

impl Bound {
    /// Compares a trial with the bound. The value of the percentile counts, even if its interval
    /// contains the limit (see [`Bound::is_near`]).
    pub fn judge(&self, found: Option<&TrialOutcome>) -> BoundCheck {
        let Some(found) = found else {
            return BoundCheck::Inconclusive("the trial failed".to_owned());
        };
        match &found.judged {
            TrialJudgement::Fair => {}
            TrialJudgement::Invalid(why) => {
                return BoundCheck::No(format!("the trial is invalid: {why}"));
            }
            TrialJudgement::Late(why) => return BoundCheck::NotOffered(why.clone()),
            TrialJudgement::Client(why) => return BoundCheck::Client(why.clone()),
            TrialJudgement::Disturbed(why) => return BoundCheck::Inconclusive(why.clone()),
        }
        match (self.broken(found), &found.disturbed) {
            (None, _) => BoundCheck::Yes,
            (Some(_), Some(by)) => BoundCheck::Inconclusive(by.clone()),
            (Some(why), None) => BoundCheck::No(why),
        }
    }

    /// Returns the information that a disturbed trial without an answer still provides.
    pub(super) fn told_despite(&self, found: Option<&TrialOutcome>) -> Despite {
        match found {
            Some(found) if self.broken(found).is_none() => Despite::Kept,
            Some(found) if found.latency_ms.p50.value.least() >= FAR_BEYOND * self.ms => {
                Despite::FarBeyond
            }
            Some(found) if found.shortfall >= SATURATED_SHORTFALL => {
                Despite::Saturated(found.ops_per_s.max(found.best_ops_per_s))
            }
            _ => Despite::Nothing,
        }
    }

    /// Describes the limit that a trial exceeded. Returns `None` if the trial stayed within the
    /// bound.
    fn broken(&self, found: &TrialOutcome) -> Option<String> {
        let percent = |share: f64| significant(share * 100.0, 2);
        if found.shortfall > SHORTFALL_MAX {
            let less = percent(found.shortfall);
            return Some(format!("throughput was {less} % below the offered rate"));
        }
        if found.error_share > self.errors {
            let failed = percent(found.error_share);
            return Some(format!("{failed} % of the operations failed"));
        }
        let value = found.latency_ms.get(self.of).value;
        // If the percentile is only a lower bound, a value within the limit is not enough, because
        // the true value is unknown.
        if value.is_above(self.ms) != Some(false) {
            let (of, sign) = (self.of.words(), value.sign());
            let of = if self.of == Percentile::P50 {
                "the median"
            } else {
                of
            };
            return Some(format!(
                "{of} was {sign}{} ms",
                significant(value.least(), 3)
            ));
        }
        match (self.pending, found.pending_at_end) {
            (Some(most), Some(pending)) if pending > most as f64 => Some(format!(
                "{} compactions were pending at the end, more than {most}",
                whole(pending)
            )),
            (None, _) if found.pending_grew => Some("pending compactions grew".to_owned()),
            _ => None,
        }
    }

    /// Returns true if the interval of the percentile contains the limit.
    pub fn is_near(&self, found: &TrialOutcome) -> bool {
        let interval = found.latency_ms.get(self.of).ci95;
        interval.is_some_and(|[low, high]| low <= self.ms && self.ms < high)
    }

    /// Describes the bound, such as `p99 within 10 ms`.
    pub fn words(&self) -> String {
        let pending = self.pending.map_or(String::new(), |most| {
            format!(" and at most {most} pending compactions")
        });
        format!("{} within {} ms{pending}", self.of.words(), self.ms)
    }
}
