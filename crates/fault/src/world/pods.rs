//! What a fault asks where nodes are pods of Kubernetes.

use anyhow::Result;
use cluster::{Deletion, PodSeen};
use std::time::Duration;

/// Pods of nodes, and what takes them away or cuts them off.
pub trait Pods {
    /// What the cluster tells of the pod of a node. Where the node is by that, is known from then
    /// on.
    ///
    /// # Errors
    /// It is no pod, or the cluster does not tell.
    fn pod(&mut self, node: usize) -> Result<PodSeen>;

    /// Whether pods may be put on a machine of the cluster that a node's pod is in.
    ///
    /// # Errors
    /// As [`Pods::pod`].
    fn is_schedulable(&mut self, node: usize, machine: &str) -> Result<bool>;

    /// Has the pod of a node deleted. Whoever has made it makes another one.
    ///
    /// # Errors
    /// It cannot be done, or is not allowed.
    fn delete_pod(&mut self, node: usize, how: Deletion) -> Result<()>;

    /// Has whoever runs the cluster restart all nodes in its way, and does not wait for that; what
    /// it was told.
    ///
    /// # Errors
    /// As [`Pods::delete_pod`].
    fn restart_pods(&mut self) -> Result<String>;

    /// Keeps pods off the machine of a node's pod, until all is healed. If nobody heals it, an
    /// agent does so after `within`.
    ///
    /// # Errors
    /// As [`Pods::delete_pod`].
    fn cordon(&mut self, node: usize, within: Duration) -> Result<()>;

    /// Has a network policy cut the pod of a host off, until all is healed. If nobody does, the
    /// cluster itself takes it away within a minute.
    ///
    /// # Errors
    /// As [`Pods::delete_pod`].
    fn isolate(&mut self, host: usize) -> Result<()>;
}
