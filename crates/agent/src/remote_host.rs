//! Implements the calls to an agent of a machine that hosts nodes. They prepare and check the
//! machine, and remove leftovers of an earlier command.

use crate::faults::packets;
use crate::host_state::AgentState;
use anyhow::{Context, Result, ensure};
use host::agent::end_agent_of;
use host::process::{self, Identity};
use host::remote_host::{
    AvailableMemory, ClearCluster, FindJava, FindMarked, FoundJava, Settle, SettleResult,
    TakenPort, supply_folder,
};
use host::undo::{Undo, undo};
use host::{memory, ports};
use linux::capability;
use linux::cgroup::{self, Group};
use linux::volume::Volume;
use remote::Serve;
use rustix::fs::statfs;
use rustix::process::Signal;
use std::fs::create_dir_all;
use std::path::Path;
use std::time::Duration;
use supply::java;
use target_spec::{Capability, HostSpec};

/// `TMPFS_MAGIC` of `statfs(2)`.
const TMPFS: u64 = 0x0102_1994;

/// Capabilities of a machine that depend on control groups.
const OF_GROUPS: [Capability; 3] = [
    Capability::CpuSet,
    Capability::CpuLimit,
    Capability::MemoryLimit,
];

impl Serve<AgentState> for Settle {
    fn serve(self, here: &AgentState) -> Result<SettleResult> {
        capability::require_of_machine(&self.limits)?;
        let mut settled = SettleResult {
            places: Vec::new(),
            device: None,
            is_direct: true,
            is_in_memory: is_in_memory(
                self.folder.parent().context("find the parent of a folder")?,
            )?,
        };
        let above = self
            .folder
            .ancestors()
            .nth(2)
            .context("find the folder above that of the cluster")?;
        let jars = supply_folder(above);
        // The folder of the jars remains for the next cluster.
        create_dir_all(&jars).with_context(|| format!("make {}", jars.display()))?;
        here.undo.add(Undo::Volume(self.folder.clone()))?;
        let _ = here.machine.set(self.group.clone());
        if are_groups_permitted() {
            settled.places = cgroup::places(&cgroup::hierarchies()?, &self.group);
            here.undo.add(Undo::Groups(settled.places.clone()))?;
            let _ = here.group.set(Group::make(settled.places.clone())?);
        }
        match self.limits.volume_bytes {
            Some(bytes) => {
                check_mounts()?;
                let volume = Volume::make(&self.folder, bytes)?;
                settled.is_direct = volume.is_direct();
                settled.is_in_memory = false;
                settled.device = Some(volume.device().to_owned());
                let _ = here.device.set(volume.number()?);
                let _ = here.volume.set(volume);
            }
            None => std::fs::create_dir(&self.folder)
                .with_context(|| format!("make {}", self.folder.display()))?,
        }
        let _ = here.data.set(self.folder);
        limit(here, &self.limits)?;
        Ok(settled)
    }
}

/// Limits the processes of this host. Does nothing without permission for control groups, which an
/// earlier check has reported.
pub(crate) fn limit(here: &AgentState, limits: &HostSpec) -> Result<()> {
    capability::require_of_machine(&HostSpec {
        volume_bytes: None,
        ..limits.clone()
    })?;
    match here.group.get() {
        Some(group) => group.limit(limits, here.device()),
        None => Ok(()),
    }
}

fn are_groups_permitted() -> bool {
    let mut all = capability::capabilities().iter();
    all.any(|one| one.present && OF_GROUPS.contains(&one.capability))
}

pub(crate) fn is_in_memory(folder: &Path) -> Result<bool> {
    let system = statfs(folder).with_context(|| format!("look at {}", folder.display()))?;
    Ok(system.f_type as u64 == TMPFS)
}

/// Checks that mounts of this process are private, so that they end with the process.
fn check_mounts() -> Result<()> {
    let of = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/mnt"));
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().to_string());
    let (ours, theirs) = (of("self"), parent.map(|pid| of(&pid)));
    let is_own = match (ours, theirs) {
        (Ok(ours), Some(Ok(theirs))) => ours != theirs,
        _ => false,
    };
    ensure!(
        is_own,
        "this machine does not allow separate mounts for the agent, so cassay cannot create a \
         volume\nhint: set `sudo: true`, so that the agent runs as root; in a container, the agent \
         needs CAP_SYS_ADMIN"
    );
    Ok(())
}

impl Serve<AgentState> for FindJava {
    fn serve(self, _: &AgentState) -> Result<FoundJava> {
        let java = java::find(&self.0)?;
        Ok(FoundJava {
            program: java.program,
            version: java.version,
            build: java.build,
            passed_over: java.passed_over,
        })
    }
}

impl Serve<AgentState> for TakenPort {
    fn serve(self, _: &AgentState) -> Result<Option<String>> {
        Ok(ports::taken(&self.0))
    }
}

impl Serve<AgentState> for AvailableMemory {
    fn serve(self, _: &AgentState) -> Result<u64> {
        memory::available_bytes()
    }
}

impl Serve<AgentState> for FindMarked {
    fn serve(self, _: &AgentState) -> Result<Vec<Identity>> {
        ensure!(
            !self.0.is_empty(),
            "the mark is empty, so it would match every JVM of the machine"
        );
        Ok(process::jvms_with(&self.0))
    }
}

impl Serve<AgentState> for ClearCluster {
    fn serve(self, _: &AgentState) -> Result<usize> {
        let is_one = |part: &str| {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
            !part.is_empty() && part.chars().all(plain)
        };
        ensure!(
            is_one(&self.id) && self.folder.ends_with(&self.id),
            "{} is not the folder of the cluster {:?}",
            self.folder.display(),
            self.id
        );
        ensure!(
            is_one(&self.host),
            "{:?} is not a valid host name",
            self.host
        );
        let group = host::group_name(&self.id, &self.host);
        let mut places = cgroup::places(&cgroup::hierarchies()?, &group);
        // Groups of a cluster from another login session may have another parent.
        places.extend(self.places.into_iter().filter(|place| place.dir.ends_with(&group)));
        let folder = self.folder.join(&self.host);
        // A process that waits for a frozen volume cannot be killed.
        undo(&[Undo::Thaw(folder.clone())])?;
        // Containers may show each other's processes, so the command line must contain the folder.
        // Normally, nodes end with their agent.
        let below = folder.display().to_string();
        let is_here = |node: &Identity| {
            let line = process::command_line(node.pid).unwrap_or_default();
            line.iter().any(|word| word.contains(&below))
        };
        let mut nodes = process::jvms_with(&[self.mark]);
        nodes.retain(is_here);
        end_agent_of(&self.host, &self.id)?;
        nodes.iter().for_each(|node| node.signal(Signal::KILL));
        nodes.iter().try_for_each(|node| node.end(Duration::ZERO).map(drop))?;
        let mut left = vec![
            Undo::Tree(self.folder),
            Undo::Volume(folder),
            Undo::Groups(places),
        ];
        left.extend(packets::left(&group).into_iter().map(Undo::Table));
        undo(&left)?;
        Ok(nodes.len())
    }
}
