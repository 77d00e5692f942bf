//! Packs the jars of a version into one file, for machines without a network.
//!
//! The file is an uncompressed tar archive, because gzip would save only 7 % of the jars' size. It
//! begins with `cassay-supply.json`, which lists the files with their sizes and digests. A bundle
//! is untrusted, so cassay compares all digests before it puts a file into the cache. For the
//! pinned version, the digests come from the program's own lock. For other versions, they come from
//! the bundle's list, and the user must have received the digest of the bundle from its author.

use crate::files::digest_of_reader;
use crate::fill::{fresh, place};
use crate::lock::{HINTS, Lock, check_known, lock_of};
use crate::progress::Voice;
use crate::version_files::Recipe;
use crate::{FetchedJars, filled};
use anyhow::{Context, Result, anyhow, bail, ensure};
use data_encoding::HEXLOWER;
use foreign::FileKind;
use remote::process::is_interrupted;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{File, Permissions};
use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path};
use versions::Release;

/// First file of a bundle.
const LIST: &str = "cassay-supply.json";

const FORMAT: u32 = 1;

/// Maximum length of the list in bytes. A list of 100 files has 12 kB.
const LIST_BYTES_MAX: u64 = 1 << 20;

const FILES_MAX: usize = 1000;

const FILE_BYTES_MAX: u64 = 1 << 30;

const BUFFER_BYTES: usize = 256 << 10;

#[derive(Debug, Serialize, Deserialize)]
struct List {
    format: u32,
    /// Version of Cassandra.
    cassandra: String,
    files: Vec<BundleFile>,
}

#[derive(Debug, Serialize, Deserialize)]
struct BundleFile {
    name: String,
    bytes: u64,
    sha256: String,
}

#[derive(Clone, Debug)]
pub struct Bundle {
    /// Number of files, without the list.
    pub files: usize,
    pub bytes: u64,
    /// SHA-256 of the bundle in lower-case hexadecimal digits.
    pub sha256: String,
}

/// Writes the jars of `release` into the file `to`, and fetches missing jars first. Two bundles
/// with the same jars are identical.
///
/// # Errors
/// The jars are not available, or the file already exists or cannot be written.
pub fn export(cache: &Path, release: &Release, to: &Path, voice: &mut Voice<'_>) -> Result<Bundle> {
    let what = || format!("write {}", to.display());
    if to.exists() {
        bail!(
            "{} already exists, and cassay does not overwrite it\nhint: name another file",
            to.display()
        );
    }
    let recipe = Recipe::read(release)?;
    let folder = recipe.folder_in(cache);
    let (lock, _) = filled(&folder, &recipe, None, voice)?;
    let beside = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    // The user will copy the bundle to other machines, so it gets the permissions of an ordinary
    // file.
    let fresh = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(beside.unwrap_or(Path::new(".")))
        .with_context(what)?;
    let mut hashing = Hashing::new(BufWriter::with_capacity(BUFFER_BYTES, fresh));
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
    let listed = |(name, sha256): (&String, &String)| -> Result<BundleFile> {
        let path = folder.join(name);
        let meta = path.metadata().with_context(|| format!("look at {}", path.display()))?;
        Ok(BundleFile {
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
    for BundleFile { name, bytes, .. } in &list.files {
        ensure!(!is_interrupted(), "interrupted");
        let mut from = foreign::open(FileKind::Archive, folder.join(name))?;
        append(&mut tar, name, *bytes, &mut from)?;
    }
    tar.finish()?;
    Ok(())
}

/// Appends a file without its owner and date to the archive, so that equal bundles are identical.
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

/// Extracts the jars of a bundle into `cache`. `sha256` is the expected digest of the bundle.
///
/// # Errors
/// The file is not a bundle, or one of its files does not match the lock. The error contains the
/// file and both digests. The cache remains unchanged.
pub fn import(cache: &Path, from: &Path, sha256: Option<&str>) -> Result<(String, FetchedJars)> {
    let opened = foreign::open(FileKind::Archive, from)
        .with_context(|| format!("read {}", from.display()))?;
    let hashing = Hashing::new(BufReader::with_capacity(BUFFER_BYTES, opened));
    read(cache, hashing, sha256, &Recipe::read)
        .with_context(|| format!("import {}", from.display()))
}

fn read<R: Read>(
    cache: &Path,
    mut hashing: Hashing<R>,
    sha256: Option<&str>,
    recipe_of: &dyn Fn(&Release) -> Result<Recipe>,
) -> Result<(String, FetchedJars)> {
    let mut archive = tar::Archive::new(&mut hashing);
    // The library reads a long name, which has a separate entry, into memory regardless of its
    // length. Raw entries avoid this.
    let mut entries = archive.entries()?.raw(true);
    let list = match entries.next() {
        Some(Ok(mut entry)) => read_list(&mut entry)?,
        _ => bail!("{}", no_bundle("the bundle is not a tar file")),
    };
    let recipe = recipe_of(&listed_release(&list)?)?;
    let lock = trusted(&recipe, &list, sha256.is_some())?;
    let folder = recipe.folder_in(cache);
    let fresh = fresh(&folder)?;
    let jars = fresh.path().join("jars");
    std::fs::create_dir(&jars).with_context(|| format!("make {}", jars.display()))?;
    let mut wanted: BTreeMap<&str, &BundleFile> =
        list.files.iter().map(|file| (file.name.as_str(), file)).collect();
    for entry in entries {
        ensure!(!is_interrupted(), "interrupted; cassay changed nothing");
        let mut entry = entry.context("the bundle is truncated or damaged")?;
        let name = plain_name(&entry)?;
        let Some(file) = wanted.remove(name.as_str()) else {
            bail!(
                "the bundle contains {name}, which is not in its list, or contains this file twice"
            );
        };
        take(&mut entry, file, &jars)?;
    }
    if let Some(name) = wanted.keys().next() {
        bail!(
            "the list of the bundle contains {name}, but the bundle does not: it is truncated or \
             damaged"
        );
    }
    std::io::copy(&mut hashing, &mut std::io::sink()).context("read the bundle to its end")?;
    let (_, found, _) = hashing.end();
    if let Some(expected) = sha256.filter(|expected| !expected.eq_ignore_ascii_case(&found)) {
        bail!(
            "the SHA-256 of the bundle is {found}, not {expected}: this is another bundle, or the \
             bundle was changed"
        );
    }
    let was_there = recipe.checked(&folder).is_ok();
    if !was_there {
        place(&jars, &folder, &recipe, lock)?;
    }
    Ok((
        list.cassandra,
        FetchedJars {
            folder,
            files: list.files.len(),
            was_there,
        },
    ))
}

fn no_bundle(why: &str) -> String {
    format!("{why}\nhint: use an unchanged file from `cassay supply export`")
}

/// Reads the list of a bundle, which is still untrusted.
fn read_list<R: Read>(entry: &mut tar::Entry<'_, R>) -> Result<List> {
    let name = plain_name(entry)?;
    if name != LIST {
        bail!(
            "{}",
            no_bundle(&format!("the bundle begins with {name:?}, not with {LIST}"))
        );
    }
    if entry.size() > LIST_BYTES_MAX {
        bail!(
            "the list of the bundle has {} bytes, but the limit is {LIST_BYTES_MAX} bytes",
            entry.size()
        );
    }
    let mut text = String::new();
    entry.read_to_string(&mut text).context("read the list of the bundle")?;
    let value: serde_json::Value =
        serde_json::from_str(&text).context("read the list of the bundle")?;
    if value["format"] != FORMAT {
        bail!(
            "the format of the bundle is {}, but this program reads {FORMAT}\nhint: import the \
             bundle with the version of cassay that wrote it",
            value["format"]
        );
    }
    let list: List = serde_json::from_value(value).context("read the list of the bundle")?;
    if list.files.len() > FILES_MAX {
        bail!(
            "the bundle lists {} files, but the limit is {FILES_MAX} files",
            list.files.len()
        );
    }
    for file in &list.files {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
        let is_ours = file.name.ends_with(".jar") || file.name == HINTS;
        if !is_ours || !file.name.chars().all(is_plain) {
            bail!(
                "the list of the bundle contains {:?}, which is not the name of a jar",
                file.name
            );
        }
        if file.bytes > FILE_BYTES_MAX {
            bail!(
                "{} has {} bytes, but the limit is {FILE_BYTES_MAX} bytes",
                file.name,
                file.bytes
            );
        }
    }
    Ok(list)
}

/// Returns the lock that the files of a bundle must match: the program's lock for the version, or
/// else the bundle's list. The list is accepted only if the user has the digest of the bundle from
/// its author (`is_vouched`).
fn trusted(recipe: &Recipe, list: &List, is_vouched: bool) -> Result<Lock> {
    let listed: Lock =
        list.files.iter().map(|file| (file.name.clone(), file.sha256.clone())).collect();
    let Some(pinned) = &recipe.pinned else {
        if !is_vouched {
            bail!(
                "this program pins no digests of Cassandra {}, so only the bundle's own digest \
                 protects its jars\nhint: use --sha256 DIGEST, as `cassay supply export` printed \
                 it",
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
                "{name} does not match supply.lock: its SHA-256 is {found}, but supply.lock lists \
                 {sha256}\nhint: check whether another version of cassay wrote the bundle"
            ),
            None => bail!(
                "the bundle does not contain {name}\nhint: check whether another version of cassay \
                 wrote the bundle"
            ),
        }
    }
    if let Some(name) = listed.keys().find(|name| !lock.contains_key(*name)) {
        bail!("the bundle contains {name:?}, which supply.lock does not list");
    }
    Ok(lock)
}

fn listed_release(list: &List) -> Result<Release> {
    Release::parse(&list.cassandra).map_err(|unknown| anyhow!("{unknown}\nhint: {}", unknown.hint))
}

/// Returns the name of a file in a bundle. Refuses paths, and entries that are not files.
fn plain_name<R: Read>(entry: &tar::Entry<'_, R>) -> Result<String> {
    let path = entry.path().context("read a name")?;
    let shown = path.display().to_string();
    if !entry.header().entry_type().is_file() {
        bail!("{shown:?} is not a file: cassay imports no links, folders or devices");
    }
    let mut parts = path.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(name)), None) if name.to_str() == Some(shown.as_str()) => Ok(shown),
        _ => bail!("{shown:?} leads out of the folder: cassay accepts only plain names"),
    }
}

/// Writes a file of a bundle, and compares its size and digest with the list.
fn take(from: &mut dyn Read, file: &BundleFile, folder: &Path) -> Result<()> {
    let path = folder.join(&file.name);
    let what = || format!("write {}", path.display());
    let mut to = File::create_new(&path).with_context(what)?;
    // One byte more than the file's size reveals a file that is too long.
    let mut limited = from.take(file.bytes + 1);
    let mut tee = Tee(&mut limited, &mut to);
    let (found, bytes) =
        digest_of_reader(&mut tee).with_context(|| format!("read {}", file.name))?;
    if bytes != file.bytes || found != file.sha256 {
        bail!(
            "{} differs from the list: {bytes} bytes with the SHA-256 {found}, not {} with {}: the \
             bundle is changed or damaged",
            file.name,
            file.bytes,
            file.sha256
        );
    }
    Ok(())
}

/// Reader that also writes all data to a file.
struct Tee<'a>(&'a mut dyn Read, &'a mut File);

impl Read for Tee<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.read(buffer)?;
        self.1.write_all(&buffer[..count])?;
        Ok(count)
    }
}

/// Reader or writer that hashes all bytes.
struct Hashing<T> {
    inner: T,
    hash: Sha256,
    bytes: u64,
}

impl<T> Hashing<T> {
    fn new(inner: T) -> Hashing<T> {
        Hashing {
            inner,
            hash: Sha256::new(),
            bytes: 0,
        }
    }

    /// Returns the wrapped value, the SHA-256 of all bytes, and their number.
    fn end(self) -> (T, String, u64) {
        (
            self.inner,
            HEXLOWER.encode(&self.hash.finalize()),
            self.bytes,
        )
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
