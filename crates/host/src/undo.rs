//! Changes on a host that must be undone. The agent that made a change, its guard, or a later
//! command undoes it.

use crate::invocation;
use crate::process::Identity;
use crate::service::Service;
use anyhow::{Context, Result};
use linux::cgroup::{CgroupDir, Group};
use linux::packet_filter::{Filter, HostLoss};
use linux::volume;
use measure::clock::{self, Deadline};
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;
use target_spec::Invocation;

/// Time for which other processes may continue to write to a folder while it is removed. cassay
/// waits, because these processes are about to end.
const TREE_LIMIT: Duration = Duration::from_secs(60);

const POLL: Duration = Duration::from_millis(50);

/// A change, described by the way to undo it. A missing object is not an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Undo {
    /// Removes a folder with all its contents.
    Tree(PathBuf),
    /// Removes a data volume. Also removes an empty plain folder at the same path.
    Volume(PathBuf),
    /// Removes control groups, and kills the processes in them.
    Groups(Vec<CgroupDir>),
    /// Continues a stopped process.
    Continue(Identity),
    /// Thaws the frozen data volume of a folder. Processes that write to a frozen volume wait, and
    /// cannot be killed.
    Thaw(PathBuf),
    /// Removes a table that drops packets from the machine's packet filter.
    Table(String),
    /// Runs a program that undoes the change of another program.
    Command(Invocation),
    /// Restarts a server that a fault has stopped, and that cassay did not start.
    Serve(Service),
    /// Removes the file that contains the undo list.
    Note(PathBuf),
}

impl Undo {
    pub(crate) fn run(&self) -> Result<()> {
        match self {
            Undo::Tree(folder) => remove_tree(folder),
            Undo::Volume(folder) => volume::end(folder),
            Undo::Groups(places) => Group::existing(places.clone()).end(),
            Undo::Continue(process) => {
                process.signal(Signal::CONT);
                Ok(())
            }
            Undo::Thaw(folder) => volume::thaw(folder),
            Undo::Table(name) => Filter::<HostLoss>::open()?.remove(name),
            Undo::Command(heal) => invocation::succeed(heal, invocation::LIMIT),
            Undo::Serve(service) => service.start_again(),
            Undo::Note(file) => remove_note(file),
        }
    }
}

/// Formats the change as a sentence that states that it was undone.
impl fmt::Display for Undo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undo::Tree(folder) => write!(f, "{} was removed", folder.display()),
            Undo::Volume(folder) => write!(f, "cassay removed the volume at {}", folder.display()),
            Undo::Groups(_) => f.write_str("cassay removed control groups"),
            Undo::Continue(process) => write!(f, "cassay resumed process {}", process.pid),
            Undo::Thaw(folder) => write!(f, "cassay thawed the volume at {}", folder.display()),
            Undo::Table(name) => write!(f, "cassay removed the packet filter {name}"),
            Undo::Command(heal) => write!(f, "{heal} was run"),
            Undo::Serve(service) => write!(f, "cassay started the server of {}", service.serves),
            Undo::Note(file) => write!(f, "{} was removed", file.display()),
        }
    }
}

/// Undoes all changes, beginning with the last change. If undoing a change fails, the undo file is
/// kept.
///
/// # Errors
/// A change cannot be undone. All other changes are undone nevertheless.
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
            // Another process may be removing the folder too, or may still write to it for a
            // moment.
            Err(_) if !deadline.passed() => clock::sleep(POLL),
            Err(error) => {
                return Err(error).with_context(|| format!("remove {}", folder.display()));
            }
        }
    }
}

/// Removes an undo file, and its parent folders if they are empty.
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
