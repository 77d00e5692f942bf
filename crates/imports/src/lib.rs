//! The only crate that reads the command lines and files of other tools: cassandra-stress,
//! NoSQLBench, YCSB, cassandra-easy-stress.
//!
//! An import is a pure function of the seed, the words and the files that the words name. The
//! caller reads these files. Each difference from the tool leads to a note, or to an error at the
//! position of the word. The crate never silently changes the meaning of a word.
//!
//! Reading order: [`import`] converts words to [`ImportStep`]s, each with a [`workload::Program`].
//! Each tool has a module.

use std::borrow::Cow;

mod easy;
mod import_result;
pub mod nb;
pub mod stress;
mod tls_files;
mod ycsb;

pub use import_result::{Connection, Import, ImportStep, Offer, ReadFile, Secret, StepLimit, Tool};
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
    let mut import = match tool {
        Tool::Stress => stress::import(words, seed, read),
        Tool::Nb => nb::import(words, read),
        Tool::Ycsb => ycsb::import(words, seed, read),
        Tool::Easy => easy::import(words, seed),
    }?;
    if import.connection.nodes.iter().any(|node| node.contains('@')) {
        return Err(login_in_address(words));
    }
    for note in &mut import.notes {
        if let Cow::Owned(masked) = yaml::without_secrets(note) {
            *note = masked;
        }
    }
    Ok(import)
}

/// Returns the mistake of a command line whose node addresses contain a login. Addresses appear in
/// records, and no tool reads a login from an address.
fn login_in_address(words: &[String]) -> yaml::Diagnostics {
    let mut out = yaml::Diagnostics::new(vec![yaml::SourceText {
        name: "command line".to_owned(),
        text: words.join(" "),
    }]);
    let message = "the address of a node contains a user or password, but it may only be HOST or \
                   HOST:PORT";
    let hint = "pass the user name and the password as options of the tool";
    out.add(&yaml::Place::default(), message, Some(hint.to_owned()));
    out
}

#[cfg(test)]
mod tests;
