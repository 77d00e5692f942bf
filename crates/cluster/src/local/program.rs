//! What every node is started with: a Java, the jars of a version, and where its classes come from.

use crate::dirs::Dirs;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use supply::java::{self, Java};
use supply::{Supply, plainly};
use target::{JavaWanted, LocalSpec};
use versions::Line;

/// What every node is started with.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) java: Java,
    pub(super) supply: Supply,
    pub(super) classes: Classes,
    /// Where what survives runs is.
    pub(super) cache: PathBuf,
}

/// What nodes are started from after an upgrade.
#[derive(Debug)]
pub(super) struct Upgrade {
    pub spec: LocalSpec,
    pub program: Program,
    /// The same as it is on each machine; empty where nodes run on this one.
    pub programs: Vec<Program>,
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

/// Lets an archive be made of classes that have seen an agent, and be mapped. The JVM says of one
/// that it is for tests, since agents may change classes; the one that measures objects does not.
const WITH_AGENT: [&str; 2] = [
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:+AllowArchivingWithJavaAgent",
];

impl Classes {
    /// The JVM's options for it, where a node of `line` is started.
    pub fn options(&self, line: &Line) -> Vec<String> {
        let option = match self {
            Classes::Loaded => return Vec::new(),
            Classes::Mapped(path) => format!("-XX:SharedArchiveFile={}", path.display()),
            Classes::Archived(path) => format!("-XX:ArchiveClassesAtExit={}", path.display()),
        };
        let with_agent = WITH_AGENT.iter().filter(|_| !line.starts_without_jamm);
        with_agent.map(|one| (*one).to_owned()).chain([option]).collect()
    }

    /// Whether a node of `line` is started with the agent that measures objects: without it where
    /// that can be, while an archive is made.
    pub fn take_jamm(&self, line: &Line) -> bool {
        !matches!(self, Classes::Archived(_)) || !line.starts_without_jamm
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
