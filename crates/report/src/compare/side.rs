//! A run on a page that compares several runs, with the link to its report.

use crate::run_view::RunView;

#[derive(Clone, Debug)]
pub struct Side<'a> {
    pub run: &'a RunView,
    /// Link from the page to the run's report. `None` if the page cannot link to the report.
    pub link: Option<String>,
}
