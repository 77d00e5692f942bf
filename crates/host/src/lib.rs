//! The only crate that defines the calls to a host's agent, and makes them: simulated and remote
//! hosts.
//!
//! [`Hosts::make`] creates simulated hosts. An [`Agent`] performs the calls of [`calls`],
//! [`files`], [`faults`], [`queries`], [`machine`], [`attached_nodes`] and [`watch`] on its host.
//! The crate `agent` implements the agent. This crate does not depend on the programs on the host,
//! but some limits are chosen for a JVM or a commit log.

pub mod agent;
pub mod attached_nodes;
pub mod calls;
pub mod destination;
pub mod faults;
pub mod files;
mod hosts;
pub mod inspect;
pub mod invocation;
pub mod machine;
mod parallel_calls;
mod persistent_state;
pub mod queries;
pub mod remote_host;
mod server_process;
mod service;
mod simulated_host;
mod switch;
pub mod undo;
pub mod undo_file;
mod wall_clock;
pub mod watch;

pub use agent::{Agent, MARK, ProcessEnd, end_agents, listen};
pub use faults::{Broken, HealAnswer, Injection, Join, Restartable, Start};
pub use files::{Bytes, Entry, FileId, FileStep, From, Piece, Reader};
pub use hosts::Hosts;
pub use invocation::ProgramResult;
pub use linux::capability::{capabilities, volume_capabilities};
pub use linux::cgroup::CgroupDir;
pub use linux::cpu_affinity::{Confinement, EffectiveAffinity, Memory};
pub use linux::disk_work::DiskWork;
pub use linux::links::{MachineLink, fastest as fastest_link};
pub use linux::mounts::MountedFileSystem;
pub use linux::packet_filter::{HostLoss, Link, Loss, PacketDirection, PortEnd};
pub use linux::tcp::Reach;
pub use linux::volume::VolumeUse;
pub use linux::{memory, ports, probe, settings};
pub use parallel_calls::at_once;
pub use persistent_state::{HostState, HostsState, group_name};
pub use queries::{Attempt, Query, QueryAnswer};
pub use remote::{Destination, Offset, Refusal, UnreachedMachines, host_names, process};
pub use service::{Service, ServiceBreak, ServiceFault};
pub use simulated_host::Host;
pub use topology::CpuSet;
pub use watch::Watch;
