//! Properties of kinds and statements, in the form in which the hot loop looks them up.
//!
//! Most statements are *plain*. A plain statement is one request and one response, without any
//! follow-up. All other statements have an operation state (`worker::operation_state`) and cost
//! more. Because this module separates the two groups, plain statements do not bear the cost of the
//! others.

use crate::config::LoadError;
use crate::connection::ANSWER_BYTES_USUAL;
use crate::inflight::{CLASSES_MAX, Class, NEVER_NS, SPECIAL};
use cql::frame::BODY_BYTES_MAX;
use measure::Outcome;
use std::time::Duration;
use workload::{Program, Statement};

/// Statement number that means the absence of a statement.
pub(crate) const NO_STATEMENT: u16 = u16::MAX;
pub(crate) const NO_KIND: u8 = u8::MAX;
pub(crate) const KINDS_MAX: usize = 64;

const _: () = assert!(
    KINDS_MAX <= CLASSES_MAX,
    "each kind may be a separate class"
);

#[derive(Clone, Copy, Debug)]
pub(crate) struct KindFacts {
    /// Class of the kind in the in-flight table.
    pub class: u8,
    pub is_write: bool,
    /// Maximum number of attempts after the first attempt.
    pub retries: u8,
    /// True if the kind has neither retries nor speculation.
    pub plain: bool,
    pub timeout_ns: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct StatementFacts {
    pub verifies: bool,
    /// True if the statement's operation is one request and one response.
    pub plain: bool,
    pub idempotent: bool,
    pub conditional: bool,
    /// True if the client sets the timestamp of the write. Several attempts then count as one
    /// write.
    pub stamped: bool,
    /// True if a server counts the statement as a read.
    pub is_read: bool,
    pub paged: bool,
    pub pages_max: u32,
    /// Statement that the worker sends after this statement has succeeded, or [`NO_STATEMENT`].
    pub then: u16,
    /// Kind of operation to which the statement's results belong if it is a part of a larger
    /// operation, or [`NO_KIND`].
    pub part: u8,
    /// Size of the largest body that a response to the statement can have, in bytes.
    pub body_bytes_max: u32,
    /// Bit of the table to which the statement writes. A server counts a batch once for each table.
    pub table: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub kinds: Vec<KindFacts>,
    pub statements: Vec<StatementFacts>,
    pub classes: Vec<Class>,
    /// True if any operation may need an operation state.
    pub has_courses: bool,
    /// True if any response may lead to another request.
    pub has_follow_ups: bool,
    pub has_pages: bool,
    pub has_retries: bool,
    /// True if any operation may be sent to two nodes.
    pub has_speculation: bool,
}

impl Facts {
    /// Derives the facts of a program. A kind has the timeout `timeout` unless the kind sets
    /// another timeout. Each kind has at least `retries_min` retries.
    ///
    /// # Errors
    /// The program has no kinds or more than [`KINDS_MAX`] kinds, or a statement refers to a
    /// missing kind or statement, or a chain of statements has no end.
    pub fn new(program: &Program, timeout: Duration, retries_min: u8) -> Result<Facts, LoadError> {
        let refuse = |text: String| Err(LoadError::Config(text));
        let (kinds, statements) = (program.kinds(), program.statements());
        if kinds.is_empty() || kinds.len() > KINDS_MAX {
            return refuse(format!(
                "the program has {} kinds of operations; the number must be from 1 to {KINDS_MAX}: \
                 merge some kinds",
                kinds.len()
            ));
        }
        let mut facts = Facts {
            kinds: Vec::new(),
            statements: with_tables(statements, program.row_bytes_estimate()),
            classes: Vec::new(),
            has_courses: false,
            has_follow_ups: false,
            has_pages: false,
            has_retries: false,
            has_speculation: false,
        };
        for kind in kinds {
            let policy = kind.policy;
            let retries = policy.retries.max(retries_min);
            let class = Class {
                timeout_ns: ns(policy.timeout.unwrap_or(timeout)),
                speculate_ns: policy.speculate_after.map_or(NEVER_NS, ns),
            };
            let known = facts.classes.iter().position(|known| *known == class);
            let index = known.unwrap_or_else(|| {
                facts.classes.push(class);
                facts.classes.len() - 1
            });
            facts.kinds.push(KindFacts {
                class: index as u8,
                is_write: kind.is_write,
                retries,
                plain: retries == 0 && policy.speculate_after.is_none(),
                timeout_ns: class.timeout_ns,
            });
        }
        for (index, statement) in statements.iter().enumerate() {
            check(statement, index, kinds.len(), statements)?;
        }
        let classes = &facts.classes;
        facts.has_speculation = classes.iter().any(|class| class.speculate_ns != NEVER_NS);
        facts.has_pages = facts.statements.iter().any(|statement| statement.paged);
        facts.has_retries = facts.kinds.iter().any(|kind| kind.retries > 0);
        let goes_on = |of: &StatementFacts| of.paged || of.then != NO_STATEMENT;
        facts.has_follow_ups =
            facts.has_speculation || facts.has_retries || facts.statements.iter().any(goes_on);
        facts.has_courses = facts.kinds.iter().any(|kind| !kind.plain)
            || facts.statements.iter().any(|statement| !statement.plain);
        Ok(facts)
    }

    /// Returns the class of an operation that begins with `statement`, including [`SPECIAL`].
    #[inline]
    pub fn class(&self, kind: u8, statement: u16) -> u8 {
        let kind = &self.kinds[usize::from(kind)];
        if kind.plain && self.statements[usize::from(statement)].plain {
            kind.class
        } else {
            kind.class | SPECIAL
        }
    }
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(NEVER_NS - 1)
}

/// Assigns to each statement the bit of its table. If the program has more than 64 tables, the last
/// tables share a bit.
fn with_tables(statements: &[Statement], row_bytes: u64) -> Vec<StatementFacts> {
    let mut tables = Vec::new();
    let facts = statements.iter().map(|of| {
        let name = of.table();
        let known = tables.iter().position(|known| *known == name);
        let index = known.unwrap_or_else(|| {
            tables.push(name);
            tables.len() - 1
        });
        statement(of, 1 << index.min(63), row_bytes)
    });
    facts.collect()
}

/// Factor by which the rows of other clients in the same table may be larger than the rows of this
/// program.
const ROW_MARGIN: u64 = 16;

/// Size that the body of a response with rows may always have, in bytes, even if the program's rows
/// are smaller.
const ROWS_BYTES_MIN: u64 = 16 << 20;

/// Returns the size of the largest body of a response to a statement, in bytes. For a statement
/// without rows, this is [`ANSWER_BYTES_USUAL`]. For a paged statement, it is the size of a page of
/// rows. For rows without paging, it is the maximum of the protocol.
fn body_bytes_max(statement: &Statement, row_bytes: u64) -> u32 {
    let all = u64::from(BODY_BYTES_MAX);
    let limit = match statement.page_size {
        _ if !statement.returns_rows => u64::from(ANSWER_BYTES_USUAL),
        None => all,
        Some(rows) => {
            let rows = u64::try_from(rows).unwrap_or(0).max(1);
            rows.saturating_mul(row_bytes)
                .saturating_mul(ROW_MARGIN)
                .clamp(ROWS_BYTES_MIN, all)
        }
    };
    limit as u32
}

fn statement(statement: &Statement, table: u64, row_bytes: u64) -> StatementFacts {
    let paged = statement.page_size.is_some();
    StatementFacts {
        verifies: statement.verifies,
        plain: !paged
            && !statement.conditional
            && !statement.client_timestamp
            && statement.batch.is_none()
            && statement.then.is_none()
            && statement.part.is_none(),
        // Reads are idempotent regardless of the statement's declaration, since a repeated read has
        // the same effect as a single read.
        idempotent: statement.idempotent || (statement.returns_rows && !statement.conditional),
        conditional: statement.conditional,
        stamped: statement.client_timestamp,
        is_read: statement.returns_rows || statement.conditional,
        paged,
        pages_max: statement.pages_max.unwrap_or(u32::MAX).max(1),
        then: statement.then.unwrap_or(NO_STATEMENT),
        part: statement.part.unwrap_or(NO_KIND),
        body_bytes_max: body_bytes_max(statement, row_bytes),
        table,
    }
}

/// Checks that the kinds and statements to which a statement refers exist, and that the chain of
/// following statements ends.
fn check(
    statement: &Statement,
    index: usize,
    kinds_count: usize,
    statements: &[Statement],
) -> Result<(), LoadError> {
    let part = statement.part.unwrap_or(0);
    let kind = statement.kind.max(part);
    if usize::from(kind) >= kinds_count {
        return Err(LoadError::Config(format!(
            "statement {index} is of kind {kind}, but only {kinds_count} kinds exist: {}",
            statement.cql
        )));
    }
    let (mut next, mut steps) = (statement.then, 0);
    while let Some(then) = next {
        steps += 1;
        let Some(following) = statements.get(usize::from(then)) else {
            return Err(LoadError::Config(format!(
                "statement {then} should follow statement {index}, but only {} statements exist: \
                 {}",
                statements.len(),
                statement.cql
            )));
        };
        if steps > statements.len() {
            return Err(LoadError::Config(format!(
                "the statements that follow statement {index} never end: {}",
                statement.cql
            )));
        }
        next = following.then;
    }
    Ok(())
}

/// Returns true if, with this outcome, the server has certainly not begun to execute the operation.
pub(crate) fn did_nothing(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Unavailable | Outcome::Overloaded | Outcome::Bootstrapping
    )
}

/// Returns true if another attempt may follow a failed attempt. Another attempt is always permitted
/// if the failed attempt had no effect. Otherwise it is permitted only if the operation is
/// idempotent.
pub(crate) fn may_be_tried_again(outcome: Outcome, idempotent: bool) -> bool {
    match outcome {
        nothing if did_nothing(nothing) => true,
        Outcome::ReadTimeout
        | Outcome::WriteTimeout
        | Outcome::ConnectionLost
        | Outcome::ClientTimeout => idempotent,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::outcome::OUTCOMES;

    #[test]
    fn only_effectless_or_idempotent_operations_are_retried() {
        let again = |idempotent: bool| -> Vec<&str> {
            OUTCOMES
                .iter()
                .filter(|outcome| may_be_tried_again(**outcome, idempotent))
                .map(|outcome| outcome.name())
                .collect()
        };
        assert_eq!(again(false), ["unavailable", "overloaded", "bootstrapping"]);
        assert_eq!(
            again(true),
            [
                "client_timeout",
                "connection_lost",
                "unavailable",
                "read_timeout",
                "write_timeout",
                "overloaded",
                "bootstrapping"
            ]
        );
    }
}
