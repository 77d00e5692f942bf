//! What is done while load is offered, and when: the one loop, on any clock.
//!
//! [`Conduct`] decides: it is told what happened and what time it is, and says what is to be done.
//! It waits for nothing and does nothing itself. A [`World`] has the clock, the load and the hands.
//!
//! What must hold: a dead node and Ctrl-C end the load within [`TICK_NS`], whatever the load does;
//! what is due is done at its time. So nothing that the world does may take longer than a tick:
//! what would has a thread of its own, and comes back as something that happened.

use super::event::Progress;
use super::guard::Watch;
use super::tally::Tally;
use anyhow::Result;
use fleet::Next;
use load::Flow;
use measure::clock::{MILLISECOND_NS, SECOND_NS};
use measure::{Interval, Summed};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use study::plan::PhaseKind;

/// How often it is looked whether all nodes are there, and whether somebody wants an end: as soon
/// as a person sees it at once, and so seldom that looking costs nothing.
pub const TICK_NS: u64 = 100 * MILLISECOND_NS;
/// How often what probes have read is written down.
const READINGS_EVERY_NS: u64 = SECOND_NS;
/// A stop is told so long before it comes: workers look once in half of that.
const STOP_AHEAD_NS: u64 = 100 * MILLISECOND_NS;

/// Something that happened.
#[derive(Debug)]
pub enum Happened {
    /// Time has passed: whatever is due is to be done.
    Time,
    /// An interval of the load has ended.
    Interval(Box<Summed>),
    /// The load has ended.
    Over,
    /// A client of several is lost, as the words say.
    ClientLost(String),
    /// Nodes are not there.
    Died(Vec<Died>),
    /// A fault, by its number, holds since a time of the monotonic clock: since it is injected, as
    /// soon as what it hits is whole, or since it was brought about, if that takes a while.
    FaultHolds(usize, u64),
    /// A fault, by its number, has come to its end, healed or not.
    FaultOver(usize),
    /// The user pressed Ctrl-C.
    Interrupted,
}

/// A node that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Died {
    /// Its name.
    pub node: String,
    /// Its name, how it ended, and its last log lines.
    pub how: String,
}

/// What is to be done.
#[derive(Debug)]
pub enum Act {
    /// Write an interval down, and show it.
    Keep {
        /// The phase that it belongs to, as in the records.
        phase: &'static str,
        /// What it came to, for people.
        progress: Progress,
        /// All its counts.
        interval: Arc<Interval>,
    },
    /// A phase has begun, at this time of the monotonic clock.
    Begin(PhaseKind, u64),
    /// Tell the load how it goes on.
    Steer(Flow),
    /// Look whether all nodes are there.
    LookAtNodes,
    /// Look what has come of what was broken.
    LookAtFaults,
    /// Write down what probes have read.
    KeepReadings,
    /// Break what the fault of this number breaks, as soon as it is whole.
    Inject(usize),
    /// Write down that there is no time left for it.
    Omit(usize),
    /// Heal it.
    Heal(usize),
}

/// Whoever does what is to be done, with its clock.
pub trait World {
    /// Now, monotonic clock.
    fn now_ns(&self) -> u64;

    /// Waits for the next interval of the load, until a time at most.
    fn wait(&mut self, until_ns: u64) -> Next;

    /// Whether Ctrl-C was pressed.
    fn is_interrupted(&self) -> bool;

    /// Does it; what has come of it.
    ///
    /// # Errors
    /// It cannot be done, and the load makes no sense without.
    fn act(&mut self, act: Act) -> Result<Option<Happened>>;
}

/// What is due at its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    LookAtNodes,
    LookAtFaults,
    KeepReadings,
    Inject(usize),
    Heal(usize),
    /// The load is to end then.
    Stop(u64),
}

impl Due {
    /// After how long it is due again.
    fn every_ns(self) -> Option<u64> {
        match self {
            Due::LookAtNodes | Due::LookAtFaults => Some(TICK_NS),
            Due::KeepReadings => Some(READINGS_EVERY_NS),
            Due::Inject(_) | Due::Heal(_) | Due::Stop(_) => None,
        }
    }

    fn act(self) -> Act {
        match self {
            Due::LookAtNodes => Act::LookAtNodes,
            Due::LookAtFaults => Act::LookAtFaults,
            Due::KeepReadings => Act::KeepReadings,
            Due::Inject(number) => Act::Inject(number),
            Due::Heal(number) => Act::Heal(number),
            Due::Stop(at_ns) => Act::Steer(Flow::StopAt(at_ns)),
        }
    }
}

/// What is due, by its time.
#[derive(Debug, Default)]
struct Agenda(BTreeSet<(u64, Due)>);

impl Agenda {
    fn next_ns(&self) -> u64 {
        self.0.first().map_or(u64::MAX, |(at_ns, _)| *at_ns)
    }

    /// What has come due by now. What was due several times meanwhile is due once.
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

/// Something that is to be broken while load is measured.
#[derive(Clone, Debug)]
pub struct Breaking {
    /// When, after the begin of the measured window, ns.
    pub at_ns: u64,
    /// For how long it holds, ns.
    pub for_ns: u64,
    /// The number of the one that has to be over before it begins.
    pub after: Option<usize>,
    /// The nodes that are away until it is healed.
    pub takes_away: Vec<String>,
}

/// What whoever decides says of an interval.
pub struct Decision {
    /// The phase that the interval belongs to, as in the records.
    pub phase: &'static str,
    /// Whether to go on.
    pub flow: Flow,
    /// The phase that begins with the next interval, if one does.
    pub next: Option<PhaseKind>,
}

impl Decision {
    /// Go on; the interval belongs to `phase`.
    pub fn of(phase: &'static str) -> Decision {
        Decision {
            phase,
            flow: Flow::Continue,
            next: None,
        }
    }

    /// Go on in `phase`; the drain is a phase of its own.
    pub fn go_on(phase: &'static str, interval: &Interval) -> Decision {
        Decision::of(if interval.draining { "drain" } else { phase })
    }
}

/// How a phase ended, when it did not end as planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The user pressed Ctrl-C.
    Interrupted,
    /// A node has died; its name, how, and its last log lines.
    NodeDied(String),
    /// The load was too much for others who use the target.
    Guarded(String),
    /// A client of several was lost: its name, how, and when.
    ClientLost(String),
}

/// The load of one phase while it is offered: what it has come to, and what is due.
pub struct Conduct<'c> {
    decide: &'c mut dyn FnMut(&Summed) -> Decision,
    agenda: Agenda,
    faults: Vec<Breaking>,
    /// The numbers of those that are on.
    open: BTreeSet<usize>,
    /// Those that have come to their ends.
    over: BTreeSet<usize>,
    /// How long is measured, if that is known, ns.
    measured_ns: Option<u64>,
    /// When the load ends, if that is known, ns.
    ends_ns: Option<u64>,
    progress: Progress,
    /// What it came to so far.
    pub tally: Tally,
    /// Why it ends before its plan does.
    pub cut: Option<Cut>,
    /// What ends it where it is too much; none: nothing does.
    pub guard: Option<Watch>,
}

impl<'c> Conduct<'c> {
    /// From the start line on, at `start_ns`. `decide` sees each interval, says the phase that it
    /// belongs to and whether to go on; `faults` come when load is measured.
    pub fn new(
        start_ns: u64,
        tally: Tally,
        faults: Vec<Breaking>,
        decide: &'c mut dyn FnMut(&Summed) -> Decision,
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
            ends_ns: None,
            progress: Progress::default(),
            tally,
            cut: None,
            guard: None,
        }
    }

    /// The load ends after so many operations.
    pub fn ends_after(&mut self, operations: u64) {
        self.progress.of = Some(operations);
    }

    /// The load ends at `at_ns`, if nothing ends it before.
    pub fn ends_at(&mut self, at_ns: u64) {
        self.ends_ns = Some(at_ns);
        let told_ns = at_ns.saturating_sub(STOP_AHEAD_NS);
        self.agenda.0.insert((told_ns, Due::Stop(at_ns)));
    }

    /// The load ends when so much has been measured.
    pub fn measures_for(&mut self, length: Duration) {
        self.measured_ns = Some(length.as_nanos() as u64);
    }

    /// What is measured begins at `at_ns`: from then on the times of faults count.
    pub fn measures_from(&mut self, at_ns: u64) {
        let ends_ns = self.measured_ns.map(|measured_ns| at_ns + measured_ns);
        self.ends_ns = self.ends_ns.or(ends_ns);
        for (number, fault) in self.faults.iter().enumerate() {
            let from_ns = at_ns + fault.at_ns;
            self.agenda.0.insert((from_ns, Due::Inject(number)));
        }
        if !self.faults.is_empty() {
            self.agenda.0.insert((at_ns, Due::LookAtFaults));
        }
    }

    /// Goes on until the load has ended.
    pub fn run(&mut self, world: &mut impl World) -> Result<()> {
        let mut is_over = false;
        while !is_over {
            let mut happened = VecDeque::new();
            match world.wait(self.agenda.next_ns()) {
                Next::Interval(interval) => {
                    happened.push_back(Happened::Interval(Box::new(Summed::new(interval))));
                }
                Next::Lost(why) => happened.push_back(Happened::ClientLost(why)),
                Next::Time => {}
                Next::Over => {
                    is_over = true;
                    happened.push_back(Happened::Over);
                }
            }
            // Whoever wants an end has nothing more begun.
            if world.is_interrupted() {
                happened.push_back(Happened::Interrupted);
            }
            happened.push_back(Happened::Time);
            while let Some(one) = happened.pop_front() {
                for act in self.take(world.now_ns(), one) {
                    happened.extend(world.act(act)?);
                }
            }
        }
        Ok(())
    }

    /// What is to be done about what happened, in this order.
    fn take(&mut self, now_ns: u64, happened: Happened) -> Vec<Act> {
        match happened {
            Happened::Time => {
                let due = self.agenda.take(now_ns).into_iter();
                due.filter_map(|due| self.due(now_ns, due)).collect()
            }
            Happened::Interval(summed) => self.interval(&summed),
            // Once more: a node may have died since the last look.
            Happened::Over => {
                let mut acts = vec![Act::LookAtNodes, Act::KeepReadings];
                acts.extend(self.left_out());
                acts
            }
            Happened::FaultHolds(number, at_ns) => {
                let to_ns = at_ns + self.faults[number].for_ns;
                self.agenda.0.insert((to_ns, Due::Heal(number)));
                Vec::new()
            }
            // From now on its node is missed if it is away.
            Happened::FaultOver(number) => {
                self.open.remove(&number);
                self.over.insert(number);
                vec![Act::LookAtNodes]
            }
            // One that is expected to be away hides no other.
            Happened::Died(died) => {
                let mut died = died.into_iter();
                let missed = died.find(|died| !self.is_away(&died.node));
                missed.map_or(Vec::new(), |died| self.end(Cut::NodeDied(died.how)))
            }
            Happened::ClientLost(why) => self.end(Cut::ClientLost(why)),
            Happened::Interrupted => self.end(Cut::Interrupted),
        }
    }

    /// What is to be done of what is due. Whoever is missed has been missed, who ends breaks
    /// nothing more, and what is whole needs no healing.
    fn due(&mut self, now_ns: u64, due: Due) -> Option<Act> {
        let wanted = match due {
            Due::LookAtNodes => self.cut.is_none(),
            Due::Inject(number) => return self.may_begin(now_ns, number),
            Due::Heal(number) => self.open.contains(&number),
            _ => true,
        };
        wanted.then(|| due.act())
    }

    /// A fault begins when the one before it is over; not at all, if that leaves less than half of
    /// its time until the load ends.
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

    /// Those whose turn has not come, now that the load has ended.
    fn left_out(&mut self) -> impl Iterator<Item = Act> {
        let all: BTreeSet<usize> = (0..self.faults.len()).collect();
        let left = &(&all - &self.open) - &self.over;
        self.over.extend(&left);
        left.into_iter().map(Act::Omit)
    }

    fn interval(&mut self, summed: &Summed) -> Vec<Act> {
        self.tally.push(summed);
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
            let why = format!("the guard ended the load: {why} (`guard` in the study)");
            acts.extend(self.end(Cut::Guarded(why)));
        }
        acts
    }

    /// The first reason holds.
    fn end(&mut self, cut: Cut) -> Vec<Act> {
        if self.cut.is_some() {
            return Vec::new();
        }
        self.cut = Some(cut);
        // First of all: whoever comes next is to find all whole.
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
