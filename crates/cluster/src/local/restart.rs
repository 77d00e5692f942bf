//! Nodes that are stopped and started again: for another configuration, one after the other so that
//! the ring stays or all together where nobody needs it meanwhile, or because somebody changes
//! their files.

use super::node::LocalNode;
use super::nodes::Nodes;
use super::record::SpecState;
use super::start::check;
use super::{ready, room, settings};
use crate::cluster::Cluster;
use anyhow::{Context, Result, bail};
use host::Hosts;
use measure::clock::Deadline;
use std::time::Duration;
use target::{HostSpec, LocalSpec, Restarts, Topology};

/// How long a drained node may take to end. It was seen to take 0.7 s; a full memtable that could
/// not be drained before takes seconds.
const TERM_LIMIT: Duration = Duration::from_secs(60);

impl Cluster {
    /// Turns the nodes of ours into those of `spec`: each is drained, stopped, given its new files
    /// and started. In turn, it answers CQL and is seen by all others before the next one.
    /// Returns the names of the nodes that were restarted: none if nothing differs that a JVM reads
    /// at its start. [`Cluster::nodes`] has the new process ids afterwards.
    ///
    /// # Errors
    /// It is not a cluster of ours; `spec` cannot be had by restarting (see
    /// [`LocalSpec::restart_suffices`]); a node does not come back, with the last lines of its log.
    /// The cluster is of no use then.
    pub fn reconfigure(
        &mut self,
        spec: &LocalSpec,
        restarts: Restarts,
        say: &mut dyn FnMut(&str),
    ) -> Result<Vec<String>> {
        let not_ours = "only a local target can be given another configuration";
        self.restarting(not_ours, |nodes| nodes.reconfigure(spec, restarts, say))
    }

    /// Gives the nodes of a local cluster other places on their machine: they restart one after
    /// the other. Their names.
    ///
    /// # Errors
    /// As [`Cluster::reconfigure`]; or the machine has not what is asked for.
    pub fn place(&mut self, topology: Topology, say: &mut dyn FnMut(&str)) -> Result<Vec<String>> {
        let not_ours = "only nodes of ours can be placed on their machine";
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
    /// See [`Cluster::reconfigure`].
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
                "{} cannot be changed by a restart: start a new cluster",
                hindrances.join(", ")
            );
        }
        if self.are_on_machines() {
            self.check_growth(spec)?;
            self.share_classes_there(spec, say)?;
        } else {
            room::check_growth(spec.nodes, self.spec.heap_bytes, spec.heap_bytes)?;
            let clusters = self.folder.parent().context("the folder of clusters")?;
            self.program.share_classes(spec, clusters, say)?;
        }
        let layout = self.lay_out(spec)?;
        let spec = &spec.on_machines(self.spec.hosts.as_ref());
        let old = std::mem::replace(&mut self.spec, spec.clone());
        self.layout = layout;
        let step = Step::between(&old, spec, self.hosts().is_some(), self.state.unsettled);
        let mut groups = self.groups(step.other_machine, step.other_files);
        if restarts == Restarts::Together || step.is_again {
            groups = together(groups);
        }
        // Before anything changes: who is killed on the way, or fails, leaves nodes of both kinds.
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

    /// Refuses a larger heap that does not fit a machine of the nodes.
    fn check_growth(&self, spec: &LocalSpec) -> Result<()> {
        let hosts = self.hosts().map(Hosts::all).unwrap_or_default();
        for (host, each) in hosts.iter().zip(spec.nodes_of_hosts()) {
            let used = target::memory_bytes(each, self.spec.heap_bytes);
            let free = host.agent().available_memory()?.saturating_add(used);
            room::fits_memory(each, spec.heap_bytes, free)
                .with_context(|| host.agent().name().to_owned())?;
        }
        Ok(())
    }

    /// Stops the nodes of a group, gives them their new files and their hosts `limits`, and starts
    /// them; their names.
    fn restart(
        &mut self,
        group: &[usize],
        limits: Option<&HostSpec>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Vec<String>> {
        let names: Vec<String> =
            group.iter().map(|index| self.nodes[*index].layout.name.clone()).collect();
        let what = names.join(", ");
        say(&format!("restarting {what} with another configuration"));
        self.drain_together(group);
        for index in group {
            self.stop_node(*index)?;
        }
        // While nothing runs there: less memory would kill a node of the old size.
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

    /// Drains several nodes at once. What goes wrong is said when they are stopped, one by one.
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

    /// The nodes that are stopped together: those of one host if its size changes, otherwise one at
    /// a time; none if no file changes either.
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

    /// Gives the host of a node other limits.
    fn limit_host(&self, index: usize, limits: &HostSpec) -> Result<()> {
        let host = self.host_of(index).context("there are no hosts")?;
        host.set_limits(limits)
    }

    /// Writes down what the nodes run as now, or, while that is unsettled, what they are to.
    fn write_spec(&mut self, unsettled: bool) -> Result<()> {
        self.state.spec = Some(SpecState::of(&self.spec));
        self.state.unsettled = unsettled;
        self.state.write(&self.folder)
    }

    /// Drains one node, stops it and waits until its process is gone, with its ports. Nothing
    /// happens to one that is stopped already.
    ///
    /// # Errors
    /// It cannot be drained, or does not go.
    pub fn stop_node(&mut self, index: usize) -> Result<()> {
        let node = &self.nodes[index];
        drain(node).with_context(|| format!("drain {}", node.layout.name))?;
        self.end_node(index, TERM_LIMIT)
    }

    /// Ends all nodes, of which some may not answer: a node that is asked to end drains itself.
    fn end_all(&mut self) -> Result<()> {
        (0..self.nodes.len()).try_for_each(|index| self.end_node(index, TERM_LIMIT))
    }

    /// Asks the process of a node to end, kills it after `grace`, and waits until it is gone.
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

    /// Starts a node that is stopped, and waits until it answers CQL; see [`Nodes::await_ring`] for
    /// the others' view of it.
    ///
    /// # Errors
    /// It does not answer within the spec's `start_timeout`, or dies; with its last log lines.
    pub fn start_node(&mut self, index: usize) -> Result<()> {
        if self.nodes[index].process.is_some() {
            return Ok(());
        }
        let limit = self.spec.start_timeout;
        self.launch(index)?;
        let deadline = Deadline::after(limit);
        ready::answers(&mut self.nodes, index, &self.access, deadline, limit)
    }

    /// Starts all nodes that are stopped: the first, which is the seed, alone, and then the others
    /// at once. One that found no seed within the ring delay would end, though it has been of the
    /// ring before ("Unable to gossip with any peers").
    ///
    /// # Errors
    /// As [`Nodes::start_node`] and [`Nodes::await_ring`].
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

    /// Waits until every node sees all others up, and they agree on the schema.
    ///
    /// # Errors
    /// They do not within the spec's `start_timeout`.
    pub fn await_ring(&mut self) -> Result<()> {
        if self.nodes.len() == 1 {
            return Ok(());
        }
        let limit = self.spec.start_timeout;
        let deadline = Deadline::after(limit);
        ready::see_each_other(&mut self.nodes, &self.access, deadline, limit)
    }
}

/// What lies between two configurations.
struct Step {
    /// What hosts are limited to from now on; none: nothing of it changes.
    limits: Option<HostSpec>,
    /// Whether the machine is another one to a JVM.
    other_machine: bool,
    /// Whether files or options of nodes differ.
    other_files: bool,
    /// Whether an earlier step did not come to its end. Nobody knows then which nodes run as what,
    /// or at all, so all are stopped before the first is started: one that does not start with what
    /// it was given then gets its new files and limits before it is tried again.
    is_again: bool,
}

impl Step {
    fn between(old: &LocalSpec, new: &LocalSpec, has_hosts: bool, is_again: bool) -> Step {
        let before = old.hosts.as_ref().map(|hosts| &hosts.host);
        let limits = new.hosts.as_ref().map(|hosts| hosts.host.clone());
        let limits = limits.filter(|limits| has_hosts && (is_again || before != Some(limits)));
        Step {
            other_machine: limits.is_some() && (is_again || new.has_other_machine(old)),
            other_files: is_again || new.has_other_files(old),
            limits,
            is_again,
        }
    }
}

/// All nodes that are to be restarted as one group; none if there are none.
fn together(groups: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let mut all = groups.concat();
    all.sort_unstable();
    if all.is_empty() {
        Vec::new()
    } else {
        vec![all]
    }
}

/// Flushes a node and closes it for clients; without an agent, its own end does that.
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
    use target::{HostsSpec, Placing};

    /// `apply --topology pinned` had failed at the second node; `--topology none`, which was still
    /// written down, then found nothing to do, with the first node pinned and the second one down.
    #[test]
    fn after_a_change_that_failed_everything_is_done_again_even_if_nothing_seems_to_differ() {
        let old = LocalSpec {
            hosts: Some(HostsSpec::default()),
            ..LocalSpec::default()
        };
        let done = |new: &LocalSpec, has_hosts: bool, is_again: bool| {
            let step = Step::between(&old, new, has_hosts, is_again);
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
