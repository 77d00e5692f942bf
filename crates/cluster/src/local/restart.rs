//! Stops and restarts managed nodes after changes of their configuration or files. Nodes restart
//! one after the other to keep the ring available, or all together.

use super::node_process::LocalNode;
use super::nodes::Nodes;
use super::start::check;
use super::{memory_and_disk, ready, settings};
use crate::cluster::Cluster;
use anyhow::{Context, Result, bail};
use host::Hosts;
use measure::clock::Deadline;
use std::time::Duration;
use target_spec::{HostSpec, LocalSpec, Restarts, Topology};

/// Time limit for a drained node to exit. In a test, a node took 0.7 s. With a full memtable that
/// was not drained, the exit takes seconds.
const TERM_LIMIT: Duration = Duration::from_secs(60);

impl Cluster {
    /// Changes the managed nodes to `spec`: drains and stops them, writes new files and restarts
    /// them. With [`Restarts::InTurn`], the next node stops only when the previous one answers CQL
    /// and all other nodes consider it up. If limits of hosts change, the nodes of a host restart
    /// together. Returns the names of the restarted nodes. The list is empty if no JVM reads the
    /// changed settings at its start.
    ///
    /// # Errors
    /// The cluster is not managed, or a restart does not suffice for `spec` (see
    /// [`LocalSpec::restart_suffices`]). If a node does not start again, the message contains the
    /// last lines of its log, and the cluster is unusable.
    pub fn reconfigure(
        &mut self,
        spec: &LocalSpec,
        restarts: Restarts,
        say: &mut dyn FnMut(&str),
    ) -> Result<Vec<String>> {
        let not_ours = "cassay can change the configuration only of a local target";
        self.restarting(not_ours, |nodes| nodes.reconfigure(spec, restarts, say))
    }

    /// Changes the placement of managed nodes, which restart one after the other. Returns their
    /// names.
    ///
    /// # Errors
    /// The errors of [`Cluster::reconfigure`], or the machine lacks the requested CPUs or memory.
    pub fn place(&mut self, topology: Topology, say: &mut dyn FnMut(&str)) -> Result<Vec<String>> {
        let not_ours = "cassay can assign CPUs only to nodes that it started";
        self.restarting(not_ours, |nodes| {
            let spec = LocalSpec {
                topology,
                ..nodes.spec().clone()
            };
            nodes.reconfigure(&spec, Restarts::InTurn, say)
        })
    }
}

impl Nodes {
    fn reconfigure(
        &mut self,
        spec: &LocalSpec,
        restarts: Restarts,
        say: &mut dyn FnMut(&str),
    ) -> Result<Vec<String>> {
        check(spec)?;
        let hindrances = spec.hindrances(&self.spec);
        if !hindrances.is_empty() {
            bail!(
                "a restart cannot change {}: start a new cluster",
                hindrances.join(", ")
            );
        }
        if self.are_on_machines() {
            self.check_growth(spec)?;
            self.share_classes_there(spec, say)?;
        } else {
            memory_and_disk::check_growth(spec.nodes, self.spec.heap_bytes, spec.heap_bytes)?;
            let clusters = self.folder.parent().context("find the folder of clusters")?;
            self.program.share_classes(spec, clusters, say)?;
        }
        let layout = self.lay_out(spec)?;
        let spec = &spec.on_machines(self.spec.hosts.as_ref());
        let old = std::mem::replace(&mut self.spec, spec.clone());
        self.layout = layout;
        let step =
            ConfigurationChange::between(&old, spec, self.hosts().is_some(), self.state.unsettled);
        let mut groups = self.groups(step.other_machine, step.other_files);
        if restarts == Restarts::Together || step.is_again {
            groups = together(groups);
        }
        // A failure or kill may leave some nodes with the old spec and others with the new one, so
        // the spec is recorded before any change.
        self.write_spec(true)?;
        if step.is_again {
            self.end_all()?;
        }
        let mut restarted = Vec::new();
        let limits = step.limits.as_ref();
        for group in groups {
            let limits = limits.filter(|_| step.other_machine);
            restarted.extend(self.restart(&group, limits, say)?);
        }
        if let Some(limits) = limits.filter(|_| !step.other_machine) {
            for host in self.hosts().into_iter().flat_map(Hosts::all) {
                host.set_limits(limits)?;
            }
        }
        self.write_spec(false)?;
        Ok(restarted)
    }

    /// Checks that a larger heap fits on the machines of the nodes.
    fn check_growth(&self, spec: &LocalSpec) -> Result<()> {
        let hosts = self.hosts().map(Hosts::all).unwrap_or_default();
        for (host, each) in hosts.iter().zip(spec.nodes_of_hosts()) {
            let used = target_spec::memory_bytes(each, self.spec.heap_bytes);
            let free = host.agent().available_memory()?.saturating_add(used);
            memory_and_disk::fits_memory(each, spec.heap_bytes, free)
                .with_context(|| host.agent().name().to_owned())?;
        }
        Ok(())
    }

    /// Stops the nodes of a group, writes new files, applies `limits` to the hosts, and starts the
    /// nodes. Returns their names.
    fn restart(
        &mut self,
        group: &[usize],
        limits: Option<&HostSpec>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Vec<String>> {
        let names: Vec<String> =
            group.iter().map(|index| self.nodes[*index].layout.name.clone()).collect();
        let what = names.join(", ");
        say(&format!(
            "cassay restarts {what} with the new configuration"
        ));
        self.drain_together(group);
        for index in group {
            self.stop_node(*index)?;
        }
        // With a lower memory limit, the kernel would kill a running node of the old size.
        if let Some(limits) = limits {
            for index in group {
                self.limit_host(*index, limits)?;
            }
        }
        for index in group {
            let node = &self.nodes[*index];
            let files = settings::files(&node.layout, &self.spec.yaml, &self.secret);
            node.host.change(files)?;
        }
        self.start_all()?;
        Ok(names)
    }

    /// Drains several nodes in parallel. The later stop of each node reports errors.
    fn drain_together(&self, group: &[usize]) {
        if group.len() < 2 {
            return;
        }
        std::thread::scope(|scope| {
            for index in group {
                let node = &self.nodes[*index];
                scope.spawn(move || drain(node));
            }
        });
    }

    /// Returns the groups of nodes that stop together: all nodes of a host if the size of hosts
    /// changes, otherwise single nodes. The list is empty without a change.
    fn groups(&self, other_machine: bool, other_files: bool) -> Vec<Vec<usize>> {
        let indexes = 0..self.nodes.len();
        match (self.hosts(), other_machine, other_files) {
            (Some(hosts), true, _) => {
                let count = hosts.all().len().max(1);
                let of_host = |host| indexes.clone().skip(host).step_by(count).collect();
                (0..count).map(of_host).collect()
            }
            (_, _, true) => indexes.map(|index| vec![index]).collect(),
            _ => Vec::new(),
        }
    }

    fn limit_host(&self, index: usize, limits: &HostSpec) -> Result<()> {
        let host = self.host_of(index).context("the cluster has no hosts")?;
        host.set_limits(limits)
    }

    /// Records the spec. `unsettled` means that some nodes may not use this spec yet.
    fn write_spec(&mut self, unsettled: bool) -> Result<()> {
        self.state.put_spec(&self.spec)?;
        self.state.unsettled = unsettled;
        self.state.write(&self.folder)
    }

    /// Drains and stops one node, and waits until its process has ended and its ports are free.
    /// Does nothing for a stopped node.
    ///
    /// # Errors
    /// The node cannot be drained, or does not end.
    pub fn stop_node(&mut self, index: usize) -> Result<()> {
        let node = &self.nodes[index];
        drain(node).with_context(|| format!("drain {}", node.layout.name))?;
        self.end_node(index, TERM_LIMIT)
    }

    /// Ends all nodes, even if they do not answer. A node drains itself on SIGTERM.
    fn end_all(&mut self) -> Result<()> {
        (0..self.nodes.len()).try_for_each(|index| self.end_node(index, TERM_LIMIT))
    }

    /// Sends SIGTERM to a node, kills it after `grace`, and waits until it has ended.
    pub(super) fn end_node(&mut self, index: usize, grace: Duration) -> Result<()> {
        let node = &mut self.nodes[index];
        if let Some(process) = node.process.take() {
            node.host
                .end_process(process, grace)
                .with_context(|| format!("stop {}", node.layout.name))?;
        }
        self.state.nodes[index].process = None;
        self.state.write(&self.folder)
    }

    /// Starts a stopped node, and waits until it answers CQL, but not until the others consider it
    /// up ([`Nodes::await_ring`]). Does nothing if the node has a process.
    ///
    /// # Errors
    /// The node does not answer within the spec's `start_timeout`, or dies. The message contains
    /// the last lines of its log.
    pub fn start_node(&mut self, index: usize) -> Result<()> {
        if self.nodes[index].process.is_some() {
            return Ok(());
        }
        let limit = self.spec.start_timeout;
        self.launch(index)?;
        let deadline = Deadline::after(limit);
        ready::answers(&mut self.nodes, index, &self.access, deadline, limit)
    }

    /// Starts all stopped nodes: first the seed, then the others in parallel. A node that does not
    /// find a seed within the ring delay exits ("Unable to gossip with any peers"), even if it was
    /// a member before.
    ///
    /// # Errors
    /// The errors of [`Nodes::start_node`] and [`Nodes::await_ring`].
    pub fn start_all(&mut self) -> Result<()> {
        let limit = self.spec.start_timeout;
        let deadline = Deadline::after(limit);
        self.start_node(0)?;
        for index in 1..self.nodes.len() {
            if self.nodes[index].process.is_none() {
                self.launch(index)?;
            }
        }
        for index in 1..self.nodes.len() {
            ready::answers(&mut self.nodes, index, &self.access, deadline, limit)?;
        }
        self.await_ring()
    }

    /// Waits until every node considers all other nodes up, and all nodes agree on the schema.
    ///
    /// # Errors
    /// The nodes do not agree within the spec's `start_timeout`.
    pub fn await_ring(&mut self) -> Result<()> {
        if self.nodes.len() == 1 {
            return Ok(());
        }
        let limit = self.spec.start_timeout;
        let deadline = Deadline::after(limit);
        ready::see_each_other(&mut self.nodes, &self.access, deadline, limit)
    }
}

struct ConfigurationChange {
    /// New limits of the hosts. `None` without a change.
    limits: Option<HostSpec>,
    /// True if the JVM will detect a machine of another size.
    other_machine: bool,
    /// True if the nodes need other files or options.
    other_files: bool,
    /// True if an earlier change was interrupted. The configuration and state of each node are then
    /// unknown, so all nodes stop, and all get new files and limits.
    is_again: bool,
}

impl ConfigurationChange {
    fn between(
        old: &LocalSpec,
        new: &LocalSpec,
        has_hosts: bool,
        is_again: bool,
    ) -> ConfigurationChange {
        let before = old.hosts.as_ref().map(|hosts| &hosts.host);
        let limits = new.hosts.as_ref().map(|hosts| hosts.host.clone());
        let limits = limits.filter(|limits| has_hosts && (is_again || before != Some(limits)));
        ConfigurationChange {
            other_machine: limits.is_some() && (is_again || new.has_other_machine(old)),
            other_files: is_again || new.has_other_files(old),
            limits,
            is_again,
        }
    }
}

/// Merges all groups into one. Returns an empty list for an empty list.
fn together(groups: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let mut all = groups.concat();
    all.sort_unstable();
    if all.is_empty() {
        Vec::new()
    } else {
        vec![all]
    }
}

/// Flushes a node and stops its client connections. Without a Jolokia agent, the node's own
/// shutdown does both.
fn drain(node: &LocalNode) -> Result<()> {
    const STORAGE: &str = "org.apache.cassandra.db:type=StorageService";
    if node.process.is_none_or(|process| node.host.how_ended(process).is_some()) {
        return Ok(());
    }
    if let Some(jolokia) = &node.jolokia {
        jolokia.call(STORAGE, "drain", &[])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use target_spec::{HostsSpec, Placing};

    /// Earlier, `--topology none` did nothing after a failed `--topology pinned`, because the
    /// recorded topology was still `none`.
    #[test]
    fn after_a_failed_change_every_setting_is_applied_again() {
        let old = LocalSpec {
            hosts: Some(HostsSpec::default()),
            ..LocalSpec::default()
        };
        let done = |new: &LocalSpec, has_hosts: bool, is_again: bool| {
            let step = ConfigurationChange::between(&old, new, has_hosts, is_again);
            (step.other_files, step.other_machine, step.limits.is_some())
        };
        assert_eq!(done(&old, true, false), (false, false, false));
        assert_eq!(done(&old, true, true), (true, true, true));
        assert_eq!(done(&old, false, true), (true, false, false));
        let placed = LocalSpec {
            topology: Topology {
                placing: Placing::Pinned,
                ..Topology::default()
            },
            ..old.clone()
        };
        assert_eq!(done(&placed, true, false), (true, false, false));
        let mut smaller = old.clone();
        smaller.hosts.as_mut().unwrap().host.memory_bytes = Some(3 << 30);
        assert_eq!(done(&smaller, true, false), (false, true, true));
    }

    #[test]
    fn together_all_nodes_are_one_group_and_the_seed_is_its_first() {
        assert_eq!(
            together(vec![vec![0, 3], vec![1, 4], vec![2, 5]]),
            [[0, 1, 2, 3, 4, 5]]
        );
        assert_eq!(together(Vec::new()), Vec::<Vec<usize>>::new());
    }
}
