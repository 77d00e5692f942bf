//! Builds a worker with all its memory. After the start line, buffers grow only for frames that are
//! larger than the program has announced.

use crate::config::Config;
use crate::connect;
use crate::connection::{Buffers, Link, Memory};
use crate::control::Control;
use crate::inflight::{InFlight, SLOTS_MAX};
use crate::ledger::{LEDGER_OPERATIONS_MAX, LedgerMode, LedgerPart, TIMED_OPERATIONS_MAX};
use crate::recorder::Recorder;
use crate::register_history::{HISTORY_OPERATIONS_MAX, HistoryPart};
use crate::router::Router;
use crate::schedule::{Arrivals, Schedule};
use crate::statement_facts::Facts;
use crate::worker::{Batch, DueTimes, OperationState, Sockets, Timestamps, Worker, WorkerEnd};
use crate::worker_io::World;
use cql::Segments;
use cql::template::Template;
use measure::clock;
use std::collections::VecDeque;
use std::io;
use std::iter::repeat_with;
use std::sync::Arc;

/// Sizes of a worker's limited resources that do not depend on its operations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub buffers: Buffers,
    /// Number of streams in addition to the in-flight limit. Operations that timed out block these
    /// streams.
    pub orphans: usize,
}

impl Sizes {
    pub const USUAL: Sizes = Sizes {
        buffers: Buffers::USUAL,
        orphans: 1024,
    };
}

/// State that all workers of a run share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub control: Arc<Control>,
    pub facts: Arc<Facts>,
    pub templates: Arc<[Template]>,
}

/// Builds worker number `index` of this client. `links` are its connections, ordered by node.
pub(crate) fn build<W: World>(
    (config, shared): (&Config, &Shared),
    index: usize,
    (world, links): (W, Vec<Link<W::Stream>>),
    recorder: Recorder,
    sizes: Sizes,
) -> io::Result<Worker<W>> {
    let (facts, templates) = (&*shared.facts, &*shared.templates);
    let (index, workers) = number_among_all(config, index);
    let in_flight = in_flight_share(config, index, workers);
    let tries = in_flight as usize * if facts.has_speculation { 2 } else { 1 };
    let slots = (tries + sizes.orphans).min(SLOTS_MAX);
    let generator = config.program.generator(config.stage);
    let frame_bytes_max = frame_bytes_max(templates, generator.values_bytes_max());
    let statements = config.program.statements();
    let again = if facts.has_retries { in_flight } else { 0 } as usize;
    let courses = if facts.has_courses { slots } else { 0 };
    let version = config.access.version;
    let mut worker = Worker {
        control: Arc::clone(&shared.control),
        program: Arc::clone(&config.program),
        generator,
        templates: templates.to_vec(),
        batches: statements.iter().map(|one| connect::batch_template(one, version)).collect(),
        facts: facts.clone(),
        source: source(config, index, in_flight),
        number: config.first_operation + index,
        number_end: number_end(config),
        number_step: workers,
        in_flight_max: in_flight,
        draining: false,
        issuing: true,
        verify_reads: config.verify_reads,
        version,
        compression: config.access.compression.filter(|_| !version.has_segments()),
        connections: links.iter().map(|_| None).collect(),
        memory: memory(config, sizes, frame_bytes_max).take(links.len()).collect(),
        connections_per_node: config.connections_per_node,
        router: Router::new(&config.nodes),
        in_flight: InFlight::new(slots, &facts.classes),
        courses: courses_with_room(facts, courses),
        spare_courses: courses_with_room(facts, again),
        again: VecDeque::with_capacity(again),
        twins_count: 0,
        sockets: Sockets::new(),
        ledger: ledger_part(config, index, workers),
        history: history_part(config, index, workers),
        written: config.written.clone(),
        timestamps: Timestamps::new(clock::unix_ns(), world.now_ns()),
        recorder,
        rotor: 0,
        orphans: vec![0; links.len()],
        batch: Batch::new(),
        open_count: 0,
        limited_until_ns: 0,
        is_stuck: false,
        release_quantum_ns: match config.schedule {
            Schedule::Closed { .. } => 0,
            _ => config.release_quantum.as_nanos() as u64,
        },
        release_next_ns: 0,
        frame_bytes_max,
        scratch: Vec::with_capacity(frame_bytes_max),
        plain: Vec::with_capacity(64 << 10),
        end: WorkerEnd::with_room(config.nodes.len()),
        world,
    };
    adopt_all(&mut worker, links)?;
    Ok(worker)
}

/// Returns the number of worker `index` of this client among the workers of all clients, and the
/// number of all workers.
fn number_among_all(config: &Config, index: usize) -> (u64, u64) {
    let number = (config.others.before + index) as u64;
    (number, config.workers_of_all() as u64)
}

/// Returns memory for successive connections. The memory has a segment layer if the protocol
/// version has segments.
fn memory(config: &Config, sizes: Sizes, frame_bytes_max: usize) -> impl Iterator<Item = Memory> {
    let (version, compression) = (config.access.version, config.access.compression);
    let segments = version.has_segments().then(|| Segments::new(compression));
    let one = move || Memory::new(sizes.buffers, frame_bytes_max, version).wrapped(segments);
    repeat_with(one)
}

fn adopt_all<W: World>(worker: &mut Worker<W>, links: Vec<Link<W::Stream>>) -> io::Result<()> {
    let mut numbered = (0..).zip(links);
    numbered.try_for_each(|(index, link)| worker.adopt(index, link))
}

fn courses_with_room(facts: &Facts, count: usize) -> Vec<OperationState> {
    let course = || OperationState::with_room(facts.has_pages);
    repeat_with(course).take(count).collect()
}

/// Returns the worker's share of the operations in flight. If the number of operations cannot be
/// divided evenly, each of the first workers gets one more.
fn in_flight_share(config: &Config, index: u64, workers: u64) -> u32 {
    let all = config.in_flight();
    let rest = u64::from(all) % workers;
    all / workers as u32 + u32::from(index < rest)
}

fn frame_bytes_max(templates: &[Template], values_bytes_max: usize) -> usize {
    let template_bytes = templates.iter().map(Template::bytes).max().unwrap_or(0);
    // LZ4 may make a frame longer, by its headers and 1/255 of the frame's length.
    let plain_bytes = template_bytes + values_bytes_max;
    plain_bytes + plain_bytes / 255 + 64
}

fn number_end(config: &Config) -> u64 {
    let count = config.limit.operations();
    count.map_or(u64::MAX, |count| {
        config.first_operation.saturating_add(count)
    })
}

fn source(config: &Config, index: u64, in_flight: u32) -> DueTimes {
    let (workers, rise) = (config.workers_of_all() as u64, config.rise);
    let seed = config.first_operation;
    if let (Schedule::Recorded { speed }, Some(course)) = (config.schedule, config.program.course())
    {
        let arrivals = Arrivals::recorded((course, speed), rise, seed, index, workers);
        return DueTimes::Open {
            arrivals,
            start_ns: 0,
        };
    }
    match Arrivals::new(config.schedule, rise, index, workers, seed) {
        Some(arrivals) => DueTimes::Open {
            arrivals,
            start_ns: 0,
        },
        None => {
            let mut freed_ns = VecDeque::with_capacity(in_flight as usize + 1);
            freed_ns.extend((0..u64::from(in_flight)).map(|slot| {
                let before = u128::from(slot * workers + index);
                let all = u128::from(config.in_flight().max(1));
                (rise.as_nanos() * before / all) as u64
            }));
            DueTimes::Closed { freed_ns }
        }
    }
}

fn ledger_part(config: &Config, index: u64, workers: u64) -> Option<LedgerPart> {
    if config.keeps == LedgerMode::Nothing {
        return None;
    }
    // If the number of operations is unknown, the worker allocates the first chunk now and further
    // chunks on demand.
    let expected = config.limit.operations().map_or(1, |count| count.div_ceil(workers));
    let first = config.first_operation + index;
    let operations_max = LEDGER_OPERATIONS_MAX / workers;
    let part = LedgerPart::new(first, workers, operations_max, expected);
    Some(if config.keeps.times() {
        part.timed(TIMED_OPERATIONS_MAX / workers, expected)
    } else {
        part
    })
}

fn history_part(config: &Config, index: u64, workers: u64) -> Option<HistoryPart> {
    let first = config.first_operation + index;
    let operations_max = HISTORY_OPERATIONS_MAX / workers;
    (config.keeps == LedgerMode::History).then(|| HistoryPart::new(first, workers, operations_max))
}
