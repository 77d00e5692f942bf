//! What `supply` takes.

use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;
use versions::Release;

#[derive(Debug, Subcommand)]
pub enum SupplyCommand {
    /// List the jars in the cache, and say which Java nodes are started with.
    List,
    /// Fetch the jars of Cassandra into the cache: from Maven's own cache what is there, the rest
    /// from a Maven repository. Runs do it by themselves when they are missing.
    ///
    /// Each jar is compared with its SHA-256 before any is put in place. An interrupted fetch is
    /// gone on with. Proxies are those of HTTPS_PROXY and NO_PROXY, certificates those of the
    /// system or of SSL_CERT_FILE, and a mirror in Maven's settings.xml is asked in the place of
    /// Maven Central. Versions that are not pinned take Maven itself.
    Fetch(FetchArgs),
    /// Write the jars as one file, for machines without a network; they are fetched first if they
    /// are not in the cache.
    Export(SupplyExportArgs),
    /// Take the jars out of such a file into the cache, after each was compared with its SHA-256.
    Import(SupplyImportArgs),
}

#[derive(Debug, ClapArgs)]
pub struct FetchArgs {
    #[command(flatten)]
    pub version: VersionArgs,
    /// The Maven repository that is asked; Maven Central, or the mirror in Maven's settings.xml,
    /// when absent. https://USER:PASSWORD@HOST/… says who asks. CASSAY_MAVEN_REPOSITORY names it
    /// for runs too.
    #[arg(long, value_name = "URL")]
    pub repository: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct SupplyExportArgs {
    /// The file to write, a tar; one that is there is kept.
    pub file: PathBuf,
    #[command(flatten)]
    pub version: VersionArgs,
}

#[derive(Debug, ClapArgs)]
pub struct SupplyImportArgs {
    /// A file that `supply export` wrote.
    pub file: PathBuf,
    /// The SHA-256 of the file, as `supply export` said it: needed for versions of Cassandra that
    /// are not pinned.
    #[arg(long, value_name = "DIGEST", value_parser = sha256)]
    pub sha256: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub struct VersionArgs {
    /// Version of Cassandra: a release, or a line, as 4.1, which is the release of it that is
    /// pinned.
    #[arg(long, value_name = "VERSION", default_value = versions::DEFAULT.pinned,
          value_parser = release)]
    pub cassandra: Release,
}

/// A release of Cassandra.
pub fn release(text: &str) -> Result<Release, String> {
    Release::of(text).map_err(|unknown| format!("{}; {}", unknown.why, unknown.hint))
}

/// A SHA-256 in hexadecimal digits.
fn sha256(text: &str) -> Result<String, String> {
    let is_one = text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let found = is_one.then(|| text.to_owned());
    found.ok_or_else(|| "it is 64 hexadecimal digits".to_owned())
}
