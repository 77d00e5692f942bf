//! Settings of the load generator.

use target_spec::Target;

/// Settings of the load generator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// The machines on which clients run, one client on each. For pods, one entry for each pod. If
    /// empty, this process applies the load.
    pub machines: Vec<ClientMachine>,
    /// The pods in which clients run. `None` if clients do not run in pods.
    pub kubernetes: Option<ClientPods>,
    /// Division of an imported command's range between clients.
    pub split: Split,
    /// Number of event loops. `None` means a number that depends on the machine.
    pub workers: Option<usize>,
    /// CPUs for the event loops. If empty, the event loops are not pinned.
    pub cpus: Vec<usize>,
    /// Scheduling priority of the event loops.
    pub priority: Priority,
    /// Number of connections from each worker to each node.
    pub connections_per_node: usize,
    /// Timeout of an operation, in ns.
    pub timeout_ns: u64,
    /// Maximum number of operations in flight at a rate.
    pub in_flight_max: u32,
    /// Shortest time between two releases at a rate, in ns.
    pub release_quantum_ns: u64,
    /// Compression of CQL frames.
    pub compression: Option<cql::Compression>,
}

/// A machine on which a client runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientMachine {
    /// Destination for `ssh`. `None` for this machine, or for a pod.
    pub ssh: Option<String>,
    /// True if the machine is one of the pods that are created for clients.
    pub is_pod: bool,
    /// Remote folder for the program. `None` means the cache of the remote user.
    pub folder: Option<String>,
    /// Number of event loops on the machine. `None` means the number in [`Client::workers`].
    pub workers: Option<usize>,
    /// CPUs for these event loops. If empty, they are not pinned.
    pub cpus: Vec<usize>,
}

/// The pods that are created for clients, with one client in each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientPods {
    /// Context of kubectl's configuration. `None` means the current context.
    pub context: Option<String>,
    /// Namespace of the pods. `None` means the namespace of the context.
    pub namespace: Option<String>,
    /// Number of clients, which is the number of pods.
    pub clients: usize,
    /// CPU request and limit of each pod, in thousandths of a CPU. One worker runs on each whole
    /// CPU.
    pub millicpus: u32,
    /// Memory request and limit of each pod, in bytes.
    pub memory_bytes: u64,
    /// Image of the container.
    pub image: String,
    /// True if each pod must be on its own Kubernetes node.
    pub one_per_node: bool,
    /// Machine type of the Kubernetes nodes for the pods. `None` means any type.
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
    /// Returns the number of event loops of each pod.
    pub fn workers(&self) -> usize {
        (self.millicpus as usize / 1000).max(1)
    }

    /// Returns a client machine for each pod.
    pub(crate) fn machines(&self) -> Vec<ClientMachine> {
        let pod = ClientMachine {
            is_pod: true,
            workers: Some(self.workers()),
            ..ClientMachine::default()
        };
        vec![pod; self.clients]
    }
}

/// Division of an imported command's range between several clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// All clients process the range together.
    #[default]
    Stride,
    /// Each client processes its own part of the range, like the clients of the tool.
    Range,
}

impl Client {
    /// Returns the numbers of workers of all machines, if each client processes its own part of the
    /// range. Empty if the clients share the range, or if a number of workers is not stated.
    pub(crate) fn range_workers(&self) -> Vec<u64> {
        if self.split == Split::Stride {
            return Vec::new();
        }
        let workers = self.machines.iter().map(|one| one.workers.or(self.workers));
        let said: Option<Vec<u64>> = workers.map(|one| one.map(|one| one as u64)).collect();
        said.unwrap_or_default()
    }
}

impl ClientMachine {
    /// Returns `here`, the destination for `ssh`, or `a pod`.
    pub fn place(&self) -> &str {
        match &self.ssh {
            Some(ssh) => ssh,
            None if self.is_pod => "a pod",
            None => "here",
        }
    }
}

/// Scheduling priority of the client's workers relative to other programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Priority {
    /// Realtime priority if nodes run on the same machine, otherwise normal priority.
    #[default]
    Auto,
    /// The same priority as any program.
    Normal,
    /// A priority above that of all programs with normal priority.
    Realtime,
}

impl Priority {
    /// Returns true if the workers have realtime priority with this target.
    pub fn is_realtime(self, target: &Target) -> bool {
        match self {
            Priority::Auto => target.local().is_some_and(|local| local.machines().is_empty()),
            Priority::Normal => false,
            Priority::Realtime => true,
        }
    }
}
