//! Defines one row of the table: a key, its type, and the setting that it sets.

use crate::checked_tree::Tree;
use crate::settings::Draft;
use cql::Consistency;
use target_spec::SecretSource;
use versions::Release;

/// Type of a value. Each type contains the function that applies a value to the settings.
#[derive(Clone, Copy, Debug)]
pub enum Type {
    /// A text that is not empty.
    Text(fn(&mut Draft, &str)),
    /// A name of letters, digits, `.`, `_` and `-`. The name becomes part of a path.
    Name(fn(&mut Draft, &str)),
    /// A release of Cassandra, or a release line. A release line means its newest release.
    Release(fn(&mut Draft, &Release)),
    /// A CQL name. It consists of at most 48 letters, digits and `_`, and begins with a letter.
    CqlName(fn(&mut Draft, &str)),
    /// A whole number with an optional suffix, between two limits.
    Count(u64, u64, fn(&mut Draft, u64)),
    /// A number between two limits. It may have a fraction.
    Number(f64, f64, fn(&mut Draft, f64)),
    /// A share between two limits: `5%` or `0.05`.
    Share(f64, f64, fn(&mut Draft, f64)),
    /// A length of time between two limits, in nanoseconds.
    Duration(u64, u64, fn(&mut Draft, u64)),
    /// A size between two limits, in bytes.
    Bytes(u64, u64, fn(&mut Draft, u64)),
    /// A bit rate between two limits, in bit/s.
    BitRate(u64, u64, fn(&mut Draft, u64)),
    /// The word `true` or `false`.
    Bool(fn(&mut Draft, bool)),
    Choice(&'static [Word]),
    Fault(fn(&mut Draft, target_spec::fault::FaultKind)),
    Level(&'static [Consistency], fn(&mut Draft, Consistency)),
    /// A list of at least one item. Each item is applied by the function of the item's type.
    List(&'static Type),
    /// A mapping with keys that the user chooses and values of one type. When a value is applied,
    /// the draft contains the key.
    Map(&'static Type),
    /// Any value, which is passed on unchanged. cassandra.yaml and the parameters of a workload
    /// have this type.
    Any(fn(&mut Draft, &Tree)),
    WordOr(&'static [Word], &'static Type),
    /// A value of the first type, a list of such values, or a mapping of the second type.
    Either(&'static Type, &'static Type),
    /// A mapping with fixed keys, which are the rows below this row. The keys are applied after the
    /// function of the section.
    Section(fn(&mut Draft)),
    /// The source of a secret, which is a name, a file or an environment variable. The secret
    /// itself is not permitted.
    Secret(fn(&mut Draft, SecretSource)),
    /// Names of variants, each with a partial study.
    Variants,
    /// Names of axes. Each axis has named values, and each value has a partial study.
    Matrix,
    /// A partial study of the settings that a phase may change.
    Phase,
    /// Names of scales. Each scale has dotted paths with values.
    Scales,
}

/// A word, and the function that applies it.
pub type Word = (&'static str, fn(&mut Draft));

impl Type {
    /// Returns the words that the type accepts.
    pub fn words(&self) -> Vec<&'static str> {
        match self {
            Type::Choice(words) | Type::WordOr(words, _) => {
                words.iter().map(|(word, _)| *word).collect()
            }
            Type::Fault(_) => target_spec::fault::FaultName::ALL
                .map(target_spec::fault::FaultName::name)
                .into(),
            Type::Level(levels, _) => levels.iter().map(|level| level.name()).collect(),
            _ => Vec::new(),
        }
    }
}

/// A row of the table, which describes one key.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Dotted path of the key.
    pub path: &'static str,
    pub typ: Type,
    /// True if the key must be present whenever its section is present.
    pub required: bool,
    /// Default value, as users write it. `None` if the key has no default, or if the default is
    /// described in `what`.
    pub default: Option<&'static str>,
    /// Meaning of the key.
    pub what: &'static str,
}
