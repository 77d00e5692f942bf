//! Text as each format wants it. Names are data: nothing in them may end a line, a quote or a
//! value, or be expanded by whoever reads the file.

use crate::error::ReadError;
use crate::plan::Instance;

/// Without what some format cannot hold or would take for the end of a line: control characters,
/// Unicode's line ends, byte order marks and non-characters become `-`.
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

/// The options of an instance's JVM, as [`plain`] text.
pub fn options(instance: &Instance) -> Vec<String> {
    instance.jvm.options.iter().map(|option| plain(option)).collect()
}

/// Letters, digits, `.`, `_` and `-` of at most 60 characters, starting with a letter or digit.
pub fn file_name(text: &str) -> String {
    let keeps = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    let name: String = text.chars().take(60).map(|c| if keeps(c) { c } else { '-' }).collect();
    match name.trim_matches(['.', '-', '_']) {
        "" => "host".to_owned(),
        name => name.to_owned(),
    }
}

/// As [`file_name`], in the lower case and without the `_` and `..` that names in DNS lack.
pub fn dns_name(text: &str) -> String {
    file_name(&text.to_ascii_lowercase()).replace(['_', '.'], "-")
}

/// For the text and the attributes of XML.
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

/// For a comment of XML, which `--` would end.
pub fn xml_comment(text: &str) -> String {
    plain(text).replace('-', "\u{2010}")
}

/// A string of JSON, which is one of YAML too, with its quotes.
pub fn json(text: &str) -> String {
    serde_json::Value::from(plain(text)).to_string()
}

/// A value of a .vmx file with its quotes; what would end it is `|` and two hexadecimal digits.
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

/// What [`vmx`] made, without its quotes; `None` if it is no such value.
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

/// A word of a systemd unit in quotes: escapes as in C, and `%` doubled, which would be a
/// specifier.
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

/// What [`systemd`] made, without its quotes; a bare word as it is.
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

/// The error of a text that is not what it should be.
pub fn wrong(format: &str, what: impl Into<String>) -> ReadError {
    ReadError::new(
        format,
        what,
        "export the plan again, or give the file its other format's name",
    )
}
