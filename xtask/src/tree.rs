//! The tracked files of the tree, with their texts. Untracked files, such as results, caches and
//! build output, are not included.

use crate::process;
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// One tracked file.
pub struct File {
    /// Path of the file from the root, with `/` as the separator.
    pub path: String,
    /// Size in bytes.
    pub bytes: usize,
    /// Text of the file. `None` if it is not UTF-8.
    pub text: Option<String>,
}

impl File {
    /// Returns true if the name ends in `.extension`.
    pub fn has_extension(&self, extension: &str) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, last)| last == extension)
    }

    /// Returns the text of the file. It is empty if the file has no text.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }
}

/// All tracked files of the repository, in git's order.
pub struct Tree {
    pub files: Vec<File>,
}

impl Tree {
    /// Reads the tracked files of the working copy.
    pub fn read() -> Result<Tree> {
        // This option permits a clone that belongs to another user, for example in a container.
        // Reading such a clone does no harm.
        let listed = process::output("git", &["-c", "safe.directory=*", "ls-files", "-z"])
            .context("list the tracked files")?;
        let mut files = Vec::new();
        for path in listed.split('\0').filter(|path| !path.is_empty()) {
            let full = root().join(path);
            // The file was deleted and the deletion is not committed, or the path is a link to a
            // folder. In both cases, the entry has no text.
            if !full.is_file() {
                continue;
            }
            let bytes = std::fs::read(&full).with_context(|| format!("read {path}"))?;
            files.push(File {
                path: path.to_owned(),
                bytes: bytes.len(),
                text: String::from_utf8(bytes).ok(),
            });
        }
        Ok(Tree { files })
    }

    /// Returns a tree of these files, for the tests of the rules.
    #[cfg(test)]
    pub fn from_texts(files: &[(&str, &str)]) -> Tree {
        let file = |&(path, text): &(&str, &str)| File {
            path: path.to_owned(),
            bytes: text.len(),
            text: Some(text.to_owned()),
        };
        Tree {
            files: files.iter().map(file).collect(),
        }
    }

    /// Returns the file with this path. Returns `None` if the tree does not contain it.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Returns true if a file or folder with this path exists. The empty path is the root.
    pub fn exists(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        path.is_empty()
            || self
                .files
                .iter()
                .any(|file| file.path == path || file.path.starts_with(&folder))
    }

    /// Returns the names of the folders below `crates`.
    pub fn crates(&self) -> BTreeSet<String> {
        let below = self.files.iter().filter_map(|file| file.path.strip_prefix("crates/"));
        below.filter_map(|inner| Some(inner.split_once('/')?.0.to_owned())).collect()
    }

    /// Returns the files whose names end in `.extension`.
    pub fn with_extension<'a>(&'a self, extension: &'a str) -> impl Iterator<Item = &'a File> {
        self.files.iter().filter(move |file| file.has_extension(extension))
    }
}

/// Returns the root of the tree, which is the folder above `xtask`.
pub fn root() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().expect("xtask has a parent folder").to_owned()
}
