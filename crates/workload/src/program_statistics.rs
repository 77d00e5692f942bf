//! Properties of a program that are measured on a sample of its operations. They are the
//! compression of its rows, and the number of bytes of a write.

use crate::program::{Program, Stage};
use cql::compression::lz4_block_bytes;
use std::sync::Arc;

/// Number of operations over which a mean is computed. If sizes vary, the mean has an error of a
/// few percent.
const OPERATIONS: u64 = 10_000;
/// Number of bytes of the length field before each bound value.
const LENGTH_BYTES: usize = 4;
/// Number of bytes that are compressed together to measure compression. This is the default chunk
/// size of Cassandra's tables.
const CHUNK_BYTES: usize = 16 << 10;

impl Program {
    /// Returns the compressed size of the first rows, with LZ4, divided by their uncompressed size.
    /// The rows are in the form that the load stage binds. A table also stores timestamps and
    /// lengths, which compress well.
    pub fn compressed_share(self: &Arc<Self>) -> f64 {
        let mut generator = self.generator(Stage::Load);
        let mut bytes = Vec::with_capacity(CHUNK_BYTES + generator.values_bytes_max());
        for n in 0..self.rows().min(OPERATIONS) {
            if bytes.len() >= CHUNK_BYTES {
                break;
            }
            generator.begin(n);
            for entry in 0..generator.entries() {
                generator.append_entry_values(entry, &mut bytes);
            }
        }
        lz4_block_bytes(&bytes) as f64 / bytes.len().max(1) as f64
    }

    /// Returns the mean number of bytes of keys and values that a writing operation of a stage
    /// binds. Returns `None` if the stage has no writing operations. An operation may have
    /// thousands of values, so the function returns early when `goes_on` returns false.
    pub fn written_bytes(
        self: &Arc<Self>,
        stage: Stage,
        mut goes_on: impl FnMut() -> bool,
    ) -> Option<f64> {
        let mut generator = self.generator(stage);
        let mut bytes = Vec::with_capacity(generator.values_bytes_max());
        let (mut count, mut sum) = (0, 0);
        for n in 0..OPERATIONS {
            let operation = generator.begin(n);
            let kind = self.kinds().get(usize::from(operation.kind));
            if n > 0 && !goes_on() {
                break;
            }
            if kind.is_some_and(|kind| !kind.is_write) {
                continue;
            }
            count += 1;
            for entry in 0..generator.entries() {
                let statement = usize::from(generator.entry_statement(entry));
                let lengths = LENGTH_BYTES * usize::from(self.statements()[statement].values_count);
                bytes.clear();
                generator.append_entry_values(entry, &mut bytes);
                sum += bytes.len().saturating_sub(lengths);
            }
        }
        (count > 0).then(|| sum as f64 / f64::from(count))
    }
}
