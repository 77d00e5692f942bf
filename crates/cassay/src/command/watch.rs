//! `cassay watch`: shows a run that another process runs, on this machine or at a server.

use crate::args::{Common, WatchArgs};
use crate::command::server_token;
use crate::exit::Exit;
use crate::interrupt;
use crate::progress::{Show, tone_of};
use crate::terminal::{self, Line};
use anyhow::{Context, Result};
use measure::clock::{self, Deadline};
use report::Verdict;
use serve::RemoteRun;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::RunState;
use store::live::{LiveRun, RunFollower};

/// Pause between two reads of the files. A run writes once per second.
const PAUSE: Duration = Duration::from_millis(500);
/// Pause between two requests to a server.
const PAUSE_REMOTE: Duration = Duration::from_secs(1);
/// Longest wait until the command notices Ctrl-C.
const STEP: Duration = Duration::from_millis(100);
/// Time for which a server may be away, for example to restart.
const AWAY_MAX: Duration = Duration::from_secs(60);

/// Source of the state of a run.
enum Source {
    Files(Box<RunFollower>),
    Server(RemoteRun),
}

/// Shows the run until it ends.
pub fn run(args: &WatchArgs, common: &Common) -> Result<Exit> {
    let interrupt = interrupt::flag()?;
    let mut source = open(args, common)?;
    let mut live = source.read()?;
    let mut show = Show::new(args.view.view, Arc::clone(&interrupt));
    while live.state == RunState::Running {
        show.follow(&live);
        if !source.wait(&interrupt) {
            drop(show);
            terminal::say(&format!(
                "The run continues. To see it again: cassay watch {}",
                args.run
            ));
            return Ok(Exit::Interrupted);
        }
        live = source.read_again(&interrupt)?;
    }
    show.follow(&live);
    drop(show);
    say_end(&live, common)?;
    Ok(Exit::Done)
}

fn open(args: &WatchArgs, common: &Common) -> Result<Source> {
    let is_address = ["http://", "https://"].iter().any(|scheme| args.run.starts_with(scheme));
    if !is_address {
        let path = store::live::run_folder(&common.out, &args.run)?;
        return Ok(Source::Files(Box::new(RunFollower::open(&path)?)));
    }
    let token = args.token.as_ref().map(server_token::read).transpose()?;
    Ok(Source::Server(RemoteRun::new(&args.run, token)))
}

impl Source {
    fn read(&mut self) -> Result<LiveRun> {
        match self {
            Source::Files(follower) => {
                follower.read()?;
                Ok(follower.state().clone())
            }
            Source::Server(remote) => remote.state(),
        }
    }

    /// Reads the state as [`Source::read`] does. A server may be away for a while.
    fn read_again(&mut self, interrupt: &AtomicBool) -> Result<LiveRun> {
        let deadline = Deadline::after(AWAY_MAX);
        loop {
            match self.read() {
                Err(_) if self.is_remote() && !deadline.passed() && self.wait(interrupt) => {}
                read => return read.context("the run cannot be read any more"),
            }
        }
    }

    fn is_remote(&self) -> bool {
        matches!(self, Source::Server(_))
    }

    /// Waits until the next read. Returns false if the user pressed Ctrl-C.
    fn wait(&self, interrupt: &AtomicBool) -> bool {
        let pause = if self.is_remote() {
            PAUSE_REMOTE
        } else {
            PAUSE
        };
        let deadline = Deadline::after(pause);
        while !deadline.passed() {
            if interrupt.load(Ordering::Relaxed) {
                return false;
            }
            clock::sleep(STEP.min(deadline.left()));
        }
        !interrupt.load(Ordering::Relaxed)
    }
}

/// Prints the verdict and the answer, as the last lines of the run itself.
fn say_end(live: &LiveRun, common: &Common) -> Result<()> {
    if common.json {
        terminal::json(&serde_json::to_value(live).context("encode the state of the run")?);
        return Ok(());
    }
    if live.state == RunState::Interrupted {
        terminal::say(&format!(
            "{}: the run was interrupted. To continue: cassay resume {}",
            live.study, live.name
        ));
        return Ok(());
    }
    let verdict = Verdict::from_record(live.verdict);
    let mut lines =
        vec![Line::from_text(&format!("{}: ", live.study)).with(tone_of(verdict), verdict.name())];
    lines.extend(live.answer.iter().map(|sentence| Line::from_text(&format!("  {sentence}"))));
    lines.extend(live.reasons.iter().map(|reason| Line::from_text(&format!("  ! {reason}"))));
    terminal::data_lines(&lines);
    terminal::say(&format!("report: cassay report {}", live.name));
    Ok(())
}
