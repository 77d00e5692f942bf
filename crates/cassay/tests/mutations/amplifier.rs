//! Makes inputs that repeat a small part many times. Such inputs are valid texts that could make a
//! reader use all memory or time.
//!
//! The amplifier treats texts in all languages in the same way. It repeats a part up to a size
//! (unchanged, or with another number each time), nests a part, or makes it longer. It also
//! replaces a number by a large number, and defines a name by itself.

use crate::mutator::Mutator;

/// Large numbers, which a reader may take for a count.
const LARGE: [&str; 6] = [
    "65536",
    "1000000",
    "1000000000",
    "4294967295",
    "1000000000000000000",
    "1e308",
];

/// Opening and closing texts in the languages of cassay and of other tools.
const PAIRS: [(&str, &str); 5] = [
    ("[", "]"),
    ("{a: ", "}"),
    ("(", ")"),
    ("<a>", "</a>"),
    ("{\"a\":", "}"),
];

/// Returns one amplified text of about `bytes`.
pub fn amplified(dice: &mut Mutator, text: &[u8], bytes: usize) -> Vec<u8> {
    let text = String::from_utf8_lossy(text).into_owned();
    match dice.below(7) {
        0 => repeated(&text, &line(dice, &text), bytes, false),
        1 => repeated(&text, &line(dice, &text), bytes, true),
        2 => repeated(&text, &item(dice, &text), bytes, true),
        3 => repeated(&text, &word(dice, &text), bytes, false),
        4 => nested(dice, &text, bytes),
        5 => self_defined(dice, &text, bytes),
        _ => enlarged(dice, &text),
    }
    .into_bytes()
}

/// Returns the parts of a text between separators, each with its offset.
fn parts<'t>(text: &'t str, is_between: fn(char) -> bool) -> Vec<(usize, &'t str)> {
    let of = |part: &'t str| (part.as_ptr() as usize - text.as_ptr() as usize, part);
    let parts = text.split(is_between).map(of);
    parts.filter(|(_, part)| !part.trim().is_empty()).collect()
}

/// The part to repeat, and the separator between its copies.
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

/// Returns a random item of a list in the text.
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

/// Repeats a part of the text until the whole text has about `bytes` bytes. If `numbered`, the
/// first word of each copy gets a separate number, so that all copies are different.
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

/// Nests a word of the text in as many brackets as fit.
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

/// Ways to define a name by a value in which the name occurs twice: of shells, of YAML, of
/// templates, of properties, of CQL, and of macros. A reader that expands such definitions doubles
/// the value on each line.
const DEFINITIONS: [&str; 6] = [
    "NAME=$NAME$NAME",
    "NAME: &NAME [*NAME, *NAME]",
    "NAME: TEMPLATE(NAME,TEMPLATE(NAME,a)TEMPLATE(NAME,a))",
    "NAME=${NAME}${NAME}",
    "NAME = NAME + NAME",
    "NAME=<<NAME:a>><<NAME:a>>",
];

/// Repeats a line that defines a word of the text by itself. The repeated lines come before a
/// random line of the text.
fn self_defined(dice: &mut Mutator, text: &str, bytes: usize) -> String {
    let name = text[word(dice, text).range].to_owned();
    let definition = DEFINITIONS[dice.below(DEFINITIONS.len())].replace("NAME", &name) + "\n";
    let lines = definition.repeat(bytes / definition.len());
    let from = line(dice, text).range.start;
    format!("{}{lines}{}", &text[..from], &text[from..])
}

/// Enlarges one number of the text, or all numbers.
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
