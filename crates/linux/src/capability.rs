//! Capabilities that simulated hosts and volume faults need from the machine that runs this
//! process. The module finds them by trials on objects that disappear with the process, or by
//! asking the kernel.
//!
//! The user's id does not matter: root may lack rights in a container, and other users may have
//! them.

mod disk;

use crate::cgroup::{self, CgroupDir, Hierarchy};
use crate::net::{self, Namespace, Netlink};
use crate::packet_filter::{Filter, HostLoss, Link, Lose, Loss, PacketDirection, PortEnd};
use crate::rtnetlink_message::Message;
use crate::sockets::Sockets;
use crate::volume;
use anyhow::{Context, Result};
use rustix::fs::Access;
use rustix::io::Errno;
use std::net::Ipv4Addr;
use std::sync::OnceLock;
use target_spec::{Capability, CapabilityStatus, HostSpec};

/// Returns the status of a capability. The status describes how the machine provides the
/// capability, or why the machine lacks it, with the remedy.
fn status(capability: Capability, found: Result<String>) -> CapabilityStatus {
    CapabilityStatus::from_answer(capability, found.map_err(|error| format!("{error:#}")))
}

/// Returns the status of each [`Capability`] that hosts need, whether it is present or not. Only
/// the first call runs the trials, because they create namespaces.
pub fn capabilities() -> &'static [CapabilityStatus] {
    static KNOWN: OnceLock<Vec<CapabilityStatus>> = OnceLock::new();
    KNOWN.get_or_init(ask)
}

/// Returns the status of each [`Capability`] that volume faults need, whether it is present or not.
/// Only the first call runs the trials. They are separate from those of [`capabilities`] because
/// they take about 40 ms, mostly to create a file system.
pub fn volume_capabilities() -> &'static [CapabilityStatus] {
    static KNOWN: OnceLock<Vec<CapabilityStatus>> = OnceLock::new();
    KNOWN.get_or_init(disk::capabilities)
}

/// Returns the capabilities of this machine when it is itself the host. Such a machine has no
/// switch, so it drops packets and connections of its own nodes itself. The other capabilities are
/// those of [`capabilities`]. Only the first call runs the trials.
pub fn machine_capabilities() -> &'static [CapabilityStatus] {
    static KNOWN: OnceLock<Vec<CapabilityStatus>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let filter = status(Capability::PacketFilter, host_filter(1.0));
        vec![
            CapabilityStatus {
                capability: Capability::HostCut,
                ..filter.clone()
            },
            filter,
            status(Capability::PacketLoss, host_filter(0.5)),
            status(Capability::Reset, reset_here()),
        ]
    })
}

fn ask() -> Vec<CapabilityStatus> {
    let places = cgroup::hierarchies().and_then(|hierarchies| groups(&hierarchies));
    let of_groups = |look: &dyn Fn(&[CgroupDir]) -> Result<String>| match &places {
        Ok(places) => look(places),
        Err(error) => Err(anyhow::anyhow!("{error:#}")),
    };
    let controller = |name: &str| of_groups(&|places| controller(places, name));
    let hosts = status(Capability::Hosts, network());
    vec![
        CapabilityStatus {
            capability: Capability::HostCut,
            ..hosts.clone()
        },
        hosts,
        status(Capability::CpuSet, controller("cpuset")),
        status(Capability::CpuLimit, controller("cpu")),
        status(Capability::MemoryLimit, controller("memory")),
        status(Capability::Volume, volume()),
        status(Capability::DiskLimit, of_groups(&disk_limits)),
        status(Capability::LinkRate, queue("tbf", "CONFIG_NET_SCH_TBF")),
        status(
            Capability::LinkDelay,
            queue("netem", "CONFIG_NET_SCH_NETEM"),
        ),
        status(Capability::DropPageCache, of_groups(&page_cache)),
        status(Capability::PacketFilter, packet_filter(1.0)),
        status(Capability::PacketLoss, packet_filter(0.5)),
        status(Capability::Reset, reset()),
    ]
}

/// Checks that this machine meets the requirements of `spec` on a simulated host. The error lists
/// all unmet requirements together.
///
/// # Errors
/// The missing capabilities, each with its reason.
pub fn require(spec: &HostSpec) -> Result<()> {
    let mut wanted = wanted(spec);
    wanted.push((Capability::Hosts, "network", true));
    let missing = missing(&wanted);
    anyhow::ensure!(
        missing.is_empty(),
        "this machine cannot create the requested hosts: {}",
        missing.join("; ")
    );
    Ok(())
}

/// Checks the requirements of `spec` for the machine itself as the host, which does not need a
/// separate network.
///
/// # Errors
/// The missing capabilities, each with its reason.
pub fn require_of_machine(spec: &HostSpec) -> Result<()> {
    let missing = missing(&wanted(spec));
    let hint = if rustix::process::geteuid().is_root() {
        ""
    } else {
        " (with `sudo: true`, cassay acts as root there)"
    };
    anyhow::ensure!(
        missing.is_empty(),
        "the machine does not permit this: {}{hint}",
        missing.join("; ")
    );
    Ok(())
}

/// Returns each capability with its name, and a flag that is true if `spec` requires the
/// capability.
fn wanted(spec: &HostSpec) -> Vec<(Capability, &'static str, bool)> {
    vec![
        (Capability::CpuSet, "cpus", spec.cpus.is_some()),
        (Capability::CpuLimit, "cpu quota", spec.cpu_quota.is_some()),
        (
            Capability::MemoryLimit,
            "memory limit",
            spec.memory_bytes.is_some(),
        ),
        (Capability::Volume, "volume", spec.volume_bytes.is_some()),
        (Capability::DiskLimit, "disk limits", spec.disk.limits()),
        (
            Capability::LinkRate,
            "link rate",
            spec.link.rate_bits_per_s.is_some(),
        ),
        (
            Capability::LinkDelay,
            "link delay",
            spec.link.delay.is_some(),
        ),
    ]
}

fn missing(wanted: &[(Capability, &str, bool)]) -> Vec<String> {
    let missing = |one: &CapabilityStatus| {
        let is_it = |(capability, _, is_wanted): &&(Capability, &str, bool)| {
            *capability == one.capability && *is_wanted
        };
        let (_, name, _) = wanted.iter().find(is_it).filter(|_| !one.present)?;
        Some(format!("{name}: {}", one.detail))
    };
    capabilities().iter().filter_map(missing).collect()
}

/// Tries to create a bridge and a link in a temporary namespace. Also tests the permission to
/// create links in the process's own namespace.
fn network() -> Result<String> {
    let needs = "hosts require root, or CAP_SYS_ADMIN and CAP_NET_ADMIN";
    let (outer, inner) = (Namespace::new(), Namespace::new());
    let (outer, inner) = (outer.context(needs)?, inner.context(needs)?);
    let mut socket = outer.socket()?;
    socket
        .bridge("bridge")
        .context("create a bridge (kernel option CONFIG_BRIDGE)")?;
    socket
        .veth("outer", "inner", &inner)
        .context("create a pair of links (kernel option CONFIG_VETH)")?;
    let mut own = Netlink::open()?;
    let lo = own.index("lo")?;
    own.ask(Message::touch(lo))
        .context("change links of this machine")
        .context(needs)?;
    Ok("network namespaces, links and a bridge".to_string())
}

/// Checks that the kernel has a queueing discipline. It creates one without options in a temporary
/// namespace.
fn queue(kind: &str, option: &str) -> Result<String> {
    let namespace = Namespace::new().context("hosts require root, or CAP_SYS_ADMIN")?;
    let mut socket = namespace.socket()?;
    let lo = socket.index("lo")?;
    match socket.ask(Message::bare_queue(lo, kind)) {
        // The kernel has the discipline even if the request fails with EINVAL, because some
        // disciplines require options.
        Ok(()) | Err(Errno::INVAL) => Ok(format!("queueing discipline {kind}")),
        Err(Errno::NOENT) => anyhow::bail!(
            "this kernel has no queueing discipline {kind} (option {option}, a module sch_{kind} \
             on most distributions: modprobe sch_{kind}); omit the limit, or use a kernel with \
             this discipline"
        ),
        Err(error) => Err(error).with_context(|| format!("query the discipline {kind}")),
    }
}

/// Tries to drop packets of all kinds and packets of one port, in a temporary namespace.
fn packet_filter(share: f64) -> Result<String> {
    let mut losses = Loss::both_ways(&[Link::Host(1)], &[Link::Machine]);
    losses[1].tcp_ports.push(1);
    losses.iter_mut().for_each(|loss| loss.share = share);
    let needs = "the kernel needs nf_tables for bridges (option CONFIG_NF_TABLES_BRIDGE: modprobe \
                 nf_tables)";
    try_filter(&losses, share, needs)?;
    Ok("packet filters of the bridge between the hosts (nf_tables)".to_owned())
}

/// Tries the packet filter of a host in a temporary namespace. Then checks the permission to use it
/// in the process's own namespace, by listing tables.
fn host_filter(share: f64) -> Result<String> {
    let loss = HostLoss {
        way: PacketDirection::In,
        peers: vec![Ipv4Addr::LOCALHOST],
        tcp_ports: vec![1],
        end: PortEnd::Either,
        share,
    };
    let needs = "the kernel needs nf_tables for IPv4 (option CONFIG_NF_TABLES_IPV4: modprobe \
                 nf_tables)";
    try_filter(&loss.both_ways(), share, needs)?;
    let own = Filter::<HostLoss>::open()?.tables();
    own.context("this user may not change the network (root, or CAP_NET_ADMIN)")?;
    Ok("packet filters of the machine (nf_tables)".to_owned())
}

fn try_filter<L: Lose + Sync>(losses: &[L], share: f64, needs: &'static str) -> Result<()> {
    let namespace = Namespace::new().context("hosts require root, or CAP_SYS_ADMIN")?;
    let made = namespace.inside(|| Filter::open()?.add("tried", losses))?;
    made.context(if share < 1.0 {
        "the kernel needs nf_tables with random numbers (option CONFIG_NFT_NUMGEN: modprobe \
         nft_numgen)"
    } else {
        needs
    })
}

/// Tries to reset a nonexistent connection in a temporary namespace.
fn reset() -> Result<String> {
    let namespace = Namespace::new().context("hosts require root, or CAP_SYS_ADMIN")?;
    namespace.inside(|| Sockets::open()?.try_reset())??;
    Ok("sock_diag".to_owned())
}

/// Runs the trial of [`reset`]. Then checks the permission to reset connections in the process's
/// own namespace, with a nonexistent connection.
fn reset_here() -> Result<String> {
    let how = reset()?;
    let own = Sockets::open()?.try_reset();
    own.context("this user may not reset connections (root, or CAP_NET_ADMIN)")?;
    Ok(how)
}

fn volume() -> Result<String> {
    volume::loop_device::control()
        .context("volumes require root and loop devices (CONFIG_BLK_DEV_LOOP)")?;
    let mkfs = volume::ext4_ioctls::mkfs()?;
    net::own_mounts().context("separate mounts require root, or CAP_SYS_ADMIN")?;
    Ok(format!("ext4 on a loop device, by {}", mkfs.display()))
}

/// Returns the directories for control groups if this process may write to them. The function does
/// not create directories for this check, because they would remain after a killed command.
fn groups(hierarchies: &[Hierarchy]) -> Result<Vec<CgroupDir>> {
    let needs = "limits of hosts require root, or write access to /sys/fs/cgroup";
    let places = cgroup::places(hierarchies, "cassay");
    for place in &places {
        let top = place.dir.parent().context("find the parent of the control group")?;
        let writable = rustix::fs::access(top, Access::WRITE_OK);
        writable.with_context(|| format!("create a group in {}: {needs}", top.display()))?;
    }
    Ok(places)
}

fn controller(places: &[CgroupDir], name: &str) -> Result<String> {
    let place = places.iter().find(|place| place.has(name));
    let missing = || format!("this machine has no mounted control group for {name}");
    let place = place.with_context(missing)?;
    let version = if place.unified { 2 } else { 1 };
    Ok(format!("control groups, version {version}"))
}

fn disk_limits(places: &[CgroupDir]) -> Result<String> {
    controller(places, "blkio").or_else(|_| controller(places, "io"))
}

fn page_cache(places: &[CgroupDir]) -> Result<String> {
    let place = places.iter().find(|place| place.has("memory")).context("no memory group")?;
    let top = place.dir.parent().context("find the parent of the control group")?;
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
        capabilities();
        let made = net::MADE.get();
        for _ in 0..3 {
            // On a machine that cannot create hosts, this check fails. The test ignores the result,
            // because only the number of namespaces matters.
            let _ = require(&HostSpec::default());
            capabilities();
        }
        assert_eq!(net::MADE.get(), made);
    }

    /// A capability from `machine_capabilities` replaces the capability of the same name from the
    /// other functions.
    #[test]
    fn capabilities_are_told_each_once() {
        let told: Vec<&CapabilityStatus> =
            capabilities().iter().chain(volume_capabilities()).collect();
        for able in machine_capabilities() {
            assert!(!able.detail.is_empty(), "{able:?}");
            assert!(told.iter().any(|other| other.capability == able.capability));
        }
        assert_eq!(told.len(), 18);
        for (at, able) in told.iter().enumerate() {
            assert!(!able.detail.is_empty(), "{able:?}");
            assert!(!told[..at].iter().any(|other| other.capability == able.capability));
        }
    }
}
