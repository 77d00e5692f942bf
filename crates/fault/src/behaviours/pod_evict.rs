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
    })
}

struct Evict {
    node: usize,
    /// The pod that was there, once it was evicted.
    before: Option<String>,
}

impl Fault for Evict {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        ensure!(
            world.is_schedulable(self.node)?,
            "the pod's machine is cordoned already, and would be uncordoned by this"
        );
        let before = world.pod(self.node)?.uid;
        world.cordon(self.node, within)?;
        self.before = Some(before);
        world.delete_pod(self.node, Deletion::Eviction)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let pod = pod_delete::another(world, self.node, self.before.as_deref(), limit);
        pod.and(|| observation::or_unseen("the cluster", machine(world, self.node)))
    }

    fn is_ours(&self) -> bool {
        false
    }
}

/// Whether pods may be put on the machine where it is now.
fn machine(world: &mut dyn Pods, node: usize) -> Result<Observation> {
    let is_open = world.is_schedulable(node)?;
    let words = if is_open {
        "its machine takes pods"
    } else {
        "its machine is cordoned"
    };
    Ok(Observation {
        broken: Some(!is_open),
        whole: Some(is_open),
        words: words.to_owned(),
    })
}
