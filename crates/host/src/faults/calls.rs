//! Calls with which a controller injects and heals faults.

use super::Injection;
use crate::Agent;
use crate::process::Identity;
use anyhow::Result;
use remote::Call;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Injects a fault. Returns a number that identifies the fault for healing.
#[derive(Serialize, Deserialize)]
pub struct Inject {
    pub what: Injection,
    /// Time after which the agent heals the fault by itself, in ms.
    pub within_ms: u64,
}

impl Call for Inject {
    const NAME: &'static str = "break";
    type Answer = Broken;
}

/// Number by which an agent identifies a fault that it has injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broken(pub u64);

/// Resets the deadline of a fault, after which the agent heals the fault by itself.
#[derive(Serialize, Deserialize)]
pub struct Renew {
    /// Fault whose deadline is reset.
    pub broken: Broken,
    /// Time until the agent heals the fault by itself, in ms.
    pub within_ms: u64,
}

impl Call for Renew {
    const NAME: &'static str = "let-a-break-be";
    type Answer = ();
}

#[derive(Serialize, Deserialize)]
pub struct Heal(pub Broken);

impl Call for Heal {
    const NAME: &'static str = "heal";
    type Answer = HealAnswer;
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealAnswer {
    /// Current processes, in the same order as in the fault. The list is empty if the fault has no
    /// processes.
    pub processes: Vec<Identity>,
    /// True if the agent had already healed the fault by itself.
    pub by_itself: bool,
    /// Remark on the result of healing, for faults whose healing can have different results.
    #[serde(default)]
    pub became: Option<String>,
}

/// Requests the processes that a fault has started.
#[derive(Serialize, Deserialize)]
pub struct StartedProcesses(pub Broken);

impl Call for StartedProcesses {
    const NAME: &'static str = "list-what-a-break-started";
    type Answer = Vec<Identity>;
}

/// Time limit of injecting and healing. It is long, because both may end and start processes, and
/// mount volumes.
const LIMIT: Duration = Duration::from_secs(90);

/// Time limit for a fault of a server that cassay did not start. It is long, because the server
/// drains, systemd waits 90 s by default, and the agent then waits for the process.
const SERVICE_LIMIT: Duration = Duration::from_secs(240);

impl Agent {
    /// Injects a fault on the agent's host. If the controller does not heal the fault before, the
    /// agent heals it after `within`.
    ///
    /// # Errors
    /// The agent did not start the process, the machine does not permit the fault, or the guard
    /// cannot be informed. The agent undoes partial changes.
    pub fn inject(&self, what: Injection, within: Duration) -> Result<Broken> {
        let within_ms = within.as_millis() as u64;
        // A server that cassay did not start may take long to drain.
        let limit = match what {
            Injection::Service(_) => SERVICE_LIMIT,
            _ => LIMIT,
        };
        self.call_for(&Inject { what, within_ms }, limit)
    }

    /// Resets the deadline of a fault. The agent heals the fault when `within` has passed from now
    /// on, unless the controller heals it before. Does nothing if the fault is already healed.
    ///
    /// # Errors
    /// The agent has ended, or has no fault of this number.
    pub fn renew(&self, broken: Broken, within: Duration) -> Result<()> {
        let within_ms = within.as_millis() as u64;
        self.call_for(&Renew { broken, within_ms }, LIMIT)
    }

    /// Heals a fault. Repeated calls have no effect.
    ///
    /// # Errors
    /// The fault cannot be healed.
    pub fn heal(&self, broken: Broken) -> Result<HealAnswer> {
        self.call_for(&Heal(broken), LIMIT)
    }

    /// Returns the processes that a fault such as [`Injection::Adopt`] has started, in order. The
    /// list is empty once the fault is healed.
    ///
    /// # Errors
    /// The agent has ended, or has no fault of this number.
    pub fn started(&self, broken: Broken) -> Result<Vec<Identity>> {
        self.call_for(&StartedProcesses(broken), LIMIT)
    }
}
