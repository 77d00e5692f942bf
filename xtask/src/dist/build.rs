//! One build of the programs: of this tree, or of a clone of it elsewhere.

use super::SYSROOT_TARGETS;
use super::architecture::Architecture;
use crate::process::{self, cargo};
use crate::tree;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The profile of `Cargo.toml`.
const PROFILE: &str = "dist";

/// A static program that is fast to compile and slow to run, for this machine's processor.
///
/// # Errors
/// It does not compile.
pub fn quick(one: Architecture) -> Result<PathBuf> {
    let target = crate::ci::target();
    let folder = target.display().to_string();
    let mut arguments = vec!["build", "--quiet", "--locked"];
    arguments.extend(["--target", one.target(), "--target-dir", &folder]);
    arguments.extend(["--package", "cassay", "--bin", "cassay"]);
    let mut variables = one.variables();
    // By the environment: with another profile, macros would be compiled once more.
    variables.push(("CARGO_PROFILE_DEV_OPT_LEVEL".to_owned(), "0".to_owned()));
    let variables: Vec<(&str, String)> =
        variables.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    process::run_with(&cargo(), &arguments, &variables)?;
    Ok(target.join(one.target()).join("debug/cassay"))
}

/// What is built, and where.
pub struct Build {
    /// The root of the sources.
    root: PathBuf,
    /// Where cargo writes.
    pub target_folder: PathBuf,
    /// The commit.
    pub commit: String,
    /// Whether the tree is as the commit has it.
    pub is_clean: bool,
    /// Time of the commit, seconds since 1970; all files that are packed have it.
    pub epoch_s: u64,
    /// The same as RFC 3339 writes it, in UTC.
    pub time: String,
}

impl Build {
    /// Of this tree, as it is.
    ///
    /// # Errors
    /// It is no clone of git's, whose commit says the time.
    pub fn here() -> Result<Build> {
        let git = |arguments: &[&str]| -> Result<String> {
            let format = [("TZ", "UTC".to_owned())];
            let said = process::output_with("git", arguments, &format)?;
            Ok(said.trim().to_owned())
        };
        let stamp = "--date=format-local:%Y-%m-%dT%H:%M:%SZ";
        let arguments = ["metadata", "--format-version", "1", "--no-deps", "--locked"];
        let metadata: Value = serde_json::from_str(&process::output(&cargo(), &arguments)?)?;
        let target_folder = metadata["target_directory"].as_str().context("cargo's folder")?;
        Ok(Build {
            root: tree::root(),
            target_folder: target_folder.into(),
            commit: git(&["rev-parse", "HEAD"])?,
            is_clean: git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty(),
            epoch_s: git(&["show", "-s", "--format=%ct", "HEAD"])?.parse()?,
            time: git(&["show", "-s", stamp, "--format=%cd", "HEAD"])?,
        })
    }

    /// The same commit, checked out in another folder, which is built below that.
    pub fn elsewhere(&self, clone: &Path) -> Build {
        Build {
            root: clone.to_owned(),
            target_folder: clone.join("target"),
            commit: self.commit.clone(),
            is_clean: true,
            epoch_s: self.epoch_s,
            time: self.time.clone(),
        }
    }

    /// Builds the programs.
    ///
    /// # Errors
    /// One does not compile.
    pub fn run(&self, architectures: &[Architecture]) -> Result<()> {
        let manifest = self.root.join("Cargo.toml").display().to_string();
        let target_folder = self.target_folder.display().to_string();
        let mut arguments = vec!["build", "--locked", "--profile", PROFILE];
        arguments.extend(["--manifest-path", &manifest, "--target-dir", &target_folder]);
        arguments.extend(["--package", "cassay", "--bin", "cassay"]);
        for one in architectures {
            arguments.extend(["--target", one.target()]);
        }
        let mut variables: Vec<(String, String)> =
            architectures.iter().flat_map(|one| one.variables()).collect();
        variables.push(("CARGO_ENCODED_RUSTFLAGS".to_owned(), self.flags()?));
        variables.push(("SOURCE_DATE_EPOCH".to_owned(), self.epoch_s.to_string()));
        let variables: Vec<(&str, String)> =
            variables.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        process::run_with(&cargo(), &arguments, &variables)
    }

    /// Every path of this machine that a message of a panic could name, as one that all have; and
    /// half a megabyte less of places that are filled in when the program starts.
    fn flags(&self) -> Result<String> {
        let home = std::env::var_os("CARGO_HOME")
            .map(PathBuf::from)
            .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))
            .context("neither CARGO_HOME nor HOME is set")?;
        let registry = home.join("registry/src");
        let mut flags = vec!["-Clink-arg=--pack-dyn-relocs=relr".to_owned()];
        let mut name_as = |path: &Path, name: &str| {
            flags.push(format!("--remap-path-prefix={}={name}", path.display()));
        };
        let listed = || format!("list {}", registry.display());
        let mut sources = std::fs::read_dir(&registry)
            .with_context(listed)?
            .map(|entry| Ok(entry.with_context(listed)?.path()))
            .collect::<Result<Vec<PathBuf>>>()?;
        sources.sort();
        for source in &sources {
            name_as(source, "/registry");
        }
        name_as(&self.root, "/cassay");
        name_as(&self.target_folder, "/target");
        Ok(flags.join("\u{1f}"))
    }

    /// The program as it is handed out: without the names of its functions.
    ///
    /// # Errors
    /// It cannot be stripped.
    pub fn stripped(&self, one: Architecture, sysroot: &Path) -> Result<PathBuf> {
        let folder = self.target_folder.join(one.target()).join(PROFILE);
        let (built, stripped) = (folder.join("cassay"), folder.join("stripped/cassay"));
        std::fs::create_dir_all(folder.join("stripped")).context("make a folder")?;
        let host = std::fs::read_dir(sysroot.join(SYSROOT_TARGETS))
            .context("list the toolchain")?
            .filter_map(|entry| Some(entry.ok()?.path().join("bin/rust-objcopy")))
            .find(|path| path.exists())
            .context("the toolchain has no rust-objcopy; hint: take one of rustup")?;
        let said = |path: &Path| path.display().to_string();
        // It finds the library of the compiler by that alone.
        let libraries = [("LD_LIBRARY_PATH", said(&sysroot.join("lib")))];
        let arguments = ["--strip-all", &said(&built), &said(&stripped)];
        process::run_with(&said(&host), &arguments, &libraries)?;
        Ok(stripped)
    }
}
