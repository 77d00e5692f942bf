//! Waiting until memtables are flushed and compactions have come to rest.
//!
//! A measurement that begins while the server still compacts what was loaded measures the load
//! phase. The rule, per node: no compaction runs for several looks in a row, and either nothing is
//! pending or what is pending does not move. Some strategies estimate pending work that they will
//! never do; that is *stalled*: waiting longer would change nothing, and the report says so.

use crate::cluster::Cluster;
use crate::jolokia::Jolokia;
use crate::mbeans;
use anyhow::{Context, Result};
use measure::clock::{self, Deadline};
use serde_json::Value;
use std::time::Duration;

/// How waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettleOutcome {
    /// Nothing runs, and nothing is pending.
    Settled,
    /// Work is said to be pending, but nothing runs and no byte is compacted. Worth a warning.
    Stalled,
    /// Compactions were still running at the limit.
    Timeout,
    /// The target cannot tell: pending work is out of sight.
    Unknown,
}

/// Result of waiting for compactions.
#[derive(Clone, Debug, PartialEq)]
pub struct Settle {
    /// How it ended.
    pub outcome: SettleOutcome,
    /// How long it took, in seconds.
    pub seconds: f64,
    /// What was seen last, per node: running and pending tasks, SSTables.
    pub detail: String,
}

/// When waiting ends.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Between two looks.
    pub sample: Duration,
    /// So many looks in a row must see nothing running.
    pub idle_samples: u32,
    /// Pending work that has not moved for so long is stalled.
    pub stalled_after: Duration,
    /// Waiting ends here in any case.
    pub limit: Duration,
}

impl Rule {
    /// For data that is flushed in a second and compacted in seconds. The published rule (5 s, 6
    /// looks, 120 s) is for terabytes; a compaction that is due starts within milliseconds of the
    /// flush that makes it due, so that two quiet seconds tell as much.
    pub fn for_small_data(limit: Duration) -> Rule {
        Rule {
            sample: Duration::from_millis(500),
            idle_samples: 4,
            stalled_after: Duration::from_secs(10),
            limit,
        }
    }
}

/// One look at one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sample {
    /// Compactions that run now.
    running: u64,
    /// The server's estimate of compactions to come; `None` when it is out of sight.
    pending: Option<u64>,
    /// Bytes compacted since the start of the node.
    bytes_compacted: Option<u64>,
    /// Live SSTables of the tables.
    sstables: Option<u64>,
}

/// Flushes and waits; see [`Cluster::settle`].
pub(crate) fn run(
    cluster: &Cluster,
    keyspace: &str,
    tables: &[&str],
    rule: &Rule,
    say: &mut dyn FnMut(&str),
) -> Result<Settle> {
    let began_ns = clock::now_ns();
    let agents = cluster.agents();
    if let Some(agents) = &agents {
        say(&format!("flushing {keyspace}"));
        for (name, agent) in agents {
            mbeans::flush(agent, keyspace, tables).with_context(|| name.to_string())?;
        }
    }
    let look = || -> Result<Vec<Sample>> {
        match &agents {
            Some(agents) => agents
                .iter()
                .map(|(name, agent)| {
                    look_by_agent(agent, keyspace, tables)
                        .with_context(|| format!("look at the compactions of {name}"))
                })
                .collect(),
            None => look_by_tables(cluster),
        }
    };
    let (outcome, last) = wait(rule, look, say)?;
    let names = cluster.nodes().iter().map(|node| node.name.as_str());
    let detail: Vec<String> = names
        .zip(&last)
        .map(|(name, one)| describe(name, one))
        .collect();
    Ok(Settle {
        outcome,
        seconds: (clock::now_ns() - began_ns) as f64 / clock::SECOND_NS as f64,
        detail: detail.join("; "),
    })
}

fn wait(
    rule: &Rule,
    mut look: impl FnMut() -> Result<Vec<Sample>>,
    say: &mut dyn FnMut(&str),
) -> Result<(SettleOutcome, Vec<Sample>)> {
    let deadline = Deadline::after(rule.limit);
    let mut watch = Watch::default();
    let mut said = None;
    loop {
        let samples = look()?;
        let state = watch.judge(&samples, clock::now_ns(), rule);
        let running: u64 = samples.iter().map(|sample| sample.running).sum();
        let pending: u64 = samples.iter().filter_map(|sample| sample.pending).sum();
        if let Some(outcome) = state {
            return Ok((outcome, samples));
        }
        if deadline.passed() {
            return Ok((SettleOutcome::Timeout, samples));
        }
        if said != Some((running, pending)) && running + pending > 0 {
            say(&format!("compacting: {running} running, {pending} pending"));
            said = Some((running, pending));
        }
        clock::sleep(rule.sample);
    }
}

/// What the looks so far amount to.
#[derive(Debug, Default)]
struct Watch {
    idle_samples: u32,
    last: Vec<Sample>,
    /// Since when no look has differed from the one before.
    unchanged_since_ns: u64,
}

impl Watch {
    /// The outcome, once there is one.
    fn judge(&mut self, samples: &[Sample], now_ns: u64, rule: &Rule) -> Option<SettleOutcome> {
        if samples != self.last {
            self.last = samples.to_vec();
            self.unchanged_since_ns = now_ns;
        }
        if samples.iter().any(|sample| sample.running > 0) {
            self.idle_samples = 0;
            return None;
        }
        self.idle_samples += 1;
        if self.idle_samples < rule.idle_samples {
            return None;
        }
        if samples.iter().any(|sample| sample.pending.is_none()) {
            return Some(SettleOutcome::Unknown);
        }
        if samples.iter().all(|sample| sample.pending == Some(0)) {
            return Some(SettleOutcome::Settled);
        }
        let unchanged = Duration::from_nanos(now_ns - self.unchanged_since_ns);
        (unchanged >= rule.stalled_after).then_some(SettleOutcome::Stalled)
    }
}

fn look_by_agent(agent: &Jolokia, keyspace: &str, tables: &[&str]) -> Result<Sample> {
    const PENDING: &str = "org.apache.cassandra.metrics:type=Compaction,name=PendingTasks";
    const BYTES: &str = "org.apache.cassandra.metrics:type=Compaction,name=BytesCompacted";
    const RUNNING: &str = "org.apache.cassandra.db:type=CompactionManager";
    let counts: Vec<String> = tables
        .iter()
        .map(|table| {
            format!(
                "org.apache.cassandra.metrics:type=Table,keyspace={keyspace},scope={table},\
                 name=LiveSSTableCount"
            )
        })
        .collect();
    let mut attributes = vec![
        (PENDING, "Value"),
        (BYTES, "Count"),
        (RUNNING, "Compactions"),
    ];
    attributes.extend(counts.iter().map(|mbean| (mbean.as_str(), "Value")));
    let answers = agent.read(&attributes)?;
    let number = |index: usize| answers.get(index)?.as_ref()?.as_u64();
    let running = answers
        .get(2)
        .and_then(Option::as_ref)
        .and_then(Value::as_array);
    Ok(Sample {
        running: running
            .context("the node does not list its compactions")?
            .len() as u64,
        pending: Some(number(0).context("the node gives no pending compactions")?),
        bytes_compacted: number(1),
        sstables: Some((3..answers.len()).filter_map(number).sum()),
    })
}

/// Virtual tables know only what runs.
fn look_by_tables(cluster: &Cluster) -> Result<Vec<Sample>> {
    let look = |node| -> Result<Sample> {
        let mut session = cluster.session_to(node)?;
        let tasks = session.query("SELECT task_id FROM system_views.sstable_tasks")?;
        Ok(Sample {
            running: tasks.rows.len() as u64,
            ..Sample::default()
        })
    };
    cluster.nodes().iter().map(look).collect()
}

fn describe(name: &str, sample: &Sample) -> String {
    let text = |number: Option<u64>| number.map_or("unknown".to_string(), |n| n.to_string());
    format!(
        "{name}: {} running, {} pending, {} SSTables",
        sample.running,
        text(sample.pending),
        text(sample.sstables)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(running: u64, pending: Option<u64>, bytes: u64) -> Sample {
        Sample {
            running,
            pending,
            bytes_compacted: Some(bytes),
            sstables: Some(1),
        }
    }

    /// The outcome of looks one second apart, with three idle looks and ten seconds of patience.
    fn outcome(looks: impl IntoIterator<Item = Sample>) -> Option<(usize, SettleOutcome)> {
        let rule = Rule {
            sample: Duration::from_secs(1),
            idle_samples: 3,
            stalled_after: Duration::from_secs(10),
            limit: Duration::from_secs(1000),
        };
        let mut watch = Watch::default();
        looks.into_iter().enumerate().find_map(|(index, look)| {
            let now_ns = (1 + index as u64) * clock::SECOND_NS;
            watch
                .judge(&[look], now_ns, &rule)
                .map(|outcome| (index, outcome))
        })
    }

    #[test]
    fn rest_is_believed_after_several_quiet_looks() {
        let quiet = || sample(0, Some(0), 7);
        assert_eq!(outcome([quiet(), quiet()]), None);
        assert_eq!(
            outcome([quiet(), quiet(), quiet()]),
            Some((2, SettleOutcome::Settled))
        );
        let interrupted = [
            quiet(),
            quiet(),
            sample(1, Some(0), 7),
            quiet(),
            quiet(),
            quiet(),
        ];
        assert_eq!(outcome(interrupted), Some((5, SettleOutcome::Settled)));
    }

    #[test]
    fn pending_work_that_never_moves_is_stalled_and_that_which_moves_is_waited_for() {
        let still = std::iter::repeat_with(|| sample(0, Some(3), 7)).take(30);
        assert_eq!(outcome(still), Some((10, SettleOutcome::Stalled)));
        let moving = (0..30).map(|bytes| sample(0, Some(3), bytes));
        assert_eq!(outcome(moving), None);
        let running = std::iter::repeat_with(|| sample(1, Some(3), 7)).take(30);
        assert_eq!(outcome(running), None);
    }

    #[test]
    fn without_an_estimate_rest_is_not_claimed() {
        let blind = std::iter::repeat_with(|| sample(0, None, 7)).take(5);
        assert_eq!(outcome(blind), Some((2, SettleOutcome::Unknown)));
    }

    #[test]
    fn the_limit_ends_waiting() {
        let rule = Rule {
            limit: Duration::ZERO,
            ..Rule::for_small_data(Duration::ZERO)
        };
        let busy = || Ok(vec![sample(1, Some(1), 7)]);
        let (outcome, last) = wait(&rule, busy, &mut |_| ()).unwrap();
        assert_eq!(outcome, SettleOutcome::Timeout);
        assert_eq!(last[0].running, 1);
    }
}
