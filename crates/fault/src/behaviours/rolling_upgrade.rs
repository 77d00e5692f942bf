//! A cluster whose nodes are brought to another release, one after the other, as an operator does
//! it who must not stop serving: each drains, ends, is started as the other release, and is up and
//! seen to be it before the next one. Nothing brings it back: files do not go back.

use crate::behaviour::{Fault, Tell, Work};
use crate::observation::Observation;
use crate::rolling::{self, Round, TURN_LIMIT};
use crate::task::{AT_ONCE, Task};
use crate::world::{Client, Healed, Via, World};
use anyhow::{Context, Result, bail};
use cluster::{DataFile, Operation, UpgradeStep, View};
use std::collections::BTreeSet;
use std::time::Duration;
use target::fault::{Hit, Options};
use versions::Release;

/// How long a node may take to say what it is.
const LIMIT: Duration = Duration::from_secs(5);

/// How long a node may take to write its memory to files.
const DRAINED_WITHIN: Duration = Duration::from_secs(120);

/// What carries it out.
pub(crate) fn behaviour(_: &Hit, options: &Options) -> Box<dyn Fault> {
    Box::new(Upgrade {
        to: options.to.clone(),
        nodes: options.nodes.clone(),
        drains: options.drain != Some(false),
        upgrades_files: options.upgrade_sstables,
        within: Duration::ZERO,
        stage: Stage::Nodes(Round::of(Vec::new())),
    })
}

struct Upgrade {
    to: Option<Release>,
    /// Which nodes; empty: all.
    nodes: Vec<usize>,
    drains: bool,
    upgrades_files: bool,
    within: Duration,
    stage: Stage,
}

/// How far it has come.
enum Stage {
    /// Nodes are restarted.
    Nodes(Round),
    /// Files are written anew: of which of the nodes, and whether it was told to.
    Files(usize, Option<Task>),
    /// All is done.
    Over,
}

/// What a node says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Itself {
    release: String,
    schema: String,
}

fn itself(world: &mut dyn Client, node: usize, limit: Duration) -> Result<Itself> {
    let rows = world.rows(node, View::Itself, limit)?;
    let row = rows.first().context("it says nothing of itself")?;
    let cell = |name: &str| row.get(name).cloned().unwrap_or_default();
    Ok(Itself {
        release: cell("release_version"),
        schema: cell("schema_version"),
    })
}

impl Upgrade {
    fn to(&self) -> Result<&Release> {
        self.to.as_ref().context("nobody has said to which release")
    }

    /// The nodes that are upgraded.
    fn chosen(&self, world: &dyn World) -> Vec<usize> {
        if self.nodes.is_empty() {
            (0..world.nodes().len()).collect()
        } else {
            self.nodes.clone()
        }
    }

    fn seen(&self, world: &mut dyn World, limit: Duration) -> Result<Observation> {
        let to = self.to()?.version().to_owned();
        let chosen = self.chosen(world);
        let count = world.nodes().len();
        let (mut words, mut upgraded, mut schemas) = (Vec::new(), 0, BTreeSet::new());
        for node in 0..count {
            let name = format!("node{}", node + 1);
            match itself(world, node, limit) {
                Ok(seen) => {
                    upgraded += usize::from(seen.release == to && chosen.contains(&node));
                    words.push(format!("{name} is {}", seen.release));
                    schemas.insert(seen.schema);
                }
                // One that is on its way has nothing to say.
                Err(error) => words.push(format!("{name} says nothing ({error:#})")),
            }
        }
        let is_mixed = upgraded > 0 && upgraded < count;
        words.push(match (schemas.len(), is_mixed) {
            (0 | 1, _) => "they agree on the schema".to_owned(),
            (_, true) => "releases differ, and with them what they make of the schema".to_owned(),
            (..) => "they do not agree on the schema".to_owned(),
        });
        let is_over = matches!(self.stage, Stage::Over);
        Ok(Observation {
            broken: Some(upgraded > 0),
            // Where releases differ for good, as after a canary, so may what they make of it.
            whole: Some(!is_over || is_mixed || schemas.len() <= 1),
            words: words.join(", "),
        })
    }

    /// The formats of the files of a node, by the letters in their names.
    fn formats(&self, world: &mut dyn World, node: usize) -> Result<String> {
        let keyspaces = world.keyspaces(node, AT_ONCE)?;
        let files = world.data_files(node, &keyspaces, None)?;
        let formats: BTreeSet<&str> = files.iter().map(DataFile::format).collect();
        Ok(match formats.len() {
            0 => "no files".to_owned(),
            _ => formats.into_iter().collect::<Vec<_>>().join(" and "),
        })
    }

    /// Goes on with files: one node after the other.
    fn proceed_with_files(
        &mut self,
        world: &mut dyn World,
        at: usize,
        task: Option<Task>,
    ) -> Result<Work> {
        let chosen = self.chosen(world);
        let Some(node) = chosen.get(at).copied() else {
            self.stage = Stage::Over;
            return Ok(Work::Done(format!(
                "{} of {} nodes are Cassandra {}",
                chosen.len(),
                world.nodes().len(),
                self.to()?
            )));
        };
        let name = format!("node{}", node + 1);
        if !self.upgrades_files {
            let formats = self.formats(world, node)?;
            self.stage = Stage::Files(at + 1, None);
            return Ok(Work::Did(format!(
                "{name} has files of the format {formats}"
            )));
        }
        let Some(mut task) = task else {
            let mut task = Task::of(node);
            let upgrade = |keyspaces| Operation::Upgrade(UpgradeStep::Sstables { keyspaces });
            task.begin(world, self.within, upgrade)?;
            self.stage = Stage::Files(at, Some(task));
            return Ok(Work::Going);
        };
        match task.proceed(world)? {
            Work::Done(words) => {
                let formats = self.formats(world, node)?;
                self.stage = Stage::Files(at + 1, None);
                Ok(Work::Did(format!(
                    "{name}: {words}; its files have the format {formats}"
                )))
            }
            other => {
                self.stage = Stage::Files(at, Some(task));
                Ok(other)
            }
        }
    }

    /// What an upgrade ends with that all nodes have seen.
    fn begin_metadata_log(&self, world: &mut dyn World) -> Result<Option<String>> {
        let to = self.to()?;
        let chosen = self.chosen(world);
        if !to.line().has_cluster_metadata || chosen.len() < world.nodes().len() {
            return Ok(None);
        }
        let said = world.tell(
            chosen[0],
            Operation::Upgrade(UpgradeStep::BeginMetadataLog),
            AT_ONCE,
        );
        said.map(Some)
            .context("begin the log of the cluster's metadata (`nodetool cms initialize`)")
    }
}

impl Fault for Upgrade {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        self.within = within;
        self.stage = Stage::Nodes(Round::of(self.chosen(world)));
        Ok(())
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let seen = crate::observation::or_unseen("a node", self.seen(world, limit));
        rolling::and_all_up(world, seen, limit)
    }

    fn proceed(&mut self, world: &mut dyn World) -> Result<Work> {
        let (to, drains) = (self.to()?.clone(), self.drains);
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Nodes(mut round) => {
                let restart = &mut |world: &mut dyn World, node: usize| {
                    if drains {
                        world.tell(node, Operation::Upgrade(UpgradeStep::Drain), DRAINED_WITHIN)?;
                    }
                    let stop = world.upgrade(node, &to)?;
                    world.inject(Via::Node(node), stop, &[node], TURN_LIMIT)?;
                    world.heal_node(node)
                };
                let holds = |world: &mut dyn World, node: usize| {
                    let seen = itself(world, node, LIMIT).context("ask what it is")?;
                    if seen.release != to.version() {
                        bail!(
                            "node{} says that it is Cassandra {}",
                            node + 1,
                            seen.release
                        );
                    }
                    Ok(())
                };
                let work = round.proceed(world, restart, &holds);
                self.stage = Stage::Nodes(round);
                match work? {
                    Work::Done(words) => {
                        self.stage = Stage::Files(0, None);
                        let begun = self.begin_metadata_log(world)?;
                        let begun = begun.map(|begun| format!("; {begun}"));
                        Ok(Work::Did(format!("{words}{}", begun.unwrap_or_default())))
                    }
                    other => Ok(other),
                }
            }
            Stage::Files(at, task) => self.proceed_with_files(world, at, task),
            Stage::Over => Ok(Work::Done("it is over".to_owned())),
        }
    }

    fn heal(&mut self, world: &mut dyn World, _: Tell<'_>) -> Result<Healed> {
        match &self.stage {
            Stage::Nodes(round) => round.heal(world),
            Stage::Files(..) | Stage::Over => {
                let mut mended = world.heal()?;
                mended.started.extend(self.chosen(world));
                Ok(mended)
            }
        }
    }
}
