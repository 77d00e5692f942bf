//! Writes a script that installs an archive. The archive is next to the script, or is downloaded
//! from the address of the release. The script contains the digests of the archives.

use super::address::Address;
use anyhow::{Result, ensure};
use xtask::architecture::Architecture;

/// Name of the file next to the packages.
pub const NAME: &str = "install.sh";

const TEMPLATE: &str = include_str!("install.sh");

/// An archive that the script can install, with its architecture and its digest (SHA-256).
pub struct Archive {
    /// Architecture of the archive's program.
    pub one: Architecture,
    /// SHA-256 of the archive.
    pub sha256: String,
}

impl Archive {
    /// Returns the file name of the archive.
    pub fn name(&self, number: &str) -> String {
        format!("cassay-{number}-{}.tar.gz", self.one.target())
    }
}

/// Returns the script for version `number` of the program.
///
/// # Errors
/// The template lacks a placeholder.
pub fn build(number: &str, archives: &[Archive], published: Option<&Address>) -> Result<String> {
    let digest = |one: Architecture| {
        let archive = archives.iter().find(|archive| archive.one == one);
        archive.map(|archive| archive.sha256.clone()).unwrap_or_default()
    };
    let places = [
        ("@VERSION@", number.to_owned()),
        (
            "@PUBLISHED@",
            published.map(ToString::to_string).unwrap_or_default(),
        ),
        ("@SHA256_X86_64@", digest(Architecture::X86)),
        ("@SHA256_AARCH64@", digest(Architecture::Arm)),
    ];
    let mut text = TEMPLATE.to_owned();
    for (place, value) in places {
        let quoted = format!("'{place}'");
        ensure!(
            text.matches(&quoted).count() == 1,
            "{NAME} does not contain {quoted} exactly once"
        );
        text = text.replace(&quoted, &format!("'{value}'"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
