//! `cassay serve`: shows the runs of a results folder in a browser.

use crate::args::{Common, ServeArgs, VERSION};
use crate::command::server_token;
use crate::exit::Exit;
use crate::{interrupt, terminal};
use anyhow::{Context, Result};
use serve::{Server, Settings};
use std::net::SocketAddr;

/// Priority of the server, as the kernel's nice value: the lowest. So the server does not take CPU
/// time from a measurement on the same machine.
const NICE: i32 = 19;

/// Serves the results folder until Ctrl-C.
pub fn run(args: &ServeArgs, common: &Common) -> Result<Exit> {
    let interrupt = interrupt::flag()?;
    let results = args.results.as_ref().unwrap_or(&common.out);
    let is_loopback = args.listen.ip().is_loopback();
    let (token, shown) = match &args.token {
        Some(source) => (Some(server_token::read(source)?), None),
        None if is_loopback => (None, None),
        None => {
            let token = serve::new_token()?;
            (Some(token.clone()), Some(token))
        }
    };
    // The server still works with a higher priority, so a failure is ignored.
    let _ = rustix::process::nice(NICE);
    let server = Server::bind(Settings {
        results: std::path::absolute(results)
            .with_context(|| format!("make the path {} absolute", results.display()))?,
        listen: args.listen,
        token,
        version: VERSION.to_owned(),
    })
    .map_err(|error| {
        error.context(format!(
            "cassay cannot serve on {}\nhint: name another port: --listen {}:0 selects a free port",
            args.listen,
            args.listen.ip()
        ))
    })?;
    if !results.is_dir() {
        terminal::say(&format!(
            "note: {} does not exist yet; a run creates it",
            results.display()
        ));
    }
    let query = shown.map(|token| format!("?token={token}")).unwrap_or_default();
    terminal::data(&format!("http://{}/{query}", name_of(server.address())));
    terminal::say("The server only reads. Ctrl-C stops it, and no run.");
    if !is_loopback {
        terminal::say(
            "note: HTTP is not encrypted: use this address only in a network that you trust, or \
             forward a loopback port with ssh -L",
        );
    }
    server.run(&interrupt)?;
    Ok(Exit::Done)
}

/// Returns the address for a browser. A server on all addresses has the name of the machine.
fn name_of(address: SocketAddr) -> String {
    if !address.ip().is_unspecified() {
        return address.to_string();
    }
    let machine = rustix::system::uname();
    let name = machine.nodename().to_string_lossy().into_owned();
    format!("{name}:{}", address.port())
}
