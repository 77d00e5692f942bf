//! The top of a page: question, answer, verdict and key numbers.

use super::{LeadFigure, Verdict};

/// Question, answer and verdict.
#[derive(Clone, Debug)]
pub struct Headline {
    /// Name of the study or of the comparison.
    pub study: String,
    /// Facts about the run: its name, time, length and scale.
    pub facts: Vec<(String, String)>,
    /// Question of the study, in the user's words.
    pub question: String,
    /// Figure that answers the question at a glance. `None` for a run without measurements.
    pub lead: Option<LeadFigure>,
    /// Sentences of the answer that the reader must see first, because data was lost or a
    /// requirement was missed. These sentences are also the beginning of the answer.
    pub alarms: Vec<String>,
    /// Answer to the question, one sentence each.
    pub answer: Vec<String>,
    /// Verdict on the answer.
    pub verdict: Verdict,
    /// True if a requirement was missed.
    pub is_missed: bool,
    /// Meaning of the verdict, in one sentence.
    pub meaning: String,
    /// Reasons why the run is not `valid`. Each has a few words. Causes come first.
    pub short_reasons: Vec<String>,
    /// Reasons why the run is not `valid`. Each is a sentence with all numbers.
    pub reasons: Vec<String>,
    /// Key numbers of the run.
    pub figures: Vec<Figure>,
    /// Proposed next step. `None` if the question is answered.
    pub next: Option<NextStep>,
}

/// Next step.
#[derive(Clone, Debug)]
pub struct NextStep {
    /// Purpose and duration of the step, such as `With a warm-up of 1 min (about 8 min)`.
    pub says: String,
    /// Command that runs the step.
    pub command: String,
}

/// One key number of a run.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Name of the number.
    pub label: String,
    /// Formatted value of the number.
    pub value: String,
    /// Unit of the number.
    pub unit: String,
    /// Error of the number, and other details.
    pub detail: String,
    /// Index of the variant that determines the colour.
    pub variant: Option<usize>,
}
