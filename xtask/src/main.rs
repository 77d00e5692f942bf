//! Starts a developer command by `cargo xtask NAME`. The library contains the commands.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::main()
}
