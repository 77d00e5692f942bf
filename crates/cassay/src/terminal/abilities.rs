//! What there is to write on: whether somebody looks, in colours or not, and how large it is.

use rustix::fd::AsFd;
use std::io::IsTerminal;

/// Columns where nobody knows how many there are: a pipe, or a terminal that does not say.
const COLUMNS: usize = 80;

/// Rows likewise.
const ROWS: usize = 24;

/// How many columns stdout has.
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

/// Whether a person looks at stderr.
pub fn has_reader() -> bool {
    std::io::stderr().is_terminal()
}

/// Whether stderr shows colours: a terminal that does not forbid them.
pub fn has_colour() -> bool {
    has_reader() && wants_colour()
}

/// Whether the user and the kind of terminal allow colours.
pub(super) fn wants_colour() -> bool {
    !is_dumb() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Whether the terminal only writes on: it has no kind, or says that it can do nothing.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|kind| kind.is_empty() || kind == "dumb")
}
