//! Inputs in which little is said many times over: what makes a reader take all memory or all time
//! though nothing in it is false.
//!
//! Every text is amplified in the same ways, whatever it is a text of: each part that it has is
//! repeated up to a size, as it is and with another number each time, nested, or made longer, and
//! each number is made a large one.

use crate::mutator::Mutator;

/// Numbers that may be a count of something.
const LARGE: [&str; 6] = [
    "65536",
    "1000000",
    "1000000000",
    "4294967295",
    "1000000000000000000",
    "1e308",
];

/// What opens and closes something in a language of ours, or of others.
const PAIRS: [(&str, &str); 5] = [
    ("[", "]"),
    ("{a: ", "}"),
    ("(", ")"),
    ("<a>", "</a>"),
    ("{\"a\":", "}"),
];

/// One amplified text of about `bytes`.
pub fn amplified(dice: &mut Mutator, text: &[u8], bytes: usize) -> Vec<u8> {
    let text = String::from_utf8_lossy(text).into_owned();
    match dice.below(6) {
        0 => repeated(&text, &line(dice, &text), bytes, false),
        1 => repeated(&text, &line(dice, &text), bytes, true),
        2 => repeated(&text, &item(dice, &text), bytes, true),
        3 => repeated(&text, &word(dice, &text), bytes, false),
        4 => nested(dice, &text, bytes),
        _ => enlarged(dice, &text),
    }
    .into_bytes()
}

/// The parts of a text between separators, each with its place.
fn parts<'t>(text: &'t str, is_between: fn(char) -> bool) -> Vec<(usize, &'t str)> {
    let of = |part: &'t str| (part.as_ptr() as usize - text.as_ptr() as usize, part);
    let parts = text.split(is_between).map(of);
    parts.filter(|(_, part)| !part.trim().is_empty()).collect()
}

/// Where something stands that is to be repeated, and what is to stand between two of them.
struct Part {
    range: std::ops::Range<usize>,
    between: &'static str,
}

fn part(
    dice: &mut Mutator,
    text: &str,
    is_between: fn(char) -> bool,
    between: &'static str,
) -> Part {
    let parts = parts(text, is_between);
    let (at, length) = if parts.is_empty() {
        (0, text.len())
    } else {
        let (at, part) = parts[dice.below(parts.len())];
        (at, part.len())
    };
    let range = at..at + length;
    Part { range, between }
}

fn line(dice: &mut Mutator, text: &str) -> Part {
    part(dice, text, |c| c == '\n', "\n")
}

/// Of a list on one line.
fn item(dice: &mut Mutator, text: &str) -> Part {
    part(
        dice,
        text,
        |c| matches!(c, ',' | '[' | ']' | '{' | '}' | '(' | ')' | '\n'),
        ", ",
    )
}

fn word(dice: &mut Mutator, text: &str) -> Part {
    part(dice, text, |c| !c.is_alphanumeric(), "")
}

/// The text with a part of it so often that all of it has about `bytes`. `numbered`: the first word
/// of each has a number of its own, so that no two are the same.
fn repeated(text: &str, part: &Part, bytes: usize, numbered: bool) -> String {
    let once = &text[part.range.clone()];
    let count = bytes / (once.len() + part.between.len()).max(1);
    let is_of_word = |c: char| c.is_alphanumeric() || c == '_';
    let from = once.find(is_of_word).unwrap_or(0);
    let ends = once[from..].find(|c| !is_of_word(c));
    let (head, tail) = once.split_at(ends.map_or(once.len(), |ends| from + ends));
    let mut out = String::with_capacity(bytes + text.len() + 8 * count);
    out += &text[..part.range.start];
    for number in 0..count {
        out += head;
        if numbered {
            out += &number.to_string();
        }
        out += tail;
        out += part.between;
    }
    out += &text[part.range.start..];
    out
}

/// A word of the text within as many brackets as there is room for.
fn nested(dice: &mut Mutator, text: &str, bytes: usize) -> String {
    let Part { range, .. } = word(dice, text);
    let (opens, closes) = PAIRS[dice.below(PAIRS.len())];
    let depth = bytes / (opens.len() + closes.len());
    let (opens, closes) = (opens.repeat(depth), closes.repeat(depth));
    let inside = &text[range.clone()];
    format!(
        "{}{opens}{inside}{closes}{}",
        &text[..range.start],
        &text[range.end..]
    )
}

/// One or all of the numbers made large.
fn enlarged(dice: &mut Mutator, text: &str) -> String {
    let is_digit = |c: char| c.is_ascii_digit();
    let starts: Vec<usize> = text
        .char_indices()
        .filter(|(at, c)| is_digit(*c) && !text[..*at].chars().next_back().is_some_and(is_digit))
        .map(|(at, _)| at)
        .collect();
    let all = dice.below(4) == 0;
    let only = starts.get(dice.below(starts.len())).copied();
    let large = LARGE[dice.below(LARGE.len())];
    let mut out = String::new();
    let mut at = 0;
    for start in starts {
        if !all && Some(start) != only {
            continue;
        }
        let length = text[start..].find(|c| !is_digit(c));
        out += &text[at..start];
        out += large;
        at = length.map_or(text.len(), |length| start + length);
    }
    out + &text[at..]
}
