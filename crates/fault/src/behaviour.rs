//! What every kind of fault can do: break, be looked at, go on, heal.

use crate::observation::Observation;
use crate::world::{Healed, World};
use anyhow::Result;
use std::time::Duration;

/// One fault, with what it knows of itself.
pub(crate) trait Fault {
    /// Does it. If nobody heals it, agents do so after `within`.
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()>;

    /// Looks, without what was done for it; waits for an answer no longer than `limit`.
    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation;

    /// After how long, from the injection on, something more is done while it holds.
    fn later(&self) -> Option<Duration> {
        None
    }

    /// What makes it whole again, as it is told when it begins to.
    fn healing(&self) -> &'static str {
        "what was done is undone"
    }

    /// Whether its nodes are ours, to be started again if they do not come back.
    fn is_ours(&self) -> bool {
        true
    }

    /// Whether its healing goes on, however long it takes.
    fn is_healing(&mut self, _world: &mut dyn World) -> bool {
        false
    }

    /// Goes on with what takes it a while, for the kinds that do such things; whoever calls looks
    /// between two calls, and whether it is to end.
    ///
    /// # Errors
    /// It has failed.
    fn proceed(&mut self, _world: &mut dyn World) -> Result<Work> {
        Ok(Work::Done(String::new()))
    }

    /// Makes whole what it has broken, when what it has begun has come to its end; `tell` hears
    /// when what was done on the way, where that takes a while.
    ///
    /// # Errors
    /// Something cannot be made whole; all else is.
    fn heal(&mut self, world: &mut dyn World, _tell: Tell<'_>) -> Result<Healed> {
        world.heal()
    }

    /// Does what is done later; what was done, in words.
    fn act(&mut self, _world: &mut dyn World, _within: Duration) -> Result<String> {
        Ok(String::new())
    }
}

/// Who hears at what time, by the monotonic clock, something was done.
pub(crate) type Tell<'a> = &'a mut dyn FnMut(u64, String);

/// How far something has come that takes a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// It goes on.
    Going,
    /// It goes on, and this was done since.
    Did(String),
    /// It is over: what was done.
    Done(String),
}
