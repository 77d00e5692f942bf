//! One run: connections opened, workers started on one line, their intervals merged and shown.

use crate::build::{Shared, Sizes, build};
use crate::config::{Config, Endpoint, FirstError, Flow, Limit, LoadError, Summary, Window};
use crate::connect::{self, Reconnector};
use crate::connection::Link;
use crate::facts::Facts;
use crate::hiccups::Watch;
use crate::inflight::SLOTS_MAX;
use crate::ledger::{LEDGER_OPERATIONS_MAX, Ledger};
use crate::recorder::{PARTS_PER_WORKER, Part, Recorder, kinds_of};
use crate::room::{Connections, Room};
use crate::schedule::Schedule;
use crate::worker::WorkerEnd;
use crate::world::{Net, Parts};
use cql::template::Template;
use measure::{Interval, clock};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;
use workload::Program;

/// The start line is this far in the future, so that every worker is there when it comes.
const START_AHEAD_NS: u64 = 2 * clock::MILLISECOND_NS;

/// Times that are set while workers run lie so far ahead, as a share of an interval: every worker
/// then reads them before they come, or is late for a reason that shows elsewhere.
const AHEAD_SHARE: u64 = 10;

/// What the caller and the workers share: a few words, read by workers once per turn.
#[derive(Debug)]
pub(crate) struct Control {
    start_ns: AtomicU64,
    window_from_ns: AtomicU64,
    stop_ns: AtomicU64,
    /// Until when the drain sends what was due before the stop.
    sends_until_ns: AtomicU64,
    /// How long after the stop that is.
    sends_for_ns: u64,
}

impl Control {
    pub fn new(facts: &Facts) -> Control {
        let timeouts = facts.classes.iter().map(|class| class.timeout_ns);
        Control {
            start_ns: AtomicU64::new(0),
            window_from_ns: AtomicU64::new(u64::MAX),
            stop_ns: AtomicU64::new(u64::MAX),
            sends_until_ns: AtomicU64::new(u64::MAX),
            sends_for_ns: timeouts.max().unwrap_or(0),
        }
    }

    /// When the measured window begins, monotonic clock.
    #[inline]
    pub fn window_from_ns(&self) -> u64 {
        self.window_from_ns.load(Ordering::Relaxed)
    }

    /// Until when what was due before the stop is sent, monotonic clock.
    pub fn sends_until_ns(&self) -> u64 {
        self.sends_until_ns.load(Ordering::Relaxed)
    }

    /// Nothing becomes due from `stop_ns` on. The first stop holds.
    pub fn stop_at(&self, stop_ns: u64) {
        let before_ns = self.stop_ns.fetch_min(stop_ns, Ordering::Relaxed);
        let until_ns = before_ns.min(stop_ns).saturating_add(self.sends_for_ns);
        self.sends_until_ns.fetch_min(until_ns, Ordering::Relaxed);
    }

    /// The measured window begins at `from_ns`.
    pub fn measure_from(&self, from_ns: u64) {
        self.window_from_ns.store(from_ns, Ordering::Relaxed);
    }

    /// Nothing more is sent.
    pub fn abandon(&self, now_ns: u64) {
        self.stop_at(now_ns);
        self.sends_until_ns.store(0, Ordering::Relaxed);
    }

    /// When issuing stops, monotonic clock.
    #[inline]
    pub fn stop_ns(&self) -> u64 {
        self.stop_ns.load(Ordering::Relaxed)
    }

    /// The start line, monotonic clock; 0 before it is drawn.
    pub fn start_ns(&self) -> u64 {
        self.start_ns.load(Ordering::Relaxed)
    }
}

/// Offers the load and blocks until everything that was due before the stop has ended, or was not
/// sent within the longest time-out after it.
///
/// 1. Opens every connection and prepares every statement, so that a refusal costs nothing.
/// 2. Starts the workers, each pinned and with all its memory, and waits until they are ready.
/// 3. Draws the start line and merges the workers' intervals as they come; `on_interval` sees
///    each, on the calling thread, and says whether to go on.
/// 4. Waits for the drain, and adds up what the workers tell.
pub fn run(
    config: &Config,
    on_interval: &mut dyn FnMut(&Interval) -> Flow,
) -> Result<Summary, LoadError> {
    check(config)?;
    let facts = Facts::new(&config.program, config.timeout, config.retries_min)?;
    let (links, templates) = open_all(config)?;
    let connections = links.iter().map(Vec::len).sum();
    let finished = Arc::new(AtomicBool::new(false));
    let control = Arc::new(Control::new(&facts));
    let shared = Shared {
        control: Arc::clone(&control),
        facts: Arc::new(facts),
        templates: templates.into(),
    };
    let mut watch = Watch::start(config, &control)?;
    let ready = Arc::new(Barrier::new(config.workers + 1));
    let (full, parts) = sync_channel(config.workers * (PARTS_PER_WORKER + 1));
    let mut workers = Workers {
        empties: Vec::new(),
        handles: Vec::new(),
        parts,
    };
    for (index, links) in links.into_iter().enumerate() {
        let setup = WorkerSetup {
            index,
            shared: shared.clone(),
            ready: Arc::clone(&ready),
            finished: Arc::clone(&finished),
        };
        workers.start(config, setup, links, &full)?;
    }
    drop(full);
    ready.wait();
    let start_ns = clock::now_ns() + START_AHEAD_NS;
    if let Limit::Duration(duration) = config.limit {
        control.stop_at(start_ns + duration.as_nanos() as u64);
    }
    let window_from_ns = match config.window {
        Window::Whole => 0,
        Window::After(warmup) => start_ns + warmup.as_nanos() as u64,
        Window::WhenTold => u64::MAX,
    };
    control.measure_from(window_from_ns);
    control.start_ns.store(start_ns, Ordering::Relaxed);
    ready.wait();
    let mut merger = Merger::new(config);
    merger.collect(&workers, &control, &mut watch, on_interval);
    finished.store(true, Ordering::Relaxed);
    workers.stop(config, start_ns, connections)
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
    let most = SLOTS_MAX * config.workers;
    if in_flight == 0 || in_flight as usize > most {
        return refuse(format!(
            "{in_flight} operations in flight: must be 1 to {most} with {} worker(s), since CQL \
             has {SLOTS_MAX} stream ids; use more workers",
            config.workers
        ));
    }
    if (in_flight as usize) < config.workers {
        return refuse(format!(
            "{in_flight} in flight over {} workers leaves some without work; use fewer workers",
            config.workers
        ));
    }
    if let Limit::Operations(count) = config.limit
        && config.keeps_ledger
        && count > LEDGER_OPERATIONS_MAX
    {
        return refuse(format!(
            "{count} operations: a ledger keeps at most {LEDGER_OPERATIONS_MAX}; run without one"
        ));
    }
    let rates = match config.schedule {
        Schedule::Closed { .. } => vec![],
        Schedule::Fixed { ops_per_s } | Schedule::Poisson { ops_per_s } => vec![ops_per_s],
        Schedule::Ramp {
            from_ops_per_s,
            to_ops_per_s,
            ..
        } => vec![from_ops_per_s, to_ops_per_s],
    };
    match rates.iter().find(|rate| !(0.001..=1e9).contains(*rate)) {
        Some(rate) => refuse(format!(
            "{rate} operations per second: must be 0.001 to 1e9"
        )),
        None => Ok(()),
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
    ready: Arc<Barrier>,
    finished: Arc<AtomicBool>,
}

/// The workers as the caller sees them.
struct Workers {
    empties: Vec<Sender<Box<Part>>>,
    handles: Vec<JoinHandle<std::io::Result<WorkerEnd>>>,
    parts: Receiver<Box<Part>>,
}

impl Workers {
    fn start(
        &mut self,
        config: &Config,
        setup: WorkerSetup,
        links: Vec<Link>,
        full: &SyncSender<Box<Part>>,
    ) -> Result<(), LoadError> {
        let failed = |what| move |source| LoadError::System { what, source };
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
        let (ready, control) = (setup.ready, setup.shared.control);
        let body = move || {
            pin(cpu);
            ready.wait();
            ready.wait();
            worker.run(control.start_ns())
        };
        let handle = std::thread::Builder::new()
            .name("load-worker".into())
            .spawn(body)
            .map_err(failed("start a load worker"))?;
        self.handles.push(handle);
        Ok(())
    }

    fn stop(
        self,
        config: &Config,
        start_ns: u64,
        connections: usize,
    ) -> Result<Summary, LoadError> {
        let mut summary = Summary {
            start_ns,
            operations_sent: 0,
            operations_ended: 0,
            next_operation: config.first_operation,
            workers: config.workers,
            connections,
            first_errors: Vec::new(),
            ledger: None,
        };
        let mut parts = Vec::new();
        for (index, handle) in self.handles.into_iter().enumerate() {
            let end = handle
                .join()
                .map_err(|_| LoadError::Panicked(index))?
                .map_err(|source| LoadError::System {
                    what: "wait for answers",
                    source,
                })?;
            summary.operations_sent += end.sent;
            summary.operations_ended += end.ended;
            let before = end.next_operation.saturating_sub(config.workers as u64 - 1);
            summary.next_operation = summary.next_operation.max(before);
            parts.extend(end.ledger);
            for (outcome, node, message) in end.first_errors.iter() {
                let known = &mut summary.first_errors;
                if known.iter().all(|known| known.outcome != outcome) {
                    known.push(FirstError {
                        outcome,
                        node: config.nodes[node].name.clone(),
                        message: message.to_owned(),
                    });
                }
            }
        }
        summary.ledger = config
            .keeps_ledger
            .then(|| Arc::new(Ledger::new(config.first_operation, parts)));
        Ok(summary)
    }
}

/// Pins the calling thread and asks for timers without slack. Both are wishes: in a container that
/// forbids them the run goes on, and its release lag tells.
pub(crate) fn pin(cpu: Option<usize>) {
    if let Some(cpu) = cpu {
        let mut set = rustix::thread::CpuSet::new();
        set.set(cpu);
        let _ = rustix::thread::sched_setaffinity(None, &set);
    }
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

/// Puts the workers' parts of an interval together.
struct Merger {
    pending: BTreeMap<u64, Interval>,
    /// The lowest interval that each worker may still add to; `None` once it has finished.
    next: Vec<Option<u64>>,
    program: Arc<Program>,
    interval_ns: u64,
}

impl Merger {
    fn new(config: &Config) -> Merger {
        Merger {
            pending: BTreeMap::new(),
            next: vec![Some(0); config.workers],
            program: Arc::clone(&config.program),
            interval_ns: config.interval.as_nanos() as u64,
        }
    }

    fn collect(
        &mut self,
        workers: &Workers,
        control: &Control,
        watch: &mut Watch,
        on_interval: &mut dyn FnMut(&Interval) -> Flow,
    ) {
        while !self.is_over() {
            // Ends when a worker is gone without its last part: a panic, found when it is joined.
            let Ok(mut part) = workers.parts.recv() else {
                break;
            };
            self.add(&part);
            let worker = part.worker;
            part.clear();
            let _ = workers.empties[worker].send(part);
            if self.is_over() {
                // Before the last interval is shown: it has what they were in at the end.
                watch.stop();
            }
            self.show(control, watch, on_interval);
        }
        for (_, mut interval) in std::mem::take(&mut self.pending) {
            interval.window_from_ns = control.window_from_ns();
            on_interval(&interval);
        }
    }

    /// Whether no worker has anything more to tell.
    fn is_over(&self) -> bool {
        self.next.iter().all(Option::is_none)
    }

    fn add(&mut self, part: &Part) {
        self.next[part.worker] = (!part.last).then_some(part.index + 1);
        let program = &self.program;
        let interval = self.pending.entry(part.index).or_insert_with(|| Interval {
            index: part.index,
            start_ns: part.start_ns,
            end_ns: part.end_ns,
            window_from_ns: u64::MAX,
            draining: part.draining,
            kinds: kinds_of(program.kinds()),
            client: Default::default(),
        });
        interval.start_ns = interval.start_ns.min(part.start_ns);
        interval.end_ns = interval.end_ns.max(part.end_ns);
        interval.draining |= part.draining;
        for (sum, kind) in interval.kinds.iter_mut().zip(&part.kinds) {
            sum.add(kind);
        }
        interval.client.add(&part.client);
    }

    /// Shows every interval that no worker can add to any more.
    fn show(
        &mut self,
        control: &Control,
        watch: &Watch,
        on_interval: &mut dyn FnMut(&Interval) -> Flow,
    ) {
        let open_from = self
            .next
            .iter()
            .flatten()
            .min()
            .copied()
            .unwrap_or(u64::MAX);
        while let Some(entry) = self.pending.first_entry() {
            if *entry.key() >= open_from {
                return;
            }
            let mut interval = entry.remove();
            interval.client.hiccups = match self.is_over() && self.pending.is_empty() {
                true => watch.take_all(),
                false => watch.take(interval.index),
            };
            interval.window_from_ns = control.window_from_ns();
            let soon_ns = || clock::now_ns() + self.interval_ns / AHEAD_SHARE;
            match on_interval(&interval) {
                Flow::Continue => {}
                Flow::StopAfter(count) => {
                    control.stop_at(interval.end_ns + count * self.interval_ns);
                }
                Flow::Measure(count) => {
                    let from_ns = self.edge_after(interval.end_ns, soon_ns());
                    control.measure_from(from_ns);
                    control.stop_at(from_ns + count * self.interval_ns);
                }
                Flow::StopNow => control.stop_at(soon_ns()),
                Flow::Abandon => control.abandon(clock::now_ns()),
            }
        }
    }

    /// The first end of an interval after `end_ns`, which is one, that is not before `soon_ns`.
    fn edge_after(&self, end_ns: u64, soon_ns: u64) -> u64 {
        let ahead_ns = soon_ns.saturating_sub(end_ns).max(1);
        end_ns + ahead_ns.next_multiple_of(self.interval_ns)
    }
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
