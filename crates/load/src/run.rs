//! One run: connections opened, workers started on one line, their intervals given to the caller.

use crate::build::{Shared, Sizes, build};
use crate::config::{Config, Endpoint, FirstError, Flow, Limit, LoadError, Summary, Window};
use crate::connect::{self, Reconnector};
use crate::connection::Link;
use crate::control::Control;
use crate::facts::Facts;
use crate::failures;
use crate::hiccups::Watch;
use crate::history::History;
use crate::ledger::{Keeps, LEDGER_OPERATIONS_MAX, Ledger};
use crate::merge::Merger;
use crate::own::{Turn, own};
use crate::recorder::{PARTS_PER_WORKER, Part, Recorder};
use crate::room::{Connections, Room, stream_ids_refusal};
use crate::schedule::Schedule;
use crate::worker::WorkerEnd;
use crate::world::{Net, Parts};
use cql::template::Template;
use measure::{Interval, clock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long an abandoned run waits for answers: those that come at all have come by then, and a
/// client's time-out may be minutes.
const HANG_UP_AFTER_NS: u64 = clock::SECOND_NS;

/// The start line is this far in the future, so that every worker is there when it comes.
const START_AHEAD_NS: u64 = 2 * clock::MILLISECOND_NS;

/// Times that are set while workers run lie so far ahead, as a share of an interval: every worker
/// then reads them before they come, or is late for a reason that shows elsewhere.
const AHEAD_SHARE: u64 = 10;

/// Load that is being offered, by threads of its own. Dropping it ends it: nothing more is sent,
/// and what is in flight is awaited.
///
/// The caller's thread puts the workers' parts together whenever it waits for an interval. It may
/// be away from that for as long as an interval takes; then intervals become longer.
pub struct Load {
    workers: Workers,
    control: Arc<Control>,
    watch: Watch,
    merger: Merger,
    interval_ns: u64,
    /// End of the last interval that the caller was given.
    shown_ns: u64,
    /// That of the caller's thread.
    _turn: Turn,
}

/// What waiting for load has brought.
#[derive(Debug)]
pub enum Next {
    /// An interval has ended.
    Interval(Arc<Interval>),
    /// The time until which was to be waited has come.
    Time,
    /// Everything has ended, and every interval was given.
    Over,
}

/// Offers the load and blocks until everything that was due before the stop has ended, or was not
/// sent within the longest time-out after it; `on_interval` sees each interval, and says whether to
/// go on.
///
/// # Errors
/// As [`Load::start`] and [`Load::end`].
pub fn run(
    config: &Config,
    on_interval: &mut dyn FnMut(&Interval) -> Flow,
) -> Result<Summary, LoadError> {
    let mut load = Load::start(config)?;
    while let Next::Interval(interval) = load.next(u64::MAX) {
        load.steer(on_interval(&interval));
    }
    load.end()
}

impl Load {
    /// Begins to offer load.
    ///
    /// 1. Opens every connection and prepares every statement, so that a refusal costs nothing.
    /// 2. Starts the workers, each pinned and with all its memory, and waits until they are ready.
    /// 3. Draws the start line.
    ///
    /// # Errors
    /// The settings make no sense, a node refuses, or the system does.
    pub fn start(config: &Config) -> Result<Load, LoadError> {
        check(config)?;
        let facts = Facts::new(&config.program, config.timeout, config.retries_min)?;
        let (links, templates) = open_all(config)?;
        let control = Arc::new(Control::new(&facts));
        let shared = Shared {
            control: Arc::clone(&control),
            facts: Arc::new(facts),
            templates: templates.into(),
        };
        let watch = Watch::start(config, &control)?;
        let (is_ready, ready) = channel();
        let (full, parts) = sync_channel(config.workers * (PARTS_PER_WORKER + 1));
        let mut workers = Workers {
            empties: Vec::new(),
            handles: Vec::new(),
            lines: Vec::new(),
            parts,
            finished: Arc::new(AtomicBool::new(false)),
            summary: Summary::at_first(config, links.iter().map(Vec::len).sum()),
            nodes: config.nodes.iter().map(|node| node.name.clone()).collect(),
            keeps_ledger: config.keeps != Keeps::Nothing,
        };
        for (index, links) in links.into_iter().enumerate() {
            let setup = WorkerSetup {
                index,
                shared: shared.clone(),
                is_ready: is_ready.clone(),
                finished: Arc::clone(&workers.finished),
            };
            workers.start(config, setup, links, &full)?;
        }
        drop((full, is_ready));
        let are_ready = ready.iter().take(config.workers).count();
        if are_ready < config.workers {
            return Err(LoadError::Panicked(are_ready));
        }
        workers.summary.start_ns = draw_line(config, &control);
        for line in workers.lines.drain(..) {
            let _ = line.send(workers.summary.start_ns);
        }
        Ok(Load {
            workers,
            control,
            watch,
            merger: Merger::new(config.workers, Arc::clone(&config.program)),
            interval_ns: config.interval.as_nanos() as u64,
            shown_ns: 0,
            _turn: Turn::take(config.realtime),
        })
    }

    /// The start line, monotonic clock, ns.
    pub fn start_ns(&self) -> u64 {
        self.workers.summary.start_ns
    }

    /// Waits for the next interval, until `until_ns` of the monotonic clock at most.
    pub fn next(&mut self, until_ns: u64) -> Next {
        loop {
            if let Some(interval) = self.take() {
                return Next::Interval(Arc::new(interval));
            }
            if self.merger.is_over() {
                return Next::Over;
            }
            let left = Duration::from_nanos(until_ns.saturating_sub(clock::now_ns()));
            match self.workers.parts.recv_timeout(left) {
                Ok(mut part) => {
                    self.merger.add(&part);
                    let worker = part.worker;
                    part.clear();
                    let _ = self.workers.empties[worker].send(part);
                }
                Err(RecvTimeoutError::Timeout) => return Next::Time,
                Err(RecvTimeoutError::Disconnected) => self.merger.close(),
            }
            if self.merger.is_over() {
                // Before the last interval is given: it has what they were in at the end.
                self.watch.stop();
            }
        }
    }

    fn take(&mut self) -> Option<Interval> {
        let (mut interval, is_last) = self.merger.take()?;
        interval.client.hiccups = if is_last {
            self.watch.take_all()
        } else {
            self.watch.take(interval.index)
        };
        interval.window_from_ns = self.control.window_from_ns();
        self.shown_ns = interval.end_ns;
        Some(interval)
    }

    /// Says how it goes on from here.
    pub fn steer(&self, flow: Flow) {
        let soon_ns = || clock::now_ns() + self.interval_ns / AHEAD_SHARE;
        match flow {
            Flow::Continue => {}
            Flow::StopAt(at_ns) => self.control.stop_at(at_ns),
            Flow::Measure(count) => {
                let from_ns = self.edge_after(self.shown_ns, soon_ns());
                self.control.measure_from(from_ns);
                self.control.stop_at(from_ns + count * self.interval_ns);
            }
            Flow::StopNow => self.control.stop_at(soon_ns()),
            Flow::Abandon => {
                let now_ns = clock::now_ns();
                self.control.abandon(now_ns, now_ns + HANG_UP_AFTER_NS);
            }
        }
    }

    /// The first end of an interval after `end_ns`, which is one, that is not before `soon_ns`.
    fn edge_after(&self, end_ns: u64, soon_ns: u64) -> u64 {
        let ahead_ns = soon_ns.saturating_sub(end_ns).max(1);
        end_ns + ahead_ns.next_multiple_of(self.interval_ns)
    }

    /// Waits until everything has ended, and adds up what the workers tell. Intervals that were not
    /// asked for are lost.
    ///
    /// # Errors
    /// A worker could not wait for answers, or has panicked.
    pub fn end(mut self) -> Result<Summary, LoadError> {
        self.finish()
    }

    fn finish(&mut self) -> Result<Summary, LoadError> {
        while !matches!(self.next(u64::MAX), Next::Over) {}
        self.workers.stop()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        if !self.workers.handles.is_empty() {
            self.steer(Flow::Abandon);
            // Whoever drops it has no use for what it says.
            let _ = self.finish();
        }
    }
}

/// Draws the start line for workers that wait for it.
fn draw_line(config: &Config, control: &Control) -> u64 {
    let start_ns = clock::now_ns() + START_AHEAD_NS;
    if let Limit::Duration(duration) = config.limit {
        control.stop_at(start_ns + duration.as_nanos() as u64);
    }
    control.measure_from(match config.window {
        Window::Whole => 0,
        Window::After(warmup) => start_ns + warmup.as_nanos() as u64,
        Window::WhenTold => u64::MAX,
    });
    control.start_at(start_ns);
    start_ns
}

fn check(config: &Config) -> Result<(), LoadError> {
    let refuse = |text: String| Err(LoadError::Config(text));
    if config.nodes.is_empty() {
        return refuse("no node to send to".to_owned());
    }
    if config.workers == 0 || config.connections_per_node == 0 {
        return refuse("workers and connections per node must be at least 1".to_owned());
    }
    let asked = Connections {
        workers: config.workers,
        per_node: config.connections_per_node,
        nodes: config.nodes.len(),
        files_each: 1,
    };
    if let Some(why) = asked.refusal(&Room::here()) {
        return refuse(why);
    }
    asked.make_room();
    let in_flight = in_flight_of(config);
    if in_flight == 0 {
        return refuse("operations in flight must be at least 1".to_owned());
    }
    if let Some(why) = stream_ids_refusal(in_flight as usize, config.workers) {
        return refuse(why);
    }
    if (in_flight as usize) < config.workers {
        return refuse(format!(
            "{in_flight} in flight over {} workers leaves some without work; use fewer workers",
            config.workers
        ));
    }
    if let Limit::Operations(count) = config.limit
        && config.keeps != Keeps::Nothing
        && count > LEDGER_OPERATIONS_MAX
    {
        return refuse(format!(
            "{count} operations: a ledger keeps at most {LEDGER_OPERATIONS_MAX}; run without one"
        ));
    }
    match config.schedule {
        Schedule::Fixed { ops_per_s } | Schedule::Poisson { ops_per_s }
            if !(0.001..=1e9).contains(&ops_per_s) =>
        {
            refuse(format!(
                "{ops_per_s} operations per second: must be 0.001 to 1e9"
            ))
        }
        Schedule::Recorded { speed }
            if config.program.course().is_none() || !(1e-6..=1e6).contains(&speed) =>
        {
            refuse(format!(
                "recorded arrivals at {speed} times their speed: the workload must be recorded, \
                 and the speed 1e-6 to 1e6"
            ))
        }
        _ => Ok(()),
    }
}

pub(crate) fn in_flight_of(config: &Config) -> u32 {
    match config.schedule {
        Schedule::Closed { in_flight } => in_flight,
        _ => config.in_flight_max,
    }
}

/// Opens the connections of every worker: for each worker its links, node by node.
fn open_all(config: &Config) -> Result<(Vec<Vec<Link>>, Vec<Template>), LoadError> {
    let mut all = Vec::new();
    let mut templates = None;
    for _ in 0..config.workers {
        let mut links = Vec::new();
        for node in &config.nodes {
            for _ in 0..config.connections_per_node {
                let (link, prepared) = connect::open(node, &config.access, &config.program)?;
                templates.get_or_insert(prepared);
                links.push(link);
            }
        }
        all.push(links);
    }
    Ok((all, templates.unwrap_or_default()))
}

/// A worker's place in the run.
struct WorkerSetup {
    index: usize,
    shared: Shared,
    is_ready: Sender<()>,
    finished: Arc<AtomicBool>,
}

/// The workers as the caller sees them.
struct Workers {
    empties: Vec<Sender<Box<Part>>>,
    /// None once they were joined.
    handles: Vec<JoinHandle<std::io::Result<WorkerEnd>>>,
    /// Where each waits for the start line. One that will not come ends it.
    lines: Vec<SyncSender<u64>>,
    parts: Receiver<Box<Part>>,
    /// Tells reconnectors that nobody waits for them any more.
    finished: Arc<AtomicBool>,
    /// What is known from the start.
    summary: Summary,
    /// Names of the nodes.
    nodes: Vec<String>,
    keeps_ledger: bool,
}

impl Workers {
    fn start(
        &mut self,
        config: &Config,
        setup: WorkerSetup,
        links: Vec<Link>,
        full: &SyncSender<Box<Part>>,
    ) -> Result<(), LoadError> {
        let failed = |what| move |answer| LoadError::System { what, answer };
        let kinds = config.program.kinds();
        let (empty_to, empty) = channel();
        for _ in 1..PARTS_PER_WORKER {
            let _ = empty_to.send(Box::new(Part::new(setup.index, kinds)));
        }
        self.empties.push(empty_to);
        let first = Box::new(Part::new(setup.index, kinds));
        let recorder = Recorder::new(first, config.interval.as_nanos() as u64);
        let reconnector = Reconnector {
            nodes: config.nodes.clone(),
            connections_per_node: config.connections_per_node,
            access: config.access.clone(),
            program: Arc::clone(&config.program),
            finished: setup.finished,
        };
        let full = full.clone();
        let parts = Parts { full, empty };
        let cpu = (!config.cpus.is_empty()).then(|| config.cpus[setup.index % config.cpus.len()]);
        let worker = Net::new(reconnector, parts)
            .and_then(|net| {
                let shared = (config, &setup.shared);
                build(shared, setup.index, (net, links), recorder, Sizes::USUAL)
            })
            .map_err(failed("set up a load worker"))?;
        let is_ready = setup.is_ready;
        let (line, start_line) = sync_channel(1);
        let wanted = config.realtime;
        let body = move || {
            let realtime = own(cpu, wanted);
            let end = match await_line(is_ready, start_line) {
                Some(start_ns) => worker.run(start_ns)?,
                None => worker.end,
            };
            Ok(WorkerEnd { realtime, ..end })
        };
        let handle = std::thread::Builder::new()
            .name("load-worker".into())
            .spawn(body)
            .map_err(failed("start a load worker"))?;
        self.handles.push(handle);
        self.lines.push(line);
        Ok(())
    }

    /// Waits for them, and adds up what they tell.
    fn stop(&mut self) -> Result<Summary, LoadError> {
        self.finished.store(true, Ordering::Relaxed);
        let workers = self.handles.len() as u64;
        let mut summary = self.summary.clone();
        let (mut parts, mut histories, mut failures) = (Vec::new(), Vec::new(), Vec::new());
        for (index, handle) in std::mem::take(&mut self.handles).into_iter().enumerate() {
            let end = handle.join().map_err(|_| LoadError::Panicked(index))?.map_err(|answer| {
                LoadError::System {
                    what: "wait for answers",
                    answer,
                }
            })?;
            summary.realtime &= end.realtime;
            summary.operations_sent += end.sent;
            summary.operations_ended += end.ended;
            let before = end.next_operation.saturating_sub(workers - 1);
            summary.next_operation = summary.next_operation.max(before);
            parts.extend(end.ledger);
            histories.extend(end.history);
            failures::add(&mut failures, &end.failures);
            for (outcome, node, message) in end.first_errors.iter() {
                let known = &mut summary.first_errors;
                if known.iter().all(|known| known.outcome != outcome) {
                    known.push(FirstError {
                        outcome,
                        node: self.nodes[node].clone(),
                        message: message.to_owned(),
                    });
                }
            }
        }
        summary.failures = failures::named(&failures, &self.nodes);
        let first = self.summary.next_operation;
        summary.history = (!histories.is_empty()).then(|| Arc::new(History::new(first, histories)));
        summary.ledger = self
            .keeps_ledger
            .then(|| Arc::new(Ledger::new(self.summary.next_operation, parts)));
        Ok(summary)
    }
}

/// Says that a worker is ready, and waits for the start line; none if another could not be started.
fn await_line(is_ready: Sender<()>, start_line: Receiver<u64>) -> Option<u64> {
    // Whoever listened has given up.
    let _ = is_ready.send(());
    drop(is_ready);
    start_line.recv().ok()
}

/// A node of the target, for the one-line way of building it.
impl Endpoint {
    /// A node at `address` whose tokens are not known.
    pub fn at(address: std::net::SocketAddr) -> Endpoint {
        Endpoint {
            address,
            name: address.to_string(),
            tokens: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_that_wait_for_the_line_go_when_one_could_not_be_started() {
        let (is_ready, ready) = channel();
        let (line, start_line) = sync_channel(1);
        let waits = std::thread::spawn(move || await_line(is_ready, start_line));
        assert_eq!(ready.iter().count(), 1, "and nobody else will be");
        drop(line);
        assert_eq!(waits.join().unwrap(), None);

        let (is_ready, ready) = channel();
        let (line, start_line) = sync_channel(1);
        line.send(7).unwrap();
        drop(ready);
        assert_eq!(await_line(is_ready, start_line), Some(7));
    }
}
