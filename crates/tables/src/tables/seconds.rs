//! The tables `seconds` and `client`: the results of every trial by interval (one second), and the
//! figures of the client itself.
//!
//! The figures of each kind come from the lines of the interval file. The figures of all kinds
//! together come from the histogram logs. For each of the two clocks, a separate thread reads the
//! log while the main thread reads the lines.

use super::run_input::Source;
use crate::column::Table;
use crate::format::WrittenFile;
use crate::head::{self, Head};
use crate::output_folder::{Files, Folder};
use crate::quantiles::{self, Clock};
use anyhow::Result;
use measure::ClientCount;
use std::iter::Peekable;
use std::rc::Rc;
use std::sync::mpsc::sync_channel;
use std::thread;
use store::Trial;
use store::record::{ClientIntervalRecord, QuantilesRecord};

/// Name that stands for all kinds of operations together.
pub(super) const ALL: &str = "all";
/// Maximum number of intervals by which the reading of a log may be ahead of the reading of the
/// lines.
const INTERVALS_AHEAD_MAX: usize = 256;
/// Maximum difference between the start times of an interval in the two files, in seconds. One of
/// the files rounds times to three decimal places.
const SAME_S: f64 = 0.0011;

/// Trial to which an interval belongs, and the start, length and phase of the interval.
#[derive(Clone, Debug)]
struct IntervalTime {
    head: Rc<Head>,
    t_s: f64,
    seconds: f64,
    phase: String,
}

/// Row of the table `seconds`: one kind of operation, or all kinds together, in one interval.
pub(super) struct SecondRow {
    when: IntervalTime,
    kind: String,
    ok: u64,
    failed: u64,
    latency: Option<QuantilesRecord>,
    service: Option<QuantilesRecord>,
}

pub(super) struct ClientRow {
    when: IntervalTime,
    client: ClientIntervalRecord,
}

/// Adds the columns that identify an interval, which both tables have.
fn interval<'r, R: 'r>(
    table: Table<'r, R>,
    when: impl for<'a> Fn(&'a R) -> &'a IntervalTime + Copy + 'r,
) -> Table<'r, R> {
    let table = head::columns(table, move |row| &when(row).head);
    head::times(table, move |row| &when(row).head, move |row| when(row).t_s)
        .number("length_s", "s", "Length of the interval.", move |row| {
            Some(when(row).seconds)
        })
        .text(
            "phase",
            "Phase of the trial: `load`, `warmup`, `measure`, `drain` or `verify`.",
            move |row| Some(&when(row).phase),
        )
}

pub(super) fn table<'r>() -> Table<'r, SecondRow> {
    let table = Table::new(
        "seconds",
        "one kind of operation, or all kinds together, in an interval of about a second.",
    );
    let table = interval(table, |row: &SecondRow| &row.when)
        .text(
            "kind",
            "Kind of operation; `all` for all kinds together.",
            |row| Some(&row.kind),
        )
        .whole(
            "ok",
            "operations",
            "Successful operations that ended in the interval.",
            |row| Some(row.ok),
        )
        .whole(
            "failed",
            "operations",
            "Failed operations that ended in the interval.",
            |row| Some(row.failed),
        )
        .number("ops_per_s", "op/s", "`ok` per second.", |row| {
            Some(row.ok as f64 / row.when.seconds)
        });
    let table = quantiles::columns(table, Clock::Latency, |row| row.latency.as_ref());
    let table = quantiles::columns(table, Clock::Service, |row| row.service.as_ref());
    quantiles::bounds(table, |row| [row.latency.as_ref(), row.service.as_ref()])
}

pub(super) fn client_table<'r>() -> Table<'r, ClientRow> {
    let table = Table::new(
        "client",
        "the state of the client in an interval of about a second.",
    );
    let table = interval(table, |row: &ClientRow| &row.when)
        .number("cpu_us_per_op", "µs", "CPU time per operation.", |row| {
            Some(row.client.cpu_us_per_op)
        })
        .number("cpu", "cores", "CPU use, in cores.", |row| {
            Some(row.client.cpu_share)
        })
        .number("lag_p50_us", "µs", "Median of the release lag.", |row| {
            Some(row.client.lag_us_p50)
        })
        .number(
            "lag_p99_us",
            "µs",
            "99th percentile of the release lag.",
            |row| Some(row.client.lag_us_p99),
        )
        .number(
            "hiccup_p99_ms",
            "ms",
            "99th percentile of the lateness of timers.",
            |row| row.client.hiccup_ms_p99,
        )
        .number(
            "hiccup_max_ms",
            "ms",
            "Largest lateness of a timer.",
            |row| row.client.hiccup_ms_max,
        )
        .number("stalled_ms", "ms", "Total time in stalls.", |row| {
            Some(row.client.stalled_ms)
        })
        .number(
            "wait",
            "cores",
            "Mean number of workers that were ready but waited for a CPU: their waiting time per \
             second.",
            |row| row.client.wait_share,
        )
        .number(
            "quiet_ms",
            "ms",
            "Longest wait of a worker for a response.",
            |row| Some(row.client.quiet_ms),
        );
    counts(table)
}

fn counts<'r>(table: Table<'r, ClientRow>) -> Table<'r, ClientRow> {
    let count = |row: &ClientRow, which: ClientCount| Some(row.client.counts[which]);
    let ops = "operations";
    table
        .whole(
            "late",
            ops,
            "Operations that the client sent more than 1 ms late.",
            move |row| count(row, ClientCount::Late),
        )
        .whole(
            "limited",
            ops,
            "Operations that waited in the client because the maximum number of operations was in \
             flight.",
            move |row| count(row, ClientCount::Limited),
        )
        .whole(
            "dropped",
            ops,
            "Operations that the client abandoned before the send.",
            move |row| count(row, ClientCount::Dropped),
        )
        .whole(
            "in_flight",
            ops,
            "Operations in flight at the end of the interval.",
            move |row| count(row, ClientCount::InFlight),
        )
        .whole(
            "connections",
            "connections",
            "Open connections at the end of the interval.",
            move |row| count(row, ClientCount::Connections),
        )
        .whole(
            "connections_lost",
            "connections",
            "Connections lost in the interval.",
            move |row| count(row, ClientCount::ConnectionsLost),
        )
}

pub(super) fn write(source: &Source<'_>, out: &Folder) -> Result<Vec<WrittenFile>> {
    let mut course = SecondsWriter {
        seconds: out.begin(table())?,
        client: out.begin(client_table())?,
    };
    for trial in source.trials {
        let head = source.head(trial)?;
        thread::scope(|threads| {
            let read = |service: bool| {
                let (to, from) = sync_channel(INTERVALS_AHEAD_MAX);
                let together = trial.together(service, &head.parts)?;
                threads.spawn(move || {
                    // If the main thread could not write, the receiver is gone, so this thread
                    // stops.
                    let mut sent = together.map_while(|one| to.send(one).ok());
                    while sent.next().is_some() {}
                });
                Ok::<_, anyhow::Error>(Sums(from.into_iter().peekable()))
            };
            let mut clocks = [read(false)?, read(true)?];
            course.write_trial(trial, &Rc::new(head.clone()), &mut clocks)
        })?;
    }
    Ok([course.seconds.end()?, course.client.end()?].concat())
}

/// Figures of all kinds together for each interval, in order of time.
struct Sums(Peekable<std::sync::mpsc::IntoIter<Result<(f64, QuantilesRecord)>>>);

impl Sums {
    /// Returns the figures of the interval that begins at `t_s`. Returns `None` if the log does not
    /// contain this interval.
    fn figures_at(&mut self, t_s: f64) -> Result<Option<QuantilesRecord>> {
        loop {
            let reached = |next: &Result<(f64, QuantilesRecord)>| match next {
                Ok((start_s, _)) => *start_s < t_s + SAME_S,
                Err(_) => true,
            };
            let Some((start_s, record)) = self.0.next_if(reached).transpose()? else {
                return Ok(None);
            };
            if start_s > t_s - SAME_S {
                return Ok(Some(record));
            }
        }
    }
}

/// Writer of the tables `seconds` and `client`, row by row.
struct SecondsWriter {
    seconds: Files<'static, SecondRow>,
    client: Files<'static, ClientRow>,
}

impl SecondsWriter {
    /// Writes a row for each line of the interval file. After the lines of an interval, writes a
    /// row for all kinds together.
    fn write_trial(
        &mut self,
        trial: &Trial,
        head: &Rc<Head>,
        clocks: &mut [Sums; 2],
    ) -> Result<()> {
        let mut sum: Option<SecondRow> = None;
        for line in trial.intervals()? {
            let line = line?;
            let is_same =
                |sum: &SecondRow| sum.when.t_s == line.t_s && sum.when.phase == line.phase;
            if !sum.as_ref().is_some_and(is_same) {
                self.end(sum.take(), clocks)?;
            }
            let when = IntervalTime {
                head: Rc::clone(head),
                t_s: line.t_s,
                seconds: line.seconds,
                phase: line.phase,
            };
            if let Some(client) = line.client {
                self.client.row(&ClientRow { when, client })?;
                continue;
            }
            let failed = line.errors.values().sum();
            let all = sum.get_or_insert_with(|| SecondRow {
                when: when.clone(),
                kind: ALL.to_owned(),
                ok: 0,
                failed: 0,
                latency: None,
                service: None,
            });
            if !head.parts.contains(&line.kind) {
                all.ok += line.ok;
                all.failed += failed;
            }
            self.seconds.row(&SecondRow {
                when,
                kind: line.kind,
                ok: line.ok,
                failed,
                latency: line.latency_ms,
                service: line.service_ms,
            })?;
        }
        self.end(sum, clocks)
    }

    fn end(&mut self, sum: Option<SecondRow>, clocks: &mut [Sums; 2]) -> Result<()> {
        let Some(mut row) = sum else {
            return Ok(());
        };
        let [latency, service] = clocks;
        row.latency = latency.figures_at(row.when.t_s)?;
        row.service = service.figures_at(row.when.t_s)?;
        self.seconds.row(&row)
    }
}
