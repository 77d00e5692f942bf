//! Probes that an agent runs for its controller.

use anyhow::{Context, Result};
use host::Watch;
use host::watch::{Encoder, READINGS_COUNT_MAX, ReadingsBatch, TakeReadings};
use linux::probe::{ProbeCost, Probes, Reading};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub(crate) struct ActiveWatches(Mutex<Watches>);

#[derive(Default)]
struct Watches {
    last_id: u64,
    all: HashMap<u64, Arc<Mutex<ActiveWatch>>>,
}

/// Watch, from its start until its controller has ended it and received all readings.
struct ActiveWatch {
    /// `None` once the watch has ended.
    probes: Option<Probes>,
    costs: Vec<ProbeCost>,
    /// Readings that the agent has not sent yet.
    waiting: std::vec::IntoIter<Reading>,
    encoder: Encoder,
}

impl ActiveWatches {
    /// Ends all probes after their controller has disconnected.
    pub fn end(&self) {
        lock(&self.0).all.clear();
    }

    pub fn begin(&self, watch: Watch) -> Result<u64> {
        let one = ActiveWatch {
            probes: Some(Probes::start(vec![watch.ours("probe")?])?),
            costs: Vec::new(),
            waiting: Vec::new().into_iter(),
            encoder: Encoder::default(),
        };
        let mut watches = lock(&self.0);
        watches.last_id += 1;
        let id = watches.last_id;
        watches.all.insert(id, Arc::new(Mutex::new(one)));
        Ok(id)
    }

    pub fn take(&self, TakeReadings { watch, end }: &TakeReadings) -> Result<ReadingsBatch> {
        let one = lock(&self.0)
            .all
            .get(watch)
            .map(Arc::clone)
            .with_context(|| format!("probe watch {watch} does not exist"))?;
        let taken = lock(&one).take(*end);
        if taken.costs.is_some() {
            lock(&self.0).all.remove(watch);
        }
        Ok(taken)
    }
}

impl ActiveWatch {
    fn take(&mut self, end: bool) -> ReadingsBatch {
        if self.waiting.len() == 0 {
            let mut readings = Vec::new();
            if let Some(probes) = self.probes.take_if(|_| end) {
                (readings, self.costs) = probes.stop();
            } else if let Some(probes) = &self.probes {
                readings = probes.take();
            }
            self.waiting = readings.into_iter();
        }
        let readings = self.waiting.by_ref().take(READINGS_COUNT_MAX);
        let batch = self.encoder.encode(readings);
        let rest = self.waiting.len() > 0 || (end && self.probes.is_some());
        let over = end && !rest;
        ReadingsBatch {
            batch,
            rest,
            costs: over.then(|| std::mem::take(&mut self.costs)),
        }
    }
}

/// Locks a mutex, even if it is poisoned. A panic cannot interrupt an update of the data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
