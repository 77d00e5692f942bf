//! The only crate that knows how to break a thing, see independently that it is broken, make it
//! whole and see that too.
//!
//! Each kind of fault is a file: what it takes, how it is injected, and by what it shows. [`run`]
//! takes one from the first look to the last. What must hold: nothing is broken that was not seen
//! whole before; what heals is armed at the host's agent before anything is broken; that something
//! is broken, or whole again, is said by who has not done it: the kernel of the host, another host,
//! and a client of the node.

mod course;
mod kind;
mod live;
mod look;
mod node_descriptors;
mod node_kill;
mod node_pause;
mod node_restart;
mod node_slow;
mod node_stop;

pub use course::{Outcome, Step, Verdict, run};
pub use kind::{Hit, Kind, Knob, Length, Options, Place};
pub use live::{Live, Order, orders};

use anyhow::Result;
use host::process::Identity;
use host::{Break, Restartable, Seen, Sight};
use look::Look;
use std::time::Duration;

/// All kinds of faults.
pub const KINDS: &[Kind] = &[
    node_pause::KIND,
    node_kill::KIND,
    node_stop::KIND,
    node_restart::KIND,
    node_slow::KIND,
    node_descriptors::KIND,
];

/// One fault, with what it knows of itself.
trait Fault {
    /// Does it. If nobody heals it, agents do so after `within`.
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()>;

    /// Looks, without what was done for it; waits for an answer no longer than `limit`.
    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Look;
}

/// By whose agent something is done or seen. Nodes and hosts are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// That of a node's host, or of the machine that nodes share.
    Node(usize),
}

/// A node of the cluster that is broken.
#[derive(Clone, Copy, Debug)]
pub struct NodeSeen {
    /// Its process; none while it is stopped.
    pub process: Option<Identity>,
}

/// The cluster that is broken, whoever looks at it, and a clock.
pub trait World {
    /// Now, monotonic clock.
    fn now_ns(&self) -> u64;

    /// Waits for so long, or until healing is ordered; whether it is.
    fn wait(&mut self, for_: Duration) -> bool;

    /// A node.
    fn node(&self, index: usize) -> NodeSeen;

    /// The process of a node, with what starts it again.
    ///
    /// # Errors
    /// It does not run.
    fn restartable(&self, node: usize) -> Result<Restartable>;

    /// Breaks something; `nodes` are those whose processes are touched, in their order. If nobody
    /// heals it, the agent does so after `within`.
    ///
    /// # Errors
    /// It cannot be done.
    fn inject(&mut self, by: By, what: Break, nodes: &[usize], within: Duration) -> Result<()>;

    /// Makes whole all that was broken, the last first; whether an agent had done it by itself.
    ///
    /// # Errors
    /// Something cannot be made whole; all else is.
    fn heal(&mut self) -> Result<bool>;

    /// Looks at something.
    ///
    /// # Errors
    /// Nobody can look.
    fn see(&mut self, by: By, what: Sight) -> Result<Seen>;

    /// Asks a node as a client.
    ///
    /// # Errors
    /// It has not answered within the limit; why.
    fn ask(&mut self, node: usize, limit: Duration) -> Result<()>;
}

#[cfg(test)]
mod tests;
