//! Operations on nodes that are Kubernetes pods.

use anyhow::Result;
use cassandra::{Deletion, PodSeen};
use std::time::Duration;
use target_spec::{HostIndex, NodeIndex};

/// Operations on the pods of nodes: status, deletion and isolation.
pub trait Pods {
    /// Returns the status of a node's pod from Kubernetes, and records the current address of the
    /// node.
    ///
    /// # Errors
    /// The node is not a pod, or Kubernetes does not answer.
    fn pod(&mut self, node: NodeIndex) -> Result<PodSeen>;

    /// Returns true if the Kubernetes node `machine`, in the cluster of a node's pod, accepts pods.
    ///
    /// # Errors
    /// The errors of [`Pods::pod`].
    fn is_schedulable(&mut self, node: NodeIndex, machine: &str) -> Result<bool>;

    /// Deletes the pod of a node. The controller of the pod then creates a new pod.
    ///
    /// # Errors
    /// The pod cannot be deleted, or the user does not permit deleting it.
    fn delete_pod(&mut self, node: NodeIndex, how: Deletion) -> Result<()>;

    /// Makes the Kubernetes operator restart all nodes in its own way. Does not wait for the end of
    /// the restart. Returns a description of the request.
    ///
    /// # Errors
    /// The errors of [`Pods::delete_pod`].
    fn restart_pods(&mut self) -> Result<String>;

    /// Cordons the Kubernetes node of a node's pod until all faults are healed. Unless the faults
    /// are healed before, an agent uncordons the Kubernetes node after `within`.
    ///
    /// # Errors
    /// The errors of [`Pods::delete_pod`].
    fn cordon(&mut self, node: NodeIndex, within: Duration) -> Result<()>;

    /// Isolates the pod of a host by a network policy until all faults are healed. If cassay does
    /// not heal them, Kubernetes removes the policy within a minute.
    ///
    /// # Errors
    /// The errors of [`Pods::delete_pod`].
    fn isolate(&mut self, host: HostIndex) -> Result<()>;
}
