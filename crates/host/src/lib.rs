//! The only crate that knows what a host is and has: stand-ins made of this machine, processes,
//! limits, links, volumes, figures.
//!
//! [`Hosts::make`] makes stand-ins for machines, [`process`] starts what runs on them or on this
//! machine, and [`probe`] reads what the kernel says of both while work goes on. No code here
//! depends on what runs there; some limits have their reasons in what a JVM or a commit log needs.

mod able;
mod agent;
mod calls;
mod cgroup;
mod confine;
mod faults;
mod files;
mod filter;
pub mod here;
mod hosts;
mod invocation;
mod machine;
mod message;
mod net;
pub mod probe;
pub mod settings;
mod sights;
mod sockets;
mod spec;
mod stand_in;
mod state;
mod switch;
pub mod trial;
pub mod undo;
mod volume;
mod wall_clock;
mod watch;

pub use able::{Able, HostAbility, abilities, volume_abilities};
pub use agent::{Agent, Ended, end_agents};
pub use calls::{Begin, Role};
pub use cgroup::CgroupDir;
pub use confine::{Confinement, Memory, Whereabouts};
pub use faults::{Break, Broken, Healed, Join, Restartable, Start};
pub use files::{Bytes, Entry, FileId, From, Piece, Reader, Step};
pub use filter::{Link, Loss};
pub use hosts::Hosts;
pub use invocation::{Done, Invocation};
pub use reach::process;
pub use sights::{Attempt, DiskWork, Mounted, Reach, Seen, Sight};
pub use spec::{DiskSpec, HostSpec, HostsSpec, Isolation, LinkSpec};
pub use stand_in::Host;
pub use state::{HostState, HostsState};
pub use topology::CpuSet;
pub use volume::VolumeUse;
pub use watch::Watch;
