//! Implements the calls to the agents of simulated hosts and of the switch between them, which
//! create and limit these hosts.

use crate::host_state::AgentState;
use crate::remote_host;
use crate::systemd_scope;
use anyhow::{Context, Result};
use host::calls::{
    Address, ConnectToSwitch, DropPageCache, HostLimits, Limit, LimitPort, Limits, MakeBridge,
    MakeHost, NewHost, PortLimits, RaiseUplink, Role,
};
use host::undo::Undo;
use linux::cgroup::{self, Group};
use linux::links;
use linux::net::{self, Namespace, Netlink};
use linux::volume::Volume;
use remote::Serve;
use rustix::mount::{MountPropagationFlags, mount_change};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use target_spec::LinkSpec;

/// Moves this process and its future children into the namespaces of its role. The caller must call
/// this function before it starts any thread. If systemd refuses to delegate control groups,
/// returns a note for the log.
pub(crate) fn enter(role: Role, name: &str) -> Result<Option<String>> {
    let flags = match role {
        Role::Machine | Role::Relay => return Ok(None),
        Role::Host => return enter_host(name),
        Role::Switch => UnshareFlags::NEWNET,
        Role::StandIn => UnshareFlags::NEWNET | UnshareFlags::NEWNS,
    };
    // SAFETY: no other thread runs yet, so no other thread's view of files or links changes.
    unsafe { unshare_unsafe(flags) }.context(
        "create separate namespaces for the network and the mounts, which requires root or \
         CAP_SYS_ADMIN",
    )?;
    if role == Role::StandIn {
        keep_mounts()?;
    }
    Ok(None)
}

/// Makes the agent's mounts invisible on the machine. New mounts of the machine remain visible to
/// the agent.
fn keep_mounts() -> Result<()> {
    let downstream = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change("/", downstream).context("make mounts private")
}

/// Moves the agent of a machine that hosts nodes into its own mount namespace, if permitted.
/// Otherwise the agent refuses requests for a volume. If systemd refuses to delegate control
/// groups, returns a note for the log.
fn enter_host(name: &str) -> Result<Option<String>> {
    // SAFETY: as in `enter`, no other thread runs yet. The agent creates the thread that starts
    // programs later.
    if unsafe { unshare_unsafe(UnshareFlags::NEWNS) }.is_ok() {
        keep_mounts()?;
    }
    // Without a scope of systemd, the agent creates groups as on a machine without systemd.
    let why = systemd_scope::enter(name).err();
    cgroup::step_aside()?;
    Ok(why.map(|why| format!("systemd does not delegate control groups to the agent: {why:#}")))
}

impl Serve<AgentState> for MakeBridge {
    fn serve(self, here: &AgentState) -> Result<()> {
        let made = Netlink::open()?.bridge(links::BRIDGE);
        made.context("make a bridge")?;
        let _ = here.bridge.set(());
        Ok(())
    }
}

impl Serve<AgentState> for RaiseUplink {
    fn serve(self, _: &AgentState) -> Result<()> {
        Netlink::open()?.up(links::UPLINK, Some(links::BRIDGE))
    }
}

impl Serve<AgentState> for ConnectToSwitch {
    fn serve(self, _: &AgentState) -> Result<()> {
        let host = Namespace::open(&format!("/proc/{}/ns/net", self.process.pid))?;
        anyhow::ensure!(self.process.alive(), "its agent ended");
        let port = links::port(self.number);
        let mut inside = Netlink::open()?;
        inside
            .veth(&port, links::HOST_LINK, &host)
            .with_context(|| format!("create the link {port}"))?;
        inside.up(&port, Some(links::BRIDGE))
    }
}

impl Serve<AgentState> for LimitPort {
    fn serve(self, _: &AgentState) -> Result<()> {
        Netlink::open()?.limit(&links::port(self.number), &self.link)
    }
}

impl Serve<AgentState> for PortLimits {
    fn serve(self, _: &AgentState) -> Result<LinkSpec> {
        Netlink::open()?.limits(&links::port(self.number))
    }
}

impl Serve<AgentState> for MakeHost {
    fn serve(self, here: &AgentState) -> Result<NewHost> {
        here.undo.add(Undo::Volume(self.folder.clone()))?;
        here.undo.add(Undo::Groups(self.places.clone()))?;
        let group = Group::make(self.places)?;
        let mut made = NewHost {
            device: None,
            is_direct: true,
        };
        match self.volume_bytes {
            Some(bytes) => {
                let volume = Volume::make(&self.folder, bytes)?;
                made.is_direct = volume.is_direct();
                made.device = Some(volume.device().to_owned());
                let _ = here.device.set(volume.number()?);
                let _ = here.volume.set(volume);
            }
            None => std::fs::create_dir(&self.folder)
                .with_context(|| format!("make {}", self.folder.display()))?,
        }
        net::announce_when_plugged(links::HOST_LINK)?;
        let _ = here.data.set(self.folder);
        let _ = here.group.set(group);
        let _ = here.network.set(());
        Ok(made)
    }
}

impl Serve<AgentState> for Address {
    fn serve(self, _: &AgentState) -> Result<()> {
        let mut links = Netlink::open()?;
        links.address(links::HOST_LINK, self.0)?;
        links.up(links::HOST_LINK, None)?;
        links.up("lo", None)
    }
}

impl Serve<AgentState> for Limit {
    fn serve(self, here: &AgentState) -> Result<()> {
        if here.network.get().is_none() {
            return remote_host::limit(here, &self.0);
        }
        here.group()?.limit(&self.0, here.device())?;
        Netlink::open()?.limit(links::HOST_LINK, &self.0.link)
    }
}

impl Serve<AgentState> for Limits {
    fn serve(self, here: &AgentState) -> Result<HostLimits> {
        let groups = here.group.get().map(|group| group.limits(here.device()));
        let has_network = here.network.get().is_some();
        let link = has_network.then(|| Netlink::open()?.limits(links::HOST_LINK));
        Ok(HostLimits {
            groups: groups.transpose()?.unwrap_or_default(),
            link: link.transpose()?.unwrap_or_default(),
        })
    }
}

impl Serve<AgentState> for DropPageCache {
    fn serve(self, here: &AgentState) -> Result<()> {
        let data = here
            .data
            .get()
            .context("this host has no data folder yet: start a node on it first")?;
        let folder = foreign::folder(data).with_context(|| format!("open {}", data.display()))?;
        rustix::fs::syncfs(&folder).with_context(|| format!("sync {}", data.display()))?;
        here.group()?.drop_cache()
    }
}
