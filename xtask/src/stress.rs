//! A busy machine: other programs on every CPU and on the disk, while something of ours runs. A
//! test that believes in a quiet machine fails here, and not first at somebody else's.

use crate::process;
use anyhow::{Context, Result};
use std::process::Child;

/// stress-ng, as long as this lives.
pub struct Busy(Child);

impl Busy {
    /// Two hogs for every CPU, whose load comes and goes, and one that writes.
    ///
    /// # Errors
    /// stress-ng is not there.
    pub fn start() -> Result<Busy> {
        let cpus = std::thread::available_parallelism().map_or(2, usize::from);
        let hogs = (2 * cpus).to_string();
        let folder = std::env::temp_dir();
        let arguments = [
            "--quiet",
            "--cpu",
            &hogs,
            "--cpu-method",
            "mixed",
            "--cpu-load",
            "80",
        ];
        let disk = ["--hdd", "1", "--hdd-bytes", "256M", "--temp-path"];
        let folder = folder.to_string_lossy();
        let child = process::start("stress-ng", &[&arguments[..], &disk, &[&folder]].concat());
        let child = child.context("keep the machine busy\nhint: apt-get install stress-ng")?;
        println!("== the machine is kept busy: {hogs} hogs on {cpus} CPUs, one on the disk");
        Ok(Busy(child))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        // Its own children end with it on SIGTERM only; the second line is for when it does not.
        process::terminate(&self.0);
        let _ = self.0.wait();
    }
}
