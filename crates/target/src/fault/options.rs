//! What can be said of a fault besides.

use crate::hidden::names_secret;
use crate::host::DiskSpec;
use serde_json::{Map, Value};
use std::time::Duration;
use versions::Release;

measure::word_enum! {
    /// Something that can be said of a fault.
    pub enum Knob {
        /// CPU time that is left, in cores.
        Cpus = "cpus",
        /// What a volume does in a second.
        Disk = "disk",
        /// What is left free of a volume, in bytes.
        Leave = "leave",
        /// The share of packets that is lost.
        Loss = "loss",
        /// What a link carries, in bit/s.
        Rate = "rate",
        /// How much later packets arrive.
        Delay = "delay",
        /// How far a clock is off.
        By = "by",
        /// After how long nodes are started on another host.
        Ha = "ha",
        /// Keys of `cassandra.yaml` with other values.
        Yaml = "yaml",
        /// The release that nodes run afterwards.
        To = "to",
        /// Whether nodes write what they have in memory to files before they end.
        Drain = "drain",
        /// Whether files get the newest format that the nodes write.
        UpgradeSstables = "upgrade_sstables",
        /// Which nodes alone.
        Nodes = "nodes",
        /// What brings nodes back to what they were.
        Back = "back",
    }
}

measure::word_enum! {
    /// What brings nodes that were upgraded back to the release that they were.
    #[derive(Default)]
    pub enum Back {
        /// Nothing: they stay what they are.
        #[default]
        Never = "never",
        /// Their files as they were before the upgrade.
        Snapshot = "snapshot",
    }
}

/// What was said of a fault, by its [`Knob`]s.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// [`Knob::Cpus`].
    pub cpus: Option<f64>,
    /// [`Knob::Disk`].
    pub disk: DiskSpec,
    /// [`Knob::Leave`].
    pub leave_bytes: Option<u64>,
    /// [`Knob::Loss`], 0 to 1.
    pub loss: Option<f64>,
    /// [`Knob::Rate`].
    pub rate_bits_per_s: Option<u64>,
    /// [`Knob::Delay`].
    pub delay: Option<Duration>,
    /// [`Knob::Via`].
    pub by: Option<Duration>,
    /// [`Knob::Ha`].
    pub ha_after: Option<Duration>,
    /// On which host, by its index; none: the next one.
    pub ha_on: Option<usize>,
    /// [`Knob::Yaml`]; empty: nothing was said.
    pub yaml: Map<String, Value>,
    /// [`Knob::To`].
    pub to: Option<Release>,
    /// [`Knob::Drain`]; none: they do.
    pub drain: Option<bool>,
    /// [`Knob::UpgradeSstables`].
    pub upgrade_sstables: bool,
    /// [`Knob::Nodes`], by their indexes; empty: all.
    pub nodes: Vec<usize>,
    /// [`Knob::Back`].
    pub back: Back,
}

impl Options {
    /// Something that shows on a cluster that nobody uses, for every [`Knob`] that must be said.
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
            // Twice what every node of ours has, and nothing that is missed.
            yaml: Map::from_iter([("hinted_handoff_throttle".to_owned(), "2048KiB".into())]),
            to: versions::LINES.last().map(|line| line.release()),
            ..Options::default()
        }
    }
}

impl Knob {
    /// What was said, in words; none: nothing.
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
