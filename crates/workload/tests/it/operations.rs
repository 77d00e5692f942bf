//! Tests that operations are a pure function of the seed and the number, and follow the mix and the
//! distribution.

use proptest::prelude::*;
use workload::{Spec, Stage};

use crate::{program, spec, spec_with};

fn all_specs() -> Vec<Spec> {
    let latest = [
        ("distribution", "latest"),
        ("value_size", "zipf(32..400, 1)"),
    ];
    vec![
        spec("standard1"),
        spec_with(
            "standard1",
            &[("distribution", "zipf(1.2)")],
            &[("write", 3.0), ("read", 1.0)],
        ),
        spec("cql-iot"),
        spec_with("cql-keyvalue", &[("distribution", "zipf")], &[]),
        spec("cql-tabular"),
        spec_with(
            "kv",
            &latest,
            &[("read", 5.0), ("insert", 2.0), ("write", 1.0)],
        ),
        spec_with(
            "kv",
            &[("key_type", "bigint"), ("distribution", "gaussian(10..19)")],
            &[],
        ),
    ]
}

fn bytes(generator: &mut workload::Generator, n: u64) -> (workload::Operation, i64, Vec<u8>) {
    let operation = generator.begin(n);
    let mut out = Vec::new();
    generator.append_values(&mut out);
    (operation, generator.token().expect("one partition"), out)
}

proptest! {
    #[test]
    fn an_operation_does_not_depend_on_those_before_it(numbers in prop::collection::vec(
        prop_oneof![0u64..5000, any::<u64>()], 1..20,
    )) {
        for spec in all_specs() {
            let program = program(&spec);
            for stage in [Stage::Load, Stage::Main, Stage::Verify] {
                let mut one = program.generator(stage);
                for &n in &numbers {
                    let mut fresh = program.generator(stage);
                    prop_assert_eq!(bytes(&mut one, n), bytes(&mut fresh, n));
                }
            }
        }
    }
}

#[test]
fn the_seed_changes_what_is_drawn() {
    for mut spec in all_specs() {
        let here = program(&spec).fingerprint_of(Stage::Main, 1000);
        spec.seed += 1;
        assert_ne!(
            here,
            program(&spec).fingerprint_of(Stage::Main, 1000),
            "{}",
            spec.use_
        );
    }
}

#[test]
fn load_writes_every_row_once_and_verify_reads_every_row_once() {
    for spec in all_specs() {
        let program = program(&spec);
        let mut load = program.generator(Stage::Load);
        let mut verify = program.generator(Stage::Verify);
        let mut seen = vec![false; program.rows() as usize];
        for n in 0..program.rows() {
            assert_eq!(load.begin(n).key, n);
            let key = verify.begin(n).key as usize;
            assert!(!seen[key], "row {key} read twice");
            seen[key] = true;
        }
    }
}

#[test]
fn the_main_stage_stays_in_its_rows_and_its_mix() {
    for spec in all_specs().into_iter().filter(|spec| spec.use_ != "cql-iot") {
        let program = program(&spec);
        let mut main = program.generator(Stage::Main);
        let mut kinds = [0u64; 8];
        for n in 0..100_000 {
            let operation = main.begin(n);
            kinds[usize::from(operation.kind)] += 1;
            let inserted = kinds[2];
            assert!(
                operation.key < program.rows() + inserted + 2,
                "{operation:?}"
            );
            assert_eq!(
                program.statements()[usize::from(operation.statement)].kind,
                operation.kind
            );
        }
        let sum: f64 = spec.mix.iter().map(|(_, weight)| weight).sum();
        for (kind, weight) in &spec.mix {
            let index = program.kinds().iter().position(|known| known.name == *kind).unwrap();
            let share = kinds[index] as f64 / 100_000.0;
            assert!((share - weight / sum).abs() < 1e-3, "{kind}: {share}");
        }
    }
}

#[test]
fn inserts_add_every_row_beyond_the_loaded_ones_once() {
    let spec = spec_with("kv", &[], &[("insert", 3.0), ("read", 7.0)]);
    let program = program(&spec);
    let mut main = program.generator(Stage::Main);
    let mut rows: Vec<u64> = (0..10_000)
        .map(|n| main.begin(n))
        .filter(|operation| operation.kind == 2)
        .map(|operation| operation.key)
        .collect();
    rows.sort_unstable();
    assert!(rows.iter().copied().eq(program.rows()..program.rows() + 3000));
}

#[test]
fn latest_reads_crowd_around_the_newest_row() {
    let mix = [("insert", 1.0), ("read", 9.0)];
    let program = program(&spec_with("kv", &[("distribution", "latest(0.99)")], &mix));
    let mut main = program.generator(Stage::Main);
    let (mut reads, mut near) = (0u64, 0u64);
    for n in 1_000_000..1_100_000 {
        let operation = main.begin(n);
        if operation.kind != 1 {
            continue;
        }
        // Each window of ten operations has one insert, so whole windows have added exactly n / 10
        // rows.
        let rows = program.rows() + n / 10;
        assert!(operation.key < rows);
        reads += 1;
        near += u64::from(operation.key >= rows - 100);
    }
    let share = near as f64 / reads as f64;
    assert!(
        (share - exact_share(100, 101_000, 105_000)).abs() < 0.01,
        "{share}"
    );
}

/// Returns the share of operations that zipf(0.99) gives to the first `ranks` ranks. The share is
/// the average over two sizes of the domain that enclose the size in the test.
fn exact_share(ranks: u64, low: u64, high: u64) -> f64 {
    let sum = |count: u64| (1..=count).map(|k| (k as f64).powf(-0.99)).sum::<f64>();
    let share = |count| sum(ranks) / sum(count);
    (share(low) + share(high)) / 2.0
}

#[test]
fn zipf_makes_few_rows_popular_and_scatters_them() {
    let program = program(&spec_with(
        "standard1",
        &[("distribution", "zipf(0.99)")],
        &[],
    ));
    let mut main = program.generator(Stage::Main);
    let mut counts = vec![0u64; 1000];
    for n in 0..100_000 {
        counts[main.begin(n).key as usize] += 1;
    }
    let mut ranked: Vec<(u64, usize)> =
        counts.iter().enumerate().map(|(row, count)| (*count, row)).collect();
    ranked.sort_unstable_by(|a, b| b.cmp(a));
    // Rank 1 of zipf(0.99) over 1000 rows gets 1 / 7.729 of the operations.
    let share = ranked[0].0 as f64 / 100_000.0;
    assert!((share - 1.0 / 7.729).abs() < 0.005, "{share}");
    let top: Vec<usize> = ranked[..10].iter().map(|(_, row)| *row).collect();
    assert!(
        top.iter().any(|row| *row > 500) && top.iter().any(|row| *row < 500),
        "{top:?}"
    );
}
