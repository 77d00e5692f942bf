//! Builds the handles of managed nodes for faults. A handle contains the commands that restart its
//! node, with or without its data.

use super::jvm;
use super::node_process::{LocalNode, OUTPUT};
use super::nodes::Nodes;
use anyhow::Result;
use cassandra::{Handles, HostHandle, NodeControl, NodeHandle, OwnNode, PodHandle, RestartMode};
use host::Hosts;
use kubernetes::NodePod;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use target_spec::{HostIndex, Origin};

impl Nodes {
    pub fn handles(&self) -> Result<Handles> {
        let hosts = self.hosts().map(Hosts::all).unwrap_or_default();
        let host = |host: &host::Host| -> Result<HostHandle> {
            Ok(HostHandle {
                name: host.name().to_owned(),
                number: host.number(),
                addresses: vec![host.address()],
                agent: Arc::clone(host.agent()),
                folder: host.folder().to_owned(),
                device: host.device().map(str::to_owned),
                pod: self.pod_of(host)?,
                door: None,
            })
        };
        let nodes = self.nodes.iter();
        Ok(Handles {
            nodes: nodes.map(|node| self.handle(node)).collect::<Result<_>>()?,
            newcomers: self.newcomers()?.into(),
            hosts: hosts.iter().map(host).collect::<Result<_>>()?,
            switch: self.hosts().and_then(Hosts::switch).map(Arc::clone),
            operator: None,
        })
    }

    fn pod_of(&self, host: &host::Host) -> Result<Option<PodHandle>> {
        let machines = self.spec.hosts.as_ref().map(|hosts| &hosts.machines);
        let machine = machines.and_then(|all| all.get(host.number().checked_sub(1)?));
        let node = self.nodes.iter().find(|node| node.layout.host == host.name());
        let (Some(place), Some(node)) = (machine.and_then(|one| one.pod.as_ref()), node) else {
            return Ok(None);
        };
        Ok(Some(PodHandle {
            pod: Arc::new(NodePod::open(place)?),
            name: node.layout.name.clone(),
            known: node.cql_address(),
            moves: self.access.moves.clone(),
            door: None,
        }))
    }

    pub(super) fn handle(&self, node: &LocalNode) -> Result<NodeHandle> {
        let layout = &node.layout;
        let hosts = self.hosts().map(Hosts::all).unwrap_or_default();
        Ok(NodeHandle {
            name: layout.name.clone(),
            agent: Arc::clone(&node.host),
            host: hosts.iter().position(|host| host.name() == layout.host).map(HostIndex),
            process: node.process,
            own: Some(self.own(node)?),
            upgraded: self.upgraded(node)?,
            former: None,
            service: None,
            pod: None,
            address: node.cql_address(),
            storage: SocketAddr::from((layout.address, layout.ports.storage)),
            ports: layout.ports.all().to_vec(),
            access: self.access.clone(),
            control: node.jolokia.clone().map(NodeControl),
        })
    }

    fn origin_of(&self, node: &LocalNode) -> Origin {
        let spec = self.upgrade_of(node).map_or(&self.spec, |upgrade| &upgrade.spec);
        spec.origin.clone()
    }

    pub(super) fn own(&self, node: &LocalNode) -> Result<OwnNode> {
        let start = self.command_for(node, None)?;
        let (mut forgiving, _) = self.command_for(node, None)?;
        forgiving.env(jvm::OPTIONS_VARIABLE, jvm::SKIP_UNREADABLE);
        let anew = |how| Ok::<_, anyhow::Error>(self.command_for(node, Some(how))?.0);
        let mut claiming = anew(RestartMode::Joining)?;
        claiming.env(jvm::OPTIONS_VARIABLE, jvm::replacing(&node.layout));
        Ok(OwnNode {
            start,
            forgiving,
            joining: anew(RestartMode::Joining)?,
            claiming,
            replacing: anew(RestartMode::Replacing)?,
            kept: node.layout.kept(),
            commit_log: node.layout.commit_log(),
            folder: node.layout.folder.clone(),
            release: (node.layout.release.clone(), self.origin_of(node)),
            conf: node.layout.conf(),
            confinement: self.placement(node).map(|one| one.confinement.clone()),
        })
    }

    /// Returns the start command and the output file of a node. With `anew`, the command starts the
    /// node without data.
    pub(super) fn command_for(
        &self,
        node: &LocalNode,
        anew: Option<RestartMode>,
    ) -> Result<(Command, PathBuf)> {
        let starts = node.starts.map_or_else(|| node.starts_count(), Ok)?;
        let how = (starts + 1, anew);
        let (program, layout) = (self.program_of(node), &node.layout);
        let options = self.placement(node).map(|one| &one.options[..]);
        let own = (layout, options.unwrap_or_default());
        let spec = self.upgrade_of(node).map_or(&self.spec, |upgrade| &upgrade.spec);
        let command = jvm::command(program, &self.state.id, own, spec, how);
        Ok((command, layout.logs().join(OUTPUT)))
    }
}
