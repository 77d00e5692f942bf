//! Measures the cost of encoding a standard1 write frame. Every test run also executes a small
//! version of the same work and checks its result, so that the measurement remains valid. To
//! measure, run `cargo test -p cql --release --test it -- --ignored --nocapture cost`.

use std::hint::black_box;

use cql::Consistency;
use cql::request::QueryParams;
use cql::template::{Template, append_value};
use cql::token::murmur3;

/// Number of columns of cassandra-stress's standard1 table. [`COLUMN_BYTES`] and [`KEY_BYTES`] are
/// the sizes of each column and of the key.
const COLUMNS: usize = 5;
const COLUMN_BYTES: usize = 34;
const KEY_BYTES: usize = 10;

const FRAMES_PER_WRITE: usize = 64;

fn template() -> Template {
    let params = QueryParams {
        consistency: Consistency::LocalOne,
        ..QueryParams::default()
    };
    Template::execute(b"0123456789abcdef", 1 + COLUMNS as u16, &params)
}

/// Encodes a buffer full of frames `writes` times, and returns the sum of their lengths.
fn encode(template: &Template, out: &mut Vec<u8>, writes: usize) -> usize {
    let (mut key, column) = ([b'7'; KEY_BYTES], [b'x'; COLUMN_BYTES]);
    let mut bytes = 0;
    for _ in 0..writes {
        out.clear();
        for frame in 0..FRAMES_PER_WRITE {
            key[0] = frame as u8;
            let start = template.begin(out);
            for _ in 0..COLUMNS {
                append_value(out, black_box(&column[..]));
            }
            append_value(out, black_box(&key[..]));
            template.finish(out, start, frame as i16);
        }
        bytes += black_box(&*out).len();
    }
    bytes
}

#[test]
fn a_standard1_write_has_236_bytes() {
    let mut out = Vec::new();
    assert_eq!(encode(&template(), &mut out, 1), FRAMES_PER_WRITE * 236);
}

#[test]
#[ignore = "measures: run it alone, in a release build"]
#[expect(
    clippy::disallowed_methods,
    reason = "this crate must not use measure::clock"
)]
fn cost_of_a_standard1_write_frame() {
    /// Number of measured rounds. The test reports the fastest round. Rounds take less than 1 ms,
    /// because other processes seldom interrupt a round that short.
    const ROUNDS: usize = 1000;
    const WRITES: usize = 100;
    let (template, mut out) = (template(), Vec::with_capacity(1 << 16));
    let mut best = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        let begin = std::time::Instant::now();
        black_box(encode(&template, &mut out, WRITES));
        best[0] = best[0].min(begin.elapsed().as_nanos() as f64);
        let begin = std::time::Instant::now();
        black_box(tokens(WRITES * FRAMES_PER_WRITE));
        best[1] = best[1].min(begin.elapsed().as_nanos() as f64);
    }
    let [frame_ns, token_ns] = best.map(|ns| ns / (WRITES * FRAMES_PER_WRITE) as f64);
    println!("frame {frame_ns:.1} ns, token {token_ns:.1} ns");
}

/// Returns the sum of the tokens of `count` keys.
fn tokens(count: usize) -> i64 {
    let mut key = [b'7'; KEY_BYTES];
    (0..count).fold(0, |sum: i64, n| {
        key[0] = n as u8;
        sum.wrapping_add(murmur3(black_box(&key)))
    })
}
