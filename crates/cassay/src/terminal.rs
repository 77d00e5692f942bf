//! Speaking: data to stdout, conversation to stderr. A closed pipe is not an error.

use crate::exit::Exit;
use std::io::{IsTerminal, Write};

/// Writes data. What cannot be written (the reader has gone) is dropped: it was meant for it.
pub fn data(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = out.write_all(b"\n");
    }
    let _ = out.flush();
}

/// Writes a JSON value.
pub fn json(value: &serde_json::Value) {
    data(&format!("{value:#}"));
}

/// Writes a line of conversation.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Lines of a table: columns as wide as their widest cell, two spaces apart, numbers to the right
/// where `is_right` says so. A row has as many cells as there are columns.
pub fn table(rows: &[Vec<String>], is_right: &[bool]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..is_right.len()).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for ((cell, width), right) in row.iter().zip(&widths).zip(is_right) {
            match right {
                true => line += &format!("  {cell:>width$}"),
                false => line += &format!("  {cell:<width$}"),
            }
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Whether a person looks at stderr.
pub fn has_reader() -> bool {
    std::io::stderr().is_terminal()
}

/// Whether stderr shows colours: a terminal that does not forbid them.
pub fn has_colour() -> bool {
    has_reader() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Says an error, whole, once.
pub fn error(error: &anyhow::Error) -> Exit {
    say(&format!("error: {error:#}"));
    Exit::Error
}

/// Says what clap has to say: help is data, mistakes are conversation.
pub fn usage(usage: &clap::Error) -> Exit {
    let _ = usage.print();
    if usage.use_stderr() {
        Exit::Usage
    } else {
        Exit::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_a_table_are_as_wide_as_their_widest_cell() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [row(["Node", "Löad", "Rack"]), row(["n1", "1.5 MiB", ""])];
        let text = table(&rows, &[false, true, false]);
        assert_eq!(text, "  Node     Löad  Rack\n  n1    1.5 MiB\n");
    }
}
