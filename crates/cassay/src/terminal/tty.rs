//! Properties of the terminal: its reader (a person or a program), its colours and its size.

use rustix::fd::AsFd;
use std::io::IsTerminal;

/// Default number of columns, for a pipe or for a terminal that does not report its width.
const COLUMNS: usize = 80;

const ROWS: usize = 24;

/// Returns the number of columns of stdout.
pub fn columns() -> usize {
    columns_of(rustix::stdio::stdout())
}

pub(super) fn columns_of(terminal: impl AsFd) -> usize {
    let size = rustix::termios::tcgetwinsize(terminal).ok();
    let columns = size.map(|size| usize::from(size.ws_col));
    columns.filter(|columns| *columns > 0).unwrap_or(COLUMNS)
}

pub(super) fn rows_of(terminal: impl AsFd) -> usize {
    let size = rustix::termios::tcgetwinsize(terminal).ok();
    let rows = size.map(|size| usize::from(size.ws_row));
    rows.filter(|rows| *rows > 0).unwrap_or(ROWS)
}

/// Returns true if a person reads stderr.
pub fn has_reader() -> bool {
    std::io::stderr().is_terminal()
}

/// Returns true if stderr is a terminal, unless colours are disabled.
pub fn has_colour() -> bool {
    has_reader() && wants_colour()
}

pub(super) fn wants_colour() -> bool {
    !is_dumb() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Returns true if the terminal can only append text, because its kind is unknown or `dumb`.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|kind| kind.is_empty() || kind == "dumb")
}
