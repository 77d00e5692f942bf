//! Tracks the data on a target, and decides how each trial gets the data that it requires.
//!
//! A plan and a run use the same two functions. The plan derives the state of the data from the
//! earlier trials, and the run uses the actual state.

use crate::checked_tree::Tree;
use crate::settings::{Keyspace, Load, Reset, Settings};
use workload::Program;

/// Data on a target. It consists of the workload that filled each keyspace, and the existing
/// snapshots.
#[derive(Clone, Debug, Default)]
pub struct DataState {
    filled: Vec<(String, FilledTables)>,
    snapshots: Vec<SnapshotKey>,
}

#[derive(Clone, Debug)]
struct FilledTables {
    key: DataKey,
    rows: u64,
}

/// A snapshot of loaded data.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotKey {
    key: DataKey,
    pub name: String,
    /// Number of loaded rows.
    pub rows: u64,
}

/// Identity of loaded data. Two variants with equal keys need the same rows in the same tables. The
/// key ignores the configuration of the nodes during loading, because the configuration does not
/// change the rows.
#[derive(Clone, Debug, PartialEq)]
struct DataKey {
    workload: String,
    params: Vec<(String, Tree)>,
    keyspace: Keyspace,
    load: Load,
    rows: u64,
}

/// Actions of a trial before its warm-up, apart from restoring a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparation {
    /// Do nothing, because the target has the data, or a snapshot of the data.
    Nothing,
    /// Create the keyspace and its tables, and load the rows.
    Fill,
    /// Drop the keyspace, because it contains other tables or rows. Then do the same as for `Fill`.
    Replace,
    /// Empty the tables, and load the rows again.
    Truncate,
}

impl Preparation {
    /// Returns true if these actions load rows.
    pub fn fills(self) -> bool {
        self != Preparation::Nothing
    }
}

impl DataState {
    /// Returns the actions that prepare the data for a trial with `settings`, on a target in this
    /// state.
    pub fn preparation(&self, settings: &Settings, program: &Program) -> Preparation {
        if settings.data.reset == Reset::Snapshot && self.snapshot(settings).is_some() {
            return Preparation::Nothing;
        }
        match self.filled(program.keyspace()) {
            // The study declares that an attached cluster already has the data, so the data is used
            // unchanged.
            Some(_) if settings.takes_as_it_is() => Preparation::Nothing,
            None => Preparation::Fill,
            Some(there) if there.key != DataKey::from_settings(settings) => Preparation::Replace,
            Some(_) if settings.data.reset == Reset::Truncate => Preparation::Truncate,
            // The snapshot does not exist, and trials have changed the data since it was loaded. So
            // the data must be loaded again.
            Some(_) if settings.data.reset == Reset::Snapshot => Preparation::Replace,
            Some(_) => Preparation::Nothing,
        }
    }

    /// Records that the target contains the data of `settings`, with `rows` rows.
    pub fn prepared(&mut self, settings: &Settings, program: &Program, rows: u64) {
        self.filled.retain(|(name, _)| name != program.keyspace());
        let filled = FilledTables {
            key: DataKey::from_settings(settings),
            rows,
        };
        self.filled.push((program.keyspace().to_owned(), filled));
    }

    /// Records that a snapshot of the current data exists under `name`.
    pub fn kept(&mut self, settings: &Settings, program: &Program, name: String) {
        let rows = self.filled(program.keyspace()).map_or(0, |there| there.rows);
        let key = DataKey::from_settings(settings);
        self.snapshots.retain(|kept| kept.key != key);
        self.snapshots.push(SnapshotKey { key, name, rows });
    }

    /// Returns the snapshot of the data that `settings` require. `None` if the target has no such
    /// snapshot.
    pub fn snapshot(&self, settings: &Settings) -> Option<&SnapshotKey> {
        let key = DataKey::from_settings(settings);
        self.snapshots.iter().find(|kept| kept.key == key)
    }

    /// Returns the number of rows that were actually loaded for `settings`. `None` if neither the
    /// data nor a snapshot of it exists.
    pub fn rows(&self, settings: &Settings, program: &Program) -> Option<u64> {
        let kept = self.snapshot(settings).map(|kept| kept.rows);
        let there = self.filled(program.keyspace());
        let there = there.filter(|there| there.key == DataKey::from_settings(settings));
        kept.or(there.map(|there| there.rows))
    }

    fn filled(&self, keyspace: &str) -> Option<&FilledTables> {
        let found = self.filled.iter().find(|(name, _)| name == keyspace);
        found.map(|(_, filled)| filled)
    }
}

impl DataKey {
    fn from_settings(settings: &Settings) -> DataKey {
        DataKey {
            workload: settings.workload.name.clone(),
            params: settings.workload.params.clone(),
            keyspace: settings.keyspace.clone(),
            load: settings.data.load,
            rows: settings.data.rows,
        }
    }
}
