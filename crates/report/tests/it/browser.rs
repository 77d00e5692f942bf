//! Opens the pages in a real Chromium, in windows of a phone, a laptop and a large screen.
//! `browser/check.py` lists the checks.

use crate::{costs, endurance, faults, fixture, golden, history, lab, profiles, scale_up};
use report::{Page, html, page};

mod driver;
#[path = "../../../linux/src/skip_report.rs"]
mod skip_report;

fn pages() -> Vec<(&'static str, Page)> {
    vec![
        ("five-blocks", page(&fixture::run(5))),
        ("hosts-and-nodes", page(&lab::run())),
        ("fault", page(&faults::view(vec![faults::killed()]))),
        ("endurance", page(&endurance::view())),
        ("profiles", page(&profiles::run())),
        ("scale-up", page(&scale_up::view())),
        ("costs", page(&costs::view())),
        ("comparison", golden::comparison()),
        ("history", history::slower_page()),
    ]
}

#[test]
fn every_page_is_whole_and_accessible_in_a_browser() {
    if let Some(why) = driver::missing() {
        return skip_report::missing(why);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let write = |(name, page): (&str, Page)| {
        let path = folder.path().join(format!("{name}.html"));
        std::fs::write(&path, html(&page)).expect("a page");
        path
    };
    let paths: Vec<_> = pages().into_iter().map(write).collect();
    driver::check(&paths);
}
