//! The only crate that generates keys and values, and checks the results of reads: named workloads
//! and workload files.
//!
//! Operation n is a pure function of (seed, n). It uses no clock, no I/O, no thread, and no state
//! that remains after an operation. Any process can therefore regenerate and verify any row.
//! Floating-point functions come from `libm`, so that the bytes are the same on every machine.
//!
//! Reading order: [`Spec`] contains the settings of a study. [`compile`] checks the settings,
//! reports all mistakes at once, and makes a [`Program`]. Each worker has a [`Generator`], which
//! converts operation numbers to bytes.

mod bijection;
mod client_ranges;
mod compile;
mod compressible;
mod counters;
pub mod decimal;
mod distribution;
mod example_operations;
mod file;
mod hottest;
mod iot;
pub mod iot_data;
pub mod java;
mod keyvalue;
mod kv;
pub mod mix;
mod names;
pub mod normal;
mod operation_generator;
mod params;
mod program;
mod program_statistics;
mod program_traits;
pub mod random;
mod recorded_arrivals;
mod registers;
mod request_settings;
pub mod schema;
mod spec;
mod standard1;
mod table_sample;
mod tabular;
mod type_assumptions;
pub mod virtdata;
pub mod virtdata_curve;
mod workload_parts;
mod zipf;

// Callers that have a separate source of operations need these traits.
pub use program_traits::{OperationEncoder, OperationSource};

pub use client_ranges::ClientRanges;
pub use compile::compile;
pub use example_operations::{Sample, sample};
pub use file::{CompiledFile, KeyspaceStatements, ReadFile, check_file, compile_file, no_files};
pub use hottest::hottest_token;
pub use names::names;
pub use operation_generator::{Check, Generator, Operation, RegisterRequest};
pub use program::{BatchKind, Kind, Policy, Program, Schema, Stage, Statement};
pub use recorded_arrivals::ArrivalTimes;
pub use request_settings::{ALL_KINDS, Tuning, tune};
pub use spec::{ParamValue, Problem, Replication, Spec};
pub use table_sample::{
    ColumnRole, KeySource, OUTLINE_KINDS, SampledColumn, SampledPartition, TableSample, Twin,
    csv_columns, table_outline,
};
pub use type_assumptions::{Definitions, Expectation, is_taken, table_of};
pub use workload_parts::{NamedWorkload, is_identifier};
