//! What came of looking whether something that was asked for is in effect.

/// One thing that was asked for, and what a node says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Name of the node.
    pub node: String,
    /// A key of `cassandra.yaml` with dots where the server flattens it, an option of the JVM
    /// without its value, `heap`, `collector`, `class_sharing`, a host's `cpus`, `cpu_quota`,
    /// `memory`, `volume`, `link_rate`, `link_delay`, or an option of a table: `standard1
    /// compaction.class`.
    pub key: String,
    /// What was asked for.
    pub wanted: String,
    /// What came of looking.
    pub effect: Effect,
    /// Where was looked.
    pub source: &'static str,
}

/// What came of looking whether something that was asked for is in effect. There is no fourth
/// case: what nobody has seen is never counted as seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is; as it is shown.
    InEffect(String),
    /// Something else is: what.
    NotInEffect(String),
    /// Nobody tells: why.
    NotShown(String),
}

impl Effect {
    /// What is shown, judged; `None` is not shown, because of `why`.
    pub(in crate::local) fn of(shown: Option<(String, bool)>, why: &str) -> Effect {
        match shown {
            Some((shown, true)) => Effect::InEffect(shown),
            Some((shown, false)) => Effect::NotInEffect(shown),
            None => Effect::NotShown(why.to_string()),
        }
    }

    /// What is in effect, whether or not it is what was asked for; none where nobody tells.
    pub fn shown(&self) -> Option<&str> {
        match self {
            Effect::InEffect(shown) | Effect::NotInEffect(shown) => Some(shown),
            Effect::NotShown(_) => None,
        }
    }

    /// Whether it was seen to be in effect.
    pub fn is_proved(&self) -> bool {
        matches!(self, Effect::InEffect(_))
    }
}
