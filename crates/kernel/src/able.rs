//! What this machine lets us do for hosts, found by trying it on things that vanish with whoever
//! tries, or by asking the kernel.
//!
//! Never by the user's id: root may lack rights in a container, and others may have them.

mod disk;

use crate::cgroup::{self, CgroupDir, Hierarchy};
use crate::filter::{Filter, Link, Loss};
use crate::message::Message;
use crate::net::{self, Namespace, Netlink};
use crate::sockets::Sockets;
use crate::volume;
use anyhow::{Context, Result};
use rustix::fs::Access;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use target::HostSpec;

/// What hosts may need of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostAbility {
    /// A network of their own, with an address each.
    Network,
    /// CPUs of their own.
    Cpus,
    /// A share of CPU time.
    CpuQuota,
    /// A limit of memory, page cache included.
    Memory,
    /// A data volume of a stated size.
    Volume,
    /// A speed of their volume.
    Disk,
    /// A speed of their link.
    LinkRate,
    /// A delay of their link.
    LinkDelay,
    /// Dropping the page cache of one host alone.
    PageCache,
    /// Losing what goes from one to another through their switch.
    PacketFilter,
    /// Losing a share of it, by chance.
    PacketLoss,
    /// Resetting TCP connections that there are.
    Reset,
    /// A volume that loses what it has not synced: without power, gone, or taken by another host.
    VolumeOff,
    /// One that can only be read.
    VolumeReadOnly,
    /// One at which every write waits.
    VolumeStalled,
    /// One with other bytes than were written.
    VolumeCorrupt,
    /// One that fails from some place on.
    VolumeErrors,
}

/// Whether this machine has one of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCapability {
    /// Which.
    pub what: HostAbility,
    /// Whether it is there.
    pub present: bool,
    /// How, or why not and what would bring it.
    pub detail: String,
}

impl HostCapability {
    fn of(what: HostAbility, found: Result<String>) -> HostCapability {
        match found {
            Ok(detail) => HostCapability {
                what,
                present: true,
                detail,
            },
            Err(error) => HostCapability {
                what,
                present: false,
                detail: format!("{error:#}"),
            },
        }
    }
}

/// Every [`HostAbility`] that hosts need, there or not. The machine is asked the first time only,
/// since that makes namespaces; nothing of them stays.
pub fn abilities() -> &'static [HostCapability] {
    static KNOWN: OnceLock<Vec<HostCapability>> = OnceLock::new();
    KNOWN.get_or_init(ask)
}

/// Every [`HostAbility`] that faults of a volume need, there or not. Asked the first time only, and
/// not with the others: that takes some 40 ms, most of it to make a file system.
pub fn volume_abilities() -> &'static [HostCapability] {
    static KNOWN: OnceLock<Vec<HostCapability>> = OnceLock::new();
    KNOWN.get_or_init(disk::abilities)
}

fn ask() -> Vec<HostCapability> {
    let places = cgroup::hierarchies().and_then(|hierarchies| groups(&hierarchies));
    let of_groups = |look: &dyn Fn(&[CgroupDir]) -> Result<String>| match &places {
        Ok(places) => look(places),
        Err(error) => Err(anyhow::anyhow!("{error:#}")),
    };
    let controller = |name: &str| of_groups(&|places| controller(places, name));
    vec![
        HostCapability::of(HostAbility::Network, network()),
        HostCapability::of(HostAbility::Cpus, controller("cpuset")),
        HostCapability::of(HostAbility::CpuQuota, controller("cpu")),
        HostCapability::of(HostAbility::Memory, controller("memory")),
        HostCapability::of(HostAbility::Volume, volume()),
        HostCapability::of(HostAbility::Disk, of_groups(&disk_limits)),
        HostCapability::of(HostAbility::LinkRate, queue("tbf", "CONFIG_NET_SCH_TBF")),
        HostCapability::of(
            HostAbility::LinkDelay,
            queue("netem", "CONFIG_NET_SCH_NETEM"),
        ),
        HostCapability::of(HostAbility::PageCache, of_groups(&page_cache)),
        HostCapability::of(HostAbility::PacketFilter, packet_filter(1.0)),
        HostCapability::of(HostAbility::PacketLoss, packet_filter(0.5)),
        HostCapability::of(HostAbility::Reset, reset()),
    ]
}

/// Refuses, all at once, what `spec` asks for and this machine cannot do.
///
/// # Errors
/// What is missing, each with its reason.
pub fn require(spec: &HostSpec) -> Result<()> {
    let wanted = |what: HostAbility| match what {
        HostAbility::Network => true,
        HostAbility::Cpus => spec.cpus.is_some(),
        HostAbility::CpuQuota => spec.cpu_quota.is_some(),
        HostAbility::Memory => spec.memory_bytes.is_some(),
        HostAbility::Volume => spec.volume_bytes.is_some(),
        HostAbility::Disk => spec.disk.limits(),
        HostAbility::LinkRate => spec.link.rate_bits_per_s.is_some(),
        HostAbility::LinkDelay => spec.link.delay.is_some(),
        HostAbility::PageCache
        | HostAbility::PacketFilter
        | HostAbility::PacketLoss
        | HostAbility::Reset
        | HostAbility::VolumeOff
        | HostAbility::VolumeReadOnly
        | HostAbility::VolumeStalled
        | HostAbility::VolumeCorrupt
        | HostAbility::VolumeErrors => false,
    };
    let missing: Vec<String> = abilities()
        .iter()
        .filter(|able| wanted(able.what) && !able.present)
        .map(|able| format!("{}: {}", able.what, able.detail))
        .collect();
    anyhow::ensure!(
        missing.is_empty(),
        "this machine cannot make such hosts: {}",
        missing.join("; ")
    );
    Ok(())
}

impl std::fmt::Display for HostAbility {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            HostAbility::Network => "network",
            HostAbility::Cpus => "cpus",
            HostAbility::CpuQuota => "cpu quota",
            HostAbility::Memory => "memory limit",
            HostAbility::Volume => "volume",
            HostAbility::Disk => "disk limits",
            HostAbility::LinkRate => "link rate",
            HostAbility::LinkDelay => "link delay",
            HostAbility::PageCache => "page cache of one host",
            HostAbility::PacketFilter => "packet filter",
            HostAbility::PacketLoss => "packet loss",
            HostAbility::Reset => "connection reset",
            HostAbility::VolumeOff => "volume without power",
            HostAbility::VolumeReadOnly => "volume that is read-only",
            HostAbility::VolumeStalled => "volume that stalls",
            HostAbility::VolumeCorrupt => "volume with other bytes",
            HostAbility::VolumeErrors => "volume with errors",
        })
    }
}

/// A bridge and a link in a namespace that vanishes, and the right to make links in ours.
fn network() -> Result<String> {
    let needs = "hosts need root, or CAP_SYS_ADMIN and CAP_NET_ADMIN";
    let (outer, inner) = (Namespace::new(), Namespace::new());
    let (outer, inner) = (outer.context(needs)?, inner.context(needs)?);
    let mut socket = outer.socket()?;
    socket
        .bridge("bridge")
        .context("make a bridge (kernel option CONFIG_BRIDGE)")?;
    socket
        .veth("outer", "inner", &inner)
        .context("make a pair of links (kernel option CONFIG_VETH)")?;
    let mut own = Netlink::open()?;
    let lo = own.index("lo")?;
    own.ask(Message::touch(lo))
        .context("change links of this machine")
        .context(needs)?;
    Ok("namespaces, links and a bridge".to_string())
}

/// Whether the kernel knows a queue, asked by making one without its options in a namespace that
/// vanishes.
fn queue(kind: &str, option: &str) -> Result<String> {
    let namespace = Namespace::new().context("hosts need root, or CAP_SYS_ADMIN")?;
    let mut socket = namespace.socket()?;
    let lo = socket.index("lo")?;
    match socket.ask(Message::bare_queue(lo, kind)) {
        // Known; some want options.
        Ok(()) | Err(Errno::INVAL) => Ok(format!("queueing discipline {kind}")),
        Err(Errno::NOENT) => anyhow::bail!(
            "this kernel has no queueing discipline {kind} (option {option}, a module sch_{kind} \
             on most distributions: modprobe sch_{kind}); leave it out, or use a kernel with it"
        ),
        Err(error) => Err(error).with_context(|| format!("ask for the discipline {kind}")),
    }
}

/// What is lost of everything and of one port, in a namespace that vanishes.
fn packet_filter(share: f64) -> Result<String> {
    let namespace = Namespace::new().context("hosts need root, or CAP_SYS_ADMIN")?;
    let mut losses = Loss::both_ways(&[Link::Host(1)], &[Link::Machine]);
    losses[1].tcp_ports.push(1);
    losses.iter_mut().for_each(|loss| loss.share = share);
    let made = namespace.inside(|| Filter::open()?.add("tried", &losses))?;
    made.context(if share < 1.0 {
        "needs nf_tables with random numbers (option CONFIG_NFT_NUMGEN: modprobe nft_numgen)"
    } else {
        "needs nf_tables for bridges (option CONFIG_NF_TABLES_BRIDGE: modprobe nf_tables)"
    })?;
    Ok("nf_tables of a bridge".to_owned())
}

/// Asked by resetting a connection that is not there, in a namespace that vanishes.
fn reset() -> Result<String> {
    let namespace = Namespace::new().context("hosts need root, or CAP_SYS_ADMIN")?;
    namespace.inside(|| Sockets::open()?.try_reset())??;
    Ok("sock_diag".to_owned())
}

fn volume() -> Result<String> {
    volume::loop_device::control()
        .context("volumes need root and loop devices (CONFIG_BLK_DEV_LOOP)")?;
    let mkfs = volume::ext4::mkfs()?;
    net::own_mounts().context("mounts of its own need root, or CAP_SYS_ADMIN")?;
    Ok(format!("ext4 on a loop device, by {}", mkfs.display()))
}

/// Where groups may be made; nothing is made to find it out, since a directory would outlive a
/// command that is killed.
fn groups(hierarchies: &[Hierarchy]) -> Result<Vec<CgroupDir>> {
    let needs = "limits of hosts need root, or write access to /sys/fs/cgroup";
    let places = cgroup::places(hierarchies, "cassay");
    for place in &places {
        let top = place.dir.parent().context("a control group at the root")?;
        let writable = rustix::fs::access(top, Access::WRITE_OK);
        writable.with_context(|| format!("make a group in {}: {needs}", top.display()))?;
    }
    Ok(places)
}

fn controller(places: &[CgroupDir], name: &str) -> Result<String> {
    let place = places.iter().find(|place| place.has(name));
    let missing = || format!("this machine has no control group for {name}: none is mounted");
    let place = place.with_context(missing)?;
    let version = if place.unified { 2 } else { 1 };
    Ok(format!("control groups, version {version}"))
}

fn disk_limits(places: &[CgroupDir]) -> Result<String> {
    controller(places, "blkio").or_else(|_| controller(places, "io"))
}

fn page_cache(places: &[CgroupDir]) -> Result<String> {
    let place = places.iter().find(|place| place.has("memory"));
    let place = place.context("no memory group")?;
    let top = place.dir.parent().context("a control group at the root")?;
    let files = ["memory.force_empty", "memory.reclaim"];
    let found = files.into_iter().find(|file| top.join(file).exists());
    found.map(str::to_owned).with_context(|| {
        format!(
            "{} has neither memory.force_empty nor memory.reclaim (version 2: Linux 5.19)",
            top.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_asked_once_what_it_can_do() {
        abilities();
        let made = net::MADE.get();
        for _ in 0..3 {
            // Refused where hosts cannot be made: that is known by now, too.
            let _ = require(&HostSpec::default());
            abilities();
        }
        assert_eq!(net::MADE.get(), made);
    }

    #[test]
    fn abilities_are_told_each_once() {
        let told: Vec<&HostCapability> = abilities().iter().chain(volume_abilities()).collect();
        assert_eq!(told.len(), 17);
        for (at, able) in told.iter().enumerate() {
            assert!(!able.detail.is_empty(), "{able:?}");
            assert!(!told[..at].iter().any(|other| other.what == able.what));
        }
    }
}
