//! The table of the rows of panels, with the series that they show.
//!
//! Names are patterns of the series that probes write (`<tool>.<its column>`), with alternatives in
//! case a tool is missing. A row without series states that the series are missing.

use crate::page::{Dash, Shape};

/// One row of a trial's panels.
pub struct RowSpec {
    pub title: &'static str,
    /// Probe whose series the row shows.
    pub probe: &'static str,
    /// Height of the row in CSS pixels.
    pub height_px: u32,
    /// True if a row with only zeros means that everything is in order. A sentence then replaces
    /// the chart.
    pub quiet: bool,
    /// Quantities that the row shows.
    pub parts: &'static [Part],
}

/// One quantity of a row, at every place.
pub struct Part {
    /// Name that is shown next to the place. Empty if the title contains the name.
    pub label: &'static str,
    /// Patterns of the names of series. The row shows the first pattern that matches any series.
    pub names: &'static [&'static str],
    /// Rule by which several series of one place are grouped into lines.
    pub how: Grouping,
    /// Shape in which the lines are drawn.
    pub shape: Shape,
    /// Dash pattern with which the lines are drawn.
    pub dash: Dash,
    /// True if the quantity uses the axis at the right.
    pub on_right: bool,
}

/// Way of grouping series into lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// A line for each place.
    Each,
    /// A line for each host or node. The line is the sum of the series of the host or node.
    Sum,
    /// A line for each place and name. Only this number of names, those with the highest peaks at
    /// any place, have lines.
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

/// Stacked parts of the CPU time, with their series. Time for interrupts counts as time of the
/// kernel.
pub const CPU_PARTS: [(&str, &[&str]); 4] = [
    ("usr", &["mpstat.%usr", "mpstat.%nice"]),
    ("sys", &["mpstat.%sys", "mpstat.%irq", "mpstat.%soft"]),
    ("iowait", &["mpstat.%iowait"]),
    ("steal", &["mpstat.%steal"]),
];
/// Rows about the hosts, below the row for the CPUs of the hosts.
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

/// Rows about the JVMs and the database.
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
        title: "Dropped messages and failed requests",
        probe: "cassandra",
        height_px: 60,
        quiet: true,
        parts: &[
            Part::line("messages dropped", &["dropped.*/s"]).how(Grouping::Sum),
            Part::line("timeouts", &["client_request.*.timeouts/s"])
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
