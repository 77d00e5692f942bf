//! The only crate that knows what the command lines and files of other tools mean:
//! cassandra-stress, NoSQLBench, YCSB, cassandra-easy-stress.
//!
//! What must hold: an import is a pure function of its words and of the files that they name, which
//! the caller reads. What a tool would do otherwise than it is done here is a note, or a refusal at
//! its place; nothing is taken for something else in silence.
//!
//! Reading order: [`import`] turns words into [`Step`]s, each with a [`workload::Program`]; a
//! module for each tool.

mod easy;
mod import;
pub mod nb;
pub mod stress;
mod ycsb;

pub use import::{Connection, Import, Offer, ReadFile, Secret, Step, StepLimit, Tool, import};
pub use ycsb::property as ycsb_property;
