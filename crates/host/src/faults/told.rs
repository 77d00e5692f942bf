//! What an agent is told of what it breaks, by its controller.

use super::Injection;
use crate::Agent;
use crate::process::Identity;
use anyhow::Result;
use reach::Call;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Breaks something. The answer is what to heal it by.
#[derive(Serialize, Deserialize)]
pub struct Inject {
    /// What is to be broken.
    pub what: Injection,
    /// After so long the agent heals it by itself.
    pub within_ms: u64,
}

impl Call for Inject {
    const NAME: &'static str = "break";
    type Answer = Broken;
}

/// Something that is broken, by its number at its agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken(pub u64);

/// Has the agent heal something by itself after so long from now, and not before.
#[derive(Serialize, Deserialize)]
pub struct Renew {
    /// What is broken.
    pub broken: Broken,
    /// How long it is let be.
    pub within_ms: u64,
}

impl Call for Renew {
    const NAME: &'static str = "let-a-break-be";
    type Answer = ();
}

/// Heals what was broken.
#[derive(Serialize, Deserialize)]
pub struct Heal(pub Broken);

impl Call for Heal {
    const NAME: &'static str = "heal";
    type Answer = Healed;
}

/// What came of healing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Healed {
    /// The processes that there are now, in the order of those that were broken; none where none
    /// was.
    pub processes: Vec<Identity>,
    /// Whether the agent had done it already, by itself.
    pub by_itself: bool,
    /// What became of what was broken, if that is not the same every time.
    #[serde(default)]
    pub became: Option<String>,
}

/// The processes that were started to break something.
#[derive(Serialize, Deserialize)]
pub struct Started(pub Broken);

impl Call for Started {
    const NAME: &'static str = "list-what-a-break-started";
    type Answer = Vec<Identity>;
}

/// How long breaking and healing may take: processes end and start, volumes are mounted.
const LIMIT: Duration = Duration::from_secs(90);

/// The same of a server of others: it drains, systemd waits for 90 s by default, and its process is
/// waited for.
const SERVICE_LIMIT: Duration = Duration::from_secs(240);

impl Agent {
    /// Breaks something of its host. If nobody heals it, it does so itself after `within`.
    ///
    /// # Errors
    /// It cannot be done (the process is none of its own, the machine does not permit it), or the
    /// guard cannot be told. What was done by then is undone.
    pub fn inject(&self, what: Injection, within: Duration) -> Result<Broken> {
        let within_ms = within.as_millis() as u64;
        // A server of others may take as long as it likes to drain.
        let limit = match what {
            Injection::Service(_) => SERVICE_LIMIT,
            _ => LIMIT,
        };
        self.call_for(&Inject { what, within_ms }, limit)
    }

    /// From now on it heals that by itself after `within`, if nobody does before. Nothing happens
    /// to what is whole.
    ///
    /// # Errors
    /// The agent is gone, or has broken nothing of this number.
    pub fn renew(&self, broken: Broken, within: Duration) -> Result<()> {
        let within_ms = within.as_millis() as u64;
        self.call_for(&Renew { broken, within_ms }, LIMIT)
    }

    /// Makes whole again what was broken. Once more is the same as once.
    ///
    /// # Errors
    /// It cannot be done.
    pub fn heal(&self, broken: Broken) -> Result<Healed> {
        self.call_for(&Heal(broken), LIMIT)
    }

    /// The processes that were started to break something, as by [`Injection::Adopt`], in their
    /// order; none when it is whole.
    ///
    /// # Errors
    /// The agent is gone, or has broken nothing of this number.
    pub fn started(&self, broken: Broken) -> Result<Vec<Identity>> {
        self.call_for(&Started(broken), LIMIT)
    }
}
