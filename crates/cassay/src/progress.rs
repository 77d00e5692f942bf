//! Shows the progress of a run: a full screen or a status line on a terminal, plain lines
//! elsewhere.
//!
//! The thread of the run only records events. A separate thread paints the screen a few times a
//! second, so that a slow terminal cannot delay a run.

mod braille_curve;
mod full_screen;
mod live_state;
mod machines;
mod plain_lines;
mod run_state;
#[cfg(test)]
mod tests;

use crate::args::ViewMode;
use crate::terminal::{self, Line, Screen};
use engine::Event;
use full_screen::Now;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use live_state::Clocks;
use measure::clock;
use measure::number::about_durations;
pub use plain_lines::{FigureColumns, tone_of};
use plain_lines::{begun, finished, moving, still};
use run_state::RunState;
pub use run_state::TrialFigures;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use store::live::{LiveEnd, LiveRun};
use study::units;

/// Maximum time without output in plain mode, so that a waiting user sees that the run is alive.
const SILENCE_MAX: Duration = Duration::from_millis(4500);
/// The value of [`SILENCE_MAX`] for a run longer than [`LONG_RUN`], whose log should remain
/// readable.
const SILENCE_MAX_LONG: Duration = Duration::from_secs(10);
const LONG_RUN: Duration = Duration::from_secs(600);
/// Interval between two paintings of the screen, short enough to react to a key at once.
const PAINT_EVERY: Duration = Duration::from_millis(200);

/// Interval of the heartbeat. The status line counts down the time in steps of this length.
const BEAT_EVERY: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Screen,
    /// A status line shows the run. The line is rewritten for each change.
    Moving,
    /// Plain lines show the run: a line for each phase, and some lines during the phase.
    Plain,
}

/// Shows the events of a run.
pub struct Show {
    shared: Arc<Shared>,
    manner: Manner,
    painter: Option<JoinHandle<()>>,
    /// Thread that prints a line after a time without output, unless a full screen is shown.
    heartbeat: Option<JoinHandle<()>>,
    path: Option<PathBuf>,
    /// The message about the last omitted trial.
    left_out: String,
}

/// State that the run's thread, the painter and the heartbeat share.
struct Shared {
    state: Mutex<RunState>,
    /// True if the painter and the heartbeat must end.
    is_over: AtomicBool,
    interrupt: Arc<AtomicBool>,
}

impl Show {
    /// Creates a display without events. `interrupt` becomes true when the user requests the end of
    /// the run.
    pub fn new(mode: ViewMode, interrupt: Arc<AtomicBool>) -> Show {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            is_over: AtomicBool::new(false),
            interrupt,
        });
        let manner = manner(mode);
        Show {
            heartbeat: beat(manner, &shared),
            shared,
            manner,
            painter: None,
            path: None,
            left_out: String::new(),
        }
    }

    /// Handles one event of the run.
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
                let trials = units::trials(left.0, left.1);
                let about = about_durations(seconds.0, seconds.1);
                terminal::say(&format!(
                    "{trials}{done}, about {about}: {}",
                    path.display()
                ));
                self.path = Some(path);
                // The display takes the screen only now, because an error before this point should
                // appear as lines.
                if self.manner == Manner::Screen {
                    self.painter = Screen::take().and_then(|screen| paint(screen, &self.shared));
                }
            }
            Event::Said(text) => self.print(&text),
            Event::PhaseStarted { .. } => self.phase(now_ns),
            Event::TrialFinished { name, finding, .. } => match shown_as(self.manner) {
                Manner::Plain => terminal::say(&finished(&name, &finding)),
                Manner::Moving | Manner::Screen => {
                    let names = self.shared.state().trials.clone();
                    let names = names.iter().map(|trial| trial.name.as_str());
                    let columns = FigureColumns::for_lines(terminal::size().columns, names);
                    terminal::say_line(&columns.finished(&name, &TrialFigures::new(&finding)));
                }
            },
            Event::TrialFailed { name, reason, .. } => {
                terminal::say(&format!("  {name}: failed: {reason}"));
            }
            Event::TrialSkipped { name, reason, .. } => {
                let line = format!("  {name}: left out: {reason}");
                // A search that has ended omits all its remaining points with the same message. The
                // display shows this message once.
                if self.left_out != line {
                    terminal::say(&line);
                    self.left_out = line;
                }
            }
            _ => {}
        }
    }

    /// Shows the state of a run that another process runs. Prints a line for each phase and each
    /// trial that is new since the last call.
    pub fn follow(&mut self, live: &LiveRun) {
        let clocks = Clocks {
            now_ns: clock::now_ns(),
            unix_ns: clock::unix_ns(),
        };
        let state = live_state::run_state(live, clocks);
        let before = std::mem::replace(&mut *self.shared.state(), state);
        let is_first = before.study.is_empty();
        if is_first {
            let finished = live.finished().count();
            let trials = units::trials(live.trials.len(), live.trials.len());
            terminal::say(&format!("{}: {trials}, {finished} finished", live.name));
            if self.manner == Manner::Screen && live.state == store::RunState::Running {
                self.painter = Screen::take().and_then(|screen| paint(screen, &self.shared));
            }
        }
        let names = live.trials.iter().map(|trial| trial.name.as_str());
        let columns = FigureColumns::for_lines(terminal::size().columns, names);
        for (index, trial) in live.trials.iter().enumerate() {
            if before.trials.get(index).is_some_and(|trial| trial.end.is_some()) {
                continue;
            }
            match &trial.end {
                Some(LiveEnd::Finished(found)) => {
                    let figures = live_state::figures(found);
                    terminal::say_line(&columns.finished(&trial.name, &figures));
                }
                Some(LiveEnd::Failed(reason)) => {
                    terminal::say(&format!("  {}: failed: {reason}", trial.name));
                }
                Some(LiveEnd::LeftOut(_)) | None => {}
            }
        }
        let phase = (live.current, live.phase.name.as_str());
        let is_new = phase != (before.current, before.phase.name);
        if is_new && !live.phase.name.is_empty() && live.state == store::RunState::Running {
            self.phase(clocks.now_ns);
        }
    }

    /// Restores the terminal. Returns the run's folder, if the run has one.
    pub fn done(mut self) -> Option<PathBuf> {
        self.path.take()
    }

    fn phase(&self, now_ns: u64) {
        match shown_as(self.manner) {
            Manner::Screen => {}
            Manner::Moving => self.shared.move_line(now_ns),
            Manner::Plain => terminal::say(&begun(&self.shared.state(), now_ns)),
        }
    }

    fn print(&self, text: &str) {
        match shown_as(self.manner) {
            Manner::Screen => {}
            Manner::Moving => {
                let state = self.shared.state();
                let (place, name) = state.current().unwrap_or_default();
                let phase = state.phase.name;
                terminal::show_moving(&Line::from_text(&format!(
                    "{place} {name} · {phase}: {text}"
                )));
            }
            Manner::Plain => terminal::say(&format!("    {text}")),
        }
    }
}

impl Drop for Show {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(heartbeat) = self.heartbeat.take() {
            heartbeat.thread().unpark();
            let _ = heartbeat.join();
        }
        if let Some(painter) = self.painter.take() {
            // The panic has already been reported, so the result is ignored.
            let _ = painter.join();
        }
        terminal::end_moving();
    }
}

impl Shared {
    /// Returns the state, even if a thread panicked while it held the lock, because the panic was
    /// already reported.
    fn state(&self) -> MutexGuard<'_, RunState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn move_line(&self, now_ns: u64) {
        let columns = terminal::size().columns.saturating_sub(1);
        let line = moving(&self.state(), columns, now_ns);
        terminal::show_moving(&line);
    }
}

/// Returns the way in which a run is shown: the requested view, if the terminal supports it. By
/// default, a full screen on a large terminal, except in CI.
fn manner(mode: ViewMode) -> Manner {
    let is_ours = terminal::has_reader() && !terminal::is_dumb();
    let is_watched = || std::env::var_os("CI").is_none_or(|value| value.is_empty());
    match mode {
        _ if !is_ours => Manner::Plain,
        ViewMode::Plain => Manner::Plain,
        ViewMode::Line => Manner::Moving,
        ViewMode::Full if full_screen::has_room(terminal::size()) => Manner::Screen,
        ViewMode::Full => Manner::Moving,
        ViewMode::Auto if full_screen::has_room(terminal::size()) && is_watched() => Manner::Screen,
        ViewMode::Auto => Manner::Moving,
    }
}

/// Returns the way in which a run is shown now. While the full screen is not in use, the run is
/// shown as a status line.
fn shown_as(manner: Manner) -> Manner {
    match manner {
        Manner::Screen if !terminal::is_full() => Manner::Moving,
        manner => manner,
    }
}

/// Starts the thread that rewrites the status line every second, and that prints a plain line after
/// a long silence. `None` if no thread can be started.
fn beat(manner: Manner, shared: &Arc<Shared>) -> Option<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    let begin_ns = clock::now_ns();
    let beat = move || {
        let mut pause = BEAT_EVERY;
        loop {
            std::thread::park_timeout(pause);
            if shared.is_over.load(Ordering::Relaxed) {
                break;
            }
            let now_ns = clock::now_ns();
            pause = BEAT_EVERY;
            match shown_as(manner) {
                _ if shared.state().phase.name.is_empty() => {}
                Manner::Screen => {}
                Manner::Moving => shared.move_line(now_ns),
                Manner::Plain => {
                    let elapsed = Duration::from_nanos(now_ns.saturating_sub(begin_ns));
                    let silence =
                        Duration::from_nanos(now_ns.saturating_sub(terminal::last_line_ns()));
                    match silence_max(elapsed).checked_sub(silence) {
                        Some(rest) if !rest.is_zero() => pause = rest.min(BEAT_EVERY),
                        _ => terminal::say(&still(&shared.state(), now_ns)),
                    }
                }
            }
        }
    };
    std::thread::Builder::new().name("heartbeat".to_owned()).spawn(beat).ok()
}

fn silence_max(elapsed: Duration) -> Duration {
    if elapsed < LONG_RUN {
        SILENCE_MAX
    } else {
        SILENCE_MAX_LONG
    }
}

/// Starts the painter, which changes to lines when the screen is too small, or when the user
/// presses q. Returns `None` if no thread can be started. The run is then shown as lines from the
/// start.
fn paint(mut screen: Screen, shared: &Arc<Shared>) -> Option<JoinHandle<()>> {
    let shared = Arc::clone(shared);
    let paint = move || {
        let mut has_help = false;
        while !shared.is_over.load(Ordering::Relaxed) {
            let size = terminal::size();
            if !full_screen::has_room(size) {
                break;
            }
            let now = Now {
                ns: clock::now_ns(),
                local: local_time(),
                is_ending: shared.interrupt.load(Ordering::Relaxed),
                has_help,
            };
            let lines = full_screen::view(&shared.state(), size, &now);
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

fn local_time() -> jiff::Zoned {
    let now = Timestamp::from_nanosecond(i128::from(clock::unix_ns())).unwrap_or_default();
    now.to_zoned(TimeZone::system())
}
