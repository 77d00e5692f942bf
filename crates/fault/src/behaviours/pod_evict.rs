//! A Kubernetes node is drained: it is cordoned, and the pod of a Cassandra node is evicted if
//! disruption budgets permit it. The pod runs again on another Kubernetes node, or on the same one
//! after it is uncordoned.

use super::pod_delete;
use crate::behaviour::Fault;
use crate::cluster_under_test::{Pods, World};
use crate::observation::{self, Health, Observation, Presence};
use anyhow::{Result, ensure};
use cassandra::Deletion;
use std::time::Duration;
use target_spec::NodeIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Evict {
        node: hit.node(),
        before: None,
        machine: None,
    })
}

struct Evict {
    node: NodeIndex,
    /// Uid of the evicted pod. `None` before the injection.
    before: Option<String>,
    /// Cordoned Kubernetes node. The pod may meanwhile run on another one.
    machine: Option<String>,
}

impl Fault for Evict {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let before = world.pod(self.node)?;
        ensure!(
            world.is_schedulable(self.node, &before.node)?,
            "the pod's machine {} is already cordoned, so cassay does not inject the fault: \
             healing would uncordon the machine",
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
    /// Observes whether the Kubernetes node of the pod, or of the evicted pod, accepts pods.
    fn cordoned(&self, world: &mut dyn Pods) -> Result<Observation> {
        let machine = match &self.machine {
            Some(machine) => machine.clone(),
            None => world.pod(self.node)?.node,
        };
        let is_open = world.is_schedulable(self.node, &machine)?;
        let does = if is_open { "takes pods" } else { "is cordoned" };
        Ok(Observation {
            fault: Presence::from(!is_open),
            target: Health::from(is_open),
            words: format!("the pod's machine {machine} {does}"),
        })
    }
}
