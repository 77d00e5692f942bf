//! Results of checking whether a requested setting is in effect.

/// A requested setting, and the result of checking it on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Name of the node.
    pub node: String,
    /// Name of the setting. For a node, for example, it is a key of `cassandra.yaml`, a JVM option
    /// without its value, `heap`, `collector` or `class_sharing`. A key has dots if the server
    /// flattens it. For a host, it is the name of a limit, such as `cpus`, or `volume`. For a
    /// table, it is an option such as `standard1 compaction.class`.
    pub key: String,
    /// Value that was requested.
    pub wanted: String,
    /// Result of the check.
    pub effect: Effect,
    /// Source from which the value in effect was read.
    pub source: &'static str,
}

/// Result of checking a setting. An unknown value is a separate case, so that it never counts as
/// proved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The requested value is in effect. Contains this value as the node shows it.
    InEffect(String),
    /// Another value is in effect. Contains this other value.
    NotInEffect(String),
    /// The value is not visible. Contains the reason.
    NotShown(String),
}

impl Effect {
    /// Creates the result from the shown value and the result of the comparison. `None` means that
    /// the value is not visible, for the reason `why`.
    pub fn from_comparison(shown: Option<(String, bool)>, why: &str) -> Effect {
        match shown {
            Some((shown, true)) => Effect::InEffect(shown),
            Some((shown, false)) => Effect::NotInEffect(shown),
            None => Effect::NotShown(why.to_string()),
        }
    }

    /// Returns the value in effect, even if it differs from the requested value. Returns `None` if
    /// the value is not visible.
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
