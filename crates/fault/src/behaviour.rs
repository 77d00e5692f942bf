//! Interface that every kind of fault implements: inject, observe, proceed, heal.

use crate::cluster_under_test::{HealResult, World};
use crate::observation::Observation;
use anyhow::Result;
use std::time::Duration;

/// A fault. An implementation stores the state of one injected fault.
pub(crate) trait Fault {
    /// Injects the fault. Agents heal the fault after `within`, unless it is healed before.
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()>;

    /// Observes the target independently of the injector. Waits at most `limit` for a response.
    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation;

    /// Returns the time from the injection to the further action ([`Fault::act`]), if any.
    fn later(&self) -> Option<Duration> {
        None
    }

    /// Describes the healing that is about to begin.
    fn healing(&self) -> &'static str {
        "the agent undoes all changes"
    }

    /// Returns true if cassay manages the affected nodes. cassay then restarts nodes that stay
    /// down.
    fn is_ours(&self) -> bool {
        true
    }

    /// Returns true if the healing still makes progress after its time limit.
    fn is_healing(&mut self, _world: &mut dyn World) -> bool {
        false
    }

    /// Continues a fault whose injection takes some time. Between two calls, the caller observes
    /// the target and checks whether the fault should end. An error means that the fault has
    /// failed.
    fn proceed(&mut self, _world: &mut dyn World) -> Result<Work> {
        Ok(Work::Done(String::new()))
    }

    /// Heals the fault, after the end of any operation that the fault started on a node. A long
    /// healing reports its steps to `tell`. After an error, some changes are not undone.
    fn heal(&mut self, world: &mut dyn World, _tell: Tell<'_>) -> Result<HealResult> {
        world.heal()
    }

    /// Performs the further action of the fault, and describes it.
    fn act(&mut self, _world: &mut dyn World, _within: Duration) -> Result<String> {
        Ok(String::new())
    }
}

/// Function that receives a step of the healing, and the time of the step on the monotonic clock in
/// ns.
pub(crate) type Tell<'a> = &'a mut dyn FnMut(u64, String);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Going,
    /// The fault continues, after the described actions.
    Did(String),
    /// The fault has ended with the described result.
    Done(String),
}
