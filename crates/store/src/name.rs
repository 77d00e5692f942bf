//! Names of studies, trials, probes and nodes. These names become part of a path.
//!
//! Invariants: a path that is built from a name in a run's file does not leave the folder of the
//! run. Such a name does not replace a name that cassay itself uses. The same function checks names
//! when cassay writes and reads them.

use anyhow::{Result, bail};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::path::{Component, Path, PathBuf};

/// Maximum length of a name in bytes. File systems allow 255 bytes, and cassay appends an extension
/// to some names.
const BYTES_MAX: usize = 200;

/// Names in a results folder that cassay itself uses.
pub const RESERVED: [&str; 1] = [crate::file::LATEST];

/// Name of one file or folder. It consists of letters, digits and `-_.+=`, and does not begin with
/// a dot.
///
/// A name does not contain a separator, `..` or a control character. So joining a name to a folder
/// gives a path inside that folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(String);

impl Name {
    /// Checks `text` and converts it to a name. `what` is the kind of name, for the error message.
    ///
    /// # Errors
    /// `text` is empty, has more than 200 bytes, begins with a dot, or contains a character other
    /// than letters, digits and `-_.+=`.
    pub fn new(what: &str, text: &str) -> Result<Name> {
        let plain = |c: char| c.is_alphanumeric() || "-_.+=".contains(c);
        let fits = (1..=BYTES_MAX).contains(&text.len());
        if !fits || text.starts_with('.') || !text.chars().all(plain) {
            bail!(
                "{what} {text:?} cannot be a folder name: use 1 to {BYTES_MAX} letters, digits, \
                 '-', '_' and '.', and begin with another character than '.'"
            );
        }
        Ok(Name(text.to_owned()))
    }

    /// Checks the name of a study. The folder of the study is next to files that cassay itself
    /// names.
    ///
    /// # Errors
    /// As [`Name::new`], or the name is one of [`RESERVED`].
    pub fn for_study(text: &str) -> Result<Name> {
        let name = Name::new("study name", text)?;
        if RESERVED.contains(&text) {
            bail!(
                "a study cannot have the name {text:?}: `results/{text}` is the link to the run \
                 that started last; use another name"
            );
        }
        Ok(name)
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the path of the file or folder with this name in `folder`.
    pub fn in_folder(&self, folder: &Path) -> PathBuf {
        folder.join(&self.0)
    }
}

/// Deserializes the name of a study in a record.
pub(crate) fn study<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    Name::for_study(&text).map_err(D::Error::custom)?;
    Ok(text)
}

/// Deserializes the folder name of a trial in a record.
pub(crate) fn slug<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    Name::new("trial", &text).map_err(D::Error::custom)?;
    Ok(text)
}

/// Returns `text` as the path of a file within a folder. `text` consists of names of files or
/// folders with `/` between them.
///
/// # Errors
/// The path would leave the folder, or a component of the path is not the name of one file or
/// folder.
pub(crate) fn inner_path(text: &str) -> Result<PathBuf> {
    let path = Path::new(text);
    // Nodes choose the names of their log files, so a path may contain any name that stays inside
    // the folder.
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if text.is_empty() || text.contains(char::is_control) || !path.components().all(plain) {
        bail!("{text:?} cannot be the path of a file within a run");
    }
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_leaves_the_folder_or_breaks_a_line_is_refused() {
        let long = "a".repeat(BYTES_MAX + 1);
        let bad = [
            "",
            ".",
            "..",
            "a/b",
            "../a",
            "/a",
            ".hidden",
            "a b",
            "a\0",
            "a\n",
            "a\u{1b}[31m",
            "a\u{202e}b",
            "a\\b",
            &long,
        ];
        for bad in bad {
            assert!(Name::new("study", bad).is_err(), "{bad:?}");
        }
        for good in ["vtopology-2.0_x", "größe", "a..b", "latest"] {
            let name = Name::new("trial", good).unwrap();
            assert_eq!(name.in_folder(Path::new("r")), Path::new("r").join(good));
        }
        let said = Name::for_study("latest").unwrap_err().to_string();
        assert!(said.contains("the link"), "{said}");
    }

    #[test]
    fn a_path_within_a_run_stays_there() {
        for bad in ["", "..", "../a", "/etc/passwd", "a/../../b", "a/\n"] {
            assert!(inner_path(bad).is_err(), "{bad:?}");
        }
        let path = inner_path("trials/00-a/logs/node1/gc.log.0.current").unwrap();
        assert!(path.is_relative());
    }
}
