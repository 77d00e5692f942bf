//! Computes the due times of operations independently of the schedule.

use super::super::shape::{START_NS, Shape};
use crate::schedule::{Arrivals, Schedule};
use std::collections::VecDeque;

/// Due times of operations.
#[derive(Debug)]
pub enum Due {
    /// Times at which slots became free.
    Freed(VecDeque<u64>),
    /// A fixed rate of `divisor` operations per thousand seconds. `next` is the number of the next
    /// operation.
    Even {
        divisor: u128,
        next: u128,
        step: u128,
        rise_ns: u64,
    },
    Random(Arrivals),
}

impl Due {
    /// Returns the due times of the worker in a simulated run with these conditions.
    pub fn new(shape: &Shape) -> Due {
        let config = &shape.config;
        let worker = (config.others.before + shape.worker) as u64;
        let workers = config.workers_of_all() as u64;
        let (rise, seed) = (config.rise, config.first_operation);
        let rise_ns = rise.as_nanos() as u64;
        let arrivals = Arrivals::new(config.schedule, rise, worker, workers, seed);
        match (config.schedule, arrivals) {
            (Schedule::Fixed { ops_per_s }, _) => Due::Even {
                divisor: (ops_per_s * 1000.0).round() as u128,
                next: u128::from(worker),
                step: u128::from(workers),
                rise_ns,
            },
            (_, Some(arrivals)) => Due::Random(arrivals),
            (_, None) => {
                let all = u64::from(config.in_flight());
                let slots = (worker..all).step_by(workers as usize);
                Due::Freed(slots.map(|n| START_NS + n * rise_ns / all).collect())
            }
        }
    }

    /// Returns the due time of the next operation. `None` if all slots are in use.
    pub fn next_ns(&self) -> Option<u64> {
        match self {
            Due::Freed(freed) => freed.front().copied(),
            Due::Even {
                divisor,
                next,
                rise_ns,
                ..
            } => {
                let even_ns = (next * 1_000_000_000_000 / divisor) as u64;
                Some(START_NS + risen_ns(even_ns, *rise_ns))
            }
            Due::Random(arrivals) => Some(START_NS + arrivals.next_ns()),
        }
    }

    /// Removes the next due time.
    pub fn pass(&mut self) {
        match self {
            Due::Freed(freed) => {
                freed.pop_front();
            }
            Due::Even { next, step, .. } => *next += *step,
            Due::Random(arrivals) => arrivals.advance(),
        }
    }

    pub fn free(&mut self, now_ns: u64) {
        if let Due::Freed(freed) = self {
            freed.push_back(now_ns);
            freed.make_contiguous().sort_unstable();
        }
    }
}

/// Maps a due time at the full rate to the due time at a rising rate. The number of operations due
/// before the returned time at the rising rate equals the number due before `even_ns` at the full
/// rate.
fn risen_ns(even_ns: u64, rise_ns: u64) -> u64 {
    if even_ns >= rise_ns / 2 {
        even_ns + rise_ns / 2
    } else {
        (2 * even_ns * rise_ns).isqrt()
    }
}
