//! Reports tests that this machine does not permit. The report bypasses the harness, which shows
//! nothing of a test that passes, and `cargo xtask ci` reads which tests were left out.

use std::io::Write;

/// Variable with the path that the gate reads; `xtask/src/ci/skips.rs` knows it too.
const SKIPS: &str = "CASSAY_SKIPS";

/// Reports that the running test is left out, since the kernel, or this process's rights, do not
/// permit it. Installing a program would not change that.
pub fn unable(why: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("?");
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
    if let Some(path) = std::env::var_os(SKIPS) {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        writeln!(file.expect("the list of skips"), "unable {test}: {why}").expect("a line");
    }
}
