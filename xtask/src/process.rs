//! Child processes of developer commands: run in the foreground, in the root of the tree, to their
//! end. Nothing is left running, since nothing is started in the background.

use crate::tree;
use anyhow::{Context, Result, bail};
use std::process::Command;

/// A command that runs in the root of the tree.
#[expect(
    clippy::disallowed_methods,
    reason = "a developer command is a foreground child that we wait for"
)]
fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(tree::root());
    command
}

/// Runs it with our terminal; an error unless it exits with 0.
pub fn run(program: &str, arguments: &[&str]) -> Result<()> {
    run_with(program, arguments, &[])
}

/// As [`run`], with variables in its environment.
pub fn run_with(program: &str, arguments: &[&str], variables: &[(&str, String)]) -> Result<()> {
    let line = format!("{program} {}", arguments.join(" "));
    let status = command(program, arguments)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .status()
        .with_context(|| format!("start `{line}`"))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Runs it and returns what it wrote to stdout; an error, with its stderr, unless it exits with 0.
pub fn output(program: &str, arguments: &[&str]) -> Result<String> {
    let line = format!("{program} {}", arguments.join(" "));
    let output = command(program, arguments)
        .output()
        .with_context(|| format!("start `{line}`"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("`{line}` failed ({}): {}", output.status, stderr.trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("read the output of `{line}`"))
}

/// The cargo that runs us, so that the toolchain is the same.
pub fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}
