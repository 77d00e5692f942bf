//! The jars of a version as one file, for machines without a network.
//!
//! A tar of `cassay-supply.json`, which lists the files with their sizes and digests, and then the
//! files. Not compressed: jars are, and gzip would take 7 % off. A bundle is data from a stranger:
//! nothing of it is put in place before every digest was compared, of the pinned version with the
//! program's own lock; of another one with the list in the bundle, whose own digest the user must
//! have from whoever wrote it.

use crate::files::{digest_of_reader, hex};
use crate::fill::{fresh, place};
use crate::lock::{HINTS, Lock, check_known, lock_of};
use crate::recipe::Recipe;
use crate::voice::Voice;
use crate::{Fetched, filled};
use anyhow::{Context, Result, anyhow, bail, ensure};
use foreign::FileKind;
use reach::process::is_interrupted;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{File, Permissions};
use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path};
use versions::Release;

/// The first file of a bundle.
const LIST: &str = "cassay-supply.json";

/// The form of that list.
const FORMAT: u32 = 1;

/// Longest list that is read: 100 files are 12 kB.
const LIST_BYTES_MAX: u64 = 1 << 20;

/// Most files of a bundle.
const FILES_MAX: usize = 1000;

/// Most bytes of a file in it.
const FILE_BYTES_MAX: u64 = 1 << 30;

/// How much is read and written at once.
const BUFFER_BYTES: usize = 256 << 10;

/// What a bundle is, as its list says.
#[derive(Debug, Serialize, Deserialize)]
struct List {
    format: u32,
    /// Version of Cassandra.
    cassandra: String,
    files: Vec<Listed>,
}

/// A file of a bundle.
#[derive(Debug, Serialize, Deserialize)]
struct Listed {
    name: String,
    bytes: u64,
    sha256: String,
}

/// A bundle that was written.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// How many files are in it, without the list.
    pub files: usize,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256 in lower-case hexadecimal digits.
    pub sha256: String,
}

/// Writes the jars of `version` as one file, after they were fetched if they are not there. Two
/// bundles of the same jars are the same bytes.
///
/// # Errors
/// The jars cannot be had, the file is there already, or it cannot be written.
pub fn export(cache: &Path, release: &Release, to: &Path, voice: &mut Voice<'_>) -> Result<Bundle> {
    let what = || format!("write {}", to.display());
    if to.exists() {
        bail!(
            "{} is there already, and is kept\nhint: name another file",
            to.display()
        );
    }
    let recipe = Recipe::of(release)?;
    let folder = recipe.folder_in(cache);
    let (lock, _) = filled(&folder, &recipe, None, voice)?;
    let beside = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    // As other files that somebody makes: it is to be carried away.
    let fresh = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(beside.unwrap_or(Path::new(".")))
        .with_context(what)?;
    let mut hashing = Hashing::of(BufWriter::with_capacity(BUFFER_BYTES, fresh));
    write(&mut hashing, &folder, release.version(), &lock).with_context(what)?;
    hashing.flush().with_context(what)?;
    let (writer, sha256, bytes) = hashing.end();
    let fresh = writer.into_inner().map_err(|error| error.into_error()).with_context(what)?;
    fresh.as_file().sync_all().with_context(what)?;
    fresh.persist_noclobber(to).with_context(what)?;
    Ok(Bundle {
        files: lock.len(),
        bytes,
        sha256,
    })
}

fn write(to: &mut dyn Write, folder: &Path, version: &str, lock: &Lock) -> Result<()> {
    let listed = |(name, sha256): (&String, &String)| -> Result<Listed> {
        let path = folder.join(name);
        let meta = path.metadata().with_context(|| format!("look at {}", path.display()))?;
        Ok(Listed {
            name: name.clone(),
            bytes: meta.len(),
            sha256: sha256.clone(),
        })
    };
    let list = List {
        format: FORMAT,
        cassandra: version.to_string(),
        files: lock.iter().map(listed).collect::<Result<_>>()?,
    };
    let text = serde_json::to_vec_pretty(&list)?;
    let mut tar = tar::Builder::new(to);
    append(&mut tar, LIST, text.len() as u64, &mut text.as_slice())?;
    for Listed { name, bytes, .. } in &list.files {
        ensure!(!is_interrupted(), "interrupted");
        let mut from = foreign::open(FileKind::Archive, folder.join(name))?;
        append(&mut tar, name, *bytes, &mut from)?;
    }
    tar.finish()?;
    Ok(())
}

/// Appends a file with neither owner nor date.
fn append(
    tar: &mut tar::Builder<&mut dyn Write>,
    name: &str,
    bytes: u64,
    from: &mut dyn Read,
) -> Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_size(bytes);
    header.set_mode(0o644);
    header.set_mtime(0);
    Ok(tar.append_data(&mut header, name, from)?)
}

/// Takes the jars out of a bundle into `cache`. `sha256`: what the bundle's own digest must be.
///
/// # Errors
/// It is no bundle, or one of its files is not what the lock says: which, what it is, and what it
/// should be. Nothing of it is put in place then.
pub fn import(cache: &Path, from: &Path, sha256: Option<&str>) -> Result<(String, Fetched)> {
    let opened = foreign::open(FileKind::Archive, from)
        .with_context(|| format!("read {}", from.display()))?;
    let hashing = Hashing::of(BufReader::with_capacity(BUFFER_BYTES, opened));
    read(cache, hashing, sha256, &Recipe::of).with_context(|| format!("import {}", from.display()))
}

fn read<R: Read>(
    cache: &Path,
    mut hashing: Hashing<R>,
    sha256: Option<&str>,
    recipe_of: &dyn Fn(&Release) -> Result<Recipe>,
) -> Result<(String, Fetched)> {
    let mut archive = tar::Archive::new(&mut hashing);
    // Raw: a name that is an entry of its own would be held, however long it is.
    let mut entries = archive.entries()?.raw(true);
    let list = match entries.next() {
        Some(Ok(mut entry)) => read_list(&mut entry)?,
        _ => bail!("{}", no_bundle("it is not a tar")),
    };
    let recipe = recipe_of(&listed_release(&list)?)?;
    let lock = trusted(&recipe, &list, sha256.is_some())?;
    let folder = recipe.folder_in(cache);
    let fresh = fresh(&folder)?;
    let jars = fresh.path().join("jars");
    std::fs::create_dir(&jars).with_context(|| format!("make {}", jars.display()))?;
    let mut wanted: BTreeMap<&str, &Listed> =
        list.files.iter().map(|file| (file.name.as_str(), file)).collect();
    for entry in entries {
        ensure!(!is_interrupted(), "interrupted; nothing was changed");
        let mut entry = entry.context("it is cut off or damaged")?;
        let name = plain_name(&entry)?;
        let Some(file) = wanted.remove(name.as_str()) else {
            bail!("{name} is in it, which its list does not have, or for a second time");
        };
        take(&mut entry, file, &jars)?;
    }
    if let Some(name) = wanted.keys().next() {
        bail!("{name} is in its list, but not in it: it is cut off or damaged");
    }
    std::io::copy(&mut hashing, &mut std::io::sink()).context("read it to its end")?;
    let (_, found, _) = hashing.end();
    if let Some(expected) = sha256.filter(|expected| !expected.eq_ignore_ascii_case(&found)) {
        bail!("its SHA-256 is {found}, not {expected}: it is another bundle, or was changed");
    }
    let was_there = recipe.checked(&folder).is_ok();
    if !was_there {
        place(&jars, &folder, &recipe, lock)?;
    }
    Ok((
        list.cassandra,
        Fetched {
            folder,
            files: list.files.len(),
            was_there,
        },
    ))
}

fn no_bundle(why: &str) -> String {
    format!("{why}\nhint: it must be a file that `cassay supply export` wrote, as it was written")
}

/// Reads the list of a bundle: what it says is not believed yet.
fn read_list<R: Read>(entry: &mut tar::Entry<'_, R>) -> Result<List> {
    let name = plain_name(entry)?;
    if name != LIST {
        bail!(
            "{}",
            no_bundle(&format!("it begins with {name:?}, not with {LIST}"))
        );
    }
    if entry.size() > LIST_BYTES_MAX {
        bail!(
            "its list has {} bytes, limit {LIST_BYTES_MAX}",
            entry.size()
        );
    }
    let mut text = String::new();
    entry.read_to_string(&mut text).context("read its list")?;
    let value: serde_json::Value = serde_json::from_str(&text).context("read its list")?;
    if value["format"] != FORMAT {
        bail!(
            "its format is {}, this program reads {FORMAT}\nhint: import it with the version of \
             cassay that wrote it",
            value["format"]
        );
    }
    let list: List = serde_json::from_value(value).context("read its list")?;
    if list.files.len() > FILES_MAX {
        bail!("it lists {} files, limit {FILES_MAX}", list.files.len());
    }
    for file in &list.files {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
        let is_ours = file.name.ends_with(".jar") || file.name == HINTS;
        if !is_ours || !file.name.chars().all(is_plain) {
            bail!("{:?} is in its list, which is no name of a jar", file.name);
        }
        if file.bytes > FILE_BYTES_MAX {
            bail!(
                "{} has {} bytes, limit {FILE_BYTES_MAX}",
                file.name,
                file.bytes
            );
        }
    }
    Ok(list)
}

/// The lock that a bundle's files must fit: the program's own, or, where it has none of the
/// version, the bundle's, if the user has its digest from somebody (`is_vouched`).
fn trusted(recipe: &Recipe, list: &List, is_vouched: bool) -> Result<Lock> {
    let listed: Lock =
        list.files.iter().map(|file| (file.name.clone(), file.sha256.clone())).collect();
    let Some(pinned) = &recipe.pinned else {
        if !is_vouched {
            bail!(
                "Cassandra {} is not pinned by this program, so that its jars are only as good as \
                 the bundle\nhint: --sha256 DIGEST, as `cassay supply export` said it where the \
                 bundle was written",
                list.cassandra
            );
        }
        check_known(&listed, &recipe.release)?;
        return Ok(listed);
    };
    let lock = lock_of(pinned);
    for (name, sha256) in &lock {
        match listed.get(name) {
            Some(found) if found == sha256 => {}
            Some(found) => bail!(
                "{name} is not the file of supply.lock: its SHA-256 is {found}, the lock says \
                 {sha256}\nhint: was the bundle written by another version of cassay?"
            ),
            None => bail!(
                "{name} is not in it\nhint: was the bundle written by another version of cassay?"
            ),
        }
    }
    if let Some(name) = listed.keys().find(|name| !lock.contains_key(*name)) {
        bail!("{name:?} is in it, which supply.lock does not list");
    }
    Ok(lock)
}

/// The release that a bundle says it is.
fn listed_release(list: &List) -> Result<Release> {
    Release::of(&list.cassandra).map_err(|unknown| anyhow!("{unknown}\nhint: {}", unknown.hint))
}

/// The name of a file in a bundle: nothing else is taken, and no path.
fn plain_name<R: Read>(entry: &tar::Entry<'_, R>) -> Result<String> {
    let path = entry.path().context("read a name")?;
    let shown = path.display().to_string();
    if !entry.header().entry_type().is_file() {
        bail!("{shown:?} is no file: links, folders and devices are not taken");
    }
    let mut parts = path.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(name)), None) if name.to_str() == Some(shown.as_str()) => Ok(shown),
        _ => bail!("{shown:?} leads out of the folder: only plain names are taken"),
    }
}

/// Writes a file of a bundle, and compares it with the list.
fn take(from: &mut dyn Read, file: &Listed, folder: &Path) -> Result<()> {
    let path = folder.join(&file.name);
    let what = || format!("write {}", path.display());
    let mut to = File::create_new(&path).with_context(what)?;
    // What is longer than it should be is seen by its size.
    let mut limited = from.take(file.bytes + 1);
    let mut tee = Tee(&mut limited, &mut to);
    let (found, bytes) =
        digest_of_reader(&mut tee).with_context(|| format!("read {}", file.name))?;
    if bytes != file.bytes || found != file.sha256 {
        bail!(
            "{} is not what the list says: {bytes} bytes with the SHA-256 {found}, not {} with {}: \
             the bundle was changed or damaged",
            file.name,
            file.bytes,
            file.sha256
        );
    }
    Ok(())
}

/// What is read from the one is written to the other.
struct Tee<'a>(&'a mut dyn Read, &'a mut File);

impl Read for Tee<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.1.write_all(&buffer[..count])?;
        Ok(count)
    }
}

/// A reader or writer whose bytes are digested as they pass.
struct Hashing<T> {
    inner: T,
    hash: Sha256,
    bytes: u64,
}

impl<T> Hashing<T> {
    fn of(inner: T) -> Hashing<T> {
        Hashing {
            inner,
            hash: Sha256::new(),
            bytes: 0,
        }
    }

    /// What was wrapped, the SHA-256 of all that passed, and how many bytes that were.
    fn end(self) -> (T, String, u64) {
        (self.inner, hex(&self.hash.finalize()), self.bytes)
    }

    fn passed(&mut self, bytes: &[u8]) {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
    }
}

impl<R: Read> Read for Hashing<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.passed(&buffer[..count]);
        Ok(count)
    }
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, buffer: &[u8]) -> std::io::Result<usize> {
        let count = self.inner.write(buffer)?;
        self.passed(&buffer[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests;
