//! Waits until memtables are flushed and compactions are idle.
//!
//! Otherwise a measurement would include the compaction of loaded data. The rule for each node: no
//! compaction runs in several consecutive samples, and the number of pending compactions is zero or
//! does not change.
//!
//! The number of pending compactions is the result of the server's last check, and due work may
//! wait until an event triggers the next check. So after the flush, cassay triggers a check by
//! enabling compactions again. Pending work that does not begin after a second trigger is
//! *stalled*: some strategies predict work that they never do. Waiting longer would not help, and
//! the report mentions the stalled work.

use crate::cluster::Cluster;
use crate::data_use;
use anyhow::{Context, Result, ensure};
use cassandra::snapshot::table_definitions;
use cassandra::{CompactionSample, Jolokia, Node, mbeans};
use measure::clock::{self, Deadline};
use std::time::Duration;

/// Way in which the wait for compactions ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettleOutcome {
    Settled,
    /// The server reports pending compactions, but no compaction runs and the number of compacted
    /// bytes does not change. cassay warns the user.
    Stalled,
    /// Compactions were still running or pending at the time limit.
    Timeout,
    /// The target does not report pending compactions.
    Unknown,
}

/// Result of the wait for compactions.
#[derive(Clone, Debug, PartialEq)]
pub struct Settle {
    pub outcome: SettleOutcome,
    /// Waiting time in seconds.
    pub seconds: f64,
    /// Last sample of each node: running and pending compactions, and SSTables.
    pub detail: String,
}

/// Conditions that end the wait.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Interval between two samples.
    pub sample: Duration,
    /// Required number of consecutive samples without running compactions.
    pub idle_samples: u32,
    /// Time after which unchanged pending work counts as stalled.
    pub stalled_after: Duration,
    pub limit: Duration,
}

/// Minimum amount of data per node for the published rule, in bytes. At its default of 64 MiB/s,
/// Cassandra compacts this amount in about a minute. With less data, the 30 s of idle samples would
/// dominate the wait.
const LARGE_DATA_BYTES: u64 = 4 << 30;

impl Rule {
    /// Returns the rule for `bytes` of table data on the largest node. An unknown size counts as
    /// large.
    pub fn for_data(bytes: Option<u64>, limit: Duration) -> Rule {
        match bytes {
            Some(bytes) if bytes < LARGE_DATA_BYTES => Rule::for_small_data(limit),
            _ => Rule::published(limit),
        }
    }

    /// Returns the rule for data that is flushed within a second and compacted within seconds. A
    /// due compaction starts within milliseconds of the flush, so three samples in half a second
    /// show as much as thirty seconds of the published rule.
    fn for_small_data(limit: Duration) -> Rule {
        Rule {
            sample: Duration::from_millis(250),
            idle_samples: 3,
            stalled_after: Duration::from_secs(10),
            limit,
        }
    }

    /// Returns the published rule for any amount of data: 6 consecutive idle samples at intervals
    /// of 5 s. Pending work counts as stalled after two minutes.
    fn published(limit: Duration) -> Rule {
        Rule {
            sample: Duration::from_secs(5),
            idle_samples: 6,
            stalled_after: Duration::from_secs(120),
            limit,
        }
    }
}

impl Cluster {
    /// Flushes the tables of `keyspace`, triggers due compactions, and waits at most `limit` until
    /// compactions are idle.
    ///
    /// # Errors
    /// A node does not answer.
    pub fn settle(
        &self,
        keyspace: &str,
        tables: &[&str],
        limit: Duration,
        say: &mut dyn FnMut(&str),
    ) -> Result<Settle> {
        run(self, keyspace, tables, limit, say)
    }
}

fn run(
    cluster: &Cluster,
    keyspace: &str,
    tables: &[&str],
    limit: Duration,
    say: &mut dyn FnMut(&str),
) -> Result<Settle> {
    let began_ns = clock::now_ns();
    let nodes = cluster.all();
    let have_agents = nodes.iter().all(|node| node.mbeans.is_ok());
    let mut kicks = Vec::new();
    if have_agents {
        say(&format!("flushing {keyspace}"));
        for node in &nodes {
            node.flush(keyspace, tables).with_context(|| node.name().to_string())?;
        }
        kicks = kicks_of(cluster, &nodes, keyspace, tables)?;
    }
    let kick = || -> Result<()> {
        for (name, agent, tables) in &kicks {
            mbeans::enable_compaction(agent, keyspace, tables).with_context(|| name.to_string())?;
        }
        Ok(())
    };
    let look = || -> Result<Vec<CompactionSample>> {
        let of_node = |node: &Node<'_>| {
            if have_agents {
                let sample = node.compactions(keyspace, tables);
                sample.with_context(|| format!("query the compactions of {}", node.name()))
            } else {
                node.compactions_by_tables(keyspace, tables)
            }
        };
        nodes.iter().map(of_node).collect()
    };
    kick()?;
    let bytes = data_use::largest(cluster, keyspace, tables);
    let rule = Rule::for_data(bytes, limit);
    let (outcome, last) = wait(&rule, look, kick, say)?;
    Ok(Settle {
        outcome,
        seconds: (clock::now_ns() - began_ns) as f64 / clock::SECOND_NS as f64,
        detail: describe_all(cluster, outcome, &rule, &last),
    })
}

/// Returns the tables of each node whose compactions cassay may enable. Excludes tables whose
/// definition disables compaction, and tables whose compactions an administrator has disabled on an
/// attached node.
fn kicks_of<'a>(
    cluster: &Cluster,
    nodes: &[Node<'a>],
    keyspace: &str,
    tables: &[&'a str],
) -> Result<Vec<(&'a str, &'a Jolokia, Vec<&'a str>)>> {
    let allowed = table_definitions::compacting(&mut cluster.session()?, keyspace, tables)?;
    let ours = cluster.local().is_some();
    let of_node = |node: &Node<'a>| {
        let agent = node.agent()?;
        let mut kicked = tables.to_vec();
        kicked.retain(|table| allowed.iter().any(|one| one == table));
        if !ours {
            let disabled = mbeans::disabled(agent, keyspace, tables)?;
            kicked.retain(|table| !disabled.contains(table));
        }
        Ok((node.name(), agent, kicked))
    };
    nodes.iter().map(of_node).collect()
}

fn wait(
    rule: &Rule,
    mut look: impl FnMut() -> Result<Vec<CompactionSample>>,
    mut kick: impl FnMut() -> Result<()>,
    say: &mut dyn FnMut(&str),
) -> Result<(SettleOutcome, Vec<CompactionSample>)> {
    let deadline = Deadline::after(rule.limit);
    let mut watch = Watch::default();
    let mut said = None;
    loop {
        let samples = look()?;
        match watch.judge(&samples, clock::now_ns(), rule) {
            State::Over(outcome) => return Ok((outcome, samples)),
            State::Stuck => {
                say(
                    "compactions are pending, but no compaction starts: cassay triggers the \
                     compactions again",
                );
                kick()?;
            }
            State::Open => {}
        }
        if deadline.passed() {
            return Ok((SettleOutcome::Timeout, samples));
        }
        let state = summary(&samples);
        if said.as_ref() != Some(&state) && samples.iter().any(CompactionSample::is_busy) {
            say(&state);
            said = Some(state);
        }
        ensure!(
            !host::process::is_interrupted(),
            "interrupted while waiting for compactions"
        );
        clock::sleep(rule.sample);
    }
}

fn summary(samples: &[CompactionSample]) -> String {
    let running: u64 = samples.iter().map(|sample| sample.running).sum();
    let pending: u64 = samples.iter().filter_map(|sample| sample.pending).sum();
    let (done, all) = samples.iter().fold((0, 0), |(done, all), sample| {
        (done + sample.progress.0, all + sample.progress.1)
    });
    // Rounding to tens prevents a line for each sample of a long compaction.
    let progress = match all {
        0 => String::new(),
        _ => format!(" ({} % done)", done.saturating_mul(10) / all * 10),
    };
    format!("compacting: {running} running{progress}, {pending} pending")
}

/// Decision after a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Take another sample.
    Open,
    /// Trigger compactions again.
    Stuck,
    Over(SettleOutcome),
}

#[derive(Debug, Default)]
struct Watch {
    idle_samples: u32,
    last: Vec<CompactionSample>,
    /// Time since which the samples have been the same, in ns.
    unchanged_since_ns: u64,
    /// True if cassay has triggered compactions again because the samples did not change.
    kicked_again: bool,
}

impl Watch {
    fn judge(&mut self, samples: &[CompactionSample], now_ns: u64, rule: &Rule) -> State {
        if samples != self.last {
            self.last = samples.to_vec();
            self.unchanged_since_ns = now_ns;
        }
        if samples.iter().any(|sample| sample.running > 0) {
            self.idle_samples = 0;
            return State::Open;
        }
        self.idle_samples += 1;
        if self.idle_samples < rule.idle_samples {
            return State::Open;
        }
        if samples.iter().any(|sample| sample.pending.is_none()) {
            return State::Over(SettleOutcome::Unknown);
        }
        if samples.iter().all(|sample| sample.pending == Some(0)) {
            return State::Over(SettleOutcome::Settled);
        }
        let unchanged = Duration::from_nanos(now_ns - self.unchanged_since_ns);
        if unchanged < rule.stalled_after {
            return State::Open;
        }
        if std::mem::replace(&mut self.kicked_again, true) {
            return State::Over(SettleOutcome::Stalled);
        }
        self.idle_samples = 0;
        self.unchanged_since_ns = now_ns;
        State::Stuck
    }
}

fn describe_all(
    cluster: &Cluster,
    outcome: SettleOutcome,
    rule: &Rule,
    samples: &[CompactionSample],
) -> String {
    let quiet = rule.sample * rule.idle_samples;
    let how = match outcome {
        SettleOutcome::Settled => format!("no compaction ran or was pending for {quiet:?}"),
        SettleOutcome::Stalled => format!(
            "compactions are pending, but no node starts them: their number did not change for \
             {:?}, even after cassay triggered them again",
            rule.stalled_after
        ),
        SettleOutcome::Timeout => format!(
            "compactions did not end within the limit of {:?}",
            rule.limit
        ),
        SettleOutcome::Unknown => {
            format!("no compaction ran for {quiet:?}, but cassay cannot see pending compactions")
        }
    };
    let names = cluster.nodes().iter().map(|node| node.name.as_str());
    let nodes: Vec<String> = names
        .zip(samples)
        .map(|(name, one)| format!("{name}: {}", one.describe()))
        .collect();
    format!("{how}; {}", nodes.join("; "))
}

#[cfg(test)]
mod tests;
