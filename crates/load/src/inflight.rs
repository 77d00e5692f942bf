//! The in-flight table of one worker. It maps each stream to the attempt and the operation that
//! wait for a response on it.
//!
//! A slot's index *is* the CQL stream id over all connections of the worker, so a response finds
//! its operation without a search. Attempts with the same timeout and the same speculation delay
//! belong to one class. The slots of a class that wait for a response form a list in the order of
//! sending. The next attempt that expires, and the next attempt that needs a second node, are
//! therefore always at the head of a list. [`InFlight::new`] allocates all memory.

use workload::Operation;

/// Maximum number of slots. Stream ids have 15 bits in protocol v4, because the negative numbers
/// belong to the server.
pub(crate) const SLOTS_MAX: usize = 32_768;
/// Number that marks the absence of a slot or of a connection.
pub(crate) const NONE: u16 = u16::MAX;
/// Maximum number of classes. Each kind of operation has one class, and a program has at most 64
/// kinds.
pub(crate) const CLASSES_MAX: usize = 64;
/// Bit in [`Slot::class`] that marks an operation with an `OperationState`. Such an operation may
/// continue with another request after its response, or with another attempt.
pub(crate) const SPECIAL: u8 = 0x80;
/// Delay that never elapses.
pub(crate) const NEVER_NS: u64 = u64::MAX;

const _: () = assert!(CLASSES_MAX <= SPECIAL as usize);
const _: () = assert!(SLOTS_MAX - 1 <= i16::MAX as usize && SLOTS_MAX <= NONE as usize);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Free,
    Waiting,
    /// The attempt waits for the response to a PREPARE, after which its operation is sent again.
    Preparing,
    /// The worker has abandoned the attempt, because the attempt timed out or another attempt of
    /// its operation was answered first. The worker cannot use the stream id again until the late
    /// response arrives.
    Orphaned,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub operation: Operation,
    pub intended_ns: u64,
    pub sent_ns: u64,
    pub connection: u16,
    pub state: State,
    /// Index of the attempt's class. The bit [`SPECIAL`] may be set in addition.
    pub class: u8,
    previous: u16,
    next: u16,
}

impl Slot {
    /// Returns true if the slot's operation is one request and one response without any follow-up.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.class & SPECIAL == 0
    }
}

/// Timeout and speculation delay that the attempts of a class have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    pub timeout_ns: u64,
    /// Time after the send at which the worker sends a second attempt, in ns. [`NEVER_NS`] means
    /// that it never does.
    pub speculate_ns: u64,
}

/// Waiting slots of a class, with the oldest slot first.
#[derive(Clone, Copy, Debug)]
struct List {
    class: Class,
    oldest: u16,
    newest: u16,
    /// Oldest slot that the worker has not considered for speculation yet.
    unspeculated: u16,
}

#[derive(Debug)]
pub(crate) struct InFlight {
    slots: Box<[Slot]>,
    free: Vec<u16>,
    lists: Box<[List]>,
    waiting_count: u32,
    orphans_count: u32,
}

impl InFlight {
    /// Creates a table of `slots_count` slots (1 to [`SLOTS_MAX`]).
    pub fn new(slots_count: usize, classes: &[Class]) -> InFlight {
        assert!(
            (1..=SLOTS_MAX).contains(&slots_count),
            "{slots_count} slots"
        );
        assert!(
            (1..=CLASSES_MAX).contains(&classes.len()),
            "{} classes",
            classes.len()
        );
        let empty = Slot {
            operation: Operation::default(),
            intended_ns: 0,
            sent_ns: 0,
            connection: 0,
            state: State::Free,
            class: 0,
            previous: NONE,
            next: NONE,
        };
        let list = |class: &Class| List {
            class: *class,
            oldest: NONE,
            newest: NONE,
            unspeculated: NONE,
        };
        InFlight {
            slots: vec![empty; slots_count].into_boxed_slice(),
            // The table uses low ids first. If few operations are in flight, they therefore use few
            // cache lines.
            free: (0..slots_count as u16).rev().collect(),
            lists: classes.iter().map(list).collect(),
            waiting_count: 0,
            orphans_count: 0,
        }
    }

    #[inline]
    pub fn waiting_count(&self) -> u32 {
        self.waiting_count
    }

    pub fn orphans_count(&self) -> u32 {
        self.orphans_count
    }

    #[inline]
    pub fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    pub fn free_count(&self) -> usize {
        self.free.len()
    }

    /// Takes a slot for an attempt that the worker is about to send. Returns `None` if all slots
    /// are in use.
    #[inline]
    pub fn insert(
        &mut self,
        operation: Operation,
        connection: u16,
        class: u8,
        intended_ns: u64,
        sent_ns: u64,
    ) -> Option<u16> {
        let id = self.free.pop()?;
        let slot = &mut self.slots[usize::from(id)];
        debug_assert_eq!(slot.state, State::Free);
        *slot = Slot {
            operation,
            intended_ns,
            sent_ns,
            connection,
            state: State::Waiting,
            class,
            previous: NONE,
            next: NONE,
        };
        self.link(id);
        Some(id)
    }

    /// Returns the slot of stream `id` if it is in use on `connection`.
    #[inline]
    pub fn get(&mut self, id: i16, connection: u16) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(usize::try_from(id).ok()?)?;
        (slot.state != State::Free && slot.connection == connection).then_some(slot)
    }

    /// Returns the slot of stream `id`, which must be in use.
    #[inline]
    pub fn slot(&mut self, id: u16) -> &mut Slot {
        &mut self.slots[usize::from(id)]
    }

    #[inline]
    pub fn release(&mut self, id: u16) {
        match self.slots[usize::from(id)].state {
            State::Free => unreachable!("slot {id} is freed twice"),
            State::Orphaned => self.orphans_count -= 1,
            State::Waiting | State::Preparing => self.unlink(id),
        }
        self.slots[usize::from(id)].state = State::Free;
        self.free.push(id);
    }

    /// Marks that the operation of stream `id` sends another request on the same stream now.
    pub fn resend(&mut self, id: u16, sent_ns: u64) {
        self.unlink(id);
        let slot = &mut self.slots[usize::from(id)];
        slot.sent_ns = sent_ns;
        slot.state = State::Waiting;
        self.link(id);
    }

    /// Abandons the attempt on stream `id`. The stream remains blocked until the response arrives
    /// or the connection ends.
    pub fn orphan(&mut self, id: u16) {
        self.unlink(id);
        self.slots[usize::from(id)].state = State::Orphaned;
        self.orphans_count += 1;
    }

    /// Abandons one attempt whose timeout has elapsed at `now_ns`, and returns it. Returns `None`
    /// if no attempt has timed out.
    #[inline]
    pub fn expire(&mut self, now_ns: u64) -> Option<(u16, Slot)> {
        for index in 0..self.lists.len() {
            let List { class, oldest, .. } = self.lists[index];
            if oldest != NONE {
                let slot = self.slots[usize::from(oldest)];
                if slot.sent_ns.saturating_add(class.timeout_ns) <= now_ns {
                    self.orphan(oldest);
                    return Some((oldest, slot));
                }
            }
        }
        None
    }

    /// Returns the stream id of an attempt whose speculation delay has elapsed at `now_ns`. Returns
    /// each attempt only once.
    pub fn speculate(&mut self, now_ns: u64) -> Option<u16> {
        for list in &mut self.lists {
            if list.unspeculated != NONE {
                let id = list.unspeculated;
                let slot = &self.slots[usize::from(id)];
                if slot.sent_ns.saturating_add(list.class.speculate_ns) <= now_ns {
                    list.unspeculated = slot.next;
                    return Some(id);
                }
            }
        }
        None
    }

    /// Returns the time at which the next attempt expires or is due for speculation.
    #[inline]
    pub fn wake_ns(&self) -> Option<u64> {
        let mut wake_ns = NEVER_NS;
        for list in &self.lists {
            for (id, delay_ns) in [
                (list.oldest, list.class.timeout_ns),
                (list.unspeculated, list.class.speculate_ns),
            ] {
                if id != NONE {
                    let sent_ns = self.slots[usize::from(id)].sent_ns;
                    wake_ns = wake_ns.min(sent_ns.saturating_add(delay_ns));
                }
            }
        }
        (wake_ns != NEVER_NS).then_some(wake_ns)
    }

    pub fn for_each_orphan(&self, seen: impl FnMut(&Slot)) {
        self.slots.iter().filter(|slot| slot.state == State::Orphaned).for_each(seen);
    }

    /// Frees the slots of a connection that has ended, from slot number `from` up to and including
    /// the first waiting slot. Returns that slot, or `None` if no slot waits.
    pub fn drop_next(&mut self, connection: u16, from: u16) -> Option<(u16, Slot)> {
        for id in from..self.slots.len() as u16 {
            let slot = self.slots[usize::from(id)];
            if slot.state == State::Free || slot.connection != connection {
                continue;
            }
            self.release(id);
            if slot.state != State::Orphaned {
                return Some((id, slot));
            }
        }
        None
    }

    #[inline]
    fn link(&mut self, id: u16) {
        let class = self.slots[usize::from(id)].class & !SPECIAL;
        let list = &mut self.lists[usize::from(class)];
        let slot = &mut self.slots[usize::from(id)];
        slot.previous = list.newest;
        slot.next = NONE;
        if list.unspeculated == NONE && list.class.speculate_ns != NEVER_NS {
            list.unspeculated = id;
        }
        match list.newest {
            NONE => list.oldest = id,
            newest => self.slots[usize::from(newest)].next = id,
        }
        list.newest = id;
        self.waiting_count += 1;
    }

    #[inline]
    fn unlink(&mut self, id: u16) {
        let Slot {
            previous,
            next,
            class,
            ..
        } = self.slots[usize::from(id)];
        let list = &mut self.lists[usize::from(class & !SPECIAL)];
        match previous {
            NONE => list.oldest = next,
            previous => self.slots[usize::from(previous)].next = next,
        }
        match next {
            NONE => list.newest = previous,
            next => self.slots[usize::from(next)].previous = previous,
        }
        if list.unspeculated == id {
            list.unspeculated = next;
        }
        self.waiting_count -= 1;
    }
}

#[cfg(test)]
mod tests;
