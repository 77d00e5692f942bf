//! The only crate that knows how to break a thing, see independently that it is broken, make it
//! whole and see that too.
//!
//! Each kind of fault has a file with its options, its injection and its observation. [`run`]
//! performs a fault from the first observation to the last. Invariants: nothing is broken that was
//! not seen whole before. Healing is armed at the host's agent before the injection. Independent
//! observers decide if the target is broken or whole again: the host's kernel, another host, and a
//! client of the node.

mod behaviour;
mod behaviours;
mod course;
mod itself;
mod live;
mod network;
mod observation;
mod renewal;
mod ring;
mod rolling;
mod task;
mod world;

pub use analysis::recovery::{FaultStep, FaultVerdict};
pub use course::{Outcome, Step, holds_from, run};
pub use live::{Live, Order, orders};
pub use world::{
    Agents, Client, Healed, HostSeen, Mbeans, NodeFiles, NodeSeen, Pods, Starter, Timer, Via, World,
};

#[cfg(test)]
mod tests;
