//! Verifies that requested settings are in effect, from what the nodes themselves report.
//!
//! A written file is not a proof. The module reads settings from the server's virtual table, and
//! flags, properties and machine size from the JVM. The limits of a host count as proved if the JVM
//! inside sees them.

mod hosts;
mod node_report;
mod outcome;
mod placement;
mod ring;
mod tables;

pub use node_report::NodeConfiguration;
pub use outcome::{Effect, Proof};
pub use placement::NodePlace;
pub use tables::SchemaOption;

use super::{Nodes, roles};
use crate::cluster::Cluster;
use anyhow::{Result, anyhow};
use cassandra::ServerError;
use std::collections::BTreeMap;
use target_spec::Authentication;

/// Reports of all nodes, each queried once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeReports {
    /// Configuration of each node, in order. For attached nodes, the part visible to the user.
    pub nodes: Vec<NodeConfiguration>,
    /// Every requested setting by node, with the value in effect. Empty for an attached cluster,
    /// whose settings are not requested.
    pub proofs: Vec<Proof>,
    /// CPUs and memory of each node, in order, or the reason why the kernel does not report them.
    /// Empty for attached nodes.
    pub places: Vec<Result<NodePlace, String>>,
}

impl Cluster {
    /// Returns the effective settings (`system_views.settings`) by node name. Empty if a server has
    /// no such table or does not show it to this user.
    ///
    /// # Errors
    /// A node does not answer.
    pub fn settings(&self) -> Result<Vec<(String, BTreeMap<String, String>)>> {
        let mut all = Vec::with_capacity(self.nodes().len());
        // A null target has only the settings of its plan.
        for node in self.nodes().iter().filter(|_| self.null_server().is_none()) {
            let mut session = self.session_to(node)?;
            match session.pairs("SELECT name, value FROM system_views.settings") {
                Ok(settings) => all.push((node.name.clone(), settings)),
                Err(error) if error.downcast_ref::<ServerError>().is_some() => {
                    return Ok(Vec::new());
                }
                Err(error) => {
                    return Err(error.context(format!("read the settings of {}", node.name)));
                }
            }
        }
        Ok(all)
    }

    /// Returns every node's report, with a comparison of the requested settings.
    ///
    /// # Errors
    /// A node does not answer.
    pub fn observe(&self) -> Result<NodeReports> {
        if let Some(nodes) = self.local() {
            return nodes.observe();
        }
        let of_node = |(name, settings): (String, _)| {
            let mut nodes = self.nodes().iter();
            let node = nodes.find(|node| node.name == name);
            // JVM facts are optional here: without an agent they are absent.
            let java = self.agent(&name).ok().and_then(|agent| node_report::java_of(agent).ok());
            NodeConfiguration {
                version: node.map(|node| node.version.clone()).unwrap_or_default(),
                node: name,
                settings,
                jvm: java.unwrap_or_default(),
                ..NodeConfiguration::default()
            }
        };
        Ok(NodeReports {
            nodes: self.settings()?.into_iter().map(of_node).collect(),
            ..NodeReports::default()
        })
    }
}

impl Nodes {
    /// Implements [`Cluster::observe`].
    fn observe(&self) -> Result<NodeReports> {
        let mut observed = NodeReports::default();
        for (index, node) in self.nodes.iter().enumerate() {
            let seen = node_report::see(node, &self.access)?;
            let proofs = &mut observed.proofs;
            if self.spec.authentication == Authentication::Password {
                proofs.push(roles::proof(node)?);
            }
            proofs.extend(seen.proofs(&self.spec, &node.layout.name));
            if let (Some(limits), Some(host)) = (self.limits(), self.host_of(index)) {
                let own = self.placement(node).and_then(|one| one.confinement.cpus.as_ref());
                proofs.extend(seen.host_proofs(limits, own, &node.layout.name));
                proofs.extend(hosts::proofs(limits, host, node)?);
            }
            proofs.extend(ring::proof(node, &self.nodes));
            let place = placement::place(node);
            if let Some(placement) = self.placement(node) {
                let options = &self.spec.jvm_options;
                proofs.extend(seen.placed_proofs(placement, options, &node.layout.name));
                let place = place.as_ref().map_err(|error| anyhow!("{error:#}"))?;
                proofs.extend(placement::proofs(placement, place));
            }
            let place = place.map_err(|error| format!("{error:#}"));
            observed.places.push(place);
            observed.nodes.push(seen.configuration(&node.layout.name, &node.layout.release));
        }
        Ok(observed)
    }
}
