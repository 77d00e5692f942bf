//! Tests the verdicts on reads, which depend on the possible rows of a partition.

use crate::import_result::ImportStep;
use crate::stress::import;
use core::cell::Cell;
use cql::response::RawRows;
use workload::{Check, Generator};

const PROFILE: &str = r"keyspace: ks
table: t
table_definition: |
  CREATE TABLE t (k int, c int, l list<int>, s int static, g set<int> static, v int,
    PRIMARY KEY (k, c));
columnspec:
  - {name: c, cluster: fixed(3)}
  - {name: l, size: fixed(2)}
  - {name: g, size: fixed(2)}
";

fn step(line: &str) -> ImportStep {
    step_of(PROFILE, line)
}

fn step_of(profile: &str, line: &str) -> ImportStep {
    let read = |_: &str| Ok(profile.to_owned());
    let imported = import(&[line.to_owned()], 1, &read);
    imported.expect(line).steps.remove(0)
}

/// The cells of a row as `SELECT *` returns them.
type Row = Vec<Vec<u8>>;

/// Begins operations from `n` on, up to the next operation of kind `kind`. Returns the number of
/// that operation.
fn next(step: &ImportStep, generator: &mut Generator, kind: &str, n: u64) -> u64 {
    let kinds = step.program.kinds();
    let found = (n..n + 1000).find(|n| {
        let operation = generator.begin(*n);
        kinds[usize::from(operation.kind)].name == kind
    });
    found.expect("the mix has the kind")
}

/// Returns the rows of the last insert. The insert binds the columns in the order g, l, s, v, k, c.
/// The returned rows have the order k, c, g, s, l, v.
fn written(generator: &mut Generator) -> Vec<Row> {
    let entries = 0..generator.entries();
    let rows = entries.map(|entry| {
        let mut bytes = Vec::new();
        generator.append_entry_values(entry, &mut bytes);
        let (mut cells, mut rest) = (Vec::new(), &bytes[..]);
        while let Some((length, behind)) = rest.split_first_chunk::<4>() {
            let (cell, behind) = behind.split_at(i32::from_be_bytes(*length) as usize);
            cells.push(cell.to_vec());
            rest = behind;
        }
        [4, 5, 0, 2, 1, 3].map(|at: usize| cells[at].clone()).to_vec()
    });
    rows.collect()
}

fn judged(generator: &mut Generator, step: &ImportStep, n: u64, rows: &[Row]) -> Check {
    judged_until(generator, step, n, rows, &|| false)
}

fn judged_until(
    generator: &mut Generator,
    step: &ImportStep,
    n: u64,
    rows: &[Row],
    stop: &dyn Fn() -> bool,
) -> Check {
    let operation = generator.begin(n);
    assert!(!step.program.kinds()[usize::from(operation.kind)].is_write);
    let columns = rows.first().map_or(6, Vec::len);
    let mut body: Vec<u8> = [2i32, 4, columns as i32, rows.len() as i32]
        .into_iter()
        .flat_map(i32::to_be_bytes)
        .collect();
    for cell in rows.iter().flatten() {
        body.extend_from_slice(&(cell.len() as i32).to_be_bytes());
        body.extend_from_slice(cell);
    }
    let rows = RawRows::parse(&body).expect("the body is well-formed");
    generator.check_until(operation, &rows, stop)
}

/// In an earlier version, the check of a partition of 20,000 rows compared each returned row with
/// all rows. This took seconds for each read, and Ctrl-C waited for all running reads.
#[test]
fn a_large_partition_is_checked_row_by_row_until_cancelled() {
    let profile = PROFILE.replace("fixed(3)", "fixed(20000)");
    let line = "user profile=p.yaml ops(insert=1,validate=1) n=100 -pop dist=fixed(7)";
    let step = step_of(&profile, line);
    let mut generator = step.program.generator(step.stage);
    next(&step, &mut generator, "insert", 0);
    let made = written(&mut generator);
    assert!(made.len() > 19_000, "{} rows", made.len());
    let n = next(&step, &mut generator, "validate", 0);
    let asked = Cell::new(0);
    let never = || {
        asked.set(asked.get() + 1);
        false
    };
    let judged = judged_until(&mut generator, &step, n, &made, &never);
    assert_eq!(judged, Check::Right);
    // The check asks after every few hundred rows whether it should stop. If it compared all rows
    // with all others, it would ask a thousand times as often.
    assert!((50..1000).contains(&asked.get()), "{} times", asked.get());
    let mut strange = made.clone();
    strange[19_000][5][0] ^= 1;
    assert_eq!(
        judged_until(&mut generator, &step, n, &strange, &never),
        Check::Wrong
    );
    // Regardless of when the stop comes, the check ends soon afterwards, without a result.
    for at in [1, 40, 100] {
        asked.set(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() >= at
        };
        let judged = judged_until(&mut generator, &step, n, &made, &stop);
        assert_eq!((judged, asked.get()), (Check::Unknown, at));
    }
}

#[test]
fn shared_columns_have_any_rows_value_and_lists_all_writes() {
    let step = step("user profile=p.yaml ops(insert=1,validate=1) n=100 -pop dist=fixed(7)");
    let mut generator = step.program.generator(step.stage);
    next(&step, &mut generator, "insert", 0);
    let made = written(&mut generator);
    assert_eq!(made.len(), 3);
    let n = next(&step, &mut generator, "validate", 0);
    let mut judge = |rows: &[Row]| judged(&mut generator, &step, n, rows);
    assert_eq!(judge(&made), Check::Right);
    let (shared, list) = (3, 4);
    assert_ne!(made[0][shared], made[2][shared]);
    let mut last = made.clone();
    last.iter_mut().for_each(|row| row[shared].clone_from(&made[2][shared]));
    assert_eq!(judge(&last), Check::Right);
    let mut twice = made.clone();
    let again = twice[1][list][4..].to_vec();
    twice[1][list].extend(again);
    twice[1][list][..4].copy_from_slice(&4i32.to_be_bytes());
    assert_eq!(judge(&twice), Check::Right);
    for (column, at) in [(shared, 0), (list, 9), (5, 0)] {
        let mut changed = last.clone();
        changed[1][column][at] ^= 1;
        assert_eq!(judge(&changed), Check::Wrong, "column {column}");
    }
    let mut half = made.clone();
    half[1][list].truncate(12);
    assert_eq!(judge(&half), Check::Wrong);
    assert_eq!(judge(&made[..2]), Check::Missing);
    assert_eq!(judge(&[]), Check::Missing);
}

#[test]
fn a_row_not_found_is_missing_unless_its_write_may_be_in_flight() {
    for (back, expected) in [(10, Check::Unknown), (10_000, Check::Missing)] {
        let step = step(&format!(
            "user profile=p.yaml ops(insert=1,validate=1) n=100k -pop seq=5000000000..5000100000 \
             read-lookback=fixed({back})"
        ));
        let mut generator = step.program.generator(step.stage);
        let n = next(&step, &mut generator, "validate", 50_000);
        assert_eq!(judged(&mut generator, &step, n, &[]), expected, "{back}");
    }
}
