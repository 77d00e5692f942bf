//! Proof of effect: what the nodes themselves say of what they were asked to be.
//!
//! A file that was written proves nothing. Settings are asked from the server's virtual table,
//! flags, properties and the machine's size from the JVM; limits of a host are believed when the
//! JVM inside counts by them.

mod effect;
mod hosts;
mod placed;
mod ring;
mod seen;
mod tables;

pub use effect::{Effect, Proof};
pub use placed::NodePlace;
pub use seen::NodeConfiguration;
pub use tables::SchemaOption;

use super::{Nodes, roles};
use crate::cluster::Cluster;
use crate::session::ServerError;
use anyhow::{Result, anyhow};
use std::collections::BTreeMap;
use target::Authentication;

/// What the nodes say of themselves, each asked once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// How they are configured, in order; of attached ones as much as the user may see.
    pub nodes: Vec<NodeConfiguration>,
    /// Everything that the spec asked for, key by key and node by node, beside what is in effect;
    /// nothing of an attached cluster, of which nothing was asked.
    pub proofs: Vec<Proof>,
    /// Where each runs, in order, or why the kernel does not tell; of attached ones nothing.
    pub places: Vec<Result<NodePlace, String>>,
}

impl Cluster {
    /// The effective settings of every node (`system_views.settings`), by node name; empty when a
    /// server has no such table or does not show it to this user.
    ///
    /// # Errors
    /// A node does not answer.
    pub fn settings(&self) -> Result<Vec<(String, BTreeMap<String, String>)>> {
        let mut all = Vec::with_capacity(self.nodes().len());
        // A null target has none but those of its plan.
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

    /// What every node says of itself, beside what was asked of it.
    ///
    /// # Errors
    /// A node does not answer.
    pub fn observe(&self) -> Result<Observed> {
        if let Some(nodes) = self.local() {
            return nodes.observe();
        }
        let of_node = |(name, settings): (String, _)| {
            let mut nodes = self.nodes().iter();
            let node = nodes.find(|node| node.name == name);
            // Nobody needs it: what an agent does not tell is not there.
            let java = self.agent(&name).ok().and_then(|agent| seen::java_of(agent).ok());
            NodeConfiguration {
                version: node.map(|node| node.version.clone()).unwrap_or_default(),
                node: name,
                settings,
                jvm: java.unwrap_or_default(),
                ..NodeConfiguration::default()
            }
        };
        Ok(Observed {
            nodes: self.settings()?.into_iter().map(of_node).collect(),
            ..Observed::default()
        })
    }
}

impl Nodes {
    /// See [`Cluster::observe`].
    fn observe(&self) -> Result<Observed> {
        let mut observed = Observed::default();
        for (index, node) in self.nodes.iter().enumerate() {
            let seen = seen::see(node, &self.access)?;
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
            let place = placed::place(node);
            if let Some(placement) = self.placement(node) {
                let options = &self.spec.jvm_options;
                proofs.extend(seen.placed_proofs(placement, options, &node.layout.name));
                let place = place.as_ref().map_err(|error| anyhow!("{error:#}"))?;
                proofs.extend(placed::proofs(placement, place));
            }
            let place = place.map_err(|error| format!("{error:#}"));
            observed.places.push(place);
            observed.nodes.push(seen.configuration(&node.layout.name, &node.layout.release));
        }
        Ok(observed)
    }
}
