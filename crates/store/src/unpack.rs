//! Imports results of other machines from an archive.

use anyhow::{Context, Result, bail};
use std::io::Read;
use std::path::{Component, Path};

/// Extracts the runs in an archive into the results folder. Keeps existing files, skips links, and
/// never writes outside the results folder.
///
/// # Errors
/// The data is not a tar archive, a path in the archive contains `..` or begins with `/`, or a file
/// cannot be written.
pub fn take_in(results: &Path, archive: impl Read) -> Result<()> {
    let mut archive = tar::Archive::new(archive);
    for entry in archive.entries().context("read results from another machine")? {
        let mut entry = entry.context("read results from another machine")?;
        let path = entry.path().context("read the name of a file of the results")?.into_owned();
        let mut to = results.to_owned();
        for part in path.components() {
            match part {
                Component::Normal(name) => to.push(name),
                Component::CurDir => {}
                _ => bail!("{} is not a file of results", path.display()),
            }
        }
        if entry.header().entry_type().is_dir() {
            std::fs::create_dir_all(&to).with_context(|| format!("make {}", to.display()))?;
            continue;
        }
        // Links in the archive, such as `latest`, are skipped, because their targets may be missing
        // on the machine that imports the results.
        if to.exists() || !entry.header().entry_type().is_file() {
            continue;
        }
        if let Some(folder) = to.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("make {}", folder.display()))?;
        }
        entry.unpack(&to).with_context(|| format!("write {}", to.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, text) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            // The test writes this name directly into the header, because the builder might reject
            // it.
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            builder.append(&header, text.as_bytes()).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn runs_are_put_beside_those_that_are_there_and_change_none() {
        let results = tempfile::tempdir().unwrap();
        let old = results.path().join("tags.json");
        std::fs::write(&old, "mine").unwrap();
        let told = archive(&[("./tags.json", "theirs"), ("./s/1/plan.json", "{}")]);
        take_in(results.path(), &told[..]).unwrap();
        assert_eq!(std::fs::read_to_string(old).unwrap(), "mine");
        assert_eq!(
            std::fs::read_to_string(results.path().join("s/1/plan.json")).unwrap(),
            "{}"
        );
    }

    #[test]
    fn nothing_is_written_elsewhere() {
        let above = tempfile::tempdir().unwrap();
        let results = above.path().join("results");
        let error = take_in(&results, &archive(&[("../out", "x")])[..]).unwrap_err();
        assert!(
            error.to_string().contains("is not a file of results"),
            "{error:#}"
        );
        assert!(!above.path().join("out").exists());
        let error = take_in(&results, &[7_u8; 2000][..]).unwrap_err();
        assert!(error.to_string().contains("read results"), "{error:#}");
    }
}
