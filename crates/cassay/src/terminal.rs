//! Output: data to stdout, messages to stderr.
//!
//! Data that could not be written is never lost silently. If the reader has closed the pipe, the
//! reader needs no more data, so this is not an error. After any other failure, such as a full
//! disk, the command fails at its end.
//!
//! Messages contain names, questions and texts from servers, which may come from anyone. No such
//! text may move the cursor, set a title or reverse the direction of the text. So every text passes
//! through [`shown()`], here or in a [`Line`], and no other module writes to the terminal.

mod ask;
mod escape;
mod full_screen;
mod output;
mod text_width;
mod tty;

pub use ask::{ask, has_asker, is_confirmed};
use escape::is_command;
pub use escape::{shown, shown_in_place};
pub use full_screen::{Screen, Size, give_back, is_full, size};
pub use output::{end_moving, last_line_ns, show_moving};
pub use text_width::{Line, Tone, shortened, shortened_name};
use tty::wants_colour;
pub use tty::{columns, has_colour, has_reader, is_dumb};

use crate::exit::Exit;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use study::plan::PlanError;
use study::resolve::StudyError;

/// Error of the first write that failed.
static UNWRITTEN: OnceLock<String> = OnceLock::new();

/// True if the program was started without a stdout (`>&-`). The runtime then opens `/dev/null` as
/// stdout before `main`, and writes to it are lost without an error.
static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

/// True while the command is a step of a larger command. Then only the data of the larger command
/// goes to stdout.
static IS_STEP: AtomicBool = AtomicBool::new(false);

/// Runs before the runtime opens `/dev/null`, and stores whether stdout was closed.
#[used]
// SAFETY: this section contains pointers to C functions, and this value is such a pointer.
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = {
    extern "C" fn look() {
        // SAFETY: the descriptor is only queried: nothing is read, written or closed through it.
        let stdout = unsafe { BorrowedFd::borrow_raw(1) };
        let is_closed = rustix::io::fcntl_getfd(stdout).is_err();
        WAS_CLOSED.store(is_closed, Ordering::Relaxed);
    }
    look
};

/// Writes data to stdout. [`end`] reports a failure.
pub fn data(text: &str) {
    if IS_STEP.load(Ordering::Relaxed) {
        return say(text);
    }
    write_data(&shown(text));
}

/// Runs a step of a larger command, and writes its data as messages.
pub fn as_step<T>(work: impl FnOnce() -> T) -> T {
    IS_STEP.store(true, Ordering::Relaxed);
    let done = work();
    IS_STEP.store(false, Ordering::Relaxed);
    done
}

/// Writes to stdout. No other function writes to stdout.
#[expect(
    clippy::disallowed_methods,
    reason = "the only function that writes data"
)]
fn write_data(text: &str) {
    let mut out = io::stdout().lock();
    let why = if WAS_CLOSED.load(Ordering::Relaxed) {
        Some("it is closed".to_owned())
    } else {
        write(&mut out, text)
    };
    if let Some(why) = why {
        let _ = UNWRITTEN.set(why);
    }
}

/// Writes lines of data. If a person reads stdout, the lines have colours and styles.
#[expect(
    clippy::disallowed_methods,
    reason = "this function only checks whether stdout is a terminal"
)]
pub fn data_lines(lines: &[Line]) {
    if IS_STEP.load(Ordering::Relaxed) {
        return lines.iter().for_each(say_line);
    }
    let has_colour = io::stdout().is_terminal() && wants_colour();
    let text: String = lines.iter().map(|line| line.ansi(has_colour) + "\n").collect();
    // The text may go to the terminal, because every line has passed its texts through `shown`.
    write_data(&text);
}

/// Writes a text and a line break. Returns the error, unless the reader has closed the pipe.
fn write(out: &mut dyn Write, text: &str) -> Option<String> {
    let end: &[u8] = if text.ends_with('\n') { b"" } else { b"\n" };
    let written = out
        .write_all(text.as_bytes())
        .and_then(|()| out.write_all(end))
        .and_then(|()| out.flush());
    match written {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Some(e.to_string()),
        _ => None,
    }
}

/// Reports data that could not be written. Returns the exit of the command, which is
/// [`Exit::Error`] if only the output failed.
pub fn end(exit: Exit) -> Exit {
    let Some(why) = UNWRITTEN.get() else {
        return exit;
    };
    say(&format!(
        "error: cassay could not write to stdout, so the output is incomplete: {why}\nhint: \
         `cassay show` prints the results of a run again"
    ));
    // A failed command keeps its exit, because it has already printed its error.
    if exit == Exit::Done {
        Exit::Error
    } else {
        exit
    }
}

pub fn json(value: &serde_json::Value) {
    data(&json_text(value));
}

/// Formats a value as JSON. Characters that [`shown`] would escape occur only in strings. This
/// function writes such characters as JSON escapes.
fn json_text(value: &serde_json::Value) -> String {
    let mut out = String::new();
    for c in format!("{value:#}").chars() {
        if is_command(c) {
            // All of these characters are below U+10000, so four digits are enough.
            out += &format!("\\u{:04x}", u32::from(c))
        } else {
            out.push(c)
        }
    }
    out
}

/// Writes a message to stderr, without secrets. Messages quote words of the command line, such as
/// an address with a password.
pub fn say(text: &str) {
    styled(&shown(&yaml::without_secrets(text)));
}

/// Writes a message with its tones.
pub fn say_line(line: &Line) {
    styled(&line.ansi(has_colour()));
}

/// Writes a message unchanged. The message contains only cassay's own colours, because the caller
/// has passed everything else through [`shown`].
pub fn styled(text: &str) {
    output::stay(text);
}

/// Formats the lines of a table. Each column is as wide as its widest cell, and columns are two
/// spaces apart. `is_right` selects the right-aligned columns. Every row has one cell for each
/// column.
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
            if *right {
                line += &format!("  {cell:>width$}")
            } else {
                line += &format!("  {cell:<width$}")
            }
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Prints an error with all its causes, and returns the exit of the command.
pub fn error(error: &anyhow::Error) -> Exit {
    say(&format!("error: {error:#}"));
    if error.is::<store::DamagedRun>() {
        Exit::Damaged
    } else if error.is::<engine::preflight::NotAllowed>() || is_mistake(error) {
        Exit::Usage
    } else {
        Exit::Error
    }
}

/// Returns true if a study cannot be read, has mistakes, or needs trust in its author.
fn is_mistake(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(
            PlanError::Untrusted(_)
                | PlanError::Unreadable(_)
                | PlanError::Levels(_)
                | PlanError::AccordOff(_)
        )
    ) || error.is::<StudyError>()
}

/// Prints clap's output: help on stdout as data, and mistakes on stderr as messages.
#[expect(
    clippy::disallowed_methods,
    reason = "this function only checks whether stdout is a terminal"
)]
pub fn usage(usage: &clap::Error) -> Exit {
    if usage.use_stderr() {
        // If this write fails, cassay has no way to report it.
        let _ = usage.print();
        return Exit::Usage;
    }
    let text = usage.render();
    if io::stdout().is_terminal() && has_colour() {
        data(&text.ansi().to_string())
    } else {
        data(&text.to_string())
    }
    Exit::Done
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Failing(ErrorKind);

    impl Write for Failing {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_full_disk_is_said_and_a_reader_that_has_gone_is_not() {
        assert_eq!(write(&mut Vec::new(), "a"), None);
        assert_eq!(write(&mut Failing(ErrorKind::BrokenPipe), "a"), None);
        assert!(write(&mut Failing(ErrorKind::StorageFull), "a").is_some());
    }

    #[test]
    fn nothing_that_is_said_commands_the_terminal() {
        for (text, expected) in [
            ("a\tb\nµ→…", "a\tb\nµ→…"),
            ("\x1b]0;owned\x07", "\\u{1b}]0;owned\\u{7}"),
            ("\u{9b}2J\r\x7f\0", "\\u{9b}2J\\u{d}\\u{7f}\\u{0}"),
            ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"),
        ] {
            assert_eq!(shown(text), expected, "{text:?}");
        }
    }

    #[test]
    fn json_is_the_same_value_and_commands_nothing() {
        let value = serde_json::json!({"a\u{9b}": ["\x1b[2J", "\u{202e}", "\x7f", "µ"]});
        let text = json_text(&value);
        assert!(!text.contains(is_command), "{text:?}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text).unwrap(),
            value
        );
    }

    #[test]
    fn columns_of_a_table_are_as_wide_as_their_widest_cell() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let rows = [row(["Node", "Löad", "Rack"]), row(["n1", "1.5 MiB", ""])];
        let text = table(&rows, &[false, true, false]);
        assert_eq!(text, "  Node     Löad  Rack\n  n1    1.5 MiB\n");
    }
}
