//! The gate's check of the static program, which `cargo xtask dist` builds.

use crate::architecture::{self, Architecture};
use crate::process::{self, cargo};
use crate::tree::{File, Tree};
use anyhow::{Result, ensure};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Type-checks the crates that may differ in the static program. If this machine cannot do that,
/// returns the reason. The gate does not build and try the program, because this takes as long as
/// building the tests. Only `cargo xtask dist` does so.
///
/// # Errors
/// A crate does not compile.
pub fn check() -> Result<Option<String>> {
    let sysroot = PathBuf::from(process::output("rustc", &["--print", "sysroot"])?.trim());
    let Some(one) = [Architecture::X86, Architecture::Arm].into_iter().find(|one| one.is_ours())
    else {
        return Ok(Some(format!(
            "cassay has no static program for {}",
            std::env::consts::ARCH
        )));
    };
    if let Err(missing) = architecture::check(&[one], &sysroot) {
        return Ok(Some(format!("{missing:#}")));
    }
    check_for(one)?;
    Ok(None)
}

/// Type-checks and lints those crates that can differ in the static program, for its target. These
/// are the crates that call the C library, or whose code depends on the kind of C library. All
/// other crates use the C library only through these crates.
///
/// # Errors
/// The crates do not compile, or no such crates exist.
fn check_for(one: Architecture) -> Result<()> {
    let packages = packages_of_c_library(&Tree::read()?);
    ensure!(
        !packages.is_empty(),
        "no crate depends on libc, but one must"
    );
    let folder = crate::ci::target().display().to_string();
    let mut arguments = vec!["check", "--quiet", "--locked"];
    arguments.extend(["--target", one.target(), "--target-dir", &folder]);
    arguments.extend(packages.iter().flat_map(|name| ["--package", name]));
    let variables = one.variables();
    let variables: Vec<(&str, String)> =
        variables.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
    process::run_with(&cargo(), &arguments, &variables)
}

/// Returns the crates that depend on `libc`, or have code for only one C library.
fn packages_of_c_library(tree: &Tree) -> BTreeSet<String> {
    let depends = |line: &str| line.starts_with("libc.") || line.starts_with("libc ");
    let names_one = |file: &File| {
        let is_manifest = file.path.ends_with("/Cargo.toml");
        is_manifest && file.text().lines().any(depends)
            || file.has_extension("rs") && file.text().contains("target_env = ")
    };
    let of_crates = tree.files.iter().filter_map(|file| {
        let (name, _) = file.path.strip_prefix("crates/")?.split_once('/')?;
        names_one(file).then(|| name.to_owned())
    });
    of_crates.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_that_call_the_c_library_are_checked_for_the_other_one() {
        let packages = packages_of_c_library(&Tree::read().unwrap());
        for known in ["linux", "load", "allocator", "remote"] {
            assert!(packages.contains(known), "{known} is not in {packages:?}");
        }
        assert!(!packages.contains("report"), "{packages:?}");
    }
}
