//! Tests workloads whose operations can be fully accounted for: deleted rows, counters and
//! registers.

use crate::checks::body;
use crate::{program, spec_with};
use cql::response::RawRows;
use std::collections::BTreeSet;
use workload::{Check, Generator, Operation, RegisterRequest, Stage};

/// Returns the numbers among the values that the current operation binds.
fn bound(generator: &mut Generator) -> Vec<i64> {
    let mut out = Vec::new();
    generator.append_values(&mut out);
    let values = crate::values(&out);
    let numbers = values.into_iter().filter_map(|bytes| bytes.try_into().ok());
    numbers.map(i64::from_be_bytes).collect()
}

fn check(generator: &mut Generator, operation: Operation, number: Option<i64>) -> Check {
    let rows: Vec<_> = number
        .map(|number| vec![Some(number.to_be_bytes().to_vec())])
        .into_iter()
        .collect();
    let body = body(&rows);
    let rows = RawRows::parse(&body).expect("the body is well-formed");
    generator.check(operation, &rows)
}

#[test]
fn a_row_of_kv_that_the_mix_may_delete_need_not_be_there() {
    for (mix, expected) in [
        (vec![("write", 1.0)], Check::Missing),
        (vec![("write", 1.0), ("delete", 1.0)], Check::Unknown),
    ] {
        let program = program(&spec_with("kv", &[], &mix));
        let mut back = program.generator(Stage::ReadBack);
        let operation = back.begin(3);
        assert_eq!(operation.key, 3);
        assert_eq!(check(&mut back, operation, None), expected);
    }
    let program = program(&spec_with("kv", &[], &[("delete", 1.0)]));
    let mut main = program.generator(Stage::Main);
    let operation = main.begin(0);
    let statement = &program.statements()[usize::from(operation.statement)];
    assert!(statement.deletes && statement.cql.starts_with("DELETE"));
    let mut key = Vec::new();
    main.append_values(&mut key);
    assert_eq!(
        crate::values(&key).len(),
        usize::from(statement.values_count)
    );
}

#[test]
fn counter_additions_are_the_bound_values_not_the_loads() {
    let params = [("amount", "9"), ("takes_percent", "30")];
    let program = program(&spec_with("counters", &params, &[("add", 1.0)]));
    let mut load = program.generator(Stage::Load);
    load.begin(5);
    assert_eq!((load.amount(), bound(&mut load)), (None, vec![0, 5]));
    let mut main = program.generator(Stage::Main);
    let mut amounts = BTreeSet::new();
    for number in 0..1000 {
        let operation = main.begin(number);
        let amount = main.amount().expect("it adds");
        assert_eq!(bound(&mut main), [amount, operation.key as i64]);
        assert!(!program.statements()[usize::from(operation.statement)].idempotent);
        amounts.insert(amount);
    }
    let expected: BTreeSet<i64> = (-9..=9).filter(|amount| *amount != 0).collect();
    assert_eq!(amounts, expected);

    let mut back = program.generator(Stage::ReadBack);
    let operation = back.begin(7);
    assert_eq!(check(&mut back, operation, Some(-4)), Check::Unknown);
    assert_eq!(back.counted(), Some(-4));
    assert_eq!(check(&mut back, operation, None), Check::Missing);
    assert_eq!(back.counted(), None);
}

#[test]
fn the_request_of_a_register_equals_the_bound_values() {
    let program = program(&spec_with("registers", &[("values", "3")], &[]));
    let mut load = program.generator(Stage::Load);
    load.begin(5);
    assert_eq!(
        (load.register_request(), bound(&mut load)),
        (None, vec![0, 5])
    );
    let mut main = program.generator(Stage::Main);
    let mut seen = BTreeSet::new();
    for number in 0..1000 {
        let operation = main.begin(number);
        let key = operation.key as i64;
        let statement = &program.statements()[usize::from(operation.statement)];
        let expected = match main.register_request().expect("it is about a register") {
            RegisterRequest::Read => vec![key],
            RegisterRequest::Write(to) => vec![to, key],
            RegisterRequest::Swap { from, to } => {
                seen.insert((from, to));
                vec![to, key, from]
            }
        };
        assert_eq!(bound(&mut main), expected, "{}", statement.cql);
        assert_eq!(statement.conditional, expected.len() > 1);
        assert!(statement.conditional || statement.consistency.is_serial());
    }
    assert_eq!(seen.len(), 9, "every pair of three numbers");
    let mut back = program.generator(Stage::ReadBack);
    let operation = back.begin(2);
    assert_eq!(back.register_request(), Some(RegisterRequest::Read));
    for (number, expected) in [
        (Some(2), Check::Right),
        (Some(3), Check::Wrong),
        (None, Check::Missing),
    ] {
        assert_eq!(check(&mut back, operation, number), expected);
    }
}
