//! Operations on nodes that are Kubernetes pods.

use anyhow::Result;
use cassandra::{Deletion, PodSeen};
use std::time::Duration;
use target_spec::{HostIndex, NodeIndex};

pub trait Pods {
    /// Returns the status of a node's pod from Kubernetes, and records the node's current address.
    ///
    /// # Errors
    /// The node is not a pod, or Kubernetes does not answer.
    fn pod(&mut self, node: NodeIndex) -> Result<PodSeen>;

    /// Returns true if the Kubernetes node `machine` accepts pods. `node` selects the Kubernetes
    /// cluster.
    ///
    /// # Errors
    /// The errors of [`Pods::pod`].
    fn is_schedulable(&mut self, node: NodeIndex, machine: &str) -> Result<bool>;

    /// Deletes the pod of a node. The controller then creates a new pod.
    ///
    /// # Errors
    /// Kubernetes or the user's permissions do not allow the deletion.
    fn delete_pod(&mut self, node: NodeIndex, how: Deletion) -> Result<()>;

    /// Makes the Kubernetes operator restart all nodes with its own procedure, without waiting for
    /// the restart. Returns a description of the request.
    ///
    /// # Errors
    /// The errors of [`Pods::delete_pod`].
    fn restart_pods(&mut self) -> Result<String>;

    /// Cordons the Kubernetes node of a node's pod until all faults are healed. An agent uncordons
    /// it at the latest after `within`.
    ///
    /// # Errors
    /// The errors of [`Pods::delete_pod`].
    fn cordon(&mut self, node: NodeIndex, within: Duration) -> Result<()>;

    /// Isolates the pod of a host by a network policy until all faults are healed. If cassay dies,
    /// Kubernetes removes the policy within a minute.
    ///
    /// # Errors
    /// The errors of [`Pods::delete_pod`].
    fn isolate(&mut self, host: HostIndex) -> Result<()>;
}
