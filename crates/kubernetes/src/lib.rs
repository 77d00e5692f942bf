//! The only crate that knows what Kubernetes is told and says: objects, by the user's own kubectl.
//!
//! [`Kubectl`] is a namespace of a cluster as the user's configuration leads there; [`ClientJob`]
//! is the pods that clients run in, [`PodSet`] those of nodes; [`find`] is where others' clusters
//! are, [`NodePod`] one of their nodes as it is
//! broken, and [`Operator`] who runs them; [`access`] is what of that somebody must
//! be permitted. What must hold: everything that is
//! made there is owned by one object, which goes by itself when nobody comes back to it; and
//! nothing is asked of each pod again and again: one watch tells of all.

pub mod access;
mod clusters;
mod inside;
mod job;
mod kubectl;
mod node_pod;
mod node_pods;
mod operator;
mod pods;

pub use clusters::{FoundCluster, FoundNode, FoundPod, default_container, find};
pub use inside::{BegunRun, InsideRun};
pub use job::{ClientJob, ClientPods, ReadyPod};
pub use kubectl::{Kubectl, Selector};
pub use node_pod::{Deletion, Isolation, NodePod};
pub use node_pods::{PodSet, remove_pods};
pub use operator::Operator;
pub use pods::{PodSeen, Pods, PodsSeen};
pub use reach::is_kubernetes_name as is_name;
