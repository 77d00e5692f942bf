//! The only crate that knows how to get onto a machine and talk with it: processes, frames, leases,
//! clocks.
//!
//! An *agent* is this program again, on a host. [`Link`] is the near side of a conversation with
//! one, [`serve`] the far side; a [`Call`] is the definition of one question that both share.
//! Invariants: no path, clock or descriptor of the near side has a meaning on the far side. An
//! agent relies only on messages that it receives: a controller that is silent for too long is
//! gone.

pub mod call;
mod clock;
mod far;
pub mod frame;
mod hello;
mod last_words;
mod link;
pub mod names;
pub mod process;
pub mod serve;

pub use call::{Call, Row, Serve};
pub use clock::{Offset, ReadClock, TheirClock};
pub use far::{
    Destination, Fate, OtherAgents, Pod, Refusal, Unreached, is_context_name, is_kubernetes_name,
};
pub use hello::{Hello, name_build};
pub use link::{ARGUMENT, CLIENT, Link, Listener, cpu_there_ns};
