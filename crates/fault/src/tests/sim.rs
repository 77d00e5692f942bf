//! Simulation of three hosts with one node each, on a simulated clock.

mod agents;
mod client;
mod files;
mod mbeans;
mod pods;
mod ring;
mod starter;

use agents::CQL;
pub(super) use ring::LEAVING_NS;

use super::*;
use anyhow::bail;
use cassandra::MemberStatus;
use host::process::Identity;
use host::{Attempt, Bytes, HostLoss, PortEnd, Reach, VolumeUse};
use long_operations::Works;
use std::sync::LazyLock;
use target_spec::fault::{FaultKind, FaultPlace, Hit, KINDS, Options, Sides};

/// Process of every simulated node: the test process.
static OWN: LazyLock<Identity> = LazyLock::new(Identity::own);

/// Three simulated hosts with one node each, one of them the target. Fields select the errors to
/// simulate.
#[derive(Default)]
pub(super) struct Sim {
    pub now_ns: u64,
    /// Time at which the order to heal arrives.
    pub ordered_ns: u64,
    pub broken: Vec<Injection>,
    pub injected: Vec<Duration>,
    /// Renewals of the agents' deadline, each with its time and the new duration.
    pub renewed: Vec<(u64, Duration)>,
    /// True if the fault affects another node than the observed one.
    pub breaks_another: bool,
    /// True if no observation is possible.
    pub nobody_looks: bool,
    /// Time until which no observation is possible, because the host is being healed.
    pub unseen_until_ns: u64,
    /// Time until which the disk is slow because of an earlier fault.
    pub slow_until_ns: u64,
    /// Time until which the volume has another fault.
    pub taken_until_ns: u64,
    /// True if the study's observing program fails.
    pub is_blind: bool,
    /// True if the node never answers.
    pub silent: bool,
    /// Time until which the node does not answer, because it recovers from an earlier fault.
    pub recovers_ns: u64,
    /// True if the hosts are remote machines without a switch.
    pub are_machines: bool,
    /// Packet losses on machines, each with the host that drops the packets.
    pub own_losses: Vec<(HostIndex, HostLoss)>,
    /// True if healing has no effect.
    pub stays_broken: bool,
    /// True if the node stops permanently by itself, and must be restarted.
    pub stops_itself: bool,
    pub has_stopped: bool,
    /// True if the agent has already healed the fault.
    pub healed_before: bool,
    pub restarts_count: usize,
    pub healed_ns: u64,
    /// True if some data remains that the fault should remove.
    pub keeps_data: bool,
    /// True if the other nodes never remove the node from their ring.
    pub stays_member: bool,
    /// True if the other nodes consider the node down although it is up again.
    pub stays_down: bool,
    /// True if the other nodes consider the node down until another restart.
    pub is_shunned: bool,
    /// Time until which the restarted node streams data.
    pub streams_until_ns: u64,
    /// Running operations, each with its node and the time of its end in ns.
    pub at_work: Vec<(NodeIndex, Operation, u64)>,
    /// Time of the deletion of the node's pod.
    pub pod_gone_ns: Option<u64>,
    /// Time at which the operator began to replace the pods one after the other.
    pub rolled_ns: Option<u64>,
    pub is_isolated: bool,
    pub works: Works,
    /// Start time of the added node. `None` if no node was added.
    pub added_ns: Option<u64>,
    /// Time that the added node takes to join.
    pub joins_within_ns: u64,
}

pub(super) const ADDED: NodeIndex = NodeIndex(3);

pub(super) const HIT: NodeIndex = NodeIndex(0);

pub(super) const HIT_HOST: HostIndex = HostIndex(0);

/// Each host has one node with the same index.
fn host_of(node: NodeIndex) -> HostIndex {
    HostIndex(node.0)
}

impl Sim {
    fn is(&self, what: impl Fn(&Injection) -> bool) -> bool {
        self.broken.iter().any(what)
    }

    pub fn is_gone(&self) -> bool {
        use Injection::{Kill, PowerOff, Stop, Wipe};
        let ends = |what: &_| matches!(what, Kill(_) | Stop(_) | PowerOff { .. } | Wipe { .. });
        (self.is(ends) && !self.is_elsewhere()) || self.is_podless()
    }

    fn is_unlooked(&self) -> bool {
        self.nobody_looks && !self.injected.is_empty() && self.now_ns < self.ordered_ns
    }

    pub fn is_healed(&self) -> bool {
        self.broken.is_empty() && !self.injected.is_empty()
    }

    fn is_stopped(&self) -> bool {
        self.is(|what| match what {
            Injection::Pause(_) => true,
            Injection::Stutter { stopped, every, .. } => {
                u128::from(self.now_ns) % every.as_nanos() < stopped.as_nanos()
            }
            _ => false,
        })
    }

    fn is_elsewhere(&self) -> bool {
        self.is(|what| matches!(what, Injection::Adopt { .. }))
    }

    fn is_mute(&self) -> bool {
        let mutes =
            |what: &Injection| matches!(what, Injection::Pause(_) | Injection::Descriptors(_));
        let recovers = self.now_ns < self.recovers_ns;
        self.silent || recovers || self.has_stopped || self.is(mutes)
    }

    /// Returns true if packets from one host to another are lost. `None` is the machine that runs
    /// the clients.
    fn is_cut(&self, from: Option<HostIndex>, to: Option<HostIndex>) -> bool {
        let link = |at: Option<HostIndex>| {
            at.map_or(host::Link::Machine, |at| host::Link::Host(at.number()))
        };
        let (from, to) = (link(from), link(to));
        let hit = host::Link::Host(HIT_HOST.number());
        self.is(|what| match what {
            Injection::LinkDown(_) => !self.is_elsewhere() && (from == hit || to == hit),
            Injection::Packets(losses) => losses.iter().any(|loss| {
                // A loss with ports affects only packets of clients.
                let is_ours = loss.tcp_ports.is_empty() || from == host::Link::Machine;
                loss.share == 1.0 && is_ours && loss.from.contains(&from) && loss.to.contains(&to)
            }),
            _ => false,
        })
    }

    /// Returns true if a machine drops packets to `port` of the host `to`, or the responses. `from`
    /// is the sending host, or `None` for the client.
    fn is_lost(&self, from: Option<HostIndex>, to: HostIndex, port: u16) -> bool {
        let hosts = self.hosts();
        self.own_losses.iter().any(|(at, loss)| {
            let (other, end) = if *at == to {
                (from, PortEnd::Ours)
            } else {
                (Some(to), PortEnd::Theirs)
            };
            let passes = *at == to || from == Some(*at);
            let is_peer =
                other.is_some_and(|other| loss.peers.contains(&hosts[other].addresses[0]));
            loss.share == 1.0
                && passes
                && (loss.peers.is_empty() || is_peer)
                && [end, PortEnd::Either].contains(&loss.end)
                && loss.tcp_ports.contains(&port)
        })
    }

    fn disk(&self) -> (Attempt, Attempt) {
        let took = Attempt::Took(Duration::from_millis(2));
        let broken = self.broken.iter().find_map(|what| match what {
            Injection::DiskStalled => Some((Attempt::Silent, took)),
            Injection::DiskRemoved { .. } => Some((Attempt::Refused(5), Attempt::Refused(5))),
            Injection::DiskReadOnly { .. } => Some((Attempt::Refused(30), took)),
            Injection::Disk(_) => Some((Attempt::Took(Duration::from_millis(300)), took)),
            _ => None,
        });
        let was_slow = self.now_ns < self.slow_until_ns;
        let usual_ms = if was_slow { 300 } else { 2 };
        broken.unwrap_or((Attempt::Took(Duration::from_millis(usual_ms)), took))
    }

    fn program_result(&self) -> host::ProgramResult {
        let is_broken = self.is(|what| matches!(what, Injection::Command { .. }));
        host::ProgramResult {
            code: Some(match (self.is_blind, is_broken) {
                (true, _) => 3,
                (false, true) => 0,
                (false, false) => 1,
            }),
            said: String::new(),
        }
    }

    fn answer(&mut self, what: Query) -> QueryAnswer {
        match what {
            Query::Process(_) => {
                let letter = if self.is_stopped() { 'T' } else { 'S' };
                QueryAnswer::Process((!self.is_gone()).then_some(letter))
            }
            Query::Descriptors(_) => {
                let is_out = self.is(|what| matches!(what, Injection::Descriptors(_)));
                let free = if is_out { 1 } else { 4000 };
                QueryAnswer::Descriptors { free, open: 96 }
            }
            Query::Cpu(ms) => {
                self.now_ns += ms * 1_000_000;
                let quota = self.broken.iter().find_map(|what| match what {
                    Injection::CpuQuota(cores) => Some(*cores),
                    _ => None,
                });
                QueryAnswer::Cpu(quota.unwrap_or(1.5))
            }
            Query::TryDisk { .. } => {
                let (write, read) = self.disk();
                QueryAnswer::Disk { write, read }
            }
            Query::VolumeTaken => QueryAnswer::VolumeTaken(self.now_ns < self.taken_until_ns),
            Query::Space { .. } => {
                let left = self.broken.iter().find_map(|what| match what {
                    Injection::DiskFull { leave_bytes } => Some(*leave_bytes),
                    _ => None,
                });
                QueryAnswer::Space(VolumeUse {
                    total_bytes: 4 << 30,
                    used_bytes: 1 << 30,
                    available_bytes: left.unwrap_or(3 << 30),
                })
            }
            Query::Bytes { .. } => {
                let is_rotten = self.is(|what| matches!(what, Injection::DiskCorrupt { .. }));
                let fails = self.is(|what| matches!(what, Injection::DiskErrors { .. }));
                let bytes = || Bytes(vec![u8::from(is_rotten); 8]);
                QueryAnswer::Bytes {
                    cached: Ok(bytes()),
                    on_disk: if fails { Err(5) } else { Ok(bytes()) },
                }
            }
            Query::Tries { tries, .. } => {
                let share = self.broken.iter().find_map(|what| match what {
                    Injection::Packets(losses) => losses.first().map(|loss| loss.share),
                    Injection::HostPackets(losses) => losses.first().map(|loss| loss.share),
                    _ => None,
                });
                let open = (1.0 - share.unwrap_or(0.0)).powi(2) * f64::from(tries);
                QueryAnswer::Open(open as u32)
            }
            Query::Transfer { bytes, .. } => {
                let slow = |what: &Injection| matches!(what, Injection::LinkTo { .. });
                let rate = if self.is(slow) { 1e6 } else { 1e9 };
                QueryAnswer::Transfer(Some(Duration::from_secs_f64(bytes as f64 * 8.0 / rate)))
            }
            Query::Link => QueryAnswer::Link {
                is_up: true,
                has_carrier: !self.is(|what| matches!(what, Injection::LinkDown(_))),
                received_packets: 0,
                sent_packets: 0,
            },
            Query::Command { .. } => QueryAnswer::Command(self.program_result()),
            other => panic!("nobody looks at {other:?}"),
        }
    }
}

impl Timer for Sim {
    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn wait(&mut self, for_: Duration) -> bool {
        let left = self.ordered_ns.saturating_sub(self.now_ns);
        let waited = match left {
            0 => for_.as_nanos() as u64,
            left => left.min(for_.as_nanos() as u64),
        };
        self.now_ns += waited;
        self.now_ns >= self.ordered_ns
    }
}

pub(super) fn hit(kind: &FaultKind) -> Hit {
    match kind.place {
        FaultPlace::Node => Hit::Node(HIT),
        FaultPlace::Host => Hit::Host(HIT_HOST),
        FaultPlace::Split => Hit::Split(Sides {
            of: vec![HIT_HOST],
            from: vec![HostIndex(1), HostIndex(2)],
        }),
        FaultPlace::Cluster => Hit::Cluster,
    }
}

/// Runs a fault that lasts ten seconds. Returns the verdict, the steps and the simulation.
pub(super) fn course(kind: &FaultKind, mut sim: Sim) -> (FaultVerdict, Vec<LifeCycleStep>, Sim) {
    sim.ordered_ns = 10 * S;
    let mut told = Vec::new();
    let tell = &mut |step: &LifeCycleStep| told.push(step.clone());
    let (hit, options) = (&hit(kind), &Options::tried());
    let outcome = run(kind, hit, options, &mut sim, Duration::from_secs(10), tell);
    assert_eq!(told, outcome.steps, "each is told as it comes");
    (outcome.verdict(), outcome.steps, sim)
}

/// Returns the kinds of faults with an immediate injection.
pub(super) fn at_once() -> impl Iterator<Item = &'static FaultKind> {
    KINDS.iter().filter(|kind| !kind.length.works())
}

pub(super) fn words(steps: &[LifeCycleStep]) -> Vec<&str> {
    steps.iter().map(|step| step.what.name()).collect()
}
