//! A line of text with tones, measured in terminal columns.
//!
//! A text enters a line through [`shown()`], as a single line. So the only control sequences in a
//! line are cassay's own colours. Widths are columns, not characters or bytes.

use super::escape::shown;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const CUT: &str = "…";

/// Style of a part of a text. The words of the text always express the same meaning as the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Normal text.
    Plain,
    /// Prominent text.
    Strong,
    /// Secondary text.
    Faint,
    Good,
    /// A warning, or a doubtful result.
    Warn,
    /// A result that is broken or not credible.
    Bad,
    /// A part of a curve.
    Curve,
}

impl Tone {
    /// Returns the SGR code of the tone.
    fn code(self) -> Option<&'static str> {
        match self {
            Tone::Plain => None,
            Tone::Strong => Some("1"),
            Tone::Faint => Some("2"),
            Tone::Good => Some("32"),
            Tone::Warn => Some("33"),
            Tone::Bad => Some("1;31"),
            Tone::Curve => Some("36"),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line(Vec<(Tone, String)>);

impl Line {
    /// Creates a line of plain text.
    pub fn from_text(text: &str) -> Line {
        Line::default().with(Tone::Plain, text)
    }

    /// Appends a text with a tone.
    #[must_use]
    pub fn with(mut self, tone: Tone, text: &str) -> Line {
        let one_line = text.replace(['\n', '\t'], " ");
        self.0.push((tone, shown(&one_line).into_owned()));
        self
    }

    /// Appends another line.
    #[must_use]
    pub fn then(mut self, other: Line) -> Line {
        self.0.extend(other.0);
        self
    }

    /// Returns the width of the line in columns.
    pub fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.width()).sum()
    }

    /// Pads the line with spaces to a width, or shortens the line to this width.
    #[must_use]
    pub fn fitted(self, columns: usize) -> Line {
        let width = self.width();
        if width <= columns {
            return self.with(Tone::Plain, &" ".repeat(columns - width));
        }
        let mut left = columns;
        let mut cut = Line::default();
        for (tone, text) in self.0 {
            let shorter = if text.width() < left {
                text
            } else {
                // The line ends with the cut mark, because more text follows or this text is too
                // long.
                cut_at(&text, left)
            };
            left -= shorter.width();
            cut.0.push((tone, shorter));
            if left == 0 {
                break;
            }
        }
        cut.with(Tone::Plain, &" ".repeat(left))
    }

    /// Returns the text without tones.
    pub fn plain(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Returns the text with escape sequences for a terminal.
    pub fn ansi(&self, has_colour: bool) -> String {
        let piece = |(tone, text): &(Tone, String)| match tone.code() {
            Some(code) if has_colour => format!("\x1b[{code}m{text}\x1b[0m"),
            _ => text.clone(),
        };
        self.0.iter().map(piece).collect()
    }
}

/// Shortens a text to at most `columns` columns, with a cut mark at its end.
pub fn shortened(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        text.to_owned()
    } else {
        cut_at(text, columns)
    }
}

/// Shortens a name to at most `columns` columns. This function omits the middle of the name: the
/// names of one run differ at the start (a variant) and at the end (a block).
pub fn shortened_name(name: &str, columns: usize) -> String {
    if name.width() <= columns {
        return name.to_owned();
    }
    let mut left = columns.saturating_sub(1) / 2;
    let begin = cut_at(name, columns - left);
    let fits = |c: &char| {
        let width = c.width().unwrap_or(0);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    let end: Vec<char> = name.chars().rev().take_while(fits).collect();
    begin + &end.into_iter().rev().collect::<String>()
}

/// Returns the beginning of a text, followed by a cut mark. The result has at most `columns`
/// columns.
fn cut_at(text: &str, columns: usize) -> String {
    let mut left = columns.saturating_sub(1);
    let fits = |c: &char| {
        let width = c.width().unwrap_or(0);
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    let begin: String = text.chars().take_while(fits).collect();
    let sign = if columns == 0 { "" } else { CUT };
    begin.trim_end().to_owned() + sign
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_in_its_middle() {
        let name = "one-socket-per-vcpu, 112 threads, block 3";
        assert_eq!(shortened_name(name, 60), name);
        assert_eq!(shortened_name(name, 24), "one-socket-p…ds, block 3");
        assert_eq!(shortened_name(name, 24).width(), 24);
        assert!(shortened_name("名前名前名前", 7).width() <= 7);
        assert_eq!(shortened_name(name, 0), "");
    }

    #[test]
    fn a_line_is_as_wide_as_it_is_asked_to_be() {
        for (text, columns, expected) in [
            ("abc", 5, "abc  "),
            ("abcdef", 4, "abc…"),
            ("表表表", 4, "表… "),
            ("abc", 0, ""),
        ] {
            let line = Line::from_text(text).fitted(columns);
            assert_eq!(line.plain(), expected);
            assert_eq!(line.width(), columns, "{text}");
        }
        let two = Line::from_text("ab").with(Tone::Bad, "cdef").fitted(4);
        assert_eq!(two.plain(), "abc…");
        assert_eq!(
            Line::from_text("ab").with(Tone::Bad, "cd").fitted(4).plain(),
            "abcd"
        );
    }

    #[test]
    fn no_text_of_others_commands_the_terminal_or_breaks_the_line() {
        let line = Line::from_text("a\x1b[2Jb\nc");
        assert_eq!(line.ansi(true), "a\\u{1b}[2Jb c");
        assert_eq!(line.width(), 13);
    }

    #[test]
    fn colours_are_left_out_where_they_are_not_wanted() {
        let line = Line::from_text("it is ").with(Tone::Warn, "suspect");
        assert_eq!(line.ansi(true), "it is \x1b[33msuspect\x1b[0m");
        assert_eq!(line.ansi(false), "it is suspect");
    }
}
