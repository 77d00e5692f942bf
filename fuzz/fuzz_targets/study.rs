//! Studies: whoever wrote one, reading it ends with a plan or with sentences.
//!
//! `cargo +nightly fuzz run study` runs it, best with `-- -max_len=16384`. The gate's mutation
//! run (`crates/cassay/tests/mutations/`) reads the same ways.

#![no_main]

use libfuzzer_sys::fuzz_target;
use study::resolve::resolve;
use study::settings::Overrides;

fuzz_target!(|text: &str| {
    match resolve("study.yaml", text, &Overrides::default()) {
        Ok(study) => {
            if let Ok(plan) = study::plan::plan(&study) {
                let _ = study::record::plan_record(&study, &plan);
            }
        }
        Err(mistakes) => assert!(!mistakes.to_string().is_empty()),
    }
});
