//! What has to be undone on a host, whoever does it: the agent that did it, its guard, or a later
//! command.

use crate::invocation;
use crate::process::Identity;
use crate::service::Service;
use anyhow::{Context, Result};
use kernel::cgroup::{CgroupDir, Group};
use kernel::volume;
use measure::clock::{self, Deadline};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;
use target::Invocation;

/// How long others may go on writing into a folder that is being removed: processes that are
/// ended at the same time by somebody else.
const TREE_LIMIT: Duration = Duration::from_secs(60);

const POLL: Duration = Duration::from_millis(50);

/// One thing that was done, as it is undone. What is gone already is no error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Undo {
    /// A folder with all that is in it.
    Tree(PathBuf),
    /// A data volume, or the plain folder in its place, if that is empty.
    Volume(PathBuf),
    /// Control groups, with the processes in them.
    Groups(Vec<CgroupDir>),
    /// A process that is stopped and is to go on.
    Continue(Identity),
    /// The data volume of a folder that is frozen, so that whoever writes there waits, and cannot
    /// be killed before that.
    Thaw(PathBuf),
    /// Something that a program has broken, and this one heals.
    Command(Invocation),
    /// A server of somebody else's that does not run, and is to.
    Serve(Service),
    /// The file in which all of it is written down.
    Note(PathBuf),
}

impl Undo {
    pub(crate) fn run(&self) -> Result<()> {
        match self {
            Undo::Tree(folder) => remove_tree(folder),
            Undo::Volume(folder) => volume::end(folder),
            Undo::Groups(places) => Group::of(places.clone()).end(),
            Undo::Continue(process) => {
                process.signal(Signal::CONT);
                Ok(())
            }
            Undo::Thaw(folder) => volume::thaw(folder),
            Undo::Command(heal) => invocation::succeed(heal, invocation::LIMIT),
            Undo::Serve(service) => service.start_again(),
            Undo::Note(file) => remove_note(file),
        }
    }
}

/// In words, as something that was done.
impl fmt::Display for Undo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undo::Tree(folder) => write!(f, "{} was removed", folder.display()),
            Undo::Volume(folder) => write!(f, "the volume at {} was ended", folder.display()),
            Undo::Groups(_) => f.write_str("control groups were removed"),
            Undo::Continue(process) => write!(f, "process {} was told to go on", process.pid),
            Undo::Thaw(folder) => write!(f, "the volume at {} was thawed", folder.display()),
            Undo::Command(heal) => write!(f, "{heal} was run"),
            Undo::Serve(service) => write!(f, "what serves {} was started", service.serves),
            Undo::Note(file) => write!(f, "{} was removed", file.display()),
        }
    }
}

/// Undoes all of it, the last first. Where it is written down it stays so, if something does not
/// go.
///
/// # Errors
/// The first thing that does not go; all others are undone all the same.
pub fn undo(all: &[Undo]) -> Result<()> {
    let mut result = Ok(());
    for one in all.iter().rev() {
        if result.is_err() && matches!(one, Undo::Note(_)) {
            continue;
        }
        let undone = one.run();
        if result.is_ok() {
            result = undone;
        }
    }
    result
}

fn remove_tree(folder: &Path) -> Result<()> {
    let deadline = Deadline::after(TREE_LIMIT);
    loop {
        match std::fs::remove_dir_all(folder) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::NotFound && !folder.exists() => return Ok(()),
            // Somebody removes it too, or writes into it for a moment still.
            Err(_) if !deadline.passed() => clock::sleep(POLL),
            Err(error) => {
                return Err(error).with_context(|| format!("remove {}", folder.display()));
            }
        }
    }
}

/// Removes a file, and the folders that were made for it, if nothing else stands there.
pub(crate) fn remove_note(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        removed => removed.with_context(|| format!("remove {}", path.display()))?,
    }
    for folder in path.ancestors().skip(1).take(2) {
        if std::fs::remove_dir(folder).is_err() {
            break;
        }
    }
    Ok(())
}
