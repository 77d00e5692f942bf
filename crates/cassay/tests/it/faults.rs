//! Tests faults on real processes: the agent of a host breaks a null target, and probes observe the
//! fault.

use crate::program::wait_until;
use ::cassandra::{
    Access, DataFile, Deletion, Handles, Members, NodeHandle, Operation, OwnNode, PodSeen,
    RestartMode, Row, View,
};
use anyhow::Result;
use fault::{
    Agents, Client, ExecutedBy, FaultResult, FaultStep, FaultVerdict, HealResult, HostSeen, Live,
    Mbeans, NodeFiles, NodeSeen, Order, Pods, Starter, Timer, World,
};
use host::process::{self, Identity};
use host::{Agent, FileStep, Injection, Join, Query, QueryAnswer, Restartable};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use target_spec::fault::{FaultKind, Hit, Options};
use target_spec::{Capability, HostIndex, NodeIndex, PerHost, PerNode};

fn server(port: u16) -> Command {
    let mut command = process::command(Path::new(env!("CARGO_BIN_EXE_cassay")));
    command.args(["null", "--port", &port.to_string()]);
    command
}

/// Starts a null target with the agent. Returns the handle of the target as a node.
fn node(agent: &Arc<Agent>, root: &Path) -> NodeHandle {
    let output = root.join("cluster/output");
    let process = agent.start(&server(0), &output).unwrap();
    let said = || std::fs::read_to_string(&output).unwrap_or_default();
    let address = || said().lines().find_map(|line| line.parse().ok());
    wait_until("it says its address", || address().is_some());
    let address: std::net::SocketAddr = address().unwrap();
    NodeHandle {
        name: "node1".to_owned(),
        agent: Arc::clone(agent),
        host: None,
        process: Some(process),
        // The node keeps its address after a restart.
        own: Some(OwnNode {
            conf: root.join("cluster/conf"),
            release: (versions::DEFAULT.release(), target_spec::Origin::Maven),
            start: (server(address.port()), output),
            forgiving: server(address.port()),
            joining: server(address.port()),
            claiming: server(address.port()),
            replacing: server(address.port()),
            kept: Vec::new(),
            commit_log: "/commitlog".into(),
            folder: root.join("cluster"),
            confinement: None,
        }),
        upgraded: None,
        former: None,
        service: None,
        pod: None,
        address,
        storage: address,
        ports: vec![address.port()],
        access: Access::default(),
        control: None,
    }
}

fn alone(node: NodeHandle) -> Handles {
    Handles {
        nodes: vec![node].into(),
        newcomers: PerHost::default(),
        hosts: PerHost::default(),
        switch: None,
        operator: None,
    }
}

/// Returns the kinds of faults that need only a process and no parameters.
fn kinds() -> impl Iterator<Item = &'static FaultKind> {
    let kinds = target_spec::fault::KINDS.iter();
    let of_process = [
        Capability::Provision,
        Capability::NodeSignals,
        Capability::NodeControl,
    ];
    let needs_no_more =
        move |kind: &FaultKind| kind.needs.iter().all(|one| of_process.contains(one));
    kinds.filter(move |kind| needs_no_more(kind) && kind.must.is_empty())
}

/// Runs a fault on the first node, and orders its healing as soon as the fault reaches the step
/// `until`.
fn run(kind: &FaultKind, world: &mut dyn World, order: Order, until: FaultStep) -> FaultResult {
    let length = Duration::from_secs(600);
    let (hit, options) = (Hit::Node(NodeIndex(0)), Options::default());
    fault::run(kind, &hit, &options, world, length, &mut |step| {
        if step.what == until {
            order.heal();
        }
    })
}

#[test]
fn every_fault_is_confirmed_on_a_process_that_answers_cql() {
    let root = tempfile::tempdir().unwrap();
    let id = format!("test-faults-{}", std::process::id());
    let agent = Arc::new(Agent::start_on_machine(&id, &root.path().join("cluster")).unwrap());
    for kind in kinds() {
        let node = node(&agent, root.path());
        let before = node.process.unwrap();
        let (order, orders) = fault::orders();
        let mut live = Live::new(alone(node), orders);
        let outcome = run(kind, &mut live, order, FaultStep::Seen);
        assert_eq!(outcome.verdict(), FaultVerdict::Confirmed, "{outcome:#?}");
        let now = live.processes()[NodeIndex(0)].unwrap();
        let ends = ["node-kill", "node-stop", "node-restart"].contains(&&*kind.name);
        assert_eq!(now != before, ends, "{}", kind.name);
        assert!(now.alive());
        agent.end_process(now, Duration::ZERO).unwrap();
        std::fs::remove_file(root.path().join("cluster/output")).unwrap();
    }
}

/// A world whose injections break one process, while cassay observes another process.
struct FaultyInjection(Live, Arc<Agent>, Identity);

impl Timer for FaultyInjection {
    fn now_ns(&self) -> u64 {
        self.0.now_ns()
    }

    fn wait(&mut self, for_: Duration) -> bool {
        self.0.wait(for_)
    }
}

impl Agents for FaultyInjection {
    fn nodes(&self) -> PerNode<NodeSeen> {
        self.0.nodes()
    }

    fn has_switch(&self) -> bool {
        true
    }

    fn refresh(&mut self) {
        self.0.refresh();
    }

    fn hosts(&self) -> PerHost<HostSeen> {
        self.0.hosts()
    }

    fn inject(
        &mut self,
        _: ExecutedBy,
        _: Injection,
        _: &[NodeIndex],
        within: Duration,
    ) -> Result<()> {
        self.1.inject(Injection::Pause(self.2), within).map(drop)
    }

    fn renew(&mut self, within: Duration) -> Result<()> {
        self.0.renew(within)
    }

    fn heal(&mut self) -> Result<HealResult> {
        Ok(HealResult::default())
    }

    fn heal_node(&mut self, _: NodeIndex) -> Result<()> {
        Ok(())
    }

    fn see(&mut self, by: ExecutedBy, what: Query) -> Result<QueryAnswer> {
        self.0.see(by, what)
    }

    fn receive(&mut self, by: ExecutedBy, limit: Duration) -> Result<u16> {
        self.0.receive(by, limit)
    }
}

impl Starter for FaultyInjection {
    fn restartable(&self, node: NodeIndex) -> Result<Restartable> {
        self.0.restartable(node)
    }

    fn stopping(&self, node: NodeIndex) -> Result<Injection> {
        self.0.stopping(node)
    }

    fn downgrade(&mut self, node: NodeIndex) -> Result<Injection> {
        self.0.downgrade(node)
    }

    fn upgrade(&mut self, node: NodeIndex, to: &versions::Release) -> Result<Injection> {
        self.0.upgrade(node, to)
    }

    fn killing(&self, node: NodeIndex) -> Result<Injection> {
        self.0.killing(node)
    }

    fn pausing(&self, node: NodeIndex) -> Result<Injection> {
        self.0.pausing(node)
    }

    fn anew(&self, node: NodeIndex, how: RestartMode) -> Result<(Restartable, Vec<PathBuf>)> {
        self.0.anew(node, how)
    }

    fn shifted(&self, node: NodeIndex, by_ms: i64) -> Result<(Restartable, [FileStep; 2])> {
        self.0.shifted(node, by_ms)
    }

    fn newcomer(&self, host: HostIndex) -> Result<Join> {
        self.0.newcomer(host)
    }

    fn restart(&mut self, node: NodeIndex, forgiving: bool) -> Result<()> {
        self.0.restart(node, forgiving)
    }
}

impl NodeFiles for FaultyInjection {
    fn data_file(&mut self, node: NodeIndex) -> Result<(PathBuf, u64)> {
        self.0.data_file(node)
    }

    fn is_empty(&mut self, node: NodeIndex) -> Result<bool> {
        self.0.is_empty(node)
    }

    fn data_files(
        &mut self,
        node: NodeIndex,
        keyspaces: &[String],
        snapshot: Option<&str>,
    ) -> Result<Vec<DataFile>> {
        self.0.data_files(node, keyspaces, snapshot)
    }

    fn keep_files(&mut self, node: NodeIndex) -> Result<()> {
        self.0.keep_files(node)
    }

    fn put_files_back(&mut self, node: NodeIndex) -> Result<()> {
        self.0.put_files_back(node)
    }

    fn clearing(
        &mut self,
        node: NodeIndex,
        keyspaces: &[String],
        tag: &str,
    ) -> Result<Vec<FileStep>> {
        self.0.clearing(node, keyspaces, tag)
    }

    fn configured(
        &mut self,
        node: NodeIndex,
        yaml: &Map<String, Value>,
    ) -> Result<(FileStep, FileStep)> {
        self.0.configured(node, yaml)
    }
}

impl Mbeans for FaultyInjection {
    fn operate(&mut self, node: NodeIndex, what: Operation, limit: Duration) -> Result<()> {
        self.0.operate(node, what, limit)
    }

    fn operated(&mut self, node: NodeIndex) -> Option<Result<String>> {
        self.0.operated(node)
    }

    fn tell(&mut self, node: NodeIndex, what: Operation, limit: Duration) -> Result<String> {
        self.0.tell(node, what, limit)
    }

    fn members(&mut self, node: NodeIndex, limit: Duration) -> Result<Members> {
        self.0.members(node, limit)
    }

    fn keyspaces(&mut self, node: NodeIndex, limit: Duration) -> Result<Vec<String>> {
        self.0.keyspaces(node, limit)
    }

    fn live(&mut self, node: NodeIndex, limit: Duration) -> Result<Vec<String>> {
        self.0.live(node, limit)
    }
}

impl Client for FaultyInjection {
    fn connect(&mut self, node: NodeIndex, limit: Duration) -> Result<()> {
        self.0.connect(node, limit)
    }

    fn is_connected(&mut self) -> bool {
        self.0.is_connected()
    }

    fn rows(&mut self, node: NodeIndex, view: View, limit: Duration) -> Result<Vec<Row>> {
        self.0.rows(node, view, limit)
    }

    fn ask(&mut self, node: NodeIndex, limit: Duration) -> Result<()> {
        self.0.ask(node, limit)
    }

    fn clock_off_ms(&mut self, node: NodeIndex, limit: Duration) -> Result<[i64; 2]> {
        self.0.clock_off_ms(node, limit)
    }
}

impl Pods for FaultyInjection {
    fn pod(&mut self, node: NodeIndex) -> Result<PodSeen> {
        self.0.pod(node)
    }

    fn is_schedulable(&mut self, node: NodeIndex, machine: &str) -> Result<bool> {
        self.0.is_schedulable(node, machine)
    }

    fn delete_pod(&mut self, node: NodeIndex, how: Deletion) -> Result<()> {
        self.0.delete_pod(node, how)
    }

    fn restart_pods(&mut self) -> Result<String> {
        self.0.restart_pods()
    }

    fn cordon(&mut self, node: NodeIndex, within: Duration) -> Result<()> {
        self.0.cordon(node, within)
    }

    fn isolate(&mut self, host: HostIndex) -> Result<()> {
        self.0.isolate(host)
    }
}

/// The injection itself reports success, although it broke the wrong process.
#[test]
fn a_fault_of_the_wrong_process_is_a_mismatch() {
    let root = tempfile::tempdir().unwrap();
    let id = format!("test-astray-{}", std::process::id());
    let agent = Arc::new(Agent::start_on_machine(&id, &root.path().join("cluster")).unwrap());
    let node = node(&agent, root.path());
    let mut sleep = process::command(Path::new("/bin/sleep"));
    sleep.arg("600");
    let other = agent.start(&sleep, &root.path().join("cluster/other")).unwrap();
    for kind in kinds() {
        let (order, orders) = fault::orders();
        let handle = NodeHandle {
            name: node.name.clone(),
            agent: Arc::clone(&agent),
            host: None,
            process: node.process,
            own: Some(OwnNode {
                conf: root.path().join("conf"),
                release: (versions::DEFAULT.release(), target_spec::Origin::Maven),
                start: (server(0), root.path().join("cluster/output")),
                forgiving: server(0),
                joining: server(0),
                claiming: server(0),
                replacing: server(0),
                kept: Vec::new(),
                commit_log: "/commitlog".into(),
                folder: root.path().to_owned(),
                confinement: None,
            }),
            upgraded: None,
            former: None,
            service: None,
            pod: None,
            address: node.address,
            storage: node.storage,
            ports: node.ports.clone(),
            access: Access::default(),
            control: None,
        };
        let live = Live::new(alone(handle), orders);
        let mut astray = FaultyInjection(live, Arc::clone(&agent), other);
        let outcome = run(kind, &mut astray, order, FaultStep::Injecting);
        assert_eq!(outcome.verdict(), FaultVerdict::Mismatch, "{outcome:#?}");
        assert_eq!(process::state(other), Some('T'), "something was broken");
        assert!(
            outcome.at_ns(FaultStep::Unseen).is_some() && outcome.at_ns(FaultStep::Whole).is_some()
        );
    }
}
