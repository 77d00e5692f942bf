//! Reopens a kept cluster for a later command. The processes are not children of this command, so
//! they outlive it.

use super::host_layout::HostLayout;
use super::nodes::Nodes;
use super::persistent_state::{NodeState, State};
use super::placement::Layout;
use super::ports::{Claim, Ports};
use super::program::Program;
use super::{assign_hosts, roles, settings};
use crate::dirs::Dirs;
use anyhow::{Context, Result, bail};
use cassandra::process_tags;
use host::{Agent, Hosts};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use target_spec::HostIndex;

impl Nodes {
    /// Reopens the cluster in `folder` with the state `state`. Passes messages about downloads to
    /// `say`.
    ///
    /// # Errors
    /// Another command uses the cluster, the state lacks values that this version needs, an agent
    /// is unreachable, or Java or jars are missing.
    pub fn reopen(
        folder: &Path,
        state: State,
        dirs: &Dirs,
        say: &mut dyn FnMut(&str),
    ) -> Result<Nodes> {
        let lock = lock(folder, &state.id)?;
        let (Some(spec), Some(places)) = (state.spec(), places_of(&state)) else {
            bail!(
                "another version of cassay started the cluster {}, and did not record all values \
                 that this version needs\nhint: stop the cluster with `cassay target down {}`",
                state.id,
                state.id
            );
        };
        let program = Program::for_spec(&spec, dirs, say)?;
        let addresses: Vec<_> = places.iter().map(|(address, _)| *address).collect();
        let first_ports = places[0].1;
        let ground = ground(folder, &state).with_context(|| {
            format!(
                "cassay can no longer use the cluster {}; stop it with `cassay target down {}`",
                state.id, state.id
            )
        })?;
        let layouts = assign_hosts::layouts(&spec, folder, &ground, &places)?;
        let first = layouts.first().context("the cluster has no node")?;
        let secret = settings::read_secret(ground.agent(HostIndex(0)), first)?;
        let access = roles::read(spec.authentication, folder)?;
        // A claim is valid only on this machine.
        let is_here = spec.machines().is_empty();
        let claim = is_here.then(|| Claim::take(&addresses, first_ports)).flatten();
        let mut nodes = Nodes {
            folder: folder.to_path_buf(),
            state,
            spec,
            nodes: Vec::new(),
            layout: Layout::default(),
            ground,
            program,
            programs: Vec::new(),
            upgrade: None,
            claim,
            secret,
            access,
            armed: false,
            _lock: Some(lock),
            _pods: None,
        };
        nodes.supply(say)?;
        nodes.layout = nodes.lay_out(&nodes.spec)?;
        for (index, layout) in layouts.into_iter().enumerate() {
            let mut node = nodes.node_of(layout)?;
            let process = nodes.state.nodes[index]
                .process
                .filter(|one| node.host.how_ended(*one).is_none());
            // An agent may have healed this node with a new process after another command broke it.
            node.process = match process {
                Some(process) => Some(process),
                None => process_tags::process_by(&node.host, &nodes.state.id, &node.layout.name)?,
            };
            nodes.nodes.push(node);
        }
        Ok(nodes)
    }
}

/// Returns the addresses and ports of the nodes. Returns `None` if the state is incomplete.
fn places_of(state: &State) -> Option<Vec<(Ipv4Addr, Ports)>> {
    let place = |node: &NodeState| Some((node.address, node.ports?));
    let all: Vec<_> = state.nodes.iter().map(place).collect::<Option<_>>()?;
    (!all.is_empty()).then_some(all)
}

fn ground(folder: &Path, state: &State) -> Result<HostLayout> {
    Ok(match &state.hosts {
        Some(hosts) => HostLayout::Hosts(Hosts::reach(hosts, folder)?),
        None => HostLayout::Machine(Arc::new(Agent::reach_machine(folder)?)),
    })
}

/// File that a command locks while it works on a cluster.
const LOCK: &str = "in-use";

fn lock(folder: &Path, id: &str) -> Result<std::fs::File> {
    let path: PathBuf = folder.join(LOCK);
    let file = std::fs::File::create(&path).with_context(|| format!("write {}", path.display()))?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(rustix::io::Errno::WOULDBLOCK) => {
            bail!(
                "another command is using the cluster {id}\nhint: wait until that command has \
                 finished"
            )
        }
        Err(error) => Err(error).with_context(|| format!("lock {}", path.display())),
    }
}
