//! What one row of the table is: a key, its type, and what it sets.

use crate::settings::Draft;
use crate::tree::Tree;
use cql::Consistency;
use target::SecretSource;

/// What a value may be, and what it does to the settings: each type ends with that.
#[derive(Clone, Copy, Debug)]
pub enum Type {
    /// Any text that is not empty.
    Text(fn(&mut Draft, &str)),
    /// Letters, digits, `.`, `_` and `-`: becomes part of a path.
    Name(fn(&mut Draft, &str)),
    /// A CQL name: letters, digits and `_`, beginning with a letter, at most 48.
    CqlName(fn(&mut Draft, &str)),
    /// A whole number with optional suffix, between two limits.
    Count(u64, u64, fn(&mut Draft, u64)),
    /// A number, fractions allowed, between two limits.
    Number(f64, f64, fn(&mut Draft, f64)),
    /// A share between two limits: `5%` or `0.05`.
    Share(f64, f64, fn(&mut Draft, f64)),
    /// A length of time between two limits, in nanoseconds.
    Duration(u64, u64, fn(&mut Draft, u64)),
    /// A size between two limits, in bytes.
    Bytes(u64, u64, fn(&mut Draft, u64)),
    /// A bit rate between two limits, in bit/s.
    BitRate(u64, u64, fn(&mut Draft, u64)),
    /// `true` or `false`.
    Bool(fn(&mut Draft, bool)),
    /// One of these words.
    Choice(&'static [Word]),
    /// A kind of fault.
    Fault(fn(&mut Draft, target::fault::Kind)),
    /// One of these consistency levels.
    Level(&'static [Consistency], fn(&mut Draft, Consistency)),
    /// A list of at least one; each item does what its type says.
    List(&'static Type),
    /// Free keys, values of one type, which find their key in the draft.
    Map(&'static Type),
    /// Anything, handed on as it is: cassandra.yaml, parameters of a workload.
    Any(fn(&mut Draft, &Tree)),
    /// One of these words, or else the type.
    WordOr(&'static [Word], &'static Type),
    /// A scalar or list of the first type, or a mapping of the second.
    Either(&'static Type, &'static Type),
    /// Fixed keys: the rows below, which come after what their section does.
    Section(fn(&mut Draft)),
    /// A name, a file, or an environment variable, never the secret itself.
    Secret(fn(&mut Draft, SecretSource)),
    /// Names with partial studies.
    Variants,
    /// Names of axes with names of values with partial studies.
    Matrix,
    /// A partial study of what a phase may have of its own.
    Phase,
    /// Names with dotted paths and values.
    Scales,
}

/// A word, and what it does.
pub type Word = (&'static str, fn(&mut Draft));

impl Type {
    /// The words that it takes.
    pub fn words(&self) -> Vec<&'static str> {
        match self {
            Type::Choice(words) | Type::WordOr(words, _) => {
                words.iter().map(|(word, _)| *word).collect()
            }
            Type::Fault(_) => {
                target::fault::FaultName::ALL.map(target::fault::FaultName::name).into()
            }
            Type::Level(levels, _) => levels.iter().map(|level| level.name()).collect(),
            _ => Vec::new(),
        }
    }
}

/// One row: one key.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Dotted path.
    pub path: &'static str,
    /// What the value may be.
    pub typ: Type,
    /// Whether it must be there when its section is.
    pub required: bool,
    /// What holds when it is absent, as it would be written; none: nothing, or see the meaning.
    pub default: Option<&'static str>,
    /// What it means.
    pub what: &'static str,
}
