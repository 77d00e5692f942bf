//! Who has the terminal: lines that stay, a line that moves below them, or a full screen.
//!
//! What must hold: what is said while a line moves stands above it, and what is said while the
//! screen is full is kept and said when the screen is left, in the order in which it was said.

use super::abilities::{columns_of, has_colour};
use super::line::Line;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Rewrites the line that the cursor is in.
const CLEAR_LINE: &str = "\r\x1b[K";

/// What the terminal shows below what was said.
enum Stage {
    /// Nothing that moves.
    Lines,
    /// A line that moves, as the terminal got it.
    Moving(String),
    /// A full screen; what was said meanwhile.
    Full(Vec<String>),
}

static STAGE: Mutex<Stage> = Mutex::new(Stage::Lines);

/// Whoever panicked while it spoke has left no half of it behind.
fn stage() -> MutexGuard<'static, Stage> {
    STAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nobody is left to hear that this could not be written.
pub(super) fn write(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Writes a line that stays.
pub(super) fn stay(text: &str) {
    match &mut *stage() {
        Stage::Lines => write(&format!("{text}\n")),
        Stage::Moving(line) => write(&format!("{CLEAR_LINE}{text}\n{line}")),
        Stage::Full(kept) => kept.push(text.to_owned()),
    }
}

/// Shows another line that moves. A full screen shows the same in its own way.
pub fn show_moving(line: &Line) {
    let mut stage = stage();
    if matches!(*stage, Stage::Full(_)) {
        return;
    }
    // The last column stays free: a terminal may go on to the next line behind it.
    let columns = columns_of(rustix::stdio::stderr()).saturating_sub(1);
    let text = line.clone().fitted(columns).ansi(has_colour());
    write(&format!("{CLEAR_LINE}{}", text.trim_end()));
    *stage = Stage::Moving(text.trim_end().to_owned());
}

/// Takes the line away that moves.
pub fn end_moving() {
    let mut stage = stage();
    if matches!(*stage, Stage::Moving(_)) {
        write(CLEAR_LINE);
        *stage = Stage::Lines;
    }
}

/// From now on what is said is kept.
pub(super) fn begin_full() {
    end_moving();
    *stage() = Stage::Full(Vec::new());
}

/// Says what was kept: the screen has been left.
pub(super) fn end_full() {
    let mut stage = stage();
    let ended = std::mem::replace(&mut *stage, Stage::Lines);
    if let Stage::Full(kept) = ended {
        kept.iter().for_each(|text| write(&format!("{text}\n")));
    }
}
