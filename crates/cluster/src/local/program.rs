//! What every node is started with: a Java, the jars of a version, and where its classes come from.

use crate::dirs::Dirs;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use supply::java::{self, Java};
use supply::{Supply, plainly};
use target::{JavaWanted, LocalSpec};

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
        say: &mut dyn FnMut(&str),
    ) -> Result<Program> {
        let java = if spec.machines().is_empty() {
            let java = java::find(&JavaWanted::of(spec))?;
            if let Some(why) = &java.passed_over {
                say(&format!("note: {why}"));
            }
            java
        } else {
            // Machines have a Java of their own.
            Java {
                program: PathBuf::new(),
                version: String::new(),
                build: String::new(),
                passed_over: None,
            }
        };
        let cache = made_absolute(&dirs.cache)?;
        let wanted = (&spec.release, &spec.origin);
        Ok(Program {
            java,
            supply: supply::resolve(&cache, wanted, &mut plainly(say))?,
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
