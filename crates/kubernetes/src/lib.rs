//! The only crate that queries and changes Kubernetes, by the user's own kubectl.
//!
//! [`Kubectl`] accesses a namespace of a cluster with the user's configuration. [`ClientJob`] owns
//! the pods of clients, and [`PodSet`] the pods of managed nodes. [`find`] locates attached
//! clusters, [`NodePod`] injects faults into a node's pod, and [`Operator`] restarts a cluster
//! through its operator. [`access`] lists the required permissions. Invariants: one object owns all
//! other objects that cassay creates, and expires by itself. One watch reports all pods, so cassay
//! never polls single pods.

pub mod access;
mod clusters;
mod job;
mod kubectl;
mod node_pod;
mod node_pods;
mod operator;
mod pods;
mod run_in_cluster;

pub use clusters::{FoundCluster, FoundNode, FoundPod, default_container, find};
pub use job::{ClientJob, ClientPods, ReadyPod};
pub use kubectl::{Kubectl, Selector};
pub use node_pod::{Deletion, Isolation, NodePod};
pub use node_pods::{PodSet, remove_pods};
pub use operator::Operator;
pub use pods::{PodSeen, Pods, PodsSeen};
pub use run_in_cluster::{BegunRun, InsideRun};
