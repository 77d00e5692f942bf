//! One run of the engine. The run opens the connections, starts all workers at the same start line,
//! and returns their intervals to the caller.

use crate::config::{Config, Endpoint, Flow, LoadError, Summary, Window};
use crate::connect;
use crate::connection::Link;
use crate::connection_limits::{Connections, Room, stream_ids_refusal};
use crate::control::Control;
use crate::ledger::{LEDGER_OPERATIONS_MAX, LedgerMode};
use crate::merge::Merger;
use crate::recorder::PARTS_PER_WORKER;
use crate::schedule::Schedule;
use crate::statement_facts::Facts;
use crate::thread_setup::Turn;
use crate::timer_delays::Watch;
use crate::worker_builder::Shared;
use crate::workers::{WorkerSetup, Workers};
use cql::template::Template;
use measure::{Interval, clock};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{RecvTimeoutError, channel, sync_channel};
use std::time::Duration;

/// Time for which an abandoned run waits for responses, in ns. Responses normally arrive within
/// this time. The timeout of a client may be minutes, which would be too long.
const HANG_UP_AFTER_NS: u64 = clock::SECOND_NS;

/// Time between the moment at which the client sets the start line and the start line itself, in
/// ns. Every worker must be ready within this time.
const START_AHEAD_NS: u64 = 2 * clock::MILLISECOND_NS;

/// Divisor that determines how far in the future the client sets a time while workers run. This
/// time ahead is the length of an interval divided by this number. A worker then reads the time
/// before it comes.
const AHEAD_SHARE: u64 = 10;

/// Load that separate threads apply. If the caller drops the value, the load ends: the client sends
/// nothing more, and waits for operations in flight.
///
/// The caller's thread joins the workers' parts whenever it waits for an interval. The thread may
/// do other work for the duration of one interval. If it takes longer, intervals become longer.
pub struct Load {
    workers: Workers,
    control: Arc<Control>,
    watch: Watch,
    merger: Merger,
    interval_ns: u64,
    /// End of the last interval that the caller received.
    shown_ns: u64,
    /// Real-time priority of the caller's thread.
    _turn: Turn,
}

/// Load that is ready and waits for its start line. If the caller drops the value, the workers end.
pub struct ArmedLoad {
    config: Config,
    workers: Workers,
    control: Arc<Control>,
    watch: Watch,
}

impl ArmedLoad {
    /// Returns the number of open connections.
    pub fn connections(&self) -> usize {
        self.workers.summary.connections
    }

    /// Sets the start line at `start_ns` of the monotonic clock. If this time is in the past, the
    /// workers send the operations that are already due at once.
    pub fn go(self, start_ns: u64) -> Load {
        let ArmedLoad {
            config,
            mut workers,
            control,
            watch,
        } = self;
        draw_line(&config, &control, start_ns);
        workers.summary.start_ns = start_ns;
        for line in workers.lines.drain(..) {
            let _ = line.send(start_ns);
        }
        Load {
            workers,
            control,
            watch,
            interval_ns: config.interval.as_nanos() as u64,
            shown_ns: 0,
            _turn: Turn::take(config.realtime),
            merger: Merger::new(config.workers, config.program),
        }
    }
}

/// Result of waiting for the next interval.
#[derive(Debug)]
pub enum Next {
    /// An interval has ended, with these results.
    Interval(Arc<Interval>),
    /// The time limit of the wait has been reached.
    Time,
    /// All workers have ended, and the caller has received every interval.
    Over,
}

/// Applies the load. Blocks until each operation that was due before the stop has ended or has been
/// dropped. The client drops operations that it cannot send within the longest timeout after the
/// stop. `on_interval` receives each interval and returns how the run continues.
///
/// # Errors
/// The errors of [`Load::start`] and [`Load::end`].
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
    /// Begins to apply load. Calls [`Load::arm`], and then [`ArmedLoad::go`] with a start line at
    /// which every worker can be ready.
    ///
    /// # Errors
    /// The errors of [`Load::arm`].
    pub fn start(config: &Config) -> Result<Load, LoadError> {
        Ok(Load::arm(config)?.go(clock::now_ns() + START_AHEAD_NS))
    }

    /// Prepares everything for the run except the start line.
    ///
    /// 1. Opens every connection and prepares every statement, so that the caller learns of a
    ///    refusal early.
    /// 2. Starts the workers with all their memory, pins them, and waits until they are ready.
    ///
    /// # Errors
    /// The settings are invalid, or a node or the system refuses a request.
    pub fn arm(config: &Config) -> Result<ArmedLoad, LoadError> {
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
            keeps_ledger: config.keeps != LedgerMode::Nothing,
            step: config.workers_of_all() as u64,
            before: config.others.before as u64,
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
        Ok(ArmedLoad {
            config: config.clone(),
            workers,
            control,
            watch,
        })
    }

    /// Returns the time of the start line on the monotonic clock, in ns.
    pub fn start_ns(&self) -> u64 {
        self.workers.summary.start_ns
    }

    /// Waits for the next interval, at most until `until_ns` of the monotonic clock.
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
                // The watch must stop before this function returns the last interval, so that the
                // interval includes the measurements in progress.
                self.watch.stop();
            }
        }
    }

    fn take(&mut self) -> Option<Interval> {
        let (mut interval, is_last) = self.merger.take()?;
        interval.client.hiccups = if is_last {
            self.watch.take_all()
        } else {
            self.watch.take(self.last_slot(&interval))
        };
        interval.window_from_ns = self.control.window_from_ns();
        self.shown_ns = interval.end_ns;
        Some(interval)
    }

    /// Returns the number of the last planned interval that this interval covers. The two differ if
    /// a late worker has made the interval longer.
    fn last_slot(&self, interval: &Interval) -> u64 {
        let length_ns = interval.end_ns - interval.start_ns;
        interval.index + length_ns.div_ceil(self.interval_ns).max(1) - 1
    }

    /// Executes an instruction of the caller.
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
            Flow::Abandon => self.steering().abandon(),
        }
    }

    /// Returns a handle with which a thread can steer the load while another thread waits for
    /// intervals.
    pub fn steering(&self) -> Steering {
        Steering(Arc::clone(&self.control))
    }

    /// Returns the first interval boundary that is after the boundary `end_ns` and not before
    /// `soon_ns`.
    fn edge_after(&self, end_ns: u64, soon_ns: u64) -> u64 {
        let ahead_ns = soon_ns.saturating_sub(end_ns).max(1);
        end_ns + ahead_ns.next_multiple_of(self.interval_ns)
    }

    /// Waits until all workers have ended, and adds up their results. Discards intervals that the
    /// caller has not taken.
    ///
    /// # Errors
    /// A worker was not able to wait for responses, or has panicked.
    pub fn end(mut self) -> Result<Summary, LoadError> {
        self.finish()
    }

    fn finish(&mut self) -> Result<Summary, LoadError> {
        while !matches!(self.next(u64::MAX), Next::Over) {}
        self.workers.stop()
    }
}

/// Controls the load from any thread, with times of the monotonic clock.
#[derive(Clone)]
pub struct Steering(Arc<Control>);

impl Steering {
    /// Sets the stop. From `at_ns` on, no further operation becomes due. If the stop is set several
    /// times, the earliest time applies.
    pub fn stop_at(&self, at_ns: u64) {
        self.0.stop_at(at_ns);
    }

    /// Begins the measured window at `from_ns`, which must be the boundary of an interval that has
    /// not begun yet.
    pub fn measure_from(&self, from_ns: u64) {
        self.0.measure_from(from_ns);
    }

    /// Abandons the run. See [`Flow::Abandon`].
    pub fn abandon(&self) {
        let now_ns = clock::now_ns();
        self.0.abandon(now_ns, now_ns + HANG_UP_AFTER_NS);
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        if !self.workers.handles.is_empty() {
            self.steer(Flow::Abandon);
            // If the caller drops the load, the caller does not need the result.
            let _ = self.finish();
        }
    }
}

/// Sets the stop, the start of the measured window and the start line.
fn draw_line(config: &Config, control: &Control, start_ns: u64) {
    // The stop must be set before the start line, so that every worker receives it in time.
    if let Some(duration) = config.limit.duration() {
        control.stop_at(start_ns + duration.as_nanos() as u64);
    }
    control.measure_from(match config.window {
        Window::Whole => 0,
        Window::After(warmup) => start_ns + warmup.as_nanos() as u64,
        Window::WhenTold => u64::MAX,
    });
    control.start_at(start_ns);
}

fn check(config: &Config) -> Result<(), LoadError> {
    let refuse = |text: String| Err(LoadError::Config(text));
    if config.nodes.is_empty() {
        return refuse("the load has no node".to_owned());
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
    let in_flight = config.in_flight();
    if in_flight == 0 {
        return refuse("operations in flight must be at least 1".to_owned());
    }
    let workers = config.workers_of_all();
    if let Some(why) = stream_ids_refusal(in_flight as usize, workers) {
        return refuse(why);
    }
    if (in_flight as usize) < workers {
        return refuse(format!(
            "with only {in_flight} operations in flight, some of the {workers} workers have no \
             work; use fewer workers"
        ));
    }
    if let Some(count) = config.limit.operations()
        && config.keeps != LedgerMode::Nothing
        && count > LEDGER_OPERATIONS_MAX
    {
        return refuse(format!(
            "{count} operations are too many for a ledger, which contains at most \
             {LEDGER_OPERATIONS_MAX}; run without a ledger"
        ));
    }
    match config.schedule {
        Schedule::Fixed { ops_per_s } | Schedule::Poisson { ops_per_s }
            if !(0.001..=1e9).contains(&ops_per_s) =>
        {
            refuse(format!(
                "{ops_per_s} operations per second are not possible; the rate must be from 0.001 \
                 to 1e9"
            ))
        }
        Schedule::Recorded { speed }
            if config.program.course().is_none() || !(1e-6..=1e6).contains(&speed) =>
        {
            refuse(format!(
                "recorded arrivals at {speed} times their speed are not possible: the workload \
                 must be recorded, and the speed from 1e-6 to 1e6"
            ))
        }
        _ => Ok(()),
    }
}

/// Opens the connections of every worker. Returns the links of each worker in the order of the
/// nodes, and the templates of the statements.
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

impl Endpoint {
    /// Creates a node at `address`, with unknown tokens.
    pub fn from_address(address: std::net::SocketAddr) -> Endpoint {
        Endpoint {
            address,
            called: address,
            proxied_name: None,
            name: address.to_string(),
            tokens: Vec::new(),
        }
    }
}
