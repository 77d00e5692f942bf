//! The only crate that knows the command lines and files of other tools: cassandra-stress,
//! NoSQLBench, YCSB, cassandra-easy-stress.
//!
//! An import is a pure function of its words and of the files that they name, which the caller
//! reads. Each difference from the tool leads to a note, or to an error at the position of the
//! word. The crate never silently changes the meaning of a word.
//!
//! Reading order: [`import`] converts words to [`ImportStep`]s, each with a [`workload::Program`].
//! Each tool has a module.

mod easy;
mod import;
pub mod nb;
pub mod stress;
mod tls_files;
mod ycsb;

pub use import::{Connection, Import, ImportStep, Offer, ReadFile, Secret, StepLimit, Tool};
pub use tls_files::without_store_passwords;
pub use ycsb::property as ycsb_property;

/// Imports the command line of a tool, without the tool's own name. Every random choice is a
/// function of `seed`.
///
/// # Errors
/// Every mistake in the words and in the files that they name, with its position.
pub fn import(
    tool: Tool,
    words: &[String],
    seed: u64,
    read: ReadFile,
) -> Result<Import, yaml::Diagnostics> {
    match tool {
        Tool::Stress => stress::import(words, seed, read),
        Tool::Nb => nb::import(words, read),
        Tool::Ycsb => ycsb::import(words, seed, read),
        Tool::Easy => easy::import(words, seed),
    }
}

#[cfg(test)]
mod tests;
