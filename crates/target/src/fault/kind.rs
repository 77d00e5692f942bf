//! What kinds of faults there are to choose from, and what a study can say of one.

use super::commands::Commands;
use super::kinds::FaultName;
use super::options::{Back, Knob, Options};
use super::properties::{DataLoss, Length, Place};
use crate::ability::Ability;
use crate::allow::NodeAct;
use serde_json::Map;
use std::borrow::Cow;
use std::time::Duration;

/// One kind of fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    /// Its name, as in a study and in records.
    pub name: Cow<'static, str>,
    /// What carries it out.
    pub means: Means,
    /// What it does, in words.
    pub what: Cow<'static, str>,
    /// What a target must be able to do for it.
    pub needs: &'static [Ability],
    /// What it hits.
    pub place: Place,
    /// What can be said of it besides.
    pub takes: &'static [Knob],
    /// What has to be said of it.
    pub must: &'static [Knob],
    /// How long it holds.
    pub length: Length,
    /// Whether processes end of it: their nodes are away until it is healed.
    pub takes_away: bool,
    /// What nodes may lose by it.
    pub loses: DataLoss,
    /// How long it may take to be seen whole again.
    pub healed_within: Duration,
}

/// What carries out a kind of fault.
#[derive(Clone, Debug, PartialEq)]
pub enum Means {
    /// It is built in.
    BuiltIn(FaultName),
    /// Programs that a study names.
    Programs(Commands),
}

/// How long a fault may take to be seen whole again by which no process ends.
const HEALED_WITHIN: Duration = Duration::from_secs(60);

/// How long a fault may take that is healed as soon as it was seen: a node drains meanwhile.
const MOMENT: Duration = Duration::from_secs(60);

impl Kind {
    /// One that holds as long as a study says, takes nothing, and loses nothing.
    pub(crate) const fn new(
        name: FaultName,
        place: Place,
        what: &'static str,
        needs: &'static [Ability],
    ) -> Kind {
        Kind {
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
            healed_within: HEALED_WITHIN,
        }
    }

    /// The same, of which something can be said.
    pub(crate) const fn taking(mut self, knobs: &'static [Knob]) -> Kind {
        self.takes = knobs;
        self
    }

    /// The same, of which something has to be said, and more can be.
    pub(crate) const fn demanding_of(
        mut self,
        must: &'static [Knob],
        takes: &'static [Knob],
    ) -> Kind {
        (self.must, self.takes) = (must, takes);
        self
    }

    /// The same, of which something has to be said.
    pub(crate) const fn demanding(mut self, knobs: &'static [Knob]) -> Kind {
        (self.takes, self.must) = (knobs, knobs);
        self
    }

    /// The same, of another length.
    pub(crate) const fn lasting(mut self, length: Length) -> Kind {
        self.length = length;
        self
    }

    /// The same, by which processes end.
    pub(crate) const fn taking_away(mut self) -> Kind {
        self.takes_away = true;
        self
    }

    /// The same, by which nodes may lose something.
    pub(crate) const fn losing(mut self, what: DataLoss) -> Kind {
        self.loses = what;
        self
    }

    /// The same, that may take longer to be seen whole again.
    pub(crate) const fn whole_within(mut self, limit: Duration) -> Kind {
        self.healed_within = limit;
        self
    }

    /// Whether it breaks a host's volume in the one way at a time that there is: all but slowing it
    /// down.
    pub fn takes_volume(&self) -> bool {
        let needs = |ability| self.needs.contains(&ability);
        let ways = [
            Ability::VolumeOff,
            Ability::VolumeReadOnly,
            Ability::VolumeStalled,
            Ability::VolumeCorrupt,
            Ability::VolumeErrors,
        ];
        ways.into_iter().any(needs) || (needs(Ability::Volume) && !needs(Ability::DiskLimit))
    }

    /// For how long it is meant to hold at the most where nothing is stated, ns.
    pub fn at_most_ns(&self) -> u64 {
        MOMENT.as_nanos() as u64
    }

    /// Whether it changes who is in the ring, or leaves a node nothing but what others have: there
    /// has to be another one.
    pub fn needs_others(&self) -> bool {
        matches!(self.loses, DataLoss::Copy | DataLoss::HandedOver)
    }

    /// Those of what was said that say something of it.
    #[must_use]
    pub fn options(&self, said: &Options) -> Options {
        let takes = |knob| self.takes(knob);
        Options {
            cpus: said.cpus.filter(|_| takes(Knob::Cpus)),
            disk: Some(said.disk).filter(|_| takes(Knob::Disk)).unwrap_or_default(),
            leave_bytes: said.leave_bytes.filter(|_| takes(Knob::Leave)),
            loss: said.loss.filter(|_| takes(Knob::Loss)),
            rate_bits_per_s: said.rate_bits_per_s.filter(|_| takes(Knob::Rate)),
            delay: said.delay.filter(|_| takes(Knob::Delay)),
            by: said.by.filter(|_| takes(Knob::By)),
            ha_after: said.ha_after.filter(|_| takes(Knob::Ha)),
            ha_on: said.ha_on.filter(|_| takes(Knob::Ha)),
            yaml: if takes(Knob::Yaml) {
                said.yaml.clone()
            } else {
                Map::new()
            },
            to: said.to.clone().filter(|_| takes(Knob::To)),
            drain: said.drain.filter(|_| takes(Knob::Drain)),
            upgrade_sstables: said.upgrade_sstables && takes(Knob::UpgradeSstables),
            nodes: if takes(Knob::Nodes) {
                said.nodes.clone()
            } else {
                Vec::new()
            },
            back: if takes(Knob::Back) {
                said.back
            } else {
                Back::Never
            },
        }
    }

    /// The kind as what was said of it makes it: an upgrade that is taken back holds until then.
    #[must_use]
    pub fn with(self, said: &Options) -> Kind {
        match said.back {
            Back::Snapshot if self.takes(Knob::Back) => Kind {
                what: Cow::Borrowed(
                    "every node, one after the other, ends and is started as another release, and \
                     then, the last one first, as what it was, with the files of before",
                ),
                length: Length::Staged,
                ..self
            },
            Back::Snapshot | Back::Never => self,
        }
    }

    /// What the command line has to name before it is done to a node that is not ours; none if it
    /// is done to nodes of ours alone.
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

    /// Whether it ends the pod of a node, and all that runs in it, agents of ours too.
    pub fn ends_pods(&self) -> bool {
        self.needs.contains(&Ability::PodControl)
    }

    /// Whether `knob` says something of it.
    pub fn takes(&self, knob: Knob) -> bool {
        self.takes.contains(&knob)
    }
}

impl From<&Commands> for Kind {
    /// The kind of faults that they are.
    fn from(commands: &Commands) -> Kind {
        Kind {
            name: Cow::Owned(commands.name.clone()),
            means: Means::Programs(commands.clone()),
            what: Cow::Owned(format!("{} is run", commands.inject)),
            // Of a cluster that is not ours nothing is needed but them.
            needs: &[],
            place: Place::Node,
            takes: &[],
            must: &[],
            length: Length::Stated,
            takes_away: commands.loses != DataLoss::Nothing,
            loses: commands.loses,
            healed_within: commands.within,
        }
    }
}
