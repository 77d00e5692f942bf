//! The JSON files of a run.
//!
//! `cargo +nightly fuzz run findings` runs it, best with `-- -max_len=16384`. The gate's mutation
//! run (`crates/cassay/tests/mutations/`) reads the same ways.

#![no_main]

use libfuzzer_sys::fuzz_target;
use store::record::{FindingsRecord, NodesRecord, PlanRecord, TrialRecord};

fuzz_target!(|bytes: &[u8]| {
    let _ = serde_json::from_slice::<FindingsRecord>(bytes);
    let _ = serde_json::from_slice::<TrialRecord>(bytes);
    let _ = serde_json::from_slice::<NodesRecord>(bytes);
    if let Ok(plan) = serde_json::from_slice::<PlanRecord>(bytes) {
        // What `resume` makes of it.
        let _ = study::record::overrides_of(&plan, false, &Default::default());
    }
});
