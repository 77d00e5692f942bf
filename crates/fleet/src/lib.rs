//! The only crate that divides a load among several clients: shares, one start line, one stream of
//! intervals.
//!
//! A *client* is another process of this program, on any machine, with separate workers. The
//! workers of all clients share the numbers and the times of the operations. [`Fleet`] is the
//! controller's view of all clients, and appears as one load to its caller. [`answer`] runs one
//! client.
//!
//! Invariants: a fleet applies, operation by operation and ns by ns, the same load as one client
//! with the same number of workers. The results of an interval are the sums over all clients, and
//! no figure is an average. A lost client ends the load of the other clients.
//!
//! A client generates its operations from the controller's sources. Controller and client compare
//! the first operations. See [`Maker`].

mod client;
mod client_figures;
mod client_messages;
mod client_requests;
mod clients;
mod codec;
mod fleet_load;
mod on_all_clients;
mod start;
mod start_clients;

pub use client::{CompiledSources, Maker, answer};
pub use client_figures::{ClientEnd, ClientNow, ClientSecond, ClockReading, Population, SecondNow};
pub use clients::{Client, Clients, Seat};
pub use fleet_load::{Fleet, FleetSummary, Next};
