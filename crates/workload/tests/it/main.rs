//! Tests the public behaviour of the workloads, on which the engine and the study rely.

mod accounts;
mod allocations;
#[path = "../../../cql/tests/it/allocator.rs"]
mod allocator;
mod checks;
mod compressible;
mod fingerprints;
mod operations;
mod specs;
mod texts;
use std::sync::Arc;

use workload::{ParamValue, Program, Spec, compile};

/// Returns a spec without parameters, with 1000 rows and the workload's default mix.
pub(crate) fn spec(use_: &str) -> Spec {
    Spec {
        epoch: 3,
        ..Spec::new(use_, 1000, 42)
    }
}

/// Returns a spec like [`spec`], with text parameters and a mix.
pub(crate) fn spec_with(use_: &str, params: &[(&str, &str)], mix: &[(&str, f64)]) -> Spec {
    let mut spec = spec(use_);
    for (name, value) in params {
        spec.params.insert((*name).to_owned(), ParamValue::Text((*value).to_owned()));
    }
    spec.mix = mix.iter().map(|(kind, weight)| ((*kind).to_owned(), *weight)).collect();
    spec
}

pub(crate) fn program(spec: &Spec) -> Arc<Program> {
    Arc::new(compile(spec).unwrap_or_else(|problems| panic!("{problems:#?}")))
}

/// Returns the contents of the `[int length][bytes]` values in `bytes`.
pub(crate) fn values(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut values = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let (value, rest) = rest.split_at(u32::from_be_bytes(*length) as usize);
        values.push(value);
        bytes = rest;
    }
    assert!(bytes.is_empty(), "bytes after the last value");
    values
}

/// Breaks a line into lines of about 80 characters, so that expectations are readable.
pub(crate) fn wrapped(line: &str) -> String {
    let mut text = String::new();
    let mut column = 0;
    for word in line.split(' ') {
        if column > 0 && column + word.len() > 80 {
            text += "\n    ";
            column = 4;
        } else if column > 0 {
            text.push(' ');
            column += 1;
        }
        text += word;
        column += word.len();
    }
    text.push('\n');
    text
}
