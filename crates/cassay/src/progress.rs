//! What a run says while it goes on: a full screen or a line that moves on a terminal, plain lines
//! elsewhere.
//!
//! The run's own thread only takes note of what happens. The screen is painted by a thread of its
//! own, a few times a second, so that no terminal delays a run.

mod course;
mod lines;
mod machines;
mod state;
#[cfg(test)]
mod tests;
mod view;

use crate::args::ViewMode;
use crate::terminal::{self, Line, Screen};
use engine::Event;
use jiff::Timestamp;
use jiff::tz::TimeZone;
pub use lines::{FigureColumns, tone_of};
use lines::{begun, finished, going, moving};
use measure::clock;
use state::RunState;
pub use state::TrialFigures;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use study::human;
use view::Now;

/// Between two plain lines of the same phase: enough to see that it lives, few enough to read.
const PLAIN_EVERY_S: f64 = 10.0;
/// Between two pictures of a screen: often enough for a key to be obeyed at once.
const PAINT_EVERY: Duration = Duration::from_millis(200);

/// How a run is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    /// A full screen.
    Screen,
    /// A line that moves.
    Moving,
    /// A line for each phase, and some while it goes on.
    Plain,
}

/// Shows the events of a run.
pub struct Show {
    shared: Arc<Shared>,
    manner: Manner,
    painter: Option<JoinHandle<()>>,
    /// The folder of the run.
    path: Option<PathBuf>,
    plain_last_s: f64,
    /// What was said of the last trial that was left out.
    left_out: String,
}

/// What the run's thread and the painter have in common.
struct Shared {
    state: Mutex<RunState>,
    /// Whether the painter is to end.
    is_over: AtomicBool,
    /// Whether the run was asked to end.
    interrupt: Arc<AtomicBool>,
}

impl Show {
    /// Nothing shown yet; `interrupt` tells when the run was asked to end.
    pub fn new(mode: ViewMode, interrupt: Arc<AtomicBool>) -> Show {
        Show {
            shared: Arc::new(Shared {
                state: Mutex::default(),
                is_over: AtomicBool::new(false),
                interrupt,
            }),
            manner: manner(mode),
            painter: None,
            path: None,
            plain_last_s: 0.0,
            left_out: String::new(),
        }
    }

    /// Shows one event.
    pub fn event(&mut self, event: Event) {
        let now_ns = clock::now_ns();
        self.shared.state().event(&event, now_ns);
        match event {
            Event::RunStarted {
                path,
                left,
                finished,
                seconds,
                ..
            } => {
                let done = match finished.len() {
                    0 => String::new(),
                    finished => format!(" ({finished} done before)"),
                };
                let trials = human::trials(left.0, left.1);
                let about = human::seconds_between(seconds.0, seconds.1);
                terminal::say(&format!(
                    "{trials}{done}, about {about}: {}",
                    path.display()
                ));
                self.path = Some(path);
                // Not before: what ends a run before it begins is said on lines.
                if self.manner == Manner::Screen {
                    self.painter = Screen::take().and_then(|screen| paint(screen, &self.shared));
                }
            }
            Event::Said(text) => self.said(&text),
            Event::PhaseStarted { .. } => self.phase(now_ns),
            Event::Interval {
                progress, phase, ..
            } => match self.manner() {
                Manner::Screen => {}
                Manner::Moving => self.shared.move_line(now_ns),
                Manner::Plain if progress.seconds - self.plain_last_s >= PLAIN_EVERY_S => {
                    self.plain_last_s = progress.seconds;
                    terminal::say(&going(&self.shared.state(), phase, progress, now_ns));
                }
                Manner::Plain => {}
            },
            Event::TrialFinished { name, finding, .. } => match self.manner() {
                Manner::Plain => terminal::say(&finished(&name, &finding)),
                Manner::Moving | Manner::Screen => {
                    let names = self.shared.state().trials.clone();
                    let names = names.iter().map(|trial| trial.name.as_str());
                    let columns = FigureColumns::of_lines(terminal::size().columns, names);
                    terminal::say_line(&columns.finished(&name, &TrialFigures::of(&finding)));
                }
            },
            Event::TrialFailed { name, reason, .. } => {
                terminal::say(&format!("  {name}: failed: {reason}"));
            }
            Event::TrialSkipped { name, reason, .. } => {
                let line = format!("  {name}: left out: {reason}");
                // A search that has ended leaves out all its other points alike.
                if self.left_out != line {
                    terminal::say(&line);
                    self.left_out = line;
                }
            }
            _ => {}
        }
    }

    /// Gives the terminal back; the folder of the run, if it came to have one.
    pub fn done(mut self) -> Option<PathBuf> {
        self.path.take()
    }

    /// How it is shown now: without its screen, one that was to have it is a line that moves.
    fn manner(&self) -> Manner {
        match self.manner {
            Manner::Screen if !terminal::is_full() => Manner::Moving,
            manner => manner,
        }
    }

    fn phase(&mut self, now_ns: u64) {
        self.plain_last_s = 0.0;
        match self.manner() {
            Manner::Screen => {}
            Manner::Moving => self.shared.move_line(now_ns),
            Manner::Plain => terminal::say(&begun(&self.shared.state(), now_ns)),
        }
    }

    fn said(&self, text: &str) {
        match self.manner() {
            Manner::Screen => {}
            Manner::Moving => {
                let state = self.shared.state();
                let (place, name) = state.current().unwrap_or_default();
                let phase = state.phase.name;
                terminal::show_moving(&Line::of(&format!("{place} {name} · {phase}: {text}")));
            }
            Manner::Plain => terminal::say(&format!("    {text}")),
        }
    }
}

impl Drop for Show {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(painter) = self.painter.take() {
            // What it panicked of was said.
            let _ = painter.join();
        }
        terminal::end_moving();
    }
}

impl Shared {
    /// Half an event is better than none: whoever panicked has said so.
    fn state(&self) -> MutexGuard<'_, RunState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn move_line(&self, now_ns: u64) {
        let columns = terminal::size().columns.saturating_sub(1);
        let line = moving(&self.state(), columns, now_ns);
        terminal::show_moving(&line);
    }
}

/// How a run is shown: as was asked for, as far as the terminal can.
fn manner(mode: ViewMode) -> Manner {
    let is_ours = terminal::has_reader() && !terminal::is_dumb();
    let is_watched = || std::env::var_os("CI").is_none_or(|value| value.is_empty());
    match mode {
        _ if !is_ours => Manner::Plain,
        ViewMode::Plain => Manner::Plain,
        ViewMode::Line => Manner::Moving,
        ViewMode::Full if view::has_room(terminal::size()) => Manner::Screen,
        ViewMode::Full => Manner::Moving,
        ViewMode::Auto if view::has_room(terminal::size()) && is_watched() => Manner::Screen,
        ViewMode::Auto => Manner::Moving,
    }
}

/// Starts the painter, which leaves the screen for lines once that is too small; none, and lines
/// from the begin, where no thread can be had.
fn paint(mut screen: Screen, shared: &Arc<Shared>) -> Option<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    let paint = move || {
        let mut has_help = false;
        while !shared.is_over.load(Ordering::Relaxed) {
            let size = terminal::size();
            if !view::has_room(size) {
                break;
            }
            let now = Now {
                ns: clock::now_ns(),
                local: local_time(),
                is_ending: shared.interrupt.load(Ordering::Relaxed),
                has_help,
            };
            let lines = view::view(&shared.state(), size, &now);
            screen.paint(&lines, size);
            match screen.key(PAINT_EVERY) {
                Some('q') => break,
                Some('?') => has_help = !has_help,
                _ => {}
            }
        }
    };
    let painter = std::thread::Builder::new().name("screen".to_owned()).spawn(paint);
    painter.ok()
}

/// Now by the user's clock.
fn local_time() -> jiff::Zoned {
    let now = Timestamp::from_nanosecond(i128::from(clock::unix_ns())).unwrap_or_default();
    now.to_zoned(TimeZone::system())
}
