//! Masks secrets in texts: in lines of sources, command lines, messages, notes and addresses.
//!
//! A value is a secret if its name marks it, or if it is the password of an address
//! `USER:PASSWORD@`. The functions find secrets in text that does not parse, because mistakes show
//! such text. In doubt, they mask more. The forms in which a study names the source of a secret
//! stay visible.

use crate::secret_name::{names_login_token, names_secret};
use std::borrow::Cow;
use std::ops::Range;

const MASK: &str = "***";

/// The two forms of text, which differ in the meaning of `: ` and of blanks.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// A sentence or a command line. It has `NAME=VALUE` and `NAME:VALUE`.
    Message,
    /// Lines of a file or a command line in an excerpt. They also have `NAME: VALUE` and
    /// `NAME VALUE`.
    Source,
}

/// Returns a message, a note, a command line or an address without secrets.
pub fn without_secrets(text: &str) -> Cow<'_, str> {
    let secrets = find(text, Form::Message);
    if secrets.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(replace(text, &secrets))
}

/// Returns the words of a command line without secrets. A password may be a separate word, after
/// `--password`, `password =` or `cassandra.password`.
pub fn words_without_secrets(words: &[String]) -> Vec<String> {
    let mut masked: Vec<String> = Vec::new();
    // `Some` after words that name a secret, until its value has come. The flag is true if an `=`
    // has come after the name.
    let mut open: Option<bool> = None;
    for word in words {
        let is_value = match open {
            Some(has_assignment) => word != "=" && (has_assignment || !word.starts_with('-')),
            None => false,
        };
        let name = word.trim_end_matches('=');
        // cassay's own option `--secret` names a source.
        let is_name = names_secret(name) && name != "--secret" && name.chars().all(is_name_part);
        open = match open {
            Some(_) if word == "=" => Some(true),
            _ if is_value => None,
            _ if is_name => Some(name.len() < word.len()),
            _ => None,
        };
        masked.push(if is_value {
            MASK.to_owned()
        } else {
            word_without_secrets(word)
        });
    }
    masked
}

fn word_without_secrets(word: &str) -> String {
    let name = word.split(['=', ':']).next().unwrap_or_default();
    let has_one = word.matches('=').count() <= 1 && name.len() < word.len();
    if has_one && names_secret(name) && name.chars().all(is_name_part) {
        // The rest of the word is the password, even if the password contains blanks.
        let value = &word[name.len() + 1..];
        if value.is_empty() || is_no_secret(name, value) {
            return word.to_owned();
        }
        return format!("{}{MASK}", &word[..=name.len()]);
    }
    let secrets = find(word, Form::Message);
    if secrets.is_empty()
        && let Some((name, _)) = word.split_once(' ')
        && names_secret(name)
        && name.contains('.')
        && name.chars().all(is_name_part)
    {
        return format!("{name} {MASK}");
    }
    replace(word, &secrets)
}

/// A source without secrets. The type also converts places in the original text to places in the
/// masked text.
#[derive(Debug)]
pub struct MaskedSource<'a> {
    original: &'a str,
    secrets: Vec<Range<usize>>,
}

impl<'a> MaskedSource<'a> {
    /// Finds the secrets of a source: a file, or a command line.
    pub fn new(original: &'a str) -> MaskedSource<'a> {
        MaskedSource {
            original,
            secrets: find(original, Form::Source),
        }
    }

    /// Returns the text without secrets. It has as many lines as the original text.
    pub fn text(&self) -> String {
        replace(self.original, &self.secrets)
    }

    /// Returns the place in the masked text for a place in the original text.
    pub fn place_of(&self, place: &Range<usize>) -> Range<usize> {
        self.offset(place.start, false)..self.offset(place.end.max(place.start), true)
    }

    fn offset(&self, original: usize, is_end: bool) -> usize {
        let mut offset = original;
        for secret in self.secrets.iter().rev() {
            if original >= secret.end {
                offset = offset + MASK.len() - secret.len();
            } else if original > secret.start {
                // The offset is within this secret, so it becomes the start or the end of the mask.
                // The next rounds account for the earlier secrets.
                let within = if is_end { MASK.len() } else { 0 };
                offset = offset - original + secret.start + within;
            }
        }
        offset
    }

    /// Returns a message about this source without the secrets that the message quotes.
    pub fn without_quoted(&self, message: &str) -> String {
        let mut out = message.to_owned();
        for secret in &self.secrets {
            let value = &self.original[secret.clone()];
            for value in [value, value.trim_matches(['\'', '"'])] {
                if value.is_empty() || !out.contains(value) {
                    continue;
                }
                for quote in ['`', '\'', '"'] {
                    let quoted = format!("{quote}{value}{quote}");
                    out = out.replace(&quoted, &format!("{quote}{MASK}{quote}"));
                }
            }
        }
        out
    }
}

fn replace(text: &str, secrets: &[Range<usize>]) -> String {
    let (mut out, mut copied) = (String::new(), 0);
    for secret in secrets {
        out += &text[copied..secret.start];
        out += MASK;
        copied = secret.end;
    }
    out + &text[copied..]
}

/// Returns the places of all secrets, in order and without overlaps. Each is within one line.
fn find(text: &str, form: Form) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    let mut start = 0;
    // Column of the key whose value continues in the next lines. `None` if no value continues.
    let mut open: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let body = line.trim_end();
        let content = body.trim_start();
        let indent = body.len() - content.len();
        let continues = |column: usize| {
            content.is_empty() || indent > column || (indent == column && content.starts_with("- "))
        };
        let mut found = Vec::new();
        if open.is_some_and(continues) {
            if !content.is_empty() && !names_source(content) {
                found.push(indent..body.len());
            }
        } else {
            open = add_named_values(body, form, &mut found);
        }
        addresses(body, &mut found);
        found.sort_by_key(|one| one.start);
        for one in found {
            let one = start + one.start..start + one.end;
            match all.last_mut() {
                Some(last) if last.end >= one.start => last.end = last.end.max(one.end),
                _ => all.push(one),
            }
        }
        start += line.len();
    }
    all
}

/// Adds the places of the values in a line whose name marks a secret. Returns the column of a key
/// whose value may continue in the next lines. Returns `None` if every value ends in this line.
fn add_named_values(line: &str, form: Form, found: &mut Vec<Range<usize>>) -> Option<usize> {
    let mut open = None;
    let mut from = 0;
    for (at, c) in line.char_indices() {
        if at < from {
            continue;
        }
        let rest = &line[at + c.len_utf8()..];
        let has_blank = rest.is_empty() || rest.starts_with([' ', '\t']);
        let value = rest.trim_start();
        let before = &line[..at];
        let is_name = match c {
            ':' => (form == Form::Source || !has_blank) && !rest.starts_with("//"),
            '=' => form == Form::Source || !has_blank || before.ends_with(' '),
            ' ' => form == Form::Source && !value.starts_with(['=', ':', '-']),
            _ => false,
        };
        if !is_name {
            continue;
        }
        let before = if c == ' ' { before } else { before.trim_end() };
        let before = before.strip_suffix(['\'', '"']).filter(|_| c != ' ').unwrap_or(before);
        let name = &before[before.trim_end_matches(is_name_part).len()..];
        // Without a separator, `pass`, `token` and `secret` are words of a sentence more often than
        // names.
        let is_word = c == ' ' && matches!(name, "pass" | "token" | "secret" | "--secret");
        if is_word || !names_secret(name) {
            continue;
        }
        let column = before.len() - name.len();
        let is_first = line[..column].trim_matches(['-', ' ', '\t', '\'', '"']).is_empty();
        if form == Form::Source && c == ':' && is_first {
            open = Some(column);
        }
        let begin = line.len() - value.len();
        let end = value_end(value, (c, has_blank), is_first && form == Form::Source);
        from = begin + end;
        if is_no_secret(name, &value[..end]) {
            // Only an empty value may continue in the next lines.
            open = open.filter(|_| value.is_empty());
        } else {
            found.push(begin..from);
        }
    }
    open
}

/// Returns the length of a value. `separator` is the character before it, and true if a blank
/// follows this character. `is_first` is true if the value's name begins the line.
fn value_end(value: &str, (separator, has_blank): (char, bool), is_first: bool) -> usize {
    match value.chars().next() {
        Some(quote @ ('\'' | '"')) => {
            let closed = value[1..].find(quote).map(|at| at + 2);
            // Another character after the quote is a part of the value, as is a doubled quote.
            let is_whole = |end: &usize| value[*end..].chars().next().is_none_or(ends_value);
            return closed.filter(is_whole).unwrap_or_else(|| {
                let last = value[1..].char_indices().filter(|(_, c)| *c == quote);
                let mut ends = last.map(|(at, _)| at + 2).skip(1);
                ends.find(|end| value[*end..].chars().next().is_none_or(ends_value))
                    .unwrap_or(value.len())
            });
        }
        Some('{' | '[') => {
            let mut depth = 0_usize;
            for (at, c) in value.char_indices() {
                match c {
                    '{' | '[' => depth += 1,
                    '}' | ']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                if depth == 0 {
                    return at + 1;
                }
            }
            return value.len();
        }
        _ => {}
    }
    if is_first && separator == ':' && has_blank {
        return value.len();
    }
    let spans_blanks = has_blank && separator == ':' || is_first && separator == '=';
    for (at, c) in value.char_indices() {
        let rest = &value[at + c.len_utf8()..];
        let is_end = match c {
            ' ' | '\t' if !spans_blanks => true,
            ' ' if separator == '=' => rest.starts_with('-') || begins_with_name(rest),
            ',' => rest.is_empty() || rest.starts_with([' ', '\'', '"']) || begins_with_name(rest),
            '\'' | '"' | '`' | '}' | ']' | ')' => rest.chars().next().is_none_or(ends_value),
            _ => false,
        };
        if is_end {
            return at;
        }
    }
    value.len()
}

/// Returns true for a character that can follow a complete value.
fn ends_value(c: char) -> bool {
    c.is_whitespace() || ",.;:)]}'\"`".contains(c)
}

fn begins_with_name(text: &str) -> bool {
    let rest = text.trim_start_matches(is_name_part);
    rest.len() < text.len() && rest.starts_with(['=', ':'])
}

fn is_name_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.".contains(c)
}

/// Returns true if the value of a name that marks secrets is not a secret. Such a value is empty, a
/// mask or placeholder, the source of a secret, or a position on Cassandra's ring.
fn is_no_secret(name: &str, value: &str) -> bool {
    let inner = value.strip_prefix('{').and_then(|inner| inner.strip_suffix('}'));
    let is_ring_token = || names_login_token(name) && value.parse::<i64>().is_ok();
    matches!(value, "" | MASK | "…" | "?")
        || inner.is_some_and(|inner| names_source(inner.trim()))
        || is_ring_token()
}

/// Returns true if a text is `secret: NAME`, `file: PATH` or `env: NAME`.
fn names_source(text: &str) -> bool {
    text.split_once(':').is_some_and(|(kind, source)| {
        let source = source.split(" #").next().unwrap_or_default().trim();
        matches!(kind, "secret" | "file" | "env") && !source.contains([',', '{', '['])
    })
}

/// Words before a colon that are not the user of an address.
const PREFIXES: [&str; 7] = [
    "attach",
    "cassandra",
    "env",
    "file",
    "mailto",
    "ssh",
    "text",
];

/// Adds the places of the passwords in addresses, such as `http://USER:PASSWORD@HOST`.
fn addresses(line: &str, found: &mut Vec<Range<usize>>) {
    let mut start = 0;
    for word in line.split(|c: char| c.is_whitespace() || "'\"`<>".contains(c)) {
        // Some blanks have more than one byte, so the code searches for the start of the word.
        let at = line[start..].find(word).map_or(start, |offset| start + offset);
        start = at + word.len();
        if let Some(password) = password_of(word) {
            found.push(at + password.start..at + password.end);
        }
    }
}

/// Returns the place of the password in a word that contains an address. Returns `None` if the word
/// contains no password.
fn password_of(word: &str) -> Option<Range<usize>> {
    let end = word.rfind('@')?;
    let host = &word[end + 1..];
    // A digest of a container image also follows `@`.
    let is_digest = host.starts_with("sha256:") || host.starts_with("sha512:");
    if is_digest || !host.starts_with(|c: char| c.is_alphanumeric() || c == '[') {
        return None;
    }
    for (at, _) in word[..end].match_indices(':') {
        let (before, rest) = (&word[..at], &word[at + 1..end]);
        let begin = before.rfind(['=', ',', '(', '[', '{', '/', ':']).map_or(0, |at| at + 1);
        let user = &before[begin..];
        let port = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_port = port.len() < rest.len() && port.starts_with([',', '/']);
        let is_user = if user.is_empty() {
            before.ends_with("//")
        } else {
            user.chars().all(|c| c.is_alphanumeric() || "._%+-".contains(c))
                && !user.chars().all(|c| c.is_ascii_digit())
        };
        let is_prefix = PREFIXES.contains(&user);
        if is_user && !is_prefix && !is_port && !rest.starts_with("//") && !rest.is_empty() {
            return (rest != MASK).then_some(at + 1..end);
        }
    }
    None
}

#[cfg(test)]
mod tests;
