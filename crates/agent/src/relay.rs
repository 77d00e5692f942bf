//! The way to a kept agent of a machine, for a controller that comes by `ssh`: bytes go from one to
//! the other until either hangs up.

use anyhow::{Context, Result};
use std::fs::File;
use std::io;
use std::net::Shutdown;
use std::path::Path;

/// Leads to the agent that listens in `folder`.
///
/// # Errors
/// Nobody listens there.
pub fn lead(folder: &Path, mut input: File, mut output: &File) -> Result<()> {
    let agent = host::agent::knock(folder)
        .context("no kept agent is there: its machine was started anew, or it was ended")?;
    let mut to_agent = agent.try_clone().context("share a connection")?;
    std::thread::Builder::new()
        .name("relay".to_owned())
        .spawn(move || {
            // Whichever end is gone, the other has to hear of it.
            let _ = io::copy(&mut input, &mut to_agent);
            let _ = to_agent.shutdown(Shutdown::Write);
        })
        .context("start a thread for what comes in")?;
    let mut from_agent = agent;
    // The controller sees that it has ended.
    let _ = io::copy(&mut from_agent, &mut output);
    Ok(())
}
