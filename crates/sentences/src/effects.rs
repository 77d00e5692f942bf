//! Describes the effects of a matrix's axes, at the primary point only.
//!
//! If two axes interact, the average effect of one axis over the other does not apply to any
//! configuration. So the interaction is stated first, with the effect of one axis at each value of
//! the other axis.

use crate::comparison::settle;
use crate::interval::Ratio;
use crate::result_place::{metric_words, where_words};
use analysis::effects::Interaction;
use measure::number::listed;
use store::record::{
    AxisRecord, EffectKind, EffectRecord, EffectVerdict, EffectsRecord, Finding, LevelRecord,
    WithoutInterval,
};

/// Describes the effects of the axes at the primary point of each step.
pub fn sentences(all: &[EffectsRecord]) -> Vec<String> {
    let primary = all.iter().filter(|effects| effects.primary);
    primary.flat_map(|effects| Words { effects }.all()).collect()
}

struct Words<'a> {
    effects: &'a EffectsRecord,
}

/// Text of one sentence. If needed, the first letter is capitalized later.
enum Clause {
    /// The text begins with a name, whose spelling must not change.
    Name(String),
    /// The text begins with a word, which is capitalized at the beginning of a sentence.
    Word(String),
}

impl Clause {
    fn alone(self) -> String {
        match self {
            Clause::Name(text) => text,
            Clause::Word(text) => {
                let mut letters = text.chars();
                let first: Vec<char> =
                    letters.next().into_iter().flat_map(char::to_uppercase).collect();
                first.into_iter().chain(letters).collect()
            }
        }
    }

    fn after(self, beginning: &str) -> String {
        match self {
            Clause::Name(text) | Clause::Word(text) => format!("{beginning}{text}"),
        }
    }
}

impl Words<'_> {
    fn all(&self) -> Vec<String> {
        let main = self.with_kind(EffectKind::Main);
        let mut clauses: Vec<Clause> = self.interactions().into_iter().map(Clause::Name).collect();
        clauses.extend(main.map(|effect| Clause::Name(self.main(effect))));
        let others = [
            self.without_interaction(),
            self.unresolved(),
            self.without_interval(),
            self.over_looks(),
        ];
        clauses.extend(others.into_iter().flatten().map(Clause::Word));
        let place = where_words(&self.effects.metric, self.effects.point);
        let place = format!("{place}{}, ", self.step());
        let said = clauses.into_iter().enumerate();
        said.map(|(number, clause)| match number {
            0 => clause.after(&place),
            _ => clause.alone(),
        })
        .collect()
    }

    fn over_looks(&self) -> Option<String> {
        let is_so = self.effects.looks.is_some();
        is_so.then(|| {
            "these intervals are valid at all looks together, while the number of blocks grows."
                .to_owned()
        })
    }

    fn step(&self) -> String {
        let step = self.effects.step.as_ref();
        step.map_or_else(String::new, |step| format!(" of “{step}”"))
    }

    fn with_kind(&self, kind: EffectKind) -> impl Iterator<Item = &EffectRecord> {
        self.effects.effects.iter().filter(move |e| e.kind == kind)
    }

    fn acts(&self, verdict: Interaction) -> impl Iterator<Item = &EffectRecord> {
        self.with_kind(EffectKind::Interaction)
            .filter(move |e| e.verdict == EffectVerdict::Interaction(verdict))
    }

    /// Describes each pair of interacting axes. The text states the effect of one axis at each
    /// value of the other axis.
    fn interactions(&self) -> Vec<String> {
        let mut said: Vec<(&LevelRecord, &str, String)> = Vec::new();
        for effect in self.acts(Interaction::Matters) {
            let with = &with(effect).axis;
            if said.iter().any(|(of, axis, _)| **of == effect.of && axis == with) {
                continue;
            }
            let at_each = self
                .with_kind(EffectKind::Simple)
                .filter(|simple| simple.of == effect.of && self::with(simple).axis == *with)
                .map(|simple| {
                    let value = &self::with(simple).value;
                    format!("by {} where {with} is “{value}”", change(simple))
                });
            // If an axis has more than two values, a single ratio of ratios would be ambiguous, so
            // it is omitted.
            let is_two_by_two =
                self.with_kind(EffectKind::Interaction).filter(|e| is_pair(e, effect));
            let how_much = match is_two_by_two.count() {
                1 => format!(": a ratio of ratios of {}", Ratio::from(effect).number()),
                _ => String::new(),
            };
            let sentence = format!(
                "{of} and {with} interact: {what} changes {metric} {each}{how_much}.",
                of = effect.of.axis,
                metric = self.metric(),
                what = instead(&effect.of),
                each = listed(&at_each.collect::<Vec<_>>()),
            );
            said.push((&effect.of, with, sentence));
        }
        said.into_iter().map(|(_, _, sentence)| sentence).collect()
    }

    fn metric(&self) -> &str {
        metric_words(&self.effects.metric)
    }

    fn main(&self, effect: &EffectRecord) -> String {
        let axis = &effect.of.axis;
        let others: Vec<&str> = self.axes().filter(|name| *name != axis).collect();
        let others = listed(&others);
        let acts = |e: &EffectRecord| e.of.axis == *axis || with(e).axis == *axis;
        let acting: Vec<&str> = self
            .axes()
            .filter(|name| {
                *name != axis
                    && self.acts(Interaction::Matters).any(|e| acts(e) && concerns(e, name))
            })
            .collect();
        let (what, metric) = (instead(&effect.of), self.metric());
        let average = if acting.is_empty() {
            format!("on average over {others}")
        } else {
            format!("on average over {others}, which hides the interaction")
        };
        let change = change(effect);
        match effect.verdict {
            EffectVerdict::Ratio(Finding::Faster | Finding::Slower) => {
                format!("{axis}: {what} changes {metric} by {change}, {average}.")
            }
            EffectVerdict::Ratio(Finding::Equivalent) => format!(
                "{axis}: {what} makes no relevant difference to {metric}: {change}, {average}."
            ),
            // The interval of this effect alone excludes 1. The effect is undecided only because of
            // the number of effects.
            _ if leaves_one_out(effect) => format!(
                "{axis}: {what} changes {metric} by {change}, {average}, if this were the only \
                 comparison. Among the {} comparisons here, the change may be due to chance{}.",
                self.effects.effects.len(),
                settle(effect.blocks_to_settle)
            ),
            _ => format!(
                "{axis}: the run does not show whether {what} changes {metric}: {}, {average}{}.",
                open_change(effect),
                settle(effect.blocks_to_settle)
            ),
        }
    }

    fn axes(&self) -> impl Iterator<Item = &str> {
        self.effects.axes.iter().map(|AxisRecord { name, .. }| name.as_str())
    }

    fn without_interaction(&self) -> Option<String> {
        let pairs = self.pairs(Interaction::Negligible);
        let margin = self.effects.margin * 100.0;
        (!pairs.is_empty()).then(|| {
            format!(
                "No relevant interaction (within ±{margin} %): {}.",
                pairs.join("; ")
            )
        })
    }

    fn unresolved(&self) -> Option<String> {
        let pairs = self.pairs(Interaction::NotResolved);
        let is_known = self.effects.without_interval.is_none() && !pairs.is_empty();
        is_known.then(|| {
            let blocks = self
                .acts(Interaction::NotResolved)
                .map(|e| e.blocks_to_settle)
                .collect::<Option<Vec<usize>>>()
                .and_then(|b| b.into_iter().max());
            let more = blocks.map_or_else(String::new, |n| format!("; {n} blocks would decide"));
            format!(
                "The run does not show whether these settings interact: {}{more}.",
                pairs.join("; ")
            )
        })
    }

    /// Returns the pairs of axes whose most serious interaction has the verdict `verdict`.
    fn pairs(&self, verdict: Interaction) -> Vec<String> {
        let mut pairs = Vec::new();
        for effect in self.acts(verdict) {
            let is_same = |e: &&EffectRecord| {
                e.of.axis == effect.of.axis && with(e).axis == with(effect).axis
            };
            let rank = |e: &EffectRecord| match e.verdict {
                EffectVerdict::Interaction(Interaction::Matters) => 2,
                EffectVerdict::Interaction(Interaction::NotResolved) => 1,
                _ => 0,
            };
            let worst = self.with_kind(EffectKind::Interaction).filter(is_same).map(rank).max();
            let name = format!(
                "{} “{}” with {} “{}”, {}",
                effect.of.axis,
                effect.of.value,
                with(effect).axis,
                with(effect).value,
                change(effect)
            );
            if worst == Some(rank(effect)) && rank(effect) < 2 {
                pairs.push(name);
            }
        }
        pairs
    }

    fn without_interval(&self) -> Option<String> {
        match self.effects.without_interval? {
            WithoutInterval::Sequential => Some(
                "no effect has an interval or a verdict, because the combinations were not \
                 interleaved (`repeat.order: interleaved`)."
                    .to_owned(),
            ),
            WithoutInterval::Blocks => Some(
                "no effect has an interval or a verdict, because that requires at least three \
                 blocks with every combination. Begin with five (`repeat.blocks: 5`)."
                    .to_owned(),
            ),
        }
    }
}

/// Returns the second axis of an interaction or a simple effect.
fn with(effect: &EffectRecord) -> &LevelRecord {
    effect.with.as_ref().unwrap_or(&effect.of)
}

fn is_pair(one: &EffectRecord, other: &EffectRecord) -> bool {
    one.of.axis == other.of.axis && with(one).axis == with(other).axis
}

fn concerns(effect: &EffectRecord, axis: &str) -> bool {
    effect.of.axis == axis || with(effect).axis == axis
}

/// Names the two compared values, such as `“large” instead of “small”`.
fn instead(level: &LevelRecord) -> String {
    format!("“{}” instead of “{}”", level.value, level.against)
}

/// Describes a difference with its interval, such as `+11.1 % (95 %: +10.6 to +11.6 %)`.
fn change(effect: &EffectRecord) -> String {
    let (change, interval) = Ratio::from(effect).change("95 %");
    change + &interval
}

/// Returns true if the interval of an effect excludes 1.
fn leaves_one_out(effect: &EffectRecord) -> bool {
    effect.ci95.is_some_and(|[low, high]| low > 1.0 || high < 1.0)
}

/// Describes an undecided difference, such as `+11.9 %, anything from -32.2 to +84.9 %`.
fn open_change(effect: &EffectRecord) -> String {
    let (change, _) = Ratio::from(effect).change("95 %");
    let open = effect
        .ci95
        .filter(|_| effect.bound.is_none())
        .map(|ends| format!(", anything from {}", measure::number::changes(ends)));
    match open {
        Some(open) => change + &open,
        None => self::change(effect),
    }
}
