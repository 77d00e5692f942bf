//! Writes the files of a publication. They appear at their destination together, and only after a
//! check.
//!
//! A new folder next to the destination gets all files. After the check, one rename moves it. So a
//! kill leaves the destination as it was, or with all files.

use crate::leaks::{Leak, find_leaks};
use crate::replacer::Replacer;
use anyhow::{Context, Result, bail};
use foreign::FileKind;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path};

/// Name of the folder that holds new files.
const NEW: &str = "new";

/// Maximum number of leaks that a message lists.
const LEAKS_SHOWN_MAX: usize = 10;

/// A file of a publication.
#[derive(Clone, Debug)]
pub struct PublishedFile {
    /// Path in the folder of the publication, with `/` between names.
    pub name: String,
    pub content: String,
}

/// Writes the files to the folder `to`. If `to` ends with `.html`, writes the only file to `to`.
/// `may_replace` permits to replace an earlier publication.
///
/// # Errors
/// The destination contains other files, a file cannot be written, or a written file contains a
/// private string. In all cases the destination remains as it was.
pub fn write(
    to: &Path,
    files: &[PublishedFile],
    may_replace: bool,
    fixed_parts: &[String],
    replacer: &Replacer<'_>,
) -> Result<()> {
    check_destination(to, files, may_replace)?;
    let parent = match to.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(parent).with_context(|| format!("make {}", parent.display()))?;
    let temporary = tempfile::Builder::new()
        .prefix(".publish-")
        .tempdir_in(parent)
        .with_context(|| format!("make a folder in {}", parent.display()))?;
    let new = temporary.path().join(NEW);
    fs::create_dir(&new).with_context(|| format!("make {}", new.display()))?;
    for file in files {
        write_file(&new.join(&file.name), &file.content)?;
    }
    check_files(&new, files, fixed_parts, replacer)?;
    let source = if is_single_file(to) {
        let first = files.first().context("a publication has at least one file")?;
        new.join(&first.name)
    } else {
        new
    };
    move_to(&source, to).with_context(|| format!("move the files to {}", to.display()))
}

/// Returns true if the destination is one HTML file.
fn is_single_file(to: &Path) -> bool {
    to.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("html"))
}

fn write_file(path: &Path, content: &str) -> Result<()> {
    let write = || -> std::io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = fs::File::create_new(path)?;
        std::io::Write::write_all(&mut file, content.as_bytes())?;
        file.sync_all()
    };
    write().with_context(|| format!("write {}", path.display()))
}

/// Reads the written files again, and searches them for private strings.
fn check_files(
    folder: &Path,
    files: &[PublishedFile],
    fixed_parts: &[String],
    replacer: &Replacer<'_>,
) -> Result<()> {
    let mut leaks: Vec<Leak> = Vec::new();
    for file in files {
        let path = folder.join(&file.name);
        let bytes = foreign::read(FileKind::Record, &path)
            .with_context(|| format!("read {}", path.display()))?;
        leaks.extend(find_leaks(&file.name, &bytes, fixed_parts, replacer));
        // The name of a file is public, too.
        leaks.extend(find_leaks(&file.name, file.name.as_bytes(), &[], replacer));
    }
    if leaks.is_empty() {
        return Ok(());
    }
    let count = leaks.len();
    let shown: Vec<String> = leaks.iter().take(LEAKS_SHOWN_MAX).map(Leak::to_string).collect();
    bail!(
        "cassay published nothing, because {count} private strings remain:\n{}\nhint: with --plan \
         FILE, write `keep` for strings that may be public, or another replacement",
        shown.join("\n")
    )
}

/// Returns an error if the destination contains anything else than an earlier publication, or if
/// the user does not permit to replace it.
fn check_destination(to: &Path, files: &[PublishedFile], may_replace: bool) -> Result<()> {
    let Ok(found) = fs::symlink_metadata(to) else {
        return Ok(());
    };
    if is_single_file(to) {
        if !found.is_file() {
            bail!(
                "{} exists and is not a file\nhint: name another file",
                to.display()
            );
        }
    } else if !found.is_dir() {
        bail!(
            "{} exists and is not a folder\nhint: name another folder, or a file that ends with \
             .html",
            to.display()
        );
    } else {
        let present = entries(to, Path::new(""), &mut 0)?;
        if present.is_empty() {
            return Ok(());
        }
        if let Some(other) = present.iter().find(|name| !is_published_name(name)) {
            bail!(
                "{} contains {other}, which cassay did not publish\nhint: name a new folder",
                to.display()
            );
        }
    }
    if !may_replace {
        let count = files.len();
        bail!(
            "{} exists already\nhint: --force replaces the earlier publication by {count} new \
             files",
            to.display()
        );
    }
    Ok(())
}

/// Maximum number of files in a folder of a publication. A folder with more files is certainly
/// another folder.
const ENTRIES_MAX: usize = 10_000;

/// Returns the paths of all files below a folder, relative to the folder.
fn entries(folder: &Path, below: &Path, count: &mut usize) -> Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let path = folder.join(below);
    let list = fs::read_dir(&path).with_context(|| format!("read {}", path.display()))?;
    for entry in list {
        let entry = entry.with_context(|| format!("read {}", path.display()))?;
        *count += 1;
        if *count > ENTRIES_MAX {
            bail!(
                "{} contains more than {ENTRIES_MAX} files",
                folder.display()
            );
        }
        let name = below.join(entry.file_name());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(entries(folder, &name, count)?);
        } else {
            found.insert(name.display().to_string());
        }
    }
    Ok(found)
}

/// Returns true for the names that the files of a publication have, at most one folder deep.
fn is_published_name(name: &str) -> bool {
    let parts: Vec<Component<'_>> = Path::new(name).components().collect();
    let last = name.rsplit('/').next().unwrap_or_default();
    parts.len() <= 2 && ["index.html", "report.svg", "run.json"].contains(&last)
}

/// Moves a file or a folder to its destination. If the destination exists, exchanges both in one
/// step; the earlier files are then in the temporary folder, which the caller removes.
fn move_to(source: &Path, to: &Path) -> std::io::Result<()> {
    let exists = fs::symlink_metadata(to).is_ok();
    let is_dir = source.is_dir();
    if exists && is_dir {
        renameat_with(CWD, source, CWD, to, RenameFlags::EXCHANGE)?;
    } else {
        fs::rename(source, to)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::removals::Removals;

    fn removals() -> Removals {
        let mut removals = Removals::default();
        removals.apply_file("host\t0\tdb1\thost1\n", &mut []).unwrap();
        removals
    }

    fn files(text: &str) -> Vec<PublishedFile> {
        let file = |name: &str| PublishedFile {
            name: name.to_owned(),
            content: format!("<p>{text}</p>"),
        };
        vec![file("index.html"), file("a-1/index.html")]
    }

    fn listed(folder: &Path) -> Vec<String> {
        entries(folder, Path::new(""), &mut 0).unwrap().into_iter().collect()
    }

    #[test]
    fn a_leak_leaves_the_destination_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let removals = removals();
        let replacer = Replacer::new(removals.list());
        let to = folder.path().join("site");
        let error = write(&to, &files("db1"), false, &[], &replacer).unwrap_err().to_string();
        assert!(
            error.contains("a-1/index.html contains \"db1\" as plain text"),
            "{error}"
        );
        assert_eq!(listed(folder.path()), Vec::<String>::new());
        write(&to, &files("one"), false, &[], &replacer).unwrap();
        write(&to, &files("db1"), true, &[], &replacer).unwrap_err();
        let kept = fs::read_to_string(to.join("index.html")).unwrap();
        assert_eq!(kept, "<p>one</p>");
        assert_eq!(
            listed(folder.path()),
            ["site/a-1/index.html", "site/index.html"]
        );
    }

    #[test]
    fn only_an_earlier_publication_is_replaced_by_force() {
        let folder = tempfile::tempdir().unwrap();
        let removals = removals();
        let replacer = Replacer::new(removals.list());
        let to = folder.path().join("site");
        let publish = |text: &str, force: bool| write(&to, &files(text), force, &[], &replacer);
        publish("one", false).unwrap();
        let error = publish("two", false).unwrap_err().to_string();
        assert!(error.contains("--force"), "{error}");
        publish("two", true).unwrap();
        assert_eq!(
            fs::read_to_string(to.join("index.html")).unwrap(),
            "<p>two</p>"
        );
        fs::write(to.join("thesis.tex"), "mine").unwrap();
        let error = publish("three", true).unwrap_err().to_string();
        assert!(error.contains("contains thesis.tex"), "{error}");
        assert_eq!(fs::read_to_string(to.join("thesis.tex")).unwrap(), "mine");
    }

    #[test]
    fn a_single_file_is_written_at_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let removals = removals();
        let replacer = Replacer::new(removals.list());
        let to = folder.path().join("page.html");
        write(&to, &files("one")[..1], false, &[], &replacer).unwrap();
        write(&to, &files("two")[..1], false, &[], &replacer).unwrap_err();
        write(&to, &files("two")[..1], true, &[], &replacer).unwrap();
        assert_eq!(fs::read_to_string(&to).unwrap(), "<p>two</p>");
        assert_eq!(listed(folder.path()), ["page.html"]);
    }
}
