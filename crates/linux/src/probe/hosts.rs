//! Probes of the machine and of the simulated hosts on it.
//!
//! The readings of this machine have the place `machine`, regardless of the nodes on it. The
//! readings of a simulated host, and of another machine that hosts nodes, have the name of the host
//! as their place.

mod cpu;
mod cpu_counters;
mod disk;
mod foreign_load;
mod memory;
mod network;
mod pressure;
mod simulated_host;
mod softnet;

pub(super) use cpu_counters::unseen as unseen_counters;
pub(super) use foreign_load::ForeignLoad;
pub use foreign_load::STOPPED;

use super::kernel_file::KernelFile;
use super::{Out, SampledSource};
use crate::cgroup::{CgroupDir, effective_cpus};
use crate::links;
use anyhow::{Context, Result};
use cpu::Cpu;
use cpu_counters::CpuCounters;
use disk::{Devices, Disks};
use memory::Memory;
use network::Network;
use pressure::Pressure;
use serde::{Deserialize, Serialize};
use simulated_host::StandIn;
use softnet::Softnet;
use std::path::{Path, PathBuf};
use topology::CpuSet;

const MACHINE: &str = "machine";

pub(crate) struct MachineProbe {
    cpu: Cpu,
    memory: Memory,
    disks: Disks,
    network: Network,
    pressure: Pressure,
    /// Probe of received and dropped packets. `None` on a kernel that does not report them.
    softnet: Option<Softnet>,
    /// Probe of the hardware counters of all CPUs. `None` on most virtual machines.
    counters: Option<CpuCounters>,
}

impl MachineProbe {
    /// Opens the files. The readings have the place `place`. The probe omits the devices in
    /// `without`, which other probes read.
    ///
    /// # Errors
    /// A file of `/proc` that every kernel has cannot be read.
    pub fn open(place: &str, without: Vec<String>) -> Result<MachineProbe> {
        Ok(MachineProbe {
            cpu: Cpu::open(place)?,
            memory: Memory::open(place)?,
            disks: Disks::open(place, Devices::AllBut(without))?,
            network: Network::open(place, own_net, Box::new(links::speed))?,
            pressure: Pressure::open(place, Path::new("/proc/pressure"), ""),
            softnet: Softnet::open(place, "/proc/self/net/softnet_stat").ok(),
            counters: online_cpus().and_then(|cpus| CpuCounters::open(place, &cpus).ok()),
        })
    }
}

impl SampledSource for MachineProbe {
    fn look(&mut self, now_ns: u64, out: &mut Out) -> Result<()> {
        // If one source fails, the others are still read.
        let results = [
            self.cpu.look(now_ns, out),
            self.memory.look(now_ns, out),
            self.disks.look(now_ns, out),
            self.network.look(now_ns, out),
            self.pressure.look(now_ns, out),
            self.softnet.as_mut().map_or(Ok(()), |softnet| softnet.look(now_ns, out)),
            self.counters.as_mut().map_or(Ok(()), |counters| counters.look(now_ns, out)),
        ];
        results.into_iter().collect()
    }
}

/// Returns the CPUs of this machine that are online. `None` if the kernel does not list them.
fn online_cpus() -> Option<CpuSet> {
    let text = KernelFile::open("/sys/devices/system/cpu/online")
        .ok()?
        .read()
        .ok()?
        .into_owned();
    CpuSet::parse_list(text.trim()).ok()
}

fn own_net(name: &str) -> Result<KernelFile> {
    KernelFile::open(format!("/proc/self/net/{name}"))
}

/// Sources of the readings of a simulated host, with the paths that the host's agent uses.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HostSources {
    /// Control groups of the host, each with its controllers.
    pub groups: Vec<CgroupDir>,
    /// Name of the device of the host's volume in `/proc/diskstats`. `None` without a volume.
    pub device: Option<String>,
    /// Mount point of the host's volume. `None` without a volume.
    pub volume: Option<PathBuf>,
    /// Rate limit of the host's link, in bit/s. A virtual link itself does not have a speed.
    pub link_bits_per_s: Option<f64>,
}

/// Opens the sources of the simulated host `name`, in which this process runs.
///
/// # Errors
/// A file that every kernel has cannot be read.
pub(crate) fn stand_in(name: &str, sources: &HostSources) -> Result<StandIn> {
    // Returns the directory of a controller in version 1, or the directory in version 2 that has
    // the controller.
    let group = |controller: &str| {
        let has = |place: &&CgroupDir| place.controllers.iter().any(|name| name == controller);
        sources.groups.iter().find(has).map(|place| &*place.dir)
    };
    let unified = sources.groups.iter().find(|place| place.unified);
    let rate = sources.link_bits_per_s;
    let speed = move |interface: &str| rate.filter(|_| interface != "lo");
    let places = simulated_host::HostFiles {
        name,
        cpu: group("cpu"),
        cpuacct: group("cpuacct"),
        memory: group("memory"),
        // The directory of version 2 has files for pressure and CPU time even without controllers.
        unified: unified.map(|place| &*place.dir),
        device: sources.device.as_deref(),
        volume: sources.volume.as_deref(),
    };
    let network = Network::open(name, own_net, Box::new(speed))?;
    let counters = group("cpuset").and_then(|dir| own_counters(name, dir));
    StandIn::open(&places, network, counters).with_context(|| name.to_owned())
}

/// Opens the counters of the CPUs of a simulated host. `None` if the host may use all CPUs of the
/// machine: the counters of these CPUs would include the work of other programs.
fn own_counters(name: &str, cpuset: &Path) -> Option<CpuCounters> {
    let cpus = CpuSet::parse_list(&effective_cpus(cpuset).ok()?).ok()?;
    if cpus == online_cpus()? {
        return None;
    }
    CpuCounters::open(name, &cpus).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_figures_from_the_second_look_on() {
        let mut machine = MachineProbe::open(MACHINE, Vec::new()).unwrap();
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
