//! Describes the work in the phases of a plan.

use crate::data_state::Preparation;
use crate::estimate;
use crate::plan::{Offer, OfferLength, PhaseWork};
use crate::read_back::Levels;
use crate::settings::{Load, PageCache, RestoreMethod, Settings};
use crate::units;
use analysis::procedure::Point;
use imports::{ImportStep, StepLimit};
use measure::number::counted;
use std::fmt;
use target_spec::Target;
use workload::Program;

/// Returns the length of an imported step, as text and in seconds.
pub(super) fn step_words(
    settings: &Settings,
    step: &ImportStep,
    point: Option<Point>,
) -> (String, f64) {
    let of_operations = |count| estimate::operations_seconds(count, settings, point);
    match step.limit {
        StepLimit::Operations(count) => (
            format!("{} operations", units::format_count(count)),
            of_operations(count),
        ),
        StepLimit::Either(count, length) => (
            format!(
                "{} operations or {} s",
                units::format_count(count),
                length.as_secs_f64()
            ),
            of_operations(count).min(length.as_secs_f64()),
        ),
        StepLimit::Duration(length) => (
            units::format_duration_ns(length.as_nanos() as u64),
            length.as_secs_f64(),
        ),
        StepLimit::Uncertainty { target, min, max } => (
            format!("until the rate's standard error is below {target}, {min} to {max} intervals"),
            f64::from(min),
        ),
    }
}

pub(super) fn schema_words(
    settings: &Settings,
    preparation: Preparation,
    program: &Program,
) -> String {
    if program.schema().create_keyspace.is_empty() && !settings.takes_as_it_is() {
        return "create no table, because recorded traffic uses existing tables".to_owned();
    }
    let what = match preparation {
        _ if settings.takes_as_it_is() => "check that rows exist in",
        Preparation::Replace => "drop and create",
        Preparation::Truncate => "empty",
        Preparation::Nothing | Preparation::Fill => "create",
    };
    format!(
        "{what} {}: {}",
        program.keyspace(),
        program.tables().join(", ")
    )
}

pub(super) fn load_words(settings: &Settings) -> String {
    let rows = units::format_count(settings.data.rows);
    match settings.data.load {
        Load::None => "write nothing".to_owned(),
        Load::Operations(rows) => format!("write {} rows", units::format_count(rows)),
        Load::BytesPerNode(bytes) => {
            let bytes = units::format_bytes(bytes);
            format!("write until each node has {bytes}, about {rows} rows")
        }
        Load::Fraction(share) => {
            let percent = share * 100.0;
            format!("write until the data volumes are {percent} % full, about {rows} rows")
        }
    }
}

/// Describes how all rows are read back, and whether this proves that no write was lost.
pub(super) fn read_back_words(levels: &Levels) -> String {
    let Levels {
        copies,
        written,
        read,
        ..
    } = levels;
    let words = format!("read every row that was written at {read} and compare");
    if levels.meet() {
        words
    } else {
        format!(
            "{words}. With {copies} replicas, this read may miss writes that were acknowledged at \
             {written}, so a missing row is not necessarily lost"
        )
    }
}

pub(super) fn restore_words(settings: &Settings) -> String {
    let how = match settings.data.restore {
        RestoreMethod::Online => "import the snapshot's files",
        RestoreMethod::Offline => {
            "stop the nodes and replace their files with the snapshot's files"
        }
    };
    let cache = match settings.data.page_cache {
        PageCache::Keep => "",
        PageCache::Drop => ", drop the page cache",
    };
    format!("{how}{cache}")
}

/// Describes the start of a target.
pub fn target_words(target: &Target) -> String {
    match target {
        Target::Local(local) => format!(
            "start {} of {} with {} heap",
            counted(local.nodes, "node"),
            local.cassandra_words(),
            units::format_bytes(local.heap_bytes)
        ),
        Target::Attach(attach) => {
            let points = match (&attach.kubernetes, &attach.secure_connect_bundle) {
                (Some(described), _) => described.owner.words(),
                (None, Some(bundle)) => format!("the nodes of {}", bundle.display()),
                (None, None) => attach.contact_points.join(", "),
            };
            let hosts = attach.hosts.iter().map(|host| host.remote.ssh.as_str());
            let by_ssh = match attach.hosts[..] {
                [] => String::new(),
                _ => format!(", by ssh to {}", hosts.collect::<Vec<_>>().join(", ")),
            };
            format!("attach to {points}{by_ssh}")
        }
        Target::Null(_) => "start the null target".to_owned(),
    }
}

impl fmt::Display for PhaseWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PhaseWork::Said(words) => f.write_str(words),
            PhaseWork::Offer(offer) => offer.fmt(f),
        }
    }
}

impl fmt::Display for Offer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            None => f.write_str("at the load that the procedure chooses")?,
            Some(Point::Threads(threads)) => write!(f, "{threads} in flight")?,
            Some(Point::Rate(rate)) => write!(f, "{} op/s", units::format_count(rate))?,
        }
        if self.is_poisson && matches!(self.at, Some(Point::Rate(_))) {
            f.write_str(", Poisson arrivals")?;
        }
        match self.recorded_speed {
            Some(1.0) => f.write_str(" on average, the recorded speed")?,
            Some(speed) => write!(f, " on average, {speed} times the recorded speed")?,
            None => {}
        }
        let duration = units::format_duration_ns;
        match &self.length {
            OfferLength::For(ns) => write!(f, ", {}", duration(*ns)),
            OfferLength::UntilSteady(max_ns) => {
                write!(f, ", until steady, at most {}", duration(*max_ns))
            }
            OfferLength::UntilFaults(after_ns, max_ns) => write!(
                f,
                ", until {} after the last fault, at most {}",
                duration(*after_ns),
                duration(*max_ns)
            ),
            OfferLength::Uncounted(operations) => {
                let count = units::format_count(*operations);
                write!(f, ", {count} operations, not counted")
            }
            OfferLength::Step(words) => write!(f, ", {words}"),
        }
    }
}
