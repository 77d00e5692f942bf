//! Makes a release. The command writes the version and the date, runs all checks, makes all
//! packages and tags the commit. The developer's tree remains unchanged until all steps have
//! passed, and nothing is published.
//!
//! 1. Reports all obstacles at once.
//! 2. In a clone below cargo's folder, writes the version, the date and the generated files.
//! 3. Commits there, runs the gate, and makes the packages twice.
//! 4. Copies the commit and the tag, and lists the remaining steps for the developer.
//!
//! The clone remains until then. Checks that have passed in it are not repeated for the same
//! commit.

mod changelog;
mod manifests;
mod repository;
mod version;

use crate::dist::{self, Address};
use anyhow::{Context, Result, anyhow, bail, ensure};
use repository::{Base, Repository};
use std::path::{Path, PathBuf};
use version::Version;
use xtask::process::{self, cargo};
use xtask::{changes, tree};

/// Lock files, which contain the version in addition to the manifest.
const LOCKS: [&str; 2] = ["Cargo.lock", "fuzz/Cargo.lock"];

/// File in the clone that is never committed. It contains the commit for which the gate has passed.
const PASSED: &str = "target/gate-passed";

/// Options of `cargo xtask release`.
#[derive(clap::Args)]
pub struct Options {
    /// Version: three numbers
    version: Version,
    /// URL where the files will be published, for the installer and the Homebrew formula
    #[arg(long, value_name = "URL")]
    from: Option<Address>,
    /// Skip the last step: copy no commit and no tag out of the clone
    #[arg(long)]
    rehearse: bool,
}

pub fn run(options: &Options) -> Result<()> {
    let version = options.version;
    let here = Repository::in_folder(&tree::root());
    let base = ready(&here, version).context("the release has not begun")?;
    process::run("scripts/prerequisites", &["rust", "java", "maven"])?;
    dist::check_tools()?;
    let folder = xtask::target().join(format!("release-{version}"));
    let made = make(&here, &base, &folder, options).map_err(|error| {
        anyhow!(
            "{error:#}\nYour tree is unchanged; the unfinished release is in {}.\nhint: run the \
             same command again; it does not repeat a gate that has passed for the same commit",
            folder.display()
        )
    })?;
    if options.rehearse {
        let (commit, packages) = (&made.commit, made.packages.display());
        println!(
            "rehearsal: {commit} has passed, and its packages are in {packages}; nothing else was \
             changed"
        );
        return Ok(());
    }
    here.take(&base, &made.clone, version)
        .context("all checks have passed, and your tree is unchanged")?;
    let packages = xtask::target().join("packages");
    bring(&made.packages, &packages).with_context(|| {
        let (tag, from) = (version.tag(), made.packages.display());
        format!("{tag} is in your repository, but its packages are still in {from}")
    })?;
    std::fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
    say_what_is_left(&base, version, &packages)
}

/// Returns the state of the repository, if a release is possible.
///
/// # Errors
/// The repository has obstacles to a release. The error lists all of them.
fn ready(here: &Repository, version: Version) -> Result<Base> {
    let base = here.base()?;
    let mut reasons = Vec::new();
    if !base.changes.is_empty() {
        let changes = base.changes.replace('\n', "\n      ");
        reasons.push(format!(
            "the tree has uncommitted changes; hint: commit or stash them:\n      {changes}"
        ));
    }
    if base.branch == "HEAD" {
        reasons.push("no branch is checked out; hint: git switch main".to_owned());
    }
    if here.has_tag(&version.tag())? {
        let tag = version.tag();
        reasons.push(format!(
            "the tag {tag} exists: {version} is already released"
        ));
    }
    let last = here.released()?.into_iter().max();
    if let Some(last) = last.filter(|last| version < *last) {
        reasons.push(format!(
            "{version} is lower than {last}, which is already released"
        ));
    }
    let text = |name: &str| read(&here.folder.join(name));
    match manifests::version(&text("Cargo.toml")?) {
        Ok(current) if version < current => {
            reasons.push(format!(
                "{version} is lower than {current}, the version in Cargo.toml"
            ));
        }
        Ok(_) => {}
        Err(reason) => reasons.push(reason),
    }
    match changes::read(&here.folder) {
        Ok(sections) => {
            let text = text("CHANGELOG.md")?;
            reasons.extend(changelog::with_release(&text, &sections, version, "").err());
        }
        Err(error) => reasons.push(error.to_string()),
    }
    if here.git(&["var", "GIT_COMMITTER_IDENT"]).is_err() {
        reasons.push(
            "git has no name for the author of commits; hint: git config user.name …".to_owned(),
        );
    }
    if !reasons.is_empty() {
        bail!("{version} cannot be released:\n  {}", reasons.join("\n  "));
    }
    Ok(base)
}

struct CheckedRelease {
    clone: Repository,
    commit: String,
    packages: PathBuf,
}

fn make(
    here: &Repository,
    base: &Base,
    folder: &Path,
    options: &Options,
) -> Result<CheckedRelease> {
    let version = options.version;
    let clone = here.cloned(base, folder).context("clone the repository")?;
    let date = process::output("date", &["-u", "+%Y-%m-%d"])?;
    write_version(&clone, version, date.trim())?;
    let target = folder.join("target");
    let xtask = |arguments: &[&str]| {
        let arguments = [&["xtask"], arguments].concat();
        let own = [("CARGO_TARGET_DIR", target.display().to_string())];
        process::run_in(&clone.folder, &cargo(), &arguments, &own)
    };
    xtask(&["docs"]).context("write the generated documents")?;
    let commit = clone.commit(base, version).context("commit the release")?;
    let passed = folder.join(PASSED);
    if std::fs::read_to_string(&passed).is_ok_and(|text| text == commit) {
        println!("== the gate has passed for {commit} before");
    } else {
        xtask(&["ci"]).context("the gate")?;
        std::fs::write(&passed, &commit).with_context(|| format!("write {}", passed.display()))?;
    }
    let published = options.from.as_ref().map(ToString::to_string);
    let from: Vec<&str> = published.iter().flat_map(|url| ["--from", url]).collect();
    xtask(&[&["dist", "--check-reproducible"], &from[..]].concat()).context("make the packages")?;
    let after = clone.base()?;
    ensure!(
        after.commit == commit && after.changes.is_empty(),
        "the checks have changed files of the release:\n{}",
        after.changes
    );
    Ok(CheckedRelease {
        clone,
        commit,
        packages: target.join("packages"),
    })
}

fn write_version(clone: &Repository, version: Version, date: &str) -> Result<()> {
    let change = |name: &str, changed: &dyn Fn(&str) -> Result<String, String>| -> Result<()> {
        let path = clone.folder.join(name);
        let text = changed(&read(&path)?).map_err(anyhow::Error::msg)?;
        std::fs::write(&path, text).with_context(|| format!("write {}", path.display()))
    };
    let names = manifests::own_names(&read(&clone.folder.join(LOCKS[0]))?);
    change("Cargo.toml", &|text| manifests::with_version(text, version))?;
    for lock in LOCKS {
        change(lock, &|text| {
            Ok(manifests::with_locked(text, &names, version))
        })?;
    }
    let sections = changes::read(&clone.folder)?;
    change("CHANGELOG.md", &|text| {
        changelog::with_release(text, &sections, version, date)
    })?;
    changes::delete(&clone.folder)
}

/// Moves the packages to the folder of `dist`. Replaces older packages.
fn bring(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        std::fs::remove_dir_all(to).with_context(|| format!("clear {}", to.display()))?;
    }
    // Both folders are below cargo's folder, so a rename is sufficient.
    std::fs::rename(from, to).with_context(|| format!("move {}", from.display()))
}

fn say_what_is_left(base: &Base, version: Version, packages: &Path) -> Result<()> {
    let (branch, tag) = (&base.branch, version.tag());
    println!("\ncassay {version} is on {branch}, tagged {tag}; nothing was sent. Its files:");
    for entry in std::fs::read_dir(packages).context("list the packages")? {
        println!("  {}", entry.context("list the packages")?.path().display());
    }
    println!(
        "docs/releasing.md describes the remaining steps: check the files, then run\n  \
         git push --atomic origin {branch} {tag}\n\
         and publish the files. To undo the release before the push:\n  \
         git tag --delete {tag} && git reset --keep {}",
        base.commit
    );
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
}

#[cfg(test)]
mod tests;
