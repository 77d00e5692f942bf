//! Results of the checks whether requested settings are in effect.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    pub node: String,
    /// Name of the setting. For a node: a key of `cassandra.yaml` (with dots if the server flattens
    /// it), a JVM option without its value, or a name such as `heap`. For a host: a limit such as
    /// `cpus`, or `volume`. For a table: an option such as `standard1 compaction.class`.
    pub key: String,
    pub wanted: String,
    pub effect: Effect,
    /// Source of the value in effect.
    pub source: &'static str,
}

/// Result of checking a setting. An unknown value is a separate case, so that it never counts as
/// proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The requested value is in effect, as the node reports it.
    InEffect(String),
    /// This other value is in effect.
    NotInEffect(String),
    /// The node does not report the value, for this reason.
    NotShown(String),
}

impl Effect {
    /// Creates the result from the reported value and its comparison. `why` is the reason for
    /// `None`, a value that the node does not report.
    pub fn from_comparison(shown: Option<(String, bool)>, why: &str) -> Effect {
        match shown {
            Some((shown, true)) => Effect::InEffect(shown),
            Some((shown, false)) => Effect::NotInEffect(shown),
            None => Effect::NotShown(why.to_string()),
        }
    }

    /// Returns the value in effect, even if it differs from the requested one. `None` means that
    /// the node does not report the value.
    pub fn shown(&self) -> Option<&str> {
        match self {
            Effect::InEffect(shown) | Effect::NotInEffect(shown) => Some(shown),
            Effect::NotShown(_) => None,
        }
    }

    pub fn is_proved(&self) -> bool {
        matches!(self, Effect::InEffect(_))
    }
}
