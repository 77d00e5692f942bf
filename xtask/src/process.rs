//! Runs child processes of developer commands, in the root of the tree unless the caller names
//! another folder. The caller must end a program that it starts in the background.

use crate::tree;
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsString;
use std::io::{BufRead, Read};
use std::ops::Range;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// Environment variables that are added to all further commands.
static ENVIRONMENT: Mutex<Vec<(&str, String)>> = Mutex::new(Vec::new());

/// Returns the number of CPUs on which this process may run, or 1 if the number is unknown.
pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Adds variables to the environment of all further commands.
pub fn add_environment(variables: Vec<(&'static str, String)>) {
    let mut environment = ENVIRONMENT.lock().unwrap_or_else(PoisonError::into_inner);
    environment.extend(variables);
}

/// Returns a command that runs in the root of the tree.
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

/// Runs a program in the current terminal. Fails unless the program exits with 0.
pub fn run(program: &str, arguments: &[&str]) -> Result<()> {
    run_with(program, arguments, &[])
}

/// Runs a program like [`run`], with additional environment variables.
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

/// Runs a program like [`run_with`], in another folder.
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

/// Runs a program. Returns the whole output of the program, and true if the program exited with 0.
/// If `tells` is true, prints the stdout of the program immediately. Otherwise prints all output at
/// the end if the program has failed.
pub fn read_output(
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
    let stdout = child.stdout.take().context("read its output")?;
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

/// Runs a program in a folder. Passes each line of its stdout to `heard` immediately, with a
/// function that reads the CPU time of the program and its ended children in seconds. Returns the
/// whole output of the program, and true if the program exited with 0.
///
/// # Errors
/// The program cannot be started, or its output cannot be read.
pub fn heard(
    folder: &Path,
    program: &str,
    arguments: &[&str],
    variables: &[(&str, String)],
    mut heard: impl FnMut(&str, &dyn Fn() -> f64),
) -> Result<(String, bool)> {
    let line = || format!("run `{program} {}`", arguments.join(" "));
    let mut child = command(program, arguments)
        .current_dir(folder)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(line)?;
    let stat = format!("/proc/{}/stat", child.id());
    // The file exists even if the program has ended, because nothing has waited for it yet.
    let cpu_s = || own_and_children_cpu_s(&read_proc(&stat)).unwrap_or_default();
    let stdout = child.stdout.take().context("its stdout")?;
    let mut stderr = child.stderr.take().context("its stderr")?;
    // Another thread reads stderr, because a full pipe would block the program.
    let aside = std::thread::spawn(move || {
        let mut said = Vec::new();
        stderr.read_to_end(&mut said).map(|_| said)
    });
    let mut said = String::new();
    for text in std::io::BufReader::new(stdout).split(b'\n') {
        let text = text.with_context(line)?;
        let text = String::from_utf8_lossy(&text);
        heard(&text, &cpu_s);
        said += &text;
        said.push('\n');
    }
    let status = child.wait().with_context(line)?;
    if let Ok(Ok(aside)) = aside.join() {
        said += &String::from_utf8_lossy(&aside);
    }
    Ok((said, status.success()))
}

/// Returns the CPU time of all ended child processes in seconds, or 0 if it cannot be read.
pub fn children_cpu_s() -> f64 {
    cpu_s(&read_proc("/proc/self/stat"), CHILDREN).unwrap_or_default()
}

/// Returns the CPU time in a text of /proc/PID/stat in seconds: of the process and of its ended
/// children. `None` if the text is incomplete.
pub fn own_and_children_cpu_s(stat: &str) -> Option<f64> {
    cpu_s(stat, OWN_AND_CHILDREN)
}

/// Fields utime, stime, cutime and cstime of /proc/PID/stat, counted from 0 after the name.
const OWN_AND_CHILDREN: Range<usize> = 11..15;
const CHILDREN: Range<usize> = 13..15;

fn cpu_s(stat: &str, times: Range<usize>) -> Option<f64> {
    /// Number of ticks per second in the file (USER_HZ). The number does not depend on the tick
    /// rate of the kernel.
    const TICKS_PER_S: f64 = 100.0;
    // The name of the program may contain any characters, so the fields are counted from the
    // closing parenthesis.
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split(' ').collect();
    let ticks = fields.get(times)?.iter().filter_map(|text| text.parse::<f64>().ok());
    Some(ticks.sum::<f64>() / TICKS_PER_S)
}

/// Returns the text of a file in /proc, or an empty text if the process has ended.
pub fn read_proc(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Runs a program and returns its stdout. If the program does not exit with 0, fails with its
/// stderr.
pub fn output(program: &str, arguments: &[&str]) -> Result<String> {
    output_with(program, arguments, &[])
}

/// Runs a program like [`output`], with additional environment variables.
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

/// Runs a program with additional environment variables. Returns the stderr of the program,
/// regardless of its exit code.
pub fn stderr(program: &str, arguments: &[&str], more: &[(&str, String)]) -> Result<String> {
    let mut command = command(program, arguments);
    command.envs(more.iter().map(|(name, value)| (name, value)));
    let output = command
        .output()
        .with_context(|| format!("start `{program} {}`", arguments.join(" ")))?;
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Replaces this process by a program, which runs in the current folder of the user. This function
/// returns only if the program cannot be started. It then returns the error.
#[expect(
    clippy::disallowed_methods,
    reason = "the program replaces this process, so it needs no other owner"
)]
pub fn replace(program: &str, arguments: &[OsString]) -> anyhow::Error {
    let error = Command::new(program).args(arguments).exec();
    anyhow::Error::new(error).context(format!("start `{program}`"))
}

/// Starts a program in the background. The caller must end the program.
pub fn start(program: &str, arguments: &[&str]) -> Result<Child> {
    command(program, arguments)
        .spawn()
        .with_context(|| format!("start `{program} {}`", arguments.join(" ")))
}

/// Starts a program like [`start`], but detached from the terminal.
pub fn start_silent(program: &str, arguments: &[&str]) -> Result<Child> {
    command(program, arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("start `{program} {}`", arguments.join(" ")))
}

/// Starts a program like [`start_silent`], but writes its stderr to a file.
pub fn start_telling(program: &str, arguments: &[&str], told: &Path) -> Result<Child> {
    let file = std::fs::File::create(told).with_context(|| format!("make {}", told.display()))?;
    command(program, arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(file)
        .spawn()
        .with_context(|| format!("start `{program} {}`", arguments.join(" ")))
}

/// Sends SIGTERM to a child process.
pub fn terminate(child: &Child) {
    let pid = child.id().to_string();
    // The result is ignored, because the call fails only if the child has already ended.
    let _ = command("kill", &[&pid]).status();
}

/// Returns the path of the cargo that runs this program, so that all commands use the same
/// toolchain.
pub fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}
