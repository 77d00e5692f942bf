//! Interface that every kind of fault implements: inject, observe, proceed, heal.

use crate::cluster_under_test::{HealResult, World};
use crate::observation::Observation;
use anyhow::Result;
use std::time::Duration;

/// A fault. The implementation stores the state of one injected fault.
pub(crate) trait Fault {
    /// Injects the fault. Unless the fault is healed before, agents heal it after `within`.
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()>;

    /// Observes the target independently of the injector. Waits at most `limit` for an answer.
    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation;

    /// Returns the time from the injection to the further action ([`Fault::act`]), if the fault has
    /// such an action.
    fn later(&self) -> Option<Duration> {
        None
    }

    /// Describes the healing that is about to begin.
    fn healing(&self) -> &'static str {
        "the agent undoes all changes"
    }

    /// Returns true if cassay manages the affected nodes. cassay then restarts nodes that do not
    /// start again by themselves.
    fn is_ours(&self) -> bool {
        true
    }

    /// Returns true if the healing still makes progress, although its time limit has passed.
    fn is_healing(&mut self, _world: &mut dyn World) -> bool {
        false
    }

    /// Continues a fault whose injection takes some time. Between two calls, the caller observes
    /// the target and checks whether the fault should end.
    ///
    /// # Errors
    /// The fault has failed.
    fn proceed(&mut self, _world: &mut dyn World) -> Result<Work> {
        Ok(Work::Done(String::new()))
    }

    /// Heals the fault. If the fault has started an operation on a node, first waits for the end of
    /// the operation. A long healing reports its steps to `tell`.
    ///
    /// # Errors
    /// Some of the changes cannot be undone. All other changes are undone.
    fn heal(&mut self, world: &mut dyn World, _tell: Tell<'_>) -> Result<HealResult> {
        world.heal()
    }

    /// Performs the further action of the fault, and returns a description of the action.
    fn act(&mut self, _world: &mut dyn World, _within: Duration) -> Result<String> {
        Ok(String::new())
    }
}

/// Function that receives a step of the healing, with the time of the step on the monotonic clock
/// in ns.
pub(crate) type Tell<'a> = &'a mut dyn FnMut(u64, String);

/// Progress of a fault whose injection takes some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// The fault continues.
    Going,
    /// The fault continues. Contains a description of the actions since the last call.
    Did(String),
    /// The fault has ended. Contains a description of the result.
    Done(String),
}
