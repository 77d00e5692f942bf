//! Writes the rack line of cassandra-rackdc.properties. All instances of a machine have the same
//! rack, so that no two replicas are on one machine. This module does not write the data center,
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
    // If a file states a key several times, Java uses the last value.
    let rack = yaml::java_properties(text)
        .into_iter()
        .rfind(|entry| entry.key == "rack")
        .ok_or_else(|| wrong("properties", "the file sets no rack"))?;
    if rack.is_malformed {
        return Err(wrong(
            "properties",
            "the rack contains a \\u without four hexadecimal digits, or an unpaired surrogate",
        ));
    }
    Ok(Placement {
        rack: Some(rack.value),
        ..Placement::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rack_is_read_in_every_form_of_java() {
        for text in [
            "dc=dc1\nrack=RAC1\n",
            "dc = dc1\nrack = RAC1\n",
            "dc:dc1\nrack:RAC1\n",
            "# x\n  rack=RAC1",
            "rack=A\nrack=RAC1\n",
            "rack=RA\\\n   C1\n",
            "rack RAC1\r\n",
        ] {
            assert_eq!(read(text).unwrap().rack.as_deref(), Some("RAC1"), "{text}");
        }
        for text in ["", "dc=dc1", "# rack=A", "rack=\\u12", "rack=\\ud800"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
