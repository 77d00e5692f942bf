//! Collects the licences of a program's parts as text, with the names and notices that the licences
//! require.

use super::parts::Part;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Prefixes of the names of files that contain licences or authors.
const BEGINNINGS: [&str; 6] = [
    "LICENSE",
    "LICENCE",
    "COPYING",
    "COPYRIGHT",
    "NOTICE",
    "UNLICENSE",
];

/// Maximum depth of licence files in the folder of a package. For example, ring contains
/// `third_party/fiat/LICENSE`.
const DEPTH_MAX: usize = 3;

const HEAD: &str = "\
The parts of cassay besides its own code, with the name of each part's licence. Below, each licence
text occurs once, with the parts that contain it. Some parts contain no licence text: for them, see
the text of another part with the same licence. A separate file covers Rust's standard library.

";

/// Returns a text that lists all parts with their licences, and then contains each licence text
/// once.
///
/// # Errors
/// A file cannot be read.
pub fn build(parts: &[Part]) -> Result<String> {
    let mut text = HEAD.to_owned();
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for part in parts {
        let Part {
            name,
            version,
            license,
            source,
            ..
        } = part;
        let _ = writeln!(text, "{name} {version}: {license}, {source}");
        for path in licences_below(&part.folder, 0)? {
            let bytes = std::fs::read(&path).with_context(|| format!("read {}", path.display()))?;
            let words = String::from_utf8_lossy(&bytes).replace('\r', "").trim().to_owned();
            texts.entry(words).or_default().insert(format!("{name} {version}"));
        }
    }
    // The texts are sorted by the parts to which they belong. So a new version of one crate does
    // not change the order of the other texts.
    let mut by_owner: Vec<(Vec<String>, String)> = texts
        .into_iter()
        .map(|(words, owners)| (owners.into_iter().collect(), words))
        .collect();
    by_owner.sort();
    for (owners, words) in by_owner {
        let _ = write!(
            text,
            "\n{}\n{}:\n\n{words}\n",
            "-".repeat(78),
            owners.join(", ")
        );
    }
    Ok(text)
}

fn licences_below(folder: &Path, depth: usize) -> Result<Vec<PathBuf>> {
    let listed = || format!("list {}", folder.display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).with_context(listed)? {
        let path = entry.with_context(listed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_dir() && depth < DEPTH_MAX {
            found.extend(licences_below(&path, depth + 1)?);
        } else if path.is_file()
            && !name.ends_with(".RS")
            && BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_two_have_stands_once_with_both_names() {
        let root = std::env::temp_dir().join(format!("cassay-notices-{}", std::process::id()));
        let part = |name: &str, file: &str, text: &str| {
            let folder = root.join(name);
            let path = folder.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            std::fs::write(folder.join("license.rs"), "fn main() {}").unwrap();
            Part {
                name: name.to_owned(),
                version: "1.0.0".to_owned(),
                license: "MIT".to_owned(),
                source: format!("https://example.com/{name}"),
                sha256: None,
                uses: Vec::new(),
                folder,
            }
        };
        let parts = [
            part("one", "LICENSE-MIT", "Do as you like.\r\n"),
            part("two", "third_party/x/license.txt", "Do as you like."),
        ];
        let text = build(&parts);
        std::fs::remove_dir_all(&root).unwrap();
        let text = text.unwrap();
        assert!(
            text.contains("\none 1.0.0, two 1.0.0:\n\nDo as you like.\n"),
            "{text}"
        );
        assert!(
            text.contains("two 1.0.0: MIT, https://example.com/two\n"),
            "{text}"
        );
        assert!(!text.contains("fn main"), "{text}");
    }
}
