//! Connections of clients that are reset, as by a firewall that has forgotten them: what was under
//! way on them has no answer, and whoever had them connects again.

use crate::behaviour::Fault;
use crate::observation::{self, Observation};
use crate::world::{Via, World};
use anyhow::{Context, Result};
use host::Injection;
use std::time::Duration;
use target::fault::{Hit, Options};

/// What carries it out.
pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Reset {
        node: hit.node(),
        is_done: false,
    })
}

/// How long a connection of our own may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

struct Reset {
    node: usize,
    is_done: bool,
}

impl Fault for Reset {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let node = world.nodes().into_iter().nth(self.node).context("there is no such node")?;
        // One of ours, by which it shows.
        world.connect(self.node, CONNECT_LIMIT)?;
        let what = Injection::Reset(vec![node.cql.port()]);
        world.inject(Via::Node(self.node), what, &[], within)?;
        self.is_done = true;
        Ok(())
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let client = observation::client(world, self.node, limit);
        let is_lost = self.is_done && !world.is_connected();
        Observation {
            broken: Some(is_lost),
            // A new one comes about.
            whole: client.whole,
            words: if is_lost {
                format!("a connection of ours was reset, {}", client.words)
            } else {
                client.words
            },
        }
    }
}
