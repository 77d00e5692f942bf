//! Collects all files of a package, including the program. The layout of the files is suitable for
//! `/usr/local` or `~/.local`.

use super::archive::{Contents, Packed};
use super::smoke::Runner;
use anyhow::{Context, Result};
use std::path::Path;
use xtask::tree;

/// Shells, each with its name for `cassay completions` and the path of its completions.
const COMPLETIONS: [[&str; 2]; 3] = [
    ["bash", "share/bash-completion/completions/cassay"],
    ["zsh", "share/zsh/site-functions/_cassay"],
    ["fish", "share/fish/vendor_completions.d/cassay.fish"],
];

const DOCUMENTS: [&str; 3] = ["README.md", "CHANGELOG.md", "LICENSE"];

/// Path of the licences of the standard library and its dependencies, relative to the toolchain's
/// root.
const OF_RUST: &str = "share/doc/rust/COPYRIGHT-library.html";

/// Returns all files of a package, including the program. The program writes its manual pages and
/// completions itself.
///
/// # Errors
/// The program does not write its manual pages or completions, or a document is missing.
pub fn collect(
    runner: &Runner,
    program: Vec<u8>,
    bill: &str,
    notices: &str,
    sysroot: &Path,
) -> Result<Contents> {
    let mut contents = Contents::new();
    contents.insert("bin/cassay".to_owned(), Packed::program(program));
    for [shell, path] in COMPLETIONS {
        let script = runner.output(&["completions", shell])?;
        contents.insert(path.to_owned(), Packed::plain(script));
    }
    let pages = runner.folder().join("man");
    runner.output(&["man", "--to", &pages.display().to_string()])?;
    add_folder(&mut contents, &pages, "share/man/man1")?;
    let schemas = tree::root().join("docs/schema");
    add_folder(&mut contents, &schemas, "share/cassay")?;
    let mut add = |name: &str, file: Packed| {
        contents.insert(format!("share/doc/cassay/{name}"), file);
    };
    for name in DOCUMENTS {
        add(name, read(&tree::root().join(name))?);
    }
    add("rust-standard-library.html", read(&sysroot.join(OF_RUST))?);
    add("third-party.txt", Packed::plain(notices));
    add("cassay.cdx.json", Packed::plain(bill));
    Ok(contents)
}

fn add_folder(contents: &mut Contents, folder: &Path, below: &str) -> Result<()> {
    let listed = || format!("list {}", folder.display());
    for entry in std::fs::read_dir(folder).with_context(listed)? {
        let path = entry.with_context(listed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        contents.insert(format!("{below}/{name}"), read(&path)?);
    }
    Ok(())
}

fn read(path: &Path) -> Result<Packed> {
    let bytes = std::fs::read(path).with_context(|| format!("read {}", path.display()))?;
    Ok(Packed::plain(bytes))
}
