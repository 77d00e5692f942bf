//! A repair under load: the node and the other replicas read all their data, and stream differences
//! to each other. Without differences, a repair changes no data. So the proof is that other
//! replicas have recorded validations that the node requested.

use crate::behaviour::{Fault, Tell, Work};
use crate::cluster_under_test::{HealResult, World};
use crate::node_operation::{Task, count};
use crate::observation::{self, Health, Observation, Presence};
use anyhow::{Context, Result};
use cassandra::{Operation, Row, View};
use std::collections::BTreeSet;
use std::time::Duration;
use target_spec::NodeIndex;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Repair {
        task: Task::new(hit.node()),
        before: None,
    })
}

struct Repair {
    task: Task,
    /// Ids of other nodes' validations for earlier repairs of this node. `None` before the first
    /// observation.
    before: Option<BTreeSet<String>>,
}

struct ValidatedTable {
    id: String,
    by: NodeIndex,
    table: String,
}

impl Repair {
    /// Returns other nodes' validations for repairs of this node.
    fn compared(&self, world: &mut dyn World, limit: Duration) -> Result<Vec<ValidatedTable>> {
        let node = self.task.node;
        let nodes = world.nodes();
        let begun_by = nodes.get(node).context("the node does not exist")?.storage;
        // Java formats an address with a slash before it, and with the host name before the slash
        // if known.
        let begun_by = format!("/{begun_by}");
        let others = nodes.indexes().filter(|other| *other != node);
        let mut all = Vec::new();
        let mut failed = None;
        let mut answered_count = 0;
        for other in others {
            match world.rows(other, View::Validations, limit) {
                Ok(rows) => {
                    answered_count += 1;
                    let own =
                        rows.into_iter().filter(|row| cell(row, "initiator").ends_with(&begun_by));
                    all.extend(own.map(|row| ValidatedTable {
                        id: cell(&row, "id").to_owned(),
                        by: other,
                        table: format!(
                            "{}.{}",
                            cell(&row, "keyspace_name"),
                            cell(&row, "table_name")
                        ),
                    }));
                }
                Err(error) => failed = Some(error),
            }
        }
        match (answered_count, failed) {
            (0, Some(error)) => Err(error),
            (0, None) => anyhow::bail!("no other node can have replicas"),
            _ => Ok(all),
        }
    }

    fn observation(&mut self, world: &mut dyn World, limit: Duration) -> Result<Observation> {
        let compared = self.compared(world, limit)?;
        let before = self.before.get_or_insert_with(|| {
            let ids = compared.iter().map(|one| one.id.clone());
            ids.collect()
        });
        let new: Vec<&ValidatedTable> =
            compared.iter().filter(|one| !before.contains(&one.id)).collect();
        let repairs = world.rows(self.task.node, View::Repairs, limit)?;
        let is_on = repairs.iter().any(|row| cell(row, "completed") == "false");
        let tables: BTreeSet<&str> = new.iter().map(|one| one.table.as_str()).collect();
        let by: BTreeSet<NodeIndex> = new.iter().map(|one| one.by).collect();
        let by: Vec<String> = by.iter().map(|node| node.name()).collect();
        let words = if new.is_empty() {
            "no other node has compared a table with the node".to_owned()
        } else {
            format!(
                "{} compared {} with the node",
                by.join(" and "),
                count(tables.len(), "table")
            )
        };
        Ok(Observation {
            fault: Presence::from(!new.is_empty()),
            target: Health::from(!is_on),
            words: if is_on {
                format!("{words}, and the repair continues")
            } else {
                words
            },
        })
    }
}

fn cell<'r>(row: &'r Row, name: &str) -> &'r str {
    row.get(name).map_or("", String::as_str)
}

impl Fault for Repair {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let repair = |keyspaces| Operation::Repair { keyspaces };
        self.task.begin(world, within, repair)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let seen = self.observation(world, limit);
        let seen = observation::or_unseen("a replica", seen);
        seen.and(|| observation::client(world, self.task.node, limit))
    }

    fn proceed(&mut self, world: &mut dyn World) -> Result<Work> {
        self.task.proceed(world)
    }

    fn heal(&mut self, world: &mut dyn World, _: Tell<'_>) -> Result<HealResult> {
        self.task.end(world, &Operation::StopRepairs)?;
        world.heal()
    }
}
