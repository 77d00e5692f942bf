//! The settings of a host that decide how a database does on it, read once: of its kernel, its
//! devices, and the processes that are asked about.
//!
//! Plain facts: what they should be is not known here, nor what runs. What must hold: nothing is
//! changed and no program is run; of a process's arguments only those are told that were asked
//! for, and of these only what is a number, since anything else may be a secret; whatever the files
//! hold, there is an answer. All files are below a root, which is `/` but for tests.

mod devices;
mod interrupts;
mod kernel;
mod processes;
mod question;
mod root;

use root::Root;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

pub use devices::{Device, Mount};
pub use interrupts::{Interrupt, Queue};
pub use kernel::ClockState;
pub use processes::{Limit, ProcessSettings};
pub use question::Question;
pub use root::Reported;

/// The settings of a host, as far as it tells them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostSettings {
    /// Values of the kernel by their names: `vm.swappiness`, `thp.enabled`, `clocksource.current`.
    pub values: BTreeMap<String, Reported<String>>,
    /// The CPUs that are there, as the kernel writes lists: `0-3,8`.
    pub cpus: Reported<String>,
    /// Its NUMA nodes with memory, likewise.
    pub memory_nodes: Reported<String>,
    /// CPUs by the governor of their frequency; none where nobody governs it.
    pub governors: BTreeMap<String, usize>,
    /// All of its memory.
    pub memory_bytes: Reported<u64>,
    /// All of its swap.
    pub swap_bytes: Reported<u64>,
    /// Whether something keeps its clock.
    pub clock: Reported<ClockState>,
    /// The container that the asked one is in, in a word.
    pub container: Option<String>,
    /// Whether it is a virtual machine.
    pub is_virtual: bool,
    /// Interrupts of queues of networks and disks.
    pub interrupts: Reported<Vec<Interrupt>>,
    /// Who answers: what it would start has the same limits. None if it is not shown.
    pub own: Option<ProcessSettings>,
    /// Those that were asked for and are there, in the order of their names.
    pub processes: Vec<ProcessSettings>,
    /// What is below the folders, each mount once.
    pub mounts: Vec<Mount>,
    /// What else could not be looked at, a sentence each.
    pub unseen: Vec<String>,
}

impl HostSettings {
    /// Reads those of the machine whose files are below `root`.
    pub fn read(root: &Path, question: &Question) -> HostSettings {
        let root = Root::new(root);
        let mut unseen = Vec::new();
        let own = processes::look(&root, "", std::process::id(), question);
        let (processes, mut folders) = processes::all(&root, question, &mut unseen);
        folders.extend(question.folders.iter().cloned());
        let (memory_bytes, swap_bytes) = kernel::memory(&root);
        HostSettings {
            values: kernel::values(&root),
            cpus: root.word("/sys/devices/system/cpu/online"),
            memory_nodes: root.word("/sys/devices/system/node/has_memory"),
            governors: kernel::governors(&root),
            memory_bytes,
            swap_bytes,
            clock: kernel::clock(&root),
            container: kernel::container(&root),
            is_virtual: kernel::is_virtual(&root),
            interrupts: interrupts::of_queues(&root),
            mounts: devices::mounts(&root, &folders, &mut unseen),
            own,
            processes,
            unseen,
        }
    }
}

#[cfg(test)]
mod tests;
