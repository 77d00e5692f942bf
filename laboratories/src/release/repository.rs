//! Git operations on the developer's repository, and on the clone in which a release is made.

use super::version::Version;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use xtask::process;

/// Branch of the clone on which the release is made.
const BRANCH: &str = "release";

/// Git settings that determine the committer and the signature.
const SETTINGS: [&str; 6] = [
    "user.name",
    "user.email",
    "user.signingKey",
    "gpg.format",
    "commit.gpgSign",
    "tag.gpgSign",
];

/// A working copy.
pub struct Repository {
    /// Root folder of the repository.
    pub folder: PathBuf,
}

/// State of the developer's repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// Current commit of the repository.
    pub commit: String,
    /// The current branch, or `HEAD` if no branch is checked out.
    pub branch: String,
    /// Uncommitted changes, with one file per line. The text is empty if the repository has no such
    /// changes.
    pub changes: String,
}

impl Repository {
    /// Returns the working copy whose root is this folder.
    pub fn in_folder(folder: &Path) -> Repository {
        Repository {
            folder: folder.to_owned(),
        }
    }

    /// Runs git in this repository. Returns the output without the last line end.
    ///
    /// # Errors
    /// Git fails.
    pub fn git(&self, arguments: &[&str]) -> Result<String> {
        let folder = self.folder.display().to_string();
        let said = process::output("git", &[&["-C", &folder], arguments].concat())?;
        Ok(said.trim_end().to_owned())
    }

    /// Returns the commit, the branch and the uncommitted changes.
    ///
    /// # Errors
    /// The folder is not a repository, or has no commit.
    pub fn base(&self) -> Result<Base> {
        Ok(Base {
            commit: self.git(&["rev-parse", "HEAD"])?,
            branch: self.git(&["rev-parse", "--abbrev-ref", "HEAD"])?,
            changes: self.git(&["status", "--porcelain"])?,
        })
    }

    /// Returns the versions of all releases that are ancestors of the current commit.
    ///
    /// # Errors
    /// Git fails.
    pub fn released(&self) -> Result<Vec<Version>> {
        let tags = self.git(&["tag", "--merged", "HEAD", "--list", "v*"])?;
        let version = |tag: &str| tag.strip_prefix('v')?.parse().ok();
        Ok(tags.lines().filter_map(version).collect())
    }

    /// Returns true if this tag exists.
    ///
    /// # Errors
    /// Git fails.
    pub fn has_tag(&self, tag: &str) -> Result<bool> {
        Ok(!self.git(&["tag", "--list", tag])?.is_empty())
    }

    /// Returns a clone in a folder, at the commit of `base`. An existing clone is reused, so that
    /// cargo need not build everything again.
    ///
    /// # Errors
    /// Git fails.
    pub fn cloned(&self, base: &Base, folder: &Path) -> Result<Repository> {
        let clone = Repository::in_folder(folder);
        if !folder.join(".git").exists() {
            let (from, to) = (
                self.folder.display().to_string(),
                folder.display().to_string(),
            );
            process::run(
                "git",
                &["clone", "--quiet", "--shared", "--no-checkout", &from, &to],
            )?;
        }
        let checkout = ["checkout", "--quiet", "--force", "--detach", &base.commit];
        let said = || {
            format!(
                "hint: remove {} and run the command again",
                folder.display()
            )
        };
        clone.git(&checkout).with_context(said)?;
        clone.git(&["clean", "--quiet", "-d", "--force"])?;
        // Settings that exist only in the developer's repository are copied, because a clone does
        // not have them.
        for key in SETTINGS {
            if let Ok(value) = self.git(&["config", key]) {
                clone.git(&["config", key, &value])?;
            }
        }
        Ok(clone)
    }

    /// Commits all files of a clone. If an earlier attempt made the same commit, that commit is
    /// reused, so that its checks remain valid.
    ///
    /// # Errors
    /// Git fails.
    pub fn commit(&self, base: &Base, version: Version) -> Result<String> {
        self.git(&["add", "--all"])?;
        let files = self.git(&["write-tree"])?;
        let is_same = |commit: &str| -> Result<bool> {
            let has = self.git(&["show", "--no-patch", "--format=%T %P %s", commit])?;
            Ok(has == format!("{files} {} {}", base.commit, message(version)))
        };
        let earlier = self.git(&["rev-parse", "--verify", "--quiet", BRANCH]);
        match earlier {
            Ok(earlier) if is_same(&earlier)? => {
                self.git(&["checkout", "--quiet", "--force", BRANCH])?;
            }
            _ => {
                self.git(&["checkout", "--quiet", "-B", BRANCH])?;
                self.git(&["commit", "--quiet", "--message", &message(version)])?;
            }
        }
        self.git(&["rev-parse", "HEAD"])
    }

    /// Copies the commit and the tag from the clone, and moves the branch to the commit.
    ///
    /// # Errors
    /// The repository has changed since the release began. In this case, this function does not
    /// change the repository.
    pub fn take(&self, base: &Base, clone: &Repository, version: Version) -> Result<()> {
        let now = self.base()?;
        ensure!(
            now == *base,
            "the tree changed during the release: it was at {} of {}, and is now at {} of {}{}; \
             hint: run the command again",
            base.commit,
            base.branch,
            now.commit,
            now.branch,
            if now.changes.is_empty() {
                ""
            } else {
                " with changes"
            }
        );
        let tag = version.tag();
        let commit = clone.git(&["rev-parse", BRANCH])?;
        let title = format!("cassay {version}");
        clone.git(&[
            "tag",
            "--annotate",
            "--force",
            "--message",
            &title,
            &tag,
            &commit,
        ])?;
        let (from, named) = (
            clone.folder.display().to_string(),
            format!("refs/tags/{tag}"),
        );
        self.git(&[
            "fetch",
            "--quiet",
            "--no-tags",
            &from,
            &format!("{named}:{named}"),
        ])?;
        if let Err(error) = self.git(&["merge", "--quiet", "--ff-only", &commit]) {
            self.git(&["tag", "--delete", &tag])?;
            bail!("{error:#}");
        }
        Ok(())
    }
}

fn message(version: Version) -> String {
    format!("Release {version}")
}
