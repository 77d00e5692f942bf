//! The only crate that knows how several clients share a load: shares, one start line, one stream
//! of intervals.
//!
//! A *client* is this program again, on this machine or on another one, with workers of its own.
//! All workers of all clients share the numbers and the times of the operations, so that together
//! they offer the same load as one client. [`Fleet`] is the near side of all of them, and looks to
//! its caller like one load. [`answer`] is the far side of one client.
//!
//! Invariants: a fleet offers, operation by operation and ns by ns, the same load as one client
//! with as many workers. Intervals are added, and no figure is averaged. A lost client ends the
//! load of the others.
//!
//! A client makes its operations itself from the controller's sources, and both sides compare the
//! results: see [`Maker`].

mod client;
mod client_arrivals;
mod client_messages;
mod clients;
mod codec;
mod fleet_load;
mod health;
mod on_all_clients;
mod start;
mod wire;

pub use client::{CompiledSources, Maker, answer};
pub use clients::{Client, Clients, Seat};
pub use fleet_load::{Fleet, FleetSummary, Next};
pub use health::{ClientEnd, ClientNow, ClientSecond, ClockReading, Population, SecondNow};
