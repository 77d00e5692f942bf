//! Nodes that are stopped and started again: for another configuration, one after the other so that
//! the ring stays or all together where nobody needs it meanwhile, or because somebody changes
//! their files.

use super::node::LocalNode;
use super::record::SpecState;
use super::{Nodes, check, ready, room, settings};
use crate::spec::LocalSpec;
use anyhow::{Context, Result, bail};
use host::process::Identity;
use host::{HostSpec, Hosts};
use measure::clock::Deadline;
use std::time::Duration;

/// How long a drained node may take to end. It was seen to take 0.7 s; a full memtable that could
/// not be drained before takes seconds.
const TERM_LIMIT: Duration = Duration::from_secs(60);

/// How nodes that run are given another configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restarts {
    /// One after the other, so that the ring answers all the time. On three hosts that share two
    /// cores it was seen to take 286 s.
    InTurn,
    /// All are stopped, then all started: for whoever brings the data back afterwards anyway.
    Together,
}

/// Keys of `cassandra.yaml` that decide how data is placed or written: a node that has data under
/// one value of them does not start, does not find it, or has files of both kinds under another.
const STORAGE_KEYS: [&str; 9] = [
    "allocate_tokens_for_keyspace",
    "allocate_tokens_for_local_replication_factor",
    "endpoint_snitch",
    "initial_token",
    "num_tokens",
    "partitioner",
    "sstable",
    "storage_compatibility_mode",
    "uuid_sstable_identifiers_enabled",
];

impl LocalSpec {
    /// Whether nodes that run as `from` come to this by restarting with other files, and hosts by
    /// other limits: the ring, the version, the volumes and the format of the data stay.
    pub fn restart_suffices(&self, from: &LocalSpec) -> bool {
        self.hindrances(from).is_empty()
    }

    /// What only a new cluster can change, in words.
    fn hindrances(&self, from: &LocalSpec) -> Vec<&'static str> {
        let fixed = |spec: &LocalSpec| {
            let hosts = spec.hosts.as_ref();
            hosts.map(|hosts| (hosts.count, hosts.isolation, hosts.host.volume_bytes))
        };
        let mut found = Vec::new();
        let mut differs = |what: &'static str, differs: bool| {
            if differs {
                found.push(what);
            }
        };
        differs("the version", self.version != from.version);
        differs("the number of nodes", self.nodes != from.nodes);
        differs("the racks", self.racks != from.racks);
        differs("the data center", self.datacenter != from.datacenter);
        differs("the address", self.address != from.address);
        differs(
            "who may connect",
            self.authentication != from.authentication,
        );
        differs("the hosts or their volumes", fixed(self) != fixed(from));
        for key in STORAGE_KEYS {
            differs(key, self.yaml.get(key) != from.yaml.get(key));
        }
        found
    }

    /// Whether files or options of the nodes differ.
    fn has_other_files(&self, from: &LocalSpec) -> bool {
        self.heap_bytes != from.heap_bytes
            || self.collector != from.collector
            || self.yaml != from.yaml
            || self.jvm_options != from.jvm_options
            || self.class_sharing != from.class_sharing
    }

    /// Whether the machine is another one to a JVM, which asks for its size once.
    fn has_other_machine(&self, from: &LocalSpec) -> bool {
        let machine = |spec: &LocalSpec| {
            let host = spec.hosts.as_ref().map(|hosts| hosts.host.clone());
            host.map(|host| (host.cpus, host.cpu_quota, host.memory_bytes))
        };
        machine(self) != machine(from)
    }
}

impl Nodes {
    /// See [`crate::Cluster::reconfigure`].
    pub fn reconfigure(
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
        room::check_growth(spec.nodes, self.spec.heap_bytes, spec.heap_bytes)?;
        let clusters = self.folder.parent().context("the folder of clusters")?;
        self.program.share_classes(spec, clusters, say)?;
        let old = std::mem::replace(&mut self.spec, spec.clone());
        let limits = spec.hosts.as_ref().map(|hosts| hosts.host.clone());
        let limits = limits.filter(|limits| {
            let before = old.hosts.as_ref().map(|hosts| &hosts.host);
            self.hosts.is_some() && before != Some(limits)
        });
        let other_machine = limits.is_some() && spec.has_other_machine(&old);
        let mut groups = self.groups(other_machine, spec.has_other_files(&old));
        if restarts == Restarts::Together {
            groups = together(groups);
        }
        let mut restarted = Vec::new();
        for group in groups {
            restarted.extend(self.restart(
                &group,
                limits.as_ref().filter(|_| other_machine),
                say,
            )?);
        }
        if let Some(limits) = limits.as_ref().filter(|_| !other_machine) {
            for host in self.hosts.iter_mut().flat_map(Hosts::all_mut) {
                host.set_limits(limits)?;
            }
        }
        self.write_spec()?;
        Ok(restarted)
    }

    /// Stops the nodes of a group, gives them their new files and their hosts `limits`, and starts
    /// them; their names.
    fn restart(
        &mut self,
        group: &[usize],
        limits: Option<&HostSpec>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Vec<String>> {
        let names = group
            .iter()
            .map(|index| self.nodes[*index].layout.name.clone());
        let names: Vec<String> = names.collect();
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
            let layout = &self.nodes[*index].layout;
            settings::write(layout, &self.spec.yaml, &self.secret)?;
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
        match (&self.hosts, other_machine, other_files) {
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
    fn limit_host(&mut self, index: usize, limits: &HostSpec) -> Result<()> {
        let hosts = self.hosts.as_mut().context("there are no hosts")?.all_mut();
        let at = index % hosts.len().max(1);
        hosts[at].set_limits(limits)
    }

    /// Writes down what the nodes run as now.
    fn write_spec(&mut self) -> Result<()> {
        self.state.spec = Some(SpecState::of(&self.spec));
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

    /// Asks the process of a node to end, kills it after `grace`, and waits until it is gone.
    pub(super) fn end_node(&mut self, index: usize, grace: Duration) -> Result<()> {
        let node = &mut self.nodes[index];
        if let Some(process) = node.process.take() {
            process
                .end(grace)
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

/// All nodes that are to be restarted as one group; none if there are none.
fn together(groups: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let mut all = groups.concat();
    all.sort_unstable();
    match all.is_empty() {
        true => Vec::new(),
        false => vec![all],
    }
}

/// Flushes a node and closes it for clients; without an agent, its own end does that.
fn drain(node: &LocalNode) -> Result<()> {
    const STORAGE: &str = "org.apache.cassandra.db:type=StorageService";
    let runs = node.process.as_ref().map(|process| process.pid());
    if runs.and_then(Identity::of).is_none() {
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
    use crate::spec::{Authentication, Collector};
    use host::HostsSpec;
    use serde_json::json;

    fn changed(change: impl FnOnce(&mut LocalSpec)) -> LocalSpec {
        let mut spec = LocalSpec {
            hosts: Some(HostsSpec::default()),
            ..LocalSpec::default()
        };
        change(&mut spec);
        spec
    }

    fn host(change: impl FnOnce(&mut HostSpec)) -> LocalSpec {
        changed(|spec| change(&mut spec.hosts.as_mut().unwrap().host))
    }

    #[test]
    fn together_all_nodes_are_one_group_and_the_seed_is_its_first() {
        assert_eq!(
            together(vec![vec![0, 3], vec![1, 4], vec![2, 5]]),
            [[0, 1, 2, 3, 4, 5]]
        );
        assert_eq!(together(Vec::new()), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn a_restart_changes_what_files_options_and_limits_say() {
        let from = changed(|_| ());
        let yaml = |key: &str| {
            let key = key.to_string();
            changed(move |spec| {
                spec.yaml.insert(key, json!(7));
            })
        };
        let cases = [
            (changed(|_| ()), true, false),
            (changed(|spec| spec.heap_bytes = 640 << 20), true, true),
            (
                changed(|spec| spec.collector = Some(Collector::Z)),
                true,
                true,
            ),
            (yaml("concurrent_reads"), true, true),
            (host(|host| host.cpu_quota = Some(0.5)), true, true),
            (
                host(|host| host.link.rate_bits_per_s = Some(1000)),
                true,
                false,
            ),
            (host(|host| host.volume_bytes = Some(1 << 30)), false, false),
            (yaml("num_tokens"), false, true),
            (yaml("sstable"), false, true),
            (changed(|spec| spec.class_sharing = true), true, true),
            (changed(|spec| spec.nodes = 2), false, false),
            (changed(|spec| spec.hosts = None), false, true),
            (
                changed(|spec| spec.authentication = Authentication::Password),
                false,
                false,
            ),
            (changed(|spec| spec.version = "5.0.6".into()), false, false),
        ];
        for (index, (to, suffices, restarts)) in cases.iter().enumerate() {
            assert_eq!(to.restart_suffices(&from), *suffices, "case {index}");
            let restarted = to.has_other_files(&from) || to.has_other_machine(&from);
            assert_eq!(restarted, *restarts, "case {index}");
        }
    }
}
