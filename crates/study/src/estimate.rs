//! What a run is expected to take: time, disk, memory. Rough on purpose, and said to be.
//!
//! The rates are of a small machine (two cores shared by client and node), so that a larger one
//! is early rather than late.

use crate::human;
use crate::plan::{PhaseKind, Turn};
use crate::settings::{Load, Reset, RestoreMethod, Settings, Study, Untold, Warmup};
use crate::targets;
use crate::work::Work;
use analysis::procedure::Point;
use analysis::series::{SHORT_WINDOW_S, is_short_window};
use measure::clock::SECOND_NS;
use measure::number::counted;
use target::{LocalSpec, Restarts, Target};
use workload::Program;

/// What a run is expected to take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Wall time in seconds, if every trial is run.
    pub seconds: f64,
    /// The same if only those are that are certain.
    pub seconds_least: f64,
    /// Disk space for the target's data, bytes. None on a cluster or null target: 0.
    pub disk_bytes: u64,
    /// Memory for the target, bytes.
    pub memory_bytes: u64,
}

/// Start of the first Cassandra node until it answers, seconds.
const START_FIRST_S: f64 = 25.0;
/// Start of each further node: it joins the ring, which waits for gossip.
const START_FURTHER_S: f64 = 40.0;
/// Rows loaded per second into a node that shares two cores with the client.
const LOAD_ROWS_PER_S: f64 = 20_000.0;
/// Rows per second into the null target.
const LOAD_NULL_ROWS_PER_S: f64 = 1_000_000.0;
/// Flush, compactions of small data, and the quiet after them.
const SETTLE_S: f64 = 5.0;
/// Flush and hard links.
const SNAPSHOT_S: f64 = 1.0;
/// Truncation, import and comparison, of tens of files.
const RESTORE_S: f64 = 3.0;
/// Drain, stop and start of one node, until the others see it.
const RESTART_S: f64 = 20.0;
/// An auto warm-up on a JVM; often less, sometimes its limit.
const WARMUP_AUTO_S: f64 = 20.0;
/// Rows read back per second, with connecting.
const VERIFY_ROWS_PER_S: f64 = 10_000.0;
/// Connecting, draining and writing files, each trial.
const TRIAL_OVERHEAD_S: f64 = 0.5;
/// The instrument's ceiling, once: measured [`CEILINGS_FIRST`] times before a program's first trial
/// and once before each other.
pub const CEILING_S: f64 = 0.5;
const CEILINGS_FIRST: f64 = 3.0;
/// Operations per second that the measured windows are thought to write.
const WRITES_PER_S: u64 = 20_000;
/// A row on disk beyond its values: timestamps, lengths, index.
const ROW_OVERHEAD_BYTES: u64 = 40;
/// Commit log and system tables of a node.
const NODE_DISK_BYTES: u64 = 512 << 20;

/// Rows that a load of an amount of bytes is thought to take, if they spread evenly; none if the
/// amount is not in bytes, or of a volume that is not known.
pub fn rows_of_load(settings: &Settings, row_bytes: u64) -> Option<u64> {
    let bytes_per_node = bytes_per_node(settings)?;
    let nodes = settings.target.local().map_or(1, |local| local.nodes as u64);
    // Each row is on as many nodes as it has copies, and on no node twice.
    let copies = settings.keyspace.replication.copies().clamp(1, nodes);
    let rows = bytes_per_node as f64 * nodes as f64 / copies as f64;
    let rows = rows / (row_bytes + ROW_OVERHEAD_BYTES) as f64;
    Some((rows as u64).max(1))
}

/// What the load phase leaves on each node, bytes; none if that is counted in rows.
fn bytes_per_node(settings: &Settings) -> Option<u64> {
    match settings.data.load {
        Load::None | Load::Operations(_) => None,
        Load::BytesPerNode(bytes) => Some(bytes),
        Load::Fraction(share) => {
            let local = settings.target.local()?;
            let volume_bytes = local.hosts.as_ref()?.host.volume_bytes?;
            let share = volume_bytes as f64 * share / local.nodes_per_host() as f64;
            let share = share as u64;
            // Of a small volume the commit log takes less, as the server reckons it.
            Some(share.saturating_sub(NODE_DISK_BYTES).max(share / 2).max(1))
        }
    }
}

/// Expected length of a phase, seconds.
pub fn of_phase(kind: PhaseKind, settings: &Settings) -> f64 {
    let null = matches!(settings.target, Target::Null(_));
    match kind {
        PhaseKind::Target => match &settings.target {
            Target::Local(local) => START_FIRST_S + START_FURTHER_S * (local.nodes - 1) as f64,
            Target::Attach(_) => 1.0,
            Target::Null(_) => 0.1,
        },
        PhaseKind::Schema => f64::from(u8::from(!null)),
        PhaseKind::Load if null => settings.data.load_rows as f64 / LOAD_NULL_ROWS_PER_S,
        PhaseKind::Load => settings.data.load_rows as f64 / LOAD_ROWS_PER_S,
        PhaseKind::Settle => SETTLE_S,
        PhaseKind::Snapshot => SNAPSHOT_S,
        PhaseKind::Restart => match targets::restarts(settings) {
            Restarts::InTurn => RESTART_S * nodes_count(settings),
            // The seed first, then all others.
            Restarts::Together => RESTART_S * nodes_count(settings).min(2.0),
        },
        PhaseKind::Restore if settings.data.restore == RestoreMethod::Offline => {
            RESTORE_S + RESTART_S * nodes_count(settings)
        }
        PhaseKind::Restore => RESTORE_S,
        PhaseKind::Warmup => match settings.window.warmup {
            Warmup::Fixed(ns) => ns as f64 / 1e9,
            Warmup::Auto(max) => WARMUP_AUTO_S.min(max as f64 / 1e9),
        },
        PhaseKind::Measure => settings.window.measure_ns as f64 / 1e9,
        PhaseKind::Verify => {
            settings.verify.sample.rows(settings.data.rows) as f64 / VERIFY_ROWS_PER_S + 0.2
        }
    }
}

fn nodes_count(settings: &Settings) -> f64 {
    settings.target.local().map_or(0.0, |local| local.nodes as f64)
}

/// Expected length of so many operations at a point, seconds.
pub fn of_operations(operations: u64, settings: &Settings, point: Option<Point>) -> f64 {
    let able = match settings.target {
        Target::Null(_) => LOAD_NULL_ROWS_PER_S,
        Target::Local(_) | Target::Attach(_) => LOAD_ROWS_PER_S,
    };
    let rate = match point {
        Some(Point::Rate(rate)) => able.min(rate as f64),
        Some(Point::Threads(_)) | None => able,
    };
    operations as f64 / rate
}

/// Expected cost of a whole run.
pub fn of_run(study: &Study, works: &[Work], trials: &[Turn]) -> Estimate {
    let mut estimate = Estimate {
        seconds: seconds(works, trials.iter()),
        seconds_least: seconds(works, trials.iter().filter(|trial| trial.certain)),
        ..Estimate::default()
    };
    for (variant, work) in study.variants.iter().zip(works) {
        let settings = &variant.settings;
        let Target::Local(local) = &settings.target else {
            continue;
        };
        let row_bytes = work.program.row_bytes_estimate() + ROW_OVERHEAD_BYTES;
        let disk = disk_bytes(settings, local, study.blocks() as u64, row_bytes);
        estimate.disk_bytes = estimate.disk_bytes.max(disk);
        // The nodes restart for the load phase, they do not run beside those of the rest.
        for local in [Some(local), settings.load_target().local()].into_iter().flatten() {
            estimate.memory_bytes = estimate.memory_bytes.max(memory_bytes(local));
        }
    }
    estimate
}

/// Expected length of trials, with what is done around them.
fn seconds<'a>(works: &[Work], trials: impl Iterator<Item = &'a Turn> + Clone) -> f64 {
    let count = trials.clone().count() as f64;
    let phases = trials.flat_map(|trial| &trial.phases);
    phases.map(|phase| phase.seconds).sum::<f64>()
        + count * TRIAL_OVERHEAD_S
        + CEILING_S * (CEILINGS_FIRST - 1.0) * works.len() as f64
        + CEILING_S * count
}

/// The share of a host's volume that its data may take: the commit log of its nodes has up to a
/// quarter.
const VOLUME_SHARE_MAX: f64 = 0.75;

/// Loads that the hosts' volumes are thought to be too small for, a sentence each. A guess, and so
/// no refusal: how far rows are compressed is seen when they are there.
pub fn warnings(study: &Study, works: &[Work]) -> Vec<String> {
    let mut said = Vec::new();
    for (variant, work) in study.variants.iter().zip(works) {
        let row_bytes = work.program.row_bytes_estimate() + ROW_OVERHEAD_BYTES;
        let warning = volume_warning(&variant.settings, row_bytes);
        said.extend(warning.filter(|text| !said.contains(text)));
        let warning = required_warning(study.repeat.blocks, &variant.settings);
        said.extend(warning.filter(|text| !said.contains(text)));
    }
    said
}

/// Blocks from which on a number has an interval of its spread between them.
const INTERVAL_BLOCKS_MIN: usize = 3;

/// That what is required cannot be told for certain from so little.
fn required_warning(blocks: usize, settings: &Settings) -> Option<String> {
    if blocks >= INTERVAL_BLOCKS_MIN {
        return None;
    }
    let (require, outlook) = (&settings.require, settings.procedure.outlook());
    let windows = (0..outlook.turns_max).map(|turn| settings.procedure.role(turn));
    let window_s = windows
        .map(|role| settings.window_ns(role) as f64 / SECOND_NS as f64)
        .fold(f64::INFINITY, f64::min);
    let is_short = is_short_window(window_s);
    let of_window = [
        ("p50_ms", require.p50_ms.is_some() && is_short),
        ("p95_ms", require.p95_ms.is_some() && is_short),
        ("p99_ms", require.p99_ms.is_some() && is_short),
        ("p999_ms", require.p999_ms.is_some() && is_short),
        ("ops_per_s", require.ops_per_s.is_some() && is_short),
        ("ratio", require.ratio.is_some()),
    ];
    let untold: Vec<String> = of_window
        .iter()
        .filter(|(_, is_untold)| *is_untold)
        .map(|(key, _)| format!("`require.{key}`"))
        .collect();
    if untold.is_empty() {
        return None;
    }
    let counts = match require.untold {
        Untold::Estimate => "a number beyond its limit then counts as missed",
        Untold::Pass => "it then passes whatever the number is",
        Untold::Miss => "it then counts as missed",
    };
    let window = if is_short {
        format!(" of {window_s} s (less than {SHORT_WINDOW_S} s)")
    } else {
        String::new()
    };
    Some(format!(
        "{} may not be told for certain from {}{window}: there may be no interval, and \
         {counts} (`require.untold`); {INTERVAL_BLOCKS_MIN} blocks (`repeat.blocks`) or a longer \
         `window.measure` tell it",
        untold.join(", "),
        counted(blocks, "window")
    ))
}

fn volume_warning(settings: &Settings, row_bytes: u64) -> Option<String> {
    let local = settings.target.local()?;
    let hosts = local.hosts.as_ref()?;
    let volume = hosts.host.volume_bytes?;
    // A load of an amount of bytes is checked with the study.
    let Load::Operations(rows) = settings.data.load else {
        return None;
    };
    let copies = settings.keyspace.replication.copies().clamp(1, local.nodes as u64);
    let data = rows.saturating_mul(row_bytes).saturating_mul(copies) / hosts.count.max(1) as u64;
    if data as f64 <= volume as f64 * VOLUME_SHARE_MAX {
        return None;
    }
    Some(format!(
        "{} rows are thought to take {} on each host before they are compressed, and its volume is \
         {}, a quarter of it for the commit log: it may be full before all are loaded; raise \
         `target.local.host.volume`, or lower `data.load.operations`",
        human::format_count(rows),
        measure::number::bytes(data),
        human::format_bytes(volume)
    ))
}

/// What the loaded rows and their copies take on the disks of nodes of our own before they are
/// compressed, bytes; none of other targets.
pub fn loaded_bytes(settings: &Settings, program: &Program) -> Option<u64> {
    let local = settings.target.local()?;
    let copies = settings.keyspace.replication.copies();
    let row_bytes = program.row_bytes_estimate() + ROW_OVERHEAD_BYTES;
    let rows = settings.data.load_rows.saturating_mul(row_bytes);
    Some(rows.saturating_mul(copies.clamp(1, local.nodes as u64)))
}

/// What the nodes leave on this machine's disk at the most, bytes.
fn disk_bytes(settings: &Settings, local: &LocalSpec, blocks: u64, row_bytes: u64) -> u64 {
    let nodes = local.nodes as u64;
    let turns = 0..settings.procedure.outlook().turns_max;
    let windows_ns = turns.map(|turn| settings.window_ns(settings.procedure.role(turn)));
    // What a trial wrote is gone when the data is reset before the next one.
    let measured_ns = match settings.data.reset {
        Reset::None => windows_ns.fold(0, u64::saturating_add).saturating_mul(blocks),
        Reset::Truncate | Reset::Snapshot => windows_ns.max().unwrap_or(0),
    };
    let written = (measured_ns / SECOND_NS).saturating_mul(WRITES_PER_S);
    let rows = settings.data.load_rows.saturating_add(written);
    // Twice: a compaction keeps its input until its output is whole. That has room for a snapshot
    // too: its hard links take none until what they share has been compacted away.
    let data = rows
        .saturating_mul(row_bytes)
        .saturating_mul(settings.keyspace.replication.copies())
        .saturating_mul(2);
    let disk = data.saturating_add(nodes * NODE_DISK_BYTES);
    // A volume takes no more than its size, whatever is asked of it.
    let volumes = local.hosts.as_ref().and_then(|hosts| {
        let bytes = hosts.host.volume_bytes?;
        Some(bytes.saturating_mul(hosts.count as u64))
    });
    disk.min(volumes.unwrap_or(u64::MAX))
}

/// What the nodes take of this machine's memory, bytes; page cache is not counted, unless a limit
/// says how much of it there is.
fn memory_bytes(local: &LocalSpec) -> u64 {
    let nodes = target::memory_bytes(local.nodes, local.heap_bytes);
    let hosts = local.hosts.as_ref().and_then(|hosts| {
        let bytes = hosts.host.memory_bytes?;
        Some(bytes.saturating_mul(hosts.count as u64))
    });
    hosts.unwrap_or(nodes)
}
