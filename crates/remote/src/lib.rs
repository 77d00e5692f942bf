//! The only crate that knows how to reach a machine and talk with it: processes, frames, ssh and
//! kubectl, leases, clocks.
//!
//! An *agent* is this program again, on a host. [`Link`] is the near side of a conversation with
//! one, [`serve`] the far side; a [`Call`] is the definition of one question that both share.
//! Invariants: no path, clock or descriptor of the near side has a meaning on the far side. An
//! agent relies only on messages that it receives: a controller that is silent for too long is
//! gone.

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
