//! Reads `.properties` files by the rules of Java's `Properties.load`. Every reader of such a file
//! uses this module, so that all of them accept the same forms.

use std::ops::Range;

/// An entry of a `.properties` file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JavaProperty {
    /// Key without its escapes.
    pub key: String,
    /// Value without its escapes. Blanks at its end belong to it, as in Java.
    pub value: String,
    /// Bytes of the entry in the text, without the blanks around it.
    pub span: Range<usize>,
    /// True if the entry contains a wrong escape. Java refuses a `\u` without four hexadecimal
    /// digits. An unpaired surrogate is not a character. The text contains U+FFFD in place of such
    /// an escape.
    pub is_malformed: bool,
}

/// Returns the entries of a `.properties` text in the order of the file. If the text states a key
/// several times, the last entry applies.
pub fn java_properties(text: &str) -> Vec<JavaProperty> {
    let mut entries = Vec::new();
    let mut at = text.len() - text.trim_start_matches('\u{feff}').len();
    while at < text.len() {
        let start = at;
        let mut logical = String::new();
        // If a line ends with an odd number of backslashes, it continues on the next line.
        loop {
            let line = text[at..].split(['\n']).next().unwrap_or("");
            at += (line.len() + 1).min(text.len() - at);
            let line = line.trim_end_matches('\r').trim_start();
            let comment = logical.is_empty() && line.starts_with(['#', '!']);
            let slashes = line.len() - line.trim_end_matches('\\').len();
            if !comment && slashes % 2 == 1 && at < text.len() {
                logical += &line[..line.len() - 1];
                continue;
            }
            if !comment {
                logical += line;
            }
            break;
        }
        let written = text[start..at].trim();
        let begin = start + text[start..at].find(written).unwrap_or(0);
        let span = begin..begin + written.len();
        entries.extend(entry(&logical, span));
    }
    entries
}

/// Returns the entry of a logical line. Returns `None` if the line is blank.
fn entry(line: &str, span: Range<usize>) -> Option<JavaProperty> {
    if line.is_empty() {
        return None;
    }
    let mut escaped = false;
    let end = line.find(|c: char| {
        let ends = !escaped && (c == '=' || c == ':' || c.is_whitespace());
        escaped = !escaped && c == '\\';
        ends
    });
    let (key, rest) = line.split_at(end.unwrap_or(line.len()));
    let rest = rest.trim_start();
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start();
    let [(key, key_is_wrong), (value, value_is_wrong)] = [key, value].map(unescaped);
    Some(JavaProperty {
        key,
        value,
        span,
        is_malformed: key_is_wrong || value_is_wrong,
    })
}

/// Returns the text without its escapes, and true if an escape is wrong.
fn unescaped(text: &str) -> (String, bool) {
    let (mut units, mut is_wrong): (Vec<u16>, bool) = (Vec::new(), false);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let escaped = if c == '\\' { rest.next() } else { None };
        let c = match escaped {
            None if c == '\\' => continue,
            None => c,
            Some('t') => '\t',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('f') => '\u{c}',
            Some('u') => {
                let digits: String = rest.by_ref().take(4).collect();
                let is_hex = digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_hexdigit());
                match u16::from_str_radix(&digits, 16).ok().filter(|_| is_hex) {
                    Some(unit) => {
                        units.push(unit);
                        continue;
                    }
                    None => {
                        is_wrong = true;
                        '\u{fffd}'
                    }
                }
            }
            Some(other) => other,
        };
        units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
    }
    is_wrong |= char::decode_utf16(units.iter().copied()).any(|unit| unit.is_err());
    (String::from_utf16_lossy(&units), is_wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_of_java_s_properties_hold() {
        for (text, key, value) in [
            ("a=b", "a", "b"),
            ("\u{feff}a=b", "a", "b"),
            ("  a : b c ", "a", "b c "),
            ("a b", "a", "b"),
            ("a", "a", ""),
            ("a\\=b=c", "a=b", "c"),
            ("a=b\\\n   c", "a", "bc"),
            ("a=\\u0041\\tx", "a", "A\tx"),
            ("a=\\ud83d\\ude00", "a", "\u{1f600}"),
            ("a=b\r\n", "a", "b"),
        ] {
            let read = java_properties(text);
            let found = (&*read[0].key, &*read[0].value, read[0].is_malformed);
            assert_eq!((read.len(), found), (1, (key, value, false)), "{text:?}");
        }
        assert!(java_properties("# a=b\n! c=d\n\n   \n").is_empty());
        for text in ["a=\\u12", "a=\\u+123", "a=\\ud83d"] {
            assert!(java_properties(text)[0].is_malformed, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[ab=:\\\\ #!\n\ru0dµ\u{feff}]{0,40}") {
            for entry in java_properties(&text) {
                let _ = &text[entry.span];
            }
        }
    }
}
