//! Sentence of a rule, together with the numbers in the sentence.

use super::measurement::Measurement;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Statement {
    /// Sentence without a full stop.
    pub words: String,
    /// Numbers in the sentence, in the order in which the sentence states them.
    pub measured: Vec<Measurement>,
}

impl From<&str> for Statement {
    fn from(words: &str) -> Statement {
        Statement::from(words.to_owned())
    }
}

impl From<String> for Statement {
    fn from(words: String) -> Statement {
        Statement {
            words,
            measured: Vec::new(),
        }
    }
}

impl Statement {
    pub(super) fn with(words: String, measurement: Measurement) -> Statement {
        Statement {
            words,
            measured: vec![measurement],
        }
    }

    pub(super) fn join(parts: impl IntoIterator<Item = Statement>, between: &str) -> Statement {
        let joined = parts.into_iter().reduce(|all, part| Statement {
            words: all.words + between + &part.words,
            measured: [all.measured, part.measured].concat(),
        });
        joined.unwrap_or_default()
    }

    pub(super) fn and(self, words: &str) -> Statement {
        Statement {
            words: self.words + words,
            ..self
        }
    }

    /// Puts the name of a client at the start of the sentence, and into each number without a
    /// place.
    pub(super) fn of_client(self, name: &str) -> Statement {
        let at_client = |one: Measurement| Measurement {
            place: one.place.or_else(|| Some(name.to_owned())),
            ..one
        };
        Statement {
            words: format!("{name}: {}", self.words),
            measured: self.measured.into_iter().map(at_client).collect(),
        }
    }

    /// Removes the limits at which the rule fails, because the rule only warns in this case.
    pub(super) fn without_failing(self) -> Statement {
        let warned = |one: Measurement| Measurement {
            fail_limit: None,
            ..one
        };
        Statement {
            measured: self.measured.into_iter().map(warned).collect(),
            ..self
        }
    }
}

/// Formats a share as a percentage, with enough digits to distinguish the share from its limit.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        p if p == 0.0 || p >= 10.0 => format!("{percent:.0} %"),
        p if p >= 1.0 => format!("{percent:.1} %"),
        p if p >= 0.01 => format!("{percent:.2} %"),
        _ => "under 0.01 %".to_owned(),
    }
}
