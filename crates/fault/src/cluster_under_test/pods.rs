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
    /// As [`Pods::pod`].
    fn is_schedulable(&mut self, node: NodeIndex, machine: &str) -> Result<bool>;

    /// Deletes the pod of a node. The controller of the pod creates another one.
    ///
    /// # Errors
    /// The pod cannot be deleted, or the user does not permit deleting it.
    fn delete_pod(&mut self, node: NodeIndex, how: Deletion) -> Result<()>;

    /// Makes the operator restart all nodes in its own way, and does not wait until it has done so.
    /// Returns a description of the request.
    ///
    /// # Errors
    /// As [`Pods::delete_pod`].
    fn restart_pods(&mut self) -> Result<String>;

    /// Cordons the Kubernetes node of a node's pod until all faults are healed. If the faults are
    /// not healed before, an agent uncordons the Kubernetes node after `within`.
    ///
    /// # Errors
    /// As [`Pods::delete_pod`].
    fn cordon(&mut self, node: NodeIndex, within: Duration) -> Result<()>;

    /// Isolates the pod of a host by a network policy until all faults are healed. If they are
    /// never healed, Kubernetes itself removes the policy within a minute.
    ///
    /// # Errors
    /// As [`Pods::delete_pod`].
    fn isolate(&mut self, host: HostIndex) -> Result<()>;
}
