//! Tests of long operations that succeed, fail, take too long, or have no effect.

mod releases;

use super::*;
use cassandra::{DataFile, Operation, Row, UpgradeStep, View};
use host::Bytes;
use host::process::Identity;
use serde_json::{Map, Value};
use target_spec::fault::{FaultKind, Hit, Options};

/// Simulated operations and their effects on nodes.
#[derive(Debug)]
pub(super) struct Works {
    takes_ns: u64,
    /// Reason why operations fail. `None` if they succeed.
    failure: Option<&'static str>,
    at_work: Option<(Operation, u64)>,
    stopped: Vec<Operation>,
    /// Number of tables that other nodes have validated for each node.
    compared_counts: PerNode<usize>,
    written_count: u32,
    has_snapshot: bool,
    /// Time that a node takes to start.
    starts_within_ns: u64,
    /// Number of starts of each node, and time of its last start in ns.
    pub starts: [(u64, u64); 3],
    /// True if the node has changed settings.
    changed: [bool; 3],
    /// Time in ns at which nodes with changed settings from before the test get their original
    /// settings.
    until_ns: u64,
    /// Node that fails to start with changed settings.
    refuses: Option<NodeIndex>,
    /// Release with which each node runs and restarts.
    pub releases: [&'static str; 3],
    /// True if nodes keep their release even if they are started with another one.
    pub stays: bool,
    /// Steps of the upgrade that nodes have performed by short MBean operations.
    pub told: Vec<UpgradeStep>,
    /// Release that has written a node's files.
    pub files: [&'static str; 3],
    /// Release that has written a node's saved files.
    pub kept: [Option<&'static str>; 3],
    /// True if the disks have no space for further links.
    is_full: bool,
    /// Nodes that were repaired after the downgrade, in order.
    pub repaired: Vec<NodeIndex>,
}

impl Default for Works {
    fn default() -> Works {
        Works {
            takes_ns: 2 * S,
            failure: None,
            at_work: None,
            stopped: Vec::new(),
            compared_counts: vec![7, 0, 0].into(),
            written_count: 0,
            has_snapshot: false,
            starts_within_ns: S / 2,
            starts: Default::default(),
            changed: Default::default(),
            until_ns: u64::MAX,
            refuses: None,
            releases: ["4.1.10"; 3],
            stays: false,
            told: Vec::new(),
            files: ["4.1.10"; 3],
            kept: [None; 3],
            is_full: false,
            repaired: Vec::new(),
        }
    }
}

impl Works {
    pub fn starting_within(starts_within_ns: u64) -> Works {
        Works {
            starts_within_ns,
            ..Works::default()
        }
    }

    pub fn without_room() -> Works {
        Works {
            is_full: true,
            ..Works::default()
        }
    }

    pub fn failing(why: &'static str) -> Works {
        Works {
            failure: Some(why),
            ..Works::default()
        }
    }

    pub fn staying() -> Works {
        Works {
            stays: true,
            ..Works::default()
        }
    }

    pub fn operate(&mut self, node: NodeIndex, what: Operation, now_ns: u64) {
        if let Operation::Repair { .. } = what {
            self.repaired.push(node);
        }
        self.at_work = Some((what, now_ns + self.takes_ns));
    }

    pub fn operated(&mut self, now_ns: u64, does_nothing: bool) -> Option<Result<String>> {
        let (what, until_ns) = self.at_work.clone()?;
        let is_stopped = !self.stopped.is_empty();
        if now_ns < until_ns && !is_stopped {
            return None;
        }
        self.at_work = None;
        if let Some(why) = self.failure.or(is_stopped.then_some("it was stopped")) {
            return Some(Err(anyhow::anyhow!(why)));
        }
        match what {
            _ if does_nothing => {}
            Operation::Repair { .. } => {
                let node = self.repaired.last().copied().unwrap_or(HIT);
                self.compared_counts[node] += 3;
            }
            Operation::Compact { .. } => self.written_count += 1,
            Operation::Snapshot { .. } => self.has_snapshot = true,
            Operation::Upgrade(UpgradeStep::Sstables { .. }) => {}
            other => panic!("nobody waits for {other:?}"),
        }
        Some(Ok("it was done".to_owned()))
    }

    pub fn tell(&mut self, what: Operation) {
        match what {
            Operation::Flush { .. } => {}
            Operation::Upgrade(step) => self.told.push(step),
            Operation::ClearSnapshot { .. } => self.has_snapshot = false,
            stop => self.stopped.push(stop),
        }
    }

    pub fn data_files(&self, snapshot: Option<&str>) -> Vec<DataFile> {
        let file = |number: u32| DataFile {
            keyspace: "shop".to_owned(),
            table: "/host/node1/data/shop/orders-1f".into(),
            name: format!("nb-{number}-big-Data.db"),
            bytes: 1000,
        };
        match (snapshot, self.written_count) {
            (Some(_), _) if !self.has_snapshot => Vec::new(),
            (_, 0) => (1..=3).map(file).collect(),
            (_, written) => vec![file(3 + written)],
        }
    }

    pub fn rows(&self, node: NodeIndex, view: View, now_ns: u64) -> Vec<Row> {
        let row = |cells: &[(&str, &str)]| -> Row {
            let cells = cells.iter();
            cells.map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
        };
        let compared = |by: NodeIndex, number: usize| {
            row(&[
                ("id", &number.to_string()),
                ("initiator", &format!("/10.0.0.{}:7000", by.number())),
                ("keyspace_name", "shop"),
                ("table_name", &format!("t{number}")),
            ])
        };
        match view {
            View::Validations => {
                let counts = self.compared_counts.pairs();
                let others = counts.filter(|(by, _)| *by != node);
                let all = others.flat_map(|(by, count)| (0..*count).map(move |n| (by, n)));
                all.map(|(by, number)| compared(by, number)).collect()
            }
            View::Repairs => {
                let completed = (self.at_work.is_none()).to_string();
                vec![row(&[("id", "1"), ("completed", &completed)])]
            }
            // An ordinary compaction, which has only some of the files as inputs.
            View::Tasks => vec![row(&[
                ("task_id", "9"),
                ("keyspace_name", "shop"),
                ("table_name", "orders"),
                ("kind", "compaction"),
                ("sstables", "2"),
            ])],
            View::Itself => {
                let release = self.releases[node.0];
                vec![row(&[
                    ("release_version", release),
                    ("schema_version", "a"),
                ])]
            }
            View::Settings => {
                let own_again = self.starts[node.0].0 == 0 && now_ns >= self.until_ns;
                let value = if self.changed[node.0] && !own_again {
                    "2048KiB"
                } else {
                    "1024KiB"
                };
                vec![row(&[
                    ("name", "hinted_handoff_throttle"),
                    ("value", value),
                ])]
            }
        }
    }

    pub fn configured(yaml: &Map<String, Value>) -> (host::FileStep, host::FileStep) {
        let write = |text: String| host::FileStep::Write {
            path: "/host/node/conf/cassandra.yaml".into(),
            bytes: Bytes(text.into_bytes()),
            is_private: false,
        };
        let text = serde_json::to_string(yaml).unwrap();
        (write(text), write("{}".to_owned()))
    }

    pub fn process(&self, node: NodeIndex) -> Identity {
        let own = Identity::own();
        let count = self.starts.get(node.0).map_or(0, |(count, _)| *count);
        Identity {
            start_ticks: own.start_ticks + count,
            ..own
        }
    }

    pub fn is_starting(&self, node: NodeIndex, now_ns: u64) -> bool {
        let (count, at_ns) = self.starts.get(node.0).copied().unwrap_or_default();
        let is_refused = self.refuses == Some(node) && self.changed.get(node.0) == Some(&true);
        count > 0 && (now_ns < at_ns + self.starts_within_ns || is_refused)
    }

    pub fn inject(&mut self, what: &Injection, nodes: &[NodeIndex], now_ns: u64) {
        match (what, nodes) {
            (
                Injection::Files {
                    reader: Some(_), ..
                },
                [node],
            ) => {
                self.changed[node.0] = true;
                self.start(*node, now_ns);
            }
            (Injection::Instead { .. }, [node]) => self.start(*node, now_ns),
            _ => {}
        }
    }

    fn start(&mut self, node: NodeIndex, now_ns: u64) {
        let start = &mut self.starts[node.0];
        *start = (start.0 + 1, now_ns);
    }

    pub fn heal(&mut self, node: NodeIndex, now_ns: u64) {
        self.changed[node.0] = false;
        self.start(node, now_ns);
    }
}

/// Returns a fourth node that can join the ring on a host.
pub(super) fn join(host: HostIndex) -> Join {
    let command = host::process::command("/bin/true".as_ref());
    Join {
        start: host::Start::new(&command, "/dev/null".as_ref()).unwrap(),
        files: Vec::new(),
        folder: format!("/{}/node4", host.name()).into(),
        address: std::net::SocketAddrV4::new([10, 0, 0, 4].into(), 7000),
        leave: target_spec::Invocation::default(),
    }
}

/// Returns the bounds of the clock offset. A shifted clock is a minute ahead.
pub(super) fn clock_off_ms(broken: &[Injection]) -> [i64; 2] {
    let is_off = broken.iter().any(|what| matches!(what, Injection::Instead { .. }));
    let off_ms = if is_off { 60_000 } else { 0 };
    [off_ms - 2, off_ms + 2]
}

const TASKS: [&str; 2] = ["node-repair", "node-compact"];

pub(super) fn run_fault(
    name: &str,
    works: Works,
    breaks_another: bool,
) -> (FaultVerdict, Vec<LifeCycleStep>, Sim) {
    let sim = Sim {
        works,
        breaks_another,
        ..Sim::default()
    };
    course(&FaultKind::find(name).unwrap(), sim)
}

#[test]
fn a_momentary_fault_is_seen_by_its_traces_and_heals_at_once() {
    for name in TASKS {
        let (verdict, steps, sim) = run_fault(name, Works::default(), false);
        assert_eq!(verdict, FaultVerdict::Confirmed, "{steps:#?}");
        let order = ["checked", "injecting", "seen", "done", "healing", "whole"];
        assert_eq!(words(&steps), order, "{name}");
        assert!((2 * S..3 * S).contains(&steps[4].at_ns), "{steps:#?}");
        assert_eq!(sim.works.stopped, [], "nothing was left to be stopped");
    }
}

#[test]
fn a_snapshot_stays_as_long_as_the_study_says() {
    let (verdict, steps, sim) = run_fault("node-snapshot", Works::default(), false);
    assert_eq!(verdict, FaultVerdict::Confirmed, "{steps:#?}");
    let order = ["checked", "injecting", "seen", "done", "healing", "whole"];
    assert_eq!(words(&steps), order);
    assert_eq!(steps[4].at_ns, 10 * S);
    assert!(!sim.works.has_snapshot && sim.broken.is_empty());
}

/// An ordinary compaction also runs, which must not count as the requested operation.
#[test]
fn a_task_that_reports_success_without_a_trace_is_a_mismatch() {
    for name in [TASKS[0], TASKS[1], "node-snapshot"] {
        let (verdict, steps, _) = run_fault(name, Works::default(), true);
        assert_eq!(verdict, FaultVerdict::Mismatch, "{steps:#?}");
        let order = ["checked", "injecting", "unseen", "done", "healing", "whole"];
        assert_eq!(words(&steps), order, "{name}");
    }
    for name in ["rolling-restart", "rolling-change"] {
        let (verdict, steps, _) = run_fault(name, Works::default(), true);
        assert_eq!(verdict, FaultVerdict::Mismatch, "{steps:#?}");
        assert_eq!(steps[2].what, FaultStep::Failed);
        assert!(
            steps[2].words.contains("node1 did not restart"),
            "{steps:#?}"
        );
    }
}

#[test]
fn a_failed_task_is_a_mismatch_with_the_reason() {
    for name in TASKS {
        let works = Works {
            failure: Some("a replica has gone"),
            ..Works::default()
        };
        let (verdict, steps, _) = run_fault(name, works, false);
        assert_eq!(verdict, FaultVerdict::Mismatch, "{steps:#?}");
        assert_eq!(words(&steps)[2..], ["failed", "healing", "whole"]);
        assert_eq!(steps[2].words, "a replica has gone");
    }
}

#[test]
fn a_task_that_is_not_over_in_time_is_reported_and_stopped() {
    for (name, stop) in TASKS.into_iter().zip([Operation::StopRepairs, Operation::StopCompactions])
    {
        let works = Works {
            takes_ns: 60 * S,
            ..Works::default()
        };
        let (verdict, steps, sim) = run_fault(name, works, false);
        assert_eq!(
            verdict,
            FaultVerdict::Mismatch,
            "nothing was seen of it: {steps:#?}"
        );
        assert_eq!(words(&steps)[2..], ["unfinished", "healing", "whole"]);
        assert!(
            steps[2].words.starts_with("the fault did not finish within its time limit"),
            "{steps:#?}"
        );
        assert_eq!(
            (steps[2].at_ns, &sim.works.stopped[..]),
            (10 * S, &[stop][..])
        );
    }
}

#[test]
fn all_nodes_are_restarted_one_when_the_one_before_it_is_up() {
    let (verdict, steps, sim) = run_fault("rolling-restart", Works::default(), false);
    assert_eq!(verdict, FaultVerdict::Confirmed, "{steps:#?}");
    let acted: Vec<&LifeCycleStep> =
        steps.iter().filter(|step| step.what == FaultStep::Acted).collect();
    for (index, step) in acted.iter().enumerate() {
        assert!(
            step.words.starts_with(&format!("cassay stopped node{}", index + 1)),
            "{steps:#?}"
        );
        assert!(step.at_ns >= (index as u64 + 1) * S / 2, "{steps:#?}");
    }
    assert_eq!(acted.len(), 3);
    assert_eq!(sim.works.starts.map(|(count, _)| count), [1, 1, 1]);
    assert_eq!(
        words(&steps)[steps.len() - 3..],
        ["done", "healing", "whole"]
    );
}

/// cassay must not restart a node that is still starting.
#[test]
fn a_round_that_is_too_slow_ends_with_its_current_node() {
    let works = Works {
        starts_within_ns: 40 * S,
        ..Works::default()
    };
    let (verdict, steps, sim) = run_fault("rolling-restart", works, false);
    assert_eq!(verdict, FaultVerdict::Confirmed, "{steps:#?}");
    assert_eq!(
        words(&steps)[2..],
        ["seen", "unfinished", "healing", "whole"]
    );
    assert_eq!(sim.works.starts.map(|(count, _)| count), [1, 0, 0]);
    assert_eq!(sim.restarts_count, 0);
}

#[test]
fn other_settings_are_rolled_out_and_back() {
    let (verdict, steps, sim) = run_fault("rolling-change", Works::default(), false);
    assert_eq!(verdict, FaultVerdict::Confirmed, "{steps:#?}");
    let of_course: Vec<&str> = words(&steps);
    let done = of_course.iter().position(|what| *what == "done").unwrap();
    let all_show = steps[done].words.matches("hinted_handoff_throttle 2048KiB");
    assert_eq!(all_show.count(), 3, "{steps:#?}");
    let order = ["healing", "acted", "acted", "acted", "whole"];
    assert_eq!(of_course[done + 1..], order);
    assert_eq!(steps[done + 1].at_ns, 10 * S);
    let rolls_back = sim.renewed.iter().any(|(at_ns, _)| *at_ns >= 10 * S);
    assert!(rolls_back, "agents are told that it goes on");
    assert_eq!(sim.works.changed, [false; 3]);
    assert_eq!(sim.works.starts.map(|(count, _)| count), [2, 2, 2]);
}

#[test]
fn a_node_that_fails_with_other_settings_gets_its_own_back() {
    let works = Works {
        refuses: Some(NodeIndex(1)),
        ..Works::default()
    };
    let (verdict, steps, sim) = run_fault("rolling-change", works, false);
    assert!(words(&steps).contains(&"unfinished"), "{steps:#?}");
    assert_eq!(
        verdict,
        FaultVerdict::Confirmed,
        "it was seen, and is whole"
    );
    assert_eq!(sim.works.starts.map(|(count, _)| count), [2, 2, 0]);
    assert_eq!(sim.works.changed, [false; 3]);
}

/// The agent of a node rolls back the change of a killed command during the test.
#[test]
fn settings_that_vanish_while_awaited_are_not_the_earlier_ones() {
    let works = Works {
        changed: [true, false, false],
        until_ns: 30 * S,
        ..Works::default()
    };
    let mut sim = Sim {
        works,
        ordered_ns: 90 * S,
        ..Sim::default()
    };
    let kind = FaultKind::find("rolling-change").unwrap();
    let ((hit, options), length) = ((&Hit::Cluster, &Options::tried()), Duration::from_secs(10));
    let outcome = run(&kind, hit, options, &mut sim, length, &mut |_| ());
    assert_eq!(outcome.verdict(), FaultVerdict::Confirmed, "{outcome:#?}");
    let seen: Vec<&str> = words(&outcome.steps);
    assert_eq!(seen[..3], ["waiting", "checked", "injecting"]);
}

#[test]
fn settings_that_nodes_have_already_are_no_change() {
    let works = Works {
        changed: [true; 3],
        ..Works::default()
    };
    let (verdict, steps, _) = run_fault("rolling-change", works, false);
    assert_eq!(verdict, FaultVerdict::Mismatch);
    assert_eq!(words(&steps), ["waiting", "unseen"]);
    assert!(
        steps[0].words.contains("node1 shows hinted_handoff_throttle 2048KiB"),
        "{steps:?}"
    );
}
