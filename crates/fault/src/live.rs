//! A cluster of ours that is really broken, by its hosts' agents.

use crate::world::{Healed, HostSeen, NodeSeen, Via, World};
use anyhow::{Context, Result, anyhow, bail};
use cluster::{
    AddedNode, DataFile, Handles, HostHandle, Members, NodeControl, NodeHandle, Operation,
    RestartMode, Row, View,
};
use host::process::Identity;
use host::{Agent, Broken, Injection, Join, Query, QueryAnswer, Restartable, Step as FileStep};
use measure::clock;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// When an agent starts a node again by itself whose controller has gone between killing it and
/// starting it.
const RESTART_LIMIT: Duration = Duration::from_secs(30);

/// Orders healing. Dropping it does, too.
#[derive(Debug)]
pub struct Order(Sender<()>);

impl Order {
    /// Heal now; once more is the same as once.
    pub fn heal(&self) {
        // Who is gone has healed.
        let _ = self.0.send(());
    }
}

/// The two ends of an order.
pub fn orders() -> (Order, Receiver<()>) {
    let (sender, receiver) = channel();
    (Order(sender), receiver)
}

/// A cluster of ours, and the order that ends its fault.
#[derive(Debug)]
pub struct Live {
    handles: Handles,
    /// How many of its nodes are the cluster's; others were added by what broke it.
    members_count: usize,
    orders: Receiver<()>,
    is_ordered: bool,
    broken: Vec<Entry>,
    /// A connection to a node that is looked at.
    held: Option<TcpStream>,
    /// What starts nodes that have lost what they kept, by node.
    emptied: BTreeMap<usize, Restartable>,
    /// What nodes were told to do and have not told of: by node.
    at_work: BTreeMap<usize, JoinHandle<Result<String>>>,
}

/// Something that is broken.
#[derive(Debug)]
struct Entry {
    agent: Arc<Agent>,
    broken: Broken,
    /// Whose processes it has touched.
    nodes: Vec<usize>,
}

impl Live {
    /// One that nothing was done to yet.
    pub fn new(handles: Handles, orders: Receiver<()>) -> Live {
        Live {
            members_count: handles.nodes.len(),
            handles,
            orders,
            is_ordered: false,
            broken: Vec::new(),
            held: None,
            emptied: BTreeMap::new(),
            at_work: BTreeMap::new(),
        }
    }

    /// The processes of all nodes of the cluster as they are now, in their order.
    pub fn processes(&self) -> Vec<Option<Identity>> {
        let nodes = self.handles.nodes.iter().take(self.members_count);
        nodes.map(|node| node.process).collect()
    }

    /// The node that a host could have.
    fn newcomer_on(&self, host: usize) -> Result<&AddedNode> {
        let found = self.handles.newcomers.get(host);
        found.with_context(|| format!("host{} can have no node more", host + 1))
    }

    fn at(&self, node: usize) -> Result<&NodeHandle> {
        let found = self.handles.nodes.get(node);
        found.with_context(|| format!("there is no node {}", node + 1))
    }

    fn control(&self, node: usize) -> Result<&NodeControl> {
        let known = self.at(node)?;
        let control = known.control.as_ref();
        control.with_context(|| format!("{} shows no MBeans to be told by", known.name))
    }

    fn agent(&self, by: Via) -> Result<Arc<Agent>> {
        let found = match by {
            Via::Node(index) => Some(&self.at(index)?.agent),
            Via::Host(index) => self.handles.hosts.get(index).map(|host| &host.agent),
            Via::Switch => self.handles.switch.as_ref(),
        };
        found
            .cloned()
            .with_context(|| format!("there is no agent of {by:?}"))
    }
}

impl World for Live {
    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    fn wait(&mut self, for_: Duration) -> bool {
        if self.is_ordered {
            clock::sleep(for_);
            return true;
        }
        let ordered = self.orders.recv_timeout(for_);
        self.is_ordered = !matches!(ordered, Err(RecvTimeoutError::Timeout));
        self.is_ordered
    }

    fn nodes(&self) -> Vec<NodeSeen> {
        let seen = |node: &NodeHandle| NodeSeen {
            process: node.process,
            host: node.host,
            cql: node.address,
            storage: node.storage,
        };
        self.handles.nodes.iter().map(seen).collect()
    }

    fn refresh(&mut self) {
        self.handles.nodes.iter_mut().for_each(NodeHandle::refresh);
    }

    fn hosts(&self) -> Vec<HostSeen> {
        let seen = |host: &HostHandle| HostSeen {
            number: host.number,
            folder: host.folder.clone(),
            device: host.device.clone(),
        };
        self.handles.hosts.iter().map(seen).collect()
    }

    fn data_file(&mut self, node: usize) -> Result<(PathBuf, u64)> {
        self.at(node)?.data_file()
    }

    fn receive(&mut self, by: Via, limit: Duration) -> Result<u16> {
        self.agent(by)?.receive(limit)
    }

    fn connect(&mut self, node: usize, limit: Duration) -> Result<()> {
        let address = self.at(node)?.address;
        let stream = TcpStream::connect_timeout(&address, limit);
        let stream = stream.with_context(|| format!("connect to {address}"))?;
        stream
            .set_nonblocking(true)
            .context("look at a connection")?;
        self.held = Some(stream);
        Ok(())
    }

    fn is_connected(&mut self) -> bool {
        let Some(stream) = &self.held else {
            return false;
        };
        // Nobody was asked anything, so that only an end can be read.
        match stream.peek(&mut [0]) {
            Ok(bytes) => bytes > 0,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        }
    }

    fn restartable(&self, node: usize) -> Result<Restartable> {
        self.at(node)?.restartable()
    }

    fn anew(&self, node: usize, how: RestartMode) -> Result<(Restartable, Vec<PathBuf>)> {
        let known = self.at(node)?;
        Ok((known.anew(how)?, known.kept()?.to_vec()))
    }

    fn shifted(&self, node: usize, by_ms: i64) -> Result<(Restartable, [FileStep; 2])> {
        self.at(node)?.shifted(by_ms)
    }

    fn clock_off_ms(&mut self, node: usize, limit: Duration) -> Result<[i64; 2]> {
        self.at(node)?.clock_off_ms(limit)
    }

    fn newcomer(&self, host: usize) -> Result<Join> {
        Ok(self.newcomer_on(host)?.join.clone())
    }

    fn is_empty(&mut self, node: usize) -> Result<bool> {
        self.at(node)?.is_empty()
    }

    fn inject(
        &mut self,
        by: Via,
        what: Injection,
        nodes: &[usize],
        within: Duration,
    ) -> Result<()> {
        if let (Injection::Wipe { process, .. } | Injection::Leave { process, .. }, [node]) =
            (&what, nodes)
        {
            self.emptied.insert(*node, process.clone());
        }
        let agent = self.agent(by)?;
        let adds = matches!(what, Injection::Join(_));
        let broken = agent.inject(what, within)?;
        if let (true, Via::Host(host)) = (adds, by) {
            self.newcomer_on(host)?;
            let newcomer = self.handles.newcomers.remove(host);
            self.handles.nodes.push(newcomer.node);
        }
        // What was started to break it: nodes of another host.
        let started = agent.started(broken)?;
        for (index, process) in nodes.iter().zip(started) {
            self.handles.nodes[*index].process = Some(process);
        }
        self.broken.push(Entry {
            agent,
            broken,
            nodes: nodes.to_vec(),
        });
        Ok(())
    }

    fn renew(&mut self, within: Duration) -> Result<()> {
        let mut broken = self.broken.iter();
        broken.try_for_each(|entry| entry.agent.renew(entry.broken, within))
    }

    fn heal(&mut self) -> Result<Healed> {
        let (mut result, mut mended) = (Ok(()), Healed::default());
        for entry in self.broken.iter().rev() {
            match entry.agent.heal(entry.broken) {
                Ok(healed) => {
                    mended.by_itself |= healed.by_itself;
                    mended.became = mended.became.or(healed.became);
                    for (index, process) in entry.nodes.iter().zip(healed.processes) {
                        let known = &mut self.handles.nodes[*index].process;
                        if known.replace(process) != Some(process) {
                            mended.started.push(*index);
                        }
                    }
                }
                Err(error) => result = result.and(Err(error)),
            }
        }
        if result.is_ok() {
            self.handles.nodes.truncate(self.members_count);
        }
        result.map(|()| mended)
    }

    fn heal_node(&mut self, node: usize) -> Result<()> {
        let of_node = |entry: &Entry| entry.nodes == [node];
        let Some(at) = self.broken.iter().rposition(of_node) else {
            return Ok(());
        };
        let healed = self.broken[at].agent.heal(self.broken[at].broken)?;
        // Whoever heals all of it later finds the process that there is then.
        self.broken.remove(at);
        if let Some(process) = healed.processes.first() {
            self.handles.nodes[node].process = Some(*process);
        }
        Ok(())
    }

    fn restart(&mut self, node: usize, forgiving: bool) -> Result<()> {
        let known = self.at(node)?;
        let again = if forgiving {
            known.forgiving()?
        } else {
            known.restartable()?
        };
        // One that comes back without its data must not do so in the usual way, which streams none.
        let what = Injection::Kill(match self.emptied.get(&node) {
            Some(anew) => anew.of(again.process),
            None => again,
        });
        let agent = Arc::clone(&known.agent);
        let healed = agent.heal(agent.inject(what, RESTART_LIMIT)?)?;
        self.handles.nodes[node].process = healed.processes.first().copied();
        Ok(())
    }

    fn see(&mut self, by: Via, what: Query) -> Result<QueryAnswer> {
        self.agent(by)?.see(what)
    }

    fn operate(&mut self, node: usize, what: Operation, limit: Duration) -> Result<()> {
        if self.at_work.contains_key(&node) {
            bail!("node {} is still at work", node + 1);
        }
        let control = self.control(node)?.clone();
        let thread = std::thread::Builder::new().name(format!("operation {}", node + 1));
        let thread = thread.spawn(move || control.perform(&what, limit));
        self.at_work.insert(node, thread.context("start a thread")?);
        Ok(())
    }

    fn operated(&mut self, node: usize) -> Option<Result<String>> {
        if !self.at_work.get(&node)?.is_finished() {
            return None;
        }
        let ended = self.at_work.remove(&node)?.join();
        Some(ended.unwrap_or_else(|_| Err(anyhow!("the thread of an operation has panicked"))))
    }

    fn members(&mut self, node: usize, limit: Duration) -> Result<Members> {
        self.control(node)?.members(limit)
    }

    fn tell(&mut self, node: usize, what: Operation, limit: Duration) -> Result<String> {
        self.control(node)?.perform(&what, limit)
    }

    fn keyspaces(&mut self, node: usize, limit: Duration) -> Result<Vec<String>> {
        self.control(node)?.keyspaces(limit)
    }

    fn data_files(
        &mut self,
        node: usize,
        keyspaces: &[String],
        snapshot: Option<&str>,
    ) -> Result<Vec<DataFile>> {
        self.at(node)?.data_files(keyspaces, snapshot)
    }

    fn clearing(&mut self, node: usize, keyspaces: &[String], tag: &str) -> Result<Vec<FileStep>> {
        self.at(node)?.clearing(keyspaces, tag)
    }

    fn configured(
        &mut self,
        node: usize,
        yaml: &Map<String, Value>,
    ) -> Result<(FileStep, FileStep)> {
        self.at(node)?.configured(yaml)
    }

    fn rows(&mut self, node: usize, view: View, limit: Duration) -> Result<Vec<Row>> {
        self.at(node)?.rows(view, limit)
    }

    fn live(&mut self, node: usize, limit: Duration) -> Result<Vec<String>> {
        self.control(node)?.live(limit)
    }

    fn ask(&mut self, node: usize, limit: Duration) -> Result<()> {
        self.at(node)?.ask(limit)
    }
}
