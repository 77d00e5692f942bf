//! The in-flight table of one worker: which operation waits for an answer on which stream.
//!
//! A slot's index *is* the CQL stream id, over all connections of the worker; so an answer finds
//! its operation without searching. Slots that wait for an answer form a list in the order of
//! their sending; as all have the same time-out, the first to expire is always at its head.
//! All memory is allocated in [`InFlight::new`].

use workload::Operation;

/// Stream ids are 15 bits wide in protocol v4; negative ones belong to the server.
pub(crate) const SLOTS_MAX: usize = 32_768;
/// End of a list.
const NONE: u16 = u16::MAX;

/// What a slot is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Not in use.
    Free,
    /// Waits for its answer.
    Waiting,
    /// Waits for the answer to a PREPARE, after which its operation is sent again.
    Preparing,
    /// Timed out here; the stream id cannot be used again until the late answer comes.
    Orphaned,
}

/// One operation in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub operation: Operation,
    pub intended_ns: u64,
    pub sent_ns: u64,
    pub connection: u16,
    pub state: State,
    previous: u16,
    next: u16,
}

/// The table.
#[derive(Debug)]
pub(crate) struct InFlight {
    slots: Box<[Slot]>,
    free: Vec<u16>,
    oldest: u16,
    newest: u16,
    waiting_count: u32,
    orphans_count: u32,
}

impl InFlight {
    /// A table of `slots_count` slots (1 to [`SLOTS_MAX`]).
    pub fn new(slots_count: usize) -> InFlight {
        assert!(
            (1..=SLOTS_MAX).contains(&slots_count),
            "{slots_count} slots"
        );
        let empty = Slot {
            operation: Operation {
                number: 0,
                key: 0,
                statement: 0,
                kind: 0,
            },
            intended_ns: 0,
            sent_ns: 0,
            connection: 0,
            state: State::Free,
            previous: NONE,
            next: NONE,
        };
        InFlight {
            slots: vec![empty; slots_count].into_boxed_slice(),
            // Low ids first: a small number in flight touches few cache lines.
            free: (0..slots_count as u16).rev().collect(),
            oldest: NONE,
            newest: NONE,
            waiting_count: 0,
            orphans_count: 0,
        }
    }

    /// Operations that wait for an answer.
    pub fn waiting_count(&self) -> u32 {
        self.waiting_count
    }

    /// Streams blocked by operations that timed out.
    pub fn orphans_count(&self) -> u32 {
        self.orphans_count
    }

    /// Whether another operation can be sent.
    #[inline]
    pub fn has_room(&self) -> bool {
        !self.free.is_empty()
    }

    /// Takes a slot for an operation that is being sent; `None` when all are in use.
    #[inline]
    pub fn insert(
        &mut self,
        operation: Operation,
        connection: u16,
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
            previous: self.newest,
            next: NONE,
        };
        match self.newest {
            NONE => self.oldest = id,
            newest => self.slots[usize::from(newest)].next = id,
        }
        self.newest = id;
        self.waiting_count += 1;
        Some(id)
    }

    /// The slot of stream `id`, if it is in use on `connection`.
    #[inline]
    pub fn get(&mut self, id: i16, connection: u16) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(usize::try_from(id).ok()?)?;
        (slot.state != State::Free && slot.connection == connection).then_some(slot)
    }

    /// Frees a slot whose answer came.
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

    /// Gives up on the oldest operation if it was sent at or before `sent_before_ns`: its stream
    /// stays blocked until the answer comes or the connection ends.
    #[inline]
    pub fn expire(&mut self, sent_before_ns: u64) -> Option<Slot> {
        let id = self.oldest;
        if id == NONE || self.slots[usize::from(id)].sent_ns > sent_before_ns {
            return None;
        }
        self.unlink(id);
        let slot = &mut self.slots[usize::from(id)];
        slot.state = State::Orphaned;
        self.orphans_count += 1;
        Some(*slot)
    }

    /// When the oldest operation that still waits was sent.
    #[inline]
    pub fn oldest_sent_ns(&self) -> Option<u64> {
        (self.oldest != NONE).then(|| self.slots[usize::from(self.oldest)].sent_ns)
    }

    /// Shows every stream that a timed-out operation blocks.
    pub fn for_each_orphan(&self, seen: impl FnMut(&Slot)) {
        self.slots
            .iter()
            .filter(|slot| slot.state == State::Orphaned)
            .for_each(seen);
    }

    /// Frees every slot of a connection that ended; `lost` is told of those that were waiting.
    pub fn drop_connection(&mut self, connection: u16, mut lost: impl FnMut(&Slot)) {
        for id in 0..self.slots.len() as u16 {
            let slot = self.slots[usize::from(id)];
            if slot.state == State::Free || slot.connection != connection {
                continue;
            }
            if slot.state != State::Orphaned {
                lost(&slot);
            }
            self.release(id);
        }
    }

    fn unlink(&mut self, id: u16) {
        let (previous, next) = {
            let slot = &self.slots[usize::from(id)];
            (slot.previous, slot.next)
        };
        match previous {
            NONE => self.oldest = next,
            previous => self.slots[usize::from(previous)].next = next,
        }
        match next {
            NONE => self.newest = previous,
            next => self.slots[usize::from(next)].previous = previous,
        }
        self.waiting_count -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn operation(number: u64) -> Operation {
        Operation {
            number,
            key: number,
            statement: 0,
            kind: 0,
        }
    }

    #[test]
    fn an_answer_on_another_connection_finds_nothing() {
        let mut table = InFlight::new(4);
        let id = table.insert(operation(1), 0, 0, 0).unwrap() as i16;
        assert!(table.get(id, 1).is_none());
        assert!(table.get(-1, 0).is_none());
        assert!(table.get(99, 0).is_none());
        assert_eq!(table.get(id, 0).unwrap().operation.number, 1);
    }

    #[test]
    fn a_timed_out_stream_is_not_used_again_before_its_answer() {
        let mut table = InFlight::new(1);
        let id = table.insert(operation(1), 0, 0, 10).unwrap();
        assert!(table.expire(9).is_none());
        assert_eq!(table.expire(10).unwrap().operation.number, 1);
        assert!(!table.has_room());
        assert_eq!(table.get(id as i16, 0).unwrap().state, State::Orphaned);
        table.release(id);
        assert!(table.has_room());
        assert_eq!((table.waiting_count(), table.orphans_count()), (0, 0));
    }

    proptest! {
        /// Against a model: a map of what waits, in the order of sending.
        #[test]
        fn the_table_agrees_with_a_model(
            steps in prop::collection::vec((0u8..4, 0u16..8), 1..300),
        ) {
            let mut table = InFlight::new(8);
            let mut waiting: BTreeMap<u64, (u16, u16)> = BTreeMap::new();
            let mut orphans: Vec<(u16, u16)> = Vec::new();
            for (time, (action, pick)) in steps.into_iter().enumerate() {
                let time = time as u64;
                match action {
                    0 => {
                        let connection = pick % 2;
                        match table.insert(operation(time), connection, time, time) {
                            Some(id) => { waiting.insert(time, (id, connection)); }
                            None => prop_assert_eq!(waiting.len() + orphans.len(), 8),
                        }
                    }
                    1 => if let Some((&sent, &(id, connection))) =
                        waiting.iter().nth(usize::from(pick) % waiting.len().max(1)) {
                        prop_assert_eq!(table.get(id as i16, connection).unwrap().sent_ns, sent);
                        table.release(id);
                        waiting.remove(&sent);
                    },
                    2 => {
                        let oldest = waiting.first_key_value().map(|(&sent, &at)| (sent, at));
                        prop_assert_eq!(table.oldest_sent_ns(), oldest.map(|(sent, _)| sent));
                        if let Some((sent, at)) = oldest {
                            prop_assert_eq!(table.expire(time).unwrap().sent_ns, sent);
                            waiting.remove(&sent);
                            orphans.push(at);
                        }
                    }
                    _ => {
                        let connection = pick % 2;
                        let mut lost = Vec::new();
                        table.drop_connection(connection, |slot| lost.push(slot.sent_ns));
                        lost.sort_unstable();
                        let expected: Vec<u64> = waiting.iter()
                            .filter(|(_, at)| at.1 == connection).map(|(&sent, _)| sent).collect();
                        prop_assert_eq!(lost, expected);
                        waiting.retain(|_, at| at.1 != connection);
                        orphans.retain(|at| at.1 != connection);
                    }
                }
                prop_assert_eq!(table.waiting_count() as usize, waiting.len());
                prop_assert_eq!(table.orphans_count() as usize, orphans.len());
            }
        }
    }
}
