//! A run on a page of several.

use crate::view::RunView;

/// A run that is compared.
#[derive(Clone, Debug)]
pub struct Side<'a> {
    /// The run.
    pub run: &'a RunView,
    /// Where its report is, from where the page is; none where no way leads there.
    pub link: Option<String>,
}
