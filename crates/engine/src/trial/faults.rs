//! Runs the faults of a trial during the measured load. Each fault has a separate thread, which
//! injects, observes and heals it. The messages of the thread are written to disk as they arrive.

use super::State;
use crate::event::PlannedFault;
use crate::event_loop::{Breaking, LoopEvent};
use crate::running_target::Running;
use analysis::rules;
use anyhow::{Context, Result};
use cluster::Cluster;
use fault::{FaultResult, LifeCycleStep, Live, Order};
use host::process::Identity;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use store::record::{FaultRecord, FaultStep, FaultStepRecord, FaultVerdict, JournalEvent};
use study::settings::{PlannedHit, StudyFault};
use target_spec::fault::Hit;
use target_spec::{NodeIndex, PerNode};
use versions::Release;
use workload::Program;

/// Faults of a phase. Dropping this value heals the faults that are in effect.
pub struct Faults<'a> {
    planned: &'a [StudyFault],
    places: Vec<FaultTarget>,
    open: BTreeMap<usize, Open>,
}

pub(super) struct FaultTarget {
    hit: Hit,
    /// Name of the node or host, or a description if the target is not a single node or host.
    pub name: String,
    /// Nodes whose processes the fault may end or restart, with their names.
    pub nodes: Vec<(NodeIndex, String)>,
}

/// Thread of a fault that has begun and has not ended.
struct Open {
    order: Option<Order>,
    told: Receiver<FaultMessage>,
    thread: Option<JoinHandle<()>>,
}

enum FaultMessage {
    Step(LifeCycleStep),
    /// The fault has ended. Contains the result, and the current processes and releases of the
    /// affected nodes.
    Over(FaultResult, PerNode<Option<Identity>>, Vec<Option<Release>>),
}

impl<'a> Faults<'a> {
    /// Prepares the faults, without injecting any.
    ///
    /// # Errors
    /// The agents that inject and heal are not available, or [`FaultTarget::find`] fails.
    pub fn new(
        planned: &'a [StudyFault],
        running: &Running,
        program: &Arc<Program>,
    ) -> Result<Faults<'a>> {
        if !planned.is_empty() {
            // The agents start before the load, so that their start does not take resources from
            // the load.
            running.cluster.handles()?;
        }
        let places = planned.iter().map(|fault| FaultTarget::find(fault, running, program));
        Ok(Faults {
            planned,
            places: places.collect::<Result<_>>()?,
            open: BTreeMap::new(),
        })
    }

    /// Returns the facts about the faults that the event loop needs.
    pub fn planned(&self) -> Vec<Breaking> {
        let planned = self.planned.iter().zip(&self.places).enumerate();
        let before = |number: usize, item: usize| {
            let mut before = (0..number).rev();
            before.find(|before| self.planned[*before].item == item)
        };
        let breaking = |(number, (fault, place)): (usize, (&StudyFault, &FaultTarget))| Breaking {
            at_ns: fault.at_ns,
            for_ns: fault.for_ns,
            after: before(number, fault.item),
            takes_away: if fault.kind.takes_away {
                place.nodes.iter().map(|(_, name)| name.clone()).collect()
            } else {
                Vec::new()
            },
        };
        planned.map(breaking).collect()
    }

    /// Returns the faults for the progress display.
    pub fn outlook(&self) -> Vec<PlannedFault> {
        let planned = self.planned.iter().zip(&self.places).zip(self.planned());
        let outlook = planned.map(|((fault, place), breaking)| PlannedFault {
            kind: fault.kind.name.to_string(),
            place: place.name.clone(),
            at_s: fault.at_ns as f64 / 1e9,
            for_s: fault.for_ns as f64 / 1e9,
            takes_away: breaking.takes_away,
        });
        outlook.collect()
    }

    /// Returns the nodes that are down because of a fault. The engine expects these nodes to be
    /// down, so it does not check them at every tick.
    pub fn away(&self) -> Vec<&str> {
        let takes_away = |number: &&usize| self.planned[**number].kind.takes_away;
        let numbers = self.open.keys().filter(takes_away);
        let nodes = numbers.flat_map(|number| &self.places[*number].nodes);
        nodes.map(|(_, name)| name.as_str()).collect()
    }

    /// Returns the journal entry that must be written before a fault is injected.
    pub fn injecting(&self, number: usize) -> JournalEvent {
        JournalEvent::FaultInjecting {
            kind: self.planned[number].kind.name.to_string(),
            place: self.places[number].name.clone(),
            seconds: self.planned[number].for_ns as f64 / 1e9,
        }
    }

    /// Returns the journal entry that must be written before a fault is healed.
    pub fn healing(&self, number: usize) -> JournalEvent {
        JournalEvent::FaultHealing {
            kind: self.planned[number].kind.name.to_string(),
            place: self.places[number].name.clone(),
        }
    }

    /// Injects a fault.
    ///
    /// # Errors
    /// The agents that inject and heal are not available.
    pub fn inject(&mut self, number: usize, cluster: &Cluster) -> Result<()> {
        let fault = self.planned[number].clone();
        let hit = self.places[number].hit.clone();
        let (order, orders) = fault::orders();
        let mut live = Live::new(cluster.handles()?, orders);
        let (tell, told) = channel();
        let run = move || {
            let length = Duration::from_nanos(fault.for_ns);
            let mut step = |step: &LifeCycleStep| say(&tell, FaultMessage::Step(step.clone()));
            let (kind, options) = (&fault.kind, &fault.options);
            let outcome = fault::run(kind, &hit, options, &mut live, length, &mut step);
            let (processes, releases) = (live.processes(), live.releases());
            say(&tell, FaultMessage::Over(outcome, processes, releases));
        };
        let thread = std::thread::Builder::new()
            .name(format!("fault {number}"))
            .spawn(run)
            .context("start a thread for a fault")?;
        let open = Open {
            order: Some(order),
            told,
            thread: Some(thread),
        };
        self.open.insert(number, open);
        Ok(())
    }

    /// Orders the thread of a fault to heal the fault.
    pub fn heal(&self, number: usize) {
        let open = self.open.get(&number);
        if let Some(order) = open.and_then(|open| open.order.as_ref()) {
            order.heal();
        }
    }

    /// Records that the fault was omitted because too little of the window was left, or because the
    /// load ended.
    pub fn omit(&self, number: usize, state: &mut State) {
        let fault = &self.planned[number];
        let record = FaultRecord {
            kind: fault.kind.name.to_string(),
            verdict: FaultVerdict::Inconclusive,
            evidence: format!(
                "cassay did not inject the fault, because too little of the window remained. The \
                 fault was due at {} s for {} s, but earlier faults took longer, or the load ended",
                fault.at_ns as f64 / 1e9,
                fault.for_ns as f64 / 1e9
            ),
            trial: Some(state.finding.index),
            place: Some(self.places[number].name.clone()),
            ..FaultRecord::default()
        };
        state.finding.faults.push(record);
    }

    /// Records the messages of the threads since the previous call. Returns an event if a fault has
    /// begun or ended.
    pub fn look(&mut self, running: &mut Running, state: &mut State) -> Result<Option<LoopEvent>> {
        let numbers: Vec<usize> = self.open.keys().copied().collect();
        for number in numbers {
            loop {
                let told = match self.open[&number].told.try_recv() {
                    Ok(told) => told,
                    Err(TryRecvError::Empty) => break,
                    // The thread has panicked before it healed the fault. The agent heals the fault
                    // when the time limit of the fault expires.
                    Err(TryRecvError::Disconnected) => {
                        anyhow::bail!("the thread of a fault ended before it healed the fault")
                    }
                };
                let happened = self.hear(number, told, running, state)?;
                if happened.is_some() {
                    return Ok(happened);
                }
            }
        }
        Ok(None)
    }

    /// Heals all faults after the load has ended, and waits until the faults have ended.
    pub fn end(mut self, running: &mut Running, state: &mut State) -> Result<()> {
        self.open.keys().for_each(|number| self.heal(*number));
        while let Some((number, open)) = self.open.first_key_value() {
            let (number, told) = (*number, open.told.recv());
            let told = told.context("the thread of a fault ended before it healed the fault")?;
            self.hear(number, told, running, state)?;
        }
        Ok(())
    }

    /// Records a message of a thread. Returns an event if the fault begins or ends.
    fn hear(
        &mut self,
        number: usize,
        told: FaultMessage,
        running: &mut Running,
        state: &mut State,
    ) -> Result<Option<LoopEvent>> {
        let fault = &self.planned[number];
        let since_s = |ns: u64| ns.saturating_sub(state.writer.start_ns()) as f64 / 1e9;
        let (outcome, processes, releases) = match told {
            FaultMessage::Over(outcome, processes, releases) => (outcome, processes, releases),
            FaultMessage::Step(step) => {
                let record = FaultStepRecord {
                    t_s: since_s(step.at_ns),
                    fault: number,
                    kind: fault.kind.name.to_string(),
                    place: self.places[number].name.clone(),
                    step: step.what,
                    said: step.words,
                };
                state.writer.write_fault_step(&record)?;
                let holds = step.what == fault::holds_from(&self.planned[number].kind);
                return Ok(holds.then_some(LoopEvent::FaultHolds(number, step.at_ns)));
            }
        };
        let at_s = |what: FaultStep| outcome.at_ns(what).map(since_s);
        let is_evidence = |step: &&LifeCycleStep| {
            ![FaultStep::Injecting, FaultStep::Healing].contains(&step.what)
        };
        let evidence: Vec<String> = outcome
            .steps
            .iter()
            .filter(is_evidence)
            .map(|step| format!("{}: {}", step.what, step.words))
            .collect();
        let record = FaultRecord {
            kind: fault.kind.name.to_string(),
            verdict: outcome.verdict(),
            evidence: evidence.join("; "),
            trial: Some(state.finding.index),
            number: Some(number),
            place: Some(self.places[number].name.clone()),
            injected_s: at_s(FaultStep::Injecting),
            seen_s: at_s(FaultStep::Seen),
            healing_s: at_s(FaultStep::Healing),
            whole_s: at_s(FaultStep::Whole),
            ..FaultRecord::default()
        };
        state.finding.faults.push(record);
        running.took_releases(&releases)?;
        // cassay does not record the processes of an attached cluster here, because it looks them
        // up each time.
        let ours = !running.cluster.is_attached();
        for (index, name) in self.places[number].nodes.iter().filter(|_| ours) {
            let process = processes.get(*index).copied().flatten();
            if let Some(process) = process.filter(|one| running.process_of(*index) != Some(one.pid))
            {
                running.cluster.started(*index, process)?;
                // The fault caused the new process, so the trial must not count it as an unexpected
                // restart.
                state.pids.retain(|(node, _)| node != name);
                state.pids.push((name.clone(), Some(process.pid)));
            }
        }
        self.open.remove(&number);
        Ok(Some(LoopEvent::FaultOver(number)))
    }
}

impl FaultTarget {
    /// Finds the target of a study's fault in the running cluster.
    ///
    /// # Errors
    /// The cluster does not have the node, or cassay cannot reach the machine of the node.
    pub fn find(
        fault: &StudyFault,
        running: &Running,
        program: &Arc<Program>,
    ) -> Result<FaultTarget> {
        let all = running.cluster.nodes().iter().enumerate();
        let named = all.map(|(position, node)| (NodeIndex(position), node));
        let hosts = running.cluster.host_names();
        let hit = resolve(&fault.hit, running, program)?;
        let is_hit = |index: NodeIndex, host: &str| match &hit {
            Hit::Node(node) => *node == index,
            Hit::Host(one) => hosts.get(*one).is_some_and(|name| name == host),
            // A network split does not end processes.
            Hit::Split(_) => false,
            Hit::Nodes(nodes) => nodes.contains(&index),
            Hit::Cluster => true,
        };
        let hit_nodes = named.filter(|(index, node)| is_hit(*index, &node.host));
        let nodes = hit_nodes.map(|(index, node)| (index, node.name.clone())).collect();
        let node_name = |index: &NodeIndex| running.cluster.nodes()[index.0].name.clone();
        let name = match &hit {
            Hit::Node(index) => node_name(index),
            // The nodes are in the order in which the fault affects them.
            Hit::Nodes(all) => all.iter().map(node_name).collect::<Vec<_>>().join(" and "),
            Hit::Host(_) | Hit::Split(_) | Hit::Cluster => {
                hit.words(|host| hosts.get(host).cloned().unwrap_or_default())
            }
        };
        Ok(FaultTarget { name, hit, nodes })
    }
}

fn resolve(planned: &PlannedHit, running: &Running, program: &Arc<Program>) -> Result<Hit> {
    let cluster = &running.cluster;
    let host_of = |node: NodeIndex| -> Result<Hit> {
        let name = &cluster.node_at(node)?.host;
        let missing = || format!("cassay cannot reach the machine of {name}");
        Ok(Hit::Host(cluster.host_of(node).with_context(missing)?))
    };
    Ok(match planned {
        PlannedHit::Known(Hit::Node(asked)) => Hit::Node(cluster.index_of(*asked)?),
        PlannedHit::Known(Hit::Nodes(asked)) => {
            let all = asked.iter().map(|node| cluster.index_of(*node));
            Hit::Nodes(all.collect::<Result<_>>()?)
        }
        PlannedHit::Known(hit) => hit.clone(),
        PlannedHit::HostOf(asked) => host_of(cluster.index_of(*asked)?)?,
        PlannedHit::HottestReplica => Hit::Node(hottest_replica(running, program)?),
        PlannedHit::HostOfHottestReplica => host_of(hottest_replica(running, program)?)?,
    })
}

/// Returns the node with the first replica of the partition that the program uses most.
fn hottest_replica(running: &Running, program: &Arc<Program>) -> Result<NodeIndex> {
    let token = workload::hottest_token(program).context(
        "the workload requests all partitions equally often, so no partition is the hottest",
    )?;
    let replicas = running.cluster.replicas(program.keyspace(), token)?;
    let first = replicas.first().copied().map(NodeIndex);
    first.with_context(|| format!("no node owns the token {token} of the hottest partition"))
}

/// Sends a message. If the receiver no longer exists, the message is dropped.
fn say(to: &Sender<FaultMessage>, told: FaultMessage) {
    let _ = to.send(told);
}

impl Drop for Open {
    fn drop(&mut self) {
        // When the order is dropped, the thread heals the fault, unless it has already received the
        // order to heal.
        self.order = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns the evidence about the faults for the rules.
pub fn evidence(all: &[FaultRecord]) -> Vec<rules::FaultEvidence> {
    let of = |fault: &FaultRecord| {
        let healed = fault.healing_s.is_none() || fault.whole_s.is_some();
        let is = |verdict: FaultVerdict| fault.verdict == verdict;
        rules::FaultEvidence {
            kind: fault.name(),
            confirmed: match fault.seen_s {
                // cassay observed the effect of this fault, but the fault may still have failed
                // later.
                Some(_) => Some(!(healed && is(FaultVerdict::Mismatch))),
                None if is(FaultVerdict::Inconclusive) => None,
                None => Some(false),
            },
            healed,
        }
    };
    all.iter().map(of).collect()
}
