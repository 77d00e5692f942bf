//! Faults as described in a study, and the resulting faults of a trial.

use super::Draft;
use super::draft::TargetKind;
use target_spec::fault::{Commands, FaultOption, FaultPlace, Hit, Length, Options, Sides};
use target_spec::{HostIndex, NODES_COUNT_MAX, NodeIndex};
use workload::random::{Draws, lane};

/// Maximum number of faults in a trial. The number is limited, since each fault is recorded,
/// observed and drawn.
pub(crate) const FAULTS_MAX: usize = 1_000;

/// Number of the random stream that chooses faults from a seed.
const LANE: u64 = 12;

/// A fault of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyFault {
    /// Kind of the fault.
    pub kind: target_spec::fault::FaultKind,
    /// Target of the fault.
    pub hit: PlannedHit,
    /// Other options of the fault.
    pub options: Options,
    /// Time from the start of the measured window to the fault, in ns.
    pub at_ns: u64,
    /// Maximum length of the fault, in ns.
    pub for_ns: u64,
    /// Index of the fault's item in the study. Faults of one item follow one another.
    pub item: usize,
}

/// Planned target of a fault. The engine determines the actual nodes and hosts when the cluster
/// runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlannedHit {
    /// A target that the plan knows. Nodes have the numbers that the study uses.
    Known(Hit),
    /// The host of a node. This host is known only after connecting.
    HostOf(NodeIndex),
    /// The first replica of the hottest partition.
    HottestReplica,
    /// The host of the first replica of the hottest partition.
    HostOfHottestReplica,
}

/// Values of an item of `faults`.
#[derive(Clone, Debug, Default)]
pub(crate) struct FaultDraft {
    /// Kinds of faults, of which one is chosen at random.
    pub kinds: Vec<target_spec::fault::FaultKind>,
    pub on: FaultWhere,
    /// The hosts from which others are cut off. If empty, all other hosts.
    pub from: Vec<HostIndex>,
    pub options: Options,
    pub at_ns: u64,
    /// Length of the fault, in ns. `None` means until the end of the window.
    pub for_ns: Option<u64>,
    /// Period of a repeating item, in ns.
    pub every_ns: Option<u64>,
    pub seed: Option<u64>,
}

/// Target of an item of `faults`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum FaultWhere {
    /// A node. If the kind affects hosts, the host of this node.
    Node(NodeIndex),
    /// A host. If the kind affects nodes, the first node of this host.
    Host(HostIndex),
    /// Hosts that are cut off from others. For other kinds, one of these hosts at random.
    Hosts(Vec<HostIndex>),
    /// A random node or host, depending on the kind.
    #[default]
    Any,
    /// The seed node or its host. Other nodes get the ring from the seed node, and the client gets
    /// its map of the cluster from it.
    Seed,
    /// Any node or host except the seed.
    NotContactPoint,
    /// The first replica of the hottest partition.
    HottestReplica,
}

/// The nodes and hosts of a target. Nodes are assigned to hosts in turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FaultTargets {
    /// Number of nodes. For an attached cluster, this is the number of contact points.
    pub nodes: usize,
    /// Number of hosts. `None` if nodes share the machine.
    pub hosts: Option<usize>,
    /// Size of each host's volume, in bytes. `None` if hosts have no separate volumes.
    pub volume_bytes: Option<u64>,
    /// True if hosts are separate machines.
    pub are_machines: bool,
    /// True for an attached cluster, whose nodes on each host are known only after connecting.
    pub are_others: bool,
}

impl FaultTargets {
    /// Returns the host of a node. `None` if nodes share the machine, or if the host is not known
    /// yet.
    pub fn host_of(self, node: NodeIndex) -> Option<HostIndex> {
        let hosts = self.hosts.filter(|_| !self.are_others)?;
        Some(HostIndex(node.0 % hosts))
    }

    /// Returns the indexes of all hosts.
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
                        // A fault without a length ends before the item's next fault starts.
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

    /// Returns the node for a kind that affects a node. `None` if the cluster has no such node.
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

    /// Returns the host for a kind that affects a host. `None` if the cluster has no such host.
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
    /// Returns the node that the plan names, directly or by its host. `None` without such a node.
    fn node(&self) -> Option<NodeIndex> {
        match self {
            PlannedHit::Known(Hit::Node(node)) | PlannedHit::HostOf(node) => Some(*node),
            PlannedHit::Known(_)
            | PlannedHit::HottestReplica
            | PlannedHit::HostOfHottestReplica => None,
        }
    }

    /// Returns true if any node may be affected. A task on the cluster waits for all nodes, even if
    /// it changes only one of them.
    fn may_be_any(&self) -> bool {
        matches!(
            self,
            PlannedHit::Known(Hit::Nodes(_) | Hit::Cluster)
                | PlannedHit::HottestReplica
                | PlannedHit::HostOfHottestReplica
        )
    }
}

/// Returns a random one of several values. `None` if the list is empty.
fn pick<T: Clone>(all: &[T], draws: &mut Draws) -> Option<T> {
    all.get(below(all.len(), draws)?).cloned()
}

fn below(count: usize, draws: &mut Draws) -> Option<usize> {
    match count {
        0 => None,
        // A single choice uses no random number.
        1 => Some(0),
        _ => Some(draws.below(count as u64) as usize),
    }
}

/// Returns a random position from 1 to `count` − 1. `None` if `count` is less than 2.
fn after_first(count: usize, draws: &mut Draws) -> Option<usize> {
    Some(below(count.checked_sub(1)?, draws)? + 1)
}

impl StudyFault {
    /// Describes the fault: `node-slow of node2, cpus 0.1`.
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

    /// Describes the target: `node2`, `all nodes`.
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

    /// Returns true if two faults may have the same target.
    pub(crate) fn touches(&self, other: &StudyFault, ground: FaultTargets) -> bool {
        let (ours, theirs) = (self.hosts(ground), other.hosts(ground));
        let (our_node, their_node) = (self.hit.node(), other.hit.node());
        // cassay does not know yet whether the node is on that host.
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
            // The fault may affect any host, or affects all of them.
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
    /// Returns the item that is being filled.
    pub(crate) fn fault(&mut self) -> &mut FaultDraft {
        if self.faults.is_empty() {
            self.faults.push(FaultDraft::default());
        }
        let last = self.faults.len() - 1;
        &mut self.faults[last]
    }

    /// Returns the programs of the fault that is being filled, for an attached cluster.
    pub(crate) fn command(&mut self) -> &mut Commands {
        if self.commands.is_empty() {
            self.commands.push(Commands::default());
        }
        let last = self.commands.len() - 1;
        &mut self.commands[last]
    }

    /// Returns the kind with a name. It is a kind that an attached target defines, or a built-in
    /// kind.
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

    /// Returns true if a built-in kind is possible on the attached cluster's nodes.
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

    /// Returns the names of the kinds that an attached cluster defines.
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
        // The list contains one more fault than allowed, so that the rules can report an excessive
        // number.
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
            // For a cluster in Kubernetes, the number of nodes is known only after connecting.
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
