//! Options of a fault: their names, their values, and their form in output.

use crate::host::DiskSpec;
use crate::index::{HostIndex, NodeIndex};
use crate::redact::names_secret;
use serde_json::{Map, Value};
use std::time::Duration;
use versions::Release;

measure::word_enum! {
    /// Name of an option of a fault.
    pub enum FaultOption {
        /// CPU time that the fault leaves to a node, in cores.
        Cpus = "cpus",
        /// Limits on a volume's operations and bytes per second.
        Disk = "disk",
        /// Free space that the fault leaves on a volume, in bytes.
        Leave = "leave",
        /// Share of the packets that the fault drops.
        Loss = "loss",
        /// Limit on the rate of a link, in bit/s.
        Rate = "rate",
        /// Additional delay of packets on a link.
        Delay = "delay",
        /// Offset that the fault adds to a clock.
        By = "by",
        /// Time after which cassay starts the nodes of a failed host on another host.
        Ha = "ha",
        /// New values that the fault sets for keys of `cassandra.yaml`.
        Yaml = "yaml",
        /// Release that nodes run after the upgrade.
        To = "to",
        /// True if nodes write their memtables to files before they end.
        Drain = "drain",
        /// True if nodes rewrite their files in the newest format that they write.
        UpgradeSstables = "upgrade_sstables",
        /// Nodes to which the fault is restricted.
        Nodes = "nodes",
        /// Method by which upgraded nodes return to their earlier release.
        Back = "back",
    }
}

measure::word_enum! {
    /// Method by which upgraded nodes return to their earlier release.
    #[derive(Default)]
    pub enum Rollback {
        /// The nodes are not rolled back, and keep the new release.
        #[default]
        Never = "never",
        /// The nodes are rolled back to their files from before the upgrade.
        Snapshot = "snapshot",
    }
}

/// Values of the options of a fault. [`FaultOption`] describes each option.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Value of [`FaultOption::Cpus`].
    pub cpus: Option<f64>,
    /// Value of [`FaultOption::Disk`].
    pub disk: DiskSpec,
    /// Value of [`FaultOption::Leave`].
    pub leave_bytes: Option<u64>,
    /// Value of [`FaultOption::Loss`], from 0 to 1.
    pub loss: Option<f64>,
    /// Value of [`FaultOption::Rate`].
    pub rate_bits_per_s: Option<u64>,
    /// Value of [`FaultOption::Delay`].
    pub delay: Option<Duration>,
    /// Value of [`FaultOption::By`].
    pub by: Option<Duration>,
    /// Value of [`FaultOption::Ha`].
    pub ha_after: Option<Duration>,
    /// Host on which [`FaultOption::Ha`] starts the nodes. `None` means the next host.
    pub ha_on: Option<HostIndex>,
    /// Value of [`FaultOption::Yaml`]. Empty if the option is not set.
    pub yaml: Map<String, Value>,
    /// Value of [`FaultOption::To`].
    pub to: Option<Release>,
    /// Value of [`FaultOption::Drain`]. If it is `None`, the nodes drain.
    pub drain: Option<bool>,
    /// Value of [`FaultOption::UpgradeSstables`].
    pub upgrade_sstables: bool,
    /// Value of [`FaultOption::Nodes`]. If the list is empty, the fault affects all nodes.
    pub nodes: Vec<NodeIndex>,
    /// Value of [`FaultOption::Back`].
    pub back: Rollback,
}

impl Options {
    /// Returns a value for every required [`FaultOption`], for tests of faults. Each value has an
    /// effect that a test can observe on an idle cluster.
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
            // This value is twice the value on managed nodes, and is harmless.
            yaml: Map::from_iter([("hinted_handoff_throttle".to_owned(), "2048KiB".into())]),
            to: versions::LINES.last().map(|line| line.release()),
            ..Options::default()
        }
    }
}

impl FaultOption {
    /// Formats the value of the option. `None` if the option is not set.
    pub fn describe(self, options: &Options) -> Option<String> {
        let seconds = |time: Duration| format!("{} s", time.as_secs_f64());
        match self {
            FaultOption::Cpus => options.cpus.map(|cores| cores.to_string()),
            FaultOption::Disk => {
                let each = options.disk.each().into_iter();
                let said: Vec<String> =
                    each.filter_map(|(name, value)| Some(format!("{name} {}", value?))).collect();
                (!said.is_empty()).then(|| said.join(" "))
            }
            FaultOption::Leave => options.leave_bytes.map(|bytes| format!("{bytes} bytes")),
            FaultOption::Loss => options.loss.map(|share| format!("{} %", share * 100.0)),
            FaultOption::Rate => options.rate_bits_per_s.map(|rate| format!("{rate} bit/s")),
            FaultOption::Delay => options.delay.map(seconds),
            FaultOption::By => options.by.map(seconds),
            FaultOption::Ha => options.ha_after.map(|after| format!("after {}", seconds(after))),
            FaultOption::To => options.to.as_ref().map(ToString::to_string),
            FaultOption::Drain => options.drain.map(|drains| drains.to_string()),
            FaultOption::UpgradeSstables => options.upgrade_sstables.then(|| "after".to_owned()),
            FaultOption::Back => {
                (options.back != Rollback::Never).then(|| options.back.name().to_owned())
            }
            FaultOption::Nodes => {
                let names: Vec<String> = options.nodes.iter().map(|node| node.name()).collect();
                (!names.is_empty()).then(|| names.join(", "))
            }
            FaultOption::Yaml => {
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
