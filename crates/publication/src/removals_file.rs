//! The list of removals as a file: one line for each string, with tabs between the columns.

use crate::private_string::PrivateKind;
use crate::removal::Removal;
use anyhow::{Context, Result, bail};
use std::fmt::Write;

/// Replacement that keeps the string.
pub const KEEP: &str = "keep";

/// Maximum number of lines of a file. A run with a hundred hosts has fewer than a thousand strings.
const ENTRIES_MAX: usize = 10_000;
/// Maximum length of a string, in bytes, which is that of a path on Linux.
const STRING_BYTES_MAX: usize = 4096;
/// Maximum length of a replacement, in bytes.
const REPLACEMENT_BYTES_MAX: usize = 256;

const HEADER: &str = "\
# Strings that `cassay publish` replaces, with tabs between the columns. Change the last column, or
# write `keep` to publish a string. You can add lines: `text<TAB>0<TAB>STRING<TAB>REPLACEMENT`.
# kind\ttimes\tstring\treplacement
";

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub kind: PrivateKind,
    pub original: String,
    pub replacement: Option<String>,
}

pub fn write(list: &[Removal]) -> String {
    let mut out = HEADER.to_owned();
    for removal in list {
        let replacement = removal.replacement.as_deref().unwrap_or(KEEP);
        let _ = writeln!(
            out,
            "{}\t{}\t{}\t{}",
            removal.kind,
            removal.times,
            escape(&removal.original),
            escape(replacement)
        );
    }
    out
}

/// Reads a file.
///
/// # Errors
/// A line does not have four columns, or has an unknown kind or an empty string. The error contains
/// the number of the line.
pub fn read(text: &str) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if entries.len() == ENTRIES_MAX {
            bail!(
                "line {}: the list has more than {ENTRIES_MAX} strings\n\
                 hint: publish fewer runs at a time",
                index + 1
            );
        }
        entries.push(entry(line).with_context(|| format!("line {}", index + 1))?);
    }
    Ok(entries)
}

fn entry(line: &str) -> Result<Entry> {
    let columns: Vec<&str> = line.split('\t').collect();
    let [kind, _, original, replacement] = columns[..] else {
        bail!(
            "{} columns instead of 4\nhint: write kind, times, string and replacement, with a tab \
             between two columns",
            columns.len()
        );
    };
    let Some(known) = PrivateKind::from_name(kind) else {
        let kinds = PrivateKind::ALL.map(PrivateKind::name).join(", ");
        bail!("the kind {kind:?} is unknown\nhint: write one of {kinds}");
    };
    let original = unescape(original);
    if original.trim().is_empty() {
        bail!("the string is empty\nhint: remove the line, or write the string to replace");
    }
    check_length("string", &original, STRING_BYTES_MAX)?;
    check_length("replacement", replacement, REPLACEMENT_BYTES_MAX)?;
    Ok(Entry {
        kind: known,
        original,
        replacement: (replacement != KEEP).then(|| unescape(replacement)),
    })
}

fn check_length(what: &str, text: &str, bytes_max: usize) -> Result<()> {
    if text.len() > bytes_max {
        bail!(
            "the {what} has {} bytes, and the limit is {bytes_max}\nhint: write a shorter {what}",
            text.len()
        );
    }
    Ok(())
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('\t', "\\t")
        .replace('\n', "\\n")
        .replace('\r', "\\r")
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let next = if c == '\\' { chars.next() } else { None };
        match (c, next) {
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('r')) => out.push('\r'),
            ('\\', Some(other)) => out.push(other),
            (c, _) => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_as_it_was_written() {
        for text in ["plain", "a\tb\\t\nc", "back\\slash\\", "ü #"] {
            assert_eq!(unescape(&escape(text)), text);
        }
        let read = read("# note\n\npath\t3\t/a\\tb/c\tpath1\nuser\t1\tann\tkeep\n").unwrap();
        assert_eq!(read[0].original, "/a\tb/c");
        assert_eq!(read[0].replacement.as_deref(), Some("path1"));
        assert_eq!(read[1].replacement, None);
    }

    #[test]
    fn a_wrong_line_is_reported_with_its_number() {
        for (text, expected) in [
            ("# x\nhost db1 keep", "line 2: 1 columns instead of 4"),
            ("hosts\t1\ta\tb", "line 1: the kind \"hosts\" is unknown"),
            ("host\t1\t \tb", "line 1: the string is empty"),
            (
                &format!("host\t1\t{}\tb", "a".repeat(4097)),
                "line 1: the string has 4097 bytes, and the limit is 4096",
            ),
            (
                &format!("host\t1\ta\t{}", "b".repeat(257)),
                "line 1: the replacement has 257 bytes, and the limit is 256",
            ),
            (
                &"host\t1\ta\tb\n".repeat(10_001),
                "line 10001: the list has more than 10000 strings",
            ),
        ] {
            let error = format!("{:#}", read(text).unwrap_err());
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
