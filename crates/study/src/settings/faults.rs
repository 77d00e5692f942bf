//! What is broken on purpose: what was said of it, and what that comes to.

use super::Draft;
use super::draft::Kind;
use target::NODES_COUNT_MAX;
use target::fault::{Commands, Hit, Knob, Length, Options, Place};
use workload::random::{Draws, lane};

/// The most faults of one trial: each is written down, looked at and drawn.
pub(crate) const FAULTS_MAX: usize = 1_000;

/// Which stream of random numbers of a seed chooses faults.
const LANE: u64 = 12;

/// Something that is broken on purpose.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What is done.
    pub kind: target::fault::Kind,
    /// What. None: the first replica of the partition that is asked for most, or its host where the
    /// kind breaks hosts: which that is, the cluster says when it runs.
    pub hit: Option<Hit>,
    /// What else was said of it.
    pub options: Options,
    /// When, after the begin of the measured window, ns.
    pub at_ns: u64,
    /// For how long at most, ns.
    pub for_ns: u64,
    /// The number of the item that says so: what one item says comes one after the other.
    pub item: usize,
}

/// What an item of `faults` says.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaultDraft {
    /// One of these, at random.
    pub kinds: Vec<target::fault::Kind>,
    pub on: FaultWhere,
    /// The hosts from which others are cut; none: all others.
    pub from: Vec<usize>,
    pub options: Options,
    pub at_ns: u64,
    /// None: until the window ends.
    pub for_ns: Option<u64>,
    /// Again and again.
    pub every_ns: Option<u64>,
    pub seed: Option<u64>,
}

/// What an item says is broken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum FaultWhere {
    /// By number; hosts that are cut from others are named without those.
    Named(Hit),
    /// A node or a host, whatever the kind breaks, at random.
    #[default]
    Any,
    /// The first node or its host, which the others ask for the ring and the client for its map.
    Seed,
    /// Any but that.
    NotContactPoint,
    /// The first replica of the partition that is asked for most.
    HottestReplica,
}

/// The nodes of a target, dealt to its hosts in turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FaultTargets {
    /// Those that are not ours are counted by their contact points.
    pub nodes: usize,
    /// None where nodes share the machine.
    pub hosts: Option<usize>,
    /// The size of the volume of each host; none: they have none of their own.
    pub volume_bytes: Option<u64>,
    /// Whether hosts are machines of their own.
    pub are_machines: bool,
    /// Whether they are somebody else's: which node is where is known only when they are reached.
    pub are_others: bool,
}

impl FaultTargets {
    /// The host of a node; none where nodes share the machine, or nobody knows yet.
    pub fn host_of(self, node: usize) -> Option<usize> {
        let hosts = self.hosts.filter(|_| !self.are_others)?;
        Some(node % hosts)
    }

    /// How many there are of what a kind breaks.
    fn count(self, place: Place) -> usize {
        match place {
            Place::Node => self.nodes,
            Place::Host | Place::Split => self.hosts.unwrap_or(0),
            Place::Cluster => 1,
        }
    }
}

impl FaultDraft {
    /// One more host that it hits.
    pub fn host(&mut self, index: usize) {
        match &mut self.on {
            FaultWhere::Named(Hit::Split(all, _)) => all.push(index),
            on => *on = FaultWhere::Named(Hit::Split(vec![index], Vec::new())),
        }
    }

    /// The faults that it comes to in a window of so long, on such a target; `seed` is the study's,
    /// and `number` the item's.
    pub fn faults(
        &self,
        number: usize,
        window_ns: u64,
        ground: FaultTargets,
        seed: u64,
    ) -> Vec<Fault> {
        let seed = self.seed.unwrap_or(seed);
        let mut draws = Draws::new(lane(seed, LANE), number as u64);
        let every_ns = self.every_ns.filter(|every| *every > 0);
        let times = std::iter::successors(Some(self.at_ns), |at| {
            let next = at.checked_add(every_ns?)?;
            (next.saturating_add(self.for_ns.unwrap_or(0)) <= window_ns).then_some(next)
        });
        let fault = |at_ns: u64| {
            let kind = pick(&self.kinds, &mut draws)?.with(&self.options);
            let stated = self.for_ns.unwrap_or(window_ns.saturating_sub(at_ns));
            Some(Fault {
                hit: match self.on {
                    FaultWhere::HottestReplica if kind.place != Place::Cluster => None,
                    _ => Some(self.hit(kind.place, ground, &mut draws)?),
                },
                options: kind.options(&self.options),
                at_ns,
                item: number,
                for_ns: match kind.length {
                    Length::Stated | Length::Task | Length::Staged => stated,
                    Length::Moment => {
                        let left_ns = window_ns.saturating_sub(at_ns);
                        // Over before the next one of its own.
                        let most_ns = every_ns.unwrap_or(u64::MAX).min(kind.at_most_ns());
                        left_ns.min(most_ns)
                    }
                },
                kind,
            })
        };
        times.take(FAULTS_MAX + 1).filter_map(fault).collect()
    }

    /// What it hits this time; none of a target that has nothing of the sort.
    fn hit(&self, place: Place, ground: FaultTargets, draws: &mut Draws) -> Option<Hit> {
        let count = ground.count(place);
        let index = match &self.on {
            _ if place == Place::Cluster => return Some(Hit::cluster(&self.options.nodes)),
            FaultWhere::Named(Hit::Split(hosts, _)) if place == Place::Split => {
                return Some(self.split(hosts.clone(), ground));
            }
            FaultWhere::Named(Hit::Split(hosts, _)) => pick(hosts, draws)?,
            // Its host is known when it is reached.
            FaultWhere::Named(Hit::Node(node)) if place == Place::Host && ground.are_others => {
                return Some(Hit::Node(*node));
            }
            FaultWhere::Named(Hit::Node(node)) if place != Place::Node => ground.host_of(*node)?,
            // Of a host, the first of its nodes.
            FaultWhere::Named(Hit::Node(index) | Hit::Host(index)) => *index,
            FaultWhere::Any => below(count, draws)?,
            FaultWhere::NotContactPoint => below(count.checked_sub(1)?, draws)? + 1,
            FaultWhere::Seed
            | FaultWhere::HottestReplica
            | FaultWhere::Named(Hit::Nodes(_) | Hit::Cluster) => 0,
        };
        Some(match place {
            Place::Node => Hit::Node(index),
            Place::Host => Hit::Host(index),
            Place::Split => self.split(vec![index], ground),
            Place::Cluster => Hit::cluster(&self.options.nodes),
        })
    }

    fn split(&self, of: Vec<usize>, ground: FaultTargets) -> Hit {
        let all = 0..ground.hosts.unwrap_or(0);
        let from = if self.from.is_empty() {
            all.filter(|host| !of.contains(host)).collect()
        } else {
            self.from.clone()
        };
        Hit::Split(of, from)
    }
}

/// One of several, at random; none of none.
fn pick<T: Clone>(all: &[T], draws: &mut Draws) -> Option<T> {
    all.get(below(all.len(), draws)?).cloned()
}

fn below(count: usize, draws: &mut Draws) -> Option<usize> {
    match count {
        0 => None,
        // No number is drawn where there is nothing to choose.
        1 => Some(0),
        _ => Some(draws.below(count as u64) as usize),
    }
}

impl Fault {
    /// It in words: `node-slow of node2, cpus 0.1`.
    pub fn words(&self) -> String {
        // Which nodes it is done to is said by their place.
        let knobs = Knob::ALL.iter().filter(|knob| **knob != Knob::Nodes);
        let said = knobs
            .filter_map(|knob| Some(format!(", {} {}", knob.name(), knob.said(&self.options)?)));
        format!(
            "{} of {}{}",
            self.kind.name,
            self.place(),
            said.collect::<String>()
        )
    }

    /// What is hit, in words: `node2`, `all nodes`.
    pub fn place(&self) -> String {
        match (&self.hit, self.kind.place) {
            (Some(Hit::Node(_)), Place::Host) => {
                let node = self.hit.as_ref().map(Hit::to_string).unwrap_or_default();
                format!("the host of {node}")
            }
            (Some(hit), _) => hit.to_string(),
            (None, Place::Node) => "a replica of the hottest partition".to_owned(),
            (None, _) => "the host of a replica of the hottest partition".to_owned(),
        }
    }

    /// Whether two may break one thing.
    pub(crate) fn touches(&self, other: &Fault, ground: FaultTargets) -> bool {
        // What goes through the cluster waits for all nodes, also where it changes but one of them.
        let may_be_any =
            |fault: &Fault| matches!(fault.hit, None | Some(Hit::Nodes(_) | Hit::Cluster));
        let (ours, theirs) = (self.hosts(ground), other.hosts(ground));
        let is_node = |fault: &Fault| matches!(fault.hit, Some(Hit::Node(_)));
        // Nobody knows yet whether it is a node of that host.
        let may_be_there = ground.are_others && is_node(self) != is_node(other);
        self.hit == other.hit
            || may_be_there
            || may_be_any(self)
            || may_be_any(other)
            || ours.iter().any(|host| theirs.contains(host))
    }

    /// The hosts that it touches; nodes by theirs.
    pub(crate) fn hosts(&self, ground: FaultTargets) -> Vec<usize> {
        match &self.hit {
            Some(Hit::Node(node)) => ground.host_of(*node).into_iter().collect(),
            Some(Hit::Nodes(nodes)) => {
                nodes.iter().filter_map(|node| ground.host_of(*node)).collect()
            }
            Some(Hit::Host(host)) => vec![*host],
            Some(Hit::Split(of, _)) => of.clone(),
            // It may be any, or is each.
            None | Some(Hit::Cluster) => (0..ground.hosts.unwrap_or(0)).collect(),
        }
    }

    /// When it is to be over, ns.
    pub fn end_ns(&self) -> u64 {
        self.at_ns.saturating_add(self.for_ns)
    }
}

impl Draft {
    /// The one at hand.
    pub(crate) fn fault(&mut self) -> &mut FaultDraft {
        if self.faults.is_empty() {
            self.faults.push(FaultDraft::default());
        }
        let last = self.faults.len() - 1;
        &mut self.faults[last]
    }

    /// The programs at hand, by which something is broken that is not ours.
    pub(crate) fn command(&mut self) -> &mut Commands {
        if self.commands.is_empty() {
            self.commands.push(Commands::default());
        }
        let last = self.commands.len() - 1;
        &mut self.commands[last]
    }

    /// The kind of a name: of those that the target names if it is not ours, or else of ours.
    pub(crate) fn kind_of(&self, name: &str) -> Option<target::fault::Kind> {
        match self.kind {
            Kind::Attach => {
                let own = self.commands_of(name).map(target::fault::Kind::from);
                let on_machines = || target::fault::Kind::of(name).filter(|_| self.reaches(name));
                own.or_else(on_machines)
            }
            Kind::Local | Kind::Null => target::fault::Kind::of(name),
        }
    }

    /// Whether a kind that is built in can be had of nodes that are not ours.
    fn reaches(&self, name: &str) -> bool {
        let kind = target::fault::Kind::of(name);
        let has_agents =
            !self.attached.each.is_empty() || self.attached_kubernetes.agents.is_some();
        let are_pods = self.attached_kubernetes.owner.is_some();
        kind.is_some_and(|kind| {
            if kind.ends_pods() {
                are_pods
            } else {
                has_agents && kind.acts().is_some()
            }
        })
    }

    /// The names of the kinds that there are on an attached cluster.
    pub(crate) fn attached_kinds(&self) -> Vec<&str> {
        let own = self.commands.iter().map(|one| one.name.as_str());
        let built_in = target::fault::FaultName::ALL.map(target::fault::FaultName::name);
        own.chain(built_in.into_iter().filter(|name| self.reaches(name))).collect()
    }

    fn commands_of(&self, name: &str) -> Option<&Commands> {
        self.commands.iter().find(|one| one.name == name)
    }

    /// What all items come to, by the number of their item.
    pub(crate) fn faults(&self) -> Vec<(usize, Fault)> {
        let ground = self.ground();
        let items = self.faults.iter().enumerate();
        // One more than may be, so that too many are seen to be.
        let all = items.flat_map(|(number, item)| {
            let faults = item.faults(number, self.measure_ns, ground, self.seed);
            faults.into_iter().map(move |fault| (number, fault))
        });
        all.take(FAULTS_MAX + 1).collect()
    }

    /// On what they are.
    pub(crate) fn ground(&self) -> FaultTargets {
        if let Kind::Attach = self.kind {
            let described = &self.attached_kubernetes;
            // How many there are, is known when the cluster is asked.
            let unknown = described.owner.is_some().then_some(NODES_COUNT_MAX);
            let in_sight = unknown.filter(|_| described.agents.is_some());
            return FaultTargets {
                nodes: unknown.unwrap_or(self.attach.contact_points.len()),
                hosts: in_sight.or(Some(self.attached.each.len())).filter(|count| *count > 0),
                volume_bytes: None,
                are_machines: true,
                are_others: true,
            };
        }
        let local = self.local();
        let hosts = local.hosts.as_ref();
        FaultTargets {
            nodes: local.nodes,
            hosts: hosts.map(|hosts| hosts.count),
            volume_bytes: hosts.and_then(|hosts| {
                let claimed = hosts.pods.as_ref().and_then(|pods| pods.volume_bytes);
                hosts.host.volume_bytes.or(claimed)
            }),
            are_machines: !local.machines().is_empty(),
            are_others: false,
        }
    }
}
