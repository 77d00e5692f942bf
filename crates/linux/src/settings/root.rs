//! Files of the kernel below a root. Each file is read once, up to a maximum length.

use foreign::FileKind;
use std::io::{ErrorKind, Read};
use std::path::{Component, Path, PathBuf};

/// A fact, or the reason why it is unknown.
pub type FactResult<T> = Result<T, String>;

/// Size of the longest file that is accepted, in bytes. Two large examples are smaller:
/// `/proc/interrupts` of the biggest machines, and `/proc/PID/maps` of a node with the default
/// limit of maps.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// Maximum length of a short value, in characters. Examples are a list of CPUs, and a scheduler
/// with its alternatives.
const WORD_CHARS_MAX: usize = 4096;

/// Maximum number of entries to read in a directory. Even the biggest nodes have fewer threads and
/// open files.
const ENTRIES_MAX: usize = 1 << 17;

/// Root directory of the files of a machine.
pub(super) struct Root(PathBuf);

impl Root {
    /// Creates a root with a canonical path. With another path, the target of a link would not be
    /// recognized as a path below the root.
    pub fn new(path: &Path) -> Root {
        Root(std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()))
    }

    pub fn is_machine(&self) -> bool {
        self.0 == Path::new("/")
    }

    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let parts = path.as_ref().components();
        let normal = parts.filter(|part| matches!(part, Component::Normal(_)));
        normal.fold(self.0.clone(), |path, part| path.join(part))
    }

    /// Reads a whole file. Invalid Unicode is replaced.
    pub fn text(&self, path: &str) -> FactResult<String> {
        let mut bytes = Vec::new();
        let read = foreign::open(FileKind::System, self.path(path)).and_then(|file| {
            file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
            Ok(())
        });
        read.map_err(|error| refusal(path, &error))?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(format!("{path} is longer than {FILE_BYTES_MAX} bytes"));
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Reads a file that contains one short value, and trims the value.
    pub fn word(&self, path: &str) -> FactResult<String> {
        let text = self.text(path)?;
        let word = text.trim();
        match word.chars().nth(WORD_CHARS_MAX) {
            Some(_) => Err(format!("{path} does not contain a short value")),
            None => Ok(word.to_owned()),
        }
    }

    pub fn number(&self, path: &str) -> FactResult<u64> {
        let word = self.word(path)?;
        word.parse().map_err(|_| format!("{path} contains no number"))
    }

    /// Returns the names in a directory, in alphabetical order.
    pub fn names(&self, path: &str) -> FactResult<Vec<String>> {
        let entries = std::fs::read_dir(self.path(path)).map_err(|error| refusal(path, &error))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.take(ENTRIES_MAX).collect();
        names.sort();
        Ok(names)
    }

    /// Returns the target of a symbolic link, verbatim.
    pub fn link(&self, path: &str) -> FactResult<PathBuf> {
        std::fs::read_link(self.path(path)).map_err(|error| refusal(path, &error))
    }

    /// Resolves the symbolic links of a path, in the machine's view. Returns the path unchanged if
    /// it cannot be resolved.
    pub fn resolved(&self, path: &Path) -> PathBuf {
        let Ok(found) = std::fs::canonicalize(self.path(path)) else {
            return path.to_owned();
        };
        match found.strip_prefix(&self.0) {
            Ok(below) => Path::new("/").join(below),
            Err(_) => path.to_owned(),
        }
    }

    pub fn has(&self, path: &str) -> bool {
        self.path(path).exists()
    }
}

pub(super) fn refusal(path: &str, error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => format!("there is no {path}"),
        ErrorKind::PermissionDenied => format!("no permission to read {path}"),
        _ => format!("read {path}: {error}"),
    }
}
