//! Offering load: one run of the engine for each phase, watched interval by interval.
//!
//! Whoever watches says when to stop; here is added what every phase needs: the intervals go to
//! disk as they come, a dead node and Ctrl-C end the phase, progress is told.

use super::event::{Event, Progress};
use super::gather::Gather;
use super::running::Running;
use super::tally::Answered;
use super::timeline::Timeline;
use analysis::procedure::Point;
use anyhow::{Context, Result};
use load::{Config, Flow, Limit, Schedule, Summary, VerifyReads, Window, Written};
use measure::{Histogram, Interval, Outcome};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use store::{RunWriter, TrialWriter};
use study::plan::{Phase, PhaseKind, Trial};
use study::settings::{Client, Settings};
use workload::{Program, Stage};

/// Length of an interval: what all records and rules are made for.
const INTERVAL: Duration = Duration::from_secs(1);

/// Tries after the first of a row that is loaded: what counts there is the row and not its time,
/// and one time-out in a million rows must not cost the trial. A server that refuses five times in
/// a row, each time after its own time-out, is not passing through a moment of weakness.
pub const LOAD_RETRIES: u8 = 4;

/// What is offered in one phase.
pub struct Offer {
    /// Which part of the program.
    pub stage: Stage,
    /// Tries after the first of any operation, at least.
    pub retries_min: u8,
    /// When operations are due.
    pub schedule: Schedule,
    /// When to stop.
    pub limit: Limit,
    /// Which operations are measured.
    pub window: Window,
    /// Number of the first operation.
    pub first_operation: u64,
    /// Which reads are compared.
    pub verify: VerifyReads,
    /// Whether acknowledged writes are written down.
    pub keeps_ledger: bool,
    /// What was written before, if it was written down.
    pub written: Option<Arc<Written>>,
}

/// Where one phase's intervals go, and what can end it early.
pub struct Watch<'a> {
    /// The trial.
    pub trial: &'a Trial,
    /// Files of the run.
    pub run: &'a mut RunWriter,
    /// Files of the trial.
    pub files: &'a mut TrialWriter,
    /// What the client had answered, over all phases of the trial.
    pub answered: &'a mut Answered,
    /// The probes.
    pub gather: &'a mut Gather,
    /// When the phases were.
    pub timeline: &'a mut Timeline,
    /// Which of the plan's phases have begun.
    pub agenda: &'a mut PhaseCursor,
    /// Whoever watches the run.
    pub events: &'a mut dyn FnMut(Event),
    /// Set by Ctrl-C.
    pub interrupt: &'a AtomicBool,
}

/// What whoever decides says of an interval.
pub struct Decision {
    /// The phase that the interval belongs to, as in the records.
    pub phase: &'static str,
    /// Whether to go on.
    pub flow: Flow,
    /// The phase that begins with the next interval, if one does.
    pub next: Option<PhaseKind>,
}

impl Decision {
    /// Go on in `phase`; the drain is a phase of its own.
    pub fn go_on(phase: &'static str, interval: &Interval) -> Decision {
        Decision {
            phase: if interval.draining { "drain" } else { phase },
            flow: Flow::Continue,
            next: None,
        }
    }
}

/// How far a trial is in the phases of its plan. A kind may come twice (a restart for the load
/// phase and one for the rest): the second has words and a length of its own.
#[derive(Debug, Default)]
pub struct PhaseCursor {
    /// Of the plan's phases, the first that may still begin.
    next: usize,
}

impl PhaseCursor {
    /// The next phase of `kind` that is planned, and those after it. What comes once more than
    /// planned (a round of loading) has the words of the one before; what is not planned has none.
    fn advance<'t>(
        &mut self,
        kind: PhaseKind,
        trial: &'t Trial,
    ) -> (Option<&'t Phase>, &'t [Phase]) {
        let left = &trial.phases[self.next.min(trial.phases.len())..];
        let Some(at) = left.iter().position(|phase| phase.kind == kind) else {
            let begun = trial.phases[..self.next].iter();
            return (begun.rev().find(|phase| phase.kind == kind), left);
        };
        self.next += at + 1;
        (Some(&left[at]), &left[at + 1..])
    }

    /// Says that a phase begins: to the journal first, then to whoever watches.
    pub fn begin(
        &mut self,
        kind: PhaseKind,
        trial: &Trial,
        run: &mut RunWriter,
        events: &mut dyn FnMut(Event),
    ) -> Result<()> {
        begin_phase(kind, self.advance(kind, trial), trial, run, events)
    }
}

fn begin_phase(
    kind: PhaseKind,
    (planned, after): (Option<&Phase>, &[Phase]),
    trial: &Trial,
    run: &mut RunWriter,
    events: &mut dyn FnMut(Event),
) -> Result<()> {
    run.journal(
        "phase_started",
        Some(trial.index),
        json!({"phase": kind.name()}),
    )?;
    events(Event::PhaseStarted {
        phase: kind.name(),
        what: planned.map(|phase| phase.what.clone()).unwrap_or_default(),
        seconds: planned.map_or(0.0, |phase| phase.seconds),
        seconds_after: after.iter().map(|phase| phase.seconds).sum(),
    });
    Ok(())
}

/// How a phase ended, when it did not end as planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Ctrl-C.
    Interrupted,
    /// A node has died; its name, how, and its last log lines.
    NodeDied(String),
}

/// What a phase came to.
pub struct Offered {
    /// The engine's own account.
    pub summary: Summary,
    /// Why it ended before its plan did.
    pub cut: Option<Cut>,
    /// Failed operations, by name.
    pub errors: Vec<(&'static str, u64)>,
    /// Seconds from the begin of the first interval to the end of the last.
    pub seconds: f64,
}

impl Offered {
    /// Failed operations in words, with the first message of each kind; none if all succeeded.
    pub fn errors_words(&self) -> Option<String> {
        if self.errors.is_empty() {
            return None;
        }
        let words = self.errors.iter().map(|(name, count)| {
            let first = self
                .summary
                .first_errors
                .iter()
                .find(|e| e.outcome.name() == *name);
            let message = first.map(|e| format!(" (first, from {}: {})", e.node, e.message));
            format!("{count} {name}{}", message.unwrap_or_default())
        });
        Some(words.collect::<Vec<_>>().join(", "))
    }
}

/// A closed loop of at most `in_flight`, and never more than there is to do.
pub fn closed(in_flight: u32, operations: u64) -> Schedule {
    let operations = u32::try_from(operations).unwrap_or(u32::MAX);
    Schedule::Closed {
        in_flight: in_flight.min(operations).max(1),
    }
}

/// The schedule of a point.
pub fn schedule(point: Point, poisson: bool) -> Schedule {
    match point {
        Point::Threads(in_flight) => Schedule::Closed { in_flight },
        Point::Rate(rate) if poisson => Schedule::Poisson {
            ops_per_s: rate as f64,
        },
        Point::Rate(rate) => Schedule::Fixed {
            ops_per_s: rate as f64,
        },
    }
}

/// The engine's settings for an offer.
pub fn config(
    settings: &Settings,
    program: &Arc<Program>,
    nodes: Vec<load::Endpoint>,
    access: load::Access,
    offer: &Offer,
) -> Config {
    let client = &settings.client;
    let in_flight = match offer.schedule {
        Schedule::Closed { in_flight } => in_flight as usize,
        _ => client.in_flight_max as usize,
    };
    Config {
        program: Arc::clone(program),
        stage: offer.stage,
        nodes,
        access,
        schedule: offer.schedule,
        first_operation: offer.first_operation,
        limit: offer.limit,
        window: offer.window,
        in_flight_max: client.in_flight_max,
        release_quantum: Duration::from_nanos(client.release_quantum_ns),
        timeout: Duration::from_nanos(client.timeout_ns),
        retries_min: offer.retries_min,
        workers: workers(client, in_flight),
        cpus: client.cpus.clone(),
        connections_per_node: client.connections_per_node,
        interval: INTERVAL,
        verify_reads: offer.verify,
        keeps_ledger: offer.keeps_ledger,
        written: offer.written.clone(),
    }
}

/// Event loops for so many operations in flight: a worker without one would have nothing to do.
pub fn workers(client: &Client, in_flight: usize) -> usize {
    let asked = client.workers.unwrap_or_else(workers_auto);
    asked.clamp(1, in_flight.max(1))
}

/// Half of the CPUs: the other half is for what is measured, or for the kernel's network.
pub fn workers_auto() -> usize {
    std::thread::available_parallelism().map_or(1, |cpus| (cpus.get() / 2).max(1))
}

/// Offers load until the offer's limit, `decide`, Ctrl-C or a dead node ends it. `decide` sees each
/// interval, says the phase that it belongs to and whether to go on.
pub fn offer(
    config: &Config,
    running: &mut Running,
    watch: &mut Watch<'_>,
    decide: &mut dyn FnMut(&Interval) -> Decision,
) -> Result<Offered> {
    let is_write: Vec<bool> = config
        .program
        .kinds()
        .iter()
        .map(|kind| kind.is_write)
        .collect();
    let mut cut = None;
    let mut broken = None;
    let mut span_ns: Option<(u64, u64)> = None;
    let mut errors: Vec<(&'static str, u64)> = Vec::new();
    let mut progress = Progress::default();
    let summary = load::run(config, &mut |interval| {
        let begin_ns = span_ns.map_or(interval.start_ns, |(begin, _)| begin);
        span_ns = Some((begin_ns, interval.end_ns));
        watch.answered.push(interval, &is_write);
        add_errors(&mut errors, interval);
        let decision = decide(interval);
        if let Err(error) = watch.keep(interval, &decision) {
            broken = Some(error);
            return Flow::Abandon;
        }
        (watch.events)(Event::Interval {
            progress: next_progress(&mut progress, interval),
            phase: decision.phase,
            interval: Arc::new(interval.clone()),
        });
        if let Some(kind) = decision.next {
            progress = Progress::default();
            if let Err(error) = watch.begin(kind, interval.end_ns) {
                broken = Some(error);
                return Flow::Abandon;
            }
        }
        if watch.interrupt.load(Ordering::Relaxed) {
            cut.get_or_insert(Cut::Interrupted);
        }
        if let Err(died) = running.cluster.alive() {
            cut.get_or_insert(Cut::NodeDied(died.to_string()));
        }
        if cut.is_some() {
            Flow::Abandon
        } else {
            decision.flow
        }
    });
    if let Some(error) = broken {
        return Err(error.context("keep an interval"));
    }
    let summary = summary.context("offer load")?;
    let (begin_ns, end_ns) = span_ns.unwrap_or_default();
    Ok(Offered {
        summary,
        cut,
        errors,
        seconds: (end_ns - begin_ns) as f64 / 1e9,
    })
}

impl Watch<'_> {
    fn keep(&mut self, interval: &Interval, decision: &Decision) -> Result<()> {
        self.files.write_interval(decision.phase, interval)?;
        self.gather.write(self.files)?;
        if interval.draining {
            self.timeline.begin_drain(interval.start_ns);
        }
        Ok(())
    }

    /// The phase that begins with the next interval; this one has been told already.
    fn begin(&mut self, kind: PhaseKind, at_ns: u64) -> Result<()> {
        self.timeline.begin(kind.name(), at_ns);
        self.agenda.begin(kind, self.trial, self.run, self.events)
    }
}

fn add_errors(errors: &mut Vec<(&'static str, u64)>, interval: &Interval) {
    for kind in interval.whole_kinds() {
        for (name, count) in kind.outcomes.errors_by_name() {
            match errors.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += count,
                None => errors.push((name, count)),
            }
        }
    }
}

fn next_progress(progress: &mut Progress, interval: &Interval) -> Progress {
    let mut latency = Histogram::default();
    let mut ok = 0;
    for kind in interval.whole_kinds() {
        latency.add(&kind.latency_of_all());
        ok += kind.outcomes.get(Outcome::Ok);
        progress.errors += kind.outcomes.errors();
    }
    progress.seconds += interval.seconds();
    progress.operations += interval.ended();
    progress.ops_per_s = if interval.seconds() > 0.0 {
        ok as f64 / interval.seconds()
    } else {
        0.0
    };
    progress.p99_ms = latency.quantile_ns(0.99) as f64 / 1e6;
    *progress
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second restart of a trial had the first one's words, and its time was counted again.
    #[test]
    fn the_second_phase_of_a_kind_has_words_and_time_of_its_own() {
        let phase = |kind, what: &str, seconds| Phase {
            kind,
            what: what.to_owned(),
            seconds,
        };
        let trial = Trial {
            index: 0,
            slug: "00".to_owned(),
            variant: 0,
            point: Point::Threads(1),
            certain: true,
            block: 0,
            first_operation: 0,
            phases: vec![
                phase(PhaseKind::Restart, "for loading", 20.0),
                phase(PhaseKind::Load, "rows", 5.0),
                phase(PhaseKind::Restart, "for measuring", 40.0),
                phase(PhaseKind::Measure, "a window", 10.0),
            ],
        };
        let mut agenda = PhaseCursor::default();
        let mut begin = |kind| {
            let (planned, after) = agenda.advance(kind, &trial);
            let words = planned.map(|phase| phase.what.as_str());
            (words, after.iter().map(|phase| phase.seconds).sum::<f64>())
        };
        assert_eq!(begin(PhaseKind::Restart), (Some("for loading"), 55.0));
        assert_eq!(begin(PhaseKind::Settle), (None, 55.0), "not planned");
        assert_eq!(begin(PhaseKind::Load), (Some("rows"), 50.0));
        assert_eq!(
            begin(PhaseKind::Load),
            (Some("rows"), 50.0),
            "a second round"
        );
        assert_eq!(begin(PhaseKind::Restart), (Some("for measuring"), 10.0));
        assert_eq!(begin(PhaseKind::Measure), (Some("a window"), 0.0));
    }
}
