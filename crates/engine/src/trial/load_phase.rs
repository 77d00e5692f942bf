//! Offers the load of a trial, and performs the actions during the load.
//!
//! [`Conduct`] makes the decisions, and this file implements the `World` that performs the actions.
//! The `World` also writes intervals and readings to disk, checks the nodes, and reports progress.

use super::faults::Faults;
use super::{State, TrialEnd, TrialRun};
use crate::event::{Event, FaultStage};
use crate::event_loop::{Act, Conduct, DeadNode, Decision, EarlyEnd, LoopEvent, World};
use crate::fleet_use;
use crate::load_guard::{self, Watch};
use crate::load_run::{self, Offer, PhaseResult};
use crate::preflight;
use crate::running_target::Running;
use crate::window_counts::WindowCounts;
use anyhow::{Context, Result};
use fleet::{Fleet, Next};
use load::{Limit, Load, Window};
use measure::{IntervalConsumer, SummedInterval, clock};
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::record::JournalEvent;
use study::plan::PhaseKind;

struct Offering<'o, 'a> {
    load: Fleet,
    running: &'o mut Running,
    run: &'o mut TrialRun<'a>,
    state: &'o mut State,
    faults: Faults<'o>,
}

impl World for Offering<'_, '_> {
    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    fn wait(&mut self, until_ns: u64) -> Next {
        self.load.next(until_ns)
    }

    fn is_interrupted(&self) -> bool {
        self.run.interrupt.load(Ordering::Relaxed)
    }

    fn act(&mut self, act: Act) -> Result<Option<LoopEvent>> {
        let state = &mut *self.state;
        match act {
            Act::Keep {
                phase,
                progress,
                interval,
            } => {
                let kept = state.writer.write_interval(phase, &interval);
                kept.context("store an interval")?;
                state.keep_clients(self.load.take_seconds(), &interval)?;
                if interval.draining {
                    state.timeline.begin_drain(interval.start_ns);
                    state.gather.window_ends(interval.start_ns);
                    state.profiling.window_ends(&self.running.cluster)?;
                }
                (self.run.events)(Event::Interval {
                    progress,
                    phase,
                    interval,
                });
            }
            Act::Begin(kind, at_ns) => {
                self.run.begin_phase_at(kind, at_ns, state)?;
                if kind == PhaseKind::Measure {
                    state.profiling.window_begins(&self.running.cluster)?;
                }
            }
            Act::Steer(flow) => self.load.steer(flow),
            Act::KeepReadings => {
                state.gather.write(&mut state.writer)?;
                if let Some(shares) = state.gather.cpu_shares() {
                    (self.run.events)(Event::CpuUsed(shares));
                }
                self.tell_machines();
            }
            Act::Inject(number) => {
                let event = self.faults.injecting(number);
                self.run.writer.journal(Some(self.run.trial.index), event)?;
                self.faults.inject(number, &self.running.cluster)?;
                self.reached(number, FaultStage::Injecting);
            }
            Act::Heal(number) => {
                let event = self.faults.healing(number);
                self.run.writer.journal(Some(self.run.trial.index), event)?;
                self.faults.heal(number);
                self.reached(number, FaultStage::Healing);
            }
            Act::Omit(number) => {
                self.faults.omit(number, state);
                self.reached(number, FaultStage::Omitted);
            }
            Act::LookAtFaults => {
                let happened = self.faults.look(self.running, state)?;
                match happened {
                    Some(LoopEvent::FaultHolds(number, _)) => {
                        self.reached(number, FaultStage::Holding);
                    }
                    Some(LoopEvent::FaultOver(number)) => self.reached(number, FaultStage::Over),
                    _ => {}
                }
                return Ok(happened);
            }
            Act::LookAtNodes => return Ok(self.look_at_nodes()),
        }
        Ok(None)
    }
}

impl Offering<'_, '_> {
    /// Checks whether nodes are down, and reports each node that no fault has taken down.
    fn look_at_nodes(&mut self) -> Option<LoopEvent> {
        let died = self.running.cluster.died(&self.faults.away()).into_iter();
        let died: Vec<DeadNode> = died
            .map(|died| DeadNode {
                how: died.to_string(),
                node: died.name,
            })
            .collect();
        if died.is_empty() {
            return None;
        }
        let names = died.iter().map(|died| died.node.clone()).collect();
        (self.run.events)(Event::NodesDied(names));
        Some(LoopEvent::Died(died))
    }

    fn tell_machines(&mut self) {
        let clients = self.load.now();
        if !clients.is_empty() {
            (self.run.events)(Event::ClientsNow(clients));
        }
        let hosts = self.state.gather.hosts.now(&self.running.cluster);
        if !hosts.is_empty() {
            (self.run.events)(Event::HostsNow(hosts));
        }
    }

    fn reached(&mut self, number: usize, stage: FaultStage) {
        (self.run.events)(Event::FaultReached(number, stage));
    }
}

impl TrialRun<'_> {
    pub(super) fn begin_phase(&mut self, kind: PhaseKind, state: &mut State) -> Result<()> {
        self.begin_phase_at(kind, clock::now_ns(), state)
    }

    /// Announces a phase: writes it to the journal first, then reports it to the observer.
    fn begin_phase_at(&mut self, kind: PhaseKind, at_ns: u64, state: &mut State) -> Result<()> {
        let started = JournalEvent::PhaseStarted {
            phase: kind.name().to_owned(),
        };
        self.writer.journal(Some(self.trial.index), started)?;
        state.timeline.begin(kind.name(), at_ns);
        match kind {
            PhaseKind::Measure => state.gather.window_begins(at_ns),
            _ => state.gather.window_ends(at_ns),
        }
        let (planned, after) = state.timeline.advance(kind, &self.trial.phases);
        let what = planned.map(|phase| phase.work.to_string());
        (self.events)(Event::PhaseStarted {
            phase: kind.name(),
            what: what.unwrap_or_else(|| unplanned(kind).to_owned()),
            seconds: planned.map_or(0.0, |phase| phase.seconds),
            seconds_after: after.iter().map(|phase| phase.seconds).sum(),
        });
        Ok(())
    }

    /// Applies load until the limit of the offer, `decide`, Ctrl-C, the guard, a dead node or a
    /// lost client ends it. For each interval, `decide` names the phase of the interval and decides
    /// whether the load continues.
    pub(super) fn offer(
        &mut self,
        running: &mut Running,
        state: &mut State,
        offer: &Offer<'_>,
        consumers: &mut [&mut dyn IntervalConsumer],
        decide: &mut dyn FnMut(&SummedInterval) -> Decision,
    ) -> Result<PhaseResult> {
        preflight::may_write(running, &self.program, offer.stage)?;
        let rise = load_guard::rise(self.guard.as_ref());
        let config = load_run::config(self.settings, &self.program, running, offer, rise);
        let kinds = self.program.kinds().iter();
        let mut counts = WindowCounts::new(&kinds.map(|kind| kind.is_write).collect::<Vec<_>>());
        let faults = Faults::new(offer.faults, running, &self.program)?;
        (self.events)(Event::FaultsPlanned(faults.outlook()));
        let load = self.start_load(running, &config, offer)?;
        state.begin_clients(&load, offer);
        let start_ns = load.start_ns();
        let mut all: Vec<&mut dyn IntervalConsumer> = vec![&mut counts];
        all.extend(consumers.iter_mut().map(|one| &mut **one as &mut dyn IntervalConsumer));
        let mut conduct = Conduct::new(start_ns, all, faults.planned(), decide);
        conduct.guard = self.guard.map(|guard| Watch::new(guard.limits));
        if let Some(length) = offer.measures_for {
            conduct.measures_for(length);
        }
        if let Some(length) = offer.ends_after_faults {
            conduct.ends_after_faults(length);
        }
        if matches!(offer.window, Window::Whole | Window::After(Duration::ZERO)) {
            conduct.measures_from(start_ns);
        }
        match offer.limit {
            Limit::Operations(count) => conduct.ends_after(count),
            Limit::Either(_, length) => conduct.ends_at(start_ns + length.as_nanos() as u64),
            Limit::Duration(_) | Limit::Unlimited => {}
        }
        let mut offering = Offering {
            load,
            running,
            run: self,
            state,
            faults,
        };
        let conducted = conduct.run(&mut offering);
        // The faults must be healed however the load ended, because the next phase needs a target
        // without faults.
        let Offering {
            load,
            running,
            run,
            state,
            faults,
        } = offering;
        let healed = faults.end(running, state);
        let profiled = state.profiling.window_ends(&running.cluster);
        conducted.and(healed).and(profiled)?;
        (run.events)(Event::ClientsNow(Vec::new()));
        (run.events)(Event::HostsNow(Vec::new()));
        let summary = load.end().context("offer load")?;
        state.end_clients(&summary)?;
        if let Some(times) = state.client_times().filter(|_| !summary.clients.is_empty()) {
            (run.events)(Event::ClientsMeasured(times));
        }
        let cut = conduct.cut;
        state.answered.add(&counts.answered);
        Ok(PhaseResult {
            summary: summary.all,
            cut,
            counts,
        })
    }

    /// Begins to offer load. If the trial has several clients and this load can be shared, the
    /// clients offer it. Otherwise this process does.
    fn start_load(
        &self,
        running: &Running,
        config: &load::Config,
        offer: &Offer<'_>,
    ) -> Result<Fleet> {
        let shared = self.fleet.filter(|_| fleet_use::is_shared(offer));
        let Some(shared) = shared else {
            let load = Load::start(config).context("offer load")?;
            return Ok(Fleet::Alone(Box::new(load)));
        };
        let variant = self.trial.variant;
        fleet_use::prepare(&shared.clients, self.study, variant, &self.program, running)
            .and_then(|()| shared.clients.start(config))
            .context("apply load with several clients")
    }

    /// Records the measured window. If the window ended early, returns how the trial ended.
    pub(super) fn measured(&mut self, offered: PhaseResult, state: &mut State) -> Option<TrialEnd> {
        state.finding.client.workers = offered.summary.workers;
        state.finding.client.realtime = offered.summary.realtime;
        state.finding.client.connections = offered.summary.connections;
        state.evidence.checks.add(offered.counts.checks());
        self.name_rows(&offered, state);
        state.counts = offered.counts;
        self.cut(offered.cut, state)
    }

    /// Returns how the trial ended after a phase that ended early. Returns `None` if the phase
    /// ended as planned.
    pub(super) fn cut(&mut self, cut: Option<EarlyEnd>, state: &mut State) -> Option<TrialEnd> {
        match cut? {
            EarlyEnd::Interrupted => Some(TrialEnd::Interrupted),
            EarlyEnd::NodeDied(why) | EarlyEnd::Guarded(why) | EarlyEnd::ClientLost(why) => {
                state.evidence.aborted = Some(why.clone());
                let finding = self.judge(None, state);
                Some(TrialEnd::Stopped(Box::new(finding), why))
            }
        }
    }
}

/// Returns the description of a phase that is not in the plan.
fn unplanned(kind: PhaseKind) -> &'static str {
    match kind {
        // The guard of the target makes the load ramp up, so the plan does not contain this phase.
        PhaseKind::Warmup => "the load ramps up",
        _ => "",
    }
}
