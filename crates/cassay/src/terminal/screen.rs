//! The full screen: taken, painted, given back.
//!
//! What must hold: the terminal is as it was once the screen is dropped, once anything panics, and
//! when a signal ends us at once. So what gives it back ([`give_back`]) uses nothing but two system
//! calls and what was put down before.
//!
//! Only what has changed since the last time is painted, so that a picture costs what is new in it.

use super::abilities::{columns_of, has_colour, has_reader, is_dumb, rows_of};
use super::line::Line;
use super::stage;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{self, InputModes, LocalModes, OptionalActions, SpecialCodeIndex, Termios};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, OnceLock};
use std::time::Duration;

/// Another screen, without a cursor and without wrapping.
const TAKE: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
/// All of that back.
const GIVE_BACK: &[u8] = b"\x1b[?7h\x1b[?25h\x1b[?1049l";
/// Terminals that know it show a picture at once, and not while it is being painted.
const BEGIN: &str = "\x1b[?2026h";
const END: &str = "\x1b[?2026l";

/// How the keyboard was set before; none if it is not ours to set.
static KEYBOARD: OnceLock<Termios> = OnceLock::new();
static IS_TAKEN: AtomicBool = AtomicBool::new(false);
static HEED_PANICS: Once = Once::new();

/// Columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Characters of a line.
    pub columns: usize,
    /// How many lines there are.
    pub rows: usize,
}

/// How large stderr is.
pub fn size() -> Size {
    Size {
        columns: columns_of(rustix::stdio::stderr()),
        rows: rows_of(rustix::stdio::stderr()),
    }
}

/// Whether the screen is taken.
pub fn is_full() -> bool {
    IS_TAKEN.load(Ordering::SeqCst)
}

/// The whole screen of stderr, until it is dropped.
pub struct Screen {
    painted: Vec<String>,
    size: Size,
    has_keys: bool,
}

impl Screen {
    /// None where nobody looks, or only at lines; or where we are a job in the background, which
    /// may not touch the terminal.
    pub fn take() -> Option<Screen> {
        if !has_reader() || is_dumb() || !is_foreground() {
            return None;
        }
        HEED_PANICS.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                stage::end_full();
                before(panic);
            }));
        });
        let has_keys = listen_for_keys();
        stage::begin_full();
        IS_TAKEN.store(true, Ordering::SeqCst);
        stage::write(TAKE);
        Some(Screen {
            painted: Vec::new(),
            size: size(),
            has_keys,
        })
    }

    /// Paints lines from the top, which are as wide as the screen. A screen that was given back
    /// meanwhile stays so.
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
            stage::write(&(out + END));
        }
    }

    /// Waits so long for a key; the first one that was pressed.
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
        // A signal ends the wait early, which is no harm.
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
        stage::end_full();
    }
}

/// Gives the terminal back, if it is taken. May be called in the handler of a signal.
pub fn give_back() {
    if IS_TAKEN.swap(false, Ordering::SeqCst) {
        let _ = rustix::io::write(rustix::stdio::stderr(), GIVE_BACK);
        if let Some(before) = KEYBOARD.get() {
            let stdin = rustix::stdio::stdin();
            let _ = termios::tcsetattr(stdin, OptionalActions::Flush, before);
        }
    }
}

/// Whether the terminal of stderr is ours: it is that of our group of processes.
fn is_foreground() -> bool {
    let owner = termios::tcgetpgrp(rustix::stdio::stderr());
    owner.is_ok_and(|owner| owner == rustix::process::getpgrp())
}

/// Sets the keyboard so that keys come at once and are not shown; whether it can be. Ctrl-C stays a
/// signal. What else would stop or end us with the screen taken is a key like others.
fn listen_for_keys() -> bool {
    let stdin = rustix::stdio::stdin();
    let Ok(before) = termios::tcgetattr(stdin) else {
        return false;
    };
    let mut keys = before.clone();
    keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    keys.input_modes.remove(InputModes::IXON);
    for code in [SpecialCodeIndex::VSUSP, SpecialCodeIndex::VQUIT] {
        // `_POSIX_VDISABLE` of Linux.
        keys.special_codes[code] = 0;
    }
    let _ = KEYBOARD.set(before);
    termios::tcsetattr(stdin, OptionalActions::Now, &keys).is_ok()
}
