//! Delays answers until they are due, and so produces the latencies and stalls of a null server.
//!
//! If all answers have the same latency, they are sent in the order of their requests, and wait in
//! the output buffer of their connection. With individual latencies, answers overtake each other
//! and wait in a binary heap. The capacity of the server applies first: the latency of an answer
//! begins when the server has processed the request.

use super::answer_time::{Sampler, Serving, Stalls};
use super::connection::Connection;
use std::collections::{BinaryHeap, VecDeque};
use target_spec::{Latency, NullSpec};

/// Answers that wait until they are due.
pub enum Queue {
    /// No answer waits.
    AtOnce,
    /// All answers have the same latency, so they are sent in the order in which they were added.
    InOrder {
        latency_ns: u64,
        stalls: Option<Stalls>,
        serving: Option<Serving>,
        batches: VecDeque<Batch>,
    },
    /// Each answer has an individual latency, so answers can overtake each other.
    Overtaking {
        sampler: Sampler,
        stalls: Option<Stalls>,
        serving: Option<Serving>,
        heap: BinaryHeap<DelayedAnswer>,
        sequence: u64,
    },
}

/// Answers that wait in the output of a connection. The next `bytes` bytes may be sent at `due_ns`.
pub struct Batch {
    due_ns: u64,
    connection: ConnectionId,
    bytes: usize,
}

/// An answer in the heap. The greatest element of the heap is the answer that is due first.
#[derive(PartialEq, Eq)]
pub struct DelayedAnswer {
    due_ns: u64,
    sequence: u64,
    connection: ConnectionId,
    answer: Answer,
}

impl Ord for DelayedAnswer {
    fn cmp(&self, other: &DelayedAnswer) -> std::cmp::Ordering {
        (other.due_ns, other.sequence).cmp(&(self.due_ns, self.sequence))
    }
}

impl PartialOrd for DelayedAnswer {
    fn partial_cmp(&self, other: &DelayedAnswer) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// A waiting answer. Short answers, such as VOID with 13 bytes, do not require an allocation.
#[derive(PartialEq, Eq)]
enum Answer {
    Short { bytes: [u8; SHORT_BYTES], count: u8 },
    Long(Box<[u8]>),
}

const SHORT_BYTES: usize = 22;

impl Answer {
    fn new(answer: &[u8]) -> Answer {
        let mut bytes = [0; SHORT_BYTES];
        match bytes.get_mut(..answer.len()) {
            Some(short) => {
                short.copy_from_slice(answer);
                let count = answer.len() as u8;
                Answer::Short { bytes, count }
            }
            None => Answer::Long(answer.into()),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Answer::Short { bytes, count } => &bytes[..usize::from(*count)],
            Answer::Long(bytes) => bytes,
        }
    }
}

/// Data that a connection may send now.
pub enum ReleasedData<'a> {
    /// Bytes that wait in the connection's output.
    Held {
        /// Number of further bytes that may be sent.
        bytes: usize,
    },
    /// An answer that is not in the connection's output yet.
    Answer(&'a [u8]),
}

/// Identifier of a connection within its event loop. The generation distinguishes connections that
/// used the same slot.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ConnectionId {
    /// Index among the connections of the loop.
    pub slot: u32,
    /// Number of the connection within the loop.
    pub generation: u32,
}

impl Queue {
    /// Returns an empty queue for one event loop of a server with the settings `spec`. Stalls and
    /// drift count from `origin_ns`, and `seed` determines random latencies.
    pub fn new(spec: &NullSpec, origin_ns: u64, seed: u64) -> Queue {
        let stalls = spec.stall.as_ref().map(|stall| Stalls::new(stall, origin_ns));
        let loops = spec.cpus.len().max(1) as f64;
        let capacity = spec.capacity_per_s.map(|count| count as f64 / loops);
        let serving = capacity.map(|count| Serving::new(count, spec.drift, origin_ns));
        let in_order = |latency_ns: u64| Queue::InOrder {
            latency_ns,
            stalls,
            serving,
            batches: VecDeque::new(),
        };
        match spec.latency {
            Latency::None if stalls.is_none() && serving.is_none() => Queue::AtOnce,
            Latency::None => in_order(0),
            Latency::Fixed { ns } => in_order(ns),
            latency => Queue::Overtaking {
                sampler: Sampler::new(latency, seed),
                stalls,
                serving,
                heap: BinaryHeap::new(),
                sequence: 0,
            },
        }
    }

    /// Returns the time at which the next answer is due. Returns `None` if no answer waits.
    pub fn next_due_ns(&self) -> Option<u64> {
        match self {
            Queue::AtOnce => None,
            Queue::InOrder { batches, .. } => batches.front().map(|batch| batch.due_ns),
            Queue::Overtaking { heap, .. } => heap.peek().map(|held| held.due_ns),
        }
    }

    /// Passes every answer that is due at `now_ns` to `deliver`, in the order of the due times.
    pub fn release(&mut self, now_ns: u64, mut deliver: impl FnMut(ConnectionId, ReleasedData)) {
        match self {
            Queue::AtOnce => {}
            Queue::InOrder { batches, .. } => {
                while let Some(batch) = batches.pop_front_if(|batch| batch.due_ns <= now_ns) {
                    deliver(batch.connection, ReleasedData::Held { bytes: batch.bytes });
                }
            }
            Queue::Overtaking { heap, .. } => {
                while heap.peek().is_some_and(|held| held.due_ns <= now_ns) {
                    let Some(held) = heap.pop() else { break };
                    deliver(held.connection, ReleasedData::Answer(held.answer.bytes()));
                }
            }
        }
    }

    /// Determines the due time of the answer that begins at `start` in the output of `connection`,
    /// if the queue determines due times individually. If answers can overtake each other, moves
    /// the answer from the output to the heap.
    #[inline]
    pub fn take_answer(&mut self, connection: &mut Connection, start: usize, arrival_ns: u64) {
        match self {
            Queue::Overtaking {
                sampler,
                stalls,
                serving,
                heap,
                sequence,
            } => {
                let ready_ns = ready_ns(serving, arrival_ns);
                let due_ns = ready_ns.saturating_add(sampler.next_ns());
                *sequence += 1;
                heap.push(DelayedAnswer {
                    due_ns: stalls.map_or(due_ns, |stalls| stalls.release_ns(due_ns)),
                    sequence: *sequence,
                    connection: connection.id,
                    answer: Answer::new(&connection.output[start..]),
                });
                connection.output.truncate(start);
                connection.held_answers += 1;
            }
            Queue::InOrder {
                latency_ns,
                stalls,
                serving: serving @ Some(_),
                batches,
            } => {
                let due_ns = ready_ns(serving, arrival_ns).saturating_add(*latency_ns);
                batches.push_back(Batch {
                    due_ns: stalls.map_or(due_ns, |stalls| stalls.release_ns(due_ns)),
                    connection: connection.id,
                    bytes: connection.output.len() - start,
                });
            }
            Queue::AtOnce | Queue::InOrder { serving: None, .. } => {}
        }
    }

    /// Determines the due time of all answers after `start` in the output of `connection`, unless
    /// [`Queue::take_answer`] has determined it for each of them.
    pub fn take_batch(&mut self, connection: &mut Connection, start: usize, arrival_ns: u64) {
        match self {
            Queue::AtOnce => connection.releasable = connection.output.len(),
            Queue::InOrder {
                latency_ns,
                stalls,
                serving: None,
                batches,
            } => {
                let bytes = connection.output.len() - start;
                if bytes > 0 {
                    let due_ns = arrival_ns.saturating_add(*latency_ns);
                    batches.push_back(Batch {
                        due_ns: stalls.map_or(due_ns, |stalls| stalls.release_ns(due_ns)),
                        connection: connection.id,
                        bytes,
                    });
                }
            }
            Queue::Overtaking { .. } | Queue::InOrder { .. } => {}
        }
    }
}

/// Returns the time at which the server has processed a request that arrived at `arrival_ns`.
/// Without a limit on the capacity, this is the time of arrival.
fn ready_ns(serving: &mut Option<Serving>, arrival_ns: u64) -> u64 {
    let ready = serving.as_mut().map(|serving| serving.ready_ns(arrival_ns));
    ready.unwrap_or(arrival_ns)
}
