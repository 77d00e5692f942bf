//! A run on a page with several runs.

use crate::run_view::RunView;

/// A run that is compared.
#[derive(Clone, Debug)]
pub struct Side<'a> {
    /// The run itself.
    pub run: &'a RunView,
    /// Link from the page to its report. `None` without a path to it.
    pub link: Option<String>,
}
