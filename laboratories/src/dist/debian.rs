//! Packs the program for Debian and Ubuntu, as an `ar` archive that contains two archives. Debian's
//! tools are not required.

use super::archive::{self, Contents, Packed};
use anyhow::{Context, Result};
use xtask::architecture::Architecture;

/// Contact for the package. It is a placeholder, because the project has no address.
const MAINTAINER: &str = "The developers of cassay <cassay@example.invalid>";

/// Path of the zsh completions in the archives, and their path in a Debian package.
const ZSH: [&str; 2] = [
    "share/zsh/site-functions/_cassay",
    "share/zsh/vendor-completions/_cassay",
];

/// Returns the name and the bytes of the package for version `number` of the program. All files get
/// the time `epoch_s`, in seconds since 1970.
///
/// # Errors
/// The package cannot be written.
pub fn build(
    contents: &Contents,
    number: &str,
    one: Architecture,
    epoch_s: u64,
) -> Result<(String, Vec<u8>)> {
    let processor = one.debian();
    let mut data = contents.clone();
    let completions = data.remove(ZSH[0]).context("completions of zsh are packed")?;
    data.insert(ZSH[1].to_owned(), completions);
    let license = data.get("share/doc/cassay/LICENSE").context("the licence is packed")?;
    data.insert("share/doc/cassay/copyright".to_owned(), license.clone());
    let size: usize = data.values().map(|file| file.bytes.len()).sum();
    let control = format!(
        "Package: cassay\nVersion: {number}\nArchitecture: {processor}\nMaintainer: {MAINTAINER}\n\
         Installed-Size: {}\nSection: database\nPriority: optional\n\
         Suggests: openjdk-17-jre-headless\nDescription: {}\n",
        size.div_ceil(1024),
        super::SUMMARY,
    );
    let control = Contents::from([("control".to_owned(), Packed::plain(control))]);
    let bytes = members(
        &[
            ("debian-binary", b"2.0\n".to_vec()),
            ("control.tar.gz", archive::packed(&control, ".", epoch_s)?),
            ("data.tar.gz", archive::packed(&data, "./usr", epoch_s)?),
        ],
        epoch_s,
    );
    Ok((format!("cassay_{number}_{processor}.deb"), bytes))
}

/// Writes an `ar` archive. Each member has a header of fixed width, and begins at an even offset.
fn members(files: &[(&str, Vec<u8>)], epoch_s: u64) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, content) in files {
        let length = content.len();
        let header = format!(
            "{name:<16}{epoch_s:<12}{:<6}{:<6}{:<8}{length:<10}`\n",
            0, 0, 100644
        );
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(content);
        if !length.is_multiple_of(2) {
            bytes.push(b'\n');
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_have_headers_of_60_bytes_and_begin_at_even_places() {
        let bytes = members(&[("odd", b"abc".to_vec()), ("even", b"defg".to_vec())], 7);
        assert_eq!(bytes.len(), 8 + 60 + 3 + 1 + 60 + 4);
        assert_eq!(&bytes[8..24], b"odd             ");
        assert_eq!(&bytes[72..76], b"even");
        assert!(bytes[..68].ends_with(b"100644  3         `\n"));
    }
}
