//! Results of checking if a requested setting is in effect.

/// A requested setting, and its value on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Name of the node.
    pub node: String,
    /// Setting: a key of `cassandra.yaml` with dots where the server flattens it, a JVM option
    /// without its value, `heap`, `collector`, `class_sharing`, a host's `cpus`, `cpu_quota`,
    /// `memory`, `volume`, `link_rate`, `link_delay`, or a table option: `standard1
    /// compaction.class`.
    pub key: String,
    /// Requested value.
    pub wanted: String,
    /// Result of the check.
    pub effect: Effect,
    /// Source of the value in effect.
    pub source: &'static str,
}

/// Result of checking a setting. The type has no fourth case, so an unknown value never counts as
/// proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The requested value is in effect, as shown here.
    InEffect(String),
    /// This other value is in effect.
    NotInEffect(String),
    /// The value is not visible, for this reason.
    NotShown(String),
}

impl Effect {
    /// Converts a shown value, with the result of the comparison. `None` means that the value is
    /// not visible, for the reason `why`.
    pub fn from_comparison(shown: Option<(String, bool)>, why: &str) -> Effect {
        match shown {
            Some((shown, true)) => Effect::InEffect(shown),
            Some((shown, false)) => Effect::NotInEffect(shown),
            None => Effect::NotShown(why.to_string()),
        }
    }

    /// Returns the value in effect, requested or not. `None` if it is not visible.
    pub fn shown(&self) -> Option<&str> {
        match self {
            Effect::InEffect(shown) | Effect::NotInEffect(shown) => Some(shown),
            Effect::NotShown(_) => None,
        }
    }

    /// Returns true if the node reported the requested value.
    pub fn is_proved(&self) -> bool {
        matches!(self, Effect::InEffect(_))
    }
}
