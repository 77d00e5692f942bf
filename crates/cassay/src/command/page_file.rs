//! A page of several runs as a file: where the reports of these runs are from there.
//!
//! What must hold: a folder that holds page and runs can be moved as a whole. So a way from page to
//! report is relative; where both have nothing in common but the root, there is none.

use crate::args::Common;
use crate::terminal;
use anyhow::Result;
use report::Page;
use serde_json::json;
use std::fs;
use std::path::{Component, Path, PathBuf};
use store::Run;

/// Writes a page, and its figure beside it; says where it is.
pub fn write(to: &Path, page: &Page, common: &Common) -> Result<()> {
    let figure = report::figure_file(page);
    store::write_report(to, &report::html(page), figure.as_deref())?;
    if common.json {
        let figure = figure.map(|_| store::figure_of(to));
        terminal::json(&json!({"page": to, "figure": figure, "data": page.data}));
    } else {
        terminal::data(&to.display().to_string());
    }
    Ok(())
}

/// The way from the file of a page to the report of a run; none without such a file, or where it
/// has none or lies elsewhere.
pub fn way(page: Option<&Path>, run: &Path) -> Option<String> {
    way_to(page?, &Run::look(run).ok()?.report()?)
}

/// The way from the file of a page to another file; none where it is not there, or where the two
/// have nothing in common but the root.
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

/// The way from a folder to a file, of two whole paths.
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
    fn a_way_is_relative_and_there_is_none_between_places_that_share_only_the_root() {
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
