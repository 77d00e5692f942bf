//! Reasons why a resolved study cannot be planned.

use super::accord;
use crate::compile_workload::Work;
use crate::rules::statements::beyond_data;
use crate::settings::Study;
use workload::Program;

/// Reason why a resolved study cannot be planned.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// The workload does not compile with the seed of the study.
    #[error("{0}")]
    Compile(String),
    /// The study has statements that do more than read and write data, and the user has not
    /// declared that the author is trusted. Each statement comes with its variant.
    #[error("{}\nhint: pass --trust if you trust the author of the study", .0.join("\n"))]
    Untrusted(Vec<String>),
    /// The study has statements that are not CQL or are ambiguous. Each statement comes with its
    /// variant and its place.
    #[error("{}", .0.join("\n"))]
    Unreadable(Vec<String>),
    /// The study sends requests to Accord tables at consistency levels that Accord tables do not
    /// support. Each level comes with its variant.
    #[error("{}\nhint: write `consistency: ONE` or `QUORUM` below `workload`", .0.join("\n"))]
    Levels(Vec<String>),
    /// A restart between two variants of the study switches Accord off on nodes that have an Accord
    /// table.
    #[error("{0}\nhint: split the study into two, each with its own data")]
    AccordOff(String),
}

/// Refuses statements that cannot be parsed as Cassandra parses them. Also refuses statements that
/// do more than read and write data. Such statements are permitted if the user trusts the study, or
/// if the study is the user's own command line.
pub(super) fn only_data(study: &Study, works: &[Work]) -> Result<(), PlanError> {
    let overrides = &study.overrides;
    let is_trusted =
        overrides.granted.trust || overrides.files.as_ref().is_some_and(|files| files.open);
    let (mut refused, mut unreadable) = (Vec::new(), Vec::new());
    for (variant, work) in study.variants.iter().zip(works) {
        let schema = work.program.schema();
        let tables = [&schema.create_keyspace].into_iter().chain(&schema.create_tables);
        let statements = work.program.statements().iter().map(|one| &one.cql);
        let before = work.step.iter().flat_map(|step| &step.before);
        for cql in tables.chain(statements).chain(before) {
            let of = match variant.name.name() {
                None => String::new(),
                Some(name) => format!("variant {name}: "),
            };
            match beyond_data(cql, work.program.keyspace()) {
                Err(fault) => unreadable.push(format!(
                    "{of}`workload` has a statement that cassay cannot parse, at {}: {cql}",
                    fault.describe(cql)
                )),
                Ok(Some(beyond)) if !is_trusted => refused.push(format!(
                    "{of}`workload` has {beyond}, so the study is more than data: {cql}"
                )),
                Ok(_) => {}
            }
        }
    }
    for all in [&mut unreadable, &mut refused] {
        all.dedup();
    }
    if !unreadable.is_empty() {
        Err(PlanError::Unreadable(unreadable))
    } else if !refused.is_empty() {
        Err(PlanError::Untrusted(refused))
    } else {
        Ok(())
    }
}

pub(super) fn accord_stays(study: &Study, works: &[Work]) -> Result<(), PlanError> {
    let programs: Vec<&Program> = works.iter().map(|work| &*work.program).collect();
    accord::switched(&study.variants, &programs)
        .map_or(Ok(()), |why| Err(PlanError::AccordOff(why)))
}

/// Refuses consistency levels at which the server would refuse all requests of a kind.
pub(super) fn only_levels_taken(study: &Study, works: &[Work]) -> Result<(), PlanError> {
    let mut refused = Vec::new();
    for (variant, work) in study.variants.iter().zip(works) {
        let of = variant.name.name().map(|name| format!("variant {name}: ")).unwrap_or_default();
        let of_it = accord::refused_of(&work.program).into_iter();
        refused.extend(of_it.map(|why| format!("{of}{why}")));
    }
    refused.dedup();
    if refused.is_empty() {
        Ok(())
    } else {
        Err(PlanError::Levels(refused))
    }
}
