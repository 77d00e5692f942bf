//! What kinds of faults there are to choose from, and what a study can say of one.

use crate::commands::Commands;
use crate::kinds::FaultName;
use analysis::recovery::FaultStep;
use cluster::Ability;
use host::DiskSpec;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::time::Duration;

/// One kind of fault.
#[derive(Clone, Debug, PartialEq)]
pub struct Kind {
    /// Its name, as in a study and in records.
    pub name: Cow<'static, str>,
    /// Which of those that are built in it is; none: a study names the programs that it is made of.
    pub built_in: Option<FaultName>,
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

/// How long a fault may take to be seen whole again by which no process ends.
const HEALED_WITHIN: Duration = Duration::from_secs(60);

/// How long a fault may take that is healed as soon as it was seen: a node drains meanwhile.
const MOMENT: Duration = Duration::from_secs(60);

/// What a kind of fault hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A node.
    Node,
    /// A host, with all its nodes.
    Host,
    /// Hosts, against others.
    Split,
    /// All nodes, one after the other.
    Cluster,
}

/// What a node may lose by a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DataLoss {
    /// Nothing.
    #[default]
    Nothing,
    /// What was in the memory of its process.
    Memory,
    /// What was not synced to its disk.
    Unsynced,
    /// Its copy of everything: others have theirs.
    Copy,
    /// Its copy, where there are no more nodes than copies: otherwise others have it before.
    HandedOver,
    /// The order of writes to which it gives their times.
    Order,
}

/// How long a fault holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// As long as the study says.
    Stated,
    /// It is healed as soon as it was seen.
    Moment,
    /// Until what it does is done, and no longer than the study says.
    Task,
    /// As long as the study says, from when it was brought about, which takes a while.
    Staged,
}

impl Length {
    /// Whether a study says how long it is, at the most.
    pub fn is_said(self) -> bool {
        self != Length::Moment
    }

    /// Whether it does something that takes it a while.
    pub fn works(self) -> bool {
        matches!(self, Length::Task | Length::Staged)
    }
}

/// What is hit, counted from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hit {
    /// A node.
    Node(usize),
    /// A host.
    Host(usize),
    /// Hosts, against others.
    Split(Vec<usize>, Vec<usize>),
    /// All nodes.
    Cluster,
}

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
    /// On which, counted from 1; none: the next one.
    pub ha_on: Option<usize>,
    /// How it is done, where the study names it.
    pub commands: Option<Commands>,
    /// [`Knob::Yaml`]; empty: nothing was said.
    pub yaml: Map<String, Value>,
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
            ..Options::default()
        }
    }

    /// Those that say something of a kind.
    #[must_use]
    pub fn of(&self, kind: &Kind) -> Options {
        let takes = |knob| kind.takes(knob);
        Options {
            cpus: self.cpus.filter(|_| takes(Knob::Cpus)),
            disk: Some(self.disk)
                .filter(|_| takes(Knob::Disk))
                .unwrap_or_default(),
            leave_bytes: self.leave_bytes.filter(|_| takes(Knob::Leave)),
            loss: self.loss.filter(|_| takes(Knob::Loss)),
            rate_bits_per_s: self.rate_bits_per_s.filter(|_| takes(Knob::Rate)),
            delay: self.delay.filter(|_| takes(Knob::Delay)),
            by: self.by.filter(|_| takes(Knob::By)),
            ha_after: self.ha_after.filter(|_| takes(Knob::Ha)),
            ha_on: self.ha_on.filter(|_| takes(Knob::Ha)),
            commands: self.commands.clone(),
            yaml: if takes(Knob::Yaml) {
                self.yaml.clone()
            } else {
                Map::new()
            },
        }
    }
}

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
            built_in: Some(name),
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
    pub(crate) fn takes_volume(&self) -> bool {
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

    /// The step of its course from which its time counts.
    pub fn holds_from(&self) -> FaultStep {
        match self.length {
            Length::Staged => FaultStep::Done,
            Length::Stated | Length::Moment | Length::Task => FaultStep::Injecting,
        }
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

    /// Whether `knob` says something of it.
    pub fn takes(&self, knob: Knob) -> bool {
        self.takes.contains(&knob)
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
                let said = each.filter_map(|(name, value)| Some(format!("{name} {}", value?)));
                let said: Vec<String> = said.collect();
                (!said.is_empty()).then(|| said.join(" "))
            }
            Knob::Leave => options.leave_bytes.map(|bytes| format!("{bytes} bytes")),
            Knob::Loss => options.loss.map(|share| format!("{} %", share * 100.0)),
            Knob::Rate => options.rate_bits_per_s.map(|rate| format!("{rate} bit/s")),
            Knob::Delay => options.delay.map(seconds),
            Knob::By => options.by.map(seconds),
            Knob::Ha => options
                .ha_after
                .map(|after| format!("after {}", seconds(after))),
            Knob::Yaml => {
                let said = options.yaml.iter();
                let said = said.map(|(key, value)| match value.as_str() {
                    _ if cluster::hidden::names_secret(key) => format!("{key} (hidden)"),
                    Some(text) => format!("{key} {text}"),
                    None => format!("{key} {value}"),
                });
                let said: Vec<String> = said.collect();
                (!said.is_empty()).then(|| said.join(" "))
            }
        }
    }
}

impl Hit {
    /// The hosts of both sides; of one that has none, nothing.
    pub(crate) fn sides(&self) -> (Vec<usize>, Vec<usize>) {
        match self {
            Hit::Split(of, from) => (of.clone(), from.clone()),
            Hit::Node(_) | Hit::Host(_) | Hit::Cluster => (Vec::new(), Vec::new()),
        }
    }

    /// The node or the host that is hit.
    pub(crate) fn node(&self) -> usize {
        match self {
            Hit::Node(index) | Hit::Host(index) => *index,
            Hit::Split(of, _) => of.first().copied().unwrap_or(0),
            Hit::Cluster => 0,
        }
    }
}
