//! Decodes the texts of a written file, as a reader of the file could.
//!
//! A text is decoded in the order in which pages encode it: HTML, then JSON, then percent signs. A
//! long word may be data in base64, which may be compressed. All decoded texts have a limit.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use flate2::read::{GzDecoder, ZlibDecoder};
use percent_encoding::percent_decode_str;
use std::borrow::Cow;
use std::io::Read;

/// Minimum number of characters of a word that may be data in base64. Shorter words encode at most
/// five bytes.
const BASE64_CHARS_MIN: usize = 8;
/// Maximum size of decompressed data.
const UNPACKED_BYTES_MAX: u64 = 64 << 20;
/// Maximum number of times that data contains further data in base64.
const DEPTH_MAX: usize = 3;

/// Attributes whose values are words of the program.
const OWN_ATTRIBUTES: [&str; 12] = [
    "class",
    "id",
    "style",
    "role",
    "scope",
    "type",
    "tabindex",
    "lang",
    "charset",
    "name",
    "http-equiv",
    "xmlns",
];

/// Encoding in which a text was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Plain,
    Html,
    Json,
    Percent,
    Base64,
}

impl Encoding {
    pub fn words(self) -> &'static str {
        match self {
            Encoding::Plain => "as plain text",
            Encoding::Html => "in HTML escapes",
            Encoding::Json => "in JSON escapes",
            Encoding::Percent => "in percent encoding",
            Encoding::Base64 => "in base64",
        }
    }
}

/// Passes every decoded form of a text to a function.
pub fn for_each(text: &str, is_markup: bool, see: &mut dyn FnMut(&str, Encoding)) {
    let plain = if is_markup {
        Cow::Owned(markup_texts(text))
    } else {
        Cow::Borrowed(text)
    };
    layers(&plain, Encoding::Plain, 0, see);
}

fn layers(text: &str, found_in: Encoding, depth: usize, see: &mut dyn FnMut(&str, Encoding)) {
    type Decode = fn(&str) -> String;
    see(text, found_in);
    let mut last = Cow::Borrowed(text);
    let decoders: [(Encoding, Decode); 3] = [
        (Encoding::Html, from_html),
        (Encoding::Json, from_json),
        (Encoding::Percent, from_percent),
    ];
    for (encoding, decode) in decoders {
        let decoded = decode(&last);
        if decoded != *last {
            see(&decoded, encoding);
            last = Cow::Owned(decoded);
        }
    }
    if depth < DEPTH_MAX {
        for unpacked in base64_texts(&last) {
            layers(&unpacked, Encoding::Base64, depth + 1, see);
        }
    }
}

/// Returns the contents of elements and the values of attributes, one per line. Omits the names of
/// elements, and attributes with words of the program.
fn markup_texts(markup: &str) -> String {
    let mut out = String::with_capacity(markup.len());
    let mut rest = markup;
    while let Some(open) = rest.find('<') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        let is_tag = rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c));
        if !is_tag || rest.starts_with("<!--") {
            // The text of a comment is a text like any other.
            out.push('<');
            rest = &rest[1..];
            continue;
        }
        let end = tag_end(rest);
        attribute_values(&rest[..end], &mut out);
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// Returns the length of a tag. A `>` within quotes does not end the tag.
fn tag_end(text: &str) -> usize {
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if c == '>' => return at + 1,
            None => {}
        }
    }
    text.len()
}

fn attribute_values(tag: &str, out: &mut String) {
    let mut rest = tag;
    while let Some(equals) = rest.find('=') {
        let name = rest[..equals].rsplit([' ', '\n', '\t']).next().unwrap_or_default();
        rest = &rest[equals + 1..];
        let quote = rest.chars().next().filter(|c| "\"'".contains(*c));
        let value = match quote {
            Some(quote) => {
                let inner = &rest[1..];
                let end = inner.find(quote).unwrap_or(inner.len());
                rest = inner.get(end + 1..).unwrap_or_default();
                &inner[..end]
            }
            None => {
                let end = rest.find([' ', '>']).unwrap_or(rest.len());
                let value = &rest[..end];
                rest = &rest[end..];
                value
            }
        };
        if !OWN_ATTRIBUTES.contains(&name) {
            out.push('\n');
            out.push_str(value);
            out.push('\n');
        }
    }
    out.push(' ');
}

fn from_html(text: &str) -> String {
    const NAMED: [(&str, char); 6] = [
        ("amp", '&'),
        ("lt", '<'),
        ("gt", '>'),
        ("quot", '"'),
        ("apos", '\''),
        ("nbsp", ' '),
    ];
    decoded_at(text, '&', |rest| {
        let end = rest.find(';').filter(|end| *end <= 10)?;
        let name = &rest[..end];
        let named = NAMED.iter().find(|(known, _)| *known == name).map(|(_, c)| *c);
        let number = || {
            let digits = name.strip_prefix('#')?;
            let hex = digits.strip_prefix(['x', 'X']);
            let code = hex.map_or_else(|| digits.parse(), |hex| u32::from_str_radix(hex, 16));
            char::from_u32(code.ok()?)
        };
        Some((named.or_else(number)?, end + 1))
    })
}

fn from_json(text: &str) -> String {
    decoded_at(text, '\\', |rest| {
        let c = rest.chars().next()?;
        Some(match c {
            'u' => {
                let code = u32::from_str_radix(rest.get(1..5)?, 16).ok()?;
                (char::from_u32(code)?, 5)
            }
            'n' | 'r' | 't' => ('\n', 1),
            '"' | '\\' | '/' => (c, 1),
            _ => return None,
        })
    })
}

/// Replaces each escape that begins with `mark`. `decode` returns the character, and the number of
/// bytes after the mark that belong to the escape.
fn decoded_at(text: &str, mark: char, decode: impl Fn(&str) -> Option<(char, usize)>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(mark) {
        out.push_str(&rest[..at]);
        rest = &rest[at + mark.len_utf8()..];
        match decode(rest) {
            Some((c, length)) => {
                out.push(c);
                rest = &rest[length..];
            }
            None => out.push(mark),
        }
    }
    out.push_str(rest);
    out
}

fn from_percent(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Returns the texts that words of the text encode in base64, also compressed.
fn base64_texts(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+/-_".contains(c);
    let words = text.split(|c: char| !is_part(c));
    words
        .filter(|word| word.len() >= BASE64_CHARS_MIN)
        .filter_map(base64_text)
        .collect()
}

fn base64_text(word: &str) -> Option<String> {
    let bytes = STANDARD_NO_PAD.decode(word).or_else(|_| URL_SAFE_NO_PAD.decode(word)).ok()?;
    let mut unpacked = Vec::new();
    let is_unpacked = match bytes.as_slice() {
        [0x1f, 0x8b, ..] => GzDecoder::new(&bytes[..])
            .take(UNPACKED_BYTES_MAX)
            .read_to_end(&mut unpacked)
            .is_ok(),
        [0x78, ..] => ZlibDecoder::new(&bytes[..])
            .take(UNPACKED_BYTES_MAX)
            .read_to_end(&mut unpacked)
            .is_ok(),
        _ => false,
    };
    let decoded = if is_unpacked { unpacked } else { bytes };
    // Most words are not base64, and their bytes are not a text.
    String::from_utf8(decoded).ok().filter(|text| !text.chars().any(is_binary))
}

fn is_binary(c: char) -> bool {
    c.is_control() && !c.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn contains(text: &str, is_markup: bool, wanted: &str) -> bool {
        let mut is_found = false;
        for_each(text, is_markup, &mut |one, _| {
            is_found |= one.contains(wanted)
        });
        is_found
    }

    #[test]
    fn every_encoding_is_decoded() {
        let secret = "/Users/ann's <x>";
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(secret.as_bytes()).unwrap();
        let packed = STANDARD.encode(packed.finish().unwrap());
        for text in [
            secret.to_owned(),
            "&#47;Users&#x2f;ann&#39;s &lt;x&gt;".to_owned(),
            r"\/Users\/ann\u0027s \u003cx\u003e".to_owned(),
            "%2FUsers%2fann's%20%3Cx%3E".to_owned(),
            "&#47;Users%2Fann\\u0027s &lt;x&gt;".to_owned(),
            format!("data:text/plain;base64,{}", STANDARD.encode(secret)),
            packed.clone(),
            STANDARD.encode(format!("again {packed} end")),
        ] {
            assert!(contains(&text, false, secret), "{text}");
        }
    }

    #[test]
    fn markup_has_texts_but_no_names_of_elements() {
        let page = "<!doctype html><table class=\"db1\"><td title='a > db2'>db3</td></table>\
                    <!-- db4 --><script>x < db5</script><a href=db6>x</a>";
        for wanted in ["db2", "db3", "db4", "db5", "db6"] {
            assert!(contains(page, true, wanted), "{wanted}");
        }
        for own in ["table", "db1", "script"] {
            assert!(!contains(page, true, own), "{own}");
        }
    }
}
