//! The only crate that uses Linux interfaces: links, packet filters, control groups, volumes,
//! settings, counters.
//!
//! With these interfaces, parts of a machine become simulated hosts. This crate does not depend on
//! the code that creates and removes simulated hosts. [`capability`] reports the capabilities of
//! this machine, [`settings`] reads its settings once, and [`probe`] reads its counters repeatedly.

pub mod capability;
pub mod cgroup;
pub mod cpu_affinity;
pub mod disk_work;
pub mod links;
pub mod listener;
pub mod memory;
pub mod mounts;
pub mod net;
pub mod packet_filter;
pub mod ports;
pub mod probe;
mod rtnetlink_message;
pub mod settings;
#[cfg(test)]
mod skip_report;
pub mod sockets;
pub mod tcp;
pub mod volume;
