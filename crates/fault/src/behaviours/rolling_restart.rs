//! A rolling restart of all nodes, as administrators perform it without interrupting service. Each
//! node drains, ends, starts, and is up before the next node begins.

use crate::behaviour::{Fault, Tell, Work};
use crate::cluster_under_test::{ExecutedBy, HealResult, World};
use crate::observation::Observation;
use crate::rolling::{self, Round, TURN_LIMIT};
use anyhow::Result;
use host::process::Identity;
use std::time::Duration;
use target_spec::fault::{Hit, Options};
use target_spec::{NodeIndex, PerNode};

pub(crate) fn behaviour(_: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Restart {
        before: PerNode::default(),
        round: Round::new(Vec::new()),
    })
}

struct Restart {
    before: PerNode<Option<Identity>>,
    round: Round,
}

impl Fault for Restart {
    fn inject(&mut self, world: &mut dyn World, _: Duration) -> Result<()> {
        self.round = Round::new(world.nodes().indexes().collect());
        Ok(())
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        if self.before.is_empty() {
            self.before = world.nodes().iter().map(|node| node.process).collect();
        }
        let seen = rolling::others(world, &self.before);
        rolling::and_all_up(world, seen, limit)
    }

    fn proceed(&mut self, world: &mut dyn World) -> Result<Work> {
        let restart = &mut |world: &mut dyn World, node: NodeIndex| {
            let stop = world.stopping(node)?;
            world.inject(ExecutedBy::Node(node), stop, &[node], TURN_LIMIT)?;
            world.heal_node(node)
        };
        self.round.proceed(world, restart, &|_, _| Ok(()))
    }

    fn heal(&mut self, world: &mut dyn World, _: Tell<'_>) -> Result<HealResult> {
        self.round.heal(world)
    }
}
