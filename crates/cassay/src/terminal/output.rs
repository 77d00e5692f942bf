//! Coordinates the use of the terminal: messages, a status line below them, or a full screen.
//!
//! Messages appear above the status line. While a full screen is shown, the module keeps new
//! messages. It writes them in order when the screen is left.

use super::text_width::Line;
use super::tty::{columns_of, has_colour};
use measure::clock;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const CLEAR_LINE: &str = "\r\x1b[K";

/// Content of the terminal below the messages.
enum Stage {
    /// Neither a status line nor a full screen.
    Lines,
    /// A status line, in the form that was sent to the terminal.
    Moving(String),
    /// A full screen, with the messages that have arrived since the full screen began.
    Full(Vec<String>),
}

static STAGE: Mutex<Stage> = Mutex::new(Stage::Lines);

/// Time of the last message on the monotonic clock, in ns. 0 before the first message.
static LAST_LINE_NS: AtomicU64 = AtomicU64::new(0);

/// Returns the stage, which is consistent even if a thread panicked while it held the lock.
fn stage() -> MutexGuard<'static, Stage> {
    STAGE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a text. Ignores failures, because no message could report them.
pub(super) fn write(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

/// Writes a message that stays on the terminal.
pub(super) fn stay(text: &str) {
    LAST_LINE_NS.store(clock::now_ns(), Ordering::Relaxed);
    match &mut *stage() {
        Stage::Lines => write(&format!("{text}\n")),
        Stage::Moving(line) => write(&format!("{CLEAR_LINE}{text}\n{line}")),
        Stage::Full(kept) => kept.push(text.to_owned()),
    }
}

/// Returns the time of the last message on the monotonic clock, in ns. 0 before the first message.
pub fn last_line_ns() -> u64 {
    LAST_LINE_NS.load(Ordering::Relaxed)
}

/// Shows a new status line. Does nothing while a full screen is shown, because the full screen
/// displays the same information.
pub fn show_moving(line: &Line) {
    let mut stage = stage();
    if matches!(*stage, Stage::Full(_)) {
        return;
    }
    // The last column remains free, because a terminal may wrap after a character in this column.
    let columns = columns_of(rustix::stdio::stderr()).saturating_sub(1);
    let text = line.clone().fitted(columns).ansi(has_colour());
    write(&format!("{CLEAR_LINE}{}", text.trim_end()));
    *stage = Stage::Moving(text.trim_end().to_owned());
}

/// Removes the status line.
pub fn end_moving() {
    let mut stage = stage();
    if matches!(*stage, Stage::Moving(_)) {
        write(CLEAR_LINE);
        *stage = Stage::Lines;
    }
}

/// Keeps messages from now on, instead of writing them.
pub(super) fn begin_full() {
    end_moving();
    *stage() = Stage::Full(Vec::new());
}

/// Writes the messages that were kept while the full screen was shown.
pub(super) fn end_full() {
    let mut stage = stage();
    let ended = std::mem::replace(&mut *stage, Stage::Lines);
    if let Stage::Full(kept) = ended {
        kept.iter().for_each(|text| write(&format!("{text}\n")));
    }
}
