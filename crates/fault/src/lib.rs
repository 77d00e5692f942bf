//! The only crate that knows how to break a thing, see independently that it is broken, make it
//! whole and see that too.
//!
//! Each kind of fault is a file: what it takes, how it is injected, and by what it shows. [`run`]
//! takes one from the first look to the last. What must hold: nothing is broken that was not seen
//! whole before; what heals is armed at the host's agent before anything is broken; that something
//! is broken, or whole again, is said by who has not done it: the kernel of the host, another host,
//! and a client of the node.

mod behaviour;
mod behaviours;
mod command;
mod course;
mod data_corrupt;
mod data_lost;
mod disk_errors;
mod disk_full;
mod disk_read_only;
mod disk_removed;
mod disk_slow;
mod disk_stalled;
mod host_power_off;
mod live;
mod net_client_cut;
mod net_delay;
mod net_down;
mod net_loss;
mod net_one_way;
mod net_partition;
mod net_reset;
mod net_slow;
mod node_add;
mod node_clock_ahead;
mod node_clock_behind;
mod node_compact;
mod node_decommission;
mod node_descriptors;
mod node_kill;
mod node_pause;
mod node_remove;
mod node_repair;
mod node_restart;
mod node_slow;
mod node_snapshot;
mod node_stop;
mod observation;
mod renewal;
mod ring;
mod rolling;
mod rolling_change;
mod rolling_restart;
mod task;
mod world;

pub use analysis::recovery::{FaultStep, FaultVerdict};
pub use course::{Outcome, Step, holds_from, run};
pub use live::{Live, Order, orders};
pub use world::{
    Agents, Client, Healed, HostSeen, Mbeans, NodeFiles, NodeSeen, Starter, Timer, Via, World,
};

#[cfg(test)]
mod tests;
