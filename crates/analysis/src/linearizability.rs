//! Linearizability of the history of one register.
//!
//! A history is linearizable if its operations can be put in a valid order. In a valid order, each
//! operation takes effect between its invocation and its return, and each answer is that of a
//! single register. The search is that of Wing and Gong (1993). It takes any operation that was
//! sent before all other remaining operations returned, and checks that the register would have
//! returned this answer. It continues, and backtracks from a dead end. With the memoisation of Lowe
//! (2017), it never visits a state twice. Knossos and Porcupine use the same search.
//! Linearizability is local (Herlihy and Wing, 1990), so the search judges each register alone.
//!
//! An operation of unknown outcome may take effect at any time after its invocation, or never. The
//! search uses such an operation only if an operation that may come next needs its value. It does
//! not revisit a state with the same or more operations of unknown outcome used. An operation that
//! failed had no effect. The search reports a violation only after it has tried all orders. If that
//! would take too many states, it reports only the number of states.

use std::collections::HashMap;

/// An operation on a register. If the operation never returned, its outcome is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Time at which the client sent the operation, in ns.
    pub invoked_ns: u64,
    /// Time at which the answer arrived, in ns. `None` if the outcome is unknown.
    pub returned_ns: Option<u64>,
    /// Request of the operation and its answer.
    pub what: RegisterEvent,
}

/// A request to a register with its answer. A value is `None` if the register is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegisterEvent {
    /// The client read this value.
    Read(Option<i64>),
    /// The client wrote this value.
    Write(Option<i64>),
    /// The client wrote a value on the condition that the register contained a given value.
    Swap {
        /// Value that the register had to contain.
        from: Option<i64>,
        /// Value that the client wrote if the condition was true.
        to: Option<i64>,
        /// True if the condition was true. Meaningless if the outcome is unknown.
        applied: bool,
        /// Actual value of the register, if the answer contains it.
        instead: Option<Option<i64>>,
    },
}

/// Result of the search in one history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryVerdict {
    /// A valid order exists.
    Linearizable,
    /// No valid order exists. The value contains the indices of operations in the history. At these
    /// operations, the path with the most returned operations ended, because no register would have
    /// returned their answers.
    Violated(Vec<usize>),
    /// The search gave up after this number of states.
    Undecided(u64),
}

/// Judges the history of one register, which initially contains the value `initial`. The search
/// visits at most `states_max` states. Each state takes a few hundred bytes, or more if many
/// operations overlap.
pub fn judge(history: &[Operation], initial: Option<i64>, states_max: u64) -> HistoryVerdict {
    Search::new(history, initial).run(states_max)
}

struct Search<'h> {
    history: &'h [Operation],
    /// Operations that returned, by their indices in the history, ordered by invocation.
    known: SearchState,
    /// Writes and swaps of unknown outcome, by their indices in the history, ordered by invocation.
    /// Reads of unknown outcome are omitted.
    unknown: SearchState,
    value: Option<i64>,
    /// States that the search has visited. Each state is stored with the sets of operations of
    /// unknown outcome that the search used on the paths to the state. None of the sets contains
    /// another set.
    seen: HashMap<State, Vec<Set>>,
    /// Steps taken so far, each with the value of the register before the step.
    path: Vec<(EffectStep, Option<i64>)>,
    /// Largest number of returned operations on any path, and the operations at which the search
    /// could not continue on that path.
    stuck: (usize, Vec<usize>),
}

/// A set of operations, with one bit for the index of each operation.
type Set = Box<[u64]>;

/// Operations that returned and have taken effect, in the form of `SearchState::chosen`, and the
/// value of the register after these operations.
type State = ((usize, Set), Option<i64>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum EffectStep {
    /// An operation that returned, by its index in `Search::known`.
    Known(usize),
    /// An operation of unknown outcome, by its index in `Search::unknown`.
    Unknown(usize),
}

impl<'h> Search<'h> {
    fn new(history: &'h [Operation], initial: Option<i64>) -> Search<'h> {
        let mut order: Vec<usize> = (0..history.len()).collect();
        order.sort_by_key(|&at| history[at].invoked_ns);
        let (known, unknown): (Vec<usize>, Vec<usize>) =
            order.into_iter().partition(|&at| history[at].returned_ns.is_some());
        // A read without an answer shows nothing about the register, so the search ignores it.
        let changes = |&at: &usize| !matches!(history[at].what, RegisterEvent::Read(_));
        Search {
            known: SearchState::none_of(known),
            unknown: SearchState::none_of(unknown.into_iter().filter(changes).collect()),
            value: initial,
            seen: HashMap::new(),
            path: Vec::new(),
            stuck: (0, Vec::new()),
            history,
        }
    }

    fn run(mut self, states_max: u64) -> HistoryVerdict {
        let mut states = 0;
        // For each state on the path: the steps that the search has not yet tried from that state.
        // The search tries the last of these steps next.
        let mut to_try = vec![self.steps()];
        while self.known.left > 0 {
            if states >= states_max {
                return HistoryVerdict::Undecided(states);
            }
            if let Some(step) = to_try.last_mut().and_then(Vec::pop) {
                self.take(step);
                states += 1;
                if self.is_first_visit() {
                    to_try.push(self.steps());
                } else {
                    self.give_back();
                }
            } else {
                self.note_stuck();
                to_try.pop();
                if self.path.is_empty() {
                    return HistoryVerdict::Violated(self.stuck.1);
                }
                self.give_back();
            }
        }
        HistoryVerdict::Linearizable
    }

    /// Returns the possible steps from the current state. The caller tries the last step first. In
    /// that order, operations that returned come before operations of unknown outcome, and earlier
    /// operations come before later operations.
    fn steps(&self) -> Vec<EffectStep> {
        let candidates = self.candidates();
        let only_asks = |&place: &usize| {
            !matches!(self.operation(place).what, RegisterEvent::Write(_))
                && self.effect(&self.known, place) == Some(self.value)
        };
        // The operation does not change the register. If a valid order exists, it remains valid
        // with this operation as the next, so the search does not need to try other steps.
        if let Some(place) = candidates.iter().copied().find(only_asks) {
            return vec![EffectStep::Known(place)];
        }
        let unknown = self.unknown_candidates(&candidates);
        let worth = unknown.filter(|&place| self.is_worth_taking(place, &candidates));
        let possible =
            candidates.iter().filter(|&&place| self.effect(&self.known, place).is_some());
        let mut steps: Vec<EffectStep> = possible.copied().map(EffectStep::Known).collect();
        steps.extend(worth.map(EffectStep::Unknown));
        steps.reverse();
        steps
    }

    /// Returns true if the search must try the operation of unknown outcome as the next step. If no
    /// operation that may come next needs the value of this operation, the order without this
    /// operation is valid too. Of two operations with the same effect, the search takes the earlier
    /// one.
    fn is_worth_taking(&self, place: usize, candidates: &[usize]) -> bool {
        let Some(value) = self.effect(&self.unknown, place) else {
            return false;
        };
        let needs_it = |list: &SearchState, other: usize| {
            let what = &self.history[list.order[other]].what;
            !matches!(what, RegisterEvent::Write(_)) && self.effect_on(list, other, value).is_some()
        };
        let is_needed = || {
            let mut unknown = self.unknown_candidates(candidates);
            candidates.iter().any(|&other| needs_it(&self.known, other))
                || unknown.any(|other| other != place && needs_it(&self.unknown, other))
        };
        let what = |place: usize| &self.history[self.unknown.order[place]].what;
        let mut before = (0..place).filter(|&other| !self.unknown.has(other));
        value != self.value
            && !before.any(|other| same_effect(what(other), what(place)))
            && is_needed()
    }

    /// Returns the operations of known outcome that can take effect next. These are the operations
    /// that were sent before any other remaining operation had returned.
    fn candidates(&self) -> Vec<usize> {
        let mut earliest_ns = u64::MAX;
        let left = self.known.rest().map_while(|place| {
            let operation = self.operation(place);
            // All later operations were sent after `earliest_ns`, so they also returned after
            // `earliest_ns`.
            let is_candidate = operation.invoked_ns <= earliest_ns;
            earliest_ns = earliest_ns.min(operation.returned_ns.unwrap_or(u64::MAX));
            is_candidate.then_some(place)
        });
        left.collect()
    }

    fn unknown_candidates(&self, candidates: &[usize]) -> impl Iterator<Item = usize> {
        let returned = candidates.iter().filter_map(|&place| self.operation(place).returned_ns);
        let earliest_ns = returned.min().unwrap_or(u64::MAX);
        let invoked =
            move |&place: &usize| self.history[self.unknown.order[place]].invoked_ns <= earliest_ns;
        self.unknown.rest().take_while(invoked)
    }

    fn operation(&self, place: usize) -> &Operation {
        &self.history[self.known.order[place]]
    }

    /// Returns the value of the register after an operation takes effect in the current state.
    /// Returns `None` if the register would have returned a different answer.
    fn effect(&self, list: &SearchState, place: usize) -> Option<Option<i64>> {
        self.effect_on(list, place, self.value)
    }

    /// Returns the value after an operation on a register with the value `before`. Returns `None`
    /// if such a register would have returned a different answer.
    fn effect_on(
        &self,
        list: &SearchState,
        place: usize,
        before: Option<i64>,
    ) -> Option<Option<i64>> {
        let operation = &self.history[list.order[place]];
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
                // A swap of unknown outcome that has no effect can be omitted, so it is not a step.
                (false, holds) => holds.then_some(to),
                (true, true) => applied.then_some(to),
                (true, false) => {
                    let says_so = instead.is_none_or(|instead| instead == before);
                    (!applied && says_so).then_some(before)
                }
            },
        }
    }

    fn take(&mut self, step: EffectStep) {
        self.path.push((step, self.value));
        let (list, place) = match step {
            EffectStep::Known(place) => (&self.known, place),
            EffectStep::Unknown(place) => (&self.unknown, place),
        };
        // The fallback is never needed, because `steps` returns only operations that have an
        // effect.
        self.value = self.effect(list, place).unwrap_or(self.value);
        match step {
            EffectStep::Known(place) => self.known.choose(place),
            EffectStep::Unknown(place) => self.unknown.choose(place),
        }
    }

    /// Undoes the last step.
    fn give_back(&mut self) {
        let Some((step, value)) = self.path.pop() else {
            return;
        };
        self.value = value;
        match step {
            EffectStep::Known(place) => self.known.give_back(place),
            EffectStep::Unknown(place) => self.unknown.give_back(place),
        }
    }

    /// Returns true if this state is new. A state is not new if an earlier visit to it had at least
    /// the same unused operations of unknown outcome. All steps that are possible now were possible
    /// in that visit as well.
    fn is_first_visit(&mut self) -> bool {
        let spent = self.unknown.bits.clone().into_boxed_slice();
        let sets = self.seen.entry((self.known.chosen(), self.value)).or_default();
        if sets.iter().any(|set| contains(&spent, set)) {
            return false;
        }
        sets.retain(|set| !contains(set, &spent));
        sets.push(spent);
        true
    }

    /// Records the operations that blocked the path with the most returned operations.
    fn note_stuck(&mut self) {
        let taken = self.known.order.len() - self.known.left;
        if self.stuck.1.is_empty() || taken > self.stuck.0 {
            let candidates = self.candidates();
            let at = candidates.iter().map(|&place| self.known.order[place]);
            self.stuck = (taken, at.collect());
        }
    }
}

/// A list of operations, with a mark for each operation that has taken effect.
struct SearchState {
    /// Indices of the operations in the history, ordered by invocation.
    order: Vec<usize>,
    /// One bit for each index in `order`. The bit is set if the operation has taken effect.
    bits: Vec<u64>,
    /// First index whose bit is not set.
    first: usize,
    /// Number of indices whose bit is not set.
    left: usize,
}

impl SearchState {
    fn none_of(order: Vec<usize>) -> SearchState {
        SearchState {
            bits: vec![0; order.len().div_ceil(64)],
            first: 0,
            left: order.len(),
            order,
        }
    }

    fn has(&self, place: usize) -> bool {
        self.bits[place / 64] >> (place % 64) & 1 == 1
    }

    fn rest(&self) -> impl Iterator<Item = usize> {
        (self.first..self.order.len()).filter(|&place| !self.has(place))
    }

    fn choose(&mut self, place: usize) {
        self.bits[place / 64] |= 1 << (place % 64);
        self.left -= 1;
        while self.first < self.order.len() && self.has(self.first) {
            self.first += 1;
        }
    }

    fn give_back(&mut self, place: usize) {
        self.bits[place / 64] &= !(1 << (place % 64));
        self.left += 1;
        self.first = self.first.min(place);
    }

    /// Returns the first index whose bit is not set, and the bits from that index up to the last
    /// bit that is set. All earlier bits are set, so this form is short even for a state of a long
    /// history.
    fn chosen(&self) -> (usize, Set) {
        let mut behind = self.order.len() - self.left - self.first;
        let mut mask = u64::MAX << (self.first % 64);
        let mut words = Vec::new();
        for word in self.bits.iter().skip(self.first / 64) {
            if behind == 0 {
                break;
            }
            words.push(word & mask);
            behind -= (word & mask).count_ones() as usize;
            mask = u64::MAX;
        }
        (self.first, words.into_boxed_slice())
    }
}

/// Returns true if `set` contains all bits of `part`. Both slices have the same length.
fn contains(set: &[u64], part: &[u64]) -> bool {
    set.iter().zip(part).all(|(set, part)| part & !set == 0)
}

/// Returns true if two operations of unknown outcome have the same effect. The function ignores
/// `applied`, which is meaningless if the outcome is unknown.
fn same_effect(one: &RegisterEvent, other: &RegisterEvent) -> bool {
    let asked = |event: &RegisterEvent| match *event {
        RegisterEvent::Swap { from, to, .. } => (Some(from), to),
        RegisterEvent::Write(to) | RegisterEvent::Read(to) => (None, to),
    };
    asked(one) == asked(other)
}

#[cfg(test)]
mod tests;
