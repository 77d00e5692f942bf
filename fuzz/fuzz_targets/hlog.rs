//! Histogram logs: what stands in one is a histogram or a sentence.
//!
//! `cargo +nightly fuzz run hlog` runs it, best with `-- -max_len=16384`. The gate's mutation
//! run (`crates/cassay/tests/mutations/`) reads the same ways.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::path::Path;
use store::hlog::HlogReader;

fuzz_target!(|bytes: &[u8]| {
    let path = std::env::temp_dir().join(format!("fuzz-{}.hlog", std::process::id()));
    if std::fs::write(&path, bytes).is_ok() {
        read(&path);
    }
});

fn read(path: &Path) {
    let Ok(reader) = HlogReader::open(path) else { return };
    for entry in reader {
        let Ok(entry) = entry else { return };
        let _ = entry.histogram();
    }
}
