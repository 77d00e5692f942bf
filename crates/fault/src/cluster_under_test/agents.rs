//! Operations on hosts, which the agents of the hosts perform.

use super::{ExecutedBy, HealResult, HostSeen, NodeSeen};
use anyhow::Result;
use host::{Injection, Query, QueryAnswer};
use std::time::Duration;
use target_spec::{NodeIndex, PerHost, PerNode};

/// Nodes, hosts, and the agents on the hosts, which inject, heal and observe faults.
pub trait Agents {
    fn nodes(&self) -> PerNode<NodeSeen>;

    /// Updates the processes of the nodes, which other programs may have restarted.
    fn refresh(&mut self);

    /// Returns all isolated hosts.
    fn hosts(&self) -> PerHost<HostSeen>;

    /// Returns true if a switch connects the hosts and can drop their packets. Otherwise the hosts
    /// drop packets themselves.
    fn has_switch(&self) -> bool;

    /// Injects a fault that affects the processes of `nodes`, in order. The agent heals the fault
    /// after `within`, unless it is healed before.
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

    /// Resets the deadline of all faults to `within` from now on.
    ///
    /// # Errors
    /// An agent has ended.
    fn renew(&mut self, within: Duration) -> Result<()>;

    /// Heals all faults, the last one first.
    ///
    /// # Errors
    /// A fault cannot be healed. All other faults are healed.
    fn heal(&mut self) -> Result<HealResult>;

    /// Heals the last fault of a node's process.
    ///
    /// # Errors
    /// The fault cannot be healed. [`Agents::heal`] tries again.
    fn heal_node(&mut self, node: NodeIndex) -> Result<()>;

    /// # Errors
    /// The agent has ended, or cannot make the observation.
    fn see(&mut self, by: ExecutedBy, what: Query) -> Result<QueryAnswer>;

    /// Returns a port on which a host receives data from another host for `limit`.
    ///
    /// # Errors
    /// The agent of the host has ended, or no port is free.
    fn receive(&mut self, by: ExecutedBy, limit: Duration) -> Result<u16>;
}
