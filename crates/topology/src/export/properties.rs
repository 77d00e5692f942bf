//! Writes the rack line of cassandra-rackdc.properties. All instances of a machine have the same
//! rack, so that no two replicas are on one machine. This module does not write the data centre,
//! which is a setting of the cluster.

use std::fmt::Write;

use super::escapes::{self, wrong};
use super::{ExportError, Placement, Source, header};
use crate::error::ReadError;

pub fn write(source: &Source) -> Result<String, ExportError> {
    let comment = ascii(&header(source, None), false);
    let rack = ascii(&escapes::plain(&source.plan.rack), true);
    Ok(format!(
        "# {comment}\n# next to the line with dc=\nrack={rack}\n"
    ))
}

/// Escapes text for Java's Properties, which are read as ISO 8859-1. `\` and non-ASCII characters
/// become `\u` and four digits. A leading space of a value is escaped in the same way, because it
/// would otherwise be lost.
fn ascii(text: &str, is_value: bool) -> String {
    let mut escaped = String::new();
    for (index, c) in text.chars().enumerate() {
        let is_lost = is_value && index == 0 && c == ' ';
        if c.is_ascii() && c != '\\' && !is_lost {
            escaped.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    escaped
}

pub fn read(text: &str) -> Result<Placement, ReadError> {
    let rack = text
        .lines()
        .find_map(|line| line.strip_prefix("rack="))
        .ok_or_else(|| wrong("properties", "the file has no line rack="))?;
    let mut units: Vec<u16> = Vec::new();
    let mut rest = rack;
    while let Some(c) = rest.chars().next() {
        let digits = rest.strip_prefix("\\u").and_then(|rest| rest.get(..4));
        match digits.map(|digits| u16::from_str_radix(digits, 16)) {
            Some(Ok(unit)) => {
                units.push(unit);
                rest = &rest[6..];
            }
            Some(Err(_)) => return Err(wrong("properties", "\\u without four digits")),
            None => {
                units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    let rack = String::from_utf16(&units).map_err(|_| wrong("properties", "half a character"))?;
    Ok(Placement {
        rack: Some(rack),
        ..Placement::default()
    })
}
