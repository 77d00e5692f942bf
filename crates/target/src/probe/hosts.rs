//! The machine and the stand-in hosts on it.
//!
//! The machine's own figures stand at the place `machine`, whatever runs on it; what a stand-in
//! host used of it stands at the host's name.

mod cpu;
mod disk;
mod memory;
mod network;
mod pressure;

use super::{Look, Out};
use anyhow::Result;
use cpu::Cpu;
use disk::Disks;
use memory::Memory;
use network::Network;
use pressure::Pressure;
use std::collections::BTreeMap;
use std::path::Path;

/// Place of the readings of the whole machine.
const MACHINE: &str = "machine";

/// All of this machine.
pub(crate) struct Machine {
    cpu: Cpu,
    memory: Memory,
    disks: Disks,
    network: Network,
    pressure: Pressure,
}

impl Machine {
    /// `devices`: the place of each block device that belongs to a stand-in host.
    ///
    /// # Errors
    /// A file of `/proc` that every kernel has cannot be read.
    pub fn open(devices: BTreeMap<String, String>) -> Result<Machine> {
        let net = Path::new("/proc/self/net");
        Ok(Machine {
            cpu: Cpu::open(MACHINE)?,
            memory: Memory::open(MACHINE)?,
            disks: Disks::open(MACHINE, devices)?,
            network: Network::open(MACHINE, net, network::machine_speed)?,
            pressure: Pressure::open(MACHINE, Path::new("/proc/pressure"), ""),
        })
    }
}

impl Look for Machine {
    fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        // One that fails does not take the others along.
        let results = [
            self.cpu.look(now_ns, out),
            self.memory.look(now_ns, out),
            self.disks.look(now_ns, out),
            self.network.look(now_ns, out),
            self.pressure.look(now_ns, out),
        ];
        results.into_iter().collect()
    }
}
