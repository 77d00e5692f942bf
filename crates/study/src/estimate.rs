//! Estimates time, disk and memory of a run. The estimates are deliberately rough, and reports
//! state this.
//!
//! The rates were measured on a small machine with two cores for client and node, so runs on larger
//! machines usually take less time.

use crate::compile_workload::Work;
use crate::plan::{PhaseKind, Turn};
use crate::settings::{IfInconclusive, Load, Reset, RestoreMethod, Settings, Study, Warmup};
use crate::target_differences;
use crate::units;
use analysis::autocorrelation::{SHORT_WINDOW_S, is_short_window};
use analysis::procedure::Point;
use measure::clock::SECOND_NS;
use measure::number::counted;
use target_spec::{LocalSpec, Restarts, Target};
use workload::Program;

/// Estimated cost of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Wall time if all trials run, in seconds.
    pub seconds: f64,
    /// Wall time in seconds if only the trials run that are certain to run.
    pub seconds_least: f64,
    /// Part of `seconds` that is spent in measured windows.
    pub measured_s: f64,
    /// Disk space for the target's data, in bytes. 0 for an attached cluster or the null target.
    pub disk_bytes: u64,
    /// Memory for the target, in bytes.
    pub memory_bytes: u64,
}

/// Time from the start of the first Cassandra node until it answers, in seconds.
const START_FIRST_S: f64 = 12.0;
/// Time to start the nodes after the first node, in seconds for each node. These nodes start in
/// parallel and share the CPUs.
const START_FURTHER_S: f64 = 15.0;
/// Rows loaded per second into a node that shares two cores with the client.
const LOAD_ROWS_PER_S: f64 = 20_000.0;
/// Rows loaded per second into the null target.
const LOAD_NULL_ROWS_PER_S: f64 = 1_000_000.0;
/// Time for the flush, compactions of small data, and the quiet period after the compactions, in
/// seconds.
const SETTLE_S: f64 = 3.0;
/// Time for the flush and the hard links of a snapshot, in seconds.
const SNAPSHOT_S: f64 = 1.0;
/// Time to restore a snapshot, in seconds: truncation, import and comparison of a few tens of
/// files.
const RESTORE_S: f64 = 3.0;
/// Time to restart one node, in seconds: drain, stop and start, until the other nodes consider the
/// node up.
const RESTART_S: f64 = 20.0;
/// Time of an automatic warm-up on a JVM, in seconds. The warm-up often takes less time, and
/// sometimes reaches its limit.
const WARMUP_AUTO_S: f64 = 20.0;
/// Rows read back per second. The time to connect is included.
const VERIFY_ROWS_PER_S: f64 = 10_000.0;
/// Time to connect, drain and write files in each trial, in seconds.
const TRIAL_OVERHEAD_S: f64 = 0.5;
/// Time of one measurement of the client's own maximum rate (its ceiling), in seconds. cassay
/// measures the ceiling [`CEILINGS_FIRST`] times before the first trial of a program, and once
/// before each other trial.
pub const CEILING_S: f64 = 0.5;
const CEILINGS_FIRST: f64 = 3.0;
/// Assumed number of write operations per second during the measured windows.
const WRITES_PER_S: u64 = 20_000;
/// Bytes of a row on disk in addition to its values, for timestamps, lengths and the index.
const ROW_OVERHEAD_BYTES: u64 = 40;
/// Disk space for the commit log and the system tables of a node, in bytes.
const NODE_DISK_BYTES: u64 = 512 << 20;

/// Returns the number of rows for a load in bytes, if all nodes get the same number. `None` if the
/// load is not in bytes, or if the size of the volume is unknown.
pub fn rows_of_load(settings: &Settings, row_bytes: u64) -> Option<u64> {
    let bytes_per_node = bytes_per_node(settings)?;
    let nodes = settings.target.local().map_or(1, |local| local.nodes as u64);
    // The number of nodes that store a row is the number of its copies, but at most the number of
    // all nodes.
    let copies = settings.keyspace.replication.copies().clamp(1, nodes);
    let rows = bytes_per_node as f64 * nodes as f64 / copies as f64;
    let rows = rows / (row_bytes + ROW_OVERHEAD_BYTES) as f64;
    Some((rows as u64).max(1))
}

/// Returns the number of bytes on each node after the load phase. `None` for a load in rows, or if
/// the size of the volume is unknown.
fn bytes_per_node(settings: &Settings) -> Option<u64> {
    match settings.data.load {
        Load::None | Load::Operations(_) => None,
        Load::BytesPerNode(bytes) => Some(bytes),
        Load::Fraction(share) => {
            let local = settings.target.local()?;
            let volume_bytes = local.hosts.as_ref()?.host.volume_bytes?;
            let share = volume_bytes as f64 * share / local.nodes_per_host() as f64;
            let share = share as u64;
            // On a small volume, the server uses less space for the commit log, so the estimate
            // leaves at least half of the share.
            Some(share.saturating_sub(NODE_DISK_BYTES).max(share / 2).max(1))
        }
    }
}

/// Returns the expected length of a phase, in seconds.
pub fn phase_seconds(kind: PhaseKind, settings: &Settings) -> f64 {
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
        PhaseKind::Restart => match target_differences::restarts(settings) {
            Restarts::InTurn => RESTART_S * nodes_count(settings),
            // The seed node starts first, and then all other nodes start together.
            Restarts::Together => RESTART_S * nodes_count(settings).min(2.0),
        },
        PhaseKind::Restore if settings.data.restore == RestoreMethod::Offline => {
            RESTORE_S + RESTART_S * nodes_count(settings)
        }
        PhaseKind::Restore => RESTORE_S,
        PhaseKind::Warmup => warmup_seconds(settings.window.warmup),
        PhaseKind::Measure => settings.window.measure_ns as f64 / 1e9,
        PhaseKind::Verify => {
            settings.verify.sample.rows(settings.data.rows) as f64 / VERIFY_ROWS_PER_S + 0.2
        }
    }
}

/// Returns the expected length of a warm-up, in seconds.
pub fn warmup_seconds(warmup: Warmup) -> f64 {
    match warmup {
        Warmup::Fixed(ns) => ns as f64 / 1e9,
        Warmup::Auto(max) => WARMUP_AUTO_S.min(max as f64 / 1e9),
    }
}

fn nodes_count(settings: &Settings) -> f64 {
    settings.target.local().map_or(0.0, |local| local.nodes as f64)
}

/// Returns the expected time for `operations` operations at a point, in seconds.
pub fn operations_seconds(operations: u64, settings: &Settings, point: Option<Point>) -> f64 {
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

/// Returns the estimated cost of a whole run.
pub fn run_estimate(study: &Study, works: &[Work], trials: &[Turn]) -> Estimate {
    let mut estimate = Estimate {
        seconds: seconds(works, trials.iter()),
        seconds_least: seconds(works, trials.iter().filter(|trial| trial.certain)),
        measured_s: measured_s(trials),
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
        // The nodes restart between the load phase and the other phases. So only one of the two
        // configurations uses memory at a time.
        for local in [Some(local), settings.load_target().local()].into_iter().flatten() {
            estimate.memory_bytes = estimate.memory_bytes.max(memory_bytes(local));
        }
    }
    estimate
}

fn measured_s(trials: &[Turn]) -> f64 {
    let phases = trials.iter().flat_map(|trial| &trial.phases);
    let windows = phases.filter(|phase| phase.kind == PhaseKind::Measure);
    windows.map(|window| window.seconds).sum()
}

/// Returns the kinds of phases outside the measured windows, each with its expected total length in
/// seconds, longest first.
pub fn other_steps(trials: &[Turn]) -> Vec<(PhaseKind, f64)> {
    let mut steps: Vec<(PhaseKind, f64)> = PhaseKind::ALL
        .into_iter()
        .filter(|kind| *kind != PhaseKind::Measure)
        .map(|kind| {
            let phases = trials.iter().flat_map(|trial| &trial.phases);
            let of_kind = phases.filter(|phase| phase.kind == kind);
            (kind, of_kind.map(|phase| phase.seconds).sum())
        })
        .filter(|(_, seconds)| *seconds > 0.0)
        .collect();
    steps.sort_by(|a, b| b.1.total_cmp(&a.1));
    steps
}

/// Returns the expected length of trials in seconds, including the work before and after them.
fn seconds<'a>(works: &[Work], trials: impl Iterator<Item = &'a Turn> + Clone) -> f64 {
    let count = trials.clone().count() as f64;
    let phases = trials.flat_map(|trial| &trial.phases);
    phases.map(|phase| phase.seconds).sum::<f64>()
        + count * TRIAL_OVERHEAD_S
        + CEILING_S * (CEILINGS_FIRST - 1.0) * works.len() as f64
        + CEILING_S * count
}

/// Maximum share of a host's volume that the data may use. In addition, the commit logs of the
/// host's nodes may use up to a quarter of the volume.
const VOLUME_SHARE_MAX: f64 = 0.75;

/// Returns a warning for each load that seems too large for the hosts' volumes. Also returns a
/// warning for each variant with too few blocks to decide its requirements. cassay does not refuse
/// a load that seems too large, because the compression of the rows is unknown until they are
/// loaded.
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

/// Minimum number of blocks from which an interval can be computed by the scatter between blocks.
const INTERVAL_BLOCKS_MIN: usize = 3;

/// Warns if this number of blocks is too small to decide a requirement with certainty.
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
    let inconclusive: Vec<String> = of_window
        .iter()
        .filter(|(_, is_inconclusive)| *is_inconclusive)
        .map(|(key, _)| format!("`require.{key}`"))
        .collect();
    if inconclusive.is_empty() {
        return None;
    }
    let counts = match require.inconclusive {
        IfInconclusive::Estimate => {
            "the run then misses the requirement if the value itself exceeds the limit"
        }
        IfInconclusive::Pass => "the requirement then passes with any value",
        IfInconclusive::Miss => "the run then misses the requirement",
    };
    let window = if is_short {
        format!(" of {window_s} s (less than {SHORT_WINDOW_S} s)")
    } else {
        String::new()
    };
    Some(format!(
        "{} may remain inconclusive with {}{window}, because the result may have no confidence \
         interval: {counts} (`require.inconclusive`). Use {INTERVAL_BLOCKS_MIN} blocks \
         (`repeat.blocks`) or a longer `window.measure`",
        inconclusive.join(", "),
        counted(blocks, "window")
    ))
}

fn volume_warning(settings: &Settings, row_bytes: u64) -> Option<String> {
    let local = settings.target.local()?;
    let hosts = local.hosts.as_ref()?;
    let volume = hosts.host.volume_bytes?;
    // A load in bytes needs no check here, because cassay checks it together with the study.
    let Load::Operations(rows) = settings.data.load else {
        return None;
    };
    let copies = settings.keyspace.replication.copies().clamp(1, local.nodes as u64);
    let data = rows.saturating_mul(row_bytes).saturating_mul(copies) / hosts.count.max(1) as u64;
    if data as f64 <= volume as f64 * VOLUME_SHARE_MAX {
        return None;
    }
    Some(format!(
        "{} rows take an estimated {} on each host before compression. The volume of a host has \
         {}, of which cassay reserves a quarter for the commit log. So the volume may be full \
         before all rows are loaded. Raise `target.local.host.volume`, or lower \
         `data.load.operations`",
        units::format_count(rows),
        measure::number::bytes(data),
        units::format_bytes(volume)
    ))
}

/// Returns the number of bytes that the loaded rows and their copies take on the disks of local
/// nodes, before compression. `None` for other targets.
pub fn loaded_bytes(settings: &Settings, program: &Program) -> Option<u64> {
    let local = settings.target.local()?;
    let copies = settings.keyspace.replication.copies();
    let row_bytes = program.row_bytes_estimate() + ROW_OVERHEAD_BYTES;
    let rows = settings.data.load_rows.saturating_mul(row_bytes);
    Some(rows.saturating_mul(copies.clamp(1, local.nodes as u64)))
}

/// Returns an upper bound for the disk space that the data of the nodes takes, in bytes.
fn disk_bytes(settings: &Settings, local: &LocalSpec, blocks: u64, row_bytes: u64) -> u64 {
    let nodes = local.nodes as u64;
    let turns = 0..settings.procedure.outlook().turns_max;
    let windows_ns = turns.map(|turn| settings.window_ns(settings.procedure.role(turn)));
    // If cassay resets the data before each trial, the rows that earlier trials wrote do not use
    // space.
    let measured_ns = match settings.data.reset {
        Reset::None => windows_ns.fold(0, u64::saturating_add).saturating_mul(blocks),
        Reset::Truncate | Reset::Snapshot => windows_ns.max().unwrap_or(0),
    };
    let written = (measured_ns / SECOND_NS).saturating_mul(WRITES_PER_S);
    let rows = settings.data.load_rows.saturating_add(written);
    // The factor is two, because a compaction keeps its input until its output is complete. The
    // factor also covers a snapshot, because the snapshot's hard links use no space until a
    // compaction replaces the shared files.
    let data = rows
        .saturating_mul(row_bytes)
        .saturating_mul(settings.keyspace.replication.copies())
        .saturating_mul(2);
    let disk = data.saturating_add(nodes * NODE_DISK_BYTES);
    // Data on a volume cannot use more space than the volume has, so the sizes of the volumes are
    // an upper bound.
    let volumes = local.hosts.as_ref().and_then(|hosts| {
        let bytes = hosts.host.volume_bytes?;
        Some(bytes.saturating_mul(hosts.count as u64))
    });
    disk.min(volumes.unwrap_or(u64::MAX))
}

/// Returns the memory that the nodes use, in bytes. The page cache counts only if a memory limit
/// includes it.
fn memory_bytes(local: &LocalSpec) -> u64 {
    let nodes = target_spec::memory_bytes(local.nodes, local.heap_bytes);
    let hosts = local.hosts.as_ref().and_then(|hosts| {
        let bytes = hosts.host.memory_bytes?;
        Some(bytes.saturating_mul(hosts.count as u64))
    });
    hosts.unwrap_or(nodes)
}
