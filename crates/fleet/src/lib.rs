//! The only crate that knows that load comes from several clients: shares, one start line, one
//! stream of intervals.
//!
//! A *client* is this program again, on this machine or on another one, with workers of its own;
//! all workers of all clients share the numbers and the times of the operations, so that together
//! they offer what one client would. [`Fleet`] is the near side of all of them, and looks to its
//! caller as one load does; [`answer`] is the far side of one. What must hold: what a fleet offers
//! is, operation by operation and ns by ns, what one client with as many workers would; intervals
//! are added, and no figure is averaged; a client that is lost ends the load of the others.
//!
//! What an operation is, a client makes for itself from the sources that its controller had, and
//! both compare what they have made: see [`Maker`].

mod arming;
mod at_once;
mod client;
mod clients;
mod codec;
mod coming;
mod health;
mod offering;
mod reading;
mod wire;

pub use client::{Made, Maker, answer};
pub use clients::{Client, Clients, Seat};
pub use health::{ClientEnd, ClientNow, ClientSecond, ClockReading, Population, SecondNow};
pub use offering::{Fleet, FleetSummary, Next};
