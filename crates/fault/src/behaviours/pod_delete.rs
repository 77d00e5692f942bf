//! A pod is deleted. Its node shuts down normally, and starts in a new pod, which the controller
//! creates, at a new address.

use crate::behaviour::Fault;
use crate::cluster_under_test::{Pods, World};
use crate::observation::{self, Health, Observation, Presence};
use anyhow::Result;
use cassandra::{Deletion, PodSeen};
use std::time::Duration;
use target_spec::NodeIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    deleting(hit, Deletion::InOrder)
}

pub(crate) fn deleting(hit: &Hit, how: Deletion) -> Box<dyn Fault> {
    Box::new(Delete {
        node: hit.node(),
        how,
        before: None,
    })
}

struct Delete {
    node: NodeIndex,
    how: Deletion,
    /// Uid of the deleted pod. `None` before the injection.
    before: Option<String>,
}

impl Fault for Delete {
    fn inject(&mut self, world: &mut dyn World, _: Duration) -> Result<()> {
        self.before = Some(world.pod(self.node)?.uid);
        world.delete_pod(self.node, self.how)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        another(world, self.node, self.before.as_deref(), limit)
    }

    fn healing(&self) -> &'static str {
        "the pod's controller creates another pod"
    }

    fn is_ours(&self) -> bool {
        false
    }
}

/// Observes a node and its pod. The fault is present if the pod is not ready and the node does not
/// answer a client. The target is healthy if the pod is ready and the node answers. `before` is the
/// uid of the deleted pod.
pub(crate) fn another(
    world: &mut dyn World,
    node: NodeIndex,
    before: Option<&str>,
    limit: Duration,
) -> Observation {
    let told = observation::or_unseen("the cluster", observe_pod(world, node, before));
    // The call above has recorded the node's new address.
    Observation::combine(told, observation::client(world, node, limit))
}

fn observe_pod(world: &mut dyn Pods, node: NodeIndex, before: Option<&str>) -> Result<Observation> {
    let PodSeen {
        name,
        uid,
        is_ready,
        waits_for,
        fate,
        address,
        ..
    } = world.pod(node)?;
    let state = match (is_ready, fate, waits_for) {
        (true, ..) => {
            let at = address.map(|ip| format!(" at {ip}")).unwrap_or_default();
            let is_another = before.is_some_and(|before| *before != uid);
            let of = if is_another { "another one" } else { "it" };
            format!("{of} is ready{at}")
        }
        (_, Some(fate), _) => fate,
        (_, None, Some(waits)) => format!("it waits ({waits})"),
        (_, None, None) => "the pod is not ready".to_owned(),
    };
    Ok(Observation {
        fault: Presence::from(!is_ready),
        target: Health::from(is_ready),
        words: format!("the cluster's report on {name}: {state}"),
    })
}
