//! Rules for the rollback of an upgrade. cassay refuses an upgrade that cannot be undone.
//!
//! A node that is rolled back has its files from before the upgrade. It gets later writes only from
//! other nodes, by repair. So a write that N copies have acknowledged survives if fewer than N
//! nodes are rolled back. For counters, this is not enough. A replica adds to its own earlier
//! value, and the other replicas trust the replica that has added more often.

use crate::compile_workload;
use crate::inputs::Inputs;
use crate::read_back::{self, AcknowledgedLevel};
use crate::settings::{Settings, Variant};
use ::yaml::{Diagnostics, Node, Raw};
use cql::tokens::{self, TokenKind};
use measure::number::counted;
use target_spec::LocalSpec;
use target_spec::fault::Rollback;
use versions::Release;
use workload::{Program, Stage};

/// Reports the reasons why nodes cannot be rolled back after an upgrade from one release to
/// another, regardless of the workload.
pub(super) fn stated(
    item: &Node,
    (local, to): (&LocalSpec, &Release),
    say: &mut dyn FnMut(&str, String, String),
) {
    let text = |key: &str| item.find(key).and_then(Node::text);
    if text("back").and_then(Rollback::from_name) != Some(Rollback::Snapshot) {
        return;
    }
    if text("drain") == Some("false") {
        let message = "`faults.back: snapshot` keeps the files of drained nodes, but \
             `faults.drain` is `false`: the cluster would lose writes that are only in a commit \
             log";
        say("drain", message.to_owned(), "remove `drain`".to_owned());
    }
    let named = match item.find("nodes").map(|nodes| &nodes.raw) {
        Some(Raw::List(nodes)) => nodes.len(),
        _ => local.nodes,
    };
    let from = &local.release;
    if from.line().has_cluster_metadata {
        let message = format!(
            "`faults.back: snapshot` is not possible for nodes of Cassandra {from}: their files \
             contain the cluster metadata log. A node cannot go back to a state before entries \
             that other nodes have read"
        );
        let hint = "remove `back`: the nodes then remain upgraded";
        say("back", message, hint.to_owned());
    } else if to.line().has_cluster_metadata && named >= local.nodes {
        let message = format!(
            "`faults.back: snapshot` is not possible for all nodes: an upgrade of all of them to \
             {} initializes the cluster metadata log. No node can go back to a state before it",
            to.line().name
        );
        let hint = "name the nodes that go back: `nodes: [1]`";
        say("back", message, hint.to_owned());
    }
}

/// Reports variants that would lose writes in a rollback.
pub fn check(node: &Node, variants: &[Variant], inputs: &Inputs<'_>, out: &mut Diagnostics) {
    let items = match node.find("faults").map(|faults| &faults.raw) {
        // If the study has other mistakes, its writes are still unknown, so this rule does not
        // apply.
        Some(Raw::List(items)) if out.is_empty() => items.as_slice(),
        _ => return,
    };
    for Variant { settings, .. } in variants {
        let mut said = Vec::new();
        for fault in settings.faults.iter().filter(|one| one.options.back == Rollback::Snapshot) {
            if said.contains(&fault.item) {
                continue;
            }
            said.push(fault.item);
            let count = match (&settings.target, fault.options.nodes.len()) {
                (target_spec::Target::Local(local), 0) => local.nodes,
                (_, count) => count,
            };
            let item = items.get(fault.item);
            let lost = item.zip(compile_workload::compile(settings, 0, inputs).ok());
            let Some((item, work)) = lost else { continue };
            if let Some((message, hint)) = lost_by(settings, &work.program, count as u64) {
                out.add(&item.nearest("back").place, message, Some(hint));
            }
        }
    }
}

/// Describes the data that would be lost if `count` nodes were rolled back, and the remedy. `None`
/// if no data would be lost.
fn lost_by(settings: &Settings, program: &Program, count: u64) -> Option<(String, String)> {
    let copies = settings.keyspace.replication.copies();
    if copies < 2 {
        let message = format!(
            "`faults.back: snapshot` is not possible: rolled-back nodes get later writes from \
             other replicas, but the number of replicas is {copies}"
        );
        return Some((message, "use `keyspace: {replication: 3}`".to_owned()));
    }
    let AcknowledgedLevel { level, by } = read_back::weakest_write(settings, program)?;
    if counts(program) {
        let message = "`faults.back: snapshot` is not possible, because the workload writes \
                       counters. A rolled-back replica would continue from a lower count than the \
                       other replicas have seen, so the cluster would lose increments";
        let hint = "remove `back`, or use a workload without counters";
        return Some((message.to_owned(), hint.to_owned()));
    }
    if count < by {
        return None;
    }
    let message = format!(
        "`faults.back: snapshot` restores the earlier files of {}, but at {level}, {by} of \
         {copies} replicas acknowledge a write: the cluster would lose writes that no other node \
         has",
        counted(count as usize, "node"),
    );
    let hint = match by.saturating_sub(1) {
        0 => "require more replicas, `workload: {consistency: QUORUM}`, and name one node: \
              `nodes: [1]`"
            .to_owned(),
        most => format!(
            "roll back at most {}, such as `nodes: [1]`",
            counted(most as usize, "node")
        ),
    };
    Some((message, hint))
}

/// Returns true if a program writes, and has counter tables.
fn counts(program: &Program) -> bool {
    let is_counter = |table: &String| {
        let tokens = tokens::tokens(table).unwrap_or_default();
        let is_type = |pair: &[tokens::Token]| {
            matches!(pair[0].kind, TokenKind::Word | TokenKind::Quoted)
                && pair[1].kind == TokenKind::Word
                && pair[1].text == "counter"
        };
        tokens.windows(2).any(is_type)
    };
    let writes = !program.writes(Stage::Main).is_empty();
    writes && program.schema().create_tables.iter().any(is_counter)
}
