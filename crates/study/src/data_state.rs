//! What stands on a target, and what a trial has to do before its data is in the state that it
//! asks for.
//!
//! A plan and a run decide by the same two functions: the plan from the trials before, the run
//! from what is really there.

use crate::settings::{Keyspace, Load, Reset, Settings};
use crate::tree::Tree;
use workload::Program;

/// What stands on a target: which keyspaces were filled by what, and which snapshots there are.
#[derive(Clone, Debug, Default)]
pub struct DataState {
    filled: Vec<(String, Filled)>,
    snapshots: Vec<SnapshotKey>,
}

#[derive(Clone, Debug)]
struct Filled {
    key: DataKey,
    rows: u64,
}

/// A snapshot of loaded data.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotKey {
    key: DataKey,
    /// Its name.
    pub name: String,
    /// Rows that were loaded.
    pub rows: u64,
}

/// Two variants with equal keys want the same rows in the same tables. How the nodes are configured
/// while they load is not part of it: the rows are the same.
#[derive(Clone, Debug, PartialEq)]
struct DataKey {
    workload: String,
    params: Vec<(String, Tree)>,
    keyspace: Keyspace,
    load: Load,
    rows: u64,
}

/// What a trial has to do before it can warm up, beside restoring a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparation {
    /// The data, or a snapshot of it, is there.
    Nothing,
    /// Create keyspace and tables, and load.
    Fill,
    /// The keyspace holds other tables or rows: drop it, then as `Fill`.
    Replace,
    /// Empty the tables, and load again.
    Truncate,
}

impl Preparation {
    /// Whether rows are written.
    pub fn fills(self) -> bool {
        self != Preparation::Nothing
    }
}

impl DataState {
    /// What `settings` need on a target in this state.
    pub fn preparation(&self, settings: &Settings, program: &Program) -> Preparation {
        if settings.data.reset == Reset::Snapshot && self.snapshot(settings).is_some() {
            return Preparation::Nothing;
        }
        match self.filled(program.keyspace()) {
            // What is said to be present on somebody's cluster is taken as it is.
            Some(_) if settings.takes_as_it_is() => Preparation::Nothing,
            None => Preparation::Fill,
            Some(there) if there.key != DataKey::of(settings) => Preparation::Replace,
            Some(_) if settings.data.reset == Reset::Truncate => Preparation::Truncate,
            // Trials have written to it since it was loaded, and nobody has kept it.
            Some(_) if settings.data.reset == Reset::Snapshot => Preparation::Replace,
            Some(_) => Preparation::Nothing,
        }
    }

    /// Notes that the data of `settings` is there: `rows` rows.
    pub fn prepared(&mut self, settings: &Settings, program: &Program, rows: u64) {
        self.filled.retain(|(name, _)| name != program.keyspace());
        let filled = Filled {
            key: DataKey::of(settings),
            rows,
        };
        self.filled.push((program.keyspace().to_owned(), filled));
    }

    /// Notes that what is there now was kept as a snapshot.
    pub fn kept(&mut self, settings: &Settings, program: &Program, name: String) {
        let rows = self.filled(program.keyspace()).map_or(0, |there| there.rows);
        let key = DataKey::of(settings);
        self.snapshots.retain(|kept| kept.key != key);
        self.snapshots.push(SnapshotKey { key, name, rows });
    }

    /// The snapshot of the data that `settings` ask for.
    pub fn snapshot(&self, settings: &Settings) -> Option<&SnapshotKey> {
        let key = DataKey::of(settings);
        self.snapshots.iter().find(|kept| kept.key == key)
    }

    /// Rows that were really loaded for `settings`, if they stand or are kept.
    pub fn rows(&self, settings: &Settings, program: &Program) -> Option<u64> {
        let kept = self.snapshot(settings).map(|kept| kept.rows);
        let there = self.filled(program.keyspace());
        let there = there.filter(|there| there.key == DataKey::of(settings));
        kept.or(there.map(|there| there.rows))
    }

    fn filled(&self, keyspace: &str) -> Option<&Filled> {
        let found = self.filled.iter().find(|(name, _)| name == keyspace);
        found.map(|(_, filled)| filled)
    }
}

impl DataKey {
    fn of(settings: &Settings) -> DataKey {
        DataKey {
            workload: settings.workload.name.clone(),
            params: settings.workload.params.clone(),
            keyspace: settings.keyspace.clone(),
            load: settings.data.load,
            rows: settings.data.rows,
        }
    }
}
