//! Relay to a machine's kept agent, for a controller that connects by `ssh`. The relay copies bytes
//! in both directions until the controller or the agent closes the connection.

use anyhow::{Context, Result};
use std::fs::File;
use std::io::{self, Read};
use std::net::Shutdown;
use std::path::Path;

/// Reader that copies through memory. Between a pipe and a socket, the standard library would use
/// splice, which locks the pipe while it waits for the socket. The sshd at the pipe's other end
/// would then block.
struct PlainReader<R>(R);

impl<R: Read> Read for PlainReader<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

/// Relays to the agent that listens in `folder`.
///
/// # Errors
/// No agent listens in that folder.
pub fn lead(folder: &Path, input: File, mut output: &File) -> Result<()> {
    let agent = host::agent::knock(folder).context(
        "no agent of an earlier command runs on the machine: the machine was restarted, or another \
         program stopped the agent",
    )?;
    let mut to_agent = agent.try_clone().context("share a connection")?;
    std::thread::Builder::new()
        .name("relay".to_owned())
        .spawn(move || {
            // The agent must learn that the controller has ended the connection.
            let _ = io::copy(&mut PlainReader(input), &mut to_agent);
            let _ = to_agent.shutdown(Shutdown::Write);
        })
        .context("start a thread for the incoming messages")?;
    // When the agent ends the connection, this process ends, and the controller sees the end of the
    // stream.
    let _ = io::copy(&mut PlainReader(agent), &mut output);
    Ok(())
}
