//! Arguments of the commands that show runs while they run: `serve` and `watch`.

use super::{ViewArgs, secret_source};
use clap::Args as ClapArgs;
use std::net::SocketAddr;
use std::path::PathBuf;
use target_spec::SecretSource;

#[derive(Debug, ClapArgs)]
pub struct ServeArgs {
    /// Folder of all results. Default: the folder of --out.
    pub results: Option<PathBuf>,
    /// Address and port. Port 0 selects a free port. On an address other than loopback, readers
    /// need a token, which cassay prints once in the address.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7070")]
    pub listen: SocketAddr,
    /// Source of the token. cassay then does not print the token, and needs the token on loopback
    /// too.
    #[arg(long, value_name = "file:PATH|env:VARIABLE", value_parser = token_source)]
    pub token: Option<SecretSource>,
}

#[derive(Debug, ClapArgs)]
pub struct WatchArgs {
    /// Name of the run: a folder, `latest`, a study (its newest run), `study/stamp`, or the address
    /// of a server or of its page of the run.
    #[arg(default_value = "latest")]
    pub run: String,
    /// Source of the token of a server.
    #[arg(long, value_name = "file:PATH|env:VARIABLE", value_parser = token_source)]
    pub token: Option<SecretSource>,
    #[command(flatten)]
    pub view: ViewArgs,
}

fn token_source(text: &str) -> Result<SecretSource, String> {
    secret_source(text, "token")
}
