//! The only crate that describes the shape of a machine (packages, NUMA nodes, L3 groups, cores,
//! threads), and places instances on it.
//!
//! [`Machine::read`] reads a [`Machine`] from a /sys tree, an archive of such a tree, hwloc XML,
//! the output of lscpu or a synthetic description. [`plan()`] makes a [`Plan`] from a machine and a
//! [`PlacementRequest`]. If the request does not fit, it returns [`Infeasible`], which suggests
//! requests that would fit. [`draw()`] draws a machine or a plan as text. [`export`] writes plans
//! in the formats of the tools that apply them, and reads them back. This crate does not use a
//! clock, threads or processes, and reads only files below the given path.

mod baselines;
mod core_choice;
mod core_kinds;
mod cpu_sets;
mod cpuset;
mod draw;
mod error;
pub mod export;
mod guest_shape;
mod improve;
mod jvm;
mod lscpu;
mod machine;
mod machine_files;
mod plan;
mod planner;
mod read;
mod request;
mod synthetic;
mod sysfs;
pub mod test_machines;
mod units;
mod warnings;
mod xml;

pub use baselines::{distribute, naive};
pub use cpuset::{CPU_NUMBERS_MAX, CpuSet};
pub use draw::draw;
pub use error::ReadError;
pub use improve::costs;
pub use jvm::{conc_gc_threads, heap_bytes, parallel_gc_threads};
pub use machine::*;
pub use plan::*;
pub use planner::{fingerprint, plan, usable};
pub use request::*;
pub use units::{Part, Units};
pub use warnings::{Warning, WarningKind};
