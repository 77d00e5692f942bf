//! Tests the verdicts on reads: right, missing, stale, wrong and unknown.

use std::sync::Arc;

use cql::response::RawRows;
use proptest::prelude::*;
use workload::{Check, Generator, Operation, Program, Stage};

use crate::{program, spec, spec_with, values};

type Cells = Vec<Option<Vec<u8>>>;

const NAMES: [&str; 6] = [
    "standard1",
    "cql-iot",
    "cql-timeseries",
    "cql-keyvalue",
    "cql-tabular",
    "kv",
];

/// Returns the body of a RESULT response of kind Rows, without metadata.
pub(crate) fn body(rows: &[Cells]) -> Vec<u8> {
    let columns = rows.first().map_or(1, Vec::len);
    let mut body = Vec::new();
    for number in [2, 4, columns as i32, rows.len() as i32] {
        body.extend_from_slice(&number.to_be_bytes());
    }
    for cell in rows.iter().flatten() {
        match cell {
            None => cql::template::append_null(&mut body),
            Some(bytes) => cql::template::append_value(&mut body, bytes),
        }
    }
    body
}

pub(crate) fn check(generator: &mut Generator, operation: Operation, rows: &[Cells]) -> Check {
    let body = body(rows);
    generator.check(
        operation,
        &RawRows::parse(&body).expect("the body is well-formed"),
    )
}

/// Returns the values that a stage's operation `n` writes.
pub(crate) fn written(program: &Arc<Program>, stage: Stage, n: u64) -> Vec<Vec<u8>> {
    let mut generator = program.generator(stage);
    let operation = generator.begin(n);
    assert!(program.kinds()[usize::from(operation.kind)].is_write);
    let mut out = Vec::new();
    generator.append_values(&mut out);
    values(&out).into_iter().map(<[u8]>::to_vec).collect()
}

fn some(values: &[Vec<u8>]) -> Cells {
    values.iter().cloned().map(Some).collect()
}

/// Returns the row that `SELECT` returns after an operation has written `values`.
pub(crate) fn row(program: &Program, values: &[Vec<u8>]) -> Cells {
    match program.name() {
        "standard1" => some(&values[..values.len() - 1]),
        "cql-iot" | "cql-timeseries" => {
            [0, 1, 2, 5, 3, 4].map(|index| Some(values[index].clone())).to_vec()
        }
        "cql-keyvalue" | "cql-tabular" => some(values),
        _ => some(&values[1..]),
    }
}

#[test]
fn loaded_rows_are_right_when_verify_reads_them_back() {
    for use_ in NAMES {
        let program = program(&spec(use_));
        let mut verify = program.generator(Stage::Verify);
        for n in 0..program.rows() {
            let operation = verify.begin(n);
            let row = row(&program, &written(&program, Stage::Load, operation.key));
            assert_eq!(
                check(&mut verify, operation, &[row]),
                Check::Right,
                "{use_} {n}"
            );
        }
    }
}

#[test]
fn no_row_is_missing_two_rows_and_null_are_wrong() {
    for use_ in NAMES {
        let program = program(&spec(use_));
        let mut verify = program.generator(Stage::Verify);
        let operation = verify.begin(5);
        let right = row(&program, &written(&program, Stage::Load, operation.key));
        let mut with_null = right.clone();
        *with_null.last_mut().unwrap() = None;
        assert_eq!(check(&mut verify, operation, &[]), Check::Missing, "{use_}");
        let twice = [right.clone(), right.clone()];
        assert_eq!(
            check(&mut verify, operation, &twice),
            Check::Wrong,
            "{use_}"
        );
        assert_eq!(
            check(&mut verify, operation, &[with_null]),
            Check::Wrong,
            "{use_}"
        );
        assert_eq!(
            check(&mut verify, operation, &[right]),
            Check::Right,
            "{use_}"
        );
    }
}

proptest! {
    #[test]
    fn one_flipped_bit_anywhere_is_wrong(
        use_ in prop::sample::select(NAMES.to_vec()),
        n in 0u64..1000,
        cell in any::<prop::sample::Index>(),
        byte in any::<prop::sample::Index>(),
        bit in 0..8u32,
    ) {
        let program = program(&spec(use_));
        let mut verify = program.generator(Stage::Verify);
        let operation = verify.begin(n);
        let mut row = row(&program, &written(&program, Stage::Load, operation.key));
        let cell = row[cell.index(program_columns(use_))].as_mut().unwrap();
        let byte = byte.index(cell.len());
        cell[byte] ^= 1 << bit;
        prop_assert_eq!(check(&mut verify, operation, &[row]), Check::Wrong);
    }

    #[test]
    fn hostile_rows_never_panic(
        use_ in prop::sample::select(NAMES.to_vec()),
        rows in prop::collection::vec(
            prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..40)), 6),
            0..12,
        ),
    ) {
        let program = program(&spec(use_));
        for stage in [Stage::Main, Stage::Verify] {
            let mut generator = program.generator(stage);
            let operation = (0..100)
                .map(|n| generator.begin(n))
                .find(|operation| !program.kinds()[usize::from(operation.kind)].is_write)
                .unwrap();
            let check = check(&mut generator, operation, &rows);
            prop_assert!(check != Check::Right && check != Check::Stale);
        }
    }
}

fn program_columns(use_: &str) -> usize {
    match use_ {
        "standard1" => 5,
        "cql-iot" | "cql-timeseries" => 6,
        "cql-keyvalue" => 2,
        "cql-tabular" => 3,
        _ => 1,
    }
}

#[test]
fn a_kv_value_of_a_later_operation_is_overwritten_and_not_wrong() {
    let spec = spec_with(
        "kv",
        &[("value_size", "uniform(32..300)")],
        &[("write", 1.0)],
    );
    let program = program(&spec);
    let mut verify = program.generator(Stage::Verify);
    let mut main = program.generator(Stage::Main);
    for n in 0..500 {
        // This operation of the main stage overwrites the row. Its number can be at any distance
        // from the numbers of the load stage.
        let overwrite = main.begin(n * 1_000_003);
        let operation = (0..program.rows())
            .map(|n| verify.begin(n))
            .find(|operation| operation.key == overwrite.key)
            .unwrap();
        for (stage, number, expected) in [
            (Stage::Main, overwrite.number, Check::Overwritten),
            (Stage::Load, operation.key, Check::Right),
        ] {
            let row = row(&program, &written(&program, stage, number));
            assert_eq!(check(&mut verify, operation, &[row]), expected);
            assert_eq!(verify.writer(), Some((stage, number)));
        }
        assert_eq!(check(&mut verify, operation, &[]), Check::Missing);
        assert_eq!(verify.writer(), None);
    }
}

#[test]
fn a_kv_value_of_an_earlier_epoch_is_stale_despite_new_sizes() {
    let now = program(&spec("kv"));
    let mut verify = now.generator(Stage::Verify);
    let operation = verify.begin(7);
    for (epoch, size, expected) in [
        (2, "100", Check::Stale),
        (0, "uniform(32..64)", Check::Stale),
        (3, "1000", Check::Right),
        (4, "100", Check::Wrong),
    ] {
        let mut then = spec_with("kv", &[("value_size", size)], &[]);
        then.epoch = epoch;
        let row = row(&now, &written(&program(&then), Stage::Load, operation.key));
        assert_eq!(
            check(&mut verify, operation, &[row]),
            expected,
            "epoch {epoch}"
        );
    }
}

#[test]
fn a_kv_value_of_another_row_or_another_seed_is_wrong() {
    let here = program(&spec("kv"));
    let mut verify = here.generator(Stage::Verify);
    let operation = verify.begin(7);
    let other_row = row(&here, &written(&here, Stage::Load, operation.key + 1));
    assert_eq!(check(&mut verify, operation, &[other_row]), Check::Wrong);
    let mut other = spec("kv");
    other.seed += 1;
    let other_seed = row(
        &here,
        &written(&program(&other), Stage::Load, operation.key),
    );
    assert_eq!(check(&mut verify, operation, &[other_seed]), Check::Wrong);
}

#[test]
fn an_inserted_row_that_is_absent_is_unknown() {
    let mix = [("insert", 1.0), ("read", 1.0)];
    let program = program(&spec_with("kv", &[("distribution", "latest")], &mix));
    let mut main = program.generator(Stage::Main);
    let beyond = (10_000..20_000)
        .map(|n| main.begin(n))
        .find(|operation| operation.kind == 1 && operation.key >= program.rows())
        .unwrap();
    assert_eq!(check(&mut main, beyond, &[]), Check::Unknown);
}

/// Returns the loaded rows in the partition of `cycle`, newest first.
fn iot_partition(program: &Arc<Program>, cycle: u64, cycles: u64) -> Vec<Cells> {
    let first = written(program, Stage::Load, cycle);
    let mut rows: Vec<Cells> = (0..cycles)
        .filter(|other| other % 10 == cycle % 10)
        .map(|other| written(program, Stage::Load, other))
        .filter(|values| values[..2] == first[..2])
        .map(|values| row(program, &values))
        .collect();
    rows.reverse();
    rows
}

#[test]
fn an_iot_read_accepts_only_newest_rows_of_its_partition() {
    let params = [("sources", "10"), ("limit", "4"), ("words_file", "a\nb\nc")];
    let mut spec = spec_with("cql-iot", &params, &[("read", 1.0)]);
    spec.rows = 200;
    let program = program(&spec);
    let mut main = program.generator(Stage::Main);
    let operation = main.begin(55);
    let rows = iot_partition(&program, 55, 200);
    assert!(rows.len() > 4, "{} rows", rows.len());
    assert_eq!(check(&mut main, operation, &rows[..4]), Check::Right);
    assert_eq!(
        check(&mut main, operation, &rows[..5]),
        Check::Wrong,
        "beyond the limit"
    );
    assert_eq!(check(&mut main, operation, &[]), Check::Missing);
    let unordered = [rows[1].clone(), rows[0].clone()];
    assert_eq!(check(&mut main, operation, &unordered), Check::Wrong);
    let stranger = iot_partition(&program, 56, 200);
    assert_eq!(check(&mut main, operation, &stranger[..1]), Check::Wrong);
    // A result with fewer rows than the limit contains the whole partition. The row of the cycle
    // itself must then be among the rows.
    let own = written(&program, Stage::Load, 55)[2].clone();
    let others: Vec<Cells> = rows
        .iter()
        .filter(|row| row[2].as_ref() != Some(&own))
        .take(2)
        .cloned()
        .collect();
    assert_eq!(check(&mut main, operation, &others), Check::Missing);
    let unwritten = main.begin(5_000_000);
    assert_eq!(check(&mut main, unwritten, &[]), Check::Unknown);
}

/// A partition of cql-tabular has 12 loaded rows. A read requests the first rows in the order of
/// their text: 0, 1, 10, 11, 2, …
#[test]
fn a_skipped_row_of_a_partition_is_missing_disorder_is_wrong() {
    let mut spec = spec_with("cql-tabular", &[], &[("read", 1.0)]);
    spec.rows = 12;
    let program = program(&spec);
    let order = [0u64, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9];
    let rows = order.map(|n| row(&program, &written(&program, Stage::Load, n)));
    let mut main = program.generator(Stage::Main);
    for n in 0..200 {
        let operation = main.begin(n);
        let mut out = Vec::new();
        main.append_values(&mut out);
        let limit = i32::from_be_bytes(values(&out)[1].try_into().unwrap()) as usize;
        assert!((1..=10).contains(&limit));
        assert_eq!(
            check(&mut main, operation, &rows[..limit]),
            Check::Right,
            "{limit}"
        );
        let without = [&rows[..limit - 1], &rows[limit..=limit]].concat();
        assert_eq!(check(&mut main, operation, &without), Check::Missing);
        assert_eq!(
            check(&mut main, operation, &rows[..limit - 1]),
            Check::Missing
        );
        assert_eq!(
            check(&mut main, operation, &rows[..=limit]),
            Check::Wrong,
            "one too many"
        );
        if limit > 1 {
            let mut turned = rows[..limit].to_vec();
            turned.reverse();
            assert_eq!(check(&mut main, operation, &turned), Check::Wrong);
        }
    }
}
