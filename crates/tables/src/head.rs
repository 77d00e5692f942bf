//! The first columns of every row that belongs to a trial, and the clock of the trial.

use crate::column::Table;
use analysis::VariantName;
use anyhow::Result;
use store::Trial;
use store::record::{Point, TrialFinding, TrialRecord};

const US_NS: u64 = 1_000;

/// Identity of a trial, and the moments from which times in the trial are counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Head {
    pub(crate) trial: usize,
    variant: VariantName,
    point: Option<Point>,
    block: usize,
    /// Start line of the trial, in µs since 1970. `None` if unknown.
    start_us: Option<i64>,
    /// Start of the measured window, in seconds since the trial's start line. `None` if the trial
    /// has no measured window.
    window_from_s: Option<f64>,
    /// Names of the kinds whose operations are parts of operations of other kinds.
    pub(crate) parts: Vec<String>,
}

impl Head {
    pub(crate) fn from_finding(finding: &TrialFinding) -> Head {
        let measured = finding.phases.iter().find(|phase| phase.name == "measure");
        Head {
            trial: finding.index,
            variant: finding.variant.clone(),
            point: finding.point,
            block: finding.block,
            start_us: us_of(finding.started_unix_ns),
            window_from_s: measured.map(|phase| phase.from_s),
            parts: finding.parts.clone(),
        }
    }

    /// Builds the head of a trial that wrote records. The trial may or may not have ended.
    ///
    /// # Errors
    /// The records of the trial are damaged.
    pub(crate) fn from_trial(trial: &Trial, finding: Option<&TrialFinding>) -> Result<Head> {
        let record: &TrialRecord = &trial.record;
        let mut head = finding.map_or_else(Head::default, Head::from_finding);
        head.trial = record.index;
        head.variant = record.variant.clone();
        head.point = record.point;
        head.block = record.block;
        if head.start_us.is_none() {
            head.start_us = trial.start_unix_ns()?.and_then(us_of);
        }
        if head.window_from_s.is_none() {
            for line in trial.intervals()? {
                let line = line?;
                if line.phase == "measure" {
                    head.window_from_s = Some(line.t_s);
                    break;
                }
            }
        }
        Ok(head)
    }

    /// Converts a time in seconds since the start line to µs since 1970. Returns `None` if the
    /// start line is unknown or the time is not valid.
    pub(crate) fn to_unix_us(&self, t_s: f64) -> Option<i64> {
        let us = t_s * 1e6;
        // Damaged records may contain any value. Only times within ten thousand years are valid.
        let is_near = us.is_finite() && us.abs() < 3e17;
        self.start_us.filter(|_| is_near).map(|start| start + us.round() as i64)
    }

    /// Converts a time since the start line to a time since the start of the window, both in
    /// seconds. Returns `None` if the trial has no measured window.
    pub(crate) fn in_window(&self, t_s: f64) -> Option<f64> {
        // The time is rounded to the microsecond, as in records.
        self.window_from_s.map(|from_s| ((t_s - from_s) * 1e6).round() / 1e6)
    }

    /// Returns the time at which the window began, in µs since 1970. Returns `None` if this time or
    /// the start line is unknown.
    pub(crate) fn window_at(&self) -> Option<i64> {
        self.window_from_s.and_then(|from_s| self.to_unix_us(from_s))
    }
}

fn us_of(unix_ns: u64) -> Option<i64> {
    let us = i64::try_from(unix_ns / US_NS).ok();
    us.filter(|us| *us > 0)
}

/// Adds the columns with the variant and the load, which identify a point.
pub(crate) fn place<'r, R: 'r>(
    table: Table<'r, R>,
    variant: impl for<'a> Fn(&'a R) -> &'a VariantName + 'r,
    point: impl Fn(&R) -> Option<Point> + Copy + 'r,
) -> Table<'r, R> {
    table
        .text(
            "variant",
            "Name of the variant, `-` in a study without variants.",
            move |row| Some(variant(row).as_str()),
        )
        .whole(
            "threads",
            "operations",
            "Number of operations in flight, in a closed loop.",
            move |row| match point(row) {
                Some(Point::Threads(threads)) => Some(threads.into()),
                _ => None,
            },
        )
        .whole(
            "rate_per_s",
            "op/s",
            "Offered rate in operations per second, in an open loop.",
            move |row| match point(row) {
                Some(Point::Rate(rate)) => Some(rate),
                _ => None,
            },
        )
}

pub(crate) fn columns<'r, R: 'r>(
    table: Table<'r, R>,
    head: impl for<'a> Fn(&'a R) -> &'a Head + Copy + 'r,
) -> Table<'r, R> {
    let table = table.whole("trial", "", "Number of the trial, from 0.", move |row| {
        Some(head(row).trial as u64)
    });
    place(
        table,
        move |row| &head(row).variant,
        move |row| head(row).point,
    )
    .whole(
        "block",
        "",
        "Number of the block (repetition), from 0.",
        move |row| Some(head(row).block as u64),
    )
}

/// Adds the columns that state a time since the start line in several forms.
pub(crate) fn times<'r, R: 'r>(
    table: Table<'r, R>,
    head: impl for<'a> Fn(&'a R) -> &'a Head + Copy + 'r,
    t_s: impl Fn(&R) -> f64 + Copy + 'r,
) -> Table<'r, R> {
    table
        .time(
            "at",
            "Start of the interval or period, by the wall clock.",
            move |row| head(row).to_unix_us(t_s(row)),
        )
        .number(
            "window_s",
            "s",
            "Start of the interval or period, relative to the measured window of the trial; \
             negative before the window.",
            move |row| head(row).in_window(t_s(row)),
        )
}
