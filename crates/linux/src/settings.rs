//! Settings of a host that affect a database on it. The settings are those of the host's kernel,
//! its devices and the requested processes. The module reads them once.
//!
//! The module reports only facts. It contains no recommended values, and treats all processes
//! alike. Invariants: it changes nothing and does not run programs. It reports only requested
//! arguments of a process, with only numbers as values, because any other value may be a secret. It
//! returns a result for any content of the files. All files are below a root, which is `/` except
//! in tests.

mod devices;
mod interrupts;
mod kernel;
mod processes;
mod query;
mod root;

use root::Root;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

pub use devices::{Device, Mount};
pub use interrupts::{Interrupt, Queue};
pub use kernel::ClockState;
pub use processes::{Limit, ProcessSettings};
pub use query::Question;
pub use root::FactResult;

/// The settings that a host reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostSettings {
    /// Values of the kernel by their names, such as `vm.swappiness`, `thp.enabled` and
    /// `clocksource.current`.
    pub values: BTreeMap<String, FactResult<String>>,
    /// The CPUs of the host in the kernel's list format, such as `0-3,8`.
    pub cpus: FactResult<String>,
    /// The NUMA nodes with memory, in the kernel's list format, such as `0-1`.
    pub memory_nodes: FactResult<String>,
    /// Number of CPUs for each frequency governor. The map is empty if no CPU has a governor.
    pub governors: BTreeMap<String, usize>,
    /// Total memory in bytes.
    pub memory_bytes: FactResult<u64>,
    /// Total swap space in bytes.
    pub swap_bytes: FactResult<u64>,
    /// State of the clock synchronization.
    pub clock: FactResult<ClockState>,
    /// Kind of the container in which this process runs, as one word. `None` outside of containers.
    pub container: Option<String>,
    /// True if the host is a virtual machine.
    pub is_virtual: bool,
    /// Interrupts of the queues of network and disk devices.
    pub interrupts: FactResult<Vec<Interrupt>>,
    /// The process that reads the settings. Processes that it starts have the same limits. `None`
    /// if `/proc` does not show the process.
    pub own: Option<ProcessSettings>,
    /// The requested processes that exist, sorted by name.
    pub processes: Vec<ProcessSettings>,
    /// The mounts that contain the requested folders, without duplicates.
    pub mounts: Vec<Mount>,
    /// Other facts that could not be read, as one sentence each.
    pub unseen: Vec<String>,
}

impl HostSettings {
    /// Reads the settings of the machine whose files are below `root`.
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
            interrupts: interrupts::queue_interrupts(&root),
            mounts: devices::mounts(&root, &folders, &mut unseen),
            own,
            processes,
            unseen,
        }
    }
}

#[cfg(test)]
mod tests;
