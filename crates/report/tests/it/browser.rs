//! Opens the pages in a real Chromium, in windows of a phone, a laptop and a large screen.
//! `browser/check.py` lists the checks.

use crate::{costs, endurance, faults, fixture, golden, history, lab, profiles, scale_up};
use report::{Page, html, page};
use std::path::Path;
use std::process::Command;

#[path = "../../../linux/src/skip_report.rs"]
mod skip_report;

/// Folder for screenshots of all pages. Without this environment variable, the test takes none.
const SCREENS: &str = "CASSAY_SCREENS";

fn pages() -> Vec<(&'static str, Page)> {
    vec![
        ("one-block", page(&fixture::run(1))),
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

#[expect(
    clippy::disallowed_methods,
    reason = "each program ends before the test does, because the test waits for its output"
)]
fn command(program: &str) -> Command {
    Command::new(program)
}

#[test]
fn every_page_is_whole_and_accessible_in_a_browser() {
    let python = std::env::var("CASSAY_PYTHON").unwrap_or_else(|_| "python3".into());
    let can_drive = command(&python)
        .args(["-c", "import playwright, axe_playwright_python"])
        .output()
        .is_ok_and(|tried| tried.status.success());
    let has_chromium = command("chromium").arg("--version").output().is_ok();
    if !can_drive || !has_chromium {
        return skip_report::missing(
            "no Chromium, or no python3 with playwright: `scripts/prerequisites browser`",
        );
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut check = command(&python);
    check.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/browser/check.py"));
    if let Some(screens) = std::env::var_os(SCREENS) {
        check.arg("--screens").arg(screens);
    }
    for (name, page) in pages() {
        let path = folder.path().join(format!("{name}.html"));
        std::fs::write(&path, html(&page)).expect("a page");
        check.arg(path);
    }
    let checked = check.output().expect("python runs");
    let (found, failure) = (
        String::from_utf8_lossy(&checked.stdout),
        String::from_utf8_lossy(&checked.stderr),
    );
    assert!(checked.status.success(), "{found}{failure}");
}
