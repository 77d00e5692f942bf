//! The only crate that knows what a host is and what it can be asked: stand-ins made of this
//! machine, and every host's agent as its controller has it.
//!
//! [`Hosts::make`] creates simulated hosts. An [`Agent`] performs the calls of [`calls`],
//! [`files`], [`faults`], [`queries`], [`machine`], [`others`] and [`watch`] on its host. This
//! crate knows neither how that is done nor what runs there; some limits are chosen for a JVM or a
//! commit log.

pub mod agent;
mod at_once;
pub mod calls;
pub mod faults;
pub mod files;
mod hosts;
pub mod inspect;
pub mod invocation;
pub mod machine;
pub mod noted;
pub mod others;
pub mod place;
pub mod queries;
pub mod remote;
mod service;
mod serving;
mod stand_in;
mod state;
mod switch;
pub mod undo;
mod wall_clock;
pub mod watch;

pub use agent::{Agent, Ended, MARK, end_agents, listen};
pub use at_once::at_once;
pub use faults::{Broken, Healed, Injection, Join, Restartable, Start};
pub use files::{Bytes, Entry, FileId, From, Piece, Reader, Step};
pub use hosts::Hosts;
pub use invocation::ProgramResult;
pub use kernel::able::{abilities, volume_abilities};
pub use kernel::cgroup::CgroupDir;
pub use kernel::confine::{Confinement, Memory, Whereabouts};
pub use kernel::disk_work::DiskWork;
pub use kernel::filter::{HostLoss, Link, Loss, PortEnd, Way};
pub use kernel::links::{MachineLink, fastest as fastest_link};
pub use kernel::mounts::Mounted;
pub use kernel::tcp::Reach;
pub use kernel::volume::VolumeUse;
pub use kernel::{memory, ports, probe, settings};
pub use queries::{Attempt, Query, QueryAnswer};
pub use reach::{Destination, Offset, Refusal, Unreached, names, process};
pub use service::{Service, ServiceBreak, ServiceFault};
pub use stand_in::Host;
pub use state::{HostState, HostsState, group_name};
pub use topology::CpuSet;
pub use watch::Watch;
