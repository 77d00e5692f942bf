//! Prepares the environment of a trial: its target, its clients, and the clients' ceilings.

use super::{Engine, Event};
use crate::ceiling::{self, Ceiling};
use crate::fleet_use::{self, FleetUse};
use crate::nodes;
use crate::preflight;
use crate::running_target::Running;
use crate::trial::missing_files;
use anyhow::Result;
use cluster::Gap;
use store::record::{GapKind, GapRecord, JournalEvent, RemainsRecord};
use study::plan::{PhaseKind, Trial, VariantIndex};
use target_spec::{Change, Target};

impl Engine<'_> {
    /// Starts the target of the trial, unless an equal target is running. If a restart can change
    /// one target into another, the two targets count as equal here.
    pub(super) fn ready_target(&mut self, trial: &Trial) -> Result<()> {
        let settings = &self.study.variant(trial.variant).settings;
        let running = self.running.as_ref();
        let change = running.map(|there| settings.target.change_from(&there.settings));
        if change.is_some_and(|change| change != Change::Start) {
            return Ok(());
        }
        self.stop_target()?;
        // A new target has no data, so it starts with the configuration of the load phase.
        let target = match &self.plan.work(trial.variant).step {
            Some(_) => &settings.target,
            None => settings.load_target(),
        };
        let what = study::plan::target_words(target);
        let starting = JournalEvent::TargetStarting {
            kind: target.kind().to_owned(),
            what: what.clone(),
        };
        self.writer.journal(Some(trial.index), starting)?;
        let seconds = trial.seconds_of(PhaseKind::Target);
        (self.events)(Event::PhaseStarted {
            phase: "target",
            what,
            seconds,
            seconds_after: (trial.seconds() - seconds).max(0.0),
        });
        let events = &mut *self.events;
        let started = Running::start(target, &self.options.dirs, &mut |text| {
            events(Event::Said(text.to_owned()));
        });
        if started.is_err() {
            self.refused.push(settings.target.clone());
        }
        let running = started?;
        let stamp = Some(self.writer.stamp());
        let own = preflight::own_runs(self.study, &self.options.results, stamp)?;
        preflight::let_in(&running, self.study, own);
        let ready = JournalEvent::TargetReady {
            kind: running.settings.kind().to_owned(),
            nodes: nodes::at_start(&running),
        };
        self.writer.journal(Some(trial.index), ready)?;
        let nodes = running.cluster.nodes().iter();
        (self.events)(Event::TargetReady(
            nodes.map(|node| node.name.clone()).collect(),
        ));
        self.running = Some(running);
        Ok(())
    }

    pub(super) fn stop_target(&mut self) -> Result<()> {
        let slug = self.logs.take();
        let Some(running) = self.running.take() else {
            return Ok(());
        };
        self.too_much = false;
        self.note_remains(&running);
        self.writer.journal(None, JournalEvent::TargetStopped)?;
        (self.events)(Event::TargetStopped);
        let Some(slug) = slug else {
            return running.stop(None).1;
        };
        let logs = self.writer.trial_folder(&slug)?.join("logs");
        let (missing, stopped) =
            running.stop(Some(&logs).filter(|folder| folder.is_dir()).map(|f| &**f));
        // After a failure, the earlier logs also belong to the trial.
        let noted = self.writer.note_added(&slug);
        stopped.and(noted).and(self.note_missing(slug, missing))
    }

    fn note_remains(&mut self, running: &Running) {
        let left = running.cluster.left();
        if let Target::Attach(attach) = &running.settings
            && !left.is_empty()
        {
            let address = attach.contact_points.first().cloned().unwrap_or_default();
            let tables = self.remains.entry(format!("attach:{address}")).or_default();
            tables.extend(left.iter().map(ToString::to_string));
        }
    }

    pub(super) fn remains(&self) -> Vec<RemainsRecord> {
        let all = self.remains.iter().map(|(target, tables)| RemainsRecord {
            target: target.clone(),
            tables: tables.iter().cloned().collect(),
        });
        all.collect()
    }

    fn note_missing(&mut self, slug: String, missing: Vec<Gap>) -> Result<()> {
        let gaps: Vec<GapRecord> = missing_files::records(GapKind::Logs, missing).collect();
        if gaps.is_empty() {
            return Ok(());
        }
        for gap in &gaps {
            (self.events)(Event::Said(gap.words()));
        }
        self.writer.journal(None, JournalEvent::FilesMissing { slug, gaps })
    }

    pub(super) fn ready_clients(&mut self, trial: &Trial) -> Result<()> {
        let client = &self.study.variant(trial.variant).settings.client;
        let serves = self.fleet.as_ref().is_some_and(|fleet| fleet.serves(client));
        if !serves {
            // Clients that no remaining trial needs end first.
            self.fleet = None;
            let say = &mut |said: &str| (self.events)(Event::Said(said.to_owned()));
            self.fleet = FleetUse::open(client, say)?;
        }
        if let Some(fleet) = self.fleet.as_mut().filter(|fleet| !fleet.is_told) {
            fleet.is_told = true;
            let clients = fleet.records();
            (self.events)(Event::Said(fleet.words()));
            self.writer.journal(Some(trial.index), JournalEvent::ClientsReady { clients })?;
        }
        Ok(())
    }

    /// Returns the ceilings of the client for the program of the trial. Makes the measurements that
    /// are due. Equal programs share their ceilings.
    pub(super) fn ceilings(&mut self, trial: &Trial) -> Result<Vec<Ceiling>> {
        let settings = &self.study.variant(trial.variant).settings;
        let same = |index: &VariantIndex| {
            let other = &self.study.variant(*index).settings;
            other.workload == settings.workload && other.client == settings.client
        };
        let at = self.study.variant_indexes().find(same).unwrap_or(trial.variant);
        let due = self.ceilings[at.0].due(matches!(settings.target, Target::Null(_)));
        if due > 0 {
            (self.events)(Event::PhaseStarted {
                phase: "ceiling",
                what: "measure the client itself on the null target".to_owned(),
                seconds: due as f64 * study::estimate::CEILING_S,
                seconds_after: trial.seconds() - trial.seconds_of(PhaseKind::Target),
            });
        }
        let program = &self.plan.work(trial.variant).program;
        let fleet = self.fleet.as_ref().filter(|_| due > 0);
        // The load later uses the same inputs, so the clients build their program only once.
        if let (Some(fleet), Some(running)) = (fleet, &self.running) {
            fleet_use::prepare(&fleet.clients, self.study, trial.variant, program, running)?;
        }
        let measure = || match fleet {
            Some(fleet) => ceiling::measure_clients(&fleet.clients),
            None => ceiling::measure(settings, program, &self.options.dirs).map(|ceiling| {
                ceiling.map(|ops_per_s| Ceiling {
                    ops_per_s,
                    clients: Vec::new(),
                })
            }),
        };
        let said = self.ceilings[at.0].measure(due, &measure);
        (said.into_iter()).for_each(|text| (self.events)(Event::Said(text)));
        Ok(self.ceilings[at.0].latest())
    }
}
