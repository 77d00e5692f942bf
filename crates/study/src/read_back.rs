//! Chooses the consistency level for reading rows back after a trial, so that the reads must return
//! every acknowledged write.
//!
//! A read from R of RF copies overlaps the W copies that acknowledged a write if R + W > RF. If
//! several data centers have separate numbers of copies, only levels that count all copies overlap.

use crate::settings::{Replication, Settings};
use cql::Consistency;
use std::collections::BTreeSet;
use std::sync::Arc;
use workload::{Program, Stage};

/// Number of operations of a stage that are generated to find its statements. A statement that is
/// so rare that it does not occur among them does not justify a stronger read of every row.
const OPERATIONS_MAX: u64 = 10_000;

/// Consistency levels of writing and of reading back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Number of copies of every row.
    pub copies: u64,
    /// Weakest consistency level among the writes.
    pub written: Consistency,
    /// Number of copies that must acknowledge a write at the level `written`. 0 means that a hint
    /// is enough.
    pub written_by: u64,
    pub read: Consistency,
    /// Number of copies that must answer a read at the level `read`.
    pub read_from: u64,
}

impl Levels {
    /// Returns true if a read must return every acknowledged write.
    pub fn meet(&self) -> bool {
        self.written_by > 0 && self.written_by + self.read_from > self.copies
    }
}

/// Level of a write, and the number of copies that acknowledge it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AcknowledgedLevel {
    pub level: Consistency,
    /// Number of copies that must acknowledge a write at this level. 0 means that a hint is enough.
    pub by: u64,
}

/// Returns the weakest level of the writes during the measurement. `None` if the workload does not
/// write.
pub(crate) fn weakest_write(settings: &Settings, program: &Program) -> Option<AcknowledgedLevel> {
    let replication = &settings.keyspace.replication;
    let written = program.writes(Stage::Main).into_iter().map(|statement| AcknowledgedLevel {
        level: statement.consistency,
        by: required_answers(statement.consistency, replication),
    });
    written.min_by_key(|one| one.by)
}

/// Returns the levels of a trial with these settings. If the study states a level for the reads,
/// the reads use it. Otherwise, they use the weakest level that must return all acknowledged
/// writes.
pub fn levels(settings: &Settings, program: &Arc<Program>) -> Levels {
    let replication = &settings.keyspace.replication;
    let of = |level| required_answers(level, replication);
    let (mut written, mut is_conditional) = (Consistency::All, false);
    for statement in writes(program) {
        let statement = &program.statements()[usize::from(statement)];
        is_conditional |= statement.conditional;
        if of(statement.consistency) < of(written) {
            written = statement.consistency;
        }
    }
    let copies = replication.copies();
    let made = |read| Levels {
        copies,
        written,
        written_by: of(written),
        read,
        read_from: of(read),
    };
    if let Some(stated) = settings.verify.consistency {
        return made(stated);
    }
    if is_conditional {
        // A conditional write needs a serial read, because only a serial read returns writes that
        // Paxos has accepted but not committed.
        return made(Consistency::Serial);
    }
    let usual = [Consistency::One, Consistency::Quorum, Consistency::All];
    let meets = usual.into_iter().map(made).find(Levels::meet);
    meets.unwrap_or_else(|| made(Consistency::All))
}

fn writes(program: &Arc<Program>) -> BTreeSet<u16> {
    let mut found = BTreeSet::new();
    for stage in [Stage::Load, Stage::Main] {
        let mut generator = program.generator(stage);
        for number in 0..OPERATIONS_MAX {
            let operation = generator.begin(number);
            if program.kinds()[usize::from(operation.kind)].is_write {
                found.insert(operation.statement);
            }
        }
    }
    found
}

fn required_answers(level: Consistency, replication: &Replication) -> u64 {
    let all = replication.copies();
    let datacenters: Vec<u64> = match replication {
        Replication::Simple { factor } => vec![u64::from(*factor)],
        Replication::NetworkTopology(all) => {
            let factors = all.iter().map(|(_, factor)| u64::from(*factor));
            factors.filter(|factor| *factor > 0).collect()
        }
    };
    let quorum = |copies: u64| copies / 2 + 1;
    let asked = match level {
        Consistency::Any => 0,
        Consistency::One | Consistency::LocalOne => 1,
        Consistency::Two => 2,
        Consistency::Three => 3,
        Consistency::Quorum | Consistency::Serial => quorum(all),
        Consistency::EachQuorum => datacenters.into_iter().map(quorum).sum(),
        // cassay does not know the client's own data center here, so the number is the quorum of
        // the smallest data center.
        Consistency::LocalQuorum | Consistency::LocalSerial => {
            datacenters.into_iter().min().map_or(0, quorum)
        }
        Consistency::All => all,
    };
    asked.min(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::Inputs;
    use crate::resolve::resolve;
    use crate::settings::Overrides;
    use std::collections::BTreeMap;

    fn levels_of(written: &str, replication: &Replication, verify: &str) -> Levels {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{local: {{}}}}\nprocedure: {{fixed: {{threads: 1}}}}\n\
             workload: {{use: kv, consistency: {written}}}\ndata: {{load: {{operations: 10}}}}\n\
             verify: {verify}\n"
        );
        let study = match resolve("s", &text, &Overrides::default()) {
            Ok(study) => study,
            Err(mistakes) => panic!("{mistakes}"),
        };
        let mut settings = study.variants[0].settings.clone();
        settings.keyspace.replication = replication.clone();
        let inputs = Inputs::recorded(&BTreeMap::new());
        let work = crate::compile_workload::compile(&settings, 1, &inputs).expect("kv compiles");
        levels(&settings, &work.program)
    }

    #[test]
    fn rows_are_read_back_at_the_weakest_level_that_must_see_them() {
        use Consistency::{All, One, Quorum};
        let every = "{sample: all}";
        let copies = |factor| Replication::Simple { factor };
        let two = [("dc1".to_owned(), 2), ("dc2".to_owned(), 2)];
        let two = Replication::NetworkTopology(two.to_vec());
        let (one, three) = (copies(1), copies(3));
        for (written, replication, verify, read, meets) in [
            ("ONE", &one, every, One, true),
            ("ONE", &three, every, All, true),
            ("QUORUM", &three, every, Quorum, true),
            ("ALL", &three, every, One, true),
            ("ANY", &three, every, All, false),
            ("TWO", &three, every, Quorum, true),
            ("LOCAL_QUORUM", &two, every, Quorum, true),
            ("LOCAL_ONE", &two, every, All, true),
            (
                "QUORUM",
                &three,
                "{sample: all, consistency: ONE}",
                One,
                false,
            ),
            // A kind of operation that is not in the mix does not write, so its level does not
            // matter.
            ("{write: QUORUM, insert: ONE}", &three, every, Quorum, true),
            ("{write: QUORUM, read: ONE}", &three, every, Quorum, true),
        ] {
            let found = levels_of(written, replication, verify);
            assert_eq!(
                (found.read, found.meet()),
                (read, meets),
                "{written} {replication:?}"
            );
        }
    }
}
