//! The only crate that knows what a machine looks like (packages, NUMA nodes, L3 groups, cores,
//! threads) and how to place instances on it.
//!
//! Reading order: [`Machine`], which [`Machine::read`] reads from a /sys tree, a tarball of one,
//! hwloc XML, the output of lscpu or a synthetic description; [`PlacementRequest`]. [`plan()`]
//! makes a [`Plan`] of both, or returns [`Infeasible`], which suggests what would fit. [`draw()`]
//! draws either as text. [`export`] writes plans in the formats of the tools that carry them out,
//! and reads them back. This crate uses no clock, no threads and no processes, and reads only files
//! below the given path.

mod cpuset;
mod draw;
mod error;
pub mod export;
pub mod fixture;
mod improve;
mod jvm;
mod kinds;
mod lscpu;
mod machine;
mod place;
mod plan;
mod planner;
mod raw;
mod read;
mod request;
mod rivals;
mod shape;
mod synthetic;
mod sysfs;
mod tree;
mod units;
mod xml;

pub use cpuset::{CPU_NUMBERS_MAX, CpuSet};
pub use draw::draw;
pub use error::ReadError;
pub use improve::costs;
pub use jvm::{conc_gc_threads, heap_bytes, parallel_gc_threads};
pub use machine::*;
pub use plan::*;
pub use planner::{fingerprint, plan, usable};
pub use request::*;
pub use rivals::{distribute, naive};
pub use units::{Part, Units};
