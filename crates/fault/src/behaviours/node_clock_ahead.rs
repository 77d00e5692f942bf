//! A node whose wall clock is ahead. Its writes have timestamps in the future, and take precedence
//! over later acknowledged writes. The clock of a running process cannot be shifted, so the node
//! restarts for the fault and for healing.

use super::node_kill;
use crate::behaviour::{Fault, Work};
use crate::cluster_under_test::{Client, ExecutedBy, World};
use crate::observation::{self, Health, Observation, Presence};
use crate::ring;
use anyhow::Result;
use host::Injection;
use std::time::Duration;
use target_spec::NodeIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, options: &Options) -> Box<dyn Fault> {
    Box::new(ClockShift {
        node: hit.node(),
        by_ms: options.by.unwrap_or_default().as_millis() as i64,
    })
}

const LIMIT: Duration = Duration::from_secs(5);

/// Shifts a node's clock. A negative shift sets the clock back.
pub(crate) struct ClockShift {
    pub node: NodeIndex,
    pub by_ms: i64,
}

impl ClockShift {
    /// Observes the clock of the node as a client. The clock counts as shifted if its offset is
    /// nearer to the planned shift than to zero, for every time at which the node may have read its
    /// clock.
    fn time(&self, world: &mut dyn Client, limit: Duration) -> Result<Observation> {
        let [least, most] = world.clock_off_ms(self.node, limit)?;
        let is_off = |off_ms: i64| (off_ms - self.by_ms).abs() < off_ms.abs();
        let words = match (least + most) / 2 {
            behind @ ..0 => format!("{} ms behind the client's", -behind),
            ahead => format!("{ahead} ms ahead of the client's"),
        };
        Ok(Observation {
            fault: Presence::from(is_off(least) && is_off(most)),
            target: Health::from(!is_off(least) && !is_off(most)),
            words: format!("the time that the node returns to a client is {words}"),
        })
    }
}

impl Fault for ClockShift {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let (instead, [forth, back]) = world.shifted(self.node, self.by_ms)?;
        let what = Injection::Instead {
            process: world.restartable(self.node)?,
            instead,
            forth: vec![forth],
            back: vec![back],
        };
        world.inject(ExecutedBy::Node(self.node), what, &[self.node], within)
    }

    /// A starting node does not answer, which does not show the fault. After the correction of the
    /// clock, other nodes may consider the node down, because it announced a later gossip
    /// generation before.
    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        match self.time(world, limit) {
            Ok(look) => ring::and_known(world, look, self.node, limit),
            Err(_) => Observation {
                fault: Presence::Absent,
                ..node_kill::gone(world, self.node, limit)
            },
        }
    }

    fn proceed(&mut self, world: &mut dyn World) -> Result<Work> {
        observation::still_starting(world, self.node, "it")?;
        Ok(match world.ask(self.node, LIMIT) {
            Ok(()) => Work::Done("it answers again".to_owned()),
            Err(_) => Work::Going,
        })
    }
}
