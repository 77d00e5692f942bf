//! The caller's view of a run's workers. This module starts the workers, and joins them at the end.

use crate::config::{Config, FirstError, LoadError, Summary};
use crate::connect::Reconnector;
use crate::connection::Link;
use crate::failures;
use crate::ledger::{Ledger, Numbers};
use crate::recorder::{PARTS_PER_WORKER, Part, Recorder};
use crate::register_history::History;
use crate::slowest_operations::keep_slowest;
use crate::thread_setup::own;
use crate::worker::WorkerEnd;
use crate::worker_builder::{Shared, Sizes, build};
use crate::worker_io::{Net, Parts};
use measure::clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

pub(crate) struct WorkerSetup {
    pub index: usize,
    pub shared: Shared,
    pub is_ready: Sender<()>,
    pub finished: Arc<AtomicBool>,
}

/// Handles with which the caller controls the workers.
pub(crate) struct Workers {
    pub empties: Vec<Sender<Box<Part>>>,
    /// Handles of the threads. The list is empty after the threads have been joined.
    pub handles: Vec<JoinHandle<std::io::Result<WorkerEnd>>>,
    /// Channels on which the workers wait for the start line. If the caller drops a channel, its
    /// worker ends.
    pub lines: Vec<SyncSender<u64>>,
    pub parts: Receiver<Box<Part>>,
    /// True if the run has finished. The reconnectors then end.
    pub finished: Arc<AtomicBool>,
    /// Fields of the summary that are known from the start.
    pub summary: Summary,
    pub nodes: Vec<String>,
    pub keeps_ledger: bool,
    /// Number of workers of all clients that share the load.
    pub step: u64,
    pub before: u64,
}

impl Workers {
    pub fn start(
        &mut self,
        config: &Config,
        setup: WorkerSetup,
        links: Vec<Link>,
        full: &SyncSender<Box<Part>>,
    ) -> Result<(), LoadError> {
        let failed = |what| move |answer| LoadError::System { what, answer };
        let kinds = config.program.kinds();
        let (empty_to, empty) = channel();
        for _ in 1..PARTS_PER_WORKER {
            let _ = empty_to.send(Box::new(Part::new(setup.index, kinds)));
        }
        self.empties.push(empty_to);
        let first = Box::new(Part::new(setup.index, kinds));
        let recorder = Recorder::new(first, config.interval.as_nanos() as u64);
        let reconnector = Reconnector::new(config, setup.finished);
        let full = full.clone();
        let parts = Parts { full, empty };
        let cpu = (!config.cpus.is_empty()).then(|| config.cpus[setup.index % config.cpus.len()]);
        let worker = Net::new(reconnector, parts)
            .and_then(|net| {
                let shared = (config, &setup.shared);
                build(shared, setup.index, (net, links), recorder, Sizes::USUAL)
            })
            .map_err(failed("set up a load worker"))?;
        let is_ready = setup.is_ready;
        let (line, start_line) = sync_channel(1);
        let wanted = config.realtime;
        let body = move || {
            let realtime = own(cpu, wanted);
            let end = match await_line(is_ready, start_line) {
                Some(start_ns) => {
                    come_near(start_ns);
                    worker.run(start_ns)?
                }
                None => worker.end,
            };
            Ok(WorkerEnd { realtime, ..end })
        };
        let handle = std::thread::Builder::new()
            .name("load-worker".into())
            .spawn(body)
            .map_err(failed("start a load worker"))?;
        self.handles.push(handle);
        self.lines.push(line);
        Ok(())
    }

    /// Joins the workers, and adds up their results.
    pub fn stop(&mut self) -> Result<Summary, LoadError> {
        self.finished.store(true, Ordering::Relaxed);
        let mut summary = self.summary.clone();
        let (mut parts, mut histories, mut failures) = (Vec::new(), Vec::new(), Vec::new());
        let (mut missed_rows, mut slowest) = (Vec::new(), Vec::new());
        for (index, handle) in std::mem::take(&mut self.handles).into_iter().enumerate() {
            let end = handle.join().map_err(|_| LoadError::Panicked(index))?.map_err(|answer| {
                LoadError::System {
                    what: "wait for answers",
                    answer,
                }
            })?;
            summary.realtime &= end.realtime;
            summary.operations_sent += end.sent;
            summary.operations_ended += end.ended;
            let before = end.next_operation.saturating_sub(self.step - 1);
            summary.next_operation = summary.next_operation.max(before);
            parts.extend(end.ledger);
            histories.extend(end.history);
            failures::add(&mut failures, &end.failures);
            missed_rows.extend_from_slice(end.missed_rows.rows());
            slowest.extend(end.slowest.finish());
            for (outcome, node, message) in end.first_errors.iter() {
                let known = &mut summary.first_errors;
                if known.iter().all(|known| known.outcome != outcome) {
                    known.push(FirstError {
                        outcome,
                        node: self.nodes[node].clone(),
                        message: message.to_owned(),
                    });
                }
            }
        }
        summary.add_missed_rows(missed_rows);
        keep_slowest(&mut slowest);
        let named = |node: u16| self.nodes[usize::from(node)].clone();
        summary.slowest =
            slowest.into_iter().map(|one| one.with_node(one.node.map(named))).collect();
        summary.failures = failures::node_failures(&failures, &self.nodes);
        let numbers = Numbers {
            first: self.summary.next_operation,
            step: self.step,
            before: self.before,
        };
        summary.history = (!histories.is_empty()).then(|| Arc::new(History::new(histories)));
        summary.ledger = self.keeps_ledger.then(|| Arc::new(Ledger::new(numbers, parts)));
        Ok(summary)
    }
}

/// Time before the start line during which a worker spins, in ns. A worker spins so that it begins
/// on time.
const SPINS_NS: u64 = clock::MILLISECOND_NS;

fn come_near(start_ns: u64) {
    let ahead_ns = start_ns.saturating_sub(clock::now_ns());
    if ahead_ns > 2 * SPINS_NS {
        clock::sleep(Duration::from_nanos(ahead_ns - SPINS_NS));
    }
}

/// Reports that a worker is ready, and waits for the start line. Returns `None` if the run does not
/// start because another worker could not be started.
fn await_line(is_ready: Sender<()>, start_line: Receiver<u64>) -> Option<u64> {
    // The send fails only if the starting thread has given up the run.
    let _ = is_ready.send(());
    drop(is_ready);
    start_line.recv().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_at_the_start_line_leave_if_one_could_not_start() {
        let (is_ready, ready) = channel();
        let (line, start_line) = sync_channel(1);
        let waits = std::thread::spawn(move || await_line(is_ready, start_line));
        assert_eq!(ready.iter().count(), 1, "only this worker is ready");
        drop(line);
        assert_eq!(waits.join().unwrap(), None);

        let (is_ready, ready) = channel();
        let (line, start_line) = sync_channel(1);
        line.send(7).unwrap();
        drop(ready);
        assert_eq!(await_line(is_ready, start_line), Some(7));
    }
}
