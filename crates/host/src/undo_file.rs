//! Undo list of an agent in a file on its host. A later command uses the list if agent and guard
//! were both killed, or if the machine lost power.
//!
//! Each agent has a file, and keeps the file locked while the agent runs. Each line contains a
//! complete list, and the last complete line counts. An agent writes a list to disk before it makes
//! the change that the list describes. Invariants: no process undoes a list unless it has the lock
//! of the file. So no change is undone twice, and no object is removed that belongs to another
//! machine with the same folder. cassay does not read files that another user could have written,
//! because the files contain programs to run.

use crate::process::{Identity, ProcessSpace};
use crate::undo::{Undo, remove_note, undo};
use anyhow::{Context, Result, ensure};
use foreign::{FileKind, OpenFile};
use measure::clock::{self, Deadline};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

const FOLDER: &str = "undo";

/// Time limit for a guard that is undoing the list in a file.
const GUARD_LIMIT: Duration = Duration::from_secs(120);

const POLL: Duration = Duration::from_millis(100);

/// Maximum size of an undo file, in bytes. No list reaches this size, so a larger file does not
/// come from cassay.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// One line of an undo file: the complete undo list of an agent.
#[derive(Serialize, Deserialize)]
struct Line {
    agent: Identity,
    /// Machine of the agent. The line contains it because several machines may share the folder.
    #[serde(default)]
    machine: Option<ProcessSpace>,
    left: Vec<Undo>,
}

/// Undo file of one agent. The file exists once the agent has made a change that could outlive its
/// guard.
#[derive(Debug)]
pub struct UndoFile {
    folder: PathBuf,
    file: Option<(File, PathBuf)>,
}

impl UndoFile {
    /// Chooses the folder of the file, which is below `named`, or by default in the user's home
    /// directory. Does not create the file.
    ///
    /// # Errors
    /// The user has no home directory.
    pub fn below(named: Option<&Path>) -> Result<UndoFile> {
        Ok(UndoFile {
            folder: folder(named)?,
            file: None,
        })
    }

    /// Returns the path of the file. Creates the file if necessary.
    ///
    /// # Errors
    /// The file cannot be created.
    pub fn path(&mut self) -> Result<&Path> {
        if self.file.is_none() {
            let made = create(&self.folder)
                .with_context(|| format!("create a file in {}", self.folder.display()))?;
            self.file = Some(made);
        }
        let file = self.file.as_ref().map(|(_, path)| path.as_path());
        file.context("find the file that cassay has just created")
    }

    /// Writes the list to the file, if the file exists.
    ///
    /// # Errors
    /// The list could not be written to disk.
    pub fn write(&mut self, all: &[Undo]) -> Result<()> {
        let Some((file, path)) = &mut self.file else {
            return Ok(());
        };
        let line = Line {
            agent: Identity::own(),
            machine: Some(ProcessSpace::ours()),
            left: all.to_vec(),
        };
        let mut text = serde_json::to_vec(&line).context("encode a list")?;
        text.push(b'\n');
        let written = file.write_all(&text).and_then(|()| file.sync_all());
        written.with_context(|| format!("write {}", path.display()))
    }
}

/// Undoes the list of an agent that has ended, unless another process has already undone it by
/// reading the agent's file.
///
/// # Errors
/// The errors of [`undo`].
pub fn undo_of_another(all: &[Undo]) -> Result<()> {
    let noted = all.iter().find_map(|one| match one {
        Undo::Note(path) => Some(path),
        _ => None,
    });
    let Some(path) = noted else { return undo(all) };
    // This process keeps the lock until all changes are undone.
    let held = locked(path, GUARD_LIMIT);
    if matches!(held, Ok(None)) {
        let own = |one: &&Undo| matches!(one, Undo::Tree(_));
        let own: Vec<Undo> = all.iter().filter(own).cloned().collect();
        return undo(&own);
    }
    // The lock cannot be taken. Undoing the changes without the lock is better than leaving them.
    undo(all)
}

/// Undoes the changes of agents that have ended together with their guards. Returns one sentence
/// for each change that was undone.
///
/// # Errors
/// A change cannot be undone, or another user has written the file.
pub fn mend(named: Option<&Path>) -> Result<Vec<String>> {
    let folder = folder(named)?;
    let entries = match std::fs::read_dir(&folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.with_context(|| format!("list {}", folder.display()))?,
    };
    check_own(&folder)?;
    let mut said = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("list {}", folder.display()))?.path();
        let undone =
            mend_one(&path).with_context(|| format!("undo the changes in {}", path.display()))?;
        said.extend(undone.iter().map(Undo::to_string));
    }
    Ok(said)
}

/// Undoes the list in a file, unless the agent that wrote the file is alive, or may be alive on
/// another machine.
fn mend_one(path: &Path) -> Result<Vec<Undo>> {
    let ours = ProcessSpace::ours();
    let is_elsewhere = |line: &Line| line.machine.as_ref().is_some_and(|there| *there != ours);
    if last_line(path)?.is_some_and(|line| is_elsewhere(&line) || line.agent.alive()) {
        return Ok(Vec::new());
    }
    let Some(_held) = locked(path, GUARD_LIMIT)? else {
        return Ok(Vec::new());
    };
    // The list is read again under the lock, because another process may have undone it in the
    // meantime.
    let left = last_line(path)?.map(|line| line.left).unwrap_or_default();
    undo(&left)?;
    remove_note(path)?;
    let is_told = |one: &Undo| !matches!(one, Undo::Note(_));
    Ok(left.into_iter().filter(is_told).collect())
}

/// Locks a file. Returns `None` if the file no longer exists.
fn locked(path: &Path, limit: Duration) -> Result<Option<OpenFile>> {
    let file = match foreign::open_no_link(FileKind::Note, path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.with_context(|| format!("open {}", path.display()))?,
    };
    let deadline = Deadline::after(limit);
    loop {
        match flock(file.file(), FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(Errno::WOULDBLOCK | Errno::INTR) => {
                ensure!(
                    !deadline.passed(),
                    "another process has kept {} locked for {} s",
                    path.display(),
                    limit.as_secs()
                );
                clock::sleep(POLL);
            }
            Err(error) => return Err(error).with_context(|| format!("lock {}", path.display())),
        }
    }
    let is_there = file.file().metadata().is_ok_and(|found| found.nlink() > 0);
    Ok(is_there.then_some(file))
}

/// Returns the last complete line of a file.
fn last_line(path: &Path) -> Result<Option<Line>> {
    let file = match foreign::open_no_link(FileKind::Note, path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let found = file.file().metadata()?;
    ensure!(
        found.is_file() && found.uid() == rustix::process::geteuid().as_raw(),
        "the file belongs to another user"
    );
    // The last line counts, so only the end of a long file is read.
    let begin = found.len().saturating_sub(FILE_BYTES_MAX);
    let mut bytes = Vec::new();
    file.file().seek(SeekFrom::Start(begin))?;
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    // A power loss may truncate the last line. An incomplete line can be ignored, because the agent
    // had not yet made the change that the line describes.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    Ok(whole.lines().rev().find_map(|line| serde_json::from_str(line).ok()))
}

/// Creates and locks a new undo file.
fn create(folder: &Path) -> Result<(File, PathBuf)> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    check_own(folder)?;
    let own = Identity::own();
    let path = folder.join(format!("{}-{}.ndjson", own.pid, own.start_ticks));
    let mut options = OpenOptions::new();
    let file = options.append(true).create_new(true).mode(0o600).open(&path)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    // The folder must be synced as well, so that the file exists after a crash.
    foreign::folder(folder)?.sync_all()?;
    Ok((file, path))
}

/// Checks that no other user can write to a folder.
fn check_own(folder: &Path) -> Result<()> {
    let found = std::fs::symlink_metadata(folder)
        .with_context(|| format!("look at {}", folder.display()))?;
    ensure!(
        found.is_dir()
            && found.uid() == rustix::process::geteuid().as_raw()
            && found.mode() & 0o022 == 0,
        "other users have access to {}: remove it, or name another `folder`",
        folder.display()
    );
    Ok(())
}

fn folder(named: Option<&Path>) -> Result<PathBuf> {
    let above = match named {
        Some(named) => named.to_owned(),
        None if rustix::process::geteuid().is_root() => PathBuf::from("/var/lib/cassay"),
        None => {
            let home =
                std::env::home_dir().context("this user has no home folder: name a `folder`")?;
            home.join(".local/state/cassay")
        }
    };
    Ok(above.join(FOLDER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use target_spec::Invocation;

    /// Returns a change and the path of a file. Each time the change is undone, a line is added to
    /// the file.
    fn shows(folder: &Path) -> (Undo, PathBuf) {
        let file = folder.join("shown");
        let words = ["sh", "-c", "echo x >> \"$0\"", &file.display().to_string()];
        let heal = Undo::Command(Invocation {
            words: words.map(str::to_owned).to_vec(),
            folder: "/".into(),
        });
        (heal, file)
    }

    fn times(file: &Path) -> usize {
        std::fs::read_to_string(file).map_or(0, |text| text.lines().count())
    }

    #[test]
    fn a_living_agent_is_let_be_and_one_that_is_gone_is_mended_once() {
        let root = tempfile::tempdir().unwrap();
        let (heal, shown) = shows(root.path());
        let mut noted = UndoFile::below(Some(root.path())).unwrap();
        let path = noted.path().unwrap().to_owned();
        let list = [Undo::Note(path.clone()), heal];
        noted.write(&list).unwrap();
        assert!(
            mend(Some(root.path())).unwrap().is_empty(),
            "the agent of the list, this process, still runs"
        );
        // The undo file belongs to an agent on another machine.
        let gone = Line {
            agent: Identity {
                start_ticks: 1,
                ..Identity::own()
            },
            machine: Some(ProcessSpace::called("another")),
            left: list.to_vec(),
        };
        let held = noted.file.take();
        drop(held);
        std::fs::write(
            &path,
            format!("{}\n", serde_json::to_string(&gone).unwrap()),
        )
        .unwrap();
        assert!(
            mend(Some(root.path())).unwrap().is_empty(),
            "the list belongs to another machine that shares the folder"
        );
        let gone = Line {
            machine: None,
            ..gone
        };
        let text = format!("{}\n{{\"agent\":", serde_json::to_string(&gone).unwrap());
        std::fs::write(&path, text).unwrap();
        let said = mend(Some(root.path())).unwrap();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].starts_with("sh -c") && said[0].ends_with("was run"),
            "{said:?}"
        );
        assert_eq!(times(&shown), 1);
        assert!(!path.exists() && mend(Some(root.path())).unwrap().is_empty());
        // The guard of that agent tries to undo the list after this process has done so.
        undo_of_another(&list).unwrap();
        assert_eq!(times(&shown), 1);
        undo_of_another(&list[1..]).unwrap();
        assert_eq!(
            times(&shown),
            2,
            "without a file, the agent undoes the list that it has"
        );
    }

    #[test]
    fn an_undo_file_that_another_user_could_write_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(FOLDER);
        std::fs::create_dir(&folder).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        let said = mend(Some(root.path())).unwrap_err().to_string();
        assert!(said.contains("other users have access to"), "{said}");
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).unwrap();
        symlink("/etc/passwd", folder.join("link")).unwrap();
        assert!(mend(Some(root.path())).is_err());
    }
}
