//! Escapes text for each format. Names are data. So their characters must not end a line, a quote
//! or a value, and the program that reads the file must not expand them.

use crate::error::ReadError;
use crate::plan::Instance;

/// Replaces with `-` the characters that some format cannot contain or interprets as the end of a
/// line. These are control characters, Unicode's line ends, byte order marks and non-characters.
pub fn plain(text: &str) -> String {
    let keeps = |c: char| {
        !c.is_control()
            && !matches!(
                c,
                '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}'
            )
    };
    text.chars().map(|c| if keeps(c) { c } else { '-' }).collect()
}

/// Returns the options of an instance's JVM, as [`plain`] text.
pub fn options(instance: &Instance) -> Vec<String> {
    instance.jvm.options.iter().map(|option| plain(option)).collect()
}

/// Converts text to a file name. The result consists of letters, digits, `.`, `_` and `-`, starts
/// with a letter or digit, and has at most 60 characters.
pub fn file_name(text: &str) -> String {
    let keeps = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    let name: String = text.chars().take(60).map(|c| if keeps(c) { c } else { '-' }).collect();
    match name.trim_matches(['.', '-', '_']) {
        "" => "host".to_owned(),
        name => name.to_owned(),
    }
}

/// Converts text to a name as [`file_name`] does, but in lower case and without `_` and `.`, which
/// are not permitted in DNS labels.
pub fn dns_name(text: &str) -> String {
    file_name(&text.to_ascii_lowercase()).replace(['_', '.'], "-")
}

/// Escapes text for XML, both as content and in attributes.
pub fn xml(text: &str) -> String {
    let mut escaped = String::new();
    for c in plain(text).chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '\'' => escaped += "&apos;",
            '"' => escaped += "&quot;",
            c => escaped.push(c),
        }
    }
    escaped
}

/// Escapes text for an XML comment, in which `--` is not permitted.
pub fn xml_comment(text: &str) -> String {
    plain(text).replace('-', "\u{2010}")
}

/// Returns a JSON string with its quotes. The result is also a valid YAML string.
pub fn json(text: &str) -> String {
    serde_json::Value::from(plain(text)).to_string()
}

/// Returns a value of a .vmx file with its quotes. Special characters become `|` and two
/// hexadecimal digits.
pub fn vmx(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for c in plain(text).chars() {
        match c {
            '"' | '|' | '#' | '\\' => quoted += &format!("|{:02X}", c as u32),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// Decodes the output of [`vmx`] without its quotes. Returns `None` if the text is not a value of
/// that form.
pub fn read_vmx(text: &str) -> Option<String> {
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::new();
    let mut rest = inner.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'|' {
            bytes.push(byte);
            continue;
        }
        let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).ok()
}

/// Quotes a word for a systemd unit, with escapes as in C. `%` is doubled, because a single `%`
/// would start a specifier.
pub fn systemd(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for c in plain(text).chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '%' => quoted += "%%",
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// Decodes the output of [`systemd`] by removing the quotes and the escapes. A word without quotes
/// remains unchanged. Returns `None` if the quotes or an escape are incomplete.
pub fn read_systemd(text: &str) -> Option<String> {
    let Some(inner) = text.strip_prefix('"') else {
        return Some(text.to_owned());
    };
    let inner = inner.strip_suffix('"')?;
    let mut plain = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' | '%' => plain.push(chars.next()?),
            c => plain.push(c),
        }
    }
    Some(plain)
}

/// Splits a systemd setting into words by the syntax of systemd. Words are separated by blanks
/// outside of quotes, escapes are those of C, and `%%` means `%`. Returns `None` if a quote is not
/// closed.
pub fn systemd_words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            _ if Some(c) == quote => quote = None,
            '"' | '\'' if quote.is_none() => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && quote.is_none() => words.extend(word.take()),
            '\\' | '%' => word.get_or_insert_default().push(chars.next()?),
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// Returns the error for text that is not valid in its format.
pub fn wrong(format: &str, what: impl Into<String>) -> ReadError {
    ReadError::new(
        format,
        what,
        "export the plan again, or use the name of the other format",
    )
}
