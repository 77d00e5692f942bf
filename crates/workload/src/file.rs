//! A workload file contains a schema, values and statements in YAML. This module compiles it to a
//! program. `docs/workload-file.md` is the reference of the format.
//!
//! The module reports all mistakes together, each with its line and column. If a file compiles, its
//! rows can be generated without a server. Rows are functions of the seed and their number. Values
//! with `per: operation` are functions of the seed and the operation's number.

mod assemble;
mod compiled_program;
mod csv;
mod expr;
mod grammar;
mod groups;
mod literal;
mod named_value;
mod options;
mod range;
mod resolve;
mod sections;
mod server_refusal;
mod sizes;
mod statement;
#[cfg(test)]
mod tests;
mod value_generators;
mod value_source;
mod verify;
mod word_list;
mod word_position;

pub use server_refusal::{CompiledFile, KeyspaceStatements};

use crate::params::Params;
use crate::program::Program;
use crate::spec::{ParamValue, Spec};
use crate::workload_parts;
use yaml::{Diagnostics, Limits, Node, Place, SourceText, did_you_mean};

const KEYS: [&str; 9] = [
    "keyspace",
    "csv",
    "schema",
    "values",
    "statements",
    "mix",
    "rows",
    "load",
    "verify",
];
const KEYSPACE_DEFAULT: &str = "workload";

/// Function that returns the text of a file that a workload file names. The error is a sentence
/// with a remedy.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Refuses to read a file. This function is for workloads that must not name files.
///
/// # Errors
/// Always fails with a sentence that names the file.
pub fn no_files(name: &str) -> Result<String, String> {
    Err(format!("cassay cannot read {name} here"))
}

/// Compiles the workload file `name`, whose contents are `text`. The mix in the specification
/// replaces the mix in the file. The parameters of the specification replace `rows` and the values
/// with the same name. `read` returns the text of the CSV that the file names.
///
/// # Errors
/// All mistakes in the file, and in the specification's settings for the file, with their
/// positions.
pub fn compile_file(
    name: &str,
    text: &str,
    spec: &Spec,
    read: ReadFile<'_>,
) -> Result<Program, Diagnostics> {
    check_file(name, text, spec, read).map(CompiledFile::into_program)
}

/// Does the same as [`compile_file`], and keeps the positions of statements and markers that a
/// server may refuse.
///
/// # Errors
/// As for [`compile_file`].
pub fn check_file(
    name: &str,
    text: &str,
    spec: &Spec,
    read: ReadFile<'_>,
) -> Result<CompiledFile, Diagnostics> {
    let sources = vec![SourceText {
        name: name.to_owned(),
        text: text.to_owned(),
    }];
    let mut out = Diagnostics::new(sources);
    let root = yaml::parse(0, text, Limits::WORKLOAD, &mut out);
    let program = root.and_then(|root| {
        let mut file = File {
            spec,
            text,
            read,
            root: &root,
            out: &mut out,
        };
        file.program(name)
    });
    match program {
        Some((program, places)) if out.is_empty() => {
            Ok(CompiledFile::new(program, places, out.sources))
        }
        _ => Err(out),
    }
}

struct File<'a, 'd> {
    spec: &'a Spec,
    text: &'a str,
    read: ReadFile<'a>,
    root: &'a Node,
    out: &'d mut Diagnostics,
}

impl<'a> File<'a, '_> {
    fn say(&mut self, place: &Place, message: impl Into<String>) {
        self.out.add(place, message, None);
    }

    fn check_keys(&mut self, node: &Node, known: &[&str], what: &str) {
        let Some(entries) = node.entries() else {
            let message = format!("{what} must be a mapping, not {}", node.describe());
            return self.say(&node.place, message);
        };
        for entry in entries {
            if !known.contains(&entry.key.as_str()) {
                let message = format!("`{}` is not a key of {what}", entry.key);
                let hint = did_you_mean(&entry.key, known.iter().copied());
                self.out.add(&entry.place, message, hint);
            }
        }
    }

    /// Returns true if a key is present under a misspelt name. The caller then reports only the
    /// name, and not the mistakes that follow from it.
    fn is_misspelt(&self, key: &str) -> bool {
        let entries = self.root.entries().unwrap_or_default().iter();
        let unknown = entries.filter(|entry| !KEYS.contains(&entry.key.as_str()));
        let mut meant = unknown.filter_map(|entry| did_you_mean(&entry.key, KEYS));
        self.root.find(key).is_none() && meant.any(|hint| hint == format!("did you mean `{key}`?"))
    }

    /// Returns the node of a required key. Reports the key if it is missing.
    fn needed(&mut self, key: &str, example: &str) -> Option<&'a Node> {
        let found = self.root.find(key);
        if found.is_none() && !self.is_misspelt(key) {
            let place = Place {
                source: 0,
                span: 0..0,
            };
            let hint = Some(format!("for example `{key}: {example}`"));
            self.out.add(&place, format!("the file has no `{key}`"), hint);
        }
        found
    }

    /// Returns the text of a node. If the node is not a text, reports the mistake and returns
    /// `None`.
    fn text_of(&mut self, node: &'a Node, what: &str) -> Option<&'a str> {
        let text = node.text();
        if text.is_none() {
            let message = format!("{what} must be a string, not {}", node.describe());
            self.say(&node.place, message);
        }
        text
    }

    /// Adds a source for a text in the study. Returns the position of this text for messages.
    fn study_place(&mut self, what: &str, text: &str) -> Place {
        self.out.sources.push(SourceText {
            name: format!("the study's {what}"),
            text: text.to_owned(),
        });
        Place {
            source: self.out.sources.len() - 1,
            span: 0..text.len(),
        }
    }

    fn keyspace(&mut self) -> (String, (String, String)) {
        let mut place = Place::default();
        let mut keyspace = KEYSPACE_DEFAULT.to_owned();
        if let Some(node) = self.root.find("keyspace") {
            place = node.place.clone();
            if let Some(text) = self.text_of(node, "keyspace") {
                keyspace = text.to_owned();
            }
        }
        if let Some(stated) = &self.spec.keyspace {
            place = self.study_place("keyspace", stated);
            keyspace = stated.clone();
        }
        if !workload_parts::is_identifier(&keyspace) {
            let message = format!(
                "keyspace \"{keyspace}\" is not a valid name; it may have 1 to 48 letters, digits \
                 and underscores"
            );
            self.say(&place, message);
        }
        let mut params = Params::new(self.spec);
        let statements = workload_parts::keyspace_statements(&mut params, &keyspace);
        for problem in params.problems {
            let place = self.study_place(&problem.path.join("."), "");
            self.out.add(&place, problem.message, problem.hint);
        }
        (keyspace, statements)
    }
}

fn param_text(param: &ParamValue) -> String {
    match param {
        ParamValue::Int(value) => value.to_string(),
        ParamValue::Float(value) => value.to_string(),
        ParamValue::Text(text) => text.clone(),
    }
}
