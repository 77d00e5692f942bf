//! Runs the script with every shell of this machine, on invented archives.

use super::*;
use crate::dist::archive::{self, Contents, Packed};
use crate::dist::sha256;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use xtask::process;

const SHELLS: [&[&str]; 4] = [&["sh"], &["dash"], &["busybox", "sh"], &["bash", "--posix"]];

/// A folder with a release, and a folder in which it is installed. Both are removed when this value
/// is dropped.
struct TestFolders {
    root: PathBuf,
}

impl TestFolders {
    fn new(name: &str) -> TestFolders {
        let root = std::env::temp_dir().join(format!("cassay-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        for folder in ["release", "temporary"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        TestFolders { root }
    }

    fn path(&self, name: &str) -> String {
        self.root.join(name).display().to_string()
    }

    /// Makes a release for this machine's processor, with an additional file at the path `more`.
    fn release(&self, number: &str, more: &str) {
        let one = ours();
        let mut contents = Contents::new();
        let program = format!("#!/bin/sh\necho cassay {number}\n");
        contents.insert(
            "bin/cassay".to_owned(),
            Packed::program(program.into_bytes()),
        );
        for path in ["share/man/man1/cassay.1", "share/doc/cassay/a b.txt", more] {
            contents.insert(path.to_owned(), Packed::plain(number));
        }
        let name = format!("cassay-{number}-{}", one.target());
        let bytes = archive::packed(&contents, &name, 86_400).unwrap();
        let sha256 = sha256(&bytes);
        std::fs::write(self.path(&format!("release/{name}.tar.gz")), bytes).unwrap();
        let script = build(number, &[Archive { one, sha256 }], None).unwrap();
        std::fs::write(self.path(&format!("release/{NAME}")), script).unwrap();
    }

    fn run(&self, shell: &[&str], arguments: &[&str]) -> Result<String> {
        let script = self.path(&format!("release/{NAME}"));
        let words = [&shell[1..], &[script.as_str()][..], arguments].concat();
        let own = [
            ("TMPDIR", self.path("temporary")),
            ("CASSAY_FROM", String::new()),
        ];
        process::output_with(shell[0], &words, &own)
    }

    /// Returns every path below `to` with its permissions and its text. The text of a folder is
    /// `/`.
    fn below(&self, to: &str) -> BTreeMap<String, (u32, String)> {
        fn walk(folder: &Path, root: &Path, found: &mut BTreeMap<String, (u32, String)>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let mode = path.metadata().unwrap().permissions().mode() & 0o777;
                let name = path.strip_prefix(root).unwrap().display().to_string();
                if path.is_dir() {
                    found.insert(format!("{name}/"), (mode, String::new()));
                    walk(&path, root, found);
                } else {
                    found.insert(name, (mode, std::fs::read_to_string(&path).unwrap()));
                }
            }
        }
        let mut found = BTreeMap::new();
        let root = self.root.join(to);
        if root.exists() {
            walk(&root, &root, &mut found);
        }
        found
    }

    fn assert_nothing_temporary(&self) {
        assert_eq!(self.below("temporary"), BTreeMap::new());
    }
}

impl Drop for TestFolders {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

fn ours() -> Architecture {
    let all = [Architecture::X86, Architecture::Arm];
    all.into_iter()
        .find(|one| one.is_ours())
        .expect("a processor that has a program")
}

fn shells() -> Vec<&'static [&'static str]> {
    let works = |shell: &&&[&str]| {
        let words = [&shell[1..], &["-c", "exit 0"][..]].concat();
        process::output(shell[0], &words).is_ok()
    };
    SHELLS.iter().filter(works).copied().collect()
}

#[test]
fn an_installation_is_replaced_by_a_newer_one_and_removed_whole() {
    let place = TestFolders::new("install");
    for shell in shells() {
        let to = place.path("to");
        place.release("1.0.0", "share/cassay/old/only.json");
        let said = place.run(shell, &["--to", &to]).unwrap();
        assert!(
            said.contains(&format!("cassay 1.0.0 is {to}/bin/cassay")),
            "{said}"
        );
        assert!(said.contains("is not on your PATH"), "{said}");
        let first = place.below("to");
        assert_eq!(first["bin/cassay"].0, 0o755);
        assert_eq!(
            first["share/doc/cassay/a b.txt"],
            (0o644, "1.0.0".to_owned())
        );
        assert!(first.contains_key("share/cassay/old/only.json"));
        std::fs::write(place.path("to/share/man/man1/other.1"), "of others").unwrap();

        place.release("1.1.0", "share/cassay/new.json");
        place.run(shell, &["--to", &to]).unwrap();
        place.run(shell, &["--to", &to]).unwrap();
        let second = place.below("to");
        assert_eq!(
            process::output(&format!("{to}/bin/cassay"), &[]).unwrap(),
            "cassay 1.1.0\n"
        );
        assert!(second.contains_key("share/cassay/new.json"));
        assert!(
            !second.keys().any(|path| path.contains("old")),
            "{second:?}"
        );
        let listed = &second["share/cassay/installed.txt"].1;
        for path in second.keys().filter(|path| !path.ends_with("other.1")) {
            assert!(
                listed.lines().any(|line| line == path),
                "{path} is not in\n{listed}"
            );
        }

        place.run(shell, &["--uninstall", "--to", &to]).unwrap();
        let left: Vec<String> = place.below("to").into_keys().collect();
        assert_eq!(
            left,
            [
                "share/",
                "share/man/",
                "share/man/man1/",
                "share/man/man1/other.1"
            ]
        );
        std::fs::remove_dir_all(&to).unwrap();
        place.run(shell, &["--to", &to]).unwrap();
        place.run(shell, &["--uninstall", "--to", &to]).unwrap();
        assert!(!Path::new(&to).exists(), "the folder was made by it");
        let again = place.run(shell, &["--uninstall", "--to", &to]).unwrap_err();
        assert!(
            again.to_string().contains("nothing was installed there"),
            "{again}"
        );
        place.assert_nothing_temporary();
    }
}

#[test]
fn an_archive_of_another_digest_changes_nothing() {
    let place = TestFolders::new("digest");
    let to = place.path("to");
    place.release("1.0.0", "share/cassay/a");
    place.run(&["sh"], &["--to", &to]).unwrap();
    let before = place.below("to");
    place.release("1.1.0", "share/cassay/a");
    let name = format!("release/cassay-1.1.0-{}.tar.gz", ours().target());
    let mut bytes = std::fs::read(place.path(&name)).unwrap();
    bytes.push(0);
    std::fs::write(place.path(&name), bytes).unwrap();
    let said = place.run(&["sh"], &["--to", &to]).unwrap_err().to_string();
    assert!(said.contains("nothing was installed"), "{said}");
    std::fs::remove_file(place.path(&name)).unwrap();
    let said = place.run(&["sh"], &["--to", &to]).unwrap_err().to_string();
    assert!(said.contains("the release has no address"), "{said}");
    assert_eq!(place.below("to"), before);
    place.assert_nothing_temporary();
}

#[test]
fn a_list_that_leads_elsewhere_removes_nothing() {
    let place = TestFolders::new("list");
    let to = place.path("to");
    place.release("1.0.0", "share/cassay/a");
    place.run(&["sh"], &["--to", &to]).unwrap();
    std::fs::write(place.path("precious"), "").unwrap();
    for line in ["../precious", "/etc/passwd", "share/../../precious"] {
        std::fs::write(place.path("to/share/cassay/installed.txt"), line).unwrap();
        for arguments in [&["--to", &to][..], &["--to", &to, "--uninstall"]] {
            let said = place.run(&["sh"], arguments).unwrap_err().to_string();
            assert!(said.contains("names what is not below"), "{said}");
        }
    }
    assert!(Path::new(&place.path("precious")).exists());
}

#[test]
fn other_systems_are_told_why_and_what_to_do() {
    let place = TestFolders::new("systems");
    place.release("1.0.0", "share/cassay/a");
    let folder = place.root.join("fake");
    std::fs::create_dir_all(&folder).unwrap();
    let other = [Architecture::X86, Architecture::Arm]
        .into_iter()
        .find(|one| !one.is_ours())
        .expect("another processor")
        .name();
    let cases = [
        ("Darwin", "arm64", "runs on Linux, and this is Darwin"),
        ("Linux", "riscv64", "no program for riscv64"),
        ("Linux", other, "this release has no program for"),
    ];
    for (system, machine, expected) in cases {
        let path = folder.join("uname");
        let text = format!("#!/bin/sh\n[ \"$1\" = -s ] && echo {system} || echo {machine}\n");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let script = place.path(&format!("release/{NAME}"));
        let own = [("PATH", format!("{}:/usr/bin:/bin", folder.display()))];
        let words = [script.as_str(), "--to", &place.path("to")];
        let said = process::output_with("sh", &words, &own).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
        assert!(!place.root.join("to").exists());
    }
}

/// A script that was truncated in the download must not cause an incomplete installation.
#[test]
fn a_script_that_was_cut_off_anywhere_does_nothing() {
    let place = TestFolders::new("cut");
    place.release("1.0.0", "share/cassay/a");
    let script = place.path(&format!("release/{NAME}"));
    let whole = std::fs::read_to_string(&script).unwrap();
    let to = place.path("to");
    let home = [
        ("HOME", place.path("")),
        ("TMPDIR", place.path("temporary")),
    ];
    let ends_of_lines = whole.match_indices('\n').map(|(index, _)| index + 1);
    let last_line = whole.trim_end().rfind('\n').unwrap() + 1;
    let cuts = ends_of_lines.step_by(7).chain(last_line..whole.trim_end().len());
    for cut in cuts.filter(|cut| *cut < whole.trim_end().len()) {
        std::fs::write(&script, &whole[..cut]).unwrap();
        let _ = process::output_with("sh", &[&script, "--to", &to], &home);
        assert!(!Path::new(&to).exists(), "cut after {cut} bytes");
        assert!(!place.root.join(".local").exists(), "cut after {cut} bytes");
    }
}
