//! Tests that the hot path does not allocate. The tests use an allocator that counts the
//! allocations of each thread.

use std::cell::Cell;

use cql::response::RawRows;
use workload::Stage;

use crate::allocator::Telling;
use crate::checks::body;
use crate::{program, spec_with, values};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Telling = Telling {
    given: |_| ALLOCATIONS.with(|allocations| allocations.set(allocations.get() + 1)),
    returned: |_| (),
};

#[test]
fn generating_and_checking_allocates_nothing_after_construction() {
    let all = [("write", 1.0), ("read", 1.0)];
    for spec in [
        spec_with("standard1", &[], &all),
        spec_with("standard1", &[("distribution", "zipf")], &all),
        spec_with(
            "standard1",
            &[("distribution", "gaussian"), ("key_size", "100")],
            &all,
        ),
        spec_with("cql-iot", &[], &all),
        spec_with("cql-keyvalue", &[], &all),
        spec_with("cql-tabular", &[], &all),
        spec_with(
            "kv",
            &[("distribution", "latest")],
            &[("read", 1.0), ("insert", 1.0)],
        ),
        spec_with("kv", &[("value_size", "exponential(32..2000)")], &all),
    ] {
        let program = program(&spec);
        for stage in [Stage::Load, Stage::Main, Stage::Verify] {
            let mut generator = program.generator(stage);
            let mut out = Vec::with_capacity(generator.values_bytes_max());
            let empty = body(&[]);
            let before = ALLOCATIONS.get();
            for n in 0..2000 {
                out.clear();
                let operation = generator.begin(n);
                generator.token();
                generator.append_values(&mut out);
                assert!(out.len() <= generator.values_bytes_max());
                if program.statements()[usize::from(operation.statement)].verifies {
                    generator.check(operation, &RawRows::parse(&empty).unwrap());
                }
            }
            assert_eq!(ALLOCATIONS.get() - before, 0, "{} {stage:?}", spec.use_);
            assert!(!values(&out).is_empty());
        }
    }
}

#[test]
fn the_counter_counts() {
    let before = ALLOCATIONS.get();
    std::hint::black_box(vec![1u8; 100]);
    assert!(ALLOCATIONS.get() > before);
}
