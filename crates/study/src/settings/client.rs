//! Settings of the load generator.

use target_spec::Target;

/// Settings of the load generator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// Machines on which clients run, with one client on each machine. For pods, the list has one
    /// entry for each pod. If the list is empty, this process generates the load.
    pub machines: Vec<ClientMachine>,
    /// Pods in which clients run. `None` if clients do not run in pods.
    pub kubernetes: Option<ClientPods>,
    /// Method of dividing the range of an imported command between clients.
    pub split: Split,
    /// Number of event loops. If it is `None`, the number depends on the machine.
    pub workers: Option<usize>,
    /// CPUs for the event loops. If empty, the event loops are not pinned.
    pub cpus: Vec<usize>,
    /// Scheduling priority of the event loops.
    pub priority: Priority,
    /// Number of connections from each worker to each node.
    pub connections_per_node: usize,
    /// Timeout of an operation, in ns.
    pub timeout_ns: u64,
    /// Maximum number of operations in flight when operations are sent at a rate.
    pub in_flight_max: u32,
    /// Shortest time between two releases of operations at a rate, in ns.
    pub release_quantum_ns: u64,
    /// Compression of CQL frames. `None` if frames are not compressed.
    pub compression: Option<cql::Compression>,
}

/// A machine on which a client runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientMachine {
    /// Destination for `ssh`. `None` for this machine, or for a pod.
    pub ssh: Option<String>,
    /// True if the entry is a pod that cassay creates for a client.
    pub is_pod: bool,
    /// Folder for the program on the machine. `None` means the cache folder of the remote user.
    pub folder: Option<String>,
    /// Number of event loops on the machine. `None` means the number in [`Client::workers`].
    pub workers: Option<usize>,
    /// CPUs for the event loops on this machine. If the list is empty, the event loops are not
    /// pinned.
    pub cpus: Vec<usize>,
}

/// Pods that cassay creates for clients, with one client in each pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientPods {
    /// Context in kubectl's configuration. `None` means the current context.
    pub context: Option<String>,
    /// Namespace of the pods. `None` means the namespace of the context.
    pub namespace: Option<String>,
    /// Number of clients, which is the number of pods.
    pub clients: usize,
    /// CPU request and CPU limit of each pod, in thousandths of a CPU. One worker runs on each
    /// whole CPU.
    pub millicpus: u32,
    /// Memory request and memory limit of each pod, in bytes.
    pub memory_bytes: u64,
    /// Image of the container.
    pub image: String,
    /// True if each pod must run on a separate Kubernetes node.
    pub one_per_node: bool,
    /// Machine type of the Kubernetes nodes for the pods. If it is `None`, the pods may run on any
    /// machine type.
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

    pub(crate) fn machines(&self) -> Vec<ClientMachine> {
        let pod = ClientMachine {
            is_pod: true,
            workers: Some(self.workers()),
            ..ClientMachine::default()
        };
        vec![pod; self.clients]
    }
}

/// Method of dividing the range of an imported command between several clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// All clients process the range together.
    #[default]
    Stride,
    /// Each client processes a separate part of the range, like the clients of the imported tool.
    Range,
}

impl Client {
    /// Returns the number of event loops on a machine with this number of CPUs, if the study sets
    /// no number: half of the CPUs, but at least one. The other half is for the measured target, or
    /// for the network code of the kernel.
    pub fn workers_auto(cpus: usize) -> usize {
        (cpus / 2).max(1)
    }

    /// Returns the number of workers of each machine, if each client processes a separate part of
    /// the range. Returns an empty list if the clients share the range, or if a number of workers
    /// is not stated.
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
    /// Describes where the client runs: `here`, the destination for `ssh`, or `a pod`.
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
    /// Realtime priority if nodes run on the same machine, and normal priority otherwise.
    #[default]
    Auto,
    /// The normal priority of programs.
    Normal,
    /// A priority above the normal priority of all other programs.
    Realtime,
}

impl Priority {
    /// Returns true if the workers have realtime priority when the load is sent to `target`.
    pub fn is_realtime(self, target: &Target) -> bool {
        match self {
            Priority::Auto => target.local().is_some_and(|local| local.machines().is_empty()),
            Priority::Normal => false,
            Priority::Realtime => true,
        }
    }
}
