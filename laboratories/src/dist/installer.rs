//! Writes a script that installs one of the archives next to it, or downloads it from the address
//! of the release. The script contains the digests of the archives.

use super::address::Address;
use anyhow::{Result, ensure};
use xtask::architecture::Architecture;

/// Name of the file next to the packages.
pub const NAME: &str = "install.sh";

/// The script, with placeholders for the values of the release.
const TEMPLATE: &str = include_str!("install.sh");

/// An archive: its architecture and its digest (SHA-256).
pub struct Archive {
    /// Architecture of its program.
    pub one: Architecture,
    /// Its digest, SHA-256.
    pub sha256: String,
}

impl Archive {
    /// Returns the file name.
    pub fn name(&self, number: &str) -> String {
        format!("cassay-{number}-{}.tar.gz", self.one.target())
    }
}

/// Returns the script for the program `number`.
///
/// # Errors
/// A placeholder is missing in the template.
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
