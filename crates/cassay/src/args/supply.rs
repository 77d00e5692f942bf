//! Arguments of `supply`.

use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;
use versions::Release;

#[derive(Debug, Subcommand)]
pub enum SupplyCommand {
    /// List the jars in the cache and the Java that nodes use.
    List,
    /// Download the jars of Cassandra into the cache. Runs download missing jars automatically.
    ///
    /// Takes jars from Maven's local cache if possible, and other jars from a Maven repository.
    /// Checks the SHA-256 of all jars before it installs any of them, and continues an interrupted
    /// download. Uses the proxies of HTTPS_PROXY and NO_PROXY, the certificates of the system or of
    /// SSL_CERT_FILE, and a mirror in Maven's settings.xml instead of Maven Central. Versions that
    /// are not pinned need Maven itself.
    Fetch(FetchArgs),
    /// Write the jars to one file, for machines without a network. Downloads missing jars first.
    Export(SupplyExportArgs),
    /// Copy the jars of an exported file into the cache, after checking the SHA-256 of each jar.
    Import(SupplyImportArgs),
}

#[derive(Debug, ClapArgs)]
pub struct FetchArgs {
    #[command(flatten)]
    pub version: VersionArgs,
    /// Maven repository, such as https://USER:PASSWORD@HOST/…. Default: Maven Central, or the
    /// mirror in Maven's settings.xml. The environment variable CASSAY_MAVEN_REPOSITORY also sets
    /// the repository for runs.
    #[arg(long, value_name = "URL")]
    pub repository: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct SupplyExportArgs {
    /// Tar file to write. cassay does not overwrite an existing file.
    pub file: PathBuf,
    #[command(flatten)]
    pub version: VersionArgs,
}

#[derive(Debug, ClapArgs)]
pub struct SupplyImportArgs {
    /// File that `supply export` wrote.
    pub file: PathBuf,
    /// SHA-256 of the file, as printed by `supply export`. Required for versions of Cassandra that
    /// are not pinned.
    #[arg(long, value_name = "DIGEST", value_parser = sha256)]
    pub sha256: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct VersionArgs {
    /// Version of Cassandra: a release, or a line such as 4.1, which means the pinned release of
    /// that line.
    #[arg(long, value_name = "VERSION", default_value = versions::DEFAULT.pinned,
          value_parser = release)]
    pub cassandra: Release,
}

/// Parses a release of Cassandra.
pub fn release(text: &str) -> Result<Release, String> {
    Release::parse(text).map_err(|unknown| format!("{}; {}", unknown.why, unknown.hint))
}

fn sha256(text: &str) -> Result<String, String> {
    let is_one = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let found = is_one.then(|| text.to_owned());
    found.ok_or_else(|| "write 64 hexadecimal digits".to_owned())
}
