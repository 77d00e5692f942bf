//! Child processes of developer commands: run in the root of the tree, to their end, or to that of
//! the guard that has started them.

use crate::tree;
use anyhow::{Context, Result, bail, ensure};
use std::io::BufRead;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// What all commands from now on have in their environment besides ours.
static ENVIRONMENT: Mutex<Vec<(&str, String)>> = Mutex::new(Vec::new());

/// The CPUs that this process may run on; 1 where that is not known.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Adds to the environment of all commands from now on.
pub fn add_environment(variables: Vec<(&'static str, String)>) {
    let mut environment = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner);
    environment.extend(variables);
}

/// A command that runs in the root of the tree.
#[expect(
    clippy::disallowed_methods,
    reason = "a developer command is a foreground child that we wait for"
)]
fn command(program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(tree::root());
    let environment = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner);
    command.envs(environment.iter().map(|(name, value)| (name, value)));
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

/// As [`run_with`], in another folder.
pub fn run_in(
    folder: &Path,
    program: &str,
    arguments: &[&str],
    variables: &[(&str, String)],
) -> Result<()> {
    let line = format!("{program} {}", arguments.join(" "));
    let status = command(program, arguments)
        .current_dir(folder)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .status()
        .with_context(|| format!("start `{line}` in {}", folder.display()))?;
    ensure!(
        status.success(),
        "`{line}` in {} failed ({status})",
        folder.display()
    );
    Ok(())
}

/// Runs it, and gives all that it has said and whether it exited with 0. What it says on stdout is
/// shown as it comes if it `tells`, and all of it at the end if it has failed and does not.
pub fn said(
    program: &str,
    arguments: &[&str],
    variables: &[(&str, String)],
    tells: bool,
) -> Result<(String, bool)> {
    let line = || format!("start `{program} {}`", arguments.join(" "));
    let mut command = command(program, arguments);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    if !tells {
        let output = command.output().with_context(line)?;
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        if !output.status.success() {
            eprintln!("{said}");
        }
        return Ok((said, output.status.success()));
    }
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(line)?;
    let stdout = child.stdout.take().context("what it says")?;
    let mut said = String::new();
    for text in std::io::BufReader::new(stdout).split(b'\n') {
        let text = text.with_context(line)?;
        let text = String::from_utf8_lossy(&text);
        println!("{text}");
        said += &text;
        said.push('\n');
    }
    let status = child.wait().with_context(line)?;
    Ok((said, status.success()))
}

/// Runs it and returns what it wrote to stdout; an error, with its stderr, unless it exits with 0.
pub fn output(program: &str, arguments: &[&str]) -> Result<String> {
    output_with(program, arguments, &[])
}

/// As [`output`], with more in its environment.
pub fn output_with(program: &str, arguments: &[&str], more: &[(&str, String)]) -> Result<String> {
    let line = format!("{program} {}", arguments.join(" "));
    let output = command(program, arguments)
        .envs(more.iter().map(|(name, value)| (name, value)))
        .output()
        .with_context(|| format!("start `{line}`"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("`{line}` failed ({}): {}", output.status, stderr.trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("read the output of `{line}`"))
}

/// Runs it with more in its environment, and returns what it wrote to stderr, however it ended.
pub fn stderr(program: &str, arguments: &[&str], more: &[(&str, String)]) -> Result<String> {
    let mut command = command(program, arguments);
    command.envs(more.iter().map(|(name, value)| (name, value)));
    let output = command
        .output()
        .with_context(|| format!("start `{program} {}`", arguments.join(" ")))?;
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Starts it in the background; whoever calls ends it.
pub fn start(program: &str, arguments: &[&str]) -> Result<Child> {
    command(program, arguments)
        .spawn()
        .with_context(|| format!("start `{program} {}`", arguments.join(" ")))
}

/// As [`start`], without our terminal.
pub fn start_silent(program: &str, arguments: &[&str]) -> Result<Child> {
    command(program, arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("start `{program} {}`", arguments.join(" ")))
}

/// As [`start_silent`], but what it says on stderr is in a file.
pub fn start_telling(program: &str, arguments: &[&str], told: &Path) -> Result<Child> {
    let file = std::fs::File::create(told).with_context(|| format!("make {}", told.display()))?;
    command(program, arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(file)
        .spawn()
        .with_context(|| format!("start `{program} {}`", arguments.join(" ")))
}

/// Asks a child to end.
pub fn terminate(child: &Child) {
    let pid = child.id().to_string();
    // It fails when the child has ended, which is as good.
    let _ = command("kill", &[&pid]).status();
}

/// The cargo that runs us, so that the toolchain is the same.
pub fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}
