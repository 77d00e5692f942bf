//! The cluster that is broken, as faults see it: a real one ([`crate::Live`]) or a simulated one.

use anyhow::Result;
use cluster::{DataFile, Members, Operation, RestartMode, Row, View};
use host::process::Identity;
use host::{Injection, Join, Query, QueryAnswer, Restartable, Step as FileStep};
use serde_json::{Map, Value};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// By whose agent something is done or seen. Nodes and hosts are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// That of a node's host, or of the machine that nodes share.
    Node(usize),
    /// That of a host.
    Host(usize),
    /// That of the switch between hosts.
    Switch,
}

/// What came of healing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Healed {
    /// Whether agents had done it already, by themselves.
    pub by_itself: bool,
    /// The nodes that were started.
    pub started: Vec<usize>,
    /// What became of what was broken, if that is not the same every time.
    pub became: Option<String>,
}

/// A node of the cluster that is broken.
#[derive(Clone, Debug)]
pub struct NodeSeen {
    /// Its process; none while it is stopped.
    pub process: Option<Identity>,
    /// Its host; none where nodes share the machine.
    pub host: Option<usize>,
    /// Where it answers clients.
    pub cql: SocketAddr,
    /// Where it answers other nodes.
    pub storage: SocketAddr,
}

/// A host of the cluster that is broken.
#[derive(Clone, Debug)]
pub struct HostSeen {
    /// Its number on the switch, counted from 1.
    pub number: usize,
    /// Where its volume is mounted; its plain folder without one.
    pub folder: PathBuf,
    /// The name of its volume's device; none without a volume.
    pub device: Option<String>,
}

/// The cluster that is broken, whoever looks at it, and a clock.
pub trait World {
    /// Now, monotonic clock.
    fn now_ns(&self) -> u64;

    /// Waits for so long, or until healing is ordered; whether it is.
    fn wait(&mut self, for_: Duration) -> bool;

    /// All nodes.
    fn nodes(&self) -> Vec<NodeSeen>;

    /// Looks which processes the nodes have now: others may have started them.
    fn refresh(&mut self);

    /// All hosts that are more than addresses.
    fn hosts(&self) -> Vec<HostSeen>;

    /// The largest file of a node with data of tables that are not Cassandra's own, and its bytes.
    ///
    /// # Errors
    /// It has none, or nobody can look.
    fn data_file(&mut self, node: usize) -> Result<(PathBuf, u64)>;

    /// The process of a node, with what starts it again.
    ///
    /// # Errors
    /// It does not run.
    fn restartable(&self, node: usize) -> Result<Restartable>;

    /// The same without its data, which it streams from the others; and the folders of its data.
    ///
    /// # Errors
    /// It does not run.
    fn anew(&self, node: usize, how: RestartMode) -> Result<(Restartable, Vec<PathBuf>)>;

    /// The process of a node, with what starts it with a wall clock that is off by so many
    /// milliseconds (below 0, behind); what is done to its files for that, and what undoes it.
    ///
    /// # Errors
    /// It does not run.
    fn shifted(&self, node: usize, by_ms: i64) -> Result<(Restartable, [FileStep; 2])>;

    /// How far the wall clock of a node is from ours, as it tells a client: at least and at most,
    /// ms; below 0, behind.
    ///
    /// # Errors
    /// It does not tell within `limit`.
    fn clock_off_ms(&mut self, node: usize, limit: Duration) -> Result<[i64; 2]>;

    /// How a host would have one node more.
    ///
    /// # Errors
    /// It can have none.
    fn newcomer(&self, host: usize) -> Result<Join>;

    /// Whether nothing stands in those folders.
    ///
    /// # Errors
    /// Nobody can look.
    fn is_empty(&mut self, node: usize) -> Result<bool>;

    /// Breaks something; `nodes` are those whose processes are touched, in their order. If nobody
    /// heals it, the agent does so after `within`.
    ///
    /// # Errors
    /// It cannot be done.
    fn inject(&mut self, by: Via, what: Injection, nodes: &[usize], within: Duration)
    -> Result<()>;

    /// From now on agents heal what is broken after `within`, whatever they were told before.
    ///
    /// # Errors
    /// An agent is gone.
    fn renew(&mut self, within: Duration) -> Result<()>;

    /// Makes whole all that was broken, the last first.
    ///
    /// # Errors
    /// Something cannot be made whole; all else is.
    fn heal(&mut self) -> Result<Healed>;

    /// Makes whole what was broken last of the process of a node.
    ///
    /// # Errors
    /// It cannot be made whole, and is tried again when all is.
    fn heal_node(&mut self, node: usize) -> Result<()>;

    /// Kills the process of a node, if it lives, and starts another one, in the way in which
    /// healing has started it; `forgiving`, it skips what of its commit log cannot be read.
    ///
    /// # Errors
    /// It cannot be done.
    fn restart(&mut self, node: usize, forgiving: bool) -> Result<()>;

    /// Looks at something.
    ///
    /// # Errors
    /// Nobody can look.
    fn see(&mut self, by: Via, what: Query) -> Result<QueryAnswer>;

    /// A port at which a host receives what another one sends, for so long.
    ///
    /// # Errors
    /// Its agent is gone, or no port is left.
    fn receive(&mut self, by: Via, limit: Duration) -> Result<u16>;

    /// Keeps a connection to a node from now on, as a client.
    ///
    /// # Errors
    /// It is not reached within `limit`.
    fn connect(&mut self, node: usize, limit: Duration) -> Result<()>;

    /// Whether that connection is still there.
    fn is_connected(&mut self) -> bool;

    /// Tells a node to do something that takes it a while, and goes on.
    ///
    /// # Errors
    /// It has no MBeans to be told by, or works on something else for us.
    fn operate(&mut self, node: usize, what: Operation, limit: Duration) -> Result<()>;

    /// What came of what a node was told to do last; none: it is at work, or was told nothing.
    fn operated(&mut self, node: usize) -> Option<Result<String>>;

    /// What a node says of the ring.
    ///
    /// # Errors
    /// It has no MBeans, or does not tell within the limit.
    fn members(&mut self, node: usize, limit: Duration) -> Result<Members>;

    /// Tells a node to do something, and waits until it has; what it said of it.
    ///
    /// # Errors
    /// It has no MBeans to be told by, refuses, or has not done it within `limit`.
    fn tell(&mut self, node: usize, what: Operation, limit: Duration) -> Result<String>;

    /// The keyspaces of clients that a node knows, or else those of Cassandra's own that have
    /// replicas on other nodes.
    ///
    /// # Errors
    /// It does not tell within `limit`.
    fn keyspaces(&mut self, node: usize, limit: Duration) -> Result<Vec<String>>;

    /// The files with data that are on the disk of a node, of these keyspaces; of their snapshot of
    /// a name, if one is given.
    ///
    /// # Errors
    /// Nobody can look.
    fn data_files(
        &mut self,
        node: usize,
        keyspaces: &[String],
        snapshot: Option<&str>,
    ) -> Result<Vec<DataFile>>;

    /// What removes a snapshot of these keyspaces from the disk of a node.
    ///
    /// # Errors
    /// Nobody can look.
    fn clearing(&mut self, node: usize, keyspaces: &[String], tag: &str) -> Result<Vec<FileStep>>;

    /// What gives the `cassandra.yaml` of a node other values for some keys, and what undoes it.
    ///
    /// # Errors
    /// It cannot be read, or a key is not to be set.
    fn configured(
        &mut self,
        node: usize,
        yaml: &Map<String, Value>,
    ) -> Result<(FileStep, FileStep)>;

    /// What a node shows of itself to a client.
    ///
    /// # Errors
    /// It does not answer within `limit`.
    fn rows(&mut self, node: usize, view: View, limit: Duration) -> Result<Vec<Row>>;

    /// The addresses of the nodes that a node holds to be up, itself too.
    ///
    /// # Errors
    /// It does not tell within `limit`.
    fn live(&mut self, node: usize, limit: Duration) -> Result<Vec<String>>;

    /// Asks a node as a client.
    ///
    /// # Errors
    /// It has not answered within the limit; why.
    fn ask(&mut self, node: usize, limit: Duration) -> Result<()>;
}
