//! The only crate that knows how to break a thing, see independently that it is broken, make it
//! whole and see that too.
//!
//! Each kind of fault is a file: what it takes, how it is injected, and by what it shows. [`run`]
//! takes one from the first look to the last. What must hold: nothing is broken that was not seen
//! whole before; what heals is armed at the host's agent before anything is broken; that something
//! is broken, or whole again, is said by who has not done it: the kernel of the host, another host,
//! and a client of the node.

mod command;
mod course;
mod data_corrupt;
mod data_lost;
mod disk_errors;
mod disk_full;
mod disk_read_only;
mod disk_removed;
mod disk_slow;
mod disk_stalled;
mod host_power_off;
mod kind;
mod live;
mod look;
mod net_client_cut;
mod net_delay;
mod net_down;
mod net_loss;
mod net_one_way;
mod net_partition;
mod net_reset;
mod net_slow;
mod node_add;
mod node_clock_ahead;
mod node_clock_behind;
mod node_compact;
mod node_decommission;
mod node_descriptors;
mod node_kill;
mod node_pause;
mod node_remove;
mod node_repair;
mod node_restart;
mod node_slow;
mod node_snapshot;
mod node_stop;
mod ring;
mod rolling;
mod rolling_change;
mod rolling_restart;
mod task;

pub use analysis::recovery::{FaultStep, FaultVerdict};
pub use command::Commands;
pub use course::{Outcome, Step, run};
pub use kind::{Hit, Kind, Knob, Length, Loses, Options, Place};
pub use live::{Live, Order, orders};

use anyhow::Result;
use cluster::{Anew, DataFile, Members, Operation, Row, View};
use host::process::Identity;
use host::{Break, Join, Restartable, Seen, Sight, Step as FileStep};
use look::Look;
use serde_json::{Map, Value};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// All kinds of faults.
pub const KINDS: &[Kind] = &[
    node_pause::KIND,
    node_kill::KIND,
    node_stop::KIND,
    node_restart::KIND,
    node_slow::KIND,
    node_descriptors::KIND,
    node_clock_ahead::KIND,
    node_clock_behind::KIND,
    node_repair::KIND,
    node_compact::KIND,
    node_snapshot::KIND,
    rolling_restart::KIND,
    rolling_change::KIND,
    host_power_off::KIND,
    disk_slow::KIND,
    disk_stalled::KIND,
    disk_full::KIND,
    disk_read_only::KIND,
    disk_removed::KIND,
    disk_errors::KIND,
    data_corrupt::KIND,
    data_lost::KIND,
    node_add::KIND,
    node_decommission::KIND,
    node_remove::KIND,
    net_partition::KIND,
    net_one_way::KIND,
    net_client_cut::KIND,
    net_down::KIND,
    net_loss::KIND,
    net_slow::KIND,
    net_delay::KIND,
    net_reset::KIND,
];

/// One fault, with what it knows of itself.
trait Fault {
    /// Does it. If nobody heals it, agents do so after `within`.
    fn inject(&mut self, world: &mut dyn World, within: Duration) -> Result<()>;

    /// Looks, without what was done for it; waits for an answer no longer than `limit`.
    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Look;

    /// After how long, from the injection on, something more is done while it holds.
    fn later(&self) -> Option<Duration> {
        None
    }

    /// Whether its nodes are ours, to be started again if they do not come back.
    fn is_ours(&self) -> bool {
        true
    }

    /// Whether its healing goes on, however long it takes.
    fn is_healing(&mut self, _world: &mut dyn World) -> bool {
        false
    }

    /// Goes on with what takes it a while, for the kinds that do such things; whoever calls looks
    /// between two calls, and whether it is to end.
    ///
    /// # Errors
    /// It has failed.
    fn proceed(&mut self, _world: &mut dyn World) -> Result<Work> {
        Ok(Work::Done(String::new()))
    }

    /// Makes whole what it has broken, when what it has begun has come to its end; `tell` hears
    /// when what was done on the way, where that takes a while.
    ///
    /// # Errors
    /// Something cannot be made whole; all else is.
    fn heal(&mut self, world: &mut dyn World, _tell: Tell<'_>) -> Result<Mended> {
        world.heal()
    }

    /// Does what is done later; what was done, in words.
    fn act(&mut self, _world: &mut dyn World, _within: Duration) -> Result<String> {
        Ok(String::new())
    }
}

/// Who hears at what time, by the monotonic clock, something was done.
type Tell<'a> = &'a mut dyn FnMut(u64, String);

/// How far something has come that takes a while.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Work {
    /// It goes on.
    Going,
    /// It goes on, and this was done since.
    Did(String),
    /// It is over: what was done.
    Done(String),
}

/// By whose agent something is done or seen. Nodes and hosts are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// That of a node's host, or of the machine that nodes share.
    Node(usize),
    /// That of a host.
    Host(usize),
    /// That of the switch between hosts.
    Switch,
}

/// What came of healing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mended {
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
    fn anew(&self, node: usize, how: Anew) -> Result<(Restartable, Vec<PathBuf>)>;

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
    fn inject(&mut self, by: By, what: Break, nodes: &[usize], within: Duration) -> Result<()>;

    /// From now on agents heal what is broken after `within`, whatever they were told before.
    ///
    /// # Errors
    /// An agent is gone.
    fn renew(&mut self, within: Duration) -> Result<()>;

    /// Makes whole all that was broken, the last first.
    ///
    /// # Errors
    /// Something cannot be made whole; all else is.
    fn heal(&mut self) -> Result<Mended>;

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
    fn see(&mut self, by: By, what: Sight) -> Result<Seen>;

    /// A port at which a host receives what another one sends, for so long.
    ///
    /// # Errors
    /// Its agent is gone, or no port is left.
    fn receive(&mut self, by: By, limit: Duration) -> Result<u16>;

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

#[cfg(test)]
mod tests;
