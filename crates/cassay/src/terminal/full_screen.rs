//! Takes the full screen, paints it, and restores the terminal.
//!
//! The terminal is restored when the screen is dropped, when a thread panics, and when a signal
//! ends the process immediately. So [`give_back`], which restores the terminal, uses only two
//! system calls and settings that were saved before.
//!
//! A painting only sends the lines that have changed since the last painting.

use super::output;
use super::text_width::Line;
use super::tty::{columns_of, has_colour, has_reader, is_dumb, rows_of};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{self, InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};
use std::time::Duration;

/// Switches to the alternate screen, without cursor and line wrapping.
const TAKE: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
/// Switches back from the alternate screen, and restores the cursor and line wrapping.
const GIVE_BACK: &[u8] = b"\x1b[?7h\x1b[?25h\x1b[?1049l";
/// Begins a synchronised update: terminals that support it show all changes at once.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

/// Keyboard settings from before the full screen. Empty if the full screen did not change them.
static KEYBOARD: OnceLock<Termios> = OnceLock::new();
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
static HEED_PANICS: Once = Once::new();

/// Size in columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Characters per line.
    pub columns: usize,
    /// Number of lines.
    pub rows: usize,
}

/// Returns the size of stderr's terminal.
pub fn size() -> Size {
    Size {
        columns: columns_of(rustix::stdio::stderr()),
        rows: rows_of(rustix::stdio::stderr()),
    }
}

/// Returns true if the full screen is active.
pub fn is_full() -> bool {
    IS_TAKEN.load(Ordering::SeqCst)
}

/// The full screen of stderr's terminal. Dropping this value restores the terminal.
pub struct Screen {
    painted: Vec<String>,
    size: Size,
    has_keys: bool,
}

impl Screen {
    /// Takes the screen. `None` if stderr is not a terminal, or is a dumb terminal. Also `None` for
    /// a background job, which may not touch the terminal.
    pub fn take() -> Option<Screen> {
        if !has_reader() || is_dumb() || !is_foreground() {
            return None;
        }
        HEED_PANICS.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                output::end_full();
                before(panic);
            }));
        });
        let has_keys = listen_for_keys();
        output::begin_full();
        IS_TAKEN.store(true, Ordering::SeqCst);
        output::write(TAKE);
        Some(Screen {
            painted: Vec::new(),
            size: size(),
            has_keys,
        })
    }

    /// Paints lines that are as wide as the screen, starting at the top. Does nothing if the
    /// terminal was already restored.
    pub fn paint(&mut self, lines: &[Line], size: Size) {
        if !is_full() {
            return;
        }
        let mut out = String::from(BEGIN);
        if size != self.size {
            self.size = size;
            self.painted.clear();
            out += "\x1b[2J";
        }
        self.painted.resize(lines.len(), String::new());
        let mut has_changed = false;
        for (row, (line, painted)) in lines.iter().zip(&mut self.painted).enumerate() {
            let text = line.ansi(has_colour());
            if text != *painted {
                out += &format!("\x1b[{};1H{text}", row + 1);
                *painted = text;
                has_changed = true;
            }
        }
        if has_changed {
            output::write(&(out + END));
        }
    }

    /// Waits at most `wait` for a key. Returns the first pressed key.
    pub fn key(&self, wait: Duration) -> Option<char> {
        let stdin = rustix::stdio::stdin();
        let mut asked = [PollFd::new(&stdin, PollFlags::IN)];
        let asked = if self.has_keys {
            &mut asked[..]
        } else {
            &mut []
        };
        let wait = Timespec {
            tv_sec: wait.as_secs() as i64,
            tv_nsec: i64::from(wait.subsec_nanos()),
        };
        // A signal ends the wait early. This does no harm.
        let ready = poll(asked, Some(&wait)).unwrap_or(0);
        let mut pressed = [0; 32];
        let count = if ready > 0 {
            rustix::io::read(stdin, &mut pressed).unwrap_or(0)
        } else {
            0
        };
        pressed[..count].first().map(|byte| char::from(*byte))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
        output::end_full();
    }
}

/// Restores the terminal, if the full screen is active. Signal handlers may call this function.
pub fn give_back() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        let _ = rustix::io::write(rustix::stdio::stderr(), GIVE_BACK);
        if let Some(before) = KEYBOARD.get() {
            let stdin = rustix::stdio::stdin();
            let _ = termios::tcsetattr(stdin, OptionalActions::Flush, before);
        }
    }
}

/// Returns true if this process group is in the foreground of stderr's terminal.
fn is_foreground() -> bool {
    let owner = termios::tcgetpgrp(rustix::stdio::stderr());
    owner.is_ok_and(|owner| owner == rustix::process::getpgrp())
}

/// Sets the keyboard so that keys arrive immediately and are not echoed. Returns true on success.
/// Ctrl-C remains a signal. Other keys that would stop or end the process become normal keys.
fn listen_for_keys() -> bool {
    let stdin = rustix::stdio::stdin();
    let Ok(before) = termios::tcgetattr(stdin) else {
        return false;
    };
    let mut keys = before.clone();
    keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    keys.input_modes.remove(InputModes::IXON);
    for code in [SpecialCodeIndex::VSUSP, SpecialCodeIndex::VQUIT] {
        // The value 0 is `_POSIX_VDISABLE` of Linux, which disables the key.
        keys.special_codes[code] = 0;
    }
    let _ = KEYBOARD.set(before);
    termios::tcsetattr(stdin, OptionalActions::Now, &keys).is_ok()
}
