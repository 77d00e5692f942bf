//! Keeps the machine busy with other programs on every CPU and on the disk while cassay's tests
//! run. A test that passes only on an idle machine then fails on this machine instead of on that of
//! another developer.

use crate::process;
use anyhow::{Context, Result, bail};
use std::process::Child;

/// A running stress-ng, which ends when this value is dropped.
pub struct Busy(Child);

impl Busy {
    /// Starts two workers with a load of 80 % for every CPU, and one worker that writes to the
    /// disk.
    ///
    /// # Errors
    /// stress-ng is missing, or does not accept the arguments.
    pub fn start() -> Result<Busy> {
        let cpus = crate::process::cpus();
        let hogs = (2 * cpus).to_string();
        let folder = std::env::temp_dir();
        let arguments = [
            "--quiet",
            "--cpu",
            &hogs,
            "--cpu-method",
            "all",
            "--cpu-load",
            "80",
        ];
        let disk = ["--hdd", "1", "--hdd-bytes", "256M", "--temp-path"];
        let folder = folder.to_string_lossy();
        let arguments = [&arguments[..], &disk, &[&folder]].concat();
        // The dry run detects unknown arguments. With them, stress-ng exits immediately, which
        // would not be noticed after a start in the background.
        process::run("stress-ng", &[&arguments[..], &["--dry-run"]].concat())
            .context("keep the machine busy\nhint: apt-get install stress-ng")?;
        let child = process::start("stress-ng", &arguments).context("keep the machine busy")?;
        println!(
            "== stress-ng keeps the machine busy: {hogs} hogs on {cpus} CPUs, one on the disk"
        );
        Ok(Busy(child))
    }

    /// Checks that stress-ng has kept the machine busy until now.
    ///
    /// # Errors
    /// stress-ng has already ended.
    pub fn still(&mut self) -> Result<()> {
        match self.0.try_wait().context("look at stress-ng")? {
            None => Ok(()),
            Some(end) => bail!("stress-ng ended early, so the machine was not busy ({end})"),
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // The child processes of stress-ng end together with it only if it gets SIGTERM. The second
        // statement waits until stress-ng has ended.
        process::terminate(&self.0);
        let _ = self.0.wait();
    }
}
