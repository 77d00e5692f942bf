//! Builds the library that gives a process another wall clock, which is carried inside the program:
//! nobody has to install it, and there is one on every machine.

use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = "src/wall_clock/preload.rs";

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
    for option in ["opt-level=2", "panic=abort", "strip=symbols"] {
        rustc.args(["-C", option]);
    }
    if let Ok(linker) = std::env::var("RUSTC_LINKER") {
        rustc.args(["-C", &format!("linker={linker}")]);
    }
    rustc.args(["--target", &known("TARGET"), "-o"]);
    let ended = rustc.arg(output).arg(SOURCE).status().expect("rustc can be started");
    assert!(ended.success(), "rustc built no {SOURCE}: {ended}");
}
