//! Status of a target's nodes and ownership of its data, as in `nodetool status`.

use crate::cluster::Cluster;
use crate::kept_cluster::{KeptCluster, KeptNode};
use anyhow::Result;
use cassandra::status::{look, overview, shares};
use cassandra::{Node, NodeInfo, NodeState, Overview, Ring};
use std::collections::BTreeMap;

impl Cluster {
    /// # Errors
    /// No node answers.
    pub fn states(&self) -> Result<Vec<NodeState>> {
        let states = look(&self.all()).states;
        let any = states.iter().any(|state| state.answers);
        anyhow::ensure!(any, "no node of the target answers CQL");
        Ok(states)
    }

    /// Returns each node's share of `keyspace`. 1.0 means a complete copy of the data. `nodetool
    /// status KEYSPACE` calls it effective ownership.
    ///
    /// # Errors
    /// The first node does not answer, the keyspace does not exist, or its replication strategy is
    /// unknown.
    pub fn ownership(&self, keyspace: &str) -> Result<BTreeMap<String, f64>> {
        let (ring, replication) = self.first()?.owners(keyspace)?;
        Ok(shares(self.nodes(), &ring, |ring| {
            ring.shares(&replication)
        }))
    }

    /// Returns the indices of the nodes that replicate the partitions of `keyspace` with this
    /// token. The first one is the token's owner.
    ///
    /// # Errors
    /// The errors of [`Cluster::ownership`].
    pub fn replicas(&self, keyspace: &str, token: i64) -> Result<Vec<usize>> {
        let (members, replication) = self.first()?.owners(keyspace)?;
        let nodes = self.nodes().iter();
        let index_of = |member: usize| {
            let address = members[member].address;
            nodes.clone().position(|node| node.address == address)
        };
        let replicas = Ring::new(&members).replicas_of(token, &replication);
        Ok(replicas.into_iter().filter_map(index_of).collect())
    }

    /// Queries all nodes once. Returns their states, and the ownership of `keyspace`. `None` means
    /// all user keyspaces.
    pub fn overview(&self, keyspace: Option<&str>) -> Overview {
        overview(self.nodes(), look(&self.all()), keyspace)
    }
}

impl KeptCluster {
    /// Queries all nodes once. Returns their states, and the ownership of `keyspace`. `None` means
    /// all user keyspaces.
    pub fn overview(&self, keyspace: Option<&str>) -> Overview {
        let info = |node: &KeptNode| NodeInfo {
            name: node.name.clone(),
            host: node.host.clone(),
            address: node.address,
            datacenter: self.datacenter.clone(),
            rack: node.rack.clone(),
            tokens: Vec::new(),
            pid: node.pid,
            version: self.version.clone(),
        };
        let infos: Vec<NodeInfo> = self.nodes.iter().map(info).collect();
        let node = |info| Node {
            info,
            members: &infos,
            access: &self.access,
            mbeans: Err("this command reads the state only by CQL".to_owned()),
        };
        let nodes: Vec<Node<'_>> = infos.iter().map(node).collect();
        overview(&infos, look(&nodes), keyspace)
    }
}
