//! Compiles a workload file.

use crate::inputs::Inputs;
use std::path::Path;
use workload::{Problem, Program, Spec};
use yaml::Diagnostics;

pub(super) enum CompileFailure {
    Problems(Vec<Problem>),
    Mistakes(Diagnostics),
}

/// Compiles a workload file. All files that the workload file names are in the same folder.
pub(super) fn compiled(
    file: &str,
    text: &str,
    spec: &Spec,
    inputs: &Inputs<'_>,
) -> Result<Program, CompileFailure> {
    let beside = |name: &str| inputs.read(&Path::new(file).with_file_name(name).to_string_lossy());
    workload::compile_file(file, text, spec, &beside).map_err(CompileFailure::Mistakes)
}
