//! Decides which actions happen during a load and when, in one loop on any clock.
//!
//! [`Conduct`] makes the decisions. It receives the events and the time, and returns the actions.
//! It neither waits nor acts itself. A [`World`] provides the clock and the load, and performs the
//! actions.
//!
//! Invariants: a dead node and Ctrl-C end the load within [`TICK_NS`], regardless of the load.
//! Scheduled actions run on time. So no call to the world may take longer than a tick. A longer
//! action runs in a separate thread, and its result comes back as an event.

use super::event::Progress;
use super::load_guard::Watch;
use anyhow::Result;
use fleet::Next;
use load::Flow;
use measure::clock::{MILLISECOND_NS, SECOND_NS};
use measure::{Interval, IntervalConsumer, SummedInterval};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use study::plan::PhaseKind;

/// Time between two checks of the nodes and of Ctrl-C. The time is short enough that a user does
/// not notice the delay, and long enough that the checks cost almost nothing.
pub const TICK_NS: u64 = 100 * MILLISECOND_NS;
const READINGS_EVERY_NS: u64 = SECOND_NS;

/// Minimum time between the decision to end the load and the end of the load. It is long enough for
/// all clients to receive the decision.
const END_NOTICE_NS: u64 = 2 * SECOND_NS;

/// Event that the loop receives.
#[derive(Debug)]
pub enum LoopEvent {
    /// Time has passed, so scheduled actions may be due.
    Time,
    /// An interval of the load has ended.
    Interval(Box<SummedInterval>),
    /// The load has ended.
    Over,
    /// One of several clients is lost. Contains the reason.
    ClientLost(String),
    /// Nodes are down. Contains the nodes.
    Died(Vec<DeadNode>),
    /// The fault with this number has been in effect since the given time of the monotonic clock.
    /// If the injection takes a while, this is the time when the injection ended.
    FaultHolds(usize, u64),
    /// The fault with this number has ended. It was healed, or the study does not heal it.
    FaultOver(usize),
    /// The user has pressed Ctrl-C.
    Interrupted,
}

/// A node that is down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadNode {
    pub node: String,
    /// Sentence that contains the name of the node, how the node ended, and its last log lines.
    pub how: String,
}

/// Action for the world to perform.
#[derive(Debug)]
pub enum Act {
    /// Write an interval to disk, and display it.
    Keep {
        /// Phase of the interval, as in the records.
        phase: &'static str,
        /// Progress of the phase, for display to the user.
        progress: Progress,
        /// All counts of the interval.
        interval: Arc<Interval>,
    },
    /// Begin a phase at the given time of the monotonic clock.
    Begin(PhaseKind, u64),
    /// Tell the load whether and how to continue.
    Steer(Flow),
    /// Check that all nodes are up.
    LookAtNodes,
    /// Check the progress of the faults.
    LookAtFaults,
    /// Write the probes' readings to disk.
    KeepReadings,
    /// Inject the fault with this number as soon as the target of the fault is healthy.
    Inject(usize),
    /// Record that too little of the window is left for the fault with this number.
    Omit(usize),
    /// Heal the fault with this number.
    Heal(usize),
}

/// Performs the actions, and provides the clock.
pub trait World {
    /// Returns the time of the monotonic clock.
    fn now_ns(&self) -> u64;

    /// Waits for the next interval of the load, but not longer than until `until_ns`.
    fn wait(&mut self, until_ns: u64) -> Next;

    /// Returns true if Ctrl-C was pressed.
    fn is_interrupted(&self) -> bool;

    /// Performs an action, and returns the resulting event.
    ///
    /// # Errors
    /// The action failed, and without it the load would be meaningless.
    fn act(&mut self, act: Act) -> Result<Option<LoopEvent>>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    LookAtNodes,
    LookAtFaults,
    KeepReadings,
    Inject(usize),
    Heal(usize),
}

impl Due {
    /// Returns the period of a repeated action, in ns, or `None` if the action happens once.
    fn every_ns(self) -> Option<u64> {
        match self {
            Due::LookAtNodes | Due::LookAtFaults => Some(TICK_NS),
            Due::KeepReadings => Some(READINGS_EVERY_NS),
            Due::Inject(_) | Due::Heal(_) => None,
        }
    }

    fn act(self) -> Act {
        match self {
            Due::LookAtNodes => Act::LookAtNodes,
            Due::LookAtFaults => Act::LookAtFaults,
            Due::KeepReadings => Act::KeepReadings,
            Due::Inject(number) => Act::Inject(number),
            Due::Heal(number) => Act::Heal(number),
        }
    }
}

/// Scheduled actions with their times on the monotonic clock, in ns.
#[derive(Debug, Default)]
struct Agenda(BTreeSet<(u64, Due)>);

impl Agenda {
    fn next_ns(&self) -> u64 {
        self.0.first().map_or(u64::MAX, |(at_ns, _)| *at_ns)
    }

    /// Removes and returns the actions that are due. Returns a repeated action only once, even if
    /// several of its times have passed.
    fn take(&mut self, now_ns: u64) -> Vec<Due> {
        let later = self.0.split_off(&(now_ns.saturating_add(1), Due::LookAtNodes));
        let due = std::mem::replace(&mut self.0, later);
        for (at_ns, due) in &due {
            if let Some(every_ns) = due.every_ns() {
                let missed = (now_ns - at_ns) / every_ns;
                self.0.insert((at_ns + (missed + 1) * every_ns, *due));
            }
        }
        due.into_iter().map(|(_, due)| due).collect()
    }
}

/// A fault that the study plans during the measured load.
#[derive(Clone, Debug)]
pub struct Breaking {
    /// Start of the fault, in ns after the start of the measured window.
    pub at_ns: u64,
    /// Duration of the fault, in ns.
    pub for_ns: u64,
    /// Number of an earlier fault that must have ended before this fault begins.
    pub after: Option<usize>,
    /// Nodes that are down until the fault is healed.
    pub takes_away: Vec<String>,
}

/// Decision after an interval.
pub struct Decision {
    /// Phase of the interval, as in the records.
    pub phase: &'static str,
    /// Continuation or end of the load.
    pub flow: Flow,
    /// Phase that begins with the next interval, if any.
    pub next: Option<PhaseKind>,
}

impl Decision {
    /// Returns the decision to continue the load, for an interval of `phase`.
    pub fn in_phase(phase: &'static str) -> Decision {
        Decision {
            phase,
            flow: Flow::Continue,
            next: None,
        }
    }

    /// Returns the decision to continue the load in `phase`. Intervals of the drain are recorded as
    /// a separate phase.
    pub fn go_on(phase: &'static str, interval: &Interval) -> Decision {
        Decision::in_phase(if interval.draining { "drain" } else { phase })
    }
}

/// Reason why a phase ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlyEnd {
    /// The user pressed Ctrl-C.
    Interrupted,
    /// A node has died. The text contains the name of the node, how it ended, and its last log
    /// lines.
    NodeDied(String),
    /// The load was too high for other users of the target.
    Guarded(String),
    /// One of several clients was lost. The text contains the name of the client, the reason and
    /// the time.
    ClientLost(String),
}

/// State of the loop in one phase under load: the results so far, and the scheduled actions.
pub struct Conduct<'c> {
    decide: &'c mut dyn FnMut(&SummedInterval) -> Decision,
    agenda: Agenda,
    faults: Vec<Breaking>,
    /// Numbers of the faults that have begun and have not ended.
    open: BTreeSet<usize>,
    /// Numbers of the faults that have ended or were omitted.
    over: BTreeSet<usize>,
    /// Length of the measured window in ns, if known.
    measured_ns: Option<u64>,
    /// Time to measure after the last fault has ended, in ns. `None` if the faults do not determine
    /// the end of the load.
    after_faults_ns: Option<u64>,
    /// Start of the measured window, as a time of the monotonic clock.
    measured_from_ns: Option<u64>,
    /// End of the load, as a time of the monotonic clock, if known.
    ends_ns: Option<u64>,
    progress: Progress,
    /// Consumers, in the order in which the loop passes each interval to them.
    consumers: Vec<&'c mut dyn IntervalConsumer>,
    /// Reason why the load ends early.
    pub cut: Option<EarlyEnd>,
    /// Guard that ends the load if it is too high for the target. `None` without a guard.
    pub guard: Option<Watch>,
}

impl<'c> Conduct<'c> {
    /// Returns a loop whose checks begin after the start line, `start_ns`. For each interval,
    /// `decide` returns the phase of the interval, and the decision whether the load continues. The
    /// times of `faults` are relative to the start of the measured window.
    pub fn new(
        start_ns: u64,
        consumers: Vec<&'c mut dyn IntervalConsumer>,
        faults: Vec<Breaking>,
        decide: &'c mut dyn FnMut(&SummedInterval) -> Decision,
    ) -> Conduct<'c> {
        let looks = [Due::LookAtNodes, Due::KeepReadings]
            .map(|due| (start_ns + due.every_ns().unwrap_or(0), due));
        Conduct {
            decide,
            agenda: Agenda(looks.into_iter().collect()),
            faults,
            open: BTreeSet::new(),
            over: BTreeSet::new(),
            measured_ns: None,
            after_faults_ns: None,
            measured_from_ns: None,
            ends_ns: None,
            progress: Progress::default(),
            consumers,
            cut: None,
            guard: None,
        }
    }

    /// Sets the number of operations after which the load generator ends the load. The loop only
    /// reports this number with the progress.
    pub fn ends_after(&mut self, operations: u64) {
        self.progress.of = Some(operations);
    }

    /// Ends the load at `at_ns`, unless another event ends the load earlier. The caller must pass
    /// this time to the load generator.
    pub fn ends_at(&mut self, at_ns: u64) {
        self.ends_ns = Some(at_ns);
    }

    /// Ends the load when the measured window has lasted for `length`.
    pub fn measures_for(&mut self, length: Duration) {
        self.measured_ns = Some(length.as_nanos() as u64);
    }

    /// Ends the load when all faults have ended and at least `length` has passed since then, unless
    /// another event ends the load earlier. The load ends at the end of an interval.
    pub fn ends_after_faults(&mut self, length: Duration) {
        self.after_faults_ns = Some(length.as_nanos() as u64);
    }

    /// Begins the measured window at `at_ns`. The times of faults are relative to this time.
    pub fn measures_from(&mut self, at_ns: u64) {
        let ends_ns = self.measured_ns.map(|measured_ns| at_ns + measured_ns);
        self.ends_ns = self.ends_ns.or(ends_ns);
        self.measured_from_ns = Some(at_ns);
        for (number, fault) in self.faults.iter().enumerate() {
            let from_ns = at_ns + fault.at_ns;
            self.agenda.0.insert((from_ns, Due::Inject(number)));
        }
        if !self.faults.is_empty() {
            self.agenda.0.insert((at_ns, Due::LookAtFaults));
        }
    }

    /// Runs the loop until the load has ended.
    pub fn run(&mut self, world: &mut impl World) -> Result<()> {
        let mut is_over = false;
        while !is_over {
            let mut happened = VecDeque::new();
            match world.wait(self.agenda.next_ns()) {
                Next::Interval(interval) => {
                    happened
                        .push_back(LoopEvent::Interval(Box::new(SummedInterval::new(interval))));
                }
                Next::Lost(why) => happened.push_back(LoopEvent::ClientLost(why)),
                Next::Time => {}
                Next::Over => {
                    is_over = true;
                    happened.push_back(LoopEvent::Over);
                }
            }
            // `Interrupted` precedes `Time`, because the loop begins no action after the decision
            // to end the load.
            if world.is_interrupted() {
                happened.push_back(LoopEvent::Interrupted);
            }
            happened.push_back(LoopEvent::Time);
            while let Some(one) = happened.pop_front() {
                for act in self.take(world.now_ns(), one) {
                    happened.extend(world.act(act)?);
                }
            }
        }
        Ok(())
    }

    /// Returns the actions for an event, in the order in which to perform them.
    fn take(&mut self, now_ns: u64, happened: LoopEvent) -> Vec<Act> {
        match happened {
            LoopEvent::Time => {
                let due = self.agenda.take(now_ns).into_iter();
                due.filter_map(|due| self.due(now_ns, due)).collect()
            }
            LoopEvent::Interval(summed) => self.interval(&summed),
            // The loop checks the nodes again, because a node may have died since the last check.
            LoopEvent::Over => {
                let mut acts = vec![Act::LookAtNodes, Act::KeepReadings];
                acts.extend(self.left_out());
                acts
            }
            LoopEvent::FaultHolds(number, at_ns) => {
                let to_ns = at_ns + self.faults[number].for_ns;
                self.agenda.0.insert((to_ns, Due::Heal(number)));
                Vec::new()
            }
            // The fault has ended, so from now on, a node that is still down counts as an unplanned
            // death.
            LoopEvent::FaultOver(number) => {
                self.open.remove(&number);
                self.over.insert(number);
                let end = self.end_after_faults(now_ns);
                [Act::LookAtNodes].into_iter().chain(end).collect()
            }
            // If several nodes died, report the unexpected death, not the expected one.
            LoopEvent::Died(died) => {
                let mut died = died.into_iter();
                let missed = died.find(|died| !self.is_away(&died.node));
                missed.map_or(Vec::new(), |died| self.end(EarlyEnd::NodeDied(died.how)))
            }
            LoopEvent::ClientLost(why) => self.end(EarlyEnd::ClientLost(why)),
            LoopEvent::Interrupted => self.end(EarlyEnd::Interrupted),
        }
    }

    /// Ends a load that lasts until its last fault, once all faults have ended. The load then ends
    /// at the end of an interval. The end is at least as long after the last fault as the study
    /// requests, and late enough for all clients to receive the decision.
    fn end_after_faults(&mut self, now_ns: u64) -> Option<Act> {
        let (after_ns, from_ns) = self.after_faults_ns.zip(self.measured_from_ns)?;
        if self.cut.is_some() || self.over.len() < self.faults.len() {
            return None;
        }
        let least_ns = now_ns.saturating_sub(from_ns) + after_ns.max(END_NOTICE_NS);
        let at_ns = from_ns + least_ns.next_multiple_of(SECOND_NS);
        if self.ends_ns.is_some_and(|ends_ns| ends_ns <= at_ns) {
            return None;
        }
        self.ends_at(at_ns);
        Some(Act::Steer(Flow::StopAt(at_ns)))
    }

    /// Returns the action that is due, or `None` if it is obsolete. After the decision to end the
    /// load early, the loop does not check nodes and does not inject faults. The loop does not heal
    /// a fault that is not in effect.
    fn due(&mut self, now_ns: u64, due: Due) -> Option<Act> {
        let wanted = match due {
            Due::LookAtNodes => self.cut.is_none(),
            Due::Inject(number) => return self.may_begin(now_ns, number),
            Due::Heal(number) => self.open.contains(&number),
            _ => true,
        };
        wanted.then(|| due.act())
    }

    /// Begins a fault. A fault that must follow an earlier fault tries again after a tick until the
    /// earlier fault has ended. The loop omits such a fault if less than half of its duration is
    /// left before the end of the load.
    fn may_begin(&mut self, now_ns: u64, number: usize) -> Option<Act> {
        if self.cut.is_some() {
            return None;
        }
        let fault = &self.faults[number];
        let left_ns = self.ends_ns.map(|ends_ns| ends_ns.saturating_sub(now_ns));
        let is_late = left_ns.is_some_and(|left_ns| left_ns < fault.for_ns / 2);
        match fault.after {
            Some(_) if is_late => {
                self.over.insert(number);
                return Some(Act::Omit(number));
            }
            Some(before) if !self.over.contains(&before) => {
                let next = (now_ns + TICK_NS, Due::Inject(number));
                self.agenda.0.insert(next);
                return None;
            }
            _ => {}
        }
        self.open.insert(number);
        Some(Act::Inject(number))
    }

    fn left_out(&mut self) -> impl Iterator<Item = Act> {
        let all: BTreeSet<usize> = (0..self.faults.len()).collect();
        let left = &(&all - &self.open) - &self.over;
        self.over.extend(&left);
        left.into_iter().map(Act::Omit)
    }

    fn interval(&mut self, summed: &SummedInterval) -> Vec<Act> {
        self.consumers.iter_mut().for_each(|consumer| consumer.push(summed));
        self.progress.push(summed);
        let decision = (self.decide)(summed);
        let mut acts = vec![Act::Keep {
            phase: decision.phase,
            progress: self.progress,
            interval: Arc::clone(&summed.interval),
        }];
        if let Some(kind) = decision.next {
            self.progress = Progress::default();
            acts.push(Act::Begin(kind, summed.interval.end_ns));
            if kind == PhaseKind::Measure {
                self.measures_from(summed.interval.end_ns);
            }
        }
        if self.cut.is_none() && decision.flow != Flow::Continue {
            acts.push(Act::Steer(decision.flow));
        }
        if let Some(why) = self.guard.as_mut().and_then(|guard| guard.see(summed)) {
            let why = format!("the guard stopped the load: {why} (`guard` in the study)");
            acts.extend(self.end(EarlyEnd::Guarded(why)));
        }
        acts
    }

    /// Ends the load early. If the load has several reasons to end early, keeps the first one.
    fn end(&mut self, cut: EarlyEnd) -> Vec<Act> {
        if self.cut.is_some() {
            return Vec::new();
        }
        self.cut = Some(cut);
        // The loop heals the faults first, because the next load needs a target without faults.
        let heal = self.open.iter().map(|number| Act::Heal(*number));
        heal.chain([Act::Steer(Flow::Abandon)]).collect()
    }

    fn is_away(&self, node: &str) -> bool {
        let mut open = self.open.iter().map(|number| &self.faults[*number]);
        open.any(|fault| fault.takes_away.iter().any(|name| name == node))
    }
}

#[cfg(test)]
mod tests;
