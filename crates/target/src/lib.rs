//! The only crate that knows what a target is, as data: nodes, hosts, limits and attachment, what
//! it can do, kinds of faults, and what of that no machine can be.
//!
//! Building these values touches nothing but memory. Their sources, a study or a command line, and
//! their users, `cluster`, `null`, `host` and `fault`, need not know each other.

mod ability;
mod allow;
mod attached_host;
mod change;
pub mod fault;
mod heap;
pub mod hidden;
mod host;
mod invocation;
mod java;
mod kubernetes;
mod memory;
mod null;
mod placing;
mod pointers;
mod refusal;
mod secret;
mod spec;
mod translation;
pub mod trust;
mod yaml;

pub use ability::{Ability, Capability};
pub use allow::{Act, Allow, NodeAct, Object};
pub use attached_host::{AttachedHost, NODE_PLACE, ProcessControl, folder_of_node};
pub use change::{Change, Restarts};
pub use heap::jvm_size;
pub use host::{DiskSpec, HostSpec, HostsAre, HostsSpec, Isolation, LinkSpec, RemoteHost};
pub use invocation::Invocation;
pub use java::{
    JavaChoice, JavaWanted, java_in_release, java_major, java_majors, java_unsupported,
    majors_words,
};
pub use kubernetes::{
    KubernetesCluster, KubernetesOwner, NODE_FOLDER, NodePods, PodAgents, PodPlace,
};
pub use memory::memory_bytes;
pub use null::{Drift, Latency, NullSpec, Reads, Stall};
pub use placing::{Placing, Topology};
pub use pointers::narrow_heap_max_bytes;
pub use refusal::{NO_HA_OF_MACHINES, SpecRefusal, class_sharing_refusal, spec_refusals};
pub use secret::{Secret, SecretSource};
pub use spec::{
    AttachSpec, Authentication, BuildIdentity, Collector, JOLOKIA_PORT, JolokiaAccess, LocalSpec,
    NODES_COUNT_MAX, Origin, Seat, Target, TlsSpec,
};
pub use translation::{NodePlace, Translation};
pub use yaml::{YamlRefusal, yaml_named, yaml_refusal, yaml_renamed, yaml_together};
