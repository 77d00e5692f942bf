//! The machine and the stand-in hosts on it.
//!
//! This machine's own figures stand at the place `machine`, whatever runs on it; what a stand-in
//! host used of it, and those of a machine that hosts nodes, stand at the host's name.

mod cpu;
mod disk;
mod foreign_load;
mod memory;
mod network;
mod pressure;
mod softnet;
mod stand_in;

pub(super) use foreign_load::ForeignLoad;
pub use foreign_load::STOPPED;

use super::source::KernelFile;
use super::{Look, Out};
use crate::cgroup::CgroupDir;
use crate::links;
use anyhow::{Context, Result};
use cpu::Cpu;
use disk::{Devices, Disks};
use memory::Memory;
use network::Network;
use pressure::Pressure;
use serde::{Deserialize, Serialize};
use softnet::Softnet;
use stand_in::StandIn;
use std::path::{Path, PathBuf};

/// Place of the readings of this machine.
const MACHINE: &str = "machine";

/// All of this machine.
pub(crate) struct Machine {
    cpu: Cpu,
    memory: Memory,
    disks: Disks,
    network: Network,
    pressure: Pressure,
    /// Not every kernel tells.
    softnet: Option<Softnet>,
}

impl Machine {
    /// Its readings stand at `place`; devices `without` are shown by others.
    ///
    /// # Errors
    /// A file of `/proc` that every kernel has cannot be read.
    pub fn open(place: &str, without: Vec<String>) -> Result<Machine> {
        Ok(Machine {
            cpu: Cpu::open(place)?,
            memory: Memory::open(place)?,
            disks: Disks::open(place, Devices::AllBut(without))?,
            network: Network::open(place, own_net, Box::new(links::speed))?,
            pressure: Pressure::open(place, Path::new("/proc/pressure"), ""),
            softnet: Softnet::open(place, "/proc/self/net/softnet_stat").ok(),
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
            self.softnet.as_mut().map_or(Ok(()), |softnet| softnet.look(now_ns, out)),
        ];
        results.into_iter().collect()
    }
}

/// A file below `/proc/net` as this process has it.
fn own_net(name: &str) -> Result<KernelFile> {
    KernelFile::open(format!("/proc/self/net/{name}"))
}

/// Where the figures of a stand-in are, as its agent sees it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostSources {
    /// Its control groups; each says which controllers it has.
    pub groups: Vec<CgroupDir>,
    /// The name of its volume's device in `/proc/diskstats`; none without a volume.
    pub device: Option<String>,
    /// Where its volume is mounted; none without one.
    pub volume: Option<PathBuf>,
    /// What its link is limited to. A virtual one has no speed of its own.
    pub link_bits_per_s: Option<f64>,
}

/// Opens what there is of the stand-in `name`, which this process is in.
///
/// # Errors
/// A file that every kernel has cannot be read.
pub(crate) fn stand_in(name: &str, sources: &HostSources) -> Result<StandIn> {
    // The directory of a controller of version 1, or the one of version 2 that has it.
    let group = |controller: &str| {
        let has = |place: &&CgroupDir| place.controllers.iter().any(|name| name == controller);
        sources.groups.iter().find(has).map(|place| &*place.dir)
    };
    let unified = sources.groups.iter().find(|place| place.unified);
    let rate = sources.link_bits_per_s;
    let speed = move |interface: &str| rate.filter(|_| interface != "lo");
    let places = stand_in::HostFiles {
        name,
        cpu: group("cpu"),
        cpuacct: group("cpuacct"),
        memory: group("memory"),
        // For the pressure and CPU time that it has even without controllers.
        unified: unified.map(|place| &*place.dir),
        device: sources.device.as_deref(),
        volume: sources.volume.as_deref(),
    };
    let network = Network::open(name, own_net, Box::new(speed))?;
    StandIn::open(&places, network).with_context(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_figures_from_the_second_look_on() {
        let mut machine = Machine::open(MACHINE, Vec::new()).unwrap();
        let mut out = Out::new();
        machine.look(1_000_000_000, &mut out).unwrap();
        let first = out.readings().len();
        machine.look(3_000_000_000, &mut out).unwrap();
        let second = &out.readings()[first..];
        for name in [
            "vmstat.r",
            "vmstat.free",
            "vmstat.cs",
            "sar.rxpck/s",
            "netstat.segments_sent",
            "sar.total/s",
        ] {
            assert!(
                second.iter().any(|one| &*one.name == name),
                "{name} is missing"
            );
        }
        assert!(second.iter().all(|one| one.place.starts_with(MACHINE)));
    }
}
