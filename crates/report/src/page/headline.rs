//! Model of the top of a page: question, answer, verdict and key numbers.

use super::{LeadFigure, Verdict};

#[derive(Clone, Debug)]
pub struct Headline {
    pub study: String,
    /// Facts about the run, such as its name, time, length and scale, as pairs of name and value.
    pub facts: Vec<(String, String)>,
    /// Question of the study, in the user's words.
    pub question: String,
    pub lead: Option<LeadFigure>,
    /// Sentences that the reader must see first, because data was lost or a requirement was missed.
    /// The answer begins with the same sentences.
    pub alarms: Vec<String>,
    pub answer: Vec<String>,
    pub verdict: Verdict,
    pub is_missed: bool,
    pub meaning: String,
    /// Reasons why the run is not `valid`, in a few words each. Causes precede their effects.
    pub short_reasons: Vec<String>,
    /// Reasons why the run is not `valid`, as full sentences with all numbers.
    pub reasons: Vec<String>,
    pub figures: Vec<Figure>,
    /// Next step that cassay proposes to the user. `None` if cassay proposes nothing.
    pub next: Option<NextStep>,
}

#[derive(Clone, Debug)]
pub struct NextStep {
    /// Purpose and duration of the step, such as `With a warm-up of 1 min (about 8 min)`.
    pub says: String,
    pub command: String,
}

#[derive(Clone, Debug)]
pub struct Figure {
    pub label: String,
    pub value: String,
    pub unit: String,
    /// Error of the number, and further details. The text may be empty.
    pub detail: String,
    /// Index of the variant, which determines the colour. `None` if the number belongs to no
    /// variant.
    pub variant: Option<usize>,
}
