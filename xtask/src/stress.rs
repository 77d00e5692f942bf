//! A busy machine: other programs on every CPU and on the disk, while something of ours runs. A
//! test that believes in a quiet machine fails here, and not first at somebody else's.

use crate::process;
use anyhow::{Context, Result, bail};
use std::process::Child;

/// stress-ng, as long as this lives.
pub struct Busy(Child);

impl Busy {
    /// Two hogs for every CPU, whose load comes and goes, and one that writes.
    ///
    /// # Errors
    /// stress-ng is not there, or does not understand us.
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
        // A word that it does not know ends it at once, which a start does not show.
        process::run("stress-ng", &[&arguments[..], &["--dry-run"]].concat())
            .context("keep the machine busy\nhint: apt-get install stress-ng")?;
        let child = process::start("stress-ng", &arguments).context("keep the machine busy")?;
        println!("== the machine is kept busy: {hogs} hogs on {cpus} CPUs, one on the disk");
        Ok(Busy(child))
    }

    /// Whether the machine was kept busy until now.
    ///
    /// # Errors
    /// It was not: stress-ng has ended.
    pub fn still(&mut self) -> Result<()> {
        match self.0.try_wait().context("look at stress-ng")? {
            None => Ok(()),
            Some(end) => bail!("the machine was not kept busy: stress-ng has ended ({end})"),
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // Its own children end with it on SIGTERM only; the second line is for when it does not.
        process::terminate(&self.0);
        let _ = self.0.wait();
    }
}
