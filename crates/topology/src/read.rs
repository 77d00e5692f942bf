//! The door: what a path or a text is, and which reader it needs.

use foreign::FileKind;
use std::fs;
use std::path::Path;

use crate::error::ReadError;
use crate::machine::Machine;
use crate::tree::Tree;
use crate::{lscpu, synthetic, sysfs, xml};

/// hwloc's XML of the largest machines has some 10 MB.
const TEXT_BYTES_MAX: usize = 32 << 20;
/// Where the mark of a tar stands in its first header.
const TAR_MARK: std::ops::Range<usize> = 257..262;

impl Machine {
    /// Reads a machine from whatever the path leads to: a folder with the files of /sys (and
    /// /proc), an archive of such (tar, tar.gz, tar.bz2), hwloc's XML, the JSON of `lscpu -J`, or a
    /// text in hwloc's synthetic notation. Where nothing is at the path and it reads like such a
    /// text, it is taken as the text itself. `/` is the machine this runs on.
    pub fn read(path: &Path) -> Result<Machine, ReadError> {
        let place = path.display().to_string();
        let Ok(metadata) = fs::metadata(path) else {
            if synthetic::looks_like_it(&place) {
                return synthetic::read(&place, "synthetic description");
            }
            return Err(ReadError::new(
                place,
                "there is nothing to read",
                "give a folder with sys/ in it, a tarball of one, hwloc's XML, the output of \
                 `lscpu -J`, or a description like \"pack:2 l3:1 core:8 pu:2\"",
            ));
        };
        if metadata.is_dir() {
            return sysfs::read(&Tree::Folder(path.to_owned()), &format!("files of {place}"));
        }
        match foreign::read(FileKind::Machine, path) {
            Ok(bytes) => Machine::from_bytes(&bytes, &place),
            Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => Err(ReadError::new(
                place,
                error.to_string(),
                "pack only sys/devices/system, sys/class, sys/block and proc, or give the folder",
            )),
            Err(error) => Err(ReadError::new(
                place,
                format!("cannot be read: {error}"),
                "check that the file is there and may be read",
            )),
        }
    }

    /// Reads a machine from the content of a file; `place` names it in errors and in
    /// [`Machine::source`]. Everything that [`Machine::read`] takes but a folder.
    pub fn from_bytes(bytes: &[u8], place: &str) -> Result<Machine, ReadError> {
        let is_packed = matches!(bytes, [0x1f, 0x8b, ..] | [b'B', b'Z', b'h', ..]);
        if is_packed || bytes.get(TAR_MARK) == Some(b"ustar") {
            let tree = Tree::unpack(bytes, place)?;
            return sysfs::read(&tree, &format!("files in {place}"));
        }
        if bytes.len() > TEXT_BYTES_MAX {
            return Err(ReadError::new(
                place,
                format!("{} bytes of text; {TEXT_BYTES_MAX} are read", bytes.len()),
                "is it a description of one machine?",
            ));
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err(ReadError::new(
                place,
                "neither an archive that is known nor text in UTF-8",
                "archives may be tar, tar.gz and tar.bz2; unpack others and give the folder",
            ));
        };
        let text = text.trim_start_matches('\u{feff}').trim();
        match text.as_bytes().first() {
            Some(b'<') => xml::read(text, place),
            Some(b'{' | b'[') if !text.starts_with("[numa") => lscpu::read(text, place),
            _ => synthetic::read(text, place),
        }
    }
}
