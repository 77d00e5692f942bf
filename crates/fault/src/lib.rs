//! The only crate that knows how to break a thing, see independently that it is broken, make it
//! whole and see that too.
//!
//! Each kind of fault is a file: whether it can be done, how it is injected, and by what it shows.
//! [`run`] takes one from the first look to the last. What must hold: nothing is broken that was
//! not seen whole before; what heals is armed at the host's agent before anything is broken; that
//! something is broken, or whole again, is said by who has not done it: the kernel of the host, and
//! a client of the node.

mod course;
mod live;
mod node_kill;
mod node_pause;

pub use course::{Outcome, Step, Verdict, run};
pub use live::{Live, Order, orders};

use anyhow::Result;
use cluster::Ability;
use host::Healed;
use std::time::Duration;

/// All kinds of faults.
pub const KINDS: &[Kind] = &[node_pause::KIND, node_kill::KIND];

/// One kind of fault.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name, as in a study and in records.
    pub name: &'static str,
    /// What it does, in words.
    pub what: &'static str,
    /// What a target must be able to do for it.
    pub needs: Ability,
    /// Whether the process ends of it: the node is away until it is healed.
    pub ends_process: bool,
    /// Does it. If nobody heals it, the host's agent does so after that time.
    inject: fn(&mut dyn World, Duration) -> Result<()>,
    /// What the kernel says of a process that is broken like that.
    is_broken: fn(Option<char>) -> bool,
    /// How long it may take to be seen whole again.
    healed_within: Duration,
}

impl PartialEq for Kind {
    fn eq(&self, other: &Kind) -> bool {
        self.name == other.name
    }
}

impl Kind {
    /// The one of that name.
    pub fn of(name: &str) -> Option<Kind> {
        KINDS.iter().find(|kind| kind.name == name).copied()
    }
}

/// The node that is broken, whoever looks at it, and a clock.
pub trait World {
    /// Now, monotonic clock.
    fn now_ns(&self) -> u64;

    /// Waits for so long, or until healing is ordered; whether it is.
    fn wait(&mut self, for_: Duration) -> bool;

    /// What the kernel of its host says of its process: the letter of its state; none if it is
    /// gone.
    ///
    /// # Errors
    /// Nobody can be asked.
    fn state(&mut self) -> Result<Option<char>>;

    /// Asks it as a client.
    ///
    /// # Errors
    /// It has not answered within the limit; why.
    fn ask(&mut self, limit: Duration) -> Result<()>;

    /// Stops its process.
    ///
    /// # Errors
    /// It cannot be done.
    fn pause(&mut self, within: Duration) -> Result<()>;

    /// Kills its process; healing starts it again.
    ///
    /// # Errors
    /// It cannot be done.
    fn kill(&mut self, within: Duration) -> Result<()>;

    /// Makes whole what was broken.
    ///
    /// # Errors
    /// It cannot be done.
    fn heal(&mut self) -> Result<Healed>;
}

#[cfg(test)]
mod tests;
