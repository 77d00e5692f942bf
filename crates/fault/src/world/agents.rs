//! What a fault asks of the agents of hosts.

use super::{Healed, HostSeen, NodeSeen, Via};
use anyhow::Result;
use host::{Injection, Query, QueryAnswer};
use std::time::Duration;

/// Who breaks, heals and looks on hosts: their agents, and what there is of nodes and hosts.
pub trait Agents {
    /// All nodes.
    fn nodes(&self) -> Vec<NodeSeen>;

    /// Looks which processes the nodes have now: others may have started them.
    fn refresh(&mut self);

    /// All hosts that are more than addresses.
    fn hosts(&self) -> Vec<HostSeen>;

    /// Whether there is a switch between them, which can lose what they send; machines lose
    /// themselves what is to be lost.
    fn has_switch(&self) -> bool;

    /// Breaks something; `nodes` are those whose processes are touched, in their order. If nobody
    /// heals it, the agent does so after `within`.
    ///
    /// # Errors
    /// It cannot be done.
    fn inject(&mut self, by: Via, what: Injection, nodes: &[usize], within: Duration)
    -> Result<()>;

    /// From now on agents heal what is broken after `within`, whatever they were told before.
    ///
    /// # Errors
    /// An agent is gone.
    fn renew(&mut self, within: Duration) -> Result<()>;

    /// Makes whole all that was broken, the last first.
    ///
    /// # Errors
    /// Something cannot be made whole; all else is.
    fn heal(&mut self) -> Result<Healed>;

    /// Makes whole what was broken last of the process of a node.
    ///
    /// # Errors
    /// It cannot be made whole, and is tried again when all is.
    fn heal_node(&mut self, node: usize) -> Result<()>;

    /// Looks at something.
    ///
    /// # Errors
    /// Nobody can look.
    fn see(&mut self, by: Via, what: Query) -> Result<QueryAnswer>;

    /// A port at which a host receives what another one sends, for so long.
    ///
    /// # Errors
    /// Its agent is gone, or no port is left.
    fn receive(&mut self, by: Via, limit: Duration) -> Result<u16>;
}
