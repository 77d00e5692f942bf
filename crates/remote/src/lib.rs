//! The only crate that connects to other machines and exchanges messages with agents: processes,
//! frames, ssh and kubectl, leases, clocks.
//!
//! An *agent* is another process of this program, on a host. The controller talks to an agent
//! through [`Link`], and the agent answers in [`serve`]. Both processes share the definition of
//! each [`Call`]. Invariants: no path, clock or descriptor of the controller has a meaning for the
//! agent. A controller that is silent for too long counts as ended.

pub mod agent_loop;
mod build_identity;
pub mod call;
mod clock;
pub mod frame;
pub mod host_names;
mod link;
pub mod process;
mod ssh;
mod stderr_tail;

pub use build_identity::{Hello, name_build};
pub use call::{Call, Row, Serve};
pub use clock::{ClockOffset, Offset, ReadClock};
pub use link::{ARGUMENT, CLIENT, Link, Listener, cpu_there_ns};
pub use ssh::{Destination, Fate, OtherAgents, Pod, Refusal, UnreachedMachines, is_context_name};
