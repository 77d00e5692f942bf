//! Builds the programs from this tree, or from a clone in another folder.

use anyhow::{Context, Result};
use serde_json::Value;
use std::path::{Path, PathBuf};
use xtask::architecture::{Architecture, SYSROOT_TARGETS};
use xtask::process::{self, cargo};
use xtask::tree;

const PROFILE: &str = "dist";

/// Sources and output folder of a build.
pub struct Build {
    /// The root folder of the sources.
    root: PathBuf,
    /// Folder for cargo's output.
    pub target_folder: PathBuf,
    /// Commit from which the programs are built.
    pub commit: String,
    /// True if the tree has no changes since the commit.
    pub is_clean: bool,
    /// Time of the commit, in seconds since 1970. All packed files have this time.
    pub epoch_s: u64,
    /// The time of the commit in RFC 3339, in UTC.
    pub time: String,
}

impl Build {
    /// Returns the build of this tree in its current state.
    ///
    /// # Errors
    /// The tree is not a git clone, so it has no commit that determines the time.
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

    /// Returns the build of a second checkout of the same commit, with its output in another
    /// folder.
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
    /// A program does not compile.
    pub fn run(&self, architectures: &[Architecture]) -> Result<()> {
        let manifest = self.root.join("Cargo.toml").display().to_string();
        let target_folder = self.target_folder.display().to_string();
        let mut arguments = vec![
            "build",
            "--locked",
            "--features",
            "full",
            "--profile",
            PROFILE,
        ];
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

    /// Returns the flags for rustc. The flags replace every path of this machine that a panic
    /// message could contain by a fixed path. They also reduce the size of the program's
    /// relocations by half a megabyte.
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

    /// Strips a built program, which removes the names of its functions. Returns the path of the
    /// stripped program for the packages.
    ///
    /// # Errors
    /// The program cannot be stripped.
    pub fn stripped(&self, one: Architecture, sysroot: &Path) -> Result<PathBuf> {
        let folder = self.target_folder.join(one.target()).join(PROFILE);
        let (built, stripped) = (folder.join("cassay"), folder.join("stripped/cassay"));
        std::fs::create_dir_all(folder.join("stripped")).context("make a folder")?;
        let host = std::fs::read_dir(sysroot.join(SYSROOT_TARGETS))
            .context("list the toolchain")?
            .filter_map(|entry| Some(entry.ok()?.path().join("bin/rust-objcopy")))
            .find(|path| path.exists())
            .context("the toolchain has no rust-objcopy; hint: use a toolchain from rustup")?;
        let said = |path: &Path| path.display().to_string();
        // The program `rust-objcopy` finds the library of the compiler only by this variable.
        let libraries = [("LD_LIBRARY_PATH", said(&sysroot.join("lib")))];
        let arguments = ["--strip-all", &said(&built), &said(&stripped)];
        process::run_with(&said(&host), &arguments, &libraries)?;
        Ok(stripped)
    }
}
