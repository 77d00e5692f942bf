//! The only crate that knows where keys and values come from and what a read must return; named
//! workloads and workload files.
//!
//! Operation n is a pure function of (seed, n). There is no clock, no I/O, no thread, and no state
//! that outlives an operation: any process can regenerate and verify any row. Floating-point
//! functions come from `libm`, so that the bytes are the same on every machine.
//!
//! Reading order: [`Spec`] holds a study's settings. [`compile`] checks it (all mistakes at once)
//! and makes a [`Program`]. A [`Generator`] per worker turns operation numbers into bytes.

mod bijection;
mod client_ranges;
mod compile;
mod compressible;
mod counters;
mod course;
pub mod curve;
pub mod decimal;
mod distribution;
mod expectation;
mod file;
mod generator;
mod hottest;
mod iot;
pub mod iot_data;
pub mod java;
mod keyvalue;
mod kv;
pub mod mix;
mod named;
mod names;
pub mod normal;
mod params;
mod program;
pub mod random;
mod registers;
mod sample;
mod sampled;
pub mod schema;
mod source;
mod spec;
mod standard1;
mod table_sample;
mod tabular;
mod tune;
pub mod virtdata;
mod zipf;

// For callers that bring their own source of operations.
pub use source::{OperationEncoder, OperationSource};

pub use client_ranges::ClientRanges;
pub use compile::compile;
pub use course::Course;
pub use expectation::{Definitions, Expectation, is_taken, table_of};
pub use file::{Checked, Placed, ReadFile, check_file, compile_file, no_files};
pub use generator::{Check, Generator, Operation, RegisterRequest};
pub use hottest::hottest_token;
pub use named::{Named, is_identifier};
pub use names::names;
pub use program::{BatchKind, Kind, Policy, Program, Schema, Stage, Statement};
pub use sample::{Sample, sample};
pub use spec::{ParamValue, Problem, Replication, Spec};
pub use table_sample::{
    ColumnRole, KeySource, OUTLINE_KINDS, SampledColumn, SampledPartition, TableSample, Twin,
    csv_columns, table_outline,
};
pub use tune::{ALL_KINDS, Tuning, tune};
