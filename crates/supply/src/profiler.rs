//! Makes async-profiler available, which samples the stacks of a node's threads. Its jar is fetched
//! only for studies that profile. Nodes load the library for this machine's architecture from the
//! jar.

use crate::filled;
use crate::lock::parse_pinned;
use crate::progress::Voice;
use crate::version_files::Recipe;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

pub const VERSION: &str = "4.6";

/// Jar and its libraries, in the format of a `supply.lock`.
const LOCK: &str = include_str!("profiler.lock");

/// Returns the path of `libasyncProfiler.so` for this machine's architecture. If `cache` lacks the
/// library, fetches the jar, and compares jar and library with their SHA-256.
///
/// # Errors
/// The jar cannot be fetched or differs from the lock, or async-profiler does not support the
/// architecture.
pub fn library(cache: &Path, voice: &mut Voice<'_>) -> Result<PathBuf> {
    let architecture = std::env::consts::ARCH;
    let folder_in_jar = match architecture {
        "x86_64" => "linux-x64",
        "aarch64" => "linux-arm64",
        other => anyhow::bail!(
            "async-profiler {VERSION} has no library for {other} machines, only for x86_64 and \
             aarch64\nhint: remove `probes.profile` from the study"
        ),
    };
    let recipe = recipe()?;
    let folder = recipe.folder_in(cache);
    let (lock, _) = filled(&folder, &recipe, None, voice)
        .with_context(|| format!("fetch async-profiler {VERSION}"))?;
    let mut names = lock.into_keys();
    let library = names
        .find(|name| name.starts_with(folder_in_jar))
        .with_context(|| format!("profiler.lock lists no file for {architecture}"))?;
    Ok(folder.join(library))
}

/// Both libraries have the same file name in the jar, so their names in the cache begin with their
/// folder.
fn recipe() -> Result<Recipe> {
    let mut files = parse_pinned(LOCK)?;
    for file in &mut files {
        if let Some(member) = &file.member {
            file.name = member.replace('/', "-");
        }
    }
    Ok(Recipe::of_files(format!("async-profiler {VERSION}"), files))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_lists_a_library_for_each_architecture() {
        let recipe = recipe().unwrap();
        let names: Vec<String> = recipe.pinned.iter().flatten().map(|f| f.name.clone()).collect();
        assert_eq!(
            names,
            [
                format!("async-profiler-{VERSION}.jar"),
                "linux-arm64-libasyncProfiler.so".to_owned(),
                "linux-x64-libasyncProfiler.so".to_owned(),
            ]
        );
        let folder = recipe.folder_in(Path::new("/cache"));
        let name = folder.file_name().unwrap().to_str().unwrap();
        assert!(name.starts_with("async-profiler-4.6-"), "{name}");
    }
}
