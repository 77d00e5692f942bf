//! Access check for a host's files.
//!
//! Invariants: an admitted path leads to a file below a folder that the agent may access. The path
//! only leads downwards, and no component below that folder may be a symbolic link, even if one is
//! created meanwhile. So the agent opens each component separately, relative to its parent.

use anyhow::{Result, ensure};
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};

/// Folders that an agent may access. Some are known at its start, others are added later.
pub(crate) struct Folders(RwLock<Vec<Folder>>);

struct Folder {
    path: Arc<Path>,
    bar: Bar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bar {
    /// Full access.
    None,
    /// The folder's volume is frozen, so a write would block.
    Frozen,
    /// The folder's volume is not mounted. Files below the mount point do not belong to the volume.
    Away,
    /// The folder belongs to another user, so the agent may only read it.
    Lent,
}

/// Path that has passed the access check.
pub(crate) struct Inside<'a> {
    folder: Arc<Path>,
    below: &'a Path,
}

impl Folders {
    pub fn new(folders: Vec<PathBuf>) -> Folders {
        Folders(RwLock::new(folders.into_iter().map(Folder::new).collect()))
    }

    pub fn add(&self, path: &Path) {
        self.all_mut().push(Folder::new(path.to_owned()));
    }

    pub fn lend(&self, path: &Path) {
        let mut all = self.all_mut();
        if all.iter().any(|folder| *folder.path == *path) {
            return;
        }
        all.push(Folder {
            bar: Bar::Lent,
            ..Folder::new(path.to_owned())
        });
    }

    pub fn remove(&self, path: &Path) {
        self.all_mut().retain(|folder| *folder.path != *path);
    }

    pub fn bar(&self, path: &Path, bar: Bar) {
        let mut all = self.all_mut();
        let own = all.iter_mut().filter(|folder| *folder.path == *path);
        own.for_each(|folder| folder.bar = bar);
    }

    fn all_mut(&self) -> RwLockWriteGuard<'_, Vec<Folder>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn admit<'a>(&self, path: &'a Path) -> Result<Inside<'a>> {
        let (inside, bar) = self.find(path)?;
        ensure!(
            bar != Bar::Away,
            "cassay cannot reach {}: the volume of this path is not mounted at present",
            path.display()
        );
        Ok(inside)
    }

    pub fn admit_to_write<'a>(&self, path: &'a Path) -> Result<Inside<'a>> {
        let inside = self.admit(path)?;
        let why = match self.find(path)?.1 {
            Bar::Frozen => "the volume of this path is frozen at present",
            Bar::Lent => "another program owns this path, so cassay only reads it",
            Bar::None | Bar::Away => return Ok(inside),
        };
        anyhow::bail!("cassay cannot write {}: {why}", path.display())
    }

    fn find<'a>(&self, path: &'a Path) -> Result<(Inside<'a>, Bar)> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let below = |folder: &'_ Folder| path.strip_prefix(&folder.path).ok();
        let found = all.iter().find_map(|folder| Some((folder, below(folder)?)));
        let is_down = |below: &Path| {
            let mut parts = below.components();
            parts.all(|part| matches!(part, Component::Normal(_)))
        };
        match found {
            Some((folder, below)) if is_down(below) => {
                let inside = Inside {
                    folder: Arc::clone(&folder.path),
                    below,
                };
                Ok((inside, folder.bar))
            }
            _ => {
                let folders: Vec<String> =
                    all.iter().map(|folder| folder.path.display().to_string()).collect();
                anyhow::bail!(
                    "{} is not a file of this agent, which accesses only files below: {}",
                    path.display(),
                    if folders.is_empty() {
                        "nothing".to_owned()
                    } else {
                        folders.join(", ")
                    }
                )
            }
        }
    }
}

impl Folder {
    fn new(path: PathBuf) -> Folder {
        Folder {
            path: path.into(),
            bar: Bar::None,
        }
    }
}

impl<'a> Inside<'a> {
    /// Opens the folder at the path. With `is_made`, creates it.
    pub fn folder(&self, is_made: bool) -> Result<OwnedFd, Errno> {
        enter(&self.given()?, self.below, is_made)
    }

    /// Opens the parent folder of the path. Also returns the last component of the path.
    pub fn parent(&self, is_made: bool) -> Result<(OwnedFd, &'a OsStr), Errno> {
        parent(&self.given()?, self.below, is_made)
    }

    pub fn open(&self, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
        let (parent, name) = self.parent(false)?;
        open(&parent, name, flags, mode)
    }

    fn given(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(CWD, &*self.folder, flags, Mode::empty())
    }
}

/// Refuses every path except a relative one that leads downwards.
pub(crate) fn check_below(path: &str) -> Result<&Path> {
    let parts = Path::new(path).components();
    let is_down = |part: Component<'_>| matches!(part, Component::Normal(_));
    ensure!(
        !path.is_empty() && parts.clone().all(is_down),
        "{path:?} is not a relative path without `.` and `..`"
    );
    Ok(Path::new(path))
}

/// Opens the folder at the relative path `below`.
pub(crate) fn enter(from: &OwnedFd, below: &Path, is_made: bool) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    let mut at = open(from, OsStr::new("."), flags, Mode::empty())?;
    for part in below {
        if is_made {
            match mkdirat(&at, part, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
        at = open(&at, part, flags, Mode::empty())?;
    }
    Ok(at)
}

/// Opens the parent of the relative path `below`. Also returns the last component of the path.
pub(crate) fn parent<'a>(
    from: &OwnedFd,
    below: &'a Path,
    is_made: bool,
) -> Result<(OwnedFd, &'a OsStr), Errno> {
    // A step must not rename or remove the given folder itself.
    let name = below.file_name().ok_or(Errno::BUSY)?;
    let above = below.parent().unwrap_or(Path::new(""));
    Ok((enter(from, above, is_made)?, name))
}

/// Opens an entry of a folder, unless it is a symbolic link.
pub(crate) fn open(
    folder: &OwnedFd,
    name: &OsStr,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    openat(
        folder,
        name,
        flags | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        mode,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_path_outside_is_turned_away_however_it_is_written() {
        let folders = Folders::new(vec!["/data/host1".into(), "/data/other".into()]);
        for good in ["/data/host1", "/data/host1/node1/data", "/data//other/./x"] {
            assert!(folders.admit(Path::new(good)).is_ok(), "{good}");
        }
        let bad = [
            "/etc/passwd",
            "/data/host10/x",
            "/data/host1/../../etc/passwd",
            "/data/host1/..",
            "/data",
            "data/host1/x",
            "",
        ];
        for bad in bad {
            let refused = folders.admit(Path::new(bad)).err().map(|why| why.to_string());
            let said = refused.unwrap_or_else(|| panic!("{bad} was admitted"));
            assert!(said.contains("/data/host1, /data/other"), "{said}");
        }
        let none = Folders::new(Vec::new());
        let said = none.admit(Path::new("/data")).err().map(|why| why.to_string());
        assert!(said.is_some_and(|said| said.ends_with("below: nothing")));
        for bad in ["", "/x", "..", "a/../b", "."] {
            assert!(check_below(bad).is_err(), "{bad}");
        }
        assert!(check_below(".index/a").is_ok());
    }

    #[test]
    fn a_lent_folder_is_readable_but_not_writable() {
        let folders = Folders::new(vec!["/data/own".into()]);
        folders.lend(Path::new("/var/log/theirs"));
        folders.lend(Path::new("/data/own"));
        let theirs = Path::new("/var/log/theirs/system.log");
        assert!(folders.admit(theirs).is_ok());
        let refused = folders.admit_to_write(theirs).err().map(|why| why.to_string());
        assert!(refused.is_some_and(|said| said.contains("only read")));
        assert!(folders.admit_to_write(Path::new("/data/own/file")).is_ok());
    }

    #[test]
    fn a_symbolic_link_leads_nowhere() {
        let root = tempfile::tempdir().unwrap();
        let (given, outside) = (root.path().join("given"), root.path().join("outside"));
        for folder in [&given, &outside] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("file"), "x").unwrap();
        }
        symlink(&outside, given.join("folder")).unwrap();
        symlink(outside.join("file"), given.join("link")).unwrap();
        let folders = Folders::new(vec![given.clone()]);
        let open = |name: &str, flags: OFlags| {
            let path = given.join(name);
            let inside = folders.admit(&path).unwrap();
            inside.open(flags, Mode::from_raw_mode(0o600)).map(drop)
        };
        assert_eq!(open("file", OFlags::RDONLY), Ok(()));
        assert_eq!(open("link", OFlags::RDONLY), Err(Errno::LOOP));
        let writing = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC;
        assert_eq!(open("link", writing), Err(Errno::LOOP));
        assert_eq!(open("folder/file", OFlags::RDONLY), Err(Errno::NOTDIR));
        assert_eq!(open("folder/new", writing), Err(Errno::NOTDIR));
        let deep = given.join("folder/deeper");
        let made = folders.admit(&deep).unwrap().folder(true).map(drop);
        assert_eq!(made, Err(Errno::NOTDIR));
        assert_eq!(std::fs::read(outside.join("file")).unwrap(), b"x");
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
        let itself = folders.admit(&given).unwrap();
        assert_eq!(itself.parent(false).map(drop), Err(Errno::BUSY));
    }
}
