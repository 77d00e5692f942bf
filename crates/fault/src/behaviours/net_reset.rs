//! Client connections are reset, as by a firewall that lost its state. Pending requests get no
//! response, and clients reconnect.

use crate::behaviour::Fault;
use crate::cluster_under_test::{ExecutedBy, World};
use crate::observation::{self, Observation, Presence};
use anyhow::{Context, Result};
use host::Injection;
use std::time::Duration;
use target_spec::NodeIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Reset {
        node: hit.node(),
        is_done: false,
    })
}

const CONNECT_LIMIT: Duration = Duration::from_secs(5);

struct Reset {
    node: NodeIndex,
    is_done: bool,
}

impl Fault for Reset {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let node = world.nodes().take(self.node).context("the node does not exist")?;
        // The fault is observed on this connection.
        world.connect(self.node, CONNECT_LIMIT)?;
        let what = Injection::Reset(vec![node.cql.port()]);
        world.inject(ExecutedBy::Node(self.node), what, &[], within)?;
        self.is_done = true;
        Ok(())
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let client = observation::client(world, self.node, limit);
        let is_lost = self.is_done && !world.is_connected();
        Observation {
            fault: Presence::from(is_lost),
            // The target is healthy if a new connection succeeds.
            target: client.target,
            words: if is_lost {
                format!("the fault reset a test connection, {}", client.words)
            } else {
                client.words
            },
        }
    }
}
