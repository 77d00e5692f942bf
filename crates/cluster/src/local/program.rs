//! What every node is started with: a Java, the jars of a version, and where its classes come from.

use crate::dirs::Dirs;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use supply::java::{self, Java};
use supply::{Supply, plainly};
use target::LocalSpec;

/// What every node is started with.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) java: Java,
    pub(super) supply: Supply,
    pub(super) classes: Classes,
    /// Where what survives runs is.
    pub(super) cache: PathBuf,
}

/// What a node's JVM does with classes at its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Classes {
    /// Loads each from its jar.
    #[default]
    Loaded,
    /// Maps them from this archive.
    Mapped(PathBuf),
    /// Loads them, and writes this archive when it ends.
    Archived(PathBuf),
}

impl Classes {
    /// The JVM's option for it.
    pub fn option(&self) -> Option<String> {
        match self {
            Classes::Loaded => None,
            Classes::Mapped(path) => Some(format!("-XX:SharedArchiveFile={}", path.display())),
            Classes::Archived(path) => Some(format!("-XX:ArchiveClassesAtExit={}", path.display())),
        }
    }
}

impl Program {
    /// What nodes of a spec are started from.
    pub(super) fn of_spec(
        spec: &LocalSpec,
        dirs: &Dirs,
        home: Option<&Path>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Program> {
        if spec.machines().is_empty() {
            Program::find(&spec.version, dirs, home, say)
        } else {
            Program::for_machines(&spec.version, dirs, home, say)
        }
    }

    /// Java and the jars of `version`.
    fn find(
        version: &str,
        dirs: &Dirs,
        home: Option<&Path>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Program> {
        let java = java::find()?;
        if let Some(why) = &java.passed_over {
            say(&format!("note: {why}"));
        }
        Program::with(java, version, dirs, home, say)
    }

    /// The jars of `version`, for machines that have a Java of their own.
    fn for_machines(
        version: &str,
        dirs: &Dirs,
        home: Option<&Path>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Program> {
        let none = Java {
            program: PathBuf::new(),
            version: String::new(),
            build: String::new(),
            passed_over: None,
        };
        Program::with(none, version, dirs, home, say)
    }

    fn with(
        java: Java,
        version: &str,
        dirs: &Dirs,
        home: Option<&Path>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Program> {
        let cache = made_absolute(&dirs.cache)?;
        Ok(Program {
            java,
            supply: supply::resolve(&cache, version, home, &mut plainly(say))?,
            classes: Classes::Loaded,
            cache,
        })
    }
}

/// Makes a folder, and its path absolute: Cassandra runs in another one.
///
/// # Errors
/// It cannot be made, or its path has a character that the JVM's options give another meaning.
pub(super) fn made_absolute(folder: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let path = folder.canonicalize().with_context(|| format!("resolve {}", folder.display()))?;
    let text = path.to_string_lossy();
    if let Some(bad) = text.chars().find(|c| ":=,%#?".contains(*c)) {
        bail!("{text} cannot be used for Cassandra: the JVM does not take {bad:?} in a path");
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_a_jvm_cannot_name_is_refused() {
        let root = tempfile::tempdir().unwrap();
        assert!(made_absolute(&root.path().join("a b")).unwrap().is_dir());
        let error = made_absolute(&root.path().join("a:b")).unwrap_err().to_string();
        assert!(error.contains("does not take ':' in a path"), "{error}");
    }
}
