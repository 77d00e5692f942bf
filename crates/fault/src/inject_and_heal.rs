//! Life cycle of a fault: wait for a healthy target, inject, observe, hold and heal the fault, and
//! wait until the target is healthy again.

use crate::behaviour::{Fault, Work};
use crate::cluster_under_test::{ExecutedBy, World};
use crate::observation::{self, Health, Observation, Presence};
use crate::renewal::Renewal;
use crate::{behaviours, ring};
use analysis::recovery::{FaultStep, FaultVerdict};
use host::{Query, QueryAnswer};
use std::time::Duration;
use target_spec::NodeIndex;
use target_spec::fault::{FaultKind, Hit, Length, Options};

/// Interval between two observations. Clients notice a failed node within a second.
const POLL: Duration = Duration::from_millis(100);

/// Time limit of a response that proves that a node is healthy, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time without a response after which a node counts as silent, if the kernel also shows the fault.
/// A healthy node answers within milliseconds.
const SILENCE: Duration = Duration::from_secs(1);

/// Time from the planned end of a fault until the host's agent heals it.
const SLACK: Duration = Duration::from_secs(5);

/// Time after which agents heal a fault that is still being injected. cassay renews this deadline
/// during the injection.
const INJECTION_DEADLINE: Duration = Duration::from_secs(120);

/// Time limit for moved nodes to end on the other host.
const MOVED_BACK: Duration = Duration::from_secs(70);

/// Maximum time without a possible observation of the target. A host that is being healed mounts
/// its volume within seconds.
const UNSEEN_MAX: Duration = Duration::from_secs(30);

/// Time limit for the traces of a finished operation to become visible.
const PROOF_LIMIT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LifeCycleStep {
    /// Time on the monotonic clock in ns.
    pub at_ns: u64,
    pub what: FaultStep,
    /// Description of the observation or action.
    pub words: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultResult {
    /// Presence of the fault during the hold time, according to independent observers.
    pub seen: Presence,
    /// True if the target was observed as healthy at the end.
    pub whole: bool,
    pub steps: Vec<LifeCycleStep>,
}

/// Returns the step from which the duration of a fault counts.
pub fn holds_from(kind: &FaultKind) -> FaultStep {
    match kind.length {
        Length::Staged => FaultStep::Done,
        Length::Stated | Length::Moment | Length::Task => FaultStep::Injecting,
    }
}

impl FaultResult {
    /// Returns the verdict. A fault is confirmed if it was observed as present, and then as healed.
    pub fn verdict(&self) -> FaultVerdict {
        match (self.seen, self.whole) {
            (Presence::Present, true) => FaultVerdict::Confirmed,
            (Presence::Unknown, true) => FaultVerdict::Inconclusive,
            (Presence::Absent, true) | (_, false) => FaultVerdict::Mismatch,
        }
    }

    /// Returns the time of a step on the monotonic clock in ns, or `None` if the step did not
    /// happen.
    pub fn at_ns(&self, what: FaultStep) -> Option<u64> {
        let step = self.steps.iter().find(|step| step.what == what);
        step.map(|step| step.at_ns)
    }
}

struct LifeCycle<'w> {
    kind: &'w FaultKind,
    hit: &'w Hit,
    fault: Box<dyn Fault>,
    world: &'w mut dyn World,
    tell: &'w mut dyn FnMut(&LifeCycleStep),
    steps: Vec<LifeCycleStep>,
}

/// Injects the fault, holds it until the order to heal arrives, and then heals it, even after an
/// error. `planned` is the expected duration of the fault. Agents heal it a few seconds after this
/// time. `tell` receives every step immediately.
pub fn run(
    kind: &FaultKind,
    hit: &Hit,
    options: &Options,
    world: &mut dyn World,
    planned: Duration,
    tell: &mut dyn FnMut(&LifeCycleStep),
) -> FaultResult {
    let course = LifeCycle {
        kind,
        hit,
        fault: behaviours::build(kind, hit, options),
        world,
        tell,
        steps: Vec::new(),
    };
    course.run(planned)
}

impl LifeCycle<'_> {
    fn say(&mut self, what: FaultStep, words: String) {
        let at_ns = self.world.now_ns();
        self.steps.push(LifeCycleStep { at_ns, what, words });
        (self.tell)(&self.steps[self.steps.len() - 1]);
    }

    fn run(mut self, planned: Duration) -> FaultResult {
        let before = self.before();
        if !is_ready(&before) {
            self.say(
                FaultStep::Unseen,
                format!(
                    "cassay did not inject the fault, because the target was not healthy before: \
                     {}",
                    before.words
                ),
            );
            let seen = match before.target {
                Health::Unknown => Presence::Unknown,
                Health::Whole | Health::Impaired => Presence::Absent,
            };
            return self.end(seen, true);
        }
        self.say(FaultStep::Checked, before.words);
        self.say(FaultStep::Injecting, self.kind.what.to_string());
        let within = self.armed(planned);
        if let Err(error) = self.fault.inject(self.world, within) {
            self.say(
                FaultStep::Unseen,
                format!("cassay could not inject the fault: {error:#}"),
            );
            let whole = self.heal();
            return self.end(Presence::Absent, whole);
        }
        let seen = if self.kind.length.works() {
            self.work(planned)
        } else {
            self.effect(planned)
        };
        let whole = self.heal();
        self.end(seen, whole)
    }

    fn end(self, seen: Presence, whole: bool) -> FaultResult {
        FaultResult {
            seen,
            whole,
            steps: self.steps,
        }
    }

    /// Observes the target until it is healthy or a time limit has passed. The target may still
    /// recover from an earlier fault.
    fn before(&mut self) -> Observation {
        // The sum of the healing's time limit, and the time for which an agent may hold an earlier
        // fault whose controller has ended.
        let limit = self.kind.healed_within + self.armed(Duration::ZERO);
        let began_ns = self.world.now_ns();
        let until_ns = began_ns + limit.as_nanos() as u64;
        let (mut waits, mut seen_ns) = (false, began_ns);
        loop {
            let taken = self.taken();
            let look = taken.unwrap_or_else(|| self.fault.look(self.world, PATIENCE));
            let now_ns = self.world.now_ns();
            if look.target != Health::Unknown {
                seen_ns = now_ns;
            }
            let is_unseen = now_ns - seen_ns >= UNSEEN_MAX.as_nanos() as u64;
            let is_late = is_unseen || now_ns >= until_ns;
            if is_ready(&look) || is_late || host::process::is_interrupted() {
                return look;
            }
            if !waits {
                self.say(
                    FaultStep::Waiting,
                    format!("until the target is intact: {}", look.words),
                );
                waits = true;
            }
            if self.world.wait(POLL) {
                return look;
            }
            self.world.refresh();
        }
    }

    /// Returns an observation if another fault has broken the target's volume. An observation of
    /// this fault would then be misleading.
    fn taken(&mut self) -> Option<Observation> {
        let host = match self.hit {
            _ if !self.kind.takes_volume() => None,
            Hit::Host(host) => Some(*host),
            Hit::Node(node) => self.world.nodes().get(*node)?.host,
            Hit::Split(_) | Hit::Nodes(_) | Hit::Cluster => None,
        };
        let seen = self.world.see(ExecutedBy::Host(host?), Query::VolumeTaken);
        matches!(seen, Ok(QueryAnswer::VolumeTaken(true))).then(|| Observation {
            fault: Presence::Present,
            target: Health::Impaired,
            words: "another fault is in effect on the host's volume".to_owned(),
        })
    }

    /// Returns the time after which agents heal the fault.
    fn armed(&self, planned: Duration) -> Duration {
        let planned = match self.kind.length {
            Length::Staged => planned + INJECTION_DEADLINE,
            Length::Stated | Length::Moment | Length::Task => planned,
        };
        match self.fault.later() {
            // Moved nodes must first end on the other host, which takes a while.
            Some(_) => planned + SLACK + MOVED_BACK,
            None => planned + SLACK,
        }
    }

    /// Observes the target until the fault is visible or must end, and then holds the fault.
    fn effect(&mut self, planned: Duration) -> Presence {
        let injected_ns = self.world.now_ns();
        // An observation must end before the planned healing, even of a short fault.
        let silence = SILENCE.min(planned / 4);
        loop {
            let look = self.fault.look(self.world, silence);
            if look.shows_fault() {
                self.say(FaultStep::Seen, look.words);
                if self.kind.length == Length::Stated {
                    self.hold(injected_ns, planned);
                }
                return Presence::Present;
            }
            if self.world.wait(POLL) {
                self.say(FaultStep::Unseen, look.words);
                return look.fault;
            }
        }
    }

    /// Continues and observes the operation of the fault until its end or the order to heal. The
    /// last observation proves that the node performed the operation.
    fn work(&mut self, planned: Duration) -> Presence {
        let silence = SILENCE.min(planned / 4);
        let (mut is_seen, mut renewal) = (false, Renewal::default());
        let within = self.armed(planned);
        loop {
            if self.kind.length == Length::Staged {
                renewal.renew(self.world, within);
            }
            match self.fault.proceed(self.world) {
                Ok(Work::Going) => {}
                Ok(Work::Did(words)) => self.say(FaultStep::Acted, words),
                Ok(Work::Done(words)) => return self.left(&words, is_seen, planned),
                Err(error) => {
                    self.say(FaultStep::Failed, format!("{error:#}"));
                    return Presence::Absent;
                }
            }
            let look = self.fault.look(self.world, silence);
            if look.shows_fault() && !is_seen {
                is_seen = true;
                self.say(FaultStep::Seen, look.words.clone());
            }
            if self.world.wait(POLL) {
                let words = format!(
                    "the fault did not finish within its time limit: {}",
                    look.words
                );
                self.say(FaultStep::Unfinished, words);
                return if is_seen {
                    Presence::Present
                } else {
                    look.fault
                };
            }
        }
    }

    /// Waits for the traces of a finished operation. Keeps the traces for the fault's duration, if
    /// its kind has one.
    fn left(&mut self, words: &str, is_seen: bool, planned: Duration) -> Presence {
        let until_ns = self.world.now_ns() + PROOF_LIMIT.as_nanos() as u64;
        loop {
            let look = self.fault.look(self.world, SILENCE);
            let is_left = look.shows_fault();
            let is_late = self.world.now_ns() >= until_ns;
            if !is_left && !is_late && !self.world.wait(POLL) {
                continue;
            }
            match (is_left, is_seen) {
                (true, true) => {}
                (true, false) => self.say(FaultStep::Seen, look.words.clone()),
                (false, _) => self.say(FaultStep::Unseen, look.words.clone()),
            }
            self.say(FaultStep::Done, format!("{words}: {}", look.words));
            if is_left && self.kind.length == Length::Staged {
                while !self.world.wait(planned) {}
            }
            return look.fault;
        }
    }

    /// Waits for the order to heal, and performs the fault's further action when it is due.
    fn hold(&mut self, injected_ns: u64, planned: Duration) {
        if let Some(after) = self.fault.later() {
            let due_ns = injected_ns + after.as_nanos() as u64;
            let left_ns = due_ns.saturating_sub(self.world.now_ns());
            if self.world.wait(Duration::from_nanos(left_ns)) {
                return;
            }
            let within = self.armed(planned);
            match self.fault.act(self.world, within) {
                Ok(words) => self.say(FaultStep::Acted, words),
                Err(error) => self.say(
                    FaultStep::NotActed,
                    format!("the action of the fault failed: {error:#}"),
                ),
            }
            loop {
                let look = self.fault.look(self.world, SILENCE);
                if look.is_whole() {
                    self.say(FaultStep::Back, look.words);
                    break;
                }
                if self.world.wait(POLL) {
                    return;
                }
            }
        }
        while !self.world.wait(planned) {}
    }

    /// Heals the fault, and observes the target until it is healthy or the time limit passes.
    /// Returns true if the target is healthy. Restarts nodes that stay down, as an administrator
    /// would.
    fn heal(&mut self) -> bool {
        self.say(FaultStep::Healing, self.fault.healing().to_owned());
        let (steps, tell) = (&mut self.steps, &mut self.tell);
        let healed = self.fault.heal(self.world, &mut |at_ns, words| {
            let what = FaultStep::Acted;
            steps.push(LifeCycleStep { at_ns, what, words });
            tell(&steps[steps.len() - 1]);
        });
        let began_ns = self.world.now_ns();
        let until_ns = began_ns + self.kind.healed_within.as_nanos() as u64;
        let mended = healed.as_ref().map(Clone::clone).unwrap_or_default();
        let mut revival = Revival::after(mended.started, began_ns);
        let mut seen_ns = began_ns;
        loop {
            let look = self.fault.look(self.world, PATIENCE);
            if look.target != Health::Unknown {
                seen_ns = self.world.now_ns();
            }
            // After a long time without an observation, the agent has probably ended.
            let is_unseen = self.world.now_ns() - seen_ns >= UNSEEN_MAX.as_nanos() as u64;
            if look.is_whole() {
                let early = "; the agent of the host had already healed the fault";
                let early = if mended.by_itself { early } else { "" };
                let became = mended.became.map(|became| format!("; {became}"));
                self.say(
                    FaultStep::Whole,
                    look.words + early + &became.unwrap_or_default(),
                );
                return true;
            }
            let is_late = self.world.now_ns() >= until_ns && !self.fault.is_healing(self.world);
            let is_over = is_late || is_unseen;
            if is_over || healed.is_err() || host::process::is_interrupted() {
                let why = healed.as_ref().err().map(|error| format!("; healing failed: {error:#}"));
                self.say(FaultStep::NotWhole, look.words + &why.unwrap_or_default());
                return false;
            }
            let ours = self.fault.is_ours().then(|| observation::nodes_hit(self.hit, self.world));
            for node in ours.unwrap_or_default() {
                if let Some(words) = revival.revive(node, self.world) {
                    self.say(FaultStep::Restarted, words);
                }
            }
            self.world.wait(POLL);
        }
    }
}

/// Returns true if the target is healthy and shows no trace of the fault, as before an injection.
fn is_ready(look: &Observation) -> bool {
    look.target == Health::Whole && look.fault == Presence::Absent
}

/// Restarts of nodes that do not start by themselves.
struct Revival {
    /// Starting nodes, each with the time of its last start.
    started: Vec<(NodeIndex, u64)>,
    began_ns: u64,
    restarts_count: usize,
}

/// Time for which a running node may be silent after the healing, before cassay restarts it for the
/// first time.
const SILENT_MAX: Duration = Duration::from_secs(20);

/// Time for which all other nodes may consider a node down although it answers clients, before
/// cassay restarts it. This happens after the node announced a later gossip generation than its
/// current one. Other nodes then ignore the node until it restarts.
const SHUNNED_MAX: Duration = Duration::from_secs(60);

/// Minimum interval between two starts of a node that fails to start.
const BETWEEN_STARTS: Duration = Duration::from_secs(2);

/// Maximum number of restarts in the healing of one fault.
const RESTARTS_MAX: usize = 5;

impl Revival {
    fn after(started: Vec<NodeIndex>, now_ns: u64) -> Revival {
        Revival {
            started: started.into_iter().map(|node| (node, now_ns)).collect(),
            began_ns: now_ns,
            restarts_count: 0,
        }
    }

    /// Restarts a node that has ended, was silent for too long, or is considered down by all other
    /// nodes. Returns the reason for the restart.
    fn revive(&mut self, node: NodeIndex, world: &mut dyn World) -> Option<String> {
        let now_ns = world.now_ns();
        let known = self.started.iter().position(|(started, _)| *started == node);
        let since_ns = known.map_or(self.began_ns, |at| self.started[at].1);
        let waited_ns = now_ns.saturating_sub(since_ns);
        let has_waited = |least: Duration| waited_ns >= least.as_nanos() as u64;
        let is_gone = observation::process(world, node, |state| state.is_none()).shows_fault();
        let why = if is_gone && has_waited(BETWEEN_STARTS) {
            "the node's process has ended"
        } else if is_gone {
            return None;
        } else if known.is_none() && has_waited(SILENT_MAX) && world.ask(node, PATIENCE).is_err() {
            // Excludes a node that cassay has just started.
            "the node runs but answers no request, although the fault is healed"
        } else if has_waited(SHUNNED_MAX) && ring::is_shunned(world, node) {
            "the node answers clients, but all other nodes consider it down"
        } else {
            return None;
        };
        if self.restarts_count == RESTARTS_MAX {
            return None;
        }
        self.restarts_count += 1;
        self.started.retain(|(started, _)| *started != node);
        self.started.push((node, now_ns));
        // After another end, a normal start would fail for the same reason.
        let forgiving = is_gone && self.restarts_count > 1;
        let how = if forgiving {
            ", with the option to skip unreadable parts of its files"
        } else {
            ""
        };
        Some(match world.restart(node, forgiving) {
            Ok(()) => format!(
                "cassay started the node {} again{how}: {why}",
                node.number()
            ),
            Err(error) => format!(
                "cassay could not start the node {} again: {error:#}",
                node.number()
            ),
        })
    }
}
