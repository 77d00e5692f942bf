//! Plans another node on a host that already has nodes. Planning does not create the node.

use super::node_process::LocalNode;
use super::nodes::Nodes;
use super::settings::{self, NodeLayout};
use anyhow::Result;
use cassandra::{AddedNode, RestartMode, decommission};
use host::{Join, Start};
use std::net::SocketAddrV4;
use target_spec::{HostIndex, LocalSpec, Seat, memory_bytes};

/// Returns the reason why cassay cannot add a node to the hosts of `spec`, if any.
pub(super) fn refusal(spec: &LocalSpec) -> Option<String> {
    let hosts = spec.hosts.as_ref()?;
    if !spec.tokens.is_empty() {
        return Some(
            "the tokens of the cluster come from an export, which contains no tokens for an \
             additional node"
                .into(),
        );
    }
    let limit = hosts.host.memory_bytes?;
    let count = spec.nodes_per_host() + 1;
    let need = memory_bytes(count, spec.heap_bytes);
    let mib = |bytes: u64| bytes >> 20;
    (limit < need).then(|| {
        format!(
            "{count} nodes with a heap of {} MiB need about {} MiB, but a host has {} MiB: give \
             hosts more memory (`host: {{memory: …}}`)",
            mib(spec.heap_bytes),
            mib(need),
            mib(limit)
        )
    })
}

impl Nodes {
    /// Returns one possible node for each host. The list is empty if the nodes share one machine,
    /// or if their tokens come from an export. A host without a free address is absent.
    ///
    /// # Errors
    /// An argument of a command is not Unicode.
    pub(super) fn newcomers(&self) -> Result<Vec<AddedNode>> {
        let hosts = self.hosts().map_or(0, |hosts| hosts.all().len());
        let layouts = (0..hosts).map(HostIndex).filter_map(|host| self.newcomer_on(host));
        layouts.map(|layout| self.newcomer(layout)).collect()
    }

    /// Returns the layout of a new node, in the rack of the host's first node.
    fn newcomer_on(&self, host: HostIndex) -> Option<NodeLayout> {
        // An exported ring determines no token range for a new node.
        let hosts = self.hosts().filter(|_| self.spec.tokens.is_empty())?;
        let name = hosts.all().get(host.0)?.name();
        let mut others = self.nodes.iter().filter(|node| node.layout.host == name);
        let beside = &others.next()?.layout;
        let slot = 1 + others.count();
        let count = self.nodes.len();
        let name = format!("node{}", count + 1);
        let tokens = settings::tokens_count(&self.spec.yaml);
        // Nodes on a remote machine share its address, and have separate ports.
        let ports = if hosts.are_machines() {
            beside.ports.for_slot(slot)
        } else {
            beside.ports
        };
        Some(NodeLayout {
            ports,
            address: hosts.address_of(Seat { host, slot }).ok()?,
            tokens: settings::further_tokens(count, tokens),
            folder: beside.folder.parent()?.join(&name),
            name,
            ..beside.clone()
        })
    }

    fn newcomer(&self, layout: NodeLayout) -> Result<AddedNode> {
        let node = LocalNode {
            starts: Some(0),
            ..self.node_of(layout)?
        };
        let layout = &node.layout;
        let (command, output) = self.command_for(&node, Some(RestartMode::Joining))?;
        Ok(AddedNode {
            join: Join {
                start: Start::new(&command, &output)?,
                files: settings::files(layout, &self.spec.yaml, &self.secret),
                folder: layout.folder.clone(),
                address: SocketAddrV4::new(layout.address, layout.ports.storage),
                leave: decommission::program(&layout.conf()),
            },
            node: self.handle(&node)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use target_spec::{HostSpec, HostsSpec};

    #[test]
    fn a_host_without_memory_for_one_more_node_is_refused_early() {
        let spec = |memory_bytes: Option<u64>| LocalSpec {
            nodes: 3,
            heap_bytes: 512 << 20,
            hosts: Some(HostsSpec {
                count: 3,
                host: HostSpec {
                    memory_bytes,
                    ..HostSpec::default()
                },
                ..HostsSpec::default()
            }),
            ..LocalSpec::default()
        };
        assert_eq!(refusal(&spec(None)), None);
        let mut like = spec(None);
        like.tokens = vec![vec![1], vec![2], vec![3]];
        assert!(refusal(&like).unwrap().contains("come from an export"));
        assert_eq!(refusal(&spec(Some(2 << 30))), None);
        let why = refusal(&spec(Some(1 << 30))).unwrap();
        assert!(
            why.contains("1852 MiB") && why.contains("1024 MiB"),
            "{why}"
        );
    }
}
