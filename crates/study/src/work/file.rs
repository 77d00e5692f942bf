//! The program of a workload file.

use crate::inputs::Inputs;
use std::path::Path;
use workload::{Problem, Program, Spec};
use yaml::Diagnostics;

/// Why there is no program.
pub(super) enum Failed {
    Problems(Vec<Problem>),
    Mistakes(Diagnostics),
}

/// The program of a workload file; what it names is beside it.
pub(super) fn compiled(
    file: &str,
    text: &str,
    spec: &Spec,
    inputs: &Inputs<'_>,
) -> Result<Program, Failed> {
    let beside = |name: &str| inputs.read(&Path::new(file).with_file_name(name).to_string_lossy());
    workload::compile_file(file, text, spec, &beside).map_err(Failed::Mistakes)
}
