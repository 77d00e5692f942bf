//! Command lines of other tools, and the files that they name: the first line is the command, with
//! the tool's name first; what follows is every file.
//!
//! `cargo +nightly fuzz run import` runs it, best with `-- -max_len=16384`. The gate's mutation
//! run (`crates/cassay/tests/mutations/`) reads the same ways.

#![no_main]

use libfuzzer_sys::fuzz_target;
use workload::{Tool, import};

fuzz_target!(|text: &str| {
    let (command, file) = text.split_once('\n').unwrap_or((text, ""));
    let mut words = command.split_whitespace().map(str::to_owned);
    let tool = match words.next().as_deref() {
        Some("nb") => Tool::Nb,
        Some("ycsb") => Tool::Ycsb,
        _ => Tool::Stress,
    };
    let words: Vec<String> = words.collect();
    match import(tool, &words, 1, &|_| Ok(file.to_owned())) {
        Ok(import) => {
            for step in import.steps.iter().take(3) {
                let _ = workload::sample(&step.program, step.stage, 0, 2);
            }
        }
        Err(mistakes) => assert!(!mistakes.to_string().is_empty()),
    }
});
