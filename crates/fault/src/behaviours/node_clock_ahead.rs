//! A node whose wall clock is ahead of all others: what it coordinates has times at which no other
//! node has written yet, and wins over what is acknowledged later. It is restarted for it, since a
//! process has its clock from its start on, and restarted again.

use super::node_kill;
use crate::behaviour::{Fault, Work};
use crate::observation::{self, Observation};
use crate::ring;
use crate::world::{Client, Via, World};
use anyhow::Result;
use host::Injection;
use std::time::Duration;
use target::fault::{Hit, Options};

/// What carries it out.
pub(crate) fn behaviour(hit: &Hit, options: &Options) -> Box<dyn Fault> {
    Box::new(Off {
        node: hit.node(),
        by_ms: options.by.unwrap_or_default().as_millis() as i64,
    })
}

/// How long a node may take to tell its time.
const LIMIT: Duration = Duration::from_secs(5);

/// A node whose clock is off by so much; below 0, behind.
pub(crate) struct Off {
    pub node: usize,
    pub by_ms: i64,
}

impl Off {
    /// What a client hears of its time: it is off if that is nearer to what it should be off by
    /// than to ours, whenever in the time of the question it was told.
    fn time(&self, world: &mut dyn Client, limit: Duration) -> Result<Observation> {
        let [least, most] = world.clock_off_ms(self.node, limit)?;
        let is_off = |off_ms: i64| (off_ms - self.by_ms).abs() < off_ms.abs();
        let words = match (least + most) / 2 {
            behind @ ..0 => format!("{} ms behind ours", -behind),
            ahead => format!("{ahead} ms ahead of ours"),
        };
        Ok(Observation {
            broken: Some(is_off(least) && is_off(most)),
            whole: Some(!is_off(least) && !is_off(most)),
            words: format!("it tells a client a time that is {words}"),
        })
    }
}

impl Fault for Off {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let (instead, [forth, back]) = world.shifted(self.node, self.by_ms)?;
        let what = Injection::Instead {
            process: world.restartable(self.node)?,
            instead,
            forth: vec![forth],
            back: vec![back],
        };
        world.inject(Via::Node(self.node), what, &[self.node], within)
    }

    /// Who does not answer is neither: it is on its way. Others may hold one to be down that has
    /// its own time again, since it has told them of a later one.
    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        match self.time(world, limit) {
            Ok(look) => ring::and_known(world, look, self.node, limit),
            Err(_) => Observation {
                broken: Some(false),
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
