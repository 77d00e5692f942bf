//! Changes that a study makes to the requests of a program, for each kind: consistency, timeouts,
//! retries and similar settings. The same settings apply to named workloads, workload files and
//! imports.

use core::time::Duration;

use crate::params::did_you_mean;
use crate::program::Program;
use crate::spec::Problem;
use cql::Consistency;

/// Maximum number of retries of an operation. With more retries, the load would differ from the
/// requested load.
const RETRIES_MAX: u8 = 100;

/// Name that means all kinds of a program.
pub const ALL_KINDS: &str = "*";

/// Changes to one kind. If a field is absent, the workload's setting remains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// Consistency level.
    pub consistency: Option<Consistency>,
    /// Serial consistency of conditional statements: SERIAL or LOCAL_SERIAL.
    pub serial_consistency: Option<Consistency>,
    /// Timeout of an attempt, measured from the send.
    pub timeout: Option<Duration>,
    /// Number of retries.
    pub retries: Option<u8>,
    /// Time after the send at which the client also sends the operation to another node.
    pub speculate_after: Option<Duration>,
    /// True if executing the operation twice has the same effect as executing it once.
    pub idempotent: Option<bool>,
    /// Number of rows per page. 0 disables paging.
    pub page_size: Option<u32>,
    /// True if the client sets the timestamps of writes.
    pub client_timestamp: Option<bool>,
}

/// Changes the kinds of a program. If `tunings` names a kind several times, later changes have
/// priority. The key of a problem is the key in the study, such as `timeout` or `retries`.
///
/// # Errors
/// A tuning names a kind that the program does not have, or a value is out of range.
pub fn tune(mut program: Program, tunings: &[(String, Tuning)]) -> Result<Program, Vec<Problem>> {
    let mut problems = Vec::new();
    for (name, tuning) in tunings {
        if name == ALL_KINDS {
            problems.extend(problems_of(name, tuning));
            (0..program.kinds.len()).for_each(|kind| apply(&mut program, kind, tuning));
            continue;
        }
        let kinds = program.kinds.iter();
        let Some(kind) = kinds.clone().position(|kind| kind.name == *name) else {
            let names: Vec<&str> = kinds.map(|kind| kind.name.as_str()).collect();
            problems.push(Problem {
                path: vec![key_of(tuning).to_owned(), name.clone()],
                message: format!(
                    "{} has no kind of operation \"{name}\"; it has {}",
                    program.name,
                    names.join(", ")
                ),
                hint: did_you_mean(name, names.iter().copied()),
                is_unknown_name: true,
            });
            continue;
        };
        problems.extend(problems_of(name, tuning));
        apply(&mut program, kind, tuning);
    }
    if problems.is_empty() {
        Ok(program)
    } else {
        Err(problems)
    }
}

fn apply(program: &mut Program, kind: usize, tuning: &Tuning) {
    let policy = &mut program.kinds[kind].policy;
    policy.timeout = tuning.timeout.or(policy.timeout);
    policy.retries = tuning.retries.unwrap_or(policy.retries);
    policy.speculate_after = tuning.speculate_after.or(policy.speculate_after);
    let own = |kind_of: u8| usize::from(kind_of) == kind;
    for statement in program.statements.iter_mut().filter(|s| own(s.kind)) {
        statement.consistency = tuning.consistency.unwrap_or(statement.consistency);
        statement.serial_consistency = tuning.serial_consistency.or(statement.serial_consistency);
        statement.idempotent = tuning.idempotent.unwrap_or(statement.idempotent);
        if let Some(rows) = tuning.page_size {
            statement.page_size = i32::try_from(rows).ok().filter(|rows| *rows > 0);
        }
        statement.client_timestamp = tuning.client_timestamp.unwrap_or(statement.client_timestamp);
    }
}

fn problems_of(name: &str, tuning: &Tuning) -> Option<Problem> {
    let problem = |key: &str, message: String| {
        Some(Problem {
            path: [key, name]
                .into_iter()
                .filter(|word| *word != ALL_KINDS)
                .map(str::to_owned)
                .collect(),
            message,
            hint: None,
            is_unknown_name: false,
        })
    };
    if let Some(level) = tuning.serial_consistency
        && !matches!(level, Consistency::Serial | Consistency::LocalSerial)
    {
        let message = format!("{level} is not serial; write SERIAL or LOCAL_SERIAL");
        return problem("serial_consistency", message);
    }
    match tuning.retries {
        Some(retries) if retries > RETRIES_MAX => problem(
            "retries",
            format!("{retries} retries are not possible; the maximum is {RETRIES_MAX}"),
        ),
        _ => None,
    }
}

/// Returns the key in the study of the first setting that a tuning changes.
fn key_of(tuning: &Tuning) -> &'static str {
    let keys = [
        (tuning.consistency.is_some(), "consistency"),
        (tuning.serial_consistency.is_some(), "serial_consistency"),
        (tuning.timeout.is_some(), "timeout"),
        (tuning.retries.is_some(), "retries"),
        (tuning.speculate_after.is_some(), "speculate_after"),
        (tuning.idempotent.is_some(), "idempotent"),
        (tuning.page_size.is_some(), "page_size"),
    ];
    let stated = keys.iter().find(|(stated, _)| *stated);
    stated.map_or("timestamps", |(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;

    fn kv() -> Program {
        crate::compile(&Spec::new("kv", 1, 0)).expect("kv has no needed parameters")
    }

    fn retries(retries: u8) -> Tuning {
        Tuning {
            retries: Some(retries),
            ..Tuning::default()
        }
    }

    #[test]
    fn all_kinds_are_tuned_and_then_one() {
        let tunings = [
            (ALL_KINDS.to_owned(), retries(1)),
            ("read".to_owned(), retries(3)),
        ];
        let program = tune(kv(), &tunings).expect("kinds exist");
        let tries: Vec<u8> = program.kinds.iter().map(|k| k.policy.retries).collect();
        assert_eq!(tries, [1, 3, 1, 1]);
    }

    #[test]
    fn consistency_is_that_of_the_kind_s_statements_only() {
        let tuning = Tuning {
            consistency: Some(Consistency::Two),
            ..Tuning::default()
        };
        let program = tune(kv(), &[("read".to_owned(), tuning)]).expect("read exists");
        let levels: Vec<_> = program.statements.iter().map(|s| s.consistency).collect();
        let usual = Consistency::LocalOne;
        assert_eq!(levels, [usual, Consistency::Two, usual, usual]);
    }

    #[test]
    fn a_wrong_setting_is_reported_at_its_key() {
        let serial = Tuning {
            serial_consistency: Some(Consistency::One),
            ..Tuning::default()
        };
        for (kind, tuning, path, hint) in [
            (
                "reed",
                retries(1),
                vec!["retries", "reed"],
                Some("did you mean `read`?"),
            ),
            ("read", retries(101), vec!["retries", "read"], None),
            ("*", serial, vec!["serial_consistency"], None),
        ] {
            let problems = tune(kv(), &[(kind.to_owned(), tuning)]).expect_err(kind);
            assert_eq!(problems[0].path, path);
            assert_eq!(problems[0].hint.as_deref(), hint);
            assert_eq!(problems[0].is_unknown_name, kind == "reed");
        }
    }
}
