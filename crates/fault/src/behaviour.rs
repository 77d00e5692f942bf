//! Interface of every kind of fault: inject, observe, proceed, heal.

use crate::cluster_under_test::{HealResult, World};
use crate::observation::Observation;
use anyhow::Result;
use std::time::Duration;

/// A fault with its state.
pub(crate) trait Fault {
    /// Injects the fault. If it is not healed before, agents heal it after `within`.
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()>;

    /// Observes the target independently of the injector. Waits at most `limit` for an answer.
    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation;

    /// Returns the time from the injection to a further action, if the fault has one.
    fn later(&self) -> Option<Duration> {
        None
    }

    /// Describes the healing, for the step that begins it.
    fn healing(&self) -> &'static str {
        "the agent undid all changes"
    }

    /// Returns true if the nodes are managed. They are then restarted if they do not start again by
    /// themselves.
    fn is_ours(&self) -> bool {
        true
    }

    /// Returns true if healing makes progress, regardless of its duration.
    fn is_healing(&mut self, _world: &mut dyn World) -> bool {
        false
    }

    /// Continues a fault that takes a while. Between two calls, the caller observes the target and
    /// checks if the fault is to end.
    ///
    /// # Errors
    /// The fault has failed.
    fn proceed(&mut self, _world: &mut dyn World) -> Result<Work> {
        Ok(Work::Done(String::new()))
    }

    /// Heals the fault, after an operation that it started has ended. `tell` receives the steps of
    /// a long healing, with their times.
    ///
    /// # Errors
    /// A part cannot be healed. All others are healed.
    fn heal(&mut self, world: &mut dyn World, _tell: Tell<'_>) -> Result<HealResult> {
        world.heal()
    }

    /// Performs the further action, and describes it.
    fn act(&mut self, _world: &mut dyn World, _within: Duration) -> Result<String> {
        Ok(String::new())
    }
}

/// Receiver of steps with their time, monotonic clock.
pub(crate) type Tell<'a> = &'a mut dyn FnMut(u64, String);

/// Progress of a fault that takes a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// It continues.
    Going,
    /// The fault continues. Holds the actions since the last call.
    Did(String),
    /// The fault has ended. Holds the result.
    Done(String),
}
