//! Operations on hosts, which the agents of the hosts perform.

use super::{ExecutedBy, HealResult, HostSeen, NodeSeen};
use anyhow::Result;
use host::{Injection, Query, QueryAnswer};
use std::time::Duration;
use target_spec::{NodeIndex, PerHost, PerNode};

/// The known nodes and hosts, and the agents of the hosts, which inject, heal and observe faults.
pub trait Agents {
    /// Returns all nodes.
    fn nodes(&self) -> PerNode<NodeSeen>;

    /// Updates the known processes of the nodes, because other programs may have restarted some.
    fn refresh(&mut self);

    /// Returns all hosts that are isolated from each other.
    fn hosts(&self) -> PerHost<HostSeen>;

    /// Returns true if the hosts are connected by a switch, which can drop their packets. Without a
    /// switch, the hosts drop packets themselves.
    fn has_switch(&self) -> bool;

    /// Injects a fault. `nodes` are the nodes whose processes are affected, in order. Unless the
    /// fault is healed before, the agent heals it after `within`.
    ///
    /// # Errors
    /// The agent has ended, or cannot inject the fault.
    fn inject(
        &mut self,
        by: ExecutedBy,
        what: Injection,
        nodes: &[NodeIndex],
        within: Duration,
    ) -> Result<()>;

    /// Resets the deadline of all faults. Agents then heal the faults when `within` has passed from
    /// now on.
    ///
    /// # Errors
    /// An agent has ended.
    fn renew(&mut self, within: Duration) -> Result<()>;

    /// Heals all faults, beginning with the last fault.
    ///
    /// # Errors
    /// A fault cannot be healed. All other faults are healed.
    fn heal(&mut self) -> Result<HealResult>;

    /// Heals the last fault of a node's process.
    ///
    /// # Errors
    /// The fault cannot be healed. The next call of [`Agents::heal`] tries again.
    fn heal_node(&mut self, node: NodeIndex) -> Result<()>;

    /// Makes an observation.
    ///
    /// # Errors
    /// The agent has ended, or cannot make the observation.
    fn see(&mut self, by: ExecutedBy, what: Query) -> Result<QueryAnswer>;

    /// Returns a port on which a host receives data from another host. The port is open for
    /// `limit`.
    ///
    /// # Errors
    /// The agent of the host has ended, or no port is free.
    fn receive(&mut self, by: ExecutedBy, limit: Duration) -> Result<u16>;
}
