//! Entry point for reading machines. It detects the kind of a path or a text and calls the
//! corresponding reader.

use foreign::FileKind;
use std::fs;
use std::path::Path;

use crate::error::ReadError;
use crate::machine::Machine;
use crate::machine_files::Tree;
use crate::{lscpu, synthetic, sysfs, xml};

/// Maximum length of a text in bytes. hwloc's XML of the largest machines has about 10 MB.
const TEXT_BYTES_MAX: usize = 32 << 20;
/// Byte range of the magic string in the first header of a tar archive.
const TAR_MARK: std::ops::Range<usize> = 257..262;

/// Advice to the user for a path without a description.
const FORMS: &str = "name a folder that contains sys/, a tarball of such a folder, hwloc's XML, \
                     the output of `lscpu -J`, or a description such as \"pack:2 l3:1 core:8 \
                     pu:2\"";

impl Machine {
    /// Reads a machine from a path. The path may be that of a folder with the files of /sys (and
    /// /proc), or an archive of such a folder (tar, tar.gz, tar.bz2). The path may also be that of
    /// a file with hwloc's XML, the JSON of `lscpu -J`, a table of lscpu, or a text in hwloc's
    /// synthetic notation. If the path does not exist but looks like such a text, it is itself
    /// parsed as the text. `/` is the machine on which this program runs.
    pub fn read(path: &Path) -> Result<Machine, ReadError> {
        let place = path.display().to_string();
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(_) if synthetic::looks_like_it(&place) => {
                return synthetic::read(&place, "synthetic description");
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(ReadError::new(place, "the file does not exist", FORMS));
            }
            Err(error) => {
                return Err(ReadError::new(
                    place,
                    format!("cassay cannot read it: {error}"),
                    "check the name and the permissions of the file",
                ));
            }
        };
        if metadata.is_dir() {
            return sysfs::read(&Tree::Folder(path.to_owned()), &format!("files of {place}"));
        }
        match foreign::read(FileKind::Machine, path) {
            Ok(bytes) => Machine::from_bytes(&bytes, &place),
            Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => Err(ReadError::new(
                place,
                error.to_string(),
                "pack only sys/devices/system, sys/class, sys/block and proc, or name the folder",
            )),
            Err(error) => Err(ReadError::new(
                place,
                format!("cassay cannot read it: {error}"),
                "check that the file exists and is readable",
            )),
        }
    }

    /// Reads a machine from the content of a file. `place` names the file in errors and in
    /// [`Machine::source`]. Accepts everything that [`Machine::read`] accepts except a folder.
    pub fn from_bytes(bytes: &[u8], place: &str) -> Result<Machine, ReadError> {
        let is_packed = matches!(bytes, [0x1f, 0x8b, ..] | [b'B', b'Z', b'h', ..]);
        if is_packed || bytes.get(TAR_MARK) == Some(b"ustar") {
            let tree = Tree::unpack(bytes, place)?;
            return sysfs::read(&tree, &format!("files in {place}"));
        }
        if bytes.len() > TEXT_BYTES_MAX {
            return Err(ReadError::new(
                place,
                format!(
                    "the text has {} bytes; cassay reads at most {TEXT_BYTES_MAX} bytes",
                    bytes.len()
                ),
                "check that this is a description of one machine",
            ));
        }
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err(ReadError::new(
                place,
                "the file is neither a supported archive nor text in UTF-8",
                "archives may be tar, tar.gz and tar.bz2; unpack other archives and name the \
                 folder",
            ));
        };
        let text = text.trim_start_matches('\u{feff}').trim();
        match text.as_bytes().first() {
            None => Err(ReadError::new(place, "the file is empty", FORMS)),
            Some(b'<') => xml::read(text, place),
            Some(b'{' | b'[') if !text.starts_with("[numa") => lscpu::read(text, place),
            _ if lscpu::is_table(text) => lscpu::read_table(text, place),
            _ => match (listing_of(text), message_of(text)) {
                (Some(what), _) => Err(ReadError::new(
                    place,
                    format!("{what}, which does not describe shared caches and cores"),
                    WRITE,
                )),
                (None, Some(message)) => Err(ReadError::new(
                    place,
                    format!("the file begins with a message of a program: {message}"),
                    WRITE,
                )),
                (None, None) => synthetic::read(text, place),
            },
        }
    }
}

/// Advice to the user for a text that is not a description.
const WRITE: &str = "write the machine with `LC_ALL=C lscpu -J \
                     -e=CPU,NODE,SOCKET,CORE,CACHE,ONLINE`, or with hwloc's `lstopo --of xml`";

/// Returns the first line of a text if it has the form `program: message`, as the errors of most
/// programs. A colon without a blank belongs to hwloc's synthetic notation.
fn message_of(text: &str) -> Option<&str> {
    let first = text.lines().next()?;
    let (program, message) = first.split_once(": ")?;
    let is_name = |c: char| c.is_alphanumeric() || "/._-".contains(c);
    (program.chars().all(is_name) && !message.trim().is_empty()).then_some(first)
}

/// Names of architectures in the first line of `lscpu`. These names are the same in all languages.
const ARCHITECTURES: [&str; 6] = [
    "x86_64",
    "aarch64",
    "ppc64",
    "s390x",
    "riscv64",
    "loongarch64",
];

/// Recognises texts that describe a machine for people instead of programs. Returns the kind of
/// such a text. Returns `None` for other texts.
fn listing_of(text: &str) -> Option<&'static str> {
    let first = text.lines().next().unwrap_or_default();
    let has = |part: &str| text.contains(part);
    let is_in_first = |part: &&str| first.contains(*part);
    if first.starts_with("processor") && has("\t: ") {
        Some("/proc/cpuinfo")
    } else if first.starts_with("available: ") && has("node 0 ") {
        Some("the output of `numactl --hardware`")
    } else if first.starts_with("Machine") && has("L#") {
        Some("the text of `lstopo`")
    } else if first.contains([':', '：'])
        && (has("CPU(s)") || ARCHITECTURES.iter().any(is_in_first))
    {
        Some("the summary of `lscpu`")
    } else if first.starts_with("# dmidecode") {
        Some("the output of `dmidecode`")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_for_people_is_recognised_in_any_language() {
        for (text, what) in [
            ("Architecture: x86_64\nCPU(s): 8\n", "summary"),
            ("Architektur: x86_64\nCPU(s): 8\nSockel: 1\n", "summary"),
            (
                "Architecture :          x86_64\nProcesseur(s) :  8\n",
                "summary",
            ),
            ("架构：          aarch64\n", "summary"),
            ("processor\t: 0\nvendor_id\t: X\n", "cpuinfo"),
            ("available: 2 nodes (0-1)\nnode 0 cpus: 0 1\n", "numactl"),
            ("Machine (16GB)\n  Package L#0\n", "lstopo"),
            (
                "lscpu: unrecognized option '--x'\nTry 'lscpu --help'\n",
                "a message of a program: lscpu: unrecognized",
            ),
            (" \n", "the file is empty"),
        ] {
            let error = Machine::from_bytes(text.as_bytes(), "m").unwrap_err().to_string();
            assert!(
                error.contains(what) && error.contains("lscpu -J"),
                "{error}"
            );
        }
        assert!(Machine::from_bytes(b"pack:1 core:2 pu:1", "m").is_ok());
    }

    /// The columns are the defaults of util-linux 2.38.
    #[test]
    fn the_tables_of_lscpu_describe_cores_and_caches() {
        for text in [
            "CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE\n  0    0      0    0 0:0:0:0  yes\n  \
             1    0      0    0 0:0:0:0  yes\n  2    1      1    1 4:4:4:1  yes\n  \
             3    -      -    - -                no\n",
            "# The following is the parsable format\n# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n\
             0,0,0,0,,0,0,0,0\n1,0,0,0,,0,0,0,0\n2,1,1,1,,4,4,4,1\n",
        ] {
            let machine = Machine::from_bytes(text.as_bytes(), "m").unwrap();
            let counts = [
                machine.packages.len(),
                machine.l3.len(),
                machine.cores.len(),
            ];
            assert_eq!((counts, machine.pus.len()), ([2, 2, 2], 3), "{text}");
            assert!(machine.l3[0].is_real, "{text}");
        }
        let error = Machine::from_bytes(b"CPU NODE\n0\n", "m").unwrap_err().to_string();
        assert!(error.contains("1 columns instead of 2"), "{error}");
    }

    #[test]
    fn a_path_without_a_file_is_no_empty_file() {
        let error = Machine::read(Path::new("nosuch.json")).unwrap_err().to_string();
        assert!(error.contains("the file does not exist"), "{error}");
        let machine = Machine::read(Path::new("2 4 2")).unwrap();
        assert_eq!((machine.packages.len(), machine.pus.len()), (2, 16));
    }
}
