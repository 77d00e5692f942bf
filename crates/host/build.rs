//! Builds the library that shifts the wall clock of a process. The program contains the library, so
//! that the library need not be installed on any machine.
//!
//! The library does not declare dependencies on other libraries. So it works with processes of
//! every C library, regardless of the C library of this program. The linker of rustc links the
//! library without the target's start files, because some targets (musl) have these files only for
//! static programs.

use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = "src/wall_clock/preload.rs";

const OPTIONS: [&str; 8] = [
    "opt-level=2",
    "panic=abort",
    "strip=symbols",
    "linker=rust-lld",
    "linker-flavor=ld.lld",
    "link-self-contained=no",
    "target-feature=-crt-static",
    // With this option, symbols are looked up at their first call. Before glibc 2.34, `dlsym` is in
    // a separate library, which may not be loaded in a process that never reads the time.
    "relro-level=partial",
];

#[expect(
    clippy::disallowed_methods,
    reason = "the compiler ends by itself, and this script waits for it"
)]
fn main() {
    println!("cargo::rerun-if-changed={SOURCE}");
    let known = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"));
    let output = PathBuf::from(known("OUT_DIR")).join("clock.so");
    let mut rustc = Command::new(known("RUSTC"));
    rustc.args(["--edition", "2024", "--crate-type", "cdylib"]);
    for option in OPTIONS {
        rustc.args(["-C", option]);
    }
    rustc.args(["--target", &known("TARGET"), "-o"]);
    let ended = rustc.arg(output).arg(SOURCE).status().expect("rustc can be started");
    assert!(ended.success(), "rustc built no {SOURCE}: {ended}");
}
