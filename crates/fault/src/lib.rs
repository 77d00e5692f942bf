//! The only crate that knows how to break a thing, see independently that it is broken, make it
//! whole and see that too.
//!
//! Each kind of fault is a file: what it takes, how it is injected, and by what it shows. [`run`]
//! takes one from the first look to the last. What must hold: nothing is broken that was not seen
//! whole before; what heals is armed at the host's agent before anything is broken; that something
//! is broken, or whole again, is said by who has not done it: the kernel of the host, another host,
//! and a client of the node.

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
