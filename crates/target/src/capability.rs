//! What a target can do, so that a plan that asks for more is refused before anything starts.

/// Something that a plan may need from a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ability {
    /// Start with other settings: `cassandra.yaml`, heap, JVM options, number of nodes.
    Provision,
    /// See the server's own operation counts.
    OperationCounts,
    /// Flush memtables and see pending compactions.
    Settle,
    /// Read each node's `/proc`: CPU, memory, disk of the process.
    ProcessStatistics,
    /// Read the nodes' log files.
    Logs,
    /// Read all of the nodes' effective settings.
    Settings,
}

impl Ability {
    /// Every ability, in the order of display.
    pub const ALL: [Ability; 6] = [
        Ability::Provision,
        Ability::OperationCounts,
        Ability::Settle,
        Ability::ProcessStatistics,
        Ability::Logs,
        Ability::Settings,
    ];

    /// Short name, as in a study and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Ability::Provision => "provision",
            Ability::OperationCounts => "operation-counts",
            Ability::Settle => "settle",
            Ability::ProcessStatistics => "process-statistics",
            Ability::Logs => "logs",
            Ability::Settings => "settings",
        }
    }
}

/// One ability of one target: there, or not there with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    /// Which.
    pub ability: Ability,
    /// Whether the target has it.
    pub present: bool,
    /// How it is done, or why it is not there and what would bring it.
    pub detail: String,
}
