//! Why a study that was resolved is not planned.

use crate::rules::statements::beyond_data;
use crate::settings::Study;
use crate::work::Work;

/// Why a study that was resolved has no plan.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Its workload does not compile with its seed.
    #[error("{0}")]
    Compile(String),
    /// It has statements that are more than data, each with its variant: the user has not said that
    /// whoever wrote it is trusted.
    #[error("{}\nhint: say --trust if you trust whoever wrote the study", .0.join("\n"))]
    Untrusted(Vec<String>),
    /// It has statements that are not CQL, or that can be read in two ways, each with its variant
    /// and place.
    #[error("{}", .0.join("\n"))]
    Unreadable(Vec<String>),
}

/// Refuses statements that cannot be read as Cassandra reads them; and those that are more than
/// data, unless the study is trusted or is the user's own command line.
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
            let of = match variant.name.named() {
                None => String::new(),
                Some(name) => format!("variant {name}: "),
            };
            match beyond_data(cql, work.program.keyspace()) {
                Err(fault) => unreadable.push(format!(
                    "{of}`workload` has a statement that cannot be read, at {}: {cql}",
                    fault.said(cql)
                )),
                Ok(Some(beyond)) if !is_trusted => refused.push(format!(
                    "{of}`workload` has {beyond}, which is more than data: {cql}"
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
