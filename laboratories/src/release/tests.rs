//! Tests releases of repositories with four files, without the steps that require cargo.

use super::*;

const MANIFEST: &str =
    "[workspace]\n\n[workspace.package]\nversion = \"0.1.0\"\nedition = \"2024\"\n";
const LOCK: &str = "version = 4\n\n[[package]]\nname = \"cassay\"\nversion = \"0.1.0\"\n";
const CHANGELOG: &str = "# Changelog\n";
const CHANGE: &str = "changes/new/tables.md";

/// A repository with one commit, and a folder for a clone. Both are removed when this value is
/// dropped.
struct Lab {
    root: PathBuf,
    here: Repository,
}

impl Lab {
    fn new(name: &str) -> Lab {
        let root = std::env::temp_dir().join(format!("cassay-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        let folder = root.join("here");
        std::fs::create_dir_all(folder.join("fuzz")).unwrap();
        std::fs::create_dir_all(folder.join("changes/new")).unwrap();
        let lab = Lab {
            here: Repository::in_folder(&folder),
            root,
        };
        lab.git(&["init", "--quiet", "--initial-branch", "main"]);
        for (key, value) in [
            ("user.name", "Somebody"),
            ("user.email", "somebody@example.com"),
            ("commit.gpgsign", "false"),
            ("tag.gpgsign", "false"),
        ] {
            lab.git(&["config", key, value]);
        }
        lab.write("Cargo.toml", MANIFEST);
        lab.write("CHANGELOG.md", CHANGELOG);
        lab.write(CHANGE, "**Tables**\nare new.\n");
        for lock in LOCKS {
            lab.write(lock, LOCK);
        }
        lab.commit();
        lab
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.here.git(arguments).unwrap()
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.here.folder.join(name), text).unwrap();
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "Change something"]);
    }

    /// Returns the state that a refused release must not change: the commit, the refs, the status
    /// and the differences.
    fn state(&self) -> [String; 4] {
        [
            self.git(&["rev-parse", "HEAD"]),
            self.git(&["for-each-ref"]),
            self.git(&["status", "--porcelain"]),
            self.git(&["diff"]),
        ]
    }

    fn refusal(&self, version: &str) -> String {
        let before = self.state();
        let error = ready(&self.here, version.parse().unwrap()).unwrap_err();
        assert_eq!(self.state(), before);
        error.to_string()
    }

    /// Prepares a release in the clone, with the steps that do not require cargo.
    fn prepared(&self, version: Version) -> (Base, Repository, String) {
        let base = ready(&self.here, version).unwrap();
        let clone = self.here.cloned(&base, &self.root.join("clone")).unwrap();
        write_version(&clone, version, "2026-11-26").unwrap();
        let commit = clone.commit(&base, version).unwrap();
        (base, clone, commit)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

#[test]
fn all_obstacles_to_a_release_are_listed_and_nothing_is_touched() {
    let lab = Lab::new("refused");
    lab.git(&["tag", "v0.2.0"]);
    lab.write("Cargo.toml", &MANIFEST.replace("0.1.0", "0.3.0"));
    std::fs::remove_file(lab.here.folder.join(CHANGE)).unwrap();
    lab.commit();
    lab.write("new.rs", "");
    lab.git(&["checkout", "--quiet", "--detach"]);
    let said = lab.refusal("0.1.9");
    for expected in [
        "0.1.9 cannot be released:",
        "uncommitted changes",
        "?? new.rs",
        "no branch",
        "0.1.9 is lower than 0.2.0, which is already released",
        "0.1.9 is lower than 0.3.0, the version in Cargo.toml",
        "changes/ contains no change",
    ] {
        assert!(said.contains(expected), "{said}");
    }
    assert!(lab.refusal("0.2.0").contains("the tag v0.2.0 exists"));
}

#[test]
fn a_release_comes_out_of_its_clone_as_one_commit_with_a_tag() {
    let lab = Lab::new("released");
    let version = "0.1.0".parse().unwrap();
    let before = lab.state();
    let (base, clone, commit) = lab.prepared(version);
    assert_eq!(lab.state(), before, "nothing is touched before it is taken");
    // If the release is started again, it creates the same commit, so that the checks of the commit
    // remain valid.
    assert_eq!(lab.prepared(version).2, commit);
    lab.here.take(&base, &clone, version).unwrap();
    assert_eq!(
        lab.git(&["rev-parse", "main", "v0.1.0^{commit}"]),
        format!("{commit}\n{commit}")
    );
    assert_eq!(lab.git(&["cat-file", "-t", "v0.1.0"]), "tag");
    assert_eq!(
        lab.git(&["log", "-1", "--format=%s, %an, %P"]),
        format!("Release 0.1.0, Somebody, {}", base.commit)
    );
    assert_eq!(lab.git(&["status", "--porcelain"]), "");
    let text = std::fs::read_to_string(lab.here.folder.join("CHANGELOG.md")).unwrap();
    assert_eq!(
        text,
        "# Changelog\n\n## 0.1.0, 2026-11-26\n\n### New\n\n- **Tables** are new.\n"
    );
    // The next release must have at least one new change.
    assert!(lab.refusal("0.2.0").contains("changes/ contains no change"));
    std::fs::create_dir_all(lab.here.folder.join("changes/new")).unwrap();
    lab.write(CHANGE, "**More.**\n");
    lab.commit();
    let version = "0.2.0".parse().unwrap();
    let (base, clone, _) = lab.prepared(version);
    lab.here.take(&base, &clone, version).unwrap();
    for (name, part) in [
        ("Cargo.toml", "[workspace.package]\n"),
        (LOCKS[1], "name = \"cassay\"\n"),
    ] {
        let text = lab.git(&["show", &format!("v0.2.0:{name}")]);
        assert!(
            text.contains(&format!("{part}version = \"0.2.0\"")),
            "{name}: {text}"
        );
    }
}

#[test]
fn a_tree_that_moved_on_meanwhile_stays_as_it_is() {
    let lab = Lab::new("moved");
    let version = "0.1.0".parse().unwrap();
    let (base, clone, _) = lab.prepared(version);
    lab.write(CHANGE, "**Newer.**\n");
    let refused = |what: &str| {
        let before = lab.state();
        let error = lab.here.take(&base, &clone, version).unwrap_err().to_string();
        assert!(
            error.contains("tree changed during the release"),
            "{what}: {error}"
        );
        assert_eq!(lab.state(), before, "{what}");
    };
    refused("a change");
    lab.commit();
    refused("a commit");
    // When the release is started again, it releases the new state of the repository.
    let (base, clone, _) = lab.prepared(version);
    lab.here.take(&base, &clone, version).unwrap();
    assert!(lab.git(&["show", "v0.1.0:CHANGELOG.md"]).contains("Newer"));
}
