//! Reports tests that cannot run on this machine. The report bypasses the test harness, which does
//! not show the output of a test that passes. `cargo xtask ci` reads the report and lists the tests
//! that were omitted.

use std::io::Write;

/// Environment variable with the path of the file that the gate reads. The same name must be in
/// `xtask/src/ci/skips.rs`.
const SKIPS: &str = "CASSAY_SKIPS";

/// Reports that the running test is omitted because the kernel or the rights of this process do not
/// permit it. Installing another program would not help.
#[allow(dead_code, reason = "each test binary uses one of the two reports")]
pub fn unable(why: &str) {
    add("unable ", why);
}

/// Reports that the running test is omitted because a program is not installed.
#[allow(dead_code, reason = "each test binary uses one of the two reports")]
pub fn missing(why: &str) {
    add("", why);
}

fn add(kind: &str, why: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("?");
    let _ = writeln!(std::io::stderr(), "SKIPPED: {test}: {why}");
    if let Some(path) = std::env::var_os(SKIPS) {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        writeln!(file.expect("the list of skips"), "{kind}{test}: {why}").expect("a line");
    }
}
