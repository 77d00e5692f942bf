//! A major compaction under load. The node reads and writes all data of its tables once, and then
//! removes the input files.

use crate::behaviour::{Fault, Tell, Work};
use crate::cluster_under_test::{Client, HealResult, World};
use crate::node_operation::{AT_ONCE, Task, count};
use crate::observation::{self, Health, Observation, Presence};
use anyhow::Result;
use cassandra::{DataFile, Operation, Row, View};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Compact {
        task: Task::new(hit.node()),
        before: BTreeMap::new(),
        tasks: BTreeSet::new(),
        is_over: false,
    })
}

/// Names of data files, by table folder.
type Files = BTreeMap<PathBuf, BTreeSet<String>>;

struct Compact {
    task: Task,
    /// Files from before the compaction, which must disappear.
    before: Files,
    /// Ids of the node's compactions that belong to this fault.
    tasks: BTreeSet<String>,
    is_over: bool,
}

fn by_table(files: Vec<DataFile>) -> Files {
    let mut all = Files::new();
    for file in files {
        all.entry(file.table).or_default().insert(file.name);
    }
    all
}

fn total(files: &Files) -> usize {
    files.values().map(BTreeSet::len).sum()
}

impl Compact {
    /// Describes the running compactions of this fault. A compaction belongs to the fault if it has
    /// at least as many inputs as the table had files. An ordinary compaction has that many inputs
    /// only in tables with few files.
    fn at_work(&mut self, world: &mut dyn Client, limit: Duration) -> Result<Vec<String>> {
        let mut words = Vec::new();
        for row in world.rows(self.task.node, View::Tasks, limit)? {
            let cell = |name: &str| row.get(name).map_or("", String::as_str);
            let (keyspace, table) = (cell("keyspace_name"), cell("table_name"));
            let taken_count = cell("sstables").parse().unwrap_or(0);
            let all_count = self.files_count(keyspace, table);
            let is_whole = all_count.is_some_and(|all_count| taken_count >= all_count);
            if !self.is_over && cell("kind") == "compaction" && is_whole {
                self.tasks.insert(cell("task_id").to_owned());
            }
            if self.tasks.contains(cell("task_id")) {
                words.push(format!("{keyspace}.{table} is compacted{}", percent(&row)));
            }
        }
        Ok(words)
    }

    /// Returns the number of files that a table had before the compaction, if any.
    fn files_count(&self, keyspace: &str, table: &str) -> Option<usize> {
        let end = format!("{keyspace}/{table}-");
        let of_table = |folder: &&PathBuf| folder.to_string_lossy().contains(&end);
        let folder = self.before.keys().find(of_table)?;
        self.before.get(folder).map(BTreeSet::len)
    }

    fn observation(&mut self, world: &mut dyn World, limit: Duration) -> Result<Observation> {
        if self.before.is_empty() {
            return Ok(Observation {
                fault: Presence::Absent,
                target: Health::Whole,
                words: "cassay did not request a compaction from the node".to_owned(),
            });
        }
        let at_work = self.at_work(world, limit)?;
        let now = by_table(world.data_files(self.task.node, &self.task.keyspaces, None)?);
        let left = |(table, names): (&PathBuf, &BTreeSet<String>)| {
            let now = now.get(table);
            now.map_or(0, |now| names.intersection(now).count())
        };
        let left: usize = self.before.iter().map(left).sum();
        let mut words = format!(
            "{left} of the earlier {} of {} remain, and {} files exist now",
            count(total(&self.before), "file"),
            count(self.before.len(), "table"),
            total(&now)
        );
        if !at_work.is_empty() {
            words = format!("{}, {words}", at_work.join(", "));
        }
        Ok(Observation {
            // The compaction of the fault has finished when all earlier files have disappeared.
            fault: Presence::from(left == 0 || (!self.is_over && !at_work.is_empty())),
            target: Health::from(at_work.is_empty()),
            words,
        })
    }
}

/// Returns the progress of a compaction, such as `, 43 % of it`, or an empty text if unknown.
fn percent(row: &Row) -> String {
    let ratio = row.get("completion_ratio");
    let ratio = ratio.and_then(|ratio| ratio.parse::<f64>().ok());
    ratio.map_or(String::new(), |ratio| {
        format!(", {:.0} % of it", ratio * 100.0)
    })
}

impl Fault for Compact {
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()> {
        let node = self.task.node;
        let keyspaces = world.keyspaces(node, AT_ONCE)?;
        // A compaction includes only flushed data.
        let flush = Operation::Flush {
            keyspaces: keyspaces.clone(),
        };
        world.tell(node, flush, within)?;
        self.before = by_table(world.data_files(node, &keyspaces, None)?);
        anyhow::ensure!(
            !self.before.is_empty(),
            "{} has no data to compact on this node",
            keyspaces.join(", ")
        );
        self.task.keyspaces = keyspaces;
        let compact = |keyspaces| Operation::Compact { keyspaces };
        self.task.begin(world, within, compact)
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let seen = self.observation(world, limit);
        let seen = observation::or_unseen("the node", seen);
        seen.and(|| observation::client(world, self.task.node, limit))
    }

    fn proceed(&mut self, world: &mut dyn World) -> Result<Work> {
        let work = self.task.proceed(world)?;
        self.is_over = matches!(work, Work::Done(_));
        Ok(work)
    }

    fn heal(&mut self, world: &mut dyn World, _: Tell<'_>) -> Result<HealResult> {
        self.is_over = true;
        self.task.end(world, &Operation::StopCompactions)?;
        world.heal()
    }
}
