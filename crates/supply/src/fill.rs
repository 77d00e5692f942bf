//! Fills a folder of the cache from the nearest source of the missing files.
//!
//! For the pinned version, the sources are an interrupted fetch, Maven's cache, and the repository
//! over HTTPS. If the repository refuses and Maven is installed, the last source is Maven, which
//! has its own settings for passwords and proxies. For other versions, the source is Maven, because
//! only Maven can determine their jars. The folder of a pinned version gets its final name only
//! after the digest of every file matches the lock. For other versions, the digests of the fetched
//! files become the lock.

use crate::fetch::fetch;
use crate::files::{digest_of, name_of};
use crate::lock::{HINTS, Lock, PinnedFile, check, check_known};
use crate::maven;
use crate::progress::{Message, Progress, Voice};
use crate::repository::{chosen, named_by_environment};
use crate::settings::Settings;
use crate::version_files::Recipe;
use anyhow::{Context, Result, bail};
use foreign::FileKind;
use measure::number;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;
use versions::{Release, member_of_jar};

/// Folder of the compiler's hints in Cassandra's jar.
const HINTS_FOLDER: &str = "META-INF";

/// Prefix of a folder that a process is filling with Maven, which takes minutes.
const FILLING: &str = "filling-";

/// Prefix of a folder that a fetch is filling. A later fetch can continue it.
const FETCHING: &str = "fetching-";

/// Time without changes after which a folder with this prefix counts as abandoned.
const ABANDONED_AFTER: [(&str, Duration); 2] = [
    (FILLING, Duration::from_secs(3600)),
    (FETCHING, Duration::from_secs(30 * 86400)),
];

/// Subfolder of a folder that is being filled. It becomes the final folder.
const JARS: &str = "jars";

/// Fills the folder of a recipe, and returns the lock that its files match.
pub(crate) fn fill(
    folder: &Path,
    recipe: &Recipe,
    repository: Option<&str>,
    voice: &mut Voice<'_>,
) -> Result<Lock> {
    let named = repository.map(str::to_owned).or_else(named_by_environment);
    with(folder, recipe, named.as_deref(), &Settings::here(), voice)
}

fn with(
    folder: &Path,
    recipe: &Recipe,
    repository: Option<&str>,
    settings: &Settings,
    voice: &mut Voice<'_>,
) -> Result<Lock> {
    let cache = folder.parent().context("the cache folder has no parent")?;
    std::fs::create_dir_all(cache)
        .with_context(|| format!("create the cache folder {}", cache.display()))?;
    remove_abandoned(cache);
    let Some(pinned) = &recipe.pinned else {
        return fill_with_maven(folder, recipe, voice);
    };
    for note in &settings.notes {
        voice(Message::Line(&format!("note: {note}")));
    }
    let work = cache.join(format!("{FETCHING}{}", recipe.short()));
    let jars = work.join(JARS);
    std::fs::create_dir_all(&jars).with_context(|| format!("make {}", jars.display()))?;
    let _alone = alone(&work, voice)?;
    // Another process may have filled the folder meanwhile.
    if let Ok(lock) = recipe.checked(folder) {
        let _ = std::fs::remove_dir_all(&work);
        return Ok(lock);
    }
    let here = nearby(pinned, &jars, settings, voice)?;
    let by = match from_repository(recipe, here, &jars, repository, settings, voice) {
        Ok(by) => by,
        Err(failure)
            if failure.is_of_the_way
                && repository.is_none()
                && !recipe.pom.is_empty()
                && maven::is_installed() =>
        {
            voice(Message::Line(&format!("note: {:#}", failure.error)));
            let lock = fill_with_maven(folder, recipe, voice)?;
            let _ = std::fs::remove_dir_all(&work);
            return Ok(lock);
        }
        Err(failure) => return Err(failure.error),
    };
    unpack(pinned, &jars)?;
    voice(Message::Line(&format!(
        "cassay compares {} files with supply.lock",
        pinned.len()
    )));
    let lock = crate::lock::lock_of(pinned);
    check(&jars, &lock, &by)?;
    place(&jars, folder, recipe, lock).inspect(|_| {
        // The remaining folder contains only the lock file.
        let _ = std::fs::remove_dir_all(&work);
    })
}

/// Missing files, and the progress of the existing ones.
struct Nearby {
    missing: Vec<PinnedFile>,
    progress: Progress,
}

/// Finds the files of an earlier fetch, and copies files from Maven's cache.
fn nearby(
    pinned: &[PinnedFile],
    jars: &Path,
    settings: &Settings,
    voice: &mut Voice<'_>,
) -> Result<Nearby> {
    let maven = settings.local_folder();
    let is_right = |path: &Path, file: &PinnedFile| {
        let is_as_large = path.metadata().is_ok_and(|meta| meta.len() == file.bytes);
        is_as_large && digest_of(path).is_ok_and(|digest| digest == file.sha256)
    };
    let mut copied = 0;
    let mut missing = Vec::new();
    let mut progress = Progress::default();
    for file in pinned.iter().filter(|file| file.member.is_none()) {
        let own = jars.join(&file.name);
        let is_here = is_right(&own, file);
        let theirs = maven
            .as_ref()
            .map(|maven| maven.join(&file.path))
            .filter(|path| !is_here && is_right(path, file));
        if let Some(theirs) = &theirs {
            let mut from = foreign::open(FileKind::Archive, theirs)
                .with_context(|| format!("read {}", theirs.display()))?;
            File::create(&own)
                .and_then(|mut own| std::io::copy(&mut from, &mut own))
                .with_context(|| format!("write {}", own.display()))?;
            copied += 1;
        }
        if is_here || theirs.is_some() {
            progress.files += 1;
            progress.bytes += file.bytes;
        } else {
            missing.push(file.clone());
        }
        progress.files_wanted += 1;
        progress.bytes_wanted += file.bytes;
    }
    if let Some(maven) = maven.filter(|_| copied > 0) {
        voice(Message::Line(&format!(
            "cassay copied {copied} of {} jars from Maven's cache, {}",
            progress.files_wanted,
            maven.display()
        )));
    }
    Ok(Nearby { missing, progress })
}

/// Error of a failed fetch from a repository.
struct NotBrought {
    error: anyhow::Error,
    /// True if the repository or the connection caused the error, so that cassay may try Maven.
    is_of_the_way: bool,
}

impl From<anyhow::Error> for NotBrought {
    fn from(error: anyhow::Error) -> NotBrought {
        NotBrought {
            error,
            is_of_the_way: false,
        }
    }
}

/// Fetches the missing files over HTTPS. Returns a description of all sources, for messages.
fn from_repository(
    recipe: &Recipe,
    here: Nearby,
    jars: &Path,
    repository: Option<&str>,
    settings: &Settings,
    voice: &mut Voice<'_>,
) -> Result<String, NotBrought> {
    if here.missing.is_empty() {
        return Ok("Maven's cache".to_string());
    }
    let repository = chosen(repository, settings.mirror.as_deref())?;
    let bytes: u64 = here.missing.iter().map(|file| file.bytes).sum();
    voice(Message::Line(&format!(
        "cassay downloads {} of {} ({}) from {}, once",
        number::counted(here.missing.len(), "jar"),
        recipe.product,
        number::bytes(bytes),
        repository.address()
    )));
    match fetch(&repository, here.missing, jars, here.progress, voice) {
        Ok(()) => Ok(repository.address().to_string()),
        Err(failure) => Err(NotBrought {
            is_of_the_way: failure.is_of_the_way(),
            error: failure.into(),
        }),
    }
}

/// Extracts the files that are members of jars.
fn unpack(pinned: &[PinnedFile], jars: &Path) -> Result<()> {
    for file in pinned {
        let Some(member) = &file.member else { continue };
        let jar = jars.join(file.path.rsplit('/').next().unwrap_or_default());
        let what = || format!("extract {member} from {}", jar.display());
        let bytes = foreign::read(FileKind::Jar, &jar).with_context(what)?;
        let text = member_of_jar(&bytes, member, file.bytes)
            .map_err(anyhow::Error::from)
            .and_then(|found| found.context("the archive does not contain the file"))
            .with_context(what)?;
        std::fs::write(jars.join(&file.name), text).with_context(what)?;
    }
    Ok(())
}

/// Locks this folder against other processes, and waits for an existing lock. Closing the returned
/// file releases the lock.
fn alone(work: &Path, voice: &mut Voice<'_>) -> Result<File> {
    let path = work.join("lock");
    let what = || format!("lock {}", path.display());
    let file = File::create(&path).with_context(what)?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => {
            voice(Message::Line(
                "another cassay process is downloading the same files: this process waits until \
                 the download has ended",
            ));
        }
        Err(TryLockError::Error(error)) => return Err(error).with_context(what),
    }
    file.lock().with_context(what)?;
    // The previous owner of the lock may have removed the folder.
    std::fs::create_dir_all(work.join(JARS)).with_context(what)?;
    Ok(file)
}

/// Fills a new folder with Maven, checks the result, and renames the folder to its final name.
fn fill_with_maven(folder: &Path, recipe: &Recipe, voice: &mut Voice<'_>) -> Result<Lock> {
    let fresh = fresh(folder)?;
    let jars = fresh.path().join(JARS);
    std::fs::create_dir(&jars).with_context(|| format!("make {}", jars.display()))?;
    std::fs::write(fresh.path().join("pom.xml"), &recipe.pom).context("write the pom for Maven")?;
    let is_pinned = recipe.pinned.is_some();
    maven::run(fresh.path(), &jars, &recipe.release, is_pinned, voice)?;
    let unpacked = jars.join(HINTS_FOLDER);
    std::fs::rename(unpacked.join(HINTS), jars.join(HINTS))
        .and_then(|()| std::fs::remove_dir_all(&unpacked))
        .context("find the compiler hints in the server's jar")?;
    let lock = match &recipe.pinned {
        Some(pinned) => {
            let lock = crate::lock::lock_of(pinned);
            voice(Message::Line(&format!(
                "cassay compares {} files with supply.lock",
                lock.len()
            )));
            check(&jars, &lock, "Maven")?;
            lock
        }
        None => digests(&jars, &recipe.release)?,
    };
    place(&jars, folder, recipe, lock)
}

/// Creates a temporary folder next to its destination. It is removed unless it gets its final name.
pub(crate) fn fresh(folder: &Path) -> Result<tempfile::TempDir> {
    let cache = folder.parent().context("the cache folder has no parent")?;
    std::fs::create_dir_all(cache)
        .with_context(|| format!("create the cache folder {}", cache.display()))?;
    tempfile::Builder::new()
        .prefix(FILLING)
        .tempdir_in(cache)
        .with_context(|| format!("create a folder in {}", cache.display()))
}

/// Returns the digests of the jars that Maven fetched for a version without a lock.
fn digests(jars: &Path, release: &Release) -> Result<Lock> {
    let mut lock = Lock::new();
    let entries = std::fs::read_dir(jars).with_context(|| format!("read {}", jars.display()))?;
    for entry in entries {
        let path = entry.context("read the folder of jars")?.path();
        let digest = digest_of(&path).with_context(|| format!("read {}", path.display()))?;
        if let Some(name) = name_of(&path) {
            lock.insert(name.to_string(), digest);
        }
    }
    check_known(&lock, release)?;
    Ok(lock)
}

/// Renames a folder to its final name, and replaces an incomplete folder. The caller must have
/// compared the files with `lock`.
pub(crate) fn place(jars: &Path, folder: &Path, recipe: &Recipe, lock: Lock) -> Result<Lock> {
    recipe.seal(jars, &lock)?;
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("remove the incomplete {}", folder.display()))?;
    }
    match std::fs::rename(jars, folder) {
        Ok(()) => Ok(lock),
        // Another cassay process may have renamed its own folder first.
        Err(error) => recipe
            .checked(folder)
            .map_err(|_| error)
            .with_context(|| format!("rename {} to its final name", folder.display())),
    }
}

/// Removes the folders of killed processes, each of up to 70 MB.
fn remove_abandoned(cache: &Path) {
    let is_abandoned = |path: &Path| -> Option<bool> {
        let age = path.metadata().ok()?.modified().ok()?.elapsed().ok()?;
        let name = name_of(path)?;
        Some(
            ABANDONED_AFTER
                .iter()
                .any(|(begin, limit)| name.starts_with(begin) && age > *limit),
        )
    };
    for path in folders(cache).into_iter().filter(|path| is_abandoned(path) == Some(true)) {
        // If a folder cannot be removed, a later process tries again.
        let _ = std::fs::remove_dir_all(&path);
    }
}

/// Returns the sorted paths in a folder. Empty for a missing folder.
pub(crate) fn folders(cache: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(cache).into_iter().flatten();
    let mut all: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    all.sort();
    all
}

/// Returns the number of bytes that an interrupted fetch of a recipe has left.
pub(crate) fn left_over(cache: &Path, recipe: &Recipe) -> u64 {
    let jars = cache.join(format!("{FETCHING}{}", recipe.short())).join(JARS);
    let sizes = folders(&jars).into_iter().filter_map(|path| Some(path.metadata().ok()?.len()));
    sizes.sum()
}

/// Checks that a source exists for the files of a recipe. Fails only for a version that is not
/// pinned, without Maven.
pub(crate) fn could_be_filled(recipe: &Recipe) -> Result<()> {
    if recipe.pinned.is_none() && !maven::is_installed() {
        bail!(maven::missing(&recipe.release));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
