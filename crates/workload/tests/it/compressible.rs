//! Tests compressible values: their size with LZ4, and their verification.

use crate::checks::{check, row, written};
use crate::{program, spec_with};
use workload::{Check, Stage};

/// After compression with LZ4, the random share remains. In addition, the beginning and end of each
/// pattern of 64 bytes take up to eight bytes.
#[test]
fn compressible_values_compress_by_the_asked_share() {
    for (use_, size) in [("kv", "value_size"), ("standard1", "column_size")] {
        for (share, least, most) in [
            ("0", 0.98, 1.01),
            ("0.3", 0.70, 0.82),
            ("0.5", 0.50, 0.62),
            ("0.7", 0.30, 0.42),
            ("1", 0.0, 0.12),
        ] {
            let params = [(size, "2000"), ("compressible", share)];
            let left = program(&spec_with(use_, &params, &[])).compressed_share();
            assert!((least..=most).contains(&left), "{use_} {share}: {left}");
        }
    }
}

/// A write of kv binds a key of 16 bytes and a value. A deletion binds only the key.
#[test]
fn written_bytes_are_counted_without_the_lengths_before_them() {
    let bytes = |mix: &[(&str, f64)]| {
        program(&spec_with("kv", &[], mix)).written_bytes(Stage::Main, || true)
    };
    assert_eq!(bytes(&[("write", 1.0), ("read", 9.0)]), Some(116.0));
    assert_eq!(bytes(&[("delete", 1.0)]), Some(16.0));
    assert_eq!(bytes(&[("read", 1.0)]), None);
}

#[test]
fn loaded_rows_stay_unless_the_mix_inserts_or_deletes() {
    let keeps = |use_: &str, mix: &[(&str, f64)]| program(&spec_with(use_, &[], mix)).keeps_rows();
    assert!(keeps("kv", &[("write", 1.0), ("read", 1.0)]) && keeps("standard1", &[]));
    assert!(!keeps("kv", &[("insert", 1.0)]) && !keeps("kv", &[("read", 9.0), ("delete", 1.0)]));
    assert!(!keeps("cql-iot", &[]), "each cycle is a row");
}

/// A column of 34 bytes is smaller than a pattern. Half of the column must still be compressible.
#[test]
fn small_values_compress_too() {
    let share = |compressible| {
        let params = [("compressible", compressible)];
        program(&spec_with("standard1", &params, &[])).compressed_share()
    };
    let [random, half] = ["0", "0.5"].map(share);
    assert!(random > 0.95 && half < 0.75, "{random} {half}");
}

#[test]
fn compressible_values_are_verified_as_random_ones_are() {
    for use_ in ["kv", "standard1"] {
        let program = program(&spec_with(use_, &[("compressible", "0.6")], &[]));
        let mut verify = program.generator(Stage::Verify);
        for n in 0..100 {
            let operation = verify.begin(n);
            let right = row(&program, &written(&program, Stage::Load, operation.key));
            let mut broken = right.clone();
            // The last byte is one of the compressible bytes.
            let last = broken.last_mut().and_then(Option::as_mut).and_then(|cell| cell.last_mut());
            *last.expect("a value") ^= 1;
            assert_eq!(check(&mut verify, operation, &[right]), Check::Right);
            assert_eq!(check(&mut verify, operation, &[broken]), Check::Wrong);
        }
    }
}
