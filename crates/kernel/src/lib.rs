//! The only crate that knows what the kernel of a machine is told and says: links, packet filters,
//! control groups, volumes, settings, figures.
//!
//! What is told to it makes stand-ins for machines; who does it and undoes it is not known here.
//! [`able`] says what this machine permits, [`settings`] and [`probe`] read what it says of itself,
//! once and again and again.

pub mod able;
pub mod cgroup;
pub mod confine;
pub mod disk_work;
pub mod filter;
pub mod links;
pub mod listener;
pub mod memory;
mod message;
pub mod mounts;
pub mod net;
pub mod ports;
pub mod probe;
pub mod settings;
pub mod sockets;
pub mod tcp;
pub mod volume;
