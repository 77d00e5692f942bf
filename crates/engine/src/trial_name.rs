//! Names trials for display, by variant, point and block.

use analysis::procedure::{Point, Role};
use sentences::result_place::point_words;
use study::plan::{BlockIndex, Trial};
use study::settings::Study;

/// Returns the name of a trial, such as `writes, 28 threads, block 2`.
pub fn trial_name<P>(study: &Study, trial: &Trial<P>) -> String
where
    P: Copy + Into<Option<Point>>,
{
    let mut parts = Vec::new();
    let variant = study.variant(trial.variant).name.name();
    parts.extend(variant.map(str::to_owned));
    let role = match trial.role {
        Role::Probe => String::new(),
        role => format!(" ({})", role.name()),
    };
    parts.push(match trial.point.into() {
        Some(point) => point_words(Some(point)) + &role,
        None => "a point that the search finds".to_owned(),
    });
    parts.extend(block_of(study, trial.block));
    parts.join(", ")
}

/// Returns the name of the block, such as `block 2`, `block 6 of 4 to 12` or `block 13, added`.
/// Returns `None` if the study has only one block.
fn block_of(study: &Study, block: BlockIndex) -> Option<String> {
    let number = block.number();
    let planned = study.repeat.blocks;
    match study.repeat.first_look {
        _ if study.blocks() < 2 => None,
        _ if block.0 >= planned => Some(format!("block {number}, added")),
        Some(least) => Some(format!("block {number} of {least} to {planned}")),
        None => Some(format!("block {number}")),
    }
}
