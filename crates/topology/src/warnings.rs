//! The warnings of a plan. Each warning is a sentence with a kind, so that a program can find the
//! warning by its kind.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::Deref;

/// Kind of a warning. Only kinds for which a program writes a different text have a separate
/// variant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WarningKind {
    /// The instances use every CPU of the machine.
    EveryCpu,
    /// Whole cores do not suffice, so instances share cores.
    SharedCores,
    /// A cell of an instance is on several NUMA nodes.
    SplitPart,
    /// Memory of an instance is on NUMA nodes without CPUs of the instance.
    MemoryAway,
    /// Any other warning, and every warning that comes from a file.
    #[default]
    Other,
}

/// An argument against a plan, as a sentence. In JSON, a warning is a string with the sentence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Warning {
    pub kind: WarningKind,
    /// Sentence without a full stop.
    pub text: String,
}

impl Warning {
    /// Returns a warning of a named kind.
    pub fn new(kind: WarningKind, text: String) -> Warning {
        Warning { kind, text }
    }
}

impl From<String> for Warning {
    fn from(text: String) -> Warning {
        Warning {
            kind: WarningKind::Other,
            text,
        }
    }
}

impl From<Warning> for String {
    fn from(warning: Warning) -> String {
        warning.text
    }
}

impl Deref for Warning {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.text)
    }
}
