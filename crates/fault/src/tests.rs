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
    stopped: bool,
    gone: bool,
    /// Another process is broken than the one that is looked at.
    breaks_another: bool,
    /// Its kernel and its clients may be asked.
    nobody_looks: bool,
    /// It answers nobody, whatever is done.
    silent: bool,
    /// What heals does nothing.
    stays_broken: bool,
    /// Its agent had healed it.
    healed_before: bool,
    injected: Vec<Duration>,
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

    fn state(&mut self) -> Result<Option<char>> {
        if self.nobody_looks && !self.injected.is_empty() && self.now_ns < self.ordered_ns {
            bail!("the agent is away");
        }
        Ok(match (self.gone, self.stopped) {
            (true, _) => None,
            (_, true) => Some('T'),
            _ => Some('S'),
        })
    }

    fn ask(&mut self, limit: Duration) -> Result<()> {
        if self.stopped || self.silent {
            self.now_ns += limit.as_nanos() as u64;
            bail!("no answer in time");
        }
        match self.gone {
            true => bail!("refused"),
            false => Ok(()),
        }
    }

    fn pause(&mut self, within: Duration) -> Result<()> {
        self.injected.push(within);
        self.stopped = !self.breaks_another;
        Ok(())
    }

    fn kill(&mut self, within: Duration) -> Result<()> {
        self.injected.push(within);
        self.gone = !self.breaks_another;
        Ok(())
    }

    fn heal(&mut self) -> Result<Healed> {
        if self.injected.is_empty() {
            bail!("nothing was broken");
        }
        if !self.stays_broken {
            (self.stopped, self.gone) = (false, false);
        }
        Ok(Healed {
            process: Identity::own(),
            by_itself: self.healed_before,
        })
    }
}

/// A fault of ten seconds: its verdict, and its steps.
fn course(kind: &Kind, mut sim: Sim) -> (Verdict, Vec<Step>, Sim) {
    sim.ordered_ns = 10 * S;
    let mut told = Vec::new();
    let tell = &mut |step: &Step| told.push(step.clone());
    let outcome = run(kind, &mut sim, Duration::from_secs(10), tell);
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
        assert_eq!(steps[3].at_ns, 10 * S);
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
        let said = &steps[2].words;
        assert_eq!(said, "the kernel calls its process S, it answers a client");
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
fn every_kind_is_found_by_its_name_and_needs_nodes_of_our_own() {
    for kind in KINDS {
        assert_eq!(Kind::of(kind.name), Some(*kind));
        let can = |target: cluster::Target| {
            let abilities = cluster::abilities_of(&target);
            let mut needed = abilities.iter().filter(|one| one.ability == kind.needs);
            needed.all(|one| one.present)
        };
        assert!(can(cluster::Target::Local(cluster::LocalSpec::default())));
        assert!(!can(
            cluster::Target::Attach(cluster::AttachSpec::default())
        ));
    }
}
