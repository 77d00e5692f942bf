//! Agents on the machines of an attached cluster, and the assignment of nodes to machines.
//!
//! Invariants: cassay contacts all machines in parallel, and reports all unreachable machines
//! together. Connecting changes nothing on a machine except that it undoes changes of earlier
//! commands. Each agent removes its files when it ends.

use anyhow::{Context, Result, bail};
use cassandra::NodeInfo;
use cassandra::log_position::Marks;
use host::process::Identity;
use host::{Agent, Destination, Service};
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use target_spec::{AttachedHost, HostIndex, NodeIndex, folder_of_node};

pub(crate) const KEY: &str = "target.attach.hosts";

/// Machines of an attached cluster, all of them connected.
#[derive(Debug, Default)]
pub(crate) struct AttachedHosts {
    pub all: Vec<ReachedHost>,
    /// Machine and logs of each node, in node order. `None` if the machine is unknown.
    of_nodes: Vec<Option<Home>>,
}

#[derive(Debug)]
struct Home {
    host: HostIndex,
    /// Log folder of the node and the initial lengths of its files, or the reason why the folder is
    /// unreadable.
    logs: Result<(PathBuf, Marks), String>,
}

/// Machine with a running agent.
#[derive(Debug)]
pub(crate) struct ReachedHost {
    /// Name in reports: the `ssh` destination, without user and port if it is then still unique.
    pub name: String,
    pub agent: Arc<Agent>,
    spec: AttachedHost,
    /// `Ok` if the agent undoes changes even if processes are killed. Otherwise, the reason why the
    /// changes would remain.
    pub undoes: Result<(), String>,
    /// True if cassay has undone a change of an earlier command on the machine.
    is_mended: bool,
}

impl AttachedHosts {
    /// Connects to all machines in `specs`, and undoes the changes of earlier commands on these
    /// machines. Does not assign nodes yet.
    ///
    /// # Errors
    /// Machines are unreachable. The error lists each of them with the reason.
    pub fn reach(specs: &[AttachedHost], say: &mut dyn FnMut(&str)) -> Result<AttachedHosts> {
        if specs.is_empty() {
            return Ok(AttachedHosts::default());
        }
        let destinations: Result<Vec<Destination>> = specs.iter().map(destination).collect();
        let agents = Agent::to_all(&destinations?)
            .with_context(|| format!("reach the machines of `{KEY}`"))?;
        let mut hosts = AttachedHosts::default();
        for ((spec, agent), name) in specs.iter().zip(agents).zip(names(specs)) {
            hosts.all.push(ReachedHost::new(name, spec, agent, say));
        }
        Ok(hosts)
    }

    /// Returns true if cassay has undone a change on a machine. Nodes may then be starting.
    pub fn is_mended(&self) -> bool {
        self.all.iter().any(|host| host.is_mended)
    }

    /// Assigns `nodes` to their machines, and makes the log folders readable for the agents.
    ///
    /// # Errors
    /// A machine has no node, a node has several machines, or a `control` command would stop
    /// several nodes.
    pub fn with_nodes(
        mut self,
        nodes: &[NodeInfo],
        say: &mut dyn FnMut(&str),
    ) -> Result<AttachedHosts> {
        if self.all.is_empty() {
            return Ok(self);
        }
        let all = &self.all;
        let homes = homes(all, nodes)?;
        check_controls(all, &homes, nodes)?;
        let home = |(home, node): (Option<usize>, &NodeInfo)| {
            let host = home?;
            let logs = all[host].lent(node.address.ip());
            let host = HostIndex(host);
            Some(Home { host, logs })
        };
        self.of_nodes = homes.into_iter().zip(nodes).map(home).collect();
        say(&self.words(nodes));
        Ok(self)
    }

    pub fn for_node(&self, node: usize) -> Option<&ReachedHost> {
        self.all.get(self.index_of(NodeIndex(node))?.0)
    }

    pub fn index_of(&self, node: NodeIndex) -> Option<HostIndex> {
        self.of_nodes.get(node.0)?.as_ref().map(|home| home.host)
    }

    /// Returns the log folder of a node with the initial lengths of its files, or the reason why
    /// the folder is unreadable. Returns `None` if the node's machine is unknown.
    pub fn logs(&self, node: usize) -> Option<Result<(&Path, &Marks), String>> {
        let home = self.of_nodes.get(node)?.as_ref()?;
        let logs = home.logs.as_ref().map_err(String::clone);
        Some(logs.map(|(folder, marks)| (folder.as_path(), marks)))
    }

    pub fn nodes_of(&self, host: &ReachedHost) -> impl Iterator<Item = usize> {
        let index = self.all.iter().position(|one| one.name == host.name).map(HostIndex);
        let nodes = 0..self.of_nodes.len();
        nodes.filter(move |node| self.index_of(NodeIndex(*node)) == index)
    }

    /// # Errors
    /// The machine of the node is unknown, its agent fails, or no process serves `address`.
    pub fn process(&self, node: usize, address: SocketAddr) -> Result<Identity, String> {
        let host = self.for_node(node).ok_or("`hosts` does not contain the machine of the node")?;
        match host.agent.find(&host.service(address)) {
            Ok(Some(process)) => Ok(process),
            Ok(None) => Err(format!(
                "no process listens on {address} on the machine {}",
                host.name
            )),
            Err(error) => Err(format!("{}: {error:#}", host.name)),
        }
    }

    /// Returns the processes of all nodes. `None` if the node's machine is unknown.
    pub fn processes(&self, nodes: &[NodeInfo]) -> Vec<Option<Result<Identity, String>>> {
        let all = nodes.iter().enumerate();
        all.map(|(index, node)| {
            self.for_node(index)?;
            Some(self.process(index, node.address))
        })
        .collect()
    }

    /// Calls `of` for every node and its machine. The error contains the failures of all nodes. An
    /// unknown machine is also a failure.
    pub fn every(
        &self,
        nodes: &[NodeInfo],
        of: impl Fn(&ReachedHost, usize) -> Result<(), String>,
    ) -> Result<(), String> {
        let missing_of = |(index, node): (usize, &NodeInfo)| {
            let answer = match self.for_node(index) {
                Some(host) => of(host, index),
                None => Err("`hosts` does not contain the machine of the node".to_owned()),
            };
            Some(format!("{}: {}", node.name, answer.err()?))
        };
        let missing: Vec<String> = nodes.iter().enumerate().filter_map(missing_of).collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(missing.join("; "))
        }
    }

    /// Ends all agents in parallel. An agent undoes its changes before it ends.
    ///
    /// # Errors
    /// An agent cannot undo its changes, or does not end. The other agents still end.
    pub fn end(&self) -> Result<()> {
        let end = |host: &ReachedHost| {
            let ended = host.agent.end();
            ended.with_context(|| format!("restore the original state of {}", host.name))
        };
        std::thread::scope(|scope| {
            let ends: Vec<_> = self.all.iter().map(|host| scope.spawn(move || end(host))).collect();
            let all = ends.into_iter().map(|end| match end.join() {
                Ok(ended) => ended,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            all.fold(Ok(()), Result::and)
        })
    }

    fn words(&self, nodes: &[NodeInfo]) -> String {
        let of_host = |host: &ReachedHost| {
            let names = self.nodes_of(host).map(|node| nodes[node].name.as_str());
            format!("{} ({})", host.name, names.collect::<Vec<_>>().join(", "))
        };
        let all: Vec<String> = self.all.iter().map(of_host).collect();
        format!("agents on the nodes' machines: {}", all.join(", "))
    }
}

impl Drop for AttachedHosts {
    /// Drops the agents in parallel, because each drop waits for the end of an agent.
    fn drop(&mut self) {
        std::thread::scope(|scope| {
            for host in self.all.drain(..) {
                scope.spawn(move || drop(host));
            }
        });
    }
}

impl ReachedHost {
    fn new(
        name: String,
        spec: &AttachedHost,
        agent: Agent,
        say: &mut dyn FnMut(&str),
    ) -> ReachedHost {
        let undone = agent.mend(spec.remote.folder.as_deref());
        for what in undone.iter().flatten() {
            say(&format!(
                "{name}: cassay was killed during an earlier command, and now undid its changes: \
                 {what}"
            ));
        }
        ReachedHost {
            name,
            agent: Arc::new(agent),
            spec: spec.clone(),
            is_mended: undone.as_ref().is_ok_and(|undone| !undone.is_empty()),
            undoes: undone.map(drop).map_err(|error| {
                format!("cassay could not undo changes on the machine: {error:#}")
            }),
        }
    }

    /// Returns the commands with which the agent finds, stops and starts a node.
    pub fn service(&self, address: SocketAddr) -> Service {
        let control = self.spec.control.as_ref();
        Service {
            serves: address,
            control: control.map(|control| control.for_node(address.ip())),
        }
    }

    /// Makes the log folder of a node readable for the agent. Returns the folder, and the lengths
    /// of its files.
    fn lent(&self, node: IpAddr) -> Result<(PathBuf, Marks), String> {
        let said = self.spec.logs.as_deref();
        let folder = said
            .map(|folder| folder_of_node(folder, node))
            .ok_or("`hosts` does not set the folder of the node's logs (`logs`)")?;
        self.agent.lend(&folder).map_err(|error| format!("{error:#}"))?;
        let marks = Marks::read(&self.agent, &folder);
        Ok((folder, marks))
    }

    pub fn data(&self, node: IpAddr) -> Option<PathBuf> {
        let folder = self.spec.data.as_deref()?;
        Some(folder_of_node(folder, node))
    }

    /// # Errors
    /// The study does not set `control` for the machine.
    pub fn control(&self, address: SocketAddr) -> Result<[String; 2], String> {
        let missing = "`hosts` does not set the program that stops and starts the node (`control`)";
        let control = self.spec.control.as_ref().ok_or(missing)?;
        Ok(control.programs(address.ip()).map(|words| words.join(" ")))
    }
}

fn destination(spec: &AttachedHost) -> Result<Destination> {
    host::destination::destination(&spec.remote)
}

/// Returns the names of the machines, see [`ReachedHost::name`].
fn names(specs: &[AttachedHost]) -> Vec<String> {
    let plain = |spec: &AttachedHost| {
        let text = spec.remote.ssh.trim_start_matches("ssh://");
        let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
        let end = match host.strip_prefix('[') {
            Some(_) => host.find(']').map_or(host.len(), |at| at + 1),
            None if host.matches(':').count() == 1 => host.find(':').unwrap_or(host.len()),
            None => host.len(),
        };
        host[..end].to_owned()
    };
    let all: Vec<String> = specs.iter().map(plain).collect();
    let is_one = |name: &String| all.iter().filter(|other| *other == name).count() == 1;
    let or_whole = |(name, spec): (&String, &AttachedHost)| {
        let chosen = if is_one(name) { name } else { &spec.remote.ssh };
        chosen.clone()
    };
    all.iter().zip(specs).map(or_whole).collect()
}

/// Assigns nodes to machines by the addresses in the study, or else by the addresses of the
/// machines' interfaces.
///
/// # Errors
/// An agent does not answer, or the assignment is ambiguous or incomplete.
fn homes(all: &[ReachedHost], nodes: &[NodeInfo]) -> Result<Vec<Option<usize>>> {
    let known: BTreeSet<IpAddr> = nodes.iter().map(|node| node.address.ip()).collect();
    let known: Vec<IpAddr> = known.into_iter().collect();
    let mut theirs = Vec::new();
    for host in all {
        theirs.push(match &host.spec.addresses[..] {
            [] => host.agent.own_addresses(&known)?,
            said => said.to_vec(),
        });
    }
    let names: Vec<&str> = all.iter().map(|host| host.name.as_str()).collect();
    assigned(&names, &theirs, &known)?;
    let home = |node: &NodeInfo| theirs.iter().position(|own| own.contains(&node.address.ip()));
    Ok(nodes.iter().map(home).collect())
}

/// Checks that every machine has a node, and that each address belongs to one machine.
fn assigned(names: &[&str], theirs: &[Vec<IpAddr>], known: &[IpAddr]) -> Result<()> {
    let list = |all: &[IpAddr]| all.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ");
    let mut wrong = Vec::new();
    for (name, own) in names.iter().zip(theirs) {
        if !own.iter().any(|address| known.contains(address)) {
            wrong.push(format!(
                "{name} has none of the addresses that the cluster reports for nodes: {}",
                list(known)
            ));
        }
    }
    for address in known {
        let has_it = names.iter().zip(theirs).filter(|(_, own)| own.contains(address));
        let homes: Vec<&str> = has_it.map(|(name, _)| *name).collect();
        if homes.len() > 1 {
            wrong.push(format!(
                "each node needs one machine, but {address} is an address of {}",
                homes.join(" and of ")
            ));
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    bail!(
        "cassay cannot determine which nodes run on which machine:\n  {}\nhint: for each machine \
         of `{KEY}`, set the addresses of the nodes on it: {{ssh: HOST, address: ADDRESS}}",
        wrong.join("\n  ")
    )
}

/// Checks that each command that stops a node stops no other node.
fn check_controls(
    all: &[ReachedHost],
    of_nodes: &[Option<usize>],
    nodes: &[NodeInfo],
) -> Result<()> {
    for (index, host) in all.iter().enumerate() {
        let there = of_nodes.iter().zip(nodes).filter(|(home, _)| **home == Some(index));
        let own: Vec<&str> = there.map(|(_, node)| node.name.as_str()).collect();
        let control = host.spec.control.as_ref();
        if own.len() > 1 && control.is_some_and(|control| !control.tells_nodes_apart()) {
            bail!(
                "`control` of {} would stop and start {} with the same command\nhint: write {} in \
                 place of the node's address, as in {{systemd: 'cassandra@{}'}}",
                host.name,
                own.join(" and "),
                target_spec::NODE_PLACE,
                target_spec::NODE_PLACE
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use target_spec::RemoteHost;

    #[test]
    fn hosts_are_called_by_their_names_alone_unless_two_share_one() {
        let of = |all: &[&str]| {
            let spec = |ssh: &&str| AttachedHost {
                remote: RemoteHost {
                    ssh: (*ssh).to_owned(),
                    ..RemoteHost::default()
                },
                ..AttachedHost::default()
            };
            names(&all.iter().map(spec).collect::<Vec<_>>())
        };
        let said = [
            "db1",
            "me@db2",
            "ssh://me@db3:2222",
            "ssh://[::1]:22",
            "fe80::1%eth0",
        ];
        assert_eq!(of(&said), ["db1", "db2", "db3", "[::1]", "fe80::1%eth0"]);
        assert_eq!(of(&["a@db1", "b@db1", "db2"]), ["a@db1", "b@db1", "db2"]);
    }

    #[test]
    fn a_machine_without_a_node_and_a_node_with_two_are_reported() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let known = ["10.0.0.1", "10.0.0.2"].map(address);
        let theirs = [
            vec![known[0], known[1]],
            vec![known[1]],
            vec![address("10.0.0.9")],
        ];
        let said = assigned(&["db1", "db2", "db3"], &theirs, &known).unwrap_err().to_string();
        for part in [
            "10.0.0.2 is an address of db1 and of db2",
            "db3 has none of the addresses that the cluster reports for nodes: 10.0.0.1, 10.0.0.2",
            "{ssh: HOST, address: ADDRESS}",
        ] {
            assert!(said.contains(part), "{said}");
        }
        assigned(&["db1", "db2"], &[vec![known[0]], vec![known[1]]], &known).unwrap();
        assigned(&["db1"], &[vec![known[0]]], &known).unwrap();
    }
}
