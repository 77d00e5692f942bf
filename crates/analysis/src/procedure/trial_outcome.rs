//! What a procedure sees of a trial, and whether that is within a bound.

use measure::Known;
use measure::number::{significant, whole};
use serde::{Deserialize, Serialize};

/// Where a trial was, and what it came to.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenTrial {
    /// Where it was.
    pub point: super::Point,
    /// What it was measured for.
    pub role: Role,
    /// What it came to; none if it has failed.
    pub found: Option<TrialOutcome>,
}

/// What a trial is measured for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Role {
    /// To see how it is there.
    #[default]
    Probe,
    /// To see whether what a probe has found holds: with a longer window.
    Hold,
    /// To see how it is at a share of what was found.
    Expected,
    /// For so long as the shorter window of this number, from 0, to have it beside the long one.
    Beside(u8),
    /// For hours.
    Endurance,
}

impl Role {
    /// Its name in files: that of the first shorter window is `beside-1`.
    pub fn name(self) -> String {
        match self {
            Role::Probe => "probe".to_owned(),
            Role::Hold => "hold".to_owned(),
            Role::Expected => "expected".to_owned(),
            Role::Beside(number) => format!("{BESIDE}{}", u32::from(number) + 1),
            Role::Endurance => "endurance".to_owned(),
        }
    }

    /// The role of this name; that of a probe is left out where it is the only one.
    pub fn named(name: &str) -> Role {
        match name {
            "hold" => Role::Hold,
            "expected" => Role::Expected,
            "endurance" => Role::Endurance,
            _ => beside(name).map_or(Role::Probe, Role::Beside),
        }
    }

    /// Whether it is a probe, which records leave out where it is the only role.
    pub fn is_probe(&self) -> bool {
        *self == Role::Probe
    }

    /// How many times as long as a study's window its own is, if its procedure says nothing else.
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
        Role::named(&name)
    }
}

const BESIDE: &str = "beside-";

/// The number in `beside-1`, from 0.
fn beside(name: &str) -> Option<u8> {
    let number: u8 = name.strip_prefix(BESIDE)?.parse().ok()?;
    number.checked_sub(1)
}

/// A hold is so much longer than a probe that it does not see what a probe saw by chance.
const HOLD_WINDOWS: u64 = 3;

/// What a trial came to, as far as a procedure decides by it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialOutcome {
    /// Operations completed per second.
    pub ops_per_s: f64,
    /// The same in its best second; 0 where nobody looked.
    pub best_ops_per_s: f64,
    /// Percentiles of latency.
    pub latency_ms: Percentiles,
    /// Requests that timed out.
    pub timed_out: u64,
    /// Share of the operations that failed, time-outs too.
    pub error_share: f64,
    /// By which share less was done than was offered, beyond what chance explains; 0 in a closed
    /// loop.
    pub shortfall: f64,
    /// Whether less was done than was offered, and nothing else was wrong (open loop).
    pub is_saturated: bool,
    /// Whether pending compactions grew while it was measured.
    pub pending_grew: bool,
    /// Compactions that were pending at its end; none if nobody looked.
    pub pending_at_end: Option<f64>,
    /// Whether it may be believed.
    pub judged: Judged,
    /// By whom it was disturbed so much that what it did not keep may be their doing: of a trial
    /// that may be believed all the same, since the machine is said to be shared.
    pub disturbed: Option<String>,
}

/// How a trial was judged.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Judged {
    /// It may be believed.
    #[default]
    Fair,
    /// It is invalid, and that is the target's doing.
    Invalid(String),
    /// The client did not offer what it should have: too much for it, and perhaps since the target
    /// left it too little of the machine.
    Late(String),
    /// The client was the limit, or its numbers contradict each other: no answer.
    Client(String),
    /// Others disturbed it: no answer, and another trial may give one.
    Disturbed(String),
}

/// Percentiles, ms.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Percentiles {
    /// The median.
    pub p50: Measured,
    /// The 95th percentile.
    pub p95: Measured,
    /// The 99th percentile.
    pub p99: Measured,
    /// The 99.9th percentile.
    pub p999: Measured,
}

/// A figure with its error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    /// The figure.
    pub value: Known,
    /// Its 95 % interval, if it has one.
    pub ci95: Option<[f64; 2]>,
}

impl Percentiles {
    /// The percentile `which`.
    pub fn of(&self, which: Percentile) -> Measured {
        match which {
            Percentile::P50 => self.p50,
            Percentile::P95 => self.p95,
            Percentile::P99 => self.p99,
            Percentile::P999 => self.p999,
        }
    }
}

measure::word_enum! {
    /// A percentile that may be bounded.
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
    /// The same for people.
    pub fn words(self) -> &'static str {
        match self {
            Percentile::P50 => "median",
            Percentile::P95 => "p95",
            Percentile::P99 => "p99",
            Percentile::P999 => "p99.9",
        }
    }
}

/// What a load must keep to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bound {
    /// Of which percentile of latency.
    pub of: Percentile,
    /// The most that it may be, ms.
    pub ms: f64,
    /// The largest share of the operations that may fail.
    pub errors: f64,
    /// How many compactions may be pending at the end; none: their number may not grow.
    pub pending: Option<u64>,
}

/// By which share less may be done than was offered: 99 % of what was due must have been done.
const SHORTFALL_MAX: f64 = 0.01;

/// By which share less must have been done in a disturbed trial than was offered, to say that this
/// was too much whoever disturbed it: a pause at its end costs a short window some percent.
const SATURATED_SHORTFALL: f64 = 0.25;

/// A median so many times the limit is no doing of others: they delay some requests, not most.
const FAR_BEYOND: f64 = 4.0;

/// Whether a load kept to a bound.
#[derive(Clone, Debug, PartialEq)]
pub enum BoundCheck {
    /// It did.
    Yes,
    /// It did not, and why.
    No(String),
    /// It could not be offered, and why: too much, and not the target's doing for certain.
    NotOffered(String),
    /// Nobody knows, and why; another trial may tell.
    Untold(String),
    /// Nobody can know: the client is the limit.
    Client(String),
}

/// What a disturbed trial tells all the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Despite {
    /// The bound was kept.
    Kept,
    /// Not even the median was near the limit.
    FarBeyond,
    /// Far less was done than was offered: in its best second so much, op/s.
    Saturated(f64),
    /// It tells nothing more.
    Nothing,
}

impl Bound {
    /// Whether a trial kept to it. The percentile decides by its value: where its interval is on
    /// one side of the bound that is the same, and where it is not, see [`Bound::is_near`].
    pub fn judge(&self, found: Option<&TrialOutcome>) -> BoundCheck {
        let Some(found) = found else {
            return BoundCheck::Untold("the trial has failed".to_owned());
        };
        match &found.judged {
            Judged::Fair => {}
            Judged::Invalid(why) => return BoundCheck::No(format!("the trial is invalid: {why}")),
            Judged::Late(why) => return BoundCheck::NotOffered(why.clone()),
            Judged::Client(why) => return BoundCheck::Client(why.clone()),
            Judged::Disturbed(why) => return BoundCheck::Untold(why.clone()),
        }
        match (self.broken(found), &found.disturbed) {
            (None, _) => BoundCheck::Yes,
            (Some(_), Some(by)) => BoundCheck::Untold(by.clone()),
            (Some(why), None) => BoundCheck::No(why),
        }
    }

    /// What a trial tells that gave no answer, since it was disturbed: what was kept all the same
    /// can be kept, what not even the median kept is too much, and more than was done when far more
    /// was offered cannot be had.
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

    /// Which part of it a trial did not keep to.
    fn broken(&self, found: &TrialOutcome) -> Option<String> {
        let percent = |share: f64| significant(share * 100.0, 2);
        if found.shortfall > SHORTFALL_MAX {
            let less = percent(found.shortfall);
            return Some(format!("{less} % less was done than was offered"));
        }
        if found.error_share > self.errors {
            let failed = percent(found.error_share);
            return Some(format!("{failed} % of the operations failed"));
        }
        let value = found.latency_ms.of(self.of).value;
        // What is only known to be at least so much had no end that anybody saw.
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
                "{} compactions were pending at the end, over {most}",
                whole(pending)
            )),
            (None, _) if found.pending_grew => Some("pending compactions grew".to_owned()),
            _ => None,
        }
    }

    /// Whether the percentile is so near the bound that its interval has both sides of it.
    pub fn is_near(&self, found: &TrialOutcome) -> bool {
        let interval = found.latency_ms.of(self.of).ci95;
        interval.is_some_and(|[low, high]| low <= self.ms && self.ms < high)
    }

    /// In words: `p99 within 10 ms`.
    pub fn words(&self) -> String {
        let pending = self.pending.map_or(String::new(), |most| {
            format!(" and at most {most} pending compactions")
        });
        format!("{} within {} ms{pending}", self.of.words(), self.ms)
    }
}
