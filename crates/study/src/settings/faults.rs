//! Faults as a study describes them, and the faults of a trial that result from them.

use super::Draft;
use super::draft::TargetKind;
use target_spec::fault::{Commands, FaultOption, FaultPlace, Hit, Length, Options, Sides};
use target_spec::{HostIndex, NODES_COUNT_MAX, NodeIndex};
use workload::random::{Draws, lane};

/// Maximum number of faults in a trial. The number is limited because cassay records, observes and
/// draws each fault.
pub(crate) const FAULTS_MAX: usize = 1_000;

/// Number of the random stream from which faults are chosen for a seed.
const LANE: u64 = 12;

/// A fault of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyFault {
    pub kind: target_spec::fault::FaultKind,
    /// Node, host or part of the network that the fault affects.
    pub hit: PlannedHit,
    /// Other options of the fault.
    pub options: Options,
    /// Time from the start of the measured window to the fault, in ns.
    pub at_ns: u64,
    /// Maximum length of the fault, in ns.
    pub for_ns: u64,
    /// Index of the study's item from which the fault results. The faults of one item follow each
    /// other.
    pub item: usize,
}

/// Planned target of a fault. The engine determines the actual nodes and hosts when the cluster
/// runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannedHit {
    /// A target that is known when the study is planned. Nodes have the numbers that the study
    /// uses.
    Known(Hit),
    /// The host of a node. cassay knows this host only after connecting.
    HostOf(NodeIndex),
    /// The first replica of the hottest partition.
    HottestReplica,
    /// The host of the first replica of the hottest partition.
    HostOfHottestReplica,
}

/// Values of an item of `faults`.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaultDraft {
    /// Kinds of faults. If the list contains several kinds, one of them is chosen at random.
    pub kinds: Vec<target_spec::fault::FaultKind>,
    pub on: FaultWhere,
    /// The hosts from which the fault cuts others off. If the list is empty, these are all other
    /// hosts.
    pub from: Vec<HostIndex>,
    pub options: Options,
    pub at_ns: u64,
    /// Length of the fault, in ns. `None` if the fault lasts until the end of the window.
    pub for_ns: Option<u64>,
    /// Period with which the item repeats, in ns. `None` if it does not repeat.
    pub every_ns: Option<u64>,
    pub seed: Option<u64>,
}

/// Target of an item of `faults`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum FaultWhere {
    /// This node. If the kind of fault affects hosts, the host of this node.
    Node(NodeIndex),
    /// This host. If the kind of fault affects nodes, the first node of this host.
    Host(HostIndex),
    /// Hosts that the fault cuts off from others. For other kinds of faults, one of these hosts is
    /// chosen at random.
    Hosts(Vec<HostIndex>),
    /// A random node or host, depending on the kind of fault.
    #[default]
    Any,
    /// The seed node or its host. Other nodes join the ring through the seed node, and the client
    /// gets its map of the cluster from the seed node.
    Seed,
    /// A random node or host other than the seed.
    NotContactPoint,
    /// The first replica of the hottest partition.
    HottestReplica,
}

/// The nodes and hosts that faults may affect. Nodes are assigned to hosts in turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FaultTargets {
    /// Number of nodes. For an attached cluster, this is the number of contact points.
    pub nodes: usize,
    /// Number of hosts. `None` if all nodes share this machine.
    pub hosts: Option<usize>,
    /// Size of each host's volume, in bytes. `None` if hosts have no separate volumes.
    pub volume_bytes: Option<u64>,
    /// True if hosts are separate machines.
    pub are_machines: bool,
    /// True for an attached cluster. The nodes on each of its hosts are known only after
    /// connecting.
    pub are_others: bool,
}

impl FaultTargets {
    /// Returns the host of a node. `None` if all nodes share this machine, or if the host is not
    /// known yet.
    pub fn host_of(self, node: NodeIndex) -> Option<HostIndex> {
        let hosts = self.hosts.filter(|_| !self.are_others)?;
        Some(HostIndex(node.0 % hosts))
    }

    fn all_hosts(self) -> impl Iterator<Item = HostIndex> {
        (0..self.hosts.unwrap_or(0)).map(HostIndex)
    }
}

impl FaultDraft {
    /// Adds a host to the target of the item.
    pub fn host(&mut self, host: HostIndex) {
        match &mut self.on {
            FaultWhere::Hosts(all) => all.push(host),
            on => *on = FaultWhere::Hosts(vec![host]),
        }
    }

    /// Returns the faults of the item in a window of `window_ns` on this kind of target. `seed` is
    /// the seed of the study, and `number` is the index of the item.
    pub fn faults(
        &self,
        number: usize,
        window_ns: u64,
        ground: FaultTargets,
        seed: u64,
    ) -> Vec<StudyFault> {
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
            Some(StudyFault {
                hit: self.hit(kind.place, ground, &mut draws)?,
                options: kind.options(&self.options),
                at_ns,
                item: number,
                for_ns: match kind.length {
                    Length::Stated | Length::Task | Length::Staged => stated,
                    Length::Moment => {
                        let left_ns = window_ns.saturating_sub(at_ns);
                        // A fault of such a kind has no stated length. It ends when the next fault
                        // of the item starts, or earlier.
                        let most_ns = every_ns.unwrap_or(u64::MAX).min(kind.at_most_ns());
                        left_ns.min(most_ns)
                    }
                },
                kind,
            })
        };
        times.take(FAULTS_MAX + 1).filter_map(fault).collect()
    }

    /// Returns the target of one fault. `None` if the cluster has no such target.
    fn hit(
        &self,
        place: FaultPlace,
        ground: FaultTargets,
        draws: &mut Draws,
    ) -> Option<PlannedHit> {
        Some(PlannedHit::Known(match (place, &self.on) {
            (FaultPlace::Cluster, _) => Hit::cluster(&self.options.nodes),
            (FaultPlace::Node, FaultWhere::HottestReplica) => {
                return Some(PlannedHit::HottestReplica);
            }
            (FaultPlace::Host | FaultPlace::Split, FaultWhere::HottestReplica) => {
                return Some(PlannedHit::HostOfHottestReplica);
            }
            (FaultPlace::Host, FaultWhere::Node(node)) if ground.are_others => {
                return Some(PlannedHit::HostOf(*node));
            }
            (FaultPlace::Split, FaultWhere::Hosts(hosts)) => self.split(hosts.clone(), ground),
            (FaultPlace::Node, _) => Hit::Node(self.node(ground, draws)?),
            (FaultPlace::Host, _) => Hit::Host(self.chosen_host(ground, draws)?),
            (FaultPlace::Split, _) => self.split(vec![self.chosen_host(ground, draws)?], ground),
        }))
    }

    /// Returns the node for a kind of fault that affects a node. `None` if the cluster has no such
    /// node.
    fn node(&self, ground: FaultTargets, draws: &mut Draws) -> Option<NodeIndex> {
        // Nodes are assigned to hosts in turn, so the first node of a host has the index of the
        // host.
        let first_of = |host: HostIndex| NodeIndex(host.0);
        Some(match &self.on {
            FaultWhere::Node(node) => *node,
            FaultWhere::Host(host) => first_of(*host),
            FaultWhere::Hosts(hosts) => first_of(pick(hosts, draws)?),
            FaultWhere::Any => NodeIndex(below(ground.nodes, draws)?),
            FaultWhere::NotContactPoint => NodeIndex(after_first(ground.nodes, draws)?),
            FaultWhere::Seed | FaultWhere::HottestReplica => NodeIndex(0),
        })
    }

    /// Returns the host for a kind of fault that affects a host. `None` if the cluster has no such
    /// host.
    fn chosen_host(&self, ground: FaultTargets, draws: &mut Draws) -> Option<HostIndex> {
        let count = ground.hosts.unwrap_or(0);
        Some(match &self.on {
            FaultWhere::Node(node) => ground.host_of(*node)?,
            FaultWhere::Host(host) => *host,
            FaultWhere::Hosts(hosts) => pick(hosts, draws)?,
            FaultWhere::Any => HostIndex(below(count, draws)?),
            FaultWhere::NotContactPoint => HostIndex(after_first(count, draws)?),
            FaultWhere::Seed | FaultWhere::HottestReplica => HostIndex(0),
        })
    }

    fn split(&self, of: Vec<HostIndex>, ground: FaultTargets) -> Hit {
        let from = if self.from.is_empty() {
            ground.all_hosts().filter(|host| !of.contains(host)).collect()
        } else {
            self.from.clone()
        };
        Hit::Split(Sides { of, from })
    }
}

impl PlannedHit {
    /// Returns the node that the plan names as the target, or as a node of the target host. `None`
    /// if the plan names no node.
    fn node(&self) -> Option<NodeIndex> {
        match self {
            PlannedHit::Known(Hit::Node(node)) | PlannedHit::HostOf(node) => Some(*node),
            PlannedHit::Known(_)
            | PlannedHit::HottestReplica
            | PlannedHit::HostOfHottestReplica => None,
        }
    }

    /// Returns true if the fault may affect any node. A task on the cluster waits for all nodes,
    /// even if it changes only one of them.
    fn may_be_any(&self) -> bool {
        matches!(
            self,
            PlannedHit::Known(Hit::Nodes(_) | Hit::Cluster)
                | PlannedHit::HottestReplica
                | PlannedHit::HostOfHottestReplica
        )
    }
}

/// Returns a random element of `all`. `None` if `all` is empty.
fn pick<T: Clone>(all: &[T], draws: &mut Draws) -> Option<T> {
    all.get(below(all.len(), draws)?).cloned()
}

fn below(count: usize, draws: &mut Draws) -> Option<usize> {
    match count {
        0 => None,
        // If only one choice exists, no random number is drawn.
        1 => Some(0),
        _ => Some(draws.below(count as u64) as usize),
    }
}

/// Returns a random position from 1 to `count` − 1. `None` if `count` is less than 2.
fn after_first(count: usize, draws: &mut Draws) -> Option<usize> {
    Some(below(count.checked_sub(1)?, draws)? + 1)
}

impl StudyFault {
    /// Describes the fault, for example as `node-slow of node2, cpus 0.1`.
    pub fn words(&self) -> String {
        // The option for nodes is omitted, because the target already names the nodes.
        let knobs = FaultOption::ALL.iter().filter(|knob| **knob != FaultOption::Nodes);
        let said = knobs.filter_map(|knob| {
            Some(format!(
                ", {} {}",
                knob.name(),
                knob.describe(&self.options)?
            ))
        });
        format!(
            "{} of {}{}",
            self.kind.name,
            self.place(),
            said.collect::<String>()
        )
    }

    /// Describes the target of the fault, for example as `node2` or `all nodes`.
    pub fn place(&self) -> String {
        match &self.hit {
            PlannedHit::Known(hit) => hit.to_string(),
            PlannedHit::HostOf(node) => format!("the host of {}", node.name()),
            PlannedHit::HottestReplica => "a replica of the hottest partition".to_owned(),
            PlannedHit::HostOfHottestReplica => {
                "the host of a replica of the hottest partition".to_owned()
            }
        }
    }

    /// Returns true if the two faults may affect the same node or host.
    pub(crate) fn touches(&self, other: &StudyFault, ground: FaultTargets) -> bool {
        let (ours, theirs) = (self.hosts(ground), other.hosts(ground));
        let (our_node, their_node) = (self.hit.node(), other.hit.node());
        // One fault names a node and the other names a host. For an attached cluster, cassay does
        // not know yet whether the node is on that host.
        let may_be_there = ground.are_others && our_node.is_some() != their_node.is_some();
        self.hit == other.hit
            || (our_node.is_some() && our_node == their_node)
            || may_be_there
            || self.hit.may_be_any()
            || other.hit.may_be_any()
            || ours.iter().any(|host| theirs.contains(host))
    }

    /// Returns the hosts that the fault affects, including the hosts of affected nodes.
    pub(crate) fn hosts(&self, ground: FaultTargets) -> Vec<HostIndex> {
        match &self.hit {
            PlannedHit::Known(Hit::Node(node)) | PlannedHit::HostOf(node) => {
                ground.host_of(*node).into_iter().collect()
            }
            PlannedHit::Known(Hit::Nodes(nodes)) => {
                nodes.iter().filter_map(|node| ground.host_of(*node)).collect()
            }
            PlannedHit::Known(Hit::Host(host)) => vec![*host],
            PlannedHit::Known(Hit::Split(split)) => split.of.clone(),
            // The fault may affect any host, or affects all hosts. So the result contains all
            // hosts.
            PlannedHit::Known(Hit::Cluster)
            | PlannedHit::HottestReplica
            | PlannedHit::HostOfHottestReplica => ground.all_hosts().collect(),
        }
    }

    /// Returns the planned end of the fault, in ns after the start of the window.
    pub fn end_ns(&self) -> u64 {
        self.at_ns.saturating_add(self.for_ns)
    }
}

impl Draft {
    /// Returns the item of `faults` whose keys are currently applied.
    pub(crate) fn fault(&mut self) -> &mut FaultDraft {
        if self.faults.is_empty() {
            self.faults.push(FaultDraft::default());
        }
        let last = self.faults.len() - 1;
        &mut self.faults[last]
    }

    /// Returns the programs of the attached cluster's fault whose keys are currently applied.
    pub(crate) fn command(&mut self) -> &mut Commands {
        if self.commands.is_empty() {
            self.commands.push(Commands::default());
        }
        let last = self.commands.len() - 1;
        &mut self.commands[last]
    }

    /// Returns the kind of fault with a name. On an attached cluster, these are the kinds that the
    /// target defines, and the built-in kinds that are possible on the nodes. `None` if no such
    /// kind has the name.
    pub(crate) fn kind_of(&self, name: &str) -> Option<target_spec::fault::FaultKind> {
        match self.kind {
            TargetKind::Attach => {
                let own = self.commands_of(name).map(target_spec::fault::FaultKind::from);
                let on_machines =
                    || target_spec::fault::FaultKind::find(name).filter(|_| self.reaches(name));
                own.or_else(on_machines)
            }
            TargetKind::Local | TargetKind::Null => target_spec::fault::FaultKind::find(name),
        }
    }

    /// Returns true if a built-in kind of fault is possible on the nodes of the attached cluster.
    fn reaches(&self, name: &str) -> bool {
        let kind = target_spec::fault::FaultKind::find(name);
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

    /// Returns the names of the kinds of faults that an attached cluster defines, and of the
    /// built-in kinds that are possible on the cluster.
    pub(crate) fn attached_kinds(&self) -> Vec<&str> {
        let own = self.commands.iter().map(|one| one.name.as_str());
        let built_in = target_spec::fault::FaultName::ALL.map(target_spec::fault::FaultName::name);
        own.chain(built_in.into_iter().filter(|name| self.reaches(name))).collect()
    }

    fn commands_of(&self, name: &str) -> Option<&Commands> {
        self.commands.iter().find(|one| one.name == name)
    }

    /// Returns the faults of all items. Each fault comes with the index of its item.
    pub(crate) fn faults(&self) -> Vec<(usize, StudyFault)> {
        let ground = self.ground();
        let items = self.faults.iter().enumerate();
        // The list contains one fault more than the maximum, so that the rules can report that the
        // number is too large.
        let all = items.flat_map(|(number, item)| {
            let faults = item.faults(number, self.measure_ns, ground, self.seed);
            faults.into_iter().map(move |fault| (number, fault))
        });
        all.take(FAULTS_MAX + 1).collect()
    }

    /// Returns the nodes and hosts that faults may affect.
    pub(crate) fn ground(&self) -> FaultTargets {
        if let TargetKind::Attach = self.kind {
            let described = &self.attached_kubernetes;
            // cassay knows the number of nodes of a cluster in Kubernetes only after connecting.
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
