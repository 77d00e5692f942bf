//! A node of ours that is really broken, by its host's agent.

use crate::World;
use anyhow::{Context, Result};
use cluster::NodeHandle;
use host::{Broken, Healed};
use measure::clock;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Orders healing. Dropping it does, too.
#[derive(Debug)]
pub struct Order(Sender<()>);

impl Order {
    /// Heal now; once more is the same as once.
    pub fn heal(&self) {
        // Who is gone has healed.
        let _ = self.0.send(());
    }
}

/// The two ends of an order.
pub fn orders() -> (Order, Receiver<()>) {
    let (sender, receiver) = channel();
    (Order(sender), receiver)
}

/// A node of ours, and the order that ends its fault.
#[derive(Debug)]
pub struct Live {
    node: NodeHandle,
    orders: Receiver<()>,
    is_ordered: bool,
    broken: Option<Broken>,
}

impl Live {
    /// One that nothing was done to yet.
    pub fn new(node: NodeHandle, orders: Receiver<()>) -> Live {
        Live {
            node,
            orders,
            is_ordered: false,
            broken: None,
        }
    }

    /// Its process as it is now.
    pub fn process(&self) -> host::process::Identity {
        self.node.process
    }
}

impl World for Live {
    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    fn wait(&mut self, for_: Duration) -> bool {
        if self.is_ordered {
            clock::sleep(for_);
            return true;
        }
        let ordered = self.orders.recv_timeout(for_);
        self.is_ordered = !matches!(ordered, Err(RecvTimeoutError::Timeout));
        self.is_ordered
    }

    fn state(&mut self) -> Result<Option<char>> {
        self.node.agent.state_of(self.node.process)
    }

    fn ask(&mut self, limit: Duration) -> Result<()> {
        self.node.ask(limit)
    }

    fn pause(&mut self, within: Duration) -> Result<()> {
        self.broken = Some(self.node.pause(within)?);
        Ok(())
    }

    fn kill(&mut self, within: Duration) -> Result<()> {
        self.broken = Some(self.node.kill(within)?);
        Ok(())
    }

    fn heal(&mut self) -> Result<Healed> {
        let broken = self.broken.context("nothing was broken")?;
        let healed = self.node.agent.heal(broken)?;
        self.node.process = healed.process;
        Ok(healed)
    }
}
