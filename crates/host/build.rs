//! Builds the library that gives a process another wall clock, which is carried inside the program:
//! nobody has to install it, and there is one on every machine.
//!
//! It names no library that it needs, so it fits processes of every C library, whichever one this
//! program is built for. So it is linked by the linker that comes with rustc and without the start
//! files of the target, of which some (musl) are only made for static programs.

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
    // A symbol is looked up when it is first called: `dlsym` is in a library of its own in glibc
    // before 2.34, which not every process has loaded that never asks for the time.
    "relro-level=partial",
];

#[expect(
    clippy::disallowed_methods,
    reason = "the compiler ends by itself, and is waited for"
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
