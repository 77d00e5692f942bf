//! Mistakes in a text. Each has a message, a place in the text, and advice.
//!
//! cassay collects all mistakes before it shows the first one. A mistake may be in a file or on the
//! command line (`--set`, `cassay stress`). Files and the command line are texts with a name, so
//! their mistakes are shown in the same way.

use crate::secret_mask::without_secrets;
use std::fmt;
use std::ops::Range;

/// A text to which the places of mistakes refer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// Path of the file, or `command line` for the command line.
    pub name: String,
    /// The whole text of the source.
    pub text: String,
}

/// A place in a text, given by the source and a range of bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Index of the source. The main file has index 0.
    pub source: usize,
    /// Range of bytes in the source's text, on character boundaries.
    pub span: Range<usize>,
}

/// A mistake in a text, with its place and with advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Description of the mistake, including the wrong value and the limit that the value violates.
    pub message: String,
    /// Place of the mistake in the text.
    pub place: Place,
    /// Number of the line in the source, counted from 1.
    pub line: usize,
    /// Number of the column in the line, in characters, counted from 1.
    pub column: usize,
    /// Advice on how to correct the mistake.
    pub hint: Option<String>,
    /// True if the line contains a secret. Messages never show such a line.
    pub secret: bool,
}

/// Maximum number of mistakes in one text. More mistakes do not help a reader, and finding them
/// would take time.
const MISTAKES_MAX: usize = 200;

/// The mistakes of a text: at most 200, and a note if there are more. When this value is returned
/// as an error, the list is not empty, and is sorted by place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics {
    /// The sources to which the places refer.
    pub sources: Vec<SourceText>,
    /// Mistakes of the text, in the order in which they were added.
    pub list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Creates an empty list for these sources.
    pub fn new(sources: Vec<SourceText>) -> Diagnostics {
        Diagnostics {
            sources,
            list: Vec::new(),
        }
    }

    /// Returns true if the list has no mistakes.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns true if the text has more mistakes than are shown. The caller can then stop
    /// searching.
    pub fn is_full(&self) -> bool {
        self.list.len() > MISTAKES_MAX
    }

    /// Adds a mistake, unless the same mistake is already recorded for this place. Mistakes can
    /// repeat, because a base setting is checked again under every variant and scale.
    pub fn add(&mut self, place: &Place, message: impl Into<String>, hint: Option<String>) {
        self.push(place, message.into(), hint, false);
    }

    /// Adds a mistake like [`Diagnostics::add`], but for a line that contains a secret.
    pub fn add_secret(&mut self, place: &Place, message: String, hint: Option<String>) {
        self.push(place, message, hint, true);
    }

    fn push(&mut self, place: &Place, message: String, hint: Option<String>, secret: bool) {
        let known = |d: &Diagnostic| d.place == *place && d.message == message;
        if self.is_full() || self.list.iter().any(known) {
            return;
        }
        let (message, hint) = if self.list.len() == MISTAKES_MAX {
            (
                "the text has more mistakes than this list shows".to_owned(),
                None,
            )
        } else {
            let masked = |text: String| without_secrets(&text).into_owned();
            (masked(message), hint.map(masked))
        };
        let text = self.sources.get(place.source).map_or("", |s| s.text.as_str());
        let (line, column) = line_and_column(text, place.span.start);
        self.list.push(Diagnostic {
            message,
            place: place.clone(),
            line,
            column,
            hint,
            secret,
        });
    }

    /// Adds the mistakes of another text, with their sources.
    pub fn absorb(&mut self, other: Diagnostics) {
        let offset = self.sources.len();
        self.sources.extend(other.sources);
        self.list.extend(other.list.into_iter().map(|mut mistake| {
            mistake.place.source += offset;
            mistake
        }));
    }

    /// Returns the mistakes as an error, in the order of the text. Returns `Ok` if the list is
    /// empty.
    pub fn into_result(mut self) -> Result<(), Diagnostics> {
        if self.list.is_empty() {
            return Ok(());
        }
        self.list
            .sort_by_key(|d| (d.place.source, d.place.span.start, d.place.span.end));
        Err(self)
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for diagnostic in &self.list {
            let name = self.sources.get(diagnostic.place.source).map_or("", |s| s.name.as_str());
            let Diagnostic {
                message,
                line,
                column,
                ..
            } = diagnostic;
            writeln!(f, "{name}:{line}:{column}: {message}")?;
            if let Some(hint) = &diagnostic.hint {
                writeln!(f, "  hint: {hint}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}

/// Returns the line and the column (in characters) of a byte offset, both counted from 1. An offset
/// beyond the end of the text is treated as the end.
pub fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[line_start..].chars().count() + 1)
}

/// Returns `did you mean …?` if a name in `known` is similar to `written`. Otherwise returns a text
/// that lists these names, or `None` if there are no names.
pub fn did_you_mean<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.into_iter().collect();
    near_name(written, known.iter().copied())
        .or_else(|| (!known.is_empty()).then(|| format!("known here: {}", known.join(", "))))
}

/// Returns `did you mean …?` if a name in `known` is similar to `written`.
pub fn near_name<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    // A Jaro-Winkler similarity of at least 0.8 indicates a typing error. With a lower similarity,
    // a guess would mislead.
    const SIMILARITY_MIN: f64 = 0.8;
    // The names of Cassandra and of other tools are shorter. The comparison takes quadratic time.
    const LENGTH_MAX: usize = 200;
    if written.len() > LENGTH_MAX {
        return None;
    }
    let written = written.to_lowercase();
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&written, &name.to_lowercase()), name))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, near)| format!("did you mean `{near}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_in_characters() {
        assert_eq!(line_and_column("ab\nµxy", "ab\nµ".len()), (2, 2));
        assert_eq!(line_and_column("ab", 99), (1, 3));
        assert_eq!(line_and_column("µ", 1), (1, 1));
    }

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        let known = ["workload", "window", "variants"];
        assert_eq!(
            did_you_mean("worklaod", known).as_deref(),
            Some("did you mean `workload`?")
        );
        assert_eq!(
            did_you_mean("zzz", known).as_deref(),
            Some("known here: workload, window, variants")
        );
        assert_eq!(did_you_mean("zzz", []), None);
    }

    #[test]
    fn mistakes_end_where_nobody_reads_on() {
        let mut diagnostics = Diagnostics::new(Vec::new());
        (0..1000).for_each(|n| diagnostics.add(&Place::default(), n.to_string(), None));
        assert_eq!(diagnostics.list.len(), 201);
        let last = &diagnostics.list[200].message;
        assert_eq!(last, "the text has more mistakes than this list shows");
    }

    #[test]
    fn the_same_mistake_at_the_same_place_is_said_once() {
        let mut diagnostics = Diagnostics::new(Vec::new());
        diagnostics.add(&Place::default(), "x", None);
        diagnostics.add(&Place::default(), "x", None);
        diagnostics.add(&Place::default(), "y", None);
        assert_eq!(diagnostics.list.len(), 2);
    }
}
