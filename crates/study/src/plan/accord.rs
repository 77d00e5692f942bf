//! Checks studies with Accord tables. Such tables support only some consistency levels. A node with
//! such a table does not start while Accord is off (6.0-alpha2).

use crate::settings::Variant;
use cql::Consistency::{self, All, Any, One, Quorum, Serial};
use cql::tokens::transactional_mode;
use std::collections::BTreeMap;
use target_spec::{Change, LocalSpec, Target};
use workload::schema::{DefinedObject, parse};
use workload::{Program, table_of};

/// Consistency levels that Accord supports for reads and writes (6.0-alpha2). For writes, Accord
/// also supports Any.
const SUPPORTED_LEVELS: [Consistency; 4] = [One, Quorum, All, Serial];

/// The transactional mode in which reads do not use Accord.
const READS_AS_BEFORE: &str = "mixed_reads";

/// Returns the kinds of operations of a workload for which the server would refuse all requests.
/// Each kind comes with the reason.
pub(super) fn refused_of(program: &Program) -> Vec<String> {
    let modes = modes_of(program);
    let mut refused = Vec::new();
    for statement in program.statements() {
        let kind = &program.kinds()[usize::from(statement.kind)];
        let Some((table, mode)) =
            table_of(&statement.cql).and_then(|name| modes.get_key_value(&name))
        else {
            continue;
        };
        let level = statement.consistency;
        let is_taken = SUPPORTED_LEVELS.contains(&level)
            || kind.is_write && level == Any
            || !kind.is_write && mode == READS_AS_BEFORE;
        if !is_taken {
            refused.push(format!(
                "{} of `workload` accesses {table} at {level}, but with transactional_mode = \
                 '{mode}' the table accepts only ONE, QUORUM, ALL and SERIAL{}",
                kind.name,
                if kind.is_write {
                    ", and ANY for writes"
                } else {
                    ""
                }
            ));
        }
    }
    refused
}

/// Returns the transactional modes of the Accord tables that a program creates. The keys are the
/// names of the tables.
fn modes_of(program: &Program) -> BTreeMap<String, String> {
    let mut types = Vec::new();
    let mut modes = BTreeMap::new();
    for cql in &program.schema().create_tables {
        match parse(cql, &types) {
            Ok(DefinedObject::Type(made)) => types.push(made),
            Ok(DefinedObject::Table(made)) => {
                modes.extend(transactional_mode(cql).map(|mode| (made.name, mode)));
            }
            _ => {}
        }
    }
    modes
}

fn is_on(target: &Target) -> bool {
    let setting = |local: &LocalSpec| local.yaml.get("accord")?.get("enabled")?.as_bool();
    target.local().and_then(setting).unwrap_or(false)
}

/// Describes the first pair of variants for which a restart switches Accord off while nodes have an
/// Accord table. `None` if no pair does. `programs` are the programs of the variants.
pub(super) fn switched(variants: &[Variant], programs: &[&Program]) -> Option<String> {
    for (one, program) in variants.iter().zip(programs) {
        let target = &one.settings.target;
        if !is_on(target) {
            continue;
        }
        let Some((table, mode)) = modes_of(program).pop_first() else {
            continue;
        };
        let restarts = |other: &Target| other.change_from(target) == Change::Restart;
        let off = variants.iter().find(|other| {
            let other = &other.settings.target;
            !is_on(other) && restarts(other)
        });
        if let Some(off) = off {
            return Some(format!(
                "variant {} turns off `accord.enabled` on the nodes of variant {}, which have \
                 {table} with transactional_mode = '{mode}': a node with such a table does not \
                 start without Accord",
                off.name, one.name
            ));
        }
    }
    None
}
