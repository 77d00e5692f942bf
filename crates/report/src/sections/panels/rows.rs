//! The rows of the panels, and the series that they show: a table.
//!
//! Names are patterns of the series that probes write (`<tool>.<its column>`), with alternatives
//! for missing tools. A row without series states that they are missing.

use crate::page::{Dash, Shape};

/// One row of a trial's panels.
pub struct RowSpec {
    /// Title of the row.
    pub title: &'static str,
    /// Probe that reads it.
    pub probe: &'static str,
    /// Height in CSS pixels.
    pub height_px: u32,
    /// True if only zeros are good news. A sentence states them instead of a chart.
    pub quiet: bool,
    /// Quantities of the row.
    pub parts: &'static [Part],
}

/// One quantity of a row, at every place.
pub struct Part {
    /// Name next to the place. Empty if the title contains it.
    pub label: &'static str,
    /// Patterns of its series' names; the first one with any series is used.
    pub names: &'static [&'static str],
    /// Grouping of several series of one place.
    pub how: Grouping,
    /// Shape of its lines.
    pub shape: Shape,
    /// Dash pattern of its lines.
    pub dash: Dash,
    /// True if it uses the axis at the right.
    pub on_right: bool,
}

/// Grouping of series into lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// A line for each place.
    Each,
    /// One line for each host or node: the sum of its series.
    Sum,
    /// The names with the highest peaks, a line for each place.
    Highest(usize),
}

impl Part {
    const fn line(label: &'static str, names: &'static [&'static str]) -> Part {
        Part {
            label,
            names,
            how: Grouping::Each,
            shape: Shape::Line,
            dash: Dash::Solid,
            on_right: false,
        }
    }

    const fn dash(mut self, dash: Dash) -> Part {
        self.dash = dash;
        self
    }

    const fn how(mut self, how: Grouping) -> Part {
        self.how = how;
        self
    }

    const fn marks_at_right(mut self) -> Part {
        self.shape = Shape::Marks;
        self.on_right = true;
        self
    }
}

/// Stacked parts of the CPU time, with their series. Interrupts are also the kernel's work.
pub const CPU_PARTS: [(&str, &[&str]); 4] = [
    ("usr", &["mpstat.%usr", "mpstat.%nice"]),
    ("sys", &["mpstat.%sys", "mpstat.%irq", "mpstat.%soft"]),
    ("iowait", &["mpstat.%iowait"]),
    ("steal", &["mpstat.%steal"]),
];
/// Rows of the hosts, below the CPU.
pub const HOSTS: &[RowSpec] = &[
    RowSpec {
        title: "Disk, busy",
        probe: "hosts",
        height_px: 70,
        quiet: false,
        parts: &[Part::line("", &["iostat.%util"])],
    },
    RowSpec {
        title: "Disk, transferred",
        probe: "hosts",
        height_px: 80,
        quiet: false,
        parts: &[
            Part::line("read", &["iostat.rkB/s", "vmstat.bi"]),
            Part::line("written", &["iostat.wkB/s", "vmstat.bo"]).dash(Dash::Dash),
        ],
    },
    RowSpec {
        title: "Network",
        probe: "hosts",
        height_px: 70,
        quiet: false,
        parts: &[
            Part::line("received", &["sar.rxkB/s"]),
            Part::line("sent", &["sar.txkB/s"]).dash(Dash::Dash),
        ],
    },
    RowSpec {
        title: "Memory",
        probe: "hosts",
        height_px: 70,
        quiet: false,
        parts: &[
            Part::line("available", &["free.available"]),
            Part::line("page cache", &["vmstat.cache"]).dash(Dash::Dash),
            Part::line("free", &["vmstat.free"]).dash(Dash::Dot),
        ],
    },
];

/// Rows of the JVMs and of the database.
pub const NODES: &[RowSpec] = &[
    RowSpec {
        title: "JVM heap in use, and pauses (marks, ms on the right)",
        probe: "jvm",
        height_px: 90,
        quiet: false,
        parts: &[
            Part::line("heap", &["jvm.heap_used"]),
            Part::line("pauses", &["gc.pause.*", "gc.pause", "safepoint.longest"]).marks_at_right(),
        ],
    },
    RowSpec {
        title: "Compactions pending",
        probe: "cassandra",
        height_px: 70,
        quiet: false,
        parts: &[Part::line("", &["compactions.pending"])],
    },
    RowSpec {
        title: "Tasks pending, the fullest stages",
        probe: "cassandra",
        height_px: 70,
        quiet: true,
        parts: &[Part::line("", &["thread_pools.*.pending"]).how(Grouping::Highest(4))],
    },
    RowSpec {
        title: "SSTables per read, p99",
        probe: "cassandra",
        height_px: 60,
        quiet: false,
        parts: &[Part::line("", &["sstables_per_read.p99"])],
    },
    RowSpec {
        title: "Given up",
        probe: "cassandra",
        height_px: 60,
        quiet: true,
        parts: &[
            Part::line("messages dropped", &["dropped.*/s"]).how(Grouping::Sum),
            Part::line("time-outs", &["client_request.*.timeouts/s"])
                .how(Grouping::Sum)
                .dash(Dash::Dash),
            Part::line("unavailable", &["client_request.*.unavailables/s"])
                .how(Grouping::Sum)
                .dash(Dash::Dot),
        ],
    },
    RowSpec {
        title: "Hints",
        probe: "cassandra",
        height_px: 60,
        quiet: true,
        parts: &[
            Part::line("in progress", &["hints.in_progress"]),
            Part::line("written per second", &["hints.total/s"]).dash(Dash::Dash),
            Part::line("delivered per second", &["hints.delivered/s"]).dash(Dash::Dot),
        ],
    },
    RowSpec {
        title: "Nodes that a node considers down",
        probe: "cassandra",
        height_px: 60,
        quiet: true,
        parts: &[Part::line("", &["gossip.unreachable"])],
    },
    RowSpec {
        title: "Waits for the commit log, per second",
        probe: "cassandra",
        height_px: 60,
        quiet: true,
        parts: &[
            Part::line("on sync", &["commit_log.waiting_on_commit/s"]),
            Part::line("on a segment", &["commit_log.waiting_on_segment/s"]).dash(Dash::Dash),
        ],
    },
];
