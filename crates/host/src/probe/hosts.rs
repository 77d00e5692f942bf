//! The machine and the stand-in hosts on it.
//!
//! The machine's own figures stand at the place `machine`, whatever runs on it; what a stand-in
//! host used of it stands at the host's name.

mod cpu;
mod disk;
mod memory;
mod network;
mod others;
mod pressure;
mod softnet;
mod stand_in;

pub(super) use others::Others;

use super::source::KernelFile;
use super::{Look, Out};
use crate::Host;
use anyhow::Result;
use cpu::Cpu;
use disk::Disks;
use memory::Memory;
use network::Network;
use pressure::Pressure;
use softnet::Softnet;
use stand_in::StandIn;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Place of the readings of the whole machine.
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
    /// The devices of the volumes of `hosts` stand at their places.
    ///
    /// # Errors
    /// A file of `/proc` that every kernel has cannot be read.
    pub fn open(hosts: &[Host]) -> Result<Machine> {
        let device = |host: &Host| Some((host.sources().device?, host.name().to_string()));
        let devices: BTreeMap<String, String> = hosts.iter().filter_map(device).collect();
        let net = |name: &str| KernelFile::open(format!("/proc/self/net/{name}"));
        Ok(Machine {
            cpu: Cpu::open(MACHINE)?,
            memory: Memory::open(MACHINE)?,
            disks: Disks::open(MACHINE, devices)?,
            network: Network::open(MACHINE, net, Box::new(network::machine_speed))?,
            pressure: Pressure::open(MACHINE, Path::new("/proc/pressure"), ""),
            softnet: Softnet::open(MACHINE, "/proc/self/net/softnet_stat").ok(),
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
            self.softnet
                .as_mut()
                .map_or(Ok(()), |softnet| softnet.look(now_ns, out)),
        ];
        results.into_iter().collect()
    }
}

/// Opens what there is of a stand-in host.
///
/// # Errors
/// The host is gone.
pub(crate) fn stand_in(host: &Host) -> Result<StandIn> {
    let sources = host.sources();
    let net = |name: &str| {
        let path = PathBuf::from(format!("net/{name} of {}", host.name()));
        Ok(KernelFile::of(path, sources.proc_net(name)?))
    };
    // A virtual link has no speed of its own: its use is that of the rate that it is limited to.
    let limits = host.limits()?;
    let rate: Option<f64> = limits.get("link_rate").and_then(|rate| rate.parse().ok());
    let speed = move |interface: &str| rate.filter(|_| interface != "lo");
    let places = stand_in::HostFiles {
        name: host.name(),
        cpu: sources.group("cpu"),
        cpuacct: sources.group("cpuacct"),
        memory: sources.group("memory"),
        unified: sources.unified(),
        volume: sources.device.as_ref().map(|_| host.folder()),
    };
    let network = Network::open(host.name(), net, Box::new(speed))?;
    Ok(StandIn::open(&places, network))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_figures_from_the_second_look_on() {
        let mut machine = Machine::open(&[]).unwrap();
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
