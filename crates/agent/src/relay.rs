//! The way to a kept agent of a machine, for a controller that comes by `ssh`: bytes go from one to
//! the other until either hangs up.

use anyhow::{Context, Result};
use std::fs::File;
use std::io::{self, Read};
use std::net::Shutdown;
use std::path::Path;

/// Bytes that are read into memory. Between a pipe and a socket the standard library would have the
/// kernel splice them, which holds the pipe while it waits for the socket: the sshd at its other
/// end could not even look at it, and would answer nobody.
struct Unspliced<R>(R);

impl<R: Read> Read for Unspliced<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

/// Leads to the agent that listens in `folder`.
///
/// # Errors
/// Nobody listens there.
pub fn lead(folder: &Path, input: File, mut output: &File) -> Result<()> {
    let agent = host::agent::knock(folder)
        .context("no kept agent is there: its machine was started anew, or it was ended")?;
    let mut to_agent = agent.try_clone().context("share a connection")?;
    std::thread::Builder::new()
        .name("relay".to_owned())
        .spawn(move || {
            // Whichever end is gone, the other has to hear of it.
            let _ = io::copy(&mut Unspliced(input), &mut to_agent);
            let _ = to_agent.shutdown(Shutdown::Write);
        })
        .context("start a thread for what comes in")?;
    // The controller sees that it has ended.
    let _ = io::copy(&mut Unspliced(agent), &mut output);
    Ok(())
}
