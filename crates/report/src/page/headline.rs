//! What stands above everything else: question, answer, verdict and the few numbers to remember.

use super::{LeadFigure, Verdict};

/// Question, answer and verdict.
#[derive(Clone, Debug)]
pub struct Headline {
    /// Name of the study or of the comparison.
    pub study: String,
    /// Which run, when, how long, at which scale.
    pub facts: Vec<(String, String)>,
    /// The question, in the user's words.
    pub question: String,
    /// What answers it at a glance; none of a run that has measured nothing.
    pub lead: Option<LeadFigure>,
    /// The sentences of the answer that must be seen before anything else: data was lost, or a
    /// requirement was missed. The answer begins with them.
    pub alarms: Vec<String>,
    /// The answer, one sentence each.
    pub answer: Vec<String>,
    /// Whether it may be believed.
    pub verdict: Verdict,
    /// Whether a requirement was missed.
    pub is_missed: bool,
    /// What the verdict means, in one sentence.
    pub meaning: String,
    /// Why it is not `valid`, in few words each: the causes first.
    pub short_reasons: Vec<String>,
    /// The same with all numbers, one sentence each.
    pub reasons: Vec<String>,
    /// The few numbers to remember.
    pub figures: Vec<Figure>,
    /// What to run next; none where the question has its answer.
    pub next: Option<NextStep>,
}

/// What to run next.
#[derive(Clone, Debug)]
pub struct NextStep {
    /// What for, and how long it takes: `With a warm-up of 1 min (about 8 min)`.
    pub says: String,
    /// The command.
    pub command: String,
}

/// One number to remember.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What it is.
    pub label: String,
    /// The number.
    pub value: String,
    /// Its unit.
    pub unit: String,
    /// Its error and what else belongs to it.
    pub detail: String,
    /// Index of the variant, for its colour.
    pub variant: Option<usize>,
}
