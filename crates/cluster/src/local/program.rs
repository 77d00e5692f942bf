//! Program of a node: a Java installation, the jars of a release, and the way in which the JVM
//! loads classes.

use crate::dirs::Dirs;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use supply::java::{self, Java};
use supply::{Supply, plainly};
use target_spec::{JavaWanted, LocalSpec};
use versions::Line;

#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) java: Java,
    pub(super) supply: Supply,
    pub(super) classes: Classes,
    /// Folder of files that cassay keeps between runs.
    pub(super) cache: PathBuf,
}

/// Program of upgraded nodes.
#[derive(Debug)]
pub(super) struct Upgrade {
    pub spec: LocalSpec,
    pub program: Program,
    /// Program on each remote machine. Empty if the nodes run on this machine.
    pub programs: Vec<Program>,
}

/// Way in which a node's JVM loads classes at its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Classes {
    /// From jars.
    #[default]
    Loaded,
    /// From this class data archive.
    Mapped(PathBuf),
    /// From jars, and the JVM dumps this archive when it exits.
    Archived(PathBuf),
}

/// Options for dumping and mapping archives with a Java agent. The JVM considers such archives to
/// be for tests only, because agents may change classes. The agent jamm, which measures objects,
/// does not change classes.
const WITH_AGENT: [&str; 2] = [
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:+AllowArchivingWithJavaAgent",
];

impl Classes {
    pub fn options(&self, line: &Line) -> Vec<String> {
        let option = match self {
            Classes::Loaded => return Vec::new(),
            Classes::Mapped(path) => format!("-XX:SharedArchiveFile={}", path.display()),
            Classes::Archived(path) => format!("-XX:ArchiveClassesAtExit={}", path.display()),
        };
        let with_agent = WITH_AGENT.iter().filter(|_| !line.starts_without_jamm);
        with_agent.map(|one| (*one).to_owned()).chain([option]).collect()
    }

    /// Returns true if a node of `line` starts with jamm, the agent that measures objects. While an
    /// archive is dumped, only lines that cannot start without jamm use it.
    pub fn take_jamm(&self, line: &Line) -> bool {
        !matches!(self, Classes::Archived(_)) || !line.starts_without_jamm
    }
}

impl Program {
    pub(super) fn for_spec(
        spec: &LocalSpec,
        dirs: &Dirs,
        say: &mut dyn FnMut(&str),
    ) -> Result<Program> {
        let java = if spec.machines().is_empty() {
            let java = java::find(&JavaWanted::from_spec(spec))?;
            if let Some(why) = &java.passed_over {
                say(&format!("note: {why}"));
            }
            java
        } else {
            // Remote machines use another Java.
            Java {
                program: PathBuf::new(),
                version: String::new(),
                build: String::new(),
                passed_over: None,
            }
        };
        let cache = made_absolute(&dirs.cache)?;
        let wanted = (&spec.release, &spec.origin);
        let mut supply = supply::resolve(&cache, wanted, &mut plainly(say))?;
        if spec.profiler {
            supply.profiler = Some(supply::profiler::library(&cache, &mut plainly(say))?);
        }
        Ok(Program {
            java,
            supply,
            classes: Classes::Loaded,
            cache,
        })
    }
}

/// Creates a folder, and returns its absolute path, because Cassandra runs in another working
/// directory.
///
/// # Errors
/// The folder cannot be created, or its path contains a character with a special meaning in JVM
/// options.
pub(super) fn made_absolute(folder: &Path) -> Result<PathBuf> {
    std::fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    let path = folder.canonicalize().with_context(|| format!("resolve {}", folder.display()))?;
    let text = path.to_string_lossy();
    if let Some(bad) = text.chars().find(|c| ":=,%#?".contains(*c)) {
        bail!("cassay cannot use {text} for Cassandra: the JVM does not accept {bad:?} in a path");
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
        assert!(error.contains("does not accept ':' in a path"), "{error}");
    }
}
