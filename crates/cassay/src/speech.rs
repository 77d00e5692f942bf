//! The two voices of the program: data on stdout, conversation on stderr.
//!
//! A reader that goes away (`cassay list | head`) is no error: what it did not want is not written.

use std::io::Write;

/// Writes data.
pub fn data(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = out.write_all(b"\n");
    }
    let _ = out.flush();
}

/// Writes a line of conversation.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Writes a value as JSON data.
pub fn json(value: &serde_json::Value) {
    data(&serde_json::to_string_pretty(value).unwrap_or_default());
}
