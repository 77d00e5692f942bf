//! Model of the top of a page: question, answer, verdict and key numbers.

use super::{LeadFigure, Verdict};

/// Top of a page, with the question, the answer and the verdict.
#[derive(Clone, Debug)]
pub struct Headline {
    /// Name of the study or of the comparison.
    pub study: String,
    /// Facts about the run, such as its name, time, length and scale, as pairs of name and value.
    pub facts: Vec<(String, String)>,
    /// Question of the study, in the user's words.
    pub question: String,
    /// Figure that answers the question at a glance. `None` if there are no measurements to show.
    pub lead: Option<LeadFigure>,
    /// Sentences that the reader must see first, because data was lost or a requirement was missed.
    /// The answer begins with the same sentences.
    pub alarms: Vec<String>,
    /// Sentences of the answer to the question.
    pub answer: Vec<String>,
    /// Verdict on the answer.
    pub verdict: Verdict,
    /// True if a requirement was missed.
    pub is_missed: bool,
    /// Meaning of the verdict, in one sentence.
    pub meaning: String,
    /// Reasons why the run is not `valid`, in a few words each. Causes precede their effects.
    pub short_reasons: Vec<String>,
    /// Reasons why the run is not `valid`, as full sentences with all numbers.
    pub reasons: Vec<String>,
    /// Key numbers of the run.
    pub figures: Vec<Figure>,
    /// Next step that cassay proposes to the user. `None` if cassay proposes nothing.
    pub next: Option<NextStep>,
}

/// A next step that cassay proposes to the user.
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
    /// Error of the number, and further details. The text may be empty.
    pub detail: String,
    /// Index of the variant, which determines the colour. `None` if the number belongs to no
    /// variant.
    pub variant: Option<usize>,
}
