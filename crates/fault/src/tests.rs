//! Courses of faults on a simulated clock: a node that does what it is told to, or something else.

use super::*;
use anyhow::bail;
use host::process::Identity;

const S: u64 = 1_000_000_000;

/// A node, and what goes wrong with it.
#[derive(Default)]
struct Sim {
    now_ns: u64,
    /// When healing is ordered.
    ordered_ns: u64,
    broken: Option<Break>,
    injected: Vec<Duration>,
    /// Another process is broken than the one that is looked at.
    breaks_another: bool,
    /// Neither its kernel nor its clients may be asked.
    nobody_looks: bool,
    /// It answers nobody, whatever is done.
    silent: bool,
    /// What heals does nothing.
    stays_broken: bool,
    /// Its agent had healed it.
    healed_before: bool,
}

impl Sim {
    fn is_gone(&self) -> bool {
        matches!(self.broken, Some(Break::Kill(_) | Break::Stop(_)))
    }

    fn is_out_of_files(&self) -> bool {
        matches!(self.broken, Some(Break::Descriptors(_)))
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

    fn node(&self, _: usize) -> NodeSeen {
        NodeSeen {
            process: Some(Identity::own()),
        }
    }

    fn restartable(&self, _: usize) -> Result<Restartable> {
        let command = host::process::command("/bin/true".as_ref());
        Restartable::new(Identity::own(), &command, "/dev/null".as_ref())
    }

    fn inject(&mut self, _: By, what: Break, _: &[usize], within: Duration) -> Result<()> {
        self.injected.push(within);
        self.broken = (!self.breaks_another).then_some(what);
        Ok(())
    }

    fn heal(&mut self) -> Result<bool> {
        if !self.stays_broken {
            self.broken = None;
        }
        Ok(self.healed_before)
    }

    fn see(&mut self, _: By, what: Sight) -> Result<Seen> {
        if self.nobody_looks && !self.injected.is_empty() && self.now_ns < self.ordered_ns {
            bail!("the agent is away");
        }
        Ok(match what {
            Sight::Process(_) => Seen::Process(match self.broken {
                _ if self.is_gone() => None,
                Some(Break::Pause(_)) => Some('T'),
                _ => Some('S'),
            }),
            Sight::Descriptors(_) => Seen::Descriptors {
                free: if self.is_out_of_files() { 1 } else { 4000 },
                open: 96,
            },
            Sight::Cpu(ms) => {
                self.now_ns += ms * 1_000_000;
                Seen::Cpu(match self.broken {
                    Some(Break::CpuQuota(cores)) => cores,
                    _ => 1.5,
                })
            }
        })
    }

    fn ask(&mut self, _: usize, limit: Duration) -> Result<()> {
        let stopped = matches!(self.broken, Some(Break::Pause(_)));
        if stopped || self.silent || self.is_out_of_files() {
            self.now_ns += limit.as_nanos() as u64;
            bail!("no answer in time");
        }
        match self.is_gone() {
            true => bail!("refused"),
            false => Ok(()),
        }
    }
}

/// A fault of ten seconds: its verdict, and its steps.
fn course(kind: &Kind, mut sim: Sim) -> (Verdict, Vec<Step>, Sim) {
    sim.ordered_ns = 10 * S;
    let mut told = Vec::new();
    let tell = &mut |step: &Step| told.push(step.clone());
    let what = (&Hit::Node(0), &Options::default());
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
        assert!(steps[2].words.ends_with("it answers a client"), "{steps:?}");
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
    assert_eq!(words(&steps), ["unseen"]);
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
    assert_eq!(verdict, Verdict::Mismatch);
    assert_eq!(steps.last().unwrap().what, "not-whole");
    assert!(sim.now_ns >= 10 * S + KINDS[0].healed_within.as_nanos() as u64);
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
