//! What an attached cluster is broken by: programs of its owner's, which an agent of ours on this
//! machine runs, so that what heals is run whoever is killed.

use super::contact_point::addresses_of;
use crate::access::Access;
use crate::handle::{Handles, NodeHandle};
use crate::jolokia::Jolokia;
use crate::node::NodeInfo;
use anyhow::{Context, Result};
use host::process::Identity;
use measure::clock;
use std::sync::{Arc, Mutex, PoisonError};

/// The agent in a node's JVM, or why there is none to speak with.
pub(super) type Agent = std::result::Result<Jolokia, String>;

/// By what a cluster is controlled that is not ours.
#[derive(Debug)]
pub(crate) struct Attached {
    /// Its agents, in the order of the nodes; empty without access to them.
    pub agents: Vec<Agent>,
    /// By which its nodes are counted.
    points: Vec<String>,
    /// That of this machine, once something is broken.
    here: Mutex<Option<Arc<host::Agent>>>,
}

impl Attached {
    pub fn new(agents: Vec<Agent>, points: Vec<String>) -> Attached {
        Attached {
            agents,
            points,
            here: Mutex::default(),
        }
    }

    /// The index of the node of a contact point.
    pub fn index_of(&self, asked: usize, nodes: &[NodeInfo]) -> Result<usize> {
        let point = self
            .points
            .get(asked)
            .with_context(|| format!("there is no contact point {}", asked + 1))?;
        let (_, addresses) = addresses_of(point)?;
        let is_it = |node: &NodeInfo| addresses.contains(&node.address);
        nodes.iter().position(is_it).with_context(|| {
            let known: Vec<String> = nodes.iter().map(|node| node.address.to_string()).collect();
            format!(
                "node {} is the contact point {point}, which is none of the addresses that \
                 the cluster has for its nodes: {}; name it as the cluster does",
                asked + 1,
                known.join(", ")
            )
        })
    }

    pub fn handles(&self, nodes: &[NodeInfo], access: &Access) -> Result<Handles> {
        let here = self.here()?;
        let handle = |node: &NodeInfo| NodeHandle {
            name: node.name.clone(),
            agent: Arc::clone(&here),
            host: None,
            process: None,
            own: None,
            address: node.address,
            storage: node.address,
            ports: vec![node.address.port()],
            access: access.clone(),
            control: None,
        };
        Ok(Handles {
            nodes: nodes.iter().map(handle).collect(),
            newcomers: Vec::new(),
            hosts: Vec::new(),
            switch: None,
        })
    }

    /// The agent of this machine, in a folder of its own, which goes with it.
    fn here(&self) -> Result<Arc<host::Agent>> {
        let mut here = self.here.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*here {
            return Ok(Arc::clone(known));
        }
        let id = format!("attached-{}-{:x}", Identity::own().pid, clock::unix_ns());
        let folder = std::env::temp_dir().join(format!("cassay-{id}"));
        let agent = host::Agent::of_machine(&id, &folder).context("have somebody who heals")?;
        Ok(Arc::clone(here.insert(Arc::new(agent))))
    }
}
