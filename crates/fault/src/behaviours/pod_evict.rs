//! A machine of Kubernetes that is drained: nothing more is put on it, and the pod of a node is
//! evicted, as far as budgets of disruption let it. It comes back on another machine, or on the
//! same when that is uncordoned.

use super::pod_delete;
use crate::behaviour::Fault;
use crate::observation::{self, Observation};
use crate::world::{Pods, World};
use anyhow::{Result, ensure};
use cluster::Deletion;
use std::time::Duration;
use target::fault::{Hit, Options};

/// What carries it out.
pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Evict {
        node: hit.node(),
        before: None,
        machine: None,
    })
}

struct Evict {
    node: usize,
    /// The pod that was there, once it was evicted.
    before: Option<String>,
    /// The machine that is cordoned: the pod may be on another one since.
    machine: Option<String>,
}

impl Fault for Evict {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let before = world.pod(self.node)?;
        ensure!(
            world.is_schedulable(self.node, &before.node)?,
            "the pod's machine {} is cordoned already, and would be uncordoned by this",
            before.node
        );
        self.machine = Some(before.node);
        world.cordon(self.node, within)?;
        self.before = Some(before.uid);
        world.delete_pod(self.node, Deletion::Eviction)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let pod = pod_delete::another(world, self.node, self.before.as_deref(), limit);
        pod.and(|| observation::or_unseen("the cluster", self.cordoned(world)))
    }

    fn is_ours(&self) -> bool {
        false
    }
}

impl Evict {
    /// Whether pods may be put on the machine where it was, or, before it is evicted, is.
    fn cordoned(&self, world: &mut dyn Pods) -> Result<Observation> {
        let machine = match &self.machine {
            Some(machine) => machine.clone(),
            None => world.pod(self.node)?.node,
        };
        let is_open = world.is_schedulable(self.node, &machine)?;
        let does = if is_open { "takes pods" } else { "is cordoned" };
        Ok(Observation {
            broken: Some(!is_open),
            whole: Some(is_open),
            words: format!("its machine {machine} {does}"),
        })
    }
}
