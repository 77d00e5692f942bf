//! The only crate that knows what a machine looks like (packages, NUMA nodes, L3 groups, cores,
//! threads) and how to place instances on it.
//!
//! Reading order: [`Machine`], which [`Machine::read`] makes of a /sys tree, a tarball of one, hwloc
//! XML, the output of lscpu or a synthetic description; [`Wish`]; [`plan()`] makes a [`Plan`] of
//! both, or says with [`Infeasible`] what would fit; [`draw()`] shows either as text. Nothing here
//! has a clock, a thread or a process, and only files below the given path are read.

mod cpuset;
mod error;
mod lscpu;
mod machine;
mod plan;
mod raw;
mod read;
mod synthetic;
mod sysfs;
mod tree;
mod wish;
mod xml;

pub use cpuset::{CPU_NUMBERS_MAX, CpuSet};
pub use error::ReadError;
pub use machine::*;
pub use plan::*;
pub use wish::*;
