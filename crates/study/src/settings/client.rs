//! The instrument itself.

use target::Target;

/// The instrument.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// The machines with a client each, or a pod for each; empty: this process offers the load.
    pub machines: Vec<Machine>,
    /// The pods that clients run in, where they do.
    pub kubernetes: Option<ClientPods>,
    /// How they share a range of an imported command.
    pub split: Split,
    /// Event loops; none: as the machine suggests.
    pub workers: Option<usize>,
    /// CPUs for them; empty: not pinned.
    pub cpus: Vec<usize>,
    /// Whether they go before other programs.
    pub priority: Priority,
    /// Connections from each worker to each node.
    pub connections_per_node: usize,
    /// Time-out of an operation, ns.
    pub timeout_ns: u64,
    /// Limit of operations in flight at a rate.
    pub in_flight_max: u32,
    /// Shortest time between two releases at a rate, ns.
    pub release_quantum_ns: u64,
    /// How frames are compressed.
    pub compression: Option<cql::Compression>,
}

/// A machine that a client runs on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Machine {
    /// As `ssh` knows it; none: this one, or a pod.
    pub ssh: Option<String>,
    /// Whether it is one of the pods that are made for clients.
    pub is_pod: bool,
    /// The folder there into which the program is put; none: the user's cache.
    pub folder: Option<String>,
    /// Event loops there; none: as [`Client::workers`] says.
    pub workers: Option<usize>,
    /// CPUs for them; empty: not pinned.
    pub cpus: Vec<usize>,
}

/// The pods that are made for clients, one for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientPods {
    /// The context of kubectl's configuration; none: the current one.
    pub context: Option<String>,
    /// The namespace; none: the context's.
    pub namespace: Option<String>,
    /// How many.
    pub clients: usize,
    /// CPUs of each, requested and not exceeded, in thousandths; a worker on each whole one.
    pub millicpus: u32,
    /// Memory of each, requested and not exceeded, in bytes.
    pub memory_bytes: u64,
    /// The image that they are made of.
    pub image: String,
    /// Whether no two may be on one node.
    pub one_per_node: bool,
    /// The machine type of the nodes that they are put on; none: any.
    pub machine_type: Option<String>,
}

impl Default for ClientPods {
    fn default() -> ClientPods {
        ClientPods {
            context: None,
            namespace: None,
            clients: 1,
            millicpus: 2000,
            memory_bytes: 1 << 30,
            image: String::new(),
            one_per_node: true,
            machine_type: None,
        }
    }
}

impl ClientPods {
    /// The event loops of each.
    pub fn workers(&self) -> usize {
        (self.millicpus as usize / 1000).max(1)
    }

    /// A machine for each.
    pub(crate) fn machines(&self) -> Vec<Machine> {
        let pod = Machine {
            is_pod: true,
            workers: Some(self.workers()),
            ..Machine::default()
        };
        vec![pod; self.clients]
    }
}

/// How several clients share a range that an imported command walks through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// All walk through it together.
    #[default]
    Stride,
    /// Each walks through a part of its own, as the tool's own clients do.
    Range,
}

impl Client {
    /// The workers of each machine, where each walks through a part of its own; empty: they do not,
    /// or nobody has said how many workers there are.
    pub(crate) fn range_workers(&self) -> Vec<u64> {
        if self.split == Split::Stride {
            return Vec::new();
        }
        let workers = self.machines.iter().map(|one| one.workers.or(self.workers));
        let said: Option<Vec<u64>> = workers.map(|one| one.map(|one| one as u64)).collect();
        said.unwrap_or_default()
    }
}

impl Machine {
    /// `here`, as `ssh` knows it, or `a pod`.
    pub fn place(&self) -> &str {
        match &self.ssh {
            Some(ssh) => ssh,
            None if self.is_pod => "a pod",
            None => "here",
        }
    }
}

/// Whether the client's workers go before other programs that want their CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// Where nodes run on the same machine.
    #[default]
    Auto,
    /// Like any program.
    Normal,
    /// Before every program of normal priority.
    Realtime,
}

impl Priority {
    /// Whether they do, with this target.
    pub fn is_realtime(self, target: &Target) -> bool {
        match self {
            Priority::Auto => target.local().is_some_and(|local| local.machines().is_empty()),
            Priority::Normal => false,
            Priority::Realtime => true,
        }
    }
}
