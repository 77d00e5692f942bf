//! Kinds of faults, and the options that a study can set for a fault.

use super::commands::Commands;
use super::fault_table::FaultName;
use super::options::{FaultOption, Options, Rollback};
use super::properties::{DataLoss, FaultPlace, Length};
use crate::allow::NodeAct;
use crate::capability::Capability;
use serde_json::Map;
use std::borrow::Cow;
use std::time::Duration;

#[derive(Clone, Debug, PartialEq)]
pub struct FaultKind {
    /// Name of the kind in studies and in records.
    pub name: Cow<'static, str>,
    /// Implementation of the fault. It is built in, or consists of programs of a study.
    pub means: Means,
    /// Description of the effect of the fault.
    pub what: Cow<'static, str>,
    /// Capabilities that the target must have for this kind of fault.
    pub needs: &'static [Capability],
    /// Part of a cluster on which the fault acts.
    pub place: FaultPlace,
    /// Options that the kind accepts.
    pub takes: &'static [FaultOption],
    /// Options that the kind requires.
    pub must: &'static [FaultOption],
    /// Rule that determines the duration of the fault.
    pub length: Length,
    /// True if the fault ends processes. The nodes of these processes are then down until the fault
    /// is healed.
    pub takes_away: bool,
    /// Data that nodes may lose because of the fault.
    pub loses: DataLoss,
    /// Maximum time until cassay must observe that the fault is healed.
    pub healed_within: Duration,
}

/// Implementation of a kind of fault.
#[derive(Clone, Debug, PartialEq)]
pub enum Means {
    BuiltIn(FaultName),
    /// The fault consists of programs that a study names.
    Programs(Commands),
}

/// Time limit until cassay must observe that a fault is healed, if the fault does not end
/// processes.
const HEAL_LIMIT: Duration = Duration::from_secs(60);

/// Time limit of a fault that is healed as soon as cassay has observed it. The time is long enough
/// for a node to drain.
const MOMENT: Duration = Duration::from_secs(60);

impl FaultKind {
    /// Creates a kind of fault without options and without loss of data. The study states the
    /// duration of the fault.
    pub(crate) const fn new(
        name: FaultName,
        place: FaultPlace,
        what: &'static str,
        needs: &'static [Capability],
    ) -> FaultKind {
        FaultKind {
            name: Cow::Borrowed(name.name()),
            means: Means::BuiltIn(name),
            what: Cow::Borrowed(what),
            needs,
            place,
            takes: &[],
            must: &[],
            length: Length::Stated,
            takes_away: false,
            loses: DataLoss::Nothing,
            healed_within: HEAL_LIMIT,
        }
    }

    /// Returns the kind with these options, which are optional.
    pub(crate) const fn taking(mut self, knobs: &'static [FaultOption]) -> FaultKind {
        self.takes = knobs;
        self
    }

    /// Returns the kind with these required options and these optional options.
    pub(crate) const fn demanding_of(
        mut self,
        must: &'static [FaultOption],
        takes: &'static [FaultOption],
    ) -> FaultKind {
        (self.must, self.takes) = (must, takes);
        self
    }

    /// Returns the kind with these options, which are required.
    pub(crate) const fn demanding(mut self, knobs: &'static [FaultOption]) -> FaultKind {
        (self.takes, self.must) = (knobs, knobs);
        self
    }

    pub(crate) const fn lasting(mut self, length: Length) -> FaultKind {
        self.length = length;
        self
    }

    pub(crate) const fn taking_away(mut self) -> FaultKind {
        self.takes_away = true;
        self
    }

    pub(crate) const fn losing(mut self, what: DataLoss) -> FaultKind {
        self.loses = what;
        self
    }

    /// Returns the kind with this time limit for healing.
    pub(crate) const fn whole_within(mut self, limit: Duration) -> FaultKind {
        self.healed_within = limit;
        self
    }

    /// Returns true if the fault occupies the volume of a host. This is true for all volume faults
    /// except a slow volume. A volume can have only one such fault at a time.
    pub fn takes_volume(&self) -> bool {
        let needs = |capability| self.needs.contains(&capability);
        let ways = [
            Capability::VolumeOff,
            Capability::VolumeReadOnly,
            Capability::VolumeStalled,
            Capability::VolumeCorrupt,
            Capability::VolumeErrors,
        ];
        ways.into_iter().any(needs) || (needs(Capability::Volume) && !needs(Capability::DiskLimit))
    }

    /// Returns the maximum duration in ns of a fault for which the study states no duration.
    pub fn at_most_ns(&self) -> u64 {
        MOMENT.as_nanos() as u64
    }

    /// Returns true if the fault requires at least one other node. This is the case if the fault
    /// changes the members of the ring, or if only the replicas on other nodes remain.
    pub fn needs_others(&self) -> bool {
        matches!(self.loses, DataLoss::Copy | DataLoss::HandedOver)
    }

    /// Returns the options in `said` that this kind accepts.
    #[must_use]
    pub fn options(&self, said: &Options) -> Options {
        let takes = |knob| self.takes(knob);
        Options {
            cpus: said.cpus.filter(|_| takes(FaultOption::Cpus)),
            disk: Some(said.disk).filter(|_| takes(FaultOption::Disk)).unwrap_or_default(),
            leave_bytes: said.leave_bytes.filter(|_| takes(FaultOption::Leave)),
            loss: said.loss.filter(|_| takes(FaultOption::Loss)),
            rate_bits_per_s: said.rate_bits_per_s.filter(|_| takes(FaultOption::Rate)),
            delay: said.delay.filter(|_| takes(FaultOption::Delay)),
            by: said.by.filter(|_| takes(FaultOption::By)),
            ha_after: said.ha_after.filter(|_| takes(FaultOption::Ha)),
            ha_on: said.ha_on.filter(|_| takes(FaultOption::Ha)),
            yaml: if takes(FaultOption::Yaml) {
                said.yaml.clone()
            } else {
                Map::new()
            },
            to: said.to.clone().filter(|_| takes(FaultOption::To)),
            drain: said.drain.filter(|_| takes(FaultOption::Drain)),
            upgrade_sstables: said.upgrade_sstables && takes(FaultOption::UpgradeSstables),
            nodes: if takes(FaultOption::Nodes) {
                said.nodes.clone()
            } else {
                Vec::new()
            },
            back: if takes(FaultOption::Back) {
                said.back
            } else {
                Rollback::Never
            },
        }
    }

    /// Returns the kind with the changes that its options make. For example, an upgrade with a
    /// rollback lasts until the rollback.
    #[must_use]
    pub fn with(self, said: &Options) -> FaultKind {
        match said.back {
            Rollback::Snapshot if self.takes(FaultOption::Back) => FaultKind {
                what: Cow::Borrowed(
                    "restarts every node, one after the other, as another release, and later, the \
                     last upgraded node first, as its earlier release with its earlier files",
                ),
                length: Length::Staged,
                ..self
            },
            Rollback::Snapshot | Rollback::Never => self,
        }
    }

    /// Returns the actions that the command line must allow before cassay injects the fault on an
    /// attached node. `None` if cassay can inject the fault only on managed nodes, or if the fault
    /// consists of a study's own programs.
    pub fn acts(&self) -> Option<&'static [NodeAct]> {
        let Means::BuiltIn(name) = self.means else {
            return None;
        };
        match name {
            FaultName::NodePause => Some(&[NodeAct::Signal]),
            FaultName::NodeKill => Some(&[NodeAct::Signal, NodeAct::Restart]),
            FaultName::NodeStop | FaultName::NodeRestart | FaultName::RollingRestart => {
                Some(&[NodeAct::Restart])
            }
            FaultName::NetPartition
            | FaultName::NetOneWay
            | FaultName::NetClientCut
            | FaultName::NetDown
            | FaultName::NetLoss
            | FaultName::NetPolicy
            | FaultName::NetReset => Some(&[NodeAct::Network]),
            FaultName::PodDelete
            | FaultName::PodKill
            | FaultName::PodEvict
            | FaultName::OperatorRestart => Some(&[NodeAct::Pods]),
            _ => None,
        }
    }

    /// Returns true if the fault ends the pod of a node with all its processes, including agents.
    pub fn ends_pods(&self) -> bool {
        self.needs.contains(&Capability::PodControl)
    }

    /// Returns true if the kind accepts the option `knob`.
    pub fn takes(&self, knob: FaultOption) -> bool {
        self.takes.contains(&knob)
    }
}

impl From<&Commands> for FaultKind {
    fn from(commands: &Commands) -> FaultKind {
        FaultKind {
            name: Cow::Owned(commands.name.clone()),
            means: Means::Programs(commands.clone()),
            what: Cow::Owned(format!("runs {}", commands.inject)),
            // On an attached cluster, such a fault needs only its programs, and no capabilities.
            needs: &[],
            place: FaultPlace::Node,
            takes: &[],
            must: &[],
            length: Length::Stated,
            takes_away: commands.loses != DataLoss::Nothing,
            loses: commands.loses,
            healed_within: commands.within,
        }
    }
}
