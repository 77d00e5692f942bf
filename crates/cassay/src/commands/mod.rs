//! What the commands do, one file each; all of them return how the program ends.

pub mod null;
pub mod plan;
pub mod results;
pub mod run;
pub mod target;
pub mod workload;

use crate::args::StudyArguments;
use study::settings::{Overrides, Study};

/// Reads the study that the arguments name, with what they change in it.
fn study(arguments: &StudyArguments) -> anyhow::Result<Study> {
    let overrides = Overrides {
        target: arguments.target.clone(),
        scale: arguments.scale.clone(),
        set: arguments.set.clone(),
        seed: arguments.seed,
    };
    Ok(study::resolve::read(&arguments.study, &overrides)?)
}
