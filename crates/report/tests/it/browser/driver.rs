//! Runs `check.py`, which opens pages in a real Chromium. The tests of two crates use this file.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// Folder for screenshots of all pages. Without this environment variable, the check takes none.
const SCREENS: &str = "CASSAY_SCREENS";

#[expect(
    clippy::disallowed_methods,
    reason = "each program ends before the test does, because the test waits for its output"
)]
fn command(program: &str) -> Command {
    Command::new(program)
}

fn python() -> String {
    std::env::var("CASSAY_PYTHON").unwrap_or_else(|_| "python3".into())
}

/// Returns the reason why this machine cannot open pages, or `None` if it can.
pub fn missing() -> Option<&'static str> {
    let can_drive = command(&python())
        .args(["-c", "import playwright, axe_playwright_python"])
        .output()
        .is_ok_and(|tried| tried.status.success());
    let has_chromium = command("chromium").arg("--version").output().is_ok();
    (!can_drive || !has_chromium)
        .then_some("no Chromium, or no python3 with playwright: `scripts/prerequisites browser`")
}

/// Fails the test with a list of problems, if the pages have any. A page is a path or an address.
#[track_caller]
pub fn check(pages: &[impl AsRef<OsStr>]) {
    let script = "../report/tests/it/browser/check.py";
    let mut check = command(&python());
    check.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(script));
    if let Some(screens) = std::env::var_os(SCREENS) {
        check.arg("--screens").arg(screens);
    }
    let checked = check.args(pages).output().expect("python runs");
    let (found, failure) = (
        String::from_utf8_lossy(&checked.stdout),
        String::from_utf8_lossy(&checked.stderr),
    );
    assert!(checked.status.success(), "{found}{failure}");
}
