//! Judges registers one by one, based on the histories of all trials on the same data.

use super::{State, TrialRun};
use crate::load_run::PhaseResult;
use crate::running_target::Running;
use analysis::linearizability::{self, HistoryVerdict, RegisterEvent};
use analysis::rules::Registers;
use anyhow::Result;
use load::RegisterOperation;
use std::collections::BTreeMap;
use store::record::{HistoryRecord, RegistersRecord, ViolationRecord};
use workload::{RegisterRequest, Stage};

/// Maximum number of states in the search for an order of the operations on one register. A search
/// with this number of states takes less than a second, and tens of MB of memory. A register with
/// dozens of operations of unknown outcome needs more states.
const STATES_MAX: u64 = 500_000;
const INITIAL: i64 = 0;
const VIOLATIONS_MAX: usize = 100;
const METHOD: &str = "Wing and Gong's search with Lowe's memoisation, one register at a time";

impl TrialRun<'_> {
    /// Returns the reason why the server counts more reads of registers than the client requested.
    /// Returns `None` if the program has no registers.
    pub(super) fn meeting(&self) -> Option<String> {
        let why = "concurrent transactions on one register read the register again, and the server \
                   counts each read";
        self.has_registers().then(|| why.to_owned())
    }

    pub(super) fn has_registers(&self) -> bool {
        let mut generator = self.program.generator(Stage::Main);
        generator.begin(0);
        generator.register_request().is_some()
    }

    /// Adds the final reads to the histories, writes the histories to disk, and judges each
    /// history.
    pub(super) fn judge_registers(
        &self,
        offered: &PhaseResult,
        running: &mut Running,
        state: &mut State,
    ) -> Result<()> {
        let history = offered.summary.history.as_deref();
        let Some((written, history)) = running.written.as_mut().zip(history) else {
            return Ok(());
        };
        written.add_history(&self.program, Stage::ReadBack, Some(history));
        let mut by_key: BTreeMap<u64, Vec<RegisterOperation>> = BTreeMap::new();
        for recorded in written.registers() {
            by_key.entry(recorded.key).or_default().push(*recorded);
        }
        let all = by_key.values().flatten();
        let first_ns = all.clone().map(|one| one.happened.sent_ns).min();
        let line = |one: &RegisterOperation| record(one, first_ns.unwrap_or(0));
        state.writer.write_history(all.map(line))?;
        let found = judged(&by_key, STATES_MAX);
        state.evidence.registers = Some(Registers {
            checked: found.registers,
            violated: found.violated,
            undecided: found.undecided,
        });
        state.finding.registers = Some(RegistersRecord {
            beyond: state.beyond,
            ..found
        });
        Ok(())
    }
}

fn judged(by_key: &BTreeMap<u64, Vec<RegisterOperation>>, states_max: u64) -> RegistersRecord {
    let mut record = RegistersRecord {
        method: METHOD.to_owned(),
        registers: by_key.len() as u64,
        states_max,
        ..RegistersRecord::default()
    };
    for (&key, history) in by_key {
        let operations: Vec<linearizability::Operation> = history.iter().map(operation).collect();
        record.operations += operations.len() as u64;
        let unknown = operations.iter().filter(|one| one.returned_ns.is_none());
        record.unknown += unknown.count() as u64;
        match linearizability::judge(&operations, Some(INITIAL), states_max) {
            HistoryVerdict::Linearizable => record.linearizable += 1,
            HistoryVerdict::Undecided(_) => record.undecided += 1,
            HistoryVerdict::Violated(at) => {
                record.violated += 1;
                if record.violations.len() < VIOLATIONS_MAX {
                    let operations = at.into_iter().map(|at| history[at].number).collect();
                    record.violations.push(ViolationRecord { key, operations });
                }
            }
        }
    }
    record
}

fn operation(recorded: &RegisterOperation) -> linearizability::Operation {
    let happened = &recorded.happened;
    let (what, returned_ns) = match (recorded.asked, happened.applied) {
        (RegisterRequest::Read, _) => (RegisterEvent::Read(happened.found), happened.answered_ns),
        // The register exists, so an unmet IF EXISTS means that the server did not find the row.
        (RegisterRequest::Write(_), Some(false)) => {
            (RegisterEvent::Read(None), happened.answered_ns)
        }
        (RegisterRequest::Write(to), _) => (RegisterEvent::Write(Some(to)), happened.answered_ns),
        (RegisterRequest::Swap { from, to }, applied) => {
            let what = RegisterEvent::Swap {
                from: Some(from),
                to: Some(to),
                applied: applied == Some(true),
                instead: (applied == Some(false)).then_some(happened.found),
            };
            (what, happened.answered_ns)
        }
    };
    linearizability::Operation {
        invoked_ns: happened.sent_ns,
        returned_ns,
        what,
    }
}

/// Converts an operation to its record. Times in the record are relative to `first_ns`.
fn record(recorded: &RegisterOperation, first_ns: u64) -> HistoryRecord {
    let happened = &recorded.happened;
    let (kind, from, to) = match recorded.asked {
        RegisterRequest::Read => ("read", None, None),
        RegisterRequest::Write(to) => ("write", None, Some(to)),
        RegisterRequest::Swap { from, to } => ("swap", Some(from), Some(to)),
    };
    HistoryRecord {
        key: recorded.key,
        number: recorded.number,
        stage: match recorded.stage {
            Stage::Main => "main".to_owned(),
            _ => "read-back".to_owned(),
        },
        kind: kind.to_owned(),
        invoked_ns: happened.sent_ns - first_ns,
        returned_ns: happened.answered_ns.map(|ns| ns - first_ns),
        from,
        to,
        applied: happened.applied,
        found: happened.found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::RegisterResult;

    /// Returns successive operations on register 7 that take 10 ns each.
    fn history(
        operations: &[(RegisterRequest, Option<bool>, Option<i64>)],
    ) -> BTreeMap<u64, Vec<RegisterOperation>> {
        let numbered = (0_u64..).zip(operations);
        let recorded = numbered.map(|(number, &(asked, applied, found))| RegisterOperation {
            key: 7,
            stage: Stage::Main,
            number: 100 + number,
            asked,
            happened: RegisterResult {
                sent_ns: 1000 + 20 * number,
                answered_ns: Some(1010 + 20 * number),
                applied,
                found,
            },
        });
        BTreeMap::from([(7, recorded.collect())])
    }

    #[test]
    fn a_planted_stale_read_and_a_lost_update_are_found_and_named() {
        let swap = RegisterRequest::Swap { from: 2, to: 3 };
        let legal = [
            (RegisterRequest::Read, None, Some(0)),
            (RegisterRequest::Write(2), Some(true), None),
            (swap, Some(true), None),
            (swap, Some(false), Some(3)),
            (RegisterRequest::Read, None, Some(3)),
        ];
        let found = judged(&history(&legal), STATES_MAX);
        assert_eq!(
            (found.linearizable, found.violated, found.operations),
            (1, 0, 5)
        );

        for (at, planted) in [
            (4, (RegisterRequest::Read, None, Some(2))),
            (3, (swap, Some(true), None)),
            (3, (swap, Some(false), Some(4))),
            // This operation reports that the row did not exist.
            (1, (RegisterRequest::Write(2), Some(false), None)),
        ] {
            let mut broken = legal;
            broken[at] = planted;
            let found = judged(&history(&broken), STATES_MAX);
            assert_eq!(found.violated, 1, "{planted:?}");
            let expected = ViolationRecord {
                key: 7,
                operations: vec![100 + at as u64],
            };
            assert_eq!(found.violations, [expected]);
        }
    }
}
