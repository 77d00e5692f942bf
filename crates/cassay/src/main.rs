//! The only crate that knows the terminal: arguments, progress, exit codes, wiring.
fn main() {}
