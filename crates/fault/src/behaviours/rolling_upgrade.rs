//! A rolling upgrade of nodes to another release, as administrators perform it without interrupting
//! service. Each node ends, starts with the other release, and reports this release before the next
//! node begins. Data files cannot be downgraded, so the rollback uses files that were saved before
//! the upgrade, and a repair.

mod way_back;

use crate::behaviour::{Fault, Tell, Work};
use crate::cluster_under_test::{ExecutedBy, HealResult, World};
use crate::node_operation::{AT_ONCE, Task};
use crate::node_release::{self, Itself};
use crate::observation::{self, Health, Observation, Presence};
use crate::rolling::{self, Round, TURN_LIMIT};
use anyhow::{Context, Result};
use cassandra::{DataFile, Operation, UpgradeStep};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use target_spec::NodeIndex;
use target_spec::fault::{Hit, Options, Rollback};
use versions::Release;
use way_back::{SWAP_LIMIT, WayBack};

const DRAIN_LIMIT: Duration = Duration::from_secs(120);

pub(crate) fn behaviour(hit: &Hit, options: &Options) -> Box<dyn Fault> {
    Box::new(Upgrade {
        to: options.to.clone(),
        hit: hit.clone(),
        drains: options.drain != Some(false),
        upgrades_files: options.upgrade_sstables,
        within: Duration::ZERO,
        is_begun: false,
        stage: Stage::Nodes(Round::new(Vec::new())),
        way_back: match options.back {
            Rollback::Snapshot => Some(WayBack::default()),
            Rollback::Never => None,
        },
    })
}

struct Upgrade {
    to: Option<Release>,
    hit: Hit,
    drains: bool,
    upgrades_files: bool,
    within: Duration,
    is_begun: bool,
    stage: Stage,
    /// Downgrade to the former release. `None` if the nodes remain upgraded.
    way_back: Option<WayBack>,
}

enum Stage {
    Nodes(Round),
    /// SSTables are being rewritten. Contains the index of the current node in the list of nodes,
    /// and its task with its earlier files.
    Files(usize, Option<(Task, Vec<DataFile>)>),
    Over,
}

impl Upgrade {
    fn to(&self) -> Result<&Release> {
        self.to.as_ref().context("the fault does not name the new release")
    }

    fn chosen(&self, world: &dyn World) -> Vec<NodeIndex> {
        observation::nodes_hit(&self.hit, world)
    }

    fn observation(&self, world: &mut dyn World, limit: Duration) -> Result<Observation> {
        let to = self.to()?.version().to_owned();
        let chosen = self.chosen(world);
        let nodes = world.nodes().indexes();
        let count = nodes.len();
        let (mut words, mut upgraded, mut schemas) = (Vec::new(), 0, BTreeSet::new());
        for node in nodes {
            let name = node.name();
            match Itself::read(world, node, limit) {
                Ok(seen) => {
                    upgraded += usize::from(seen.release == to && chosen.contains(&node));
                    words.push(format!("{name} is {}", seen.release));
                    schemas.insert(seen.schema);
                }
                // A restarting node does not answer.
                Err(error) => words.push(format!("{name} does not answer ({error:#})")),
            }
        }
        let is_mixed = upgraded > 0 && upgraded < count;
        words.push(match (schemas.len(), is_mixed) {
            (0 | 1, _) => "the nodes agree on the schema".to_owned(),
            (_, true) => "releases differ, and so do their schema versions".to_owned(),
            (..) => "the nodes do not agree on the schema".to_owned(),
        });
        let is_over = matches!(self.stage, Stage::Over);
        // After the upgrade of a canary, the nodes run different releases, and may have different
        // schema versions.
        let agree = !is_over || is_mixed || schemas.len() <= 1;
        let is_back = match &self.way_back {
            Some(way) if self.is_begun => way.is_over() && upgraded == 0,
            Some(_) | None => true,
        };
        Ok(Observation {
            fault: Presence::from(upgraded > 0),
            target: Health::from(agree && is_back),
            words: words.join(", "),
        })
    }

    /// Continues to rewrite SSTables, one node after the other. If the fault does not rewrite
    /// SSTables, only counts each node's files.
    fn proceed_with_files(
        &mut self,
        world: &mut dyn World,
        at: usize,
        task: Option<(Task, Vec<DataFile>)>,
    ) -> Result<Work> {
        let chosen = self.chosen(world);
        let Some(node) = chosen.get(at).copied() else {
            self.stage = Stage::Over;
            return Ok(Work::Done(format!(
                "{} of {} nodes run Cassandra {}",
                chosen.len(),
                world.nodes().len(),
                self.to()?
            )));
        };
        let name = node.name();
        if !self.upgrades_files {
            let formats = counted(&files(world, node)?);
            self.stage = Stage::Files(at + 1, None);
            return Ok(Work::Did(format!("{name} has {formats}")));
        }
        let Some((mut task, before)) = task else {
            let before = files(world, node)?;
            let mut task = Task::new(node);
            let upgrade = |keyspaces| Operation::Upgrade(UpgradeStep::Sstables { keyspaces });
            task.begin(world, self.within, upgrade)?;
            self.stage = Stage::Files(at, Some((task, before)));
            return Ok(Work::Going);
        };
        match task.proceed(world)? {
            Work::Done(words) => {
                let rewritten = rewritten(&before, &files(world, node)?);
                self.stage = Stage::Files(at + 1, None);
                Ok(Work::Did(format!("{name}: {words}; {rewritten}")))
            }
            other => {
                self.stage = Stage::Files(at, Some((task, before)));
                Ok(other)
            }
        }
    }

    /// Initialises the cluster metadata log if the new release has such a log and all nodes run it.
    /// Returns the node's report.
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
            .context("initialize the cluster metadata log (`nodetool cms initialize`)")
    }
}

impl Upgrade {
    fn proceed_with_nodes(&mut self, world: &mut dyn World, mut round: Round) -> Result<Work> {
        let (to, drains) = (self.to()?.clone(), self.drains);
        let way_back = &mut self.way_back;
        let restart = &mut |world: &mut dyn World, node: NodeIndex| {
            let Some(way_back) = way_back.as_mut() else {
                return restart(world, node, &to, drains);
            };
            let before = node_release::release(world, node)?;
            drain(world, node)?;
            let stop = world.upgrade(node, &to)?;
            world.inject(ExecutedBy::Node(node), stop, &[node], SWAP_LIMIT)?;
            way_back.keep(world, node, before)?;
            world.heal_node(node)
        };
        let holds = |world: &mut dyn World, node: NodeIndex| {
            node_release::is_release(world, node, to.version())
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
            Work::Did(words) => {
                let kept = self.way_back.as_ref().and_then(WayBack::describe_files);
                let kept = kept.map(|kept| format!("; {kept}"));
                Ok(Work::Did(format!("{words}{}", kept.unwrap_or_default())))
            }
            Work::Going => Ok(Work::Going),
        }
    }
}

fn files(world: &mut dyn World, node: NodeIndex) -> Result<Vec<DataFile>> {
    let keyspaces = world.keyspaces(node, AT_ONCE)?;
    world.data_files(node, &keyspaces, None)
}

/// Returns the number of files of each format, such as `3 files of nb`.
fn counted(files: &[DataFile]) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    files.iter().for_each(|file| *counts.entry(file.format()).or_default() += 1);
    let each = counts.iter().map(|(format, count)| match count {
        1 => format!("1 file of {format}"),
        _ => format!("{count} files of {format}"),
    });
    match counts.len() {
        0 => "no files".to_owned(),
        _ => each.collect::<Vec<_>>().join(" and "),
    }
}

/// Describes how many files the node has rewritten.
fn rewritten(before: &[DataFile], after: &[DataFile]) -> String {
    let gone = before.iter().filter(|file| !after.contains(file)).count();
    if gone == 0 {
        return format!(
            "the node rewrote no file: it has {}, as before, and also writes this format itself",
            counted(after)
        );
    }
    format!(
        "the node rewrote {gone} of {}: it had {}, and now has {}",
        before.len(),
        counted(before),
        counted(after)
    )
}

fn drain(world: &mut dyn World, node: NodeIndex) -> Result<()> {
    let drain = Operation::Upgrade(UpgradeStep::Drain);
    world.tell(node, drain, DRAIN_LIMIT).map(drop)
}

/// Restarts a node with another release, which it also uses for later restarts.
fn restart(world: &mut dyn World, node: NodeIndex, to: &Release, drains: bool) -> Result<()> {
    if drains {
        drain(world, node)?;
    }
    let stop = world.upgrade(node, to)?;
    world.inject(ExecutedBy::Node(node), stop, &[node], TURN_LIMIT)?;
    world.heal_node(node)
}

impl Fault for Upgrade {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        self.within = within;
        self.is_begun = true;
        self.stage = Stage::Nodes(Round::new(self.chosen(world)));
        Ok(())
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let seen = observation::or_unseen("a node", self.observation(world, limit));
        rolling::and_all_up(world, seen, limit)
    }

    fn healing(&self) -> &'static str {
        match &self.way_back {
            Some(_) => "nodes go back to their earlier release, the last upgraded node first",
            None => "nodes keep the new release",
        }
    }

    fn proceed(&mut self, world: &mut dyn World) -> Result<Work> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Nodes(round) => self.proceed_with_nodes(world, round),
            Stage::Files(at, task) => self.proceed_with_files(world, at, task),
            Stage::Over => Ok(Work::Done("the fault has ended".to_owned())),
        }
    }

    fn heal(&mut self, world: &mut dyn World, tell: Tell<'_>) -> Result<HealResult> {
        let went = match &mut self.way_back {
            Some(way_back) => way_back.go(world, tell),
            None => Ok(()),
        };
        let mended = match &self.stage {
            Stage::Nodes(round) => round.heal(world),
            Stage::Files(..) | Stage::Over => {
                let mut mended = world.heal()?;
                mended.started.extend(self.chosen(world));
                Ok(mended)
            }
        };
        went.and(mended)
    }
}
