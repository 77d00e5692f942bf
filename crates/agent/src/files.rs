//! Reads and changes files. All paths go through the checks of [`crate::folders`].

use crate::folders::{Inside, check_below, enter, open, parent};
use crate::host_state::AgentState;
use anyhow::{Context, Result, ensure};
use host::files::{
    Bytes, Change, DeviceBytes, Entry, EvictTree, FileId, FileStep, From, Get, List, PIECE_BYTES,
    Page, PartialChecksum, Piece, SUM_BYTES, Space, Sum, Sums,
};
use linux::volume::{self, VolumeUse};
use remote::Serve;
use rustix::fd::{AsRawFd, OwnedFd};
use rustix::fs::{
    Advice, AtFlags, Dir, FileType, Mode, OFlags, Stat, fadvise, fstat, fstatvfs, linkat, major,
    minor, renameat, statat, syncfs, unlinkat,
};
use rustix::io::Errno;
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::num::NonZeroU64;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Size of a folder entry in a message without its name, in bytes.
const ENTRY_BYTES: usize = 160;

/// Maximum size of a file whose content is returned with its entry, in bytes.
const TEXT_BYTES_MAX: usize = 64;

const READ_BYTES: usize = 1 << 20;
/// Alignment of direct reads in memory and in the file, sufficient for all devices.
const ALIGNMENT: usize = 4096;

/// Flags for reading. `NONBLOCK` prevents that opening a FIFO blocks.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK);

impl Serve<AgentState> for Change {
    fn serve(self, here: &AgentState) -> Result<()> {
        self.0.into_iter().try_for_each(|step| here.change(step))
    }
}

impl AgentState {
    /// Performs one change of files. Fails if the step leads out of the host's folders.
    pub(crate) fn change(&self, step: FileStep) -> Result<()> {
        match step {
            FileStep::Folder(path) => {
                let made = self.files.admit_to_write(&path)?.folder(true).map(drop);
                made.with_context(|| format!("make {}", path.display()))
            }
            FileStep::Write {
                path,
                bytes,
                is_private,
            } => {
                let mode = if is_private { 0o600 } else { 0o666 };
                let anew = OFlags::CREATE | OFlags::TRUNC;
                write(self.files.admit_to_write(&path)?, anew, mode, &bytes)
                    .with_context(|| format!("write {}", path.display()))
            }
            FileStep::Append { path, bytes } => {
                write(self.files.admit_to_write(&path)?, OFlags::APPEND, 0, &bytes)
                    .with_context(|| format!("write {}", path.display()))
            }
            FileStep::Link { from, to, names } => {
                let (source, target) = (
                    self.files.admit_to_write(&from)?,
                    self.files.admit_to_write(&to)?,
                );
                let source =
                    source.folder(false).with_context(|| format!("open {}", from.display()))?;
                let target =
                    target.folder(true).with_context(|| format!("make {}", to.display()))?;
                for name in &names {
                    link(&source, &target, check_below(name)?).with_context(|| {
                        let (from, to) = (from.join(name), to.join(name));
                        format!("link {} to {}", from.display(), to.display())
                    })?;
                }
                Ok(())
            }
            FileStep::LinkTree { from, to } => self
                .link_tree(&from, &to)
                .with_context(|| format!("link {} to {}", from.display(), to.display())),
            FileStep::Rename { from, to } => {
                let (source, target) = (
                    self.files.admit_to_write(&from)?,
                    self.files.admit_to_write(&to)?,
                );
                let rename = || {
                    let (source, old) = source.parent(false)?;
                    let (target, new) = target.parent(false)?;
                    renameat(source, old, target, new)
                };
                rename().with_context(|| format!("rename {} to {}", from.display(), to.display()))
            }
            FileStep::Clear { folder, but } => clear(self.files.admit_to_write(&folder)?, &but)
                .with_context(|| format!("clear {}", folder.display())),
            FileStep::Remove(path) => {
                let removed = match self.files.admit_to_write(&path)?.parent(false) {
                    Err(Errno::NOENT) => Ok(()),
                    found => found
                        .map_err(std::io::Error::from)
                        .and_then(|(folder, name)| remove(&folder, name)),
                };
                removed.with_context(|| format!("remove {}", path.display()))
            }
        }
    }
}

impl AgentState {
    fn link_tree(&self, from: &Path, to: &Path) -> Result<()> {
        // Otherwise the function would also link the files that it has just created, and might
        // never end.
        ensure!(
            !to.starts_with(from),
            "the second folder is below the first, so cassay cannot link the files into it"
        );
        let source = self.files.admit_to_write(from)?.folder(false)?;
        let target = self.files.admit_to_write(to)?.folder(true)?;
        Ok(link_tree(&source, &target)?)
    }
}

fn write(path: Inside<'_>, flags: OFlags, mode: u32, bytes: &Bytes) -> std::io::Result<()> {
    let open = path.open(OFlags::WRONLY | flags, Mode::from_raw_mode(mode))?;
    let mut file = File::from(open);
    file.write_all(&bytes.0)?;
    // A node's configuration must survive a power loss.
    file.sync_data()
}

fn link(from: &OwnedFd, to: &OwnedFd, name: &Path) -> std::io::Result<()> {
    let (source, last) = parent(from, name, false)?;
    let (target, _) = parent(to, name, true)?;
    linkat(source, last, target, last, AtFlags::empty())?;
    Ok(())
}

fn link_tree(from: &OwnedFd, to: &OwnedFd) -> Result<(), Errno> {
    for name in names(from)? {
        let name = OsStr::from_bytes(name.as_bytes());
        if is_folder(&stat(from, name)?) {
            let below = Path::new(name);
            link_tree(&enter(from, below, false)?, &enter(to, below, true)?)?;
        } else {
            linkat(from, name, to, name, AtFlags::empty())?;
        }
    }
    Ok(())
}

fn clear(folder: Inside<'_>, but: &[String]) -> std::io::Result<()> {
    let folder = match folder.folder(false) {
        Err(Errno::NOENT) => return Ok(()),
        folder => folder?,
    };
    for name in names(&folder)? {
        let name = OsStr::from_bytes(name.as_bytes());
        let stays = but.iter().any(|kept| name == kept.as_str());
        if !stays || !is_folder(&stat(&folder, name)?) {
            remove(&folder, name)?;
        }
    }
    Ok(())
}

/// Removes a file or a tree in a folder, if it exists.
fn remove(folder: &OwnedFd, name: &OsStr) -> std::io::Result<()> {
    let removed = match stat(folder, name) {
        Err(error) => Err(error.into()),
        // Through the descriptor of the open folder, the path cannot lead to another folder.
        Ok(found) if is_folder(&found) => {
            let path = format!("/proc/self/fd/{}", folder.as_raw_fd());
            std::fs::remove_dir_all(Path::new(&path).join(name))
        }
        Ok(_) => unlinkat(folder, name, AtFlags::empty()).map_err(Into::into),
    };
    match removed {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

impl Serve<AgentState> for List {
    fn serve(self, here: &AgentState) -> Result<Option<Page>> {
        let folder = match here.files.admit(&self.folder)?.folder(false) {
            Err(Errno::NOENT) => return Ok(None),
            folder => folder,
        };
        let context = || format!("read {}", self.folder.display());
        let folder = folder.with_context(context)?;
        let mut names = names(&folder).with_context(context)?;
        names.sort_unstable();
        let after = self.after.as_deref().map(str::as_bytes);
        let mut page = Page {
            entries: Vec::new(),
            is_last: true,
        };
        let mut bytes = 0;
        for name in names {
            if after.is_some_and(|after| name.as_bytes() <= after) {
                continue;
            }
            if bytes > PIECE_BYTES {
                page.is_last = false;
                break;
            }
            bytes += name.as_bytes().len() + ENTRY_BYTES;
            match entry(&folder, &name, self.text_of.as_deref()) {
                // The owner of the files may delete a file at any time.
                Err(Errno::NOENT) => {}
                found => page.entries.push(found.with_context(context)?),
            }
        }
        Ok(Some(page))
    }
}

fn entry(folder: &OwnedFd, name: &CString, text_of: Option<&str>) -> Result<Entry, Errno> {
    let os_name = OsStr::from_bytes(name.as_bytes());
    let found = stat(folder, os_name)?;
    let mut entry = Entry {
        name: name.to_string_lossy().into_owned(),
        is_folder: is_folder(&found),
        bytes: found.st_size as u64,
        id: id(&found),
        text: None,
    };
    let is_file = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile;
    let is_wanted = text_of.is_some_and(|end| entry.name.ends_with(end));
    if is_file && is_wanted && entry.bytes <= TEXT_BYTES_MAX as u64 {
        let file = open(folder, os_name, READ, Mode::empty())?;
        let mut text = [0; TEXT_BYTES_MAX];
        let count = rustix::io::read(file, &mut text)?;
        let text = &text[..count];
        entry.text = Some(String::from_utf8_lossy(text).into_owned());
    }
    Ok(entry)
}

impl Serve<AgentState> for Get {
    fn serve(self, here: &AgentState) -> Result<Option<Piece>> {
        let path = here.files.admit(&self.path)?;
        let read = || -> std::io::Result<Piece> {
            let mut file = File::from(path.open(READ, Mode::empty())?);
            let found = fstat(&file)?;
            let size = found.st_size as u64;
            let at = match self.from {
                From::Byte(at) => at,
                From::End(bytes) => size.saturating_sub(bytes),
            };
            file.seek(SeekFrom::Start(at))?;
            let mut bytes = Vec::new();
            file.take(PIECE_BYTES as u64).read_to_end(&mut bytes)?;
            Ok(Piece {
                bytes: Bytes(bytes),
                at,
                size,
                id: id(&found),
            })
        };
        match read() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some).with_context(|| format!("read {}", self.path.display())),
        }
    }
}

impl Serve<AgentState> for Sum {
    fn serve(self, here: &AgentState) -> Result<Sums> {
        let folder = here
            .files
            .admit(&self.folder)?
            .folder(false)
            .with_context(|| format!("open {}", self.folder.display()))?;
        let mut sums = Sums {
            whole: Vec::new(),
            begun: self.begun,
        };
        let mut left = SUM_BYTES;
        for name in &self.names {
            let begun = sum(&folder, check_below(name)?, sums.begun, left)
                .with_context(|| format!("read {}", self.folder.join(name).display()))?;
            left = left.saturating_sub(begun.sum.bytes - sums.begun.bytes);
            if !begun.is_whole {
                sums.begun = begun.sum;
                break;
            }
            sums.whole.push(begun.sum.crc);
            sums.begun = PartialChecksum::default();
        }
        Ok(sums)
    }
}

struct SummedReader {
    sum: PartialChecksum,
    is_whole: bool,
}

/// Continues the checksum of a file. Bypasses the page cache if the file system supports this.
fn sum(
    folder: &OwnedFd,
    name: &Path,
    begun: PartialChecksum,
    limit: u64,
) -> std::io::Result<SummedReader> {
    let (parent, last) = parent(folder, name, false)?;
    let by = |flags: OFlags| {
        let file = open(&parent, last, READ | flags, Mode::empty())?;
        sum_from(File::from(file), begun, limit)
    };
    by(OFlags::DIRECT).or_else(|_| by(OFlags::empty()))
}

fn sum_from(
    mut file: File,
    mut begun: PartialChecksum,
    limit: u64,
) -> std::io::Result<SummedReader> {
    // Some file systems refuse a direct read beyond the end of a file whose size is not a multiple
    // of the block size.
    let mut left = file.metadata()?.len().saturating_sub(begun.bytes);
    let end = begun.bytes + limit;
    file.seek(SeekFrom::Start(begun.bytes))?;
    let mut hasher = crc32fast::Hasher::new_with_initial_len(begun.crc, begun.bytes);
    let mut buffer = vec![0; READ_BYTES + ALIGNMENT];
    let first = buffer.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
    let buffer = &mut buffer[first..first + READ_BYTES];
    while left > 0 && begun.bytes < end {
        let count = file.read(buffer)?;
        if count == 0 {
            left = 0;
            break;
        }
        hasher.update(&buffer[..count]);
        begun.bytes += count as u64;
        left = left.saturating_sub(count as u64);
    }
    begun.crc = hasher.finalize();
    Ok(SummedReader {
        sum: begun,
        is_whole: left == 0,
    })
}

impl Serve<AgentState> for Space {
    fn serve(self, here: &AgentState) -> Result<VolumeUse> {
        let folder = here.files.admit(&self.0)?.folder(false);
        let usage = folder.and_then(|folder| Ok(volume::use_of(&fstatvfs(&folder)?)));
        usage.with_context(|| format!("get the free space at {}", self.0.display()))
    }
}

impl Serve<AgentState> for DeviceBytes {
    fn serve(self, here: &AgentState) -> Result<Option<u64>> {
        let folder = here.files.admit(&self.0)?.folder(false);
        let found = folder
            .and_then(fstat)
            .with_context(|| format!("look at {}", self.0.display()))?;
        let (major, minor) = (major(found.st_dev), minor(found.st_dev));
        let sectors = std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/size"))
            .ok()
            .and_then(|text| text.trim().parse().ok());
        // The kernel counts in sectors of 512 bytes, regardless of the device.
        Ok(sectors.map(|sectors: u64| sectors * 512))
    }
}

impl Serve<AgentState> for EvictTree {
    fn serve(self, here: &AgentState) -> Result<()> {
        let folder = here.files.admit(&self.0)?.folder(false);
        let uncache = |folder: OwnedFd| {
            // The kernel cannot drop pages that are not on the disk yet.
            syncfs(open(&folder, OsStr::new("."), READ, Mode::empty())?)?;
            uncache(&folder)
        };
        folder
            .and_then(uncache)
            .with_context(|| format!("drop {} from the page cache", self.0.display()))
    }
}

/// Drops all files below a folder from the page cache. The owner of the files may delete a file at
/// any time, so a missing file counts as dropped.
fn uncache(folder: &OwnedFd) -> Result<(), Errno> {
    for name in names(folder)? {
        let name = OsStr::from_bytes(name.as_bytes());
        let drop_one = || {
            let found = stat(folder, name)?;
            if is_folder(&found) {
                return uncache(&enter(folder, Path::new(name), false)?);
            }
            if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
                return Ok(());
            }
            let file = open(folder, name, READ, Mode::empty())?;
            // `None` means up to the end of the file.
            let to_the_end: Option<NonZeroU64> = None;
            fadvise(&file, 0, to_the_end, Advice::DontNeed)
        };
        match drop_one() {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn names(folder: &OwnedFd) -> Result<Vec<CString>, Errno> {
    let open = open(folder, OsStr::new("."), READ, Mode::empty())?;
    let mut names = Vec::new();
    for entry in Dir::new(open)? {
        let name = entry?.file_name().to_owned();
        if ![c".", c".."].contains(&name.as_c_str()) {
            names.push(name);
        }
    }
    Ok(names)
}

fn stat(folder: &OwnedFd, name: &OsStr) -> Result<Stat, Errno> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)
}

fn is_folder(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::Directory
}

fn id(found: &Stat) -> FileId {
    const SECOND_NS: i64 = 1_000_000_000;
    FileId {
        device: found.st_dev,
        inode: found.st_ino,
        changed_ns: (found.st_mtime.saturating_mul(SECOND_NS))
            .saturating_add(found.st_mtime_nsec as i64),
    }
}

#[cfg(test)]
mod tests;
