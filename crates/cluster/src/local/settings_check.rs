//! Verifies that requested settings are in effect, because a configuration file does not prove it.
//!
//! Settings come from the server's virtual table, and flags, properties and the machine size from
//! the JVM. A host's CPU and memory limits count as proved if the JVM on the host reports them. The
//! kernel reports the other limits and the placement.

mod hosts;
mod peers_up;
mod placement;

pub use placement::NodePlace;

use super::{Nodes, roles};
use anyhow::{Result, anyhow};
use cassandra::{Node, NodeConfiguration, Proof};
use target_spec::Authentication;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeReports {
    /// Configuration of each node in order. For an attached node, only the visible part.
    pub nodes: Vec<NodeConfiguration>,
    /// Every requested setting by node, with the value in effect. Empty for an attached cluster,
    /// because studies cannot change settings of attached nodes.
    pub proofs: Vec<Proof>,
    /// CPUs and memory of each node in order, or the reason why the kernel does not report them.
    /// Empty for attached nodes.
    pub places: Vec<Result<NodePlace, String>>,
}

impl Nodes {
    pub(super) fn observe(&self, all: &[Node<'_>]) -> Result<NodeReports> {
        let mut observed = NodeReports::default();
        for (index, (node, access)) in self.nodes.iter().zip(all).enumerate() {
            let seen = access.report()?;
            let proofs = &mut observed.proofs;
            if self.spec.authentication == Authentication::Password {
                proofs.push(roles::proof(node)?);
            }
            proofs.extend(seen.proofs(&self.spec, &node.layout.name));
            if let (Some(limits), Some(host)) = (self.limits(), self.host_of(index)) {
                let own = self.placement(node).and_then(|one| one.confinement.cpus.as_ref());
                proofs.extend(hosts::host_proofs(&seen, limits, own, &node.layout.name));
                proofs.extend(hosts::proofs(limits, host, node)?);
            }
            proofs.extend(peers_up::proof(node, &self.nodes));
            let place = placement::place(node);
            if let Some(placement) = self.placement(node) {
                let options = &self.spec.jvm_options;
                proofs.extend(placement::placed_proofs(
                    &seen,
                    placement,
                    options,
                    &node.layout.name,
                ));
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

#[cfg(test)]
mod report_of_test {
    use cassandra::settings::compare_settings;
    use cassandra::settings::node_report::{Jvm, NodeReport};
    use cassandra::{Effect, Proof};

    pub(super) fn report(facts: &[(&str, &str)]) -> NodeReport {
        let pair = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        NodeReport {
            settings: [pair(&("concurrent_reads", "32"))].into(),
            jvm: Some(Jvm {
                flags: compare_settings::flags(
                    "bool UseZGC = true {product} {command line}\n\
                     size_t MaxHeapSize = 536870912 {product} {command line}\n",
                ),
                arguments: vec!["-ea".to_string()],
                facts: facts.iter().map(pair).collect(),
                ..Jvm::default()
            }),
        }
    }

    /// Formats each proof as a line such as `key: value yes`.
    pub(super) fn brief(proofs: &[Proof]) -> Vec<String> {
        let line = |one: &Proof| match &one.effect {
            Effect::InEffect(shown) => format!("{}: {shown} yes", one.key),
            Effect::NotInEffect(shown) => format!("{}: {shown} no", one.key),
            Effect::NotShown(_) => format!("{}: ?", one.key),
        };
        proofs.iter().map(line).collect()
    }
}
