//! What the phases of a plan do, in words.

use crate::estimate;
use crate::human;
use crate::read_back::Levels;
use crate::settings::{How, Load, PageCache, Settings, Target};
use crate::standing::Preparation;
use analysis::procedure::Point;
use imports::{Step, StepLimit};
use measure::number::counted;
use workload::Program;

/// How long a step is, in words and in seconds.
pub(super) fn step_words(settings: &Settings, step: &Step, point: Option<Point>) -> (String, f64) {
    let of_operations = |count| estimate::of_operations(count, settings, point);
    match step.limit {
        StepLimit::Operations(count) => (
            format!("{} operations", human::format_count(count)),
            of_operations(count),
        ),
        StepLimit::Either(count, length) => (
            format!(
                "{} operations or {} s",
                human::format_count(count),
                length.as_secs_f64()
            ),
            of_operations(count).min(length.as_secs_f64()),
        ),
        StepLimit::Duration(length) => (
            human::format_duration_ns(settings.window.measure_ns),
            length.as_secs_f64(),
        ),
        StepLimit::Uncertainty { target, min, max } => (
            format!("until the rate's standard error is below {target}, {min} to {max} intervals"),
            f64::from(min),
        ),
    }
}

pub(super) fn schema_words(preparation: Preparation, program: &Program) -> String {
    let what = match preparation {
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
    let rows = human::format_count(settings.data.rows);
    match settings.data.load {
        Load::None => "write nothing".to_owned(),
        Load::Operations(rows) => format!("write {} rows", human::format_count(rows)),
        Load::BytesPerNode(bytes) => {
            let bytes = human::format_bytes(bytes);
            format!("write until each node has {bytes}, about {rows} rows")
        }
        Load::Fraction(share) => {
            let percent = share * 100.0;
            format!("write until the data volumes are {percent} % full, about {rows} rows")
        }
    }
}

/// How all rows are read back, and whether that proves anything.
pub(super) fn read_back_words(levels: &Levels) -> String {
    let Levels {
        copies,
        written,
        read,
        ..
    } = levels;
    let words = format!("read every row that was written at {read} and compare");
    match levels.meet() {
        true => words,
        false => format!(
            "{words}; it may miss what {written} acknowledged, with {copies} copies: what is not \
             there need not be lost"
        ),
    }
}

pub(super) fn restore_words(settings: &Settings) -> String {
    let how = match settings.data.restore {
        How::Online => "import the snapshot's files",
        How::Offline => "stop the nodes and swap their files for the snapshot's",
    };
    let cache = match settings.data.page_cache {
        PageCache::Keep => "",
        PageCache::Drop => ", drop the page cache",
    };
    format!("{how}{cache}")
}

/// A target in words.
pub fn target_words(target: &Target) -> String {
    match target {
        Target::Local(local) => format!(
            "start {} of Cassandra {} with {} heap",
            counted(local.nodes, "node"),
            local.version,
            human::format_bytes(local.heap_bytes)
        ),
        Target::Attach(attach) => format!("attach to {}", attach.contact_points.join(", ")),
        Target::Null(_) => "start the null target".to_owned(),
    }
}

pub(super) fn offered_words(point: Option<Point>, settings: &Settings) -> String {
    match point {
        None => WHERE_ASKED.to_owned(),
        Some(point @ Point::Rate(_)) if settings.poisson => {
            format!("{}, Poisson arrivals", point_words(point))
        }
        Some(point) => point_words(point),
    }
}

/// What stands for a point that is not known yet.
pub(super) const WHERE_ASKED: &str = "where the procedure asks";

pub(super) fn point_words(point: Point) -> String {
    match point {
        Point::Threads(threads) => format!("{threads} in flight"),
        Point::Rate(rate) => format!("{} op/s", human::format_count(rate)),
    }
}
