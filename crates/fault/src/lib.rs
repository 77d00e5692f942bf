//! The only crate that breaks a part of a cluster, confirms it independently, heals it and confirms
//! that.
//!
//! Each kind of fault has a file with its options, injection and observation. [`run`] performs the
//! life cycle of a fault. Invariants: a fault is injected only into a target that was observed
//! without faults. The host's agent is ready to heal before the injection. Independent observers
//! decide whether the fault is present or healed: the host's kernel, another host, and a client of
//! the node.

mod behaviour;
mod behaviours;
mod cluster_under_test;
mod inject_and_heal;
mod network;
mod node_operation;
mod node_release;
mod observation;
mod real_cluster;
mod renewal;
mod ring;
mod rolling;

pub use analysis::recovery::{FaultStep, FaultVerdict};
pub use cluster_under_test::{
    Agents, Client, ExecutedBy, HealResult, HostSeen, Mbeans, NodeFiles, NodeSeen, Pods, Starter,
    Timer, World,
};
pub use inject_and_heal::{FaultResult, LifeCycleStep, holds_from, run};
pub use observation::Presence;
pub use real_cluster::{Live, Order, orders};

#[cfg(test)]
mod tests;
