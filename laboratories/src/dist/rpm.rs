//! Packs the program for Fedora, openSUSE and related distributions with rpmbuild, which is also
//! available on Debian. If rpmbuild is not installed, this package is omitted, and the output
//! reports this.

use super::archive::{Contents, Packed};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use xtask::architecture::Architecture;
use xtask::process;

const PROGRAM: &str = "rpmbuild";

/// Files that the package lists as licences. rpm installs them even if the user omits documents.
const LICENCES: [&str; 3] = ["LICENSE", "third-party.txt", "rust-standard-library.html"];

/// Folders that belong to packages of the system. The package must not list them, because it would
/// remove them.
const FOLDERS_OF_THE_SYSTEM: [&str; 7] = [
    "",
    "bin",
    "share",
    "share/doc",
    "share/licenses",
    "share/man",
    "share/man/man1",
];

/// Settings of rpmbuild that make the package depend only on the files and on the version of
/// rpmbuild. With them, rpmbuild does not strip, compress or scan files, and does not store the
/// name of the machine. All times are that of the commit.
const MACROS: [&str; 8] = [
    "_buildhost cassay.invalid",
    "use_source_date_epoch_as_buildtime 1",
    "clamp_mtime_to_source_date_epoch 1",
    "debug_package %{nil}",
    "_build_id_links none",
    "__os_install_post %{nil}",
    "_binary_payload w9.gzdio",
    "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm",
];

/// Returns true if this machine can build rpm packages.
pub fn is_possible() -> bool {
    process::output(PROGRAM, &["--version"]).is_ok()
}

/// Returns the name and the bytes of the package of version `number` of the program. All files get
/// the time `epoch_s`, in seconds since 1970. rpmbuild makes the package in `folder`, which this
/// function removes before and afterwards.
///
/// # Errors
/// rpmbuild fails.
pub fn build(
    contents: &Contents,
    number: &str,
    one: Architecture,
    epoch_s: u64,
    folder: &Path,
) -> Result<(String, Vec<u8>)> {
    clear(folder)?;
    let placed = placed(contents)?;
    for (path, file) in &placed {
        write(&folder.join("contents/usr").join(path), file)?;
    }
    let described = folder.join("cassay.spec");
    write(&described, &Packed::plain(spec(&placed, number)))?;
    let said = |path: &Path| path.display().to_string();
    let mut arguments = vec!["-bb".to_owned(), "--quiet".to_owned()];
    arguments.push(format!("--target={}-linux", one.name()));
    arguments.push(format!("--buildroot={}", said(&folder.join("root"))));
    let places = [
        format!("_topdir {}", said(folder)),
        format!("contents {}", said(&folder.join("contents"))),
        format!("_rpmdir {}", said(&folder.join("made"))),
    ];
    for told in MACROS.iter().map(|told| (*told).to_owned()).chain(places) {
        arguments.extend(["--define".to_owned(), told]);
    }
    arguments.push(said(&described));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let time = [("SOURCE_DATE_EPOCH", epoch_s.to_string())];
    process::output_with(PROGRAM, &arguments, &time)?;
    let name = format!("cassay-{number}-1.{}.rpm", one.name());
    let made = folder.join("made").join(&name);
    let bytes = std::fs::read(&made).with_context(|| format!("read {}", made.display()))?;
    clear(folder)?;
    Ok((name, bytes))
}

/// Moves each file to its path on Fedora, which has a separate folder for licences.
fn placed(contents: &Contents) -> Result<Contents> {
    let mut placed = contents.clone();
    for name in LICENCES {
        let from = format!("share/doc/cassay/{name}");
        let license = placed.remove(&from).with_context(|| format!("{from} is not packed"))?;
        placed.insert(format!("share/licenses/cassay/{name}"), license);
    }
    Ok(placed)
}

fn spec(placed: &Contents, number: &str) -> String {
    let mut text = format!(
        "Name: cassay\nVersion: {number}\nRelease: 1\nSummary: {}\nLicense: Apache-2.0\n\
         Suggests: java-17-headless\nAutoReqProv: no\n\n\
         %description\n{}.\n\n\
         %install\nmkdir -p '%{{buildroot}}'\ncp -pR '%{{contents}}/.' '%{{buildroot}}/'\n\n\
         %files\n%defattr(-,root,root,755)\n",
        super::SUMMARY,
        super::SUMMARY,
    );
    for folder in own_folders(placed) {
        let _ = writeln!(text, "%dir \"/usr/{folder}\"");
    }
    for path in placed.keys() {
        let kind = match path.split('/').nth(1) {
            Some("licenses") => "%license ",
            Some("doc" | "man") => "%doc ",
            _ => "",
        };
        let _ = writeln!(text, "{kind}\"/usr/{path}\"");
    }
    text
}

/// Returns the folders that the package must own, because they do not belong to a package of the
/// system.
fn own_folders(placed: &Contents) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    for path in placed.keys() {
        let mut above = path.as_str();
        while let Some((outer, _)) = above.rsplit_once('/') {
            found.insert(outer);
            above = outer;
        }
    }
    found.retain(|folder| !FOLDERS_OF_THE_SYSTEM.contains(folder));
    found
}

fn write(path: &Path, file: &Packed) -> Result<()> {
    let written = || format!("write {}", path.display());
    let folder = path.parent().with_context(written)?;
    std::fs::create_dir_all(folder).with_context(written)?;
    std::fs::write(path, &file.bytes).with_context(written)?;
    let mode = std::fs::Permissions::from_mode(file.mode());
    std::fs::set_permissions(path, mode).with_context(written)
}

fn clear(folder: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder).with_context(|| format!("clear {}", folder.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents() -> Contents {
        let mut contents = Contents::new();
        contents.insert(
            "bin/cassay".to_owned(),
            Packed::program(b"#!/bin/sh\n".to_vec()),
        );
        for path in [
            "share/doc/cassay/LICENSE",
            "share/doc/cassay/third-party.txt",
            "share/doc/cassay/rust-standard-library.html",
            "share/man/man1/cassay.1",
            "share/zsh/site-functions/_cassay",
        ] {
            contents.insert(path.to_owned(), Packed::plain(path));
        }
        contents
    }

    #[test]
    fn a_package_lists_every_file_and_no_folder_of_the_system() {
        let text = spec(&placed(&contents()).unwrap(), "1.2.3");
        let (_, listed) = text.split_once("%defattr(-,root,root,755)\n").unwrap();
        let expected = [
            "%dir \"/usr/share/licenses/cassay\"",
            "%dir \"/usr/share/zsh\"",
            "%dir \"/usr/share/zsh/site-functions\"",
            "\"/usr/bin/cassay\"",
            "%license \"/usr/share/licenses/cassay/LICENSE\"",
            "%license \"/usr/share/licenses/cassay/rust-standard-library.html\"",
            "%license \"/usr/share/licenses/cassay/third-party.txt\"",
            "%doc \"/usr/share/man/man1/cassay.1\"",
            "\"/usr/share/zsh/site-functions/_cassay\"",
        ];
        assert_eq!(listed.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_package_is_reproducible_for_both_processors() {
        if !is_possible() {
            xtask::skip("rpmbuild is not here");
            return;
        }
        let root = std::env::temp_dir().join(format!("cassay-rpm-{}", std::process::id()));
        for one in [Architecture::X86, Architecture::Arm] {
            let made = || build(&contents(), "1.2.3", one, 86_400, &root.join("a"));
            let again = || build(&contents(), "1.2.3", one, 86_400, &root.join("other/place"));
            let (name, bytes) = made().unwrap();
            assert_eq!(name, format!("cassay-1.2.3-1.{}.rpm", one.name()));
            assert!(
                again().unwrap() == (name, bytes),
                "another folder, other bytes"
            );
        }
        let left = std::fs::read_dir(root.join("other")).map(Iterator::count);
        let _ = std::fs::remove_dir_all(&root);
        assert_eq!(left.unwrap(), 0, "the folder is removed");
    }
}
