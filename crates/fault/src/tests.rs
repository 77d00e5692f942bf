//! Courses of faults on a simulated clock: a node that does what it is told to, or something else.
//!
//! Long because what is simulated has to know every kind, and each kind goes through it.

mod named;

use super::*;
use anyhow::bail;
use cluster::{Member, Standing};
use host::process::Identity;
use host::{Attempt, Bytes, Reach, VolumeUse};
use std::sync::LazyLock;

const S: u64 = 1_000_000_000;

/// Stands for the process of every node; asked for once.
static OWN: LazyLock<Identity> = LazyLock::new(Identity::own);

/// Three hosts with a node each, of which one is broken, and what goes wrong with that.
#[derive(Default)]
struct Sim {
    now_ns: u64,
    /// When healing is ordered.
    ordered_ns: u64,
    broken: Vec<Break>,
    injected: Vec<Duration>,
    /// Another thing is broken than the one that is looked at.
    breaks_another: bool,
    /// Nobody may be asked.
    nobody_looks: bool,
    /// What a study names to look with cannot.
    is_blind: bool,
    /// It answers nobody, whatever is done.
    silent: bool,
    /// Until then it answers nobody: it comes back from what was before.
    recovers_ns: u64,
    /// What heals does nothing.
    stays_broken: bool,
    /// Its node stops itself for good, and has to be started again.
    stops_itself: bool,
    has_stopped: bool,
    /// Its agent had healed it.
    healed_before: bool,
    restarts_count: usize,
    /// When it was healed.
    healed_ns: u64,
    /// What lost its data has some left.
    keeps_data: bool,
    /// The others never take it out of their ring.
    stays_member: bool,
    /// The others hold it to be down though it is back.
    stays_down: bool,
    /// It streams until then when it is back.
    streams_until_ns: u64,
    /// Nodes that were told to do something, and until when they are at it.
    at_work: Vec<(usize, Operation, u64)>,
}

/// How long the others take to hold it to be down.
const DETECTED_NS: u64 = 2 * S;

/// How long it takes to leave a ring.
const LEAVING_NS: u64 = S;

/// What is broken of them all.
const HIT: usize = 0;

impl Sim {
    fn is(&self, what: impl Fn(&Break) -> bool) -> bool {
        self.broken.iter().any(what)
    }

    fn is_gone(&self) -> bool {
        let ends = |what: &Break| {
            matches!(
                what,
                Break::Kill(_) | Break::Stop(_) | Break::PowerOff { .. } | Break::Wipe { .. }
            )
        };
        self.is(ends) && !self.is_elsewhere()
    }

    /// What it was told, or another one of it, has been done.
    fn is_out(&self, by: usize) -> bool {
        let mut at_work = self.at_work.iter();
        let is_done = |until: u64| self.now_ns >= until && !self.stays_member;
        at_work.any(|(node, _, until)| *node == by && is_done(*until)) && !self.broken.is_empty()
    }

    /// Where the others hold it to stand.
    fn standing(&self) -> Option<Standing> {
        let leaves = self.at_work.iter().any(|(node, ..)| *node == HIT);
        match () {
            () if self.is_out(HIT) || self.is_out(HIT + 1) => None,
            () if leaves && !self.broken.is_empty() && !self.stays_member => {
                Some(Standing::Leaving)
            }
            () if self.stays_down && self.is_healed() => Some(Standing::Down),
            () if self.is_gone() && self.now_ns >= DETECTED_NS => Some(Standing::Down),
            () => Some(Standing::Normal),
        }
    }

    fn is_healed(&self) -> bool {
        self.broken.is_empty() && !self.injected.is_empty()
    }

    fn is_elsewhere(&self) -> bool {
        self.is(|what| matches!(what, Break::Adopt { .. }))
    }

    fn is_mute(&self) -> bool {
        let mutes = |what: &Break| matches!(what, Break::Pause(_) | Break::Descriptors(_));
        let recovers = self.now_ns < self.recovers_ns;
        self.silent || recovers || self.has_stopped || self.is(mutes)
    }

    /// Whether packets go from one to another; none is the machine.
    fn is_cut(&self, from: Option<usize>, to: Option<usize>) -> bool {
        let link =
            |at: Option<usize>| at.map_or(host::Link::Machine, |at| host::Link::Host(at + 1));
        let (from, to) = (link(from), link(to));
        let hit = host::Link::Host(HIT + 1);
        self.is(|what| match what {
            Break::LinkDown(_) => !self.is_elsewhere() && (from == hit || to == hit),
            Break::Packets(losses) => losses.iter().any(|loss| {
                // Clients have a port of their own.
                let is_ours = loss.tcp_ports.is_empty() || from == host::Link::Machine;
                loss.share == 1.0 && is_ours && loss.from.contains(&from) && loss.to.contains(&to)
            }),
            _ => false,
        })
    }

    fn disk(&self) -> (Attempt, Attempt) {
        let took = Attempt::Took(Duration::from_millis(2));
        let broken = self.broken.iter().find_map(|what| match what {
            Break::DiskStalled => Some((Attempt::Silent, took)),
            Break::DiskRemoved { .. } => Some((Attempt::Refused(5), Attempt::Refused(5))),
            Break::DiskReadOnly { .. } => Some((Attempt::Refused(30), took)),
            Break::Disk(_) => Some((Attempt::Took(Duration::from_millis(300)), took)),
            _ => None,
        });
        broken.unwrap_or((took, took))
    }

    /// What a program says that a study names to look with.
    fn said(&self) -> host::Done {
        let is_broken = self.is(|what| matches!(what, Break::Command { .. }));
        host::Done {
            code: Some(match (self.is_blind, is_broken) {
                (true, _) => 3,
                (false, true) => 0,
                (false, false) => 1,
            }),
            said: String::new(),
        }
    }

    fn seen(&mut self, what: Sight) -> Seen {
        match what {
            Sight::Process(_) => Seen::Process(match self.is_gone() {
                true => None,
                false if self.is(|what| matches!(what, Break::Pause(_))) => Some('T'),
                false => Some('S'),
            }),
            Sight::Descriptors(_) => {
                let is_out = self.is(|what| matches!(what, Break::Descriptors(_)));
                Seen::Descriptors {
                    free: if is_out { 1 } else { 4000 },
                    open: 96,
                }
            }
            Sight::Cpu(ms) => {
                self.now_ns += ms * 1_000_000;
                let quota = self.broken.iter().find_map(|what| match what {
                    Break::CpuQuota(cores) => Some(*cores),
                    _ => None,
                });
                Seen::Cpu(quota.unwrap_or(1.5))
            }
            Sight::TryDisk { .. } => {
                let (write, read) = self.disk();
                Seen::Disk { write, read }
            }
            Sight::Space { .. } => {
                let left = self.broken.iter().find_map(|what| match what {
                    Break::DiskFull { leave_bytes } => Some(*leave_bytes),
                    _ => None,
                });
                Seen::Space(VolumeUse {
                    total_bytes: 4 << 30,
                    used_bytes: 1 << 30,
                    available_bytes: left.unwrap_or(3 << 30),
                })
            }
            Sight::Bytes { .. } => {
                let is_rotten = self.is(|what| matches!(what, Break::DiskCorrupt { .. }));
                let fails = self.is(|what| matches!(what, Break::DiskErrors { .. }));
                let bytes = || Bytes(vec![u8::from(is_rotten); 8]);
                Seen::Bytes {
                    cached: Ok(bytes()),
                    on_disk: if fails { Err(5) } else { Ok(bytes()) },
                }
            }
            Sight::Tries { tries, .. } => {
                let share = self.broken.iter().find_map(|what| match what {
                    Break::Packets(losses) => losses.first().map(|loss| loss.share),
                    _ => None,
                });
                let open = (1.0 - share.unwrap_or(0.0)).powi(2) * f64::from(tries);
                Seen::Open(open as u32)
            }
            Sight::Transfer { bytes, .. } => {
                let slow = |what: &Break| matches!(what, Break::LinkTo { .. });
                let rate = if self.is(slow) { 1e6 } else { 1e9 };
                Seen::Transfer(Some(Duration::from_secs_f64(bytes as f64 * 8.0 / rate)))
            }
            Sight::Link => Seen::Link {
                is_up: true,
                has_carrier: !self.is(|what| matches!(what, Break::LinkDown(_))),
                received_packets: 0,
                sent_packets: 0,
            },
            Sight::Command { .. } => Seen::Command(self.said()),
            other => panic!("nobody looks at {other:?}"),
        }
    }
}

impl World for Sim {
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

    fn nodes(&self) -> Vec<NodeSeen> {
        let node = |index: usize| NodeSeen {
            process: Some(*OWN),
            host: Some(index),
            cql: ([10, 0, 0, index as u8 + 1], 9042).into(),
            storage: ([10, 0, 0, index as u8 + 1], 7000).into(),
        };
        (0..3).map(node).collect()
    }

    fn refresh(&mut self) {}

    fn hosts(&self) -> Vec<HostSeen> {
        let host = |index: usize| HostSeen {
            number: index + 1,
            folder: "/host".into(),
            device: Some("loop1".to_owned()),
        };
        (0..3).map(host).collect()
    }

    fn data_file(&mut self, _: usize) -> Result<(PathBuf, u64)> {
        Ok(("/host/nb-1-big-Data.db".into(), 100_000))
    }

    fn operate(&mut self, node: usize, what: Operation, _: Duration) -> Result<()> {
        if let Operation::RemoveNode { host_id } = &what {
            let is_down = self.standing() == Some(Standing::Down);
            anyhow::ensure!(host_id == "id0" && is_down, "it is alive");
        }
        if self.breaks_another {
            self.stays_member = true;
        }
        self.at_work.push((node, what, self.now_ns + LEAVING_NS));
        Ok(())
    }

    fn operated(&mut self, node: usize) -> Option<Result<String>> {
        let mut at_work = self.at_work.iter();
        let (_, what, until) = at_work.find(|(by, ..)| *by == node)?;
        let is_over = self.now_ns >= *until;
        is_over.then(|| match self.stays_member {
            true => bail!("{what:?} is refused"),
            false => Ok("it has left the ring".to_owned()),
        })
    }

    fn anew(&self, node: usize, _: Anew) -> Result<(Restartable, Vec<PathBuf>)> {
        Ok((self.restartable(node)?, vec!["/host/data".into()]))
    }

    fn is_empty(&mut self, _: usize) -> Result<bool> {
        Ok(self.is(|what| matches!(what, Break::Wipe { .. })) && !self.keeps_data)
    }

    fn members(&mut self, node: usize, _: Duration) -> Result<Members> {
        let member = |(index, seen): (usize, NodeSeen)| {
            let standing = match index {
                HIT => self.standing()?,
                _ => Standing::Normal,
            };
            let host_id = format!("id{index}");
            Some((seen.storage, Member { host_id, standing }))
        };
        let streams = node == HIT && self.now_ns < self.streams_until_ns && self.is_healed();
        Ok(Members {
            mode: if streams { "JOINING" } else { "NORMAL" }.to_owned(),
            streams_count: usize::from(streams),
            all: self
                .nodes()
                .into_iter()
                .enumerate()
                .filter_map(member)
                .collect(),
        })
    }

    fn restartable(&self, _: usize) -> Result<Restartable> {
        let command = host::process::command("/bin/true".as_ref());
        Restartable::new(*OWN, &command, "/dev/null".as_ref())
    }

    fn inject(&mut self, _: By, what: Break, _: &[usize], within: Duration) -> Result<()> {
        self.injected.push(within);
        if !self.breaks_another {
            self.broken.push(what);
        }
        Ok(())
    }

    fn heal(&mut self) -> Result<Mended> {
        self.healed_ns = self.now_ns;
        if !self.stays_broken {
            self.broken.clear();
        }
        self.has_stopped = self.stops_itself;
        Ok(Mended {
            by_itself: self.healed_before,
            ..Mended::default()
        })
    }

    fn restart(&mut self, _: usize, _: bool) -> Result<()> {
        self.restarts_count += 1;
        self.has_stopped = false;
        Ok(())
    }

    fn see(&mut self, by: By, what: Sight) -> Result<Seen> {
        if self.nobody_looks && !self.injected.is_empty() && self.now_ns < self.ordered_ns {
            bail!("the agent is away");
        }
        let Sight::Reach { address, limit } = what else {
            return Ok(self.seen(what));
        };
        let of = |by: By| match by {
            By::Host(index) | By::Node(index) => Some(index),
            By::Switch => None,
        };
        let nodes = self.nodes();
        let to = nodes
            .iter()
            .position(|node| node.storage.ip() == address.ip());
        let from = of(by);
        let delay = self.broken.iter().find_map(|what| match what {
            Break::LinkTo { link, .. } => link.delay,
            _ => None,
        });
        Ok(Seen::Reach(
            match self.is_cut(from, to) || self.is_cut(to, from) {
                true => {
                    self.now_ns += limit.as_nanos() as u64;
                    Reach::Silent
                }
                false => Reach::Reached(delay.map_or(Duration::ZERO, |delay| delay * 2)),
            },
        ))
    }

    fn receive(&mut self, _: By, _: Duration) -> Result<u16> {
        Ok(5000)
    }

    fn connect(&mut self, _: usize, _: Duration) -> Result<()> {
        Ok(())
    }

    fn is_connected(&mut self) -> bool {
        !self.is(|what| matches!(what, Break::Reset(_)))
    }

    fn ask(&mut self, node: usize, limit: Duration) -> Result<()> {
        if node != HIT {
            return Ok(());
        }
        if self.is_mute() || self.is_cut(None, Some(HIT)) {
            self.now_ns += limit.as_nanos() as u64;
            bail!("no answer in time");
        }
        match self.is_gone() {
            true => bail!("refused"),
            false => Ok(()),
        }
    }
}

/// What a kind hits here.
fn hit(kind: &Kind) -> Hit {
    match kind.place {
        Place::Node => Hit::Node(HIT),
        Place::Host => Hit::Host(HIT),
        Place::Split => Hit::Split(vec![HIT], vec![1, 2]),
    }
}

/// A fault of ten seconds: its verdict, and its steps.
fn course(kind: &Kind, mut sim: Sim) -> (Verdict, Vec<Step>, Sim) {
    sim.ordered_ns = 10 * S;
    let mut told = Vec::new();
    let tell = &mut |step: &Step| told.push(step.clone());
    let what = (&hit(kind), &Options::tried());
    let outcome = run(kind, what, &mut sim, Duration::from_secs(10), tell);
    assert_eq!(told, outcome.steps, "each is told as it comes");
    (outcome.verdict(), outcome.steps, sim)
}

fn words(steps: &[Step]) -> Vec<&str> {
    steps.iter().map(|step| step.what).collect()
}

#[test]
fn every_fault_that_works_is_confirmed_both_ways_and_ends_when_it_is_told_to() {
    for kind in KINDS {
        let (verdict, steps, sim) = course(kind, Sim::default());
        assert_eq!(verdict, Verdict::Confirmed, "{}: {steps:?}", kind.name);
        let order = ["checked", "injecting", "seen", "healing", "whole"];
        assert_eq!(words(&steps), order, "{}", kind.name);
        match kind.length {
            Length::Stated => assert_eq!(steps[3].at_ns, 10 * S, "{}", kind.name),
            Length::Moment => assert!(steps[3].at_ns < S, "{}: at once", kind.name),
        }
        let armed = sim.injected[0];
        assert!(armed > Duration::from_secs(10), "the agent heals later");
    }
}

/// Its injector said that it was done, and nobody looked.
#[test]
fn a_fault_that_does_nothing_is_a_mismatch() {
    for kind in KINDS {
        let sim = Sim {
            breaks_another: true,
            ..Sim::default()
        };
        let (verdict, steps, _) = course(kind, sim);
        assert_eq!(verdict, Verdict::Mismatch, "{}", kind.name);
        let order = ["checked", "injecting", "unseen", "healing", "whole"];
        assert_eq!(words(&steps), order);
        assert!(!steps[2].words.is_empty());
    }
}

#[test]
fn what_is_not_whole_before_is_not_broken() {
    let sim = Sim {
        silent: true,
        ..Sim::default()
    };
    let (verdict, steps, sim) = course(&KINDS[0], sim);
    assert_eq!((verdict, sim.injected.len()), (Verdict::Mismatch, 0));
    assert_eq!(words(&steps), ["waiting", "unseen"]);
}

#[test]
fn a_look_that_cannot_be_had_accuses_nobody() {
    let sim = Sim {
        nobody_looks: true,
        ..Sim::default()
    };
    let (verdict, steps, _) = course(&KINDS[0], sim);
    assert_eq!(verdict, Verdict::Inconclusive, "{steps:?}");
}

#[test]
fn what_does_not_heal_is_a_mismatch_though_it_was_broken_as_planned() {
    let sim = Sim {
        stays_broken: true,
        ..Sim::default()
    };
    let (verdict, steps, sim) = course(&KINDS[0], sim);
    assert_eq!(verdict, Verdict::Mismatch, "{steps:?}");
    assert_eq!(steps.last().unwrap().what, "not-whole");
    assert!(sim.now_ns >= 10 * S + KINDS[0].healed_within.as_nanos() as u64);
}

/// As Cassandra does that could open no file, or met a disk that failed.
#[test]
fn a_node_that_does_not_come_back_by_itself_is_started_again() {
    let kind = Kind::of("node-descriptors").unwrap();
    for stops_itself in [false, true] {
        let sim = Sim {
            stops_itself,
            ..Sim::default()
        };
        let (verdict, steps, sim) = course(&kind, sim);
        assert_eq!(verdict, Verdict::Confirmed, "{steps:?}");
        assert_eq!(sim.restarts_count, usize::from(stops_itself));
        let is_restarted = words(&steps).contains(&"restarted");
        assert_eq!(is_restarted, stops_itself, "and it is said");
    }
}

/// They answer elsewhere while their host is off, and are at home at the end.
#[test]
fn nodes_of_a_host_without_power_are_started_elsewhere() {
    let kind = Kind::of("host-power-off").unwrap();
    let mut sim = Sim {
        ordered_ns: 60 * S,
        ..Sim::default()
    };
    let options = Options {
        ha_after: Some(Duration::from_secs(5)),
        ..Options::default()
    };
    let what = (&Hit::Host(HIT), &options);
    let outcome = run(&kind, what, &mut sim, Duration::from_secs(60), &mut |_| ());
    assert_eq!(outcome.verdict(), Verdict::Confirmed, "{outcome:#?}");
    let order = [
        "checked",
        "injecting",
        "seen",
        "acted",
        "back",
        "healing",
        "whole",
    ];
    assert_eq!(words(&outcome.steps), order);
    assert!(outcome.at_ns("acted") >= Some(5 * S), "{outcome:#?}");
    let said = &outcome.steps[3].words;
    assert_eq!(said, "its nodes are started on host2, with their volume");
}

/// The folder of data that was to be lost has some; or the ring still has who was to leave it.
#[test]
fn a_node_that_keeps_its_data_or_its_place_is_a_mismatch() {
    let keeps_data = || Sim {
        keeps_data: true,
        ..Sim::default()
    };
    let stays_member = || Sim {
        stays_member: true,
        ..Sim::default()
    };
    for (name, sim, said) in [
        ("data-lost", keeps_data(), "there is data in its folders"),
        ("node-remove", keeps_data(), "there is data in its folders"),
        (
            "node-remove",
            stays_member(),
            "the others hold it to be down",
        ),
        (
            "node-decommission",
            stays_member(),
            "the others hold it to be up and normal",
        ),
    ] {
        let (verdict, steps, _) = course(&Kind::of(name).unwrap(), sim);
        assert_eq!(verdict, Verdict::Mismatch, "{name}: {steps:?}");
        assert_eq!(steps[2].what, "unseen", "{name}");
        assert!(steps[2].words.contains(said), "{name}: {steps:?}");
    }
}

/// It runs and answers clients, and nobody sends it anything.
#[test]
fn a_node_that_the_others_hold_to_be_down_is_not_back() {
    let sim = Sim {
        stays_down: true,
        ..Sim::default()
    };
    let (verdict, steps, _) = course(&Kind::of("data-lost").unwrap(), sim);
    assert_eq!(verdict, Verdict::Mismatch, "{steps:?}");
    let last = steps.last().unwrap();
    assert_eq!(last.what, "not-whole");
    assert!(last.words.contains("hold it to be down"), "{last:?}");
}

/// However much it had: what is late is who does nothing.
#[test]
fn a_node_that_streams_is_waited_for() {
    for name in ["data-lost", "node-decommission", "node-remove"] {
        let kind = Kind::of(name).unwrap();
        let streams_until_ns = 20 * S + kind.healed_within.as_nanos() as u64;
        let sim = Sim {
            streams_until_ns,
            ..Sim::default()
        };
        let (verdict, steps, _) = course(&kind, sim);
        assert_eq!(verdict, Verdict::Confirmed, "{steps:?}");
        assert!(steps.last().unwrap().at_ns >= streams_until_ns, "{steps:?}");
    }
}

/// A ring that has it would not let it join.
#[test]
fn a_node_comes_back_when_it_has_left() {
    let kind = Kind::of("node-decommission").unwrap();
    let mut sim = Sim {
        ordered_ns: LEAVING_NS / 2,
        ..Sim::default()
    };
    let length = Duration::from_nanos(LEAVING_NS / 2);
    let what = (&Hit::Node(HIT), &Options::default());
    let outcome = run(&kind, what, &mut sim, length, &mut |_| ());
    assert_eq!(outcome.verdict(), Verdict::Confirmed, "{outcome:#?}");
    assert!(sim.healed_ns >= LEAVING_NS, "{outcome:#?}");
    let last = &outcome.steps.last().unwrap().words;
    assert!(last.ends_with("; it has left the ring"), "{last}");
}

#[test]
fn a_fault_waits_for_a_node_that_comes_back_from_the_one_before() {
    let sim = Sim {
        recovers_ns: 4 * S,
        ..Sim::default()
    };
    let (verdict, steps, _) = course(&KINDS[0], sim);
    assert_eq!(verdict, Verdict::Confirmed, "{steps:?}");
    assert_eq!(words(&steps)[..3], ["waiting", "checked", "injecting"]);
    assert!(steps[2].at_ns >= 4 * S, "{steps:?}");

    let sim = Sim {
        recovers_ns: 20 * S,
        ..Sim::default()
    };
    let (verdict, steps, sim) = course(&KINDS[0], sim);
    assert_eq!(
        verdict,
        Verdict::Mismatch,
        "ordered to end before it could begin"
    );
    assert_eq!(words(&steps), ["waiting", "unseen"]);
    assert!(sim.injected.is_empty());
}

#[test]
fn that_an_agent_has_healed_by_itself_is_said() {
    let sim = Sim {
        healed_before: true,
        ..Sim::default()
    };
    let (verdict, steps, _) = course(&KINDS[0], sim);
    assert_eq!(verdict, Verdict::Confirmed);
    assert!(
        steps[4].words.ends_with("had healed it by itself"),
        "{steps:?}"
    );
}

#[test]
fn every_kind_is_found_by_its_name_and_needs_a_cluster_of_our_own() {
    for kind in KINDS {
        assert_eq!(Kind::of(kind.name), Some(*kind));
        let can = |target: cluster::Target| {
            let abilities = cluster::abilities_of(&target);
            let has = |needed: &&cluster::Ability| {
                let mut found = abilities.iter().filter(|one| one.ability == **needed);
                found.all(|one| one.present)
            };
            kind.needs.iter().all(|needed| has(&needed))
        };
        let attached = cluster::Target::Attach(cluster::AttachSpec::default());
        assert!(!kind.needs.is_empty() && !can(attached), "{}", kind.name);
    }
}
