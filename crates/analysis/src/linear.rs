//! Whether a register was one register to all: linearizability of the history of one key.
//!
//! A history is linearizable if its operations can be put in an order in which each takes effect
//! between its invocation and its return, and each answer is what a single register would have
//! given. The search is Wing and Gong's (1993): take any operation that nobody else had returned
//! before, see whether the register would have answered so, go on, and go back where that leads
//! nowhere. With Lowe's memoisation (2017): a set of operations that were taken, with the value
//! that they led to, is not looked at twice. That is the method of Knossos and Porcupine. An
//! operation of unknown outcome is taken only where the next one needs its value.
//! Linearizability is local (Herlihy and Wing, 1990), so that each register is judged alone.
//!
//! What must hold: an operation of unknown outcome may take effect at any time after its
//! invocation, or never; an operation that failed has had none. A violation is said only after all
//! orders were tried; a search that would take more states than it may says so, and nothing else.

use std::collections::HashSet;

/// An operation on a register; of unknown outcome if it never returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// When it was sent, ns.
    pub invoked_ns: u64,
    /// When its answer was there, ns; none: its outcome is unknown.
    pub returned_ns: Option<u64>,
    /// What was asked, and what was answered.
    pub what: RegisterEvent,
}

/// What was asked of a register, and answered. A value is none where there is nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterEvent {
    /// It had this value.
    Read(Option<i64>),
    /// It was given this value.
    Write(Option<i64>),
    /// It was given a value on condition that it had another one.
    Swap {
        /// The value that it had to have.
        from: Option<i64>,
        /// The value that it was given then.
        to: Option<i64>,
        /// Whether it had it; of no meaning where the outcome is unknown.
        applied: bool,
        /// The value that it had instead, where the answer says so.
        instead: Option<Option<i64>>,
    },
}

/// What came of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryVerdict {
    /// There is such an order.
    Linearizable,
    /// There is none: however far one gets, one of these operations (by their place in the history)
    /// has an answer that no register would have given.
    Violated(Vec<usize>),
    /// Not decided after so many states.
    Undecided(u64),
}

/// Judges the history of one register, whose value at first was `initial`, in at most `states_max`
/// states. Each takes some hundred bytes, more where many operations are under way at once.
pub fn judge(history: &[Operation], initial: Option<i64>, states_max: u64) -> HistoryVerdict {
    Search::new(history, initial).run(states_max)
}

/// A search in progress.
struct Search<'h> {
    history: &'h [Operation],
    /// Places in the history, by invocation; reads of unknown outcome, which say nothing, are out.
    order: Vec<usize>,
    /// By place in `order`: whether it was taken.
    taken: Vec<u64>,
    value: Option<i64>,
    /// The first place that was not taken.
    first: usize,
    /// Returned operations that were not taken.
    left: usize,
    seen: HashSet<(usize, Box<[u64]>, Option<i64>)>,
    /// What was taken: its place in `order`, and the value before it.
    path: Vec<(usize, Option<i64>)>,
    /// Where the longest path could not go on.
    stuck: (usize, Vec<usize>),
}

impl<'h> Search<'h> {
    fn new(history: &'h [Operation], initial: Option<i64>) -> Search<'h> {
        let says = |operation: &Operation| {
            operation.returned_ns.is_some() || !matches!(operation.what, RegisterEvent::Read(_))
        };
        let mut order: Vec<usize> = (0..history.len()).filter(|&at| says(&history[at])).collect();
        order.sort_by_key(|&at| history[at].invoked_ns);
        let returned = order.iter().filter(|&&at| history[at].returned_ns.is_some());
        Search {
            left: returned.count(),
            taken: vec![0; order.len().div_ceil(64)],
            value: initial,
            first: 0,
            seen: HashSet::new(),
            path: Vec::new(),
            stuck: (0, Vec::new()),
            history,
            order,
        }
    }

    fn run(mut self, states_max: u64) -> HistoryVerdict {
        let mut states = 0;
        // The place in `order` from which the next one to be taken is looked for.
        let mut from = 0;
        loop {
            if self.left == 0 {
                return HistoryVerdict::Linearizable;
            }
            match self.next(from) {
                Some((place, value)) => {
                    self.take(place, value);
                    states += 1;
                    from = if self.seen.insert(self.state()) {
                        self.first
                    } else {
                        self.give_back()
                    };
                }
                None => {
                    self.note_stuck();
                    if self.path.is_empty() {
                        return HistoryVerdict::Violated(self.stuck.1);
                    }
                    from = self.give_back();
                }
            }
            if states >= states_max && self.left > 0 {
                return HistoryVerdict::Undecided(states);
            }
        }
    }

    /// The next operation, from a place on, that may be the next to take effect, and the value that
    /// it leaves.
    fn next(&self, from: usize) -> Option<(usize, Option<i64>)> {
        let mut candidates = self.candidates().filter(|&place| place >= from);
        candidates.find_map(|place| {
            let value = self.effect(place, self.value)?;
            (self.returned(place) || self.is_worth_taking(place, value)).then_some((place, value))
        })
    }

    /// Returns true if no other order covers the one in which an operation of unknown outcome takes
    /// effect now. If the next operation does not need `value`, the order without this one is valid
    /// too. Of two that do the same, the search takes the one that was sent first.
    fn is_worth_taking(&self, place: usize, value: Option<i64>) -> bool {
        let what = |place: usize| &self.history[self.order[place]].what;
        let mut others = self.candidates().filter(|&other| other != place);
        let is_needed = others.any(|other| {
            !matches!(what(other), RegisterEvent::Write(_)) && self.effect(other, value).is_some()
        });
        let before = (self.first..place).filter(|&other| !self.is_taken(other));
        let mut twins = before.filter(|&other| !self.returned(other));
        value != self.value
            && is_needed
            && !twins.any(|other| same_effect(what(other), what(place)))
    }

    /// Places that nobody left has returned before.
    fn candidates(&self) -> impl Iterator<Item = usize> {
        let mut earliest_ns = u64::MAX;
        let left = (self.first..self.order.len()).filter(|&place| !self.is_taken(place));
        left.map_while(move |place| {
            let operation = &self.history[self.order[place]];
            // Those that were invoked later returned later still.
            if operation.invoked_ns > earliest_ns {
                return None;
            }
            earliest_ns = earliest_ns.min(operation.returned_ns.unwrap_or(u64::MAX));
            Some(place)
        })
    }

    /// Returns the value after an operation on a register with the value `before`. `None` if such a
    /// register would have answered otherwise.
    fn effect(&self, place: usize, before: Option<i64>) -> Option<Option<i64>> {
        let operation = &self.history[self.order[place]];
        let is_known = operation.returned_ns.is_some();
        match operation.what {
            RegisterEvent::Read(value) => (value == before).then_some(value),
            RegisterEvent::Write(value) => Some(value),
            RegisterEvent::Swap {
                from,
                to,
                applied,
                instead,
            } => match (is_known, from == before) {
                // Without effect it need not be taken at all.
                (false, holds) => holds.then_some(to),
                (true, true) => applied.then_some(to),
                (true, false) => {
                    let says_so = instead.is_none_or(|instead| instead == before);
                    (!applied && says_so).then_some(before)
                }
            },
        }
    }

    fn take(&mut self, place: usize, value: Option<i64>) {
        self.path.push((place, self.value));
        self.value = value;
        self.taken[place / 64] |= 1 << (place % 64);
        self.left -= usize::from(self.returned(place));
        while self.first < self.order.len() && self.is_taken(self.first) {
            self.first += 1;
        }
    }

    /// What was taken, and the value that it led to: all before the first place that was not, and a
    /// few behind it, which is what makes long histories fit into memory.
    fn state(&self) -> (usize, Box<[u64]>, Option<i64>) {
        let mut behind = self.path.len() - self.first;
        let mut mask = u64::MAX << (self.first % 64);
        let mut words = Vec::new();
        for word in self.taken.iter().skip(self.first / 64) {
            if behind == 0 {
                break;
            }
            words.push(word & mask);
            behind -= (word & mask).count_ones() as usize;
            mask = u64::MAX;
        }
        (self.first, words.into_boxed_slice(), self.value)
    }

    /// Takes the last one back; the place behind it.
    fn give_back(&mut self) -> usize {
        let Some((place, value)) = self.path.pop() else {
            return self.order.len();
        };
        self.value = value;
        self.taken[place / 64] &= !(1 << (place % 64));
        self.left += usize::from(self.returned(place));
        self.first = self.first.min(place);
        place + 1
    }

    /// Remembers where the longest path ended: what it could not go on with.
    fn note_stuck(&mut self) {
        if self.stuck.1.is_empty() || self.path.len() > self.stuck.0 {
            let places = self.candidates().filter(|&place| self.returned(place));
            let at = places.map(|place| self.order[place]).collect();
            self.stuck = (self.path.len(), at);
        }
    }

    fn returned(&self, place: usize) -> bool {
        self.history[self.order[place]].returned_ns.is_some()
    }

    fn is_taken(&self, place: usize) -> bool {
        self.taken[place / 64] >> (place % 64) & 1 == 1
    }
}

/// Returns true if two operations of unknown outcome do the same. Their `applied` has no meaning.
fn same_effect(one: &RegisterEvent, other: &RegisterEvent) -> bool {
    let asked = |event: &RegisterEvent| match *event {
        RegisterEvent::Swap { from, to, .. } => (Some(from), to),
        RegisterEvent::Write(to) | RegisterEvent::Read(to) => (None, to),
    };
    asked(one) == asked(other)
}

#[cfg(test)]
mod tests;
