//! Measures the cost of an operation in the generator: `cargo run --release -p workload --example
//! generator_cost`. The program takes the best of many short runs on one thread. The figures are
//! valid for one machine only, so the example is not a test.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;

use workload::{ParamValue, Spec, Stage, compile};

const OPERATIONS: u64 = 20_000;
const RUNS: usize = 400;

#[expect(
    clippy::print_stdout,
    reason = "a developer's measurement, not a library"
)]
fn main() {
    println!(
        "{:34} {:>9} {:>9} {:>9}",
        "ns per operation", "begin", "+token", "+values"
    );
    for (use_, kind, distribution) in [
        ("standard1", "write", "uniform"),
        ("standard1", "read", "uniform"),
        ("standard1", "read", "zipf(0.99)"),
        ("standard1", "read", "gaussian"),
        ("standard1", "read", "exponential"),
        ("cql-iot", "write", ""),
        ("cql-iot", "read", ""),
        ("cql-keyvalue", "write", "uniform"),
        ("cql-tabular", "write", "uniform"),
        ("cql-tabular", "read", "uniform"),
        ("kv", "write", "uniform"),
        ("kv", "read", "latest"),
    ] {
        let [begin, token, values] =
            [1, 2, 3].map(|depth| cost_ns(use_, kind, distribution, depth));
        println!(
            "{:34} {begin:9.1} {token:9.1} {values:9.1}",
            format!("{use_} {kind} {distribution}")
        );
    }
}

/// Measures the cost of `begin` at a `depth` of 1. A depth of 2 adds `token`, and a depth of 3 also
/// adds `append_values`.
#[expect(
    clippy::disallowed_methods,
    reason = "this crate must not use measure::clock"
)]
fn cost_ns(use_: &str, kind: &str, distribution: &str, depth: u32) -> f64 {
    let mut params = BTreeMap::new();
    if !distribution.is_empty() {
        params.insert(
            "distribution".to_owned(),
            ParamValue::Text(distribution.to_owned()),
        );
    }
    let spec = Spec {
        mix: vec![(kind.to_owned(), 1.0)],
        params,
        ..Spec::new(use_, 1_000_000, 1)
    };
    let program = Arc::new(compile(&spec).expect("the spec above has no mistake"));
    let mut generator = program.generator(Stage::Main);
    let mut out = Vec::with_capacity(generator.values_bytes_max());
    let mut best = f64::INFINITY;
    for run in 0..RUNS as u64 {
        let start = std::time::Instant::now();
        for n in run * OPERATIONS..(run + 1) * OPERATIONS {
            black_box(generator.begin(n));
            if depth >= 2 {
                black_box(generator.token());
            }
            if depth >= 3 {
                out.clear();
                generator.append_values(&mut out);
                black_box(&out);
            }
        }
        best = best.min(start.elapsed().as_nanos() as f64 / OPERATIONS as f64);
    }
    best
}
