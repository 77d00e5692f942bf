//! Writes a page about several runs as a file, with links to their reports.
//!
//! The user can move a folder that contains the page and the runs. So a link from the page to a
//! report is relative. If the two paths have only the root in common, the page has no link.

use crate::args::Common;
use crate::terminal;
use anyhow::Result;
use report::Page;
use serde_json::json;
use std::fs;
use std::path::{Component, Path, PathBuf};
use store::Run;

/// Writes a page, and its figure next to it. Prints the path of the page.
pub fn write(to: &Path, page: &Page, common: &Common) -> Result<()> {
    let figure = report::figure_file(page);
    let figure = store::write_report(to, &report::html(page), figure.as_deref())?;
    if common.json {
        terminal::json(&json!({"page": to, "figure": figure, "data": page.data}));
    } else {
        terminal::data(&to.display().to_string());
    }
    Ok(())
}

/// Returns the link from a page's file to the report of a run. `None` without a page file, or if
/// the run has no report in its folder.
pub fn way(page: Option<&Path>, run: &Path) -> Option<String> {
    way_to(page?, &Run::look(run).ok()?.report()?)
}

/// Returns the link from a page's file to another file. `None` if the file does not exist, or if
/// the two paths have only the root in common.
pub fn way_to(page: &Path, file: &Path) -> Option<String> {
    let folder = match page.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    between(
        &fs::canonicalize(folder).ok()?,
        &fs::canonicalize(file).ok()?,
    )
}

/// Returns the relative path from a folder to a file, or `None` if they have only the root in
/// common. Both paths must be absolute.
fn between(folder: &Path, file: &Path) -> Option<String> {
    let both = || folder.components().zip(file.components());
    let common = both().take_while(|(a, b)| a == b).count();
    let is_more_than_root = both().take(common).any(|(a, _)| matches!(a, Component::Normal(_)));
    if !is_more_than_root {
        return None;
    }
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(file.components().skip(common)).collect();
    way.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_relative_unless_only_the_root_is_shared() {
        let way = |folder, file| between(Path::new(folder), Path::new(file));
        let report = "/a/results/a/1/report.html";
        for (folder, expected) in [
            ("/a", Some("results/a/1/report.html")),
            ("/a/results/a/1", Some("report.html")),
            ("/a/pages/new", Some("../../results/a/1/report.html")),
            ("/tmp", None),
            ("/", None),
        ] {
            assert_eq!(way(folder, report).as_deref(), expected, "{folder}");
        }
    }
}
