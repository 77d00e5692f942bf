//! Reads the changes since the last release. Each change has a file, `changes/KIND/NAME.md`, which
//! contains one paragraph that begins with bold text.

use anyhow::{Context, Result, bail};
use std::path::Path;

/// Folder of the changes, relative to the root of the repository.
pub const FOLDER: &str = "changes";

/// Kinds of changes in the order of the changelog. Each kind has a folder and a heading.
pub const KINDS: [(&str, &str); 4] = [
    ("breaking", "Breaking"),
    ("security", "Security"),
    ("new", "New"),
    ("fixed", "Fixed"),
];

/// Returns the paragraph in a file as a single line.
///
/// # Errors
/// The file has several paragraphs, or does not begin with bold text.
pub fn paragraph(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    if !text.starts_with("**") || text.matches("**").count() < 2 {
        return Err("a change begins with a bold phrase that states it");
    }
    if text.lines().any(|line| line.trim().is_empty()) {
        return Err("a change is one paragraph");
    }
    Ok(text.lines().map(str::trim).collect::<Vec<_>>().join(" "))
}

/// Returns true for a file in the folder of changes that explains the folder, and is not a change.
pub fn is_guide(path: &str) -> bool {
    path == "changes/README.md"
}

/// Changes of one kind, in the order of their file names.
pub struct Section {
    /// Heading of the section in the changelog.
    pub heading: &'static str,
    /// Changes of the section, each as one paragraph.
    pub changes: Vec<String>,
}

/// Reads all changes of a repository. Sections without changes are omitted.
///
/// # Errors
/// A file cannot be read, or is not a change.
pub fn read(root: &Path) -> Result<Vec<Section>> {
    let mut sections = Vec::new();
    for (kind, heading) in KINDS {
        let mut changes = Vec::new();
        for path in files(&root.join(FOLDER).join(kind))? {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("read {}", path.display()))?;
            match paragraph(&text) {
                Ok(change) => changes.push(change),
                Err(reason) => bail!("{}: {reason}", path.display()),
            }
        }
        if !changes.is_empty() {
            sections.push(Section { heading, changes });
        }
    }
    Ok(sections)
}

/// Deletes the files of all changes, after a release has moved the changes into the changelog.
///
/// # Errors
/// A file cannot be deleted.
pub fn delete(root: &Path) -> Result<()> {
    for (kind, _) in KINDS {
        for path in files(&root.join(FOLDER).join(kind))? {
            std::fs::remove_file(&path).with_context(|| format!("delete {}", path.display()))?;
        }
    }
    Ok(())
}

/// Returns the files of a folder, by name. The list is empty if the folder does not exist.
fn files(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .with_context(|| format!("list {}", folder.display()))?;
    paths.sort();
    Ok(paths)
}
