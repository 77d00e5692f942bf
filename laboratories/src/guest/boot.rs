//! Runs a guest as a process with a time limit. The guest ends when this process ends.

use super::parts::QEMU;
use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Child;
use std::time::Duration;
use xtask::process;

const POLL: Duration = Duration::from_millis(100);

/// Maximum number of console lines that an error contains.
const LINES_TOLD: usize = 25;

/// A QEMU process. The QEMU process ends when this value is dropped, or when this process ends or
/// is killed.
struct Guest(Child);

impl Drop for Guest {
    fn drop(&mut self) {
        // The result is ignored, because the call fails only if the process has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a guest until it ends.
///
/// # Errors
/// QEMU refuses its arguments, or the guest does not end in time. The error includes the last lines
/// of the guest's console.
pub fn run(arguments: &[String], folder: &Path, limit_s: u64) -> Result<()> {
    let told = folder.join("qemu.log");
    let mut words = vec!["--pdeathsig", "KILL", QEMU];
    words.extend(arguments.iter().map(String::as_str));
    let mut guest = Guest(process::start_telling("setpriv", &words, &told)?);
    let mut ran_ms = 0;
    while ran_ms < limit_s * 1000 {
        if let Some(status) = guest.0.try_wait().context("look after QEMU")? {
            if status.success() {
                return Ok(());
            }
            let said = std::fs::read_to_string(&told).unwrap_or_default();
            bail!("QEMU: {status}: {}", said.trim());
        }
        std::thread::park_timeout(POLL);
        ran_ms += POLL.as_millis() as u64;
    }
    bail!(
        "the guest did not end within {limit_s} s (--limit-s)\n{}",
        last_lines(folder)
    );
}

/// Returns the last lines of the console.
pub fn last_lines(folder: &Path) -> String {
    let path = folder.join("console.log");
    let said = std::fs::read(&path).unwrap_or_default();
    let said = String::from_utf8_lossy(&said).into_owned();
    format!("{} ends with:\n{}", path.display(), tail(&said))
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(|line| line.trim_end()).collect();
    lines[lines.len().saturating_sub(LINES_TOLD)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_console_is_its_last_lines() {
        let text: String = (0..30).map(|line| format!("{line}\r\n")).collect();
        assert!(tail(&text).starts_with("5\n6\n"));
        assert!(tail(&text).ends_with("\n29"));
        assert_eq!(tail("one"), "one");
    }
}
