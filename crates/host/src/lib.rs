//! The only crate that knows what a host is and has: stand-ins made of this machine, processes,
//! limits, links, volumes, figures.
//!
//! [`Hosts::make`] makes stand-ins for machines, [`process`] starts what runs on them or on this
//! machine, and [`probe`] reads what the kernel says of both while work goes on. No code here
//! depends on what runs there; some limits have their reasons in what a JVM or a commit log needs.

mod agent;
mod calls;
mod faults;
mod files;
pub mod here;
mod hosts;
mod invocation;
mod machine;
mod sights;
mod spec;
mod stand_in;
mod state;
mod switch;
pub mod trial;
pub mod undo;
mod wall_clock;
mod watch;

pub use agent::{Agent, Ended, end_agents};
pub use calls::{Begin, Role};
pub use faults::{Break, Broken, Healed, Join, Restartable, Start};
pub use files::{Bytes, Entry, FileId, From, Piece, Reader, Step};
pub use hosts::Hosts;
pub use invocation::{Done, Invocation};
pub use kernel::able::{Able, HostAbility, abilities, volume_abilities};
pub use kernel::cgroup::CgroupDir;
pub use kernel::confine::{Confinement, Memory, Whereabouts};
pub use kernel::filter::{Link, Loss};
pub use kernel::mounts::Mounted;
pub use kernel::spec::{DiskSpec, DiskWork, HostSpec, LinkSpec};
pub use kernel::tcp::Reach;
pub use kernel::volume::VolumeUse;
pub use kernel::{probe, settings};
pub use reach::process;
pub use sights::{Attempt, Seen, Sight};
pub use spec::{HostsSpec, Isolation};
pub use stand_in::Host;
pub use state::{HostState, HostsState};
pub use topology::CpuSet;
pub use watch::Watch;
