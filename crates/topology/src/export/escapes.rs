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
    let mut chars = inner.strip_suffix('"')?.chars();
    let mut plain = Vec::new();
    while let Some(c) = chars.next() {
        systemd_char(c, &mut chars, &mut plain)?;
    }
    String::from_utf8(plain).ok()
}

/// Splits a systemd setting into words by the syntax of systemd. Words are separated by blanks
/// outside of quotes. Returns `None` if a quote is not closed, or if an escape is wrong.
pub fn systemd_words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<Vec<u8>> = None;
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
            c => systemd_char(c, &mut chars, word.get_or_insert_default())?,
        }
    }
    words.extend(word);
    let words = words.into_iter().map(|word| String::from_utf8(word).ok());
    words.collect::<Option<Vec<String>>>().filter(|_| quote.is_none())
}

/// Appends a character of a systemd setting, or the bytes of an escape. The escapes are those of C,
/// `\s` is a blank, and `%%` means `%`. Another specifier such as `%h` remains as written, because
/// only systemd can determine its value. Returns `None` if an escape is wrong.
fn systemd_char(c: char, rest: &mut std::str::Chars, into: &mut Vec<u8>) -> Option<()> {
    let mut push = |c: char| into.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    if c == '%' {
        push('%');
        match rest.next() {
            Some('%') | None => {}
            Some(specifier) => push(specifier),
        }
        return Some(());
    }
    if c != '\\' {
        push(c);
        return Some(());
    }
    let escape = rest.next()?;
    let plain = match escape {
        'a' => Some('\u{7}'),
        'b' => Some('\u{8}'),
        'f' => Some('\u{c}'),
        'n' => Some('\n'),
        'r' => Some('\r'),
        's' => Some(' '),
        't' => Some('\t'),
        'v' => Some('\u{b}'),
        'x' | 'u' | 'U' | '0'..='7' => None,
        other => Some(other),
    };
    if let Some(plain) = plain {
        push(plain);
        return Some(());
    }
    let (digits, radix) = match escape {
        'x' => (rest.as_str().get(..2)?, 16),
        'u' => (rest.as_str().get(..4)?, 16),
        'U' => (rest.as_str().get(..8)?, 16),
        first => {
            let (low, high) = (rest.next()?.to_digit(8)?, rest.next()?.to_digit(8)?);
            let number = first.to_digit(8)? * 64 + low * 8 + high;
            into.push(u8::try_from(number).ok()?);
            return Some(());
        }
    };
    let number = u32::from_str_radix(digits, radix).ok()?;
    *rest = rest.as_str()[digits.len()..].chars();
    if digits.len() == 2 {
        into.push(u8::try_from(number).ok()?);
    } else {
        push(char::from_u32(number)?);
    }
    Some(())
}

/// Returns the error for text that is not valid in its format.
pub fn wrong(format: &str, what: impl Into<String>) -> ReadError {
    ReadError::new(
        format,
        what,
        "export the plan again, or use the name of the other format",
    )
}
