//! Programs for other machines, one per processor architecture: the running program, and programs
//! of the same build for other architectures on this machine.

use crate::link::OURSELVES;
use anyhow::{Context, Result, bail};
use data_encoding::HEXLOWER;
use flate2::Compression;
use flate2::read::GzEncoder;
use foreign::{FileKind, OpenFile};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Programs that this process has already read, by processor name.
static PROGRAMS: Mutex<Option<HashMap<String, Arc<Program>>>> = Mutex::new(None);

/// Program for other machines.
#[derive(Debug)]
pub(super) struct Program {
    file: PathBuf,
    /// SHA-256 of the program in hexadecimal, which its file name on other machines contains.
    pub(super) digest: String,
    pub(super) bytes: u64,
    /// Gzip form of the program, with about a third of its size. Created for the first machine that
    /// needs it.
    packed: Mutex<Option<Arc<Vec<u8>>>>,
}

impl Program {
    /// Returns the program for machines with the processor name `machine`. A process reads a
    /// program only once.
    ///
    /// # Errors
    /// The program is missing. The message contains the searched paths, and explains how to get the
    /// program.
    pub(super) fn for_machine(machine: &str) -> Result<Arc<Program>> {
        let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
        let programs = programs.get_or_insert_default();
        if let Some(known) = programs.get(machine) {
            return Ok(Arc::clone(known));
        }
        let file = match machine {
            std::env::consts::ARCH => PathBuf::from(OURSELVES),
            _ => other_program(machine)?,
        };
        let read = Program::read(file.clone());
        let program = Arc::new(read.with_context(|| format!("read {}", file.display()))?);
        programs.insert(machine.to_owned(), Arc::clone(&program));
        Ok(program)
    }

    fn read(file: PathBuf) -> Result<Program> {
        let mut reader = foreign::open(FileKind::Archive, &file)?;
        let mut digest = Sha256::new();
        let mut bytes = 0;
        let mut piece = vec![0; 1 << 16];
        loop {
            let count = reader.read(&mut piece)?;
            if count == 0 {
                break;
            }
            digest.update(&piece[..count]);
            bytes += count as u64;
        }
        Ok(Program {
            file,
            digest: HEXLOWER.encode(&digest.finalize()),
            bytes,
            packed: Mutex::new(None),
        })
    }

    /// Returns the path of the program for messages. `None` for the running program.
    pub(super) fn other(&self) -> Option<&Path> {
        (self.file != Path::new(OURSELVES)).then_some(&self.file)
    }

    pub(super) fn plain(&self) -> Result<OpenFile> {
        foreign::open(FileKind::Archive, &self.file)
            .with_context(|| format!("open {}", self.file.display()))
    }

    /// Returns the gzip form of the program. Concurrent callers wait for the first one.
    pub(super) fn packed(&self) -> Result<Arc<Vec<u8>>> {
        let mut packed = self.packed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(packed) = &*packed {
            return Ok(Arc::clone(packed));
        }
        let mut bytes = Vec::new();
        // The default compression level takes three times as long for a tenth less (17.1 MB instead
        // of 19.2 MB, from 54 MB).
        let read = GzEncoder::new(self.plain()?, Compression::fast()).read_to_end(&mut bytes);
        read.with_context(|| format!("compress {}", self.file.display()))?;
        let bytes = Arc::new(bytes);
        *packed = Some(Arc::clone(&bytes));
        Ok(bytes)
    }
}

/// Returns possible paths of a program of the same build for another processor: next to the running
/// program, and in cassay's cache.
fn places(machine: &str) -> Vec<PathBuf> {
    let set = |name: &str| {
        let value = std::env::var_os(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let beside = std::env::current_exe().ok().and_then(|ours| Some(ours.parent()?.to_owned()));
    let base = || set("XDG_CACHE_HOME").or_else(|| Some(std::env::home_dir()?.join(".cache")));
    let cache = set("CASSAY_CACHE").or_else(|| Some(base()?.join("cassay")));
    let folders = beside.into_iter().chain(cache);
    folders.map(|folder| folder.join(format!("cassay-{machine}"))).collect()
}

fn other_program(machine: &str) -> Result<PathBuf> {
    let ours = std::env::consts::ARCH;
    let places = places(machine);
    if let Some(file) = places.iter().find(|file| file.is_file()) {
        if let Some(other) = processor(file).filter(|name| *name != machine) {
            bail!(
                "{} is a program for {other}, not for {machine}",
                file.display()
            );
        }
        return Ok(file.clone());
    }
    let named: Vec<String> = places.iter().map(|file| file.display().to_string()).collect();
    let missing = format!(
        "the processor of the machine is {machine}, but this program is for {ours}, and {} does \
         not exist",
        named.join(" or ")
    );
    let Some(to) = named.last().filter(|_| ["x86_64", "aarch64"].contains(&machine)) else {
        bail!("{missing}\nhint: cassay releases are for x86_64 and aarch64");
    };
    let archive = format!(
        "cassay-{}-{machine}-unknown-linux-musl",
        env!("CARGO_PKG_VERSION")
    );
    bail!(
        "{missing}\nhint: the program is in {archive}.tar.gz of the same release: `tar -xzOf \
         {archive}.tar.gz {archive}/bin/cassay > {to}`; from source, `cargo xtask dist --only \
         {machine}` builds it: target/packages/{archive}.tar.gz"
    )
}

/// Returns the processor name in a program's header. Returns `None` for an unknown processor.
fn processor(file: &Path) -> Option<&'static str> {
    let mut header = [0; 20];
    foreign::open(FileKind::Archive, file).ok()?.read_exact(&mut header).ok()?;
    // ELF magic number, and the header field `e_machine` in little-endian order.
    match (&header[..4], u16::from_le_bytes([header[18], header[19]])) {
        (b"\x7fELF", 62) => Some("x86_64"),
        (b"\x7fELF", 183) => Some("aarch64"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;

    #[test]
    fn a_program_is_called_by_its_bytes_and_unpacks_to_them() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("program");
        std::fs::write(&file, b"abc").unwrap();
        let program = Program::read(file).unwrap();
        // Digest of "abc" from FIPS 180-2, appendix B.1.
        let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((program.digest.as_str(), program.bytes), (digest, 3));
        let mut bytes = Vec::new();
        let packed = program.packed().unwrap();
        GzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes, b"abc");
    }

    #[test]
    fn a_program_for_another_processor_is_named_with_its_place() {
        let error = format!("{:#}", Program::for_machine("riscv64").unwrap_err());
        assert!(
            error.contains("the processor of the machine is riscv64"),
            "{error}"
        );
        assert!(error.contains("/cassay-riscv64"), "{error}");
        assert!(
            error.contains("releases are for x86_64 and aarch64"),
            "{error}"
        );
    }

    #[test]
    fn our_own_program_is_one_for_our_processor() {
        let ours = std::env::consts::ARCH;
        assert_eq!(processor(Path::new(OURSELVES)), Some(ours));
        assert_eq!(processor(Path::new("/etc/passwd")), None);
    }
}
