//! The only crate that describes a target as data: nodes, hosts, limits, attachment, capabilities,
//! kinds of faults.
//!
//! Creating these values has no effects outside of memory. Some crates make them from a study or a
//! command line. Other crates use them: `cluster`, `null`, `host` and `fault`. These two groups of
//! crates do not depend on each other.

mod actions;
mod address_translation;
mod allow;
mod attached_host;
mod capability;
mod compressed_pointers;
mod contact_point;
pub mod fault;
pub mod harmless_settings;
mod heap;
mod host;
mod index;
mod java;
mod kubernetes;
mod limit;
mod node_memory;
mod null;
mod placement;
pub mod redact;
mod refusal;
mod secret;
mod serialization;
mod spec;
mod user_program;
mod yaml;

pub use actions::{Change, Restarts};
pub use address_translation::{NodePlace, Translation};
pub use allow::{Act, Allow, NodeAct, Object};
pub use attached_host::{AttachedHost, NODE_PLACE, ProcessControl, folder_of_node};
pub use capability::{Capability, CapabilityStatus};
pub use compressed_pointers::narrow_heap_max_bytes;
pub use contact_point::{CQL_PORT, ContactPoint};
pub use heap::jvm_size;
pub use host::{DiskSpec, HostKind, HostSpec, HostsSpec, Isolation, LinkSpec, RemoteHost};
pub use index::{HostIndex, NodeIndex, PerHost, PerIndex, PerNode};
pub use java::{
    JavaChoice, JavaWanted, java_in_release, java_major, java_majors, java_unsupported,
    majors_words,
};
pub use kubernetes::{
    KubernetesCluster, KubernetesOwner, NODE_FOLDER, NodePods, PodAgents, PodPlace,
    is_kubernetes_name,
};
pub use limit::Limit;
pub use node_memory::memory_bytes;
pub use null::{Drift, Latency, NullSpec, Reads, Stall};
pub use placement::{Placing, Topology};
pub use refusal::{NO_HA_OF_MACHINES, SpecRefusal, class_sharing_refusal, spec_refusals};
pub use secret::{Secret, SecretSource};
pub use spec::{
    AttachSpec, Authentication, BuildIdentity, Collector, JOLOKIA_PORT, JolokiaAccess, LocalSpec,
    NODES_COUNT_MAX, Origin, Seat, Target, TlsSpec,
};
pub use user_program::Invocation;
pub use yaml::{YamlRefusal, yaml_named, yaml_refusal, yaml_renamed, yaml_together};
