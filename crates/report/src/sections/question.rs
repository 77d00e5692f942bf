//! Section on the differences between the variants of the study, and on the planned trials that
//! cassay omitted.

use crate::page::{Block, Section};
use crate::run_view::RunView;
use crate::sections::setup;
use store::record::left_out_words;

/// Returns the section on variants and omitted trials. Returns `None` if the variants have no
/// different settings and cassay omitted no trial.
pub fn section(view: &RunView) -> Option<Section> {
    let mut blocks: Vec<Block> =
        setup::variant_difference_table(view).map(Block::Table).into_iter().collect();
    blocks.extend(left_out_words(&view.journal).map(|words| {
        let planned = view.plan.trials.len();
        Block::Text(format!("Of {planned} planned trials, {words}."))
    }));
    (!blocks.is_empty()).then(|| Section {
        id: "asked",
        title: "Variants and trials".into(),
        lead: String::new(),
        blocks,
    })
}
