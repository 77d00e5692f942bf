//! Options of a fault.

use crate::host::DiskSpec;
use crate::redact::names_secret;
use serde_json::{Map, Value};
use std::time::Duration;
use versions::Release;

measure::word_enum! {
    /// Name of an option of a fault.
    pub enum Knob {
        /// CPU time that is left, in cores.
        Cpus = "cpus",
        /// Limits of a volume's operations and bytes per second.
        Disk = "disk",
        /// Free space that is left on a volume, in bytes.
        Leave = "leave",
        /// Share of packets that is dropped.
        Loss = "loss",
        /// Rate limit of a link, in bit/s.
        Rate = "rate",
        /// Additional delay of packets.
        Delay = "delay",
        /// Offset of a clock.
        By = "by",
        /// Time after which nodes are started on another host.
        Ha = "ha",
        /// Keys of `cassandra.yaml` with other values.
        Yaml = "yaml",
        /// Release that nodes run afterwards.
        To = "to",
        /// True if nodes write their memtables to files before they end.
        Drain = "drain",
        /// True if files are rewritten in the newest format that the nodes write.
        UpgradeSstables = "upgrade_sstables",
        /// Restriction to some nodes.
        Nodes = "nodes",
        /// Way in which nodes return to their earlier state.
        Back = "back",
    }
}

measure::word_enum! {
    /// Way in which upgraded nodes return to their earlier release.
    #[derive(Default)]
    pub enum Back {
        /// No rollback: they keep the new release.
        #[default]
        Never = "never",
        /// Rollback to their files from before the upgrade.
        Snapshot = "snapshot",
    }
}

/// Values of the options, by their [`Knob`]s.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Value of [`Knob::Cpus`].
    pub cpus: Option<f64>,
    /// Value of [`Knob::Disk`].
    pub disk: DiskSpec,
    /// Value of [`Knob::Leave`].
    pub leave_bytes: Option<u64>,
    /// Value of [`Knob::Loss`], 0 to 1.
    pub loss: Option<f64>,
    /// Value of [`Knob::Rate`].
    pub rate_bits_per_s: Option<u64>,
    /// Value of [`Knob::Delay`].
    pub delay: Option<Duration>,
    /// Value of [`Knob::By`].
    pub by: Option<Duration>,
    /// Value of [`Knob::Ha`].
    pub ha_after: Option<Duration>,
    /// Index of the host for these nodes. `None`: the next one.
    pub ha_on: Option<usize>,
    /// Value of [`Knob::Yaml`]; empty if not given.
    pub yaml: Map<String, Value>,
    /// Value of [`Knob::To`].
    pub to: Option<Release>,
    /// Value of [`Knob::Drain`]. `None`: they drain.
    pub drain: Option<bool>,
    /// Value of [`Knob::UpgradeSstables`].
    pub upgrade_sstables: bool,
    /// Value of [`Knob::Nodes`], by their indexes; empty: all.
    pub nodes: Vec<usize>,
    /// Value of [`Knob::Back`].
    pub back: Back,
}

impl Options {
    /// Returns a value for every required [`Knob`] whose effect shows on an idle cluster.
    pub fn tried() -> Options {
        Options {
            disk: DiskSpec {
                read_iops: Some(10),
                write_iops: Some(10),
                ..DiskSpec::default()
            },
            loss: Some(0.5),
            rate_bits_per_s: Some(1_000_000),
            delay: Some(Duration::from_millis(50)),
            by: Some(Duration::from_secs(60)),
            // Twice the value of every managed node, and without harm.
            yaml: Map::from_iter([("hinted_handoff_throttle".to_owned(), "2048KiB".into())]),
            to: versions::LINES.last().map(|line| line.release()),
            ..Options::default()
        }
    }
}

impl Knob {
    /// Returns the value in words. `None` if it was not given.
    pub fn said(self, options: &Options) -> Option<String> {
        let seconds = |time: Duration| format!("{} s", time.as_secs_f64());
        match self {
            Knob::Cpus => options.cpus.map(|cores| cores.to_string()),
            Knob::Disk => {
                let each = options.disk.each().into_iter();
                let said: Vec<String> =
                    each.filter_map(|(name, value)| Some(format!("{name} {}", value?))).collect();
                (!said.is_empty()).then(|| said.join(" "))
            }
            Knob::Leave => options.leave_bytes.map(|bytes| format!("{bytes} bytes")),
            Knob::Loss => options.loss.map(|share| format!("{} %", share * 100.0)),
            Knob::Rate => options.rate_bits_per_s.map(|rate| format!("{rate} bit/s")),
            Knob::Delay => options.delay.map(seconds),
            Knob::By => options.by.map(seconds),
            Knob::Ha => options.ha_after.map(|after| format!("after {}", seconds(after))),
            Knob::To => options.to.as_ref().map(ToString::to_string),
            Knob::Drain => options.drain.map(|drains| drains.to_string()),
            Knob::UpgradeSstables => options.upgrade_sstables.then(|| "after".to_owned()),
            Knob::Back => (options.back != Back::Never).then(|| options.back.name().to_owned()),
            Knob::Nodes => {
                let names: Vec<String> =
                    options.nodes.iter().map(|node| format!("node{}", node + 1)).collect();
                (!names.is_empty()).then(|| names.join(", "))
            }
            Knob::Yaml => {
                let said: Vec<String> = options
                    .yaml
                    .iter()
                    .map(|(key, value)| match value.as_str() {
                        _ if names_secret(key) => format!("{key} (hidden)"),
                        Some(text) => format!("{key} {text}"),
                        None => format!("{key} {value}"),
                    })
                    .collect();
                (!said.is_empty()).then(|| said.join(" "))
            }
        }
    }
}
