//! Builds the first file system of a guest. It contains busybox, init, the steps, and the programs
//! with their libraries.

use super::cpio::Archive;
use super::parts::Parts;
use super::programs::{self, Program};
use super::steps::{self, Step};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::Path;
use xtask::process;

/// Files that all guests of one call share.
pub struct Content {
    /// Content of each file, by path. The paths do not begin with `/`.
    files: BTreeMap<String, Vec<u8>>,
}

impl Content {
    /// Reads the files of a guest. The debug information of programs is removed, because it is two
    /// thirds of their size, and a guest has little memory.
    pub fn read(parts: &Parts, cassay: &Path, others: &[Program], work: &Path) -> Result<Content> {
        let mut content = Content {
            files: BTreeMap::new(),
        };
        content.add("bin/busybox", &parts.busybox)?;
        for (index, module) in parts.modules.iter().enumerate() {
            content.add(&format!("modules/{index}.ko"), module)?;
        }
        let ours = [("cassay", cassay)];
        let others = others.iter().map(|one| (one.name.as_str(), one.path.as_path()));
        for (name, path) in ours.into_iter().chain(others) {
            let stripped = work.join("stripped");
            let words = ["--strip-debug", "-o", text(&stripped)?, text(path)?];
            // This fails if `strip` is missing or the program is a script. The program is then used
            // unchanged.
            let is_stripped = process::output("strip", &words).is_ok();
            let taken = if is_stripped { &stripped } else { path };
            content.add(&format!("programs/{name}"), taken)?;
            let _ = std::fs::remove_file(&stripped);
            for library in programs::libraries(path)? {
                content.add(text(&library)?.trim_start_matches('/'), &library)?;
            }
        }
        Ok(content)
    }

    fn add(&mut self, name: &str, path: &Path) -> Result<()> {
        let bytes = std::fs::read(path).with_context(|| format!("read {}", path.display()))?;
        self.files.insert(name.to_owned(), bytes);
        Ok(())
    }

    /// Returns the archive with the first file system of a guest with these steps.
    pub fn archive(&self, steps: &[Step]) -> Vec<u8> {
        let mut archive = Archive::default();
        for folder in ["dev", "proc", "sys", "tmp", "root", "modules"] {
            archive.folder(folder);
        }
        archive.file("init", steps::INIT.as_bytes());
        for (index, step) in steps.iter().enumerate() {
            let name = steps::file_name(index, step);
            archive.file(&format!("steps/{name}"), step.script.as_bytes());
        }
        for (name, bytes) in &self.files {
            archive.file(name, bytes);
        }
        archive.finish()
    }
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("a path is not UTF-8")
}
