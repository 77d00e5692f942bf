//! Reads the descriptions of the hosts and nodes of a trial.
//!
//! The engine reads these descriptions when the configuration of the measured window is in effect.
//! If the engine cannot read a value, it records that fact with the reason. The trial continues,
//! because a measurement without a complete description is still useful.

mod limit_facts;
mod machines;
mod process_placement;
mod table_options;

pub use self::limit_facts::limit_facts;
use self::table_options::SchemaAsked;
use store::record::SettingVerdict;

use super::probe_collector;
use super::running_target::Running;
use anyhow::Result;
use cassandra::{Effect, NodeConfiguration, Proof};
use cluster::Cluster;
use doctor::{HostExamination, Severity};
use std::collections::BTreeMap;
use store::record::{
    FORMAT, HostRecord, HostSettingRecord, NodeRecord, NodesRecord, ProofOutcome, ProofRecord,
};
use study::settings::{Keyspace, Settings};
use target_spec::Target;
use workload::Program;

/// Returns the content of `nodes.json` for a trial whose keyspace exists. `asked` contains the
/// options that the study requests for this keyspace and its tables. `asked` is `None` if the
/// statements of an import define these options.
pub fn record(
    running: &Running,
    settings: &Settings,
    program: &Program,
    asked: Option<&Keyspace>,
) -> NodesRecord {
    let cluster = &running.cluster;
    let mut record = NodesRecord {
        format: FORMAT,
        isolation: cluster.hosts_are().name().to_owned(),
        ..NodesRecord::default()
    };
    if running.is_null() {
        "null".clone_into(&mut record.isolation);
        record.nodes = nodes(running);
        return record;
    }
    record.nodes = nodes(running);
    let mut unseen = Vec::new();
    let mut note = |what: &str, result: Result<()>| {
        if let Err(error) = result {
            unseen.push(format!("{what}: {error:#}"));
        }
    };
    note("hosts", hosts(running, &mut record.hosts));
    let (mut said, mut places) = (Vec::new(), None);
    let observed = cluster.observe().map(|observed| {
        said.clone_from(&observed.nodes);
        places = Some(observed.places);
        configured(observed.nodes, &mut record.nodes);
        observed.proofs
    });
    let examined = examine_hosts(cluster, &said);
    note(
        "settings of the hosts",
        examined.map(|hosts| {
            record.host_settings = hosts.into_iter().flat_map(host_settings).collect();
        }),
    );
    note(
        "where nodes run",
        process_placement::records(running, settings, places)
            .map(|places| record.placements = places),
    );
    note(
        "machines of the hosts",
        machines::read(running).map(|machines| record.machines = machines),
    );
    note("state", states(running, &mut record.nodes));
    let keyspace = program.keyspace();
    note("ownership", ownership(running, keyspace, &mut record.nodes));
    let of_nodes = observed.or_else(|error| {
        unseen.push(format!("configuration: {error:#}"));
        // For nodes that cassay did not start, the study cannot request settings.
        match running.settings {
            Target::Local(_) => Err(error),
            _ => Ok(Vec::new()),
        }
    });
    match of_nodes.and_then(|of_nodes| beside_tables(of_nodes, running, program, asked)) {
        Ok(proofs) => record.proofs = proofs,
        Err(error) => record.proofs = vec![nothing_proved(&error)],
    }
    if let Some(spec) = probe_collector::spec(settings) {
        unseen.extend(cluster.unseen(&spec));
    }
    record.unseen = unseen;
    record
}

/// Examines the hosts of a cluster. `told` contains the reports of the nodes about their JVMs.
fn examine_hosts(cluster: &Cluster, told: &[NodeConfiguration]) -> Result<Vec<HostExamination>> {
    let hosts = cluster.host_settings(&doctor::question())?;
    doctor::examine_cluster(cluster.nodes(), hosts.as_deref(), told)
}

/// Returns the nodes as they were when the target became ready, with all settings that can be read.
pub fn at_start(running: &Running) -> Vec<NodeRecord> {
    let mut nodes = nodes(running);
    for (name, settings) in &running.node_settings {
        if let Some(node) = by_name(&mut nodes, name) {
            node.settings.clone_from(settings);
        }
    }
    nodes
}

/// Returns a sentence for each requested setting that is not in effect.
pub fn not_in_effect(proofs: &[ProofRecord]) -> Vec<String> {
    let failed = proofs.iter();
    failed
        .filter(|proof| proof.outcome() == ProofOutcome::NotInEffect)
        .map(|proof| {
            format!(
                "{} of {} is {}, but the study requests {} (read from {})",
                proof.key, proof.node, proof.effective, proof.wanted, proof.source
            )
        })
        .collect()
}

/// Returns a phrase for each requested setting that a node does not show. Nodes that lack the same
/// setting share one phrase.
pub fn not_shown(proofs: &[ProofRecord]) -> Vec<String> {
    let mut nodes: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for proof in proofs.iter().filter(|proof| proof.outcome() == ProofOutcome::NotShown) {
        let same = nodes.entry((&proof.key, &proof.why)).or_default();
        same.push(&proof.node);
    }
    let sentence =
        |((key, why), nodes): (_, Vec<&str>)| format!("{key} of {} ({why})", nodes.join(", "));
    nodes.into_iter().map(sentence).collect()
}

fn nodes(running: &Running) -> Vec<NodeRecord> {
    let nodes = running.cluster.nodes().iter();
    nodes
        .map(|node| NodeRecord {
            name: node.name.clone(),
            host: node.host.clone(),
            address: node.address.to_string(),
            version: node.version.clone(),
            datacenter: node.datacenter.clone(),
            rack: node.rack.clone(),
            tokens: node.tokens.len(),
            ..NodeRecord::default()
        })
        .collect()
}

fn hosts(running: &Running, into: &mut Vec<HostRecord>) -> Result<()> {
    for host in running.cluster.hosts()? {
        into.push(HostRecord {
            name: host.name,
            address: host.address,
            machine: host.machine,
            limits: host.limits,
            volume_bytes: host.volume_bytes,
            volume_used_bytes: host.volume_used_bytes,
        });
    }
    Ok(())
}

/// Converts the settings of a host to records. A record contains a reason, a remedy and a source
/// unless its verdict is [`SettingVerdict::Ok`].
fn host_settings(host: HostExamination) -> impl Iterator<Item = HostSettingRecord> {
    host.findings.into_iter().map(move |one| {
        let is_well = one.level == Severity::Ok;
        let unless_well = |text: String| if is_well { String::new() } else { text };
        HostSettingRecord {
            host: host.host.clone(),
            setting: one.setting.to_owned(),
            on: one.on,
            value: one.value,
            wanted: one.wanted,
            verdict: match one.level {
                Severity::Warning => SettingVerdict::Warning,
                Severity::Advice => SettingVerdict::Advice,
                Severity::Unknown => SettingVerdict::Unknown,
                Severity::Ok => SettingVerdict::Ok,
            },
            why: unless_well(one.why),
            fix: unless_well(one.fix),
            source: unless_well(one.source.to_owned()),
            start_check: Some(unless_well(one.start_check.to_owned()))
                .filter(|check| !check.is_empty()),
        }
    })
}

fn by_name<'a>(nodes: &'a mut [NodeRecord], name: &str) -> Option<&'a mut NodeRecord> {
    nodes.iter_mut().find(|node| node.name == name)
}

fn configured(observed: Vec<NodeConfiguration>, nodes: &mut [NodeRecord]) {
    for configuration in observed {
        if let Some(node) = by_name(nodes, &configuration.node) {
            node.settings = configuration.settings;
            node.flags = configuration.flags;
            node.jvm = configuration.jvm;
        }
    }
}

fn states(running: &Running, nodes: &mut [NodeRecord]) -> Result<()> {
    for state in running.cluster.states()? {
        if let Some(node) = by_name(nodes, &state.node) {
            node.state = state.state;
            node.load_bytes = state.load_bytes;
        }
    }
    Ok(())
}

fn ownership(running: &Running, keyspace: &str, nodes: &mut [NodeRecord]) -> Result<()> {
    for (name, share) in running.cluster.ownership(keyspace)? {
        if let Some(node) = by_name(nodes, &name) {
            node.owns = Some(share);
        }
    }
    Ok(())
}

/// Returns each requested setting, with the value that each node reports. `asked` are the settings
/// that the study requests for the tables of `program`.
///
/// # Errors
/// A node does not answer.
pub fn proofs(
    running: &Running,
    program: &Program,
    asked: Option<&Keyspace>,
) -> Result<Vec<ProofRecord>> {
    let of_nodes = running.cluster.observe()?.proofs;
    beside_tables(of_nodes, running, program, asked)
}

fn beside_tables(
    mut proofs: Vec<Proof>,
    running: &Running,
    program: &Program,
    asked: Option<&Keyspace>,
) -> Result<Vec<ProofRecord>> {
    let (cluster, keyspace) = (&running.cluster, program.keyspace());
    if cluster.is_null_server()? {
        return Ok(proofs.into_iter().map(proof_record).collect());
    }
    let asked = SchemaAsked::combine(program, asked);
    proofs.extend(cluster.keyspace_proofs(keyspace, &asked.of_keyspace)?);
    proofs.extend(cluster.table_proofs(keyspace, &asked.of_tables)?);
    Ok(proofs.into_iter().map(proof_record).collect())
}

fn proof_record(proof: Proof) -> ProofRecord {
    let outcome = match &proof.effect {
        Effect::InEffect(_) => ProofOutcome::InEffect,
        Effect::NotInEffect(_) => ProofOutcome::NotInEffect,
        Effect::NotShown(_) => ProofOutcome::NotShown,
    };
    let shown = proof.effect.shown().unwrap_or(ProofRecord::NOT_SHOWN);
    ProofRecord {
        node: proof.node,
        key: proof.key,
        wanted: proof.wanted,
        effective: shown.to_owned(),
        source: proof.source.to_owned(),
        holds: proof.effect.is_proved(),
        outcome: Some(outcome),
        why: match proof.effect {
            Effect::NotShown(why) => why,
            _ => String::new(),
        },
    }
}

/// Returns a proof that replaces all other proofs if the engine could not read any setting. Without
/// this proof, the trial would look as if the study had requested no setting.
fn nothing_proved(error: &anyhow::Error) -> ProofRecord {
    proof_record(Proof {
        node: "the nodes".to_owned(),
        key: "every setting".to_owned(),
        wanted: "as in the study".to_owned(),
        effect: Effect::NotShown(format!("{error:#}")),
        source: "",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proof(node: &str, key: &str, effect: Effect) -> ProofRecord {
        proof_record(Proof {
            node: node.to_owned(),
            key: key.to_owned(),
            wanted: "1".to_owned(),
            effect,
            source: "here",
        })
    }

    #[test]
    fn a_proof_that_nobody_gave_is_on_neither_side() {
        let unseen = || Effect::NotShown("no agent".to_owned());
        let proofs = [
            proof("node1", "a", Effect::InEffect("1".to_owned())),
            proof("node1", "b", Effect::NotInEffect("2".to_owned())),
            proof("node1", "c", unseen()),
            proof("node2", "c", unseen()),
            nothing_proved(&anyhow::anyhow!("gone")),
        ];
        assert_eq!(
            proofs.each_ref().map(|one| one.holds),
            [true, false, false, false, false]
        );
        assert_eq!(
            not_in_effect(&proofs),
            ["b of node1 is 2, but the study requests 1 (read from here)"]
        );
        assert_eq!(
            not_shown(&proofs),
            [
                "c of node1, node2 (no agent)",
                "every setting of the nodes (gone)"
            ]
        );
    }

    /// Older records describe the three outcomes with a boolean and the value `not shown`.
    #[test]
    fn an_older_record_has_its_third_outcome_back() {
        let old = |effective: &str, holds| ProofRecord {
            effective: effective.to_owned(),
            holds,
            ..ProofRecord::default()
        };
        let outcome = |record: ProofRecord| record.outcome();
        assert_eq!(outcome(old("1", true)), ProofOutcome::InEffect);
        assert_eq!(outcome(old("1", false)), ProofOutcome::NotInEffect);
        assert_eq!(outcome(old("not shown", true)), ProofOutcome::NotShown);
    }
}
