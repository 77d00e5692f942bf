//! What can be seen of a host by who has not broken it: its agent asks the kernel, or tries.

mod bytes;
mod mounts;

use crate::Agent;
use crate::files::Bytes;
use crate::here::Here;
use crate::process::{self, Identity};
use crate::trial;
use anyhow::{Context, Result};
use reach::{Call, Serve};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// What an agent can look at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Sight {
    /// A process; answered by [`Seen::Process`].
    Process(Identity),
    /// The files that a process has open; answered by [`Seen::Descriptors`].
    Descriptors(Identity),
    /// How often the host's CPU quota was used up; answered by [`Seen::Throttled`].
    Throttled,
    /// What a disk does, tried by a process of the host: it writes a block into a file without a
    /// name and syncs it, and reads a block past every cache. Answered by [`Seen::Disk`].
    TryDisk {
        /// A folder on that disk.
        folder: PathBuf,
        /// What has not happened by then is [`Attempt::Silent`].
        limit: Duration,
    },
    /// What is mounted at a folder; answered by [`Seen::Mount`].
    Mount {
        /// The folder.
        folder: PathBuf,
    },
    /// Some bytes of a file, twice; answered by [`Seen::Bytes`].
    Bytes {
        /// The file.
        path: PathBuf,
        /// The first of them.
        at: u64,
        /// How many: 256 KiB at the most.
        bytes: u64,
    },
}

/// What came of trying something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Attempt {
    /// It was done, and took so long.
    Took(Duration),
    /// It was refused, with this error number.
    Refused(i32),
    /// Nothing has come of it in time.
    Silent,
    /// There was nothing to try it on.
    None,
}

/// What was seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Seen {
    /// The letter of its state, as in `ps`; none if it is gone.
    Process(Option<char>),
    /// How many more it may open, and how many it has open.
    Descriptors {
        /// Numbers below its limit that are free.
        free: u64,
        /// Those that it has.
        open: u64,
    },
    /// Since the host was made.
    Throttled {
        /// Periods of the quota in which something ran.
        periods: u64,
        /// Those of them in which it was used up.
        throttled: u64,
    },
    /// What a disk did.
    Disk {
        /// Opening a new file, writing a block and syncing it.
        write: Attempt,
        /// Opening a file that was there and reading its first block past every cache; the one
        /// that was written where there is no other.
        read: Attempt,
    },
    /// What is mounted; none if nothing is.
    Mount(Option<Mounted>),
    /// Bytes of a file, or the error number of reading them.
    Bytes {
        /// As whoever reads them gets them, from the page cache if they are there.
        cached: Result<Bytes, i32>,
        /// As they stand on the disk.
        on_disk: Result<Bytes, i32>,
    },
}

/// What is mounted at a folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mounted {
    /// What is mounted there: `/dev/loop3`.
    pub source: String,
    /// `ext4`.
    pub kind: String,
    /// It can only be read: it was mounted so, or has made itself so after an error.
    pub is_read_only: bool,
    /// It was shut down: nothing is read or written any more.
    pub is_shut_down: bool,
}

/// Asks an agent to look.
#[derive(Serialize, Deserialize)]
pub(crate) struct See {
    what: Sight,
}

impl Call for See {
    const NAME: &'static str = "see";
    type Answer = Seen;
}

impl Agent {
    /// Looks at something of its host. A look that may take time says how much itself.
    ///
    /// # Errors
    /// The agent is gone, or the kernel does not tell.
    pub fn see(&self, what: Sight) -> Result<Seen> {
        let limit = what.limit();
        self.call_for(&See { what }, limit)
    }
}

/// How long the agent's answer may take longer than the look.
const LIMIT: Duration = Duration::from_secs(10);

impl Sight {
    fn limit(&self) -> Duration {
        match self {
            Sight::TryDisk { limit, .. } => LIMIT + *limit,
            _ => LIMIT,
        }
    }
}

impl Serve<Here> for See {
    fn serve(self, here: &Here) -> Result<Seen> {
        Ok(match self.what {
            Sight::Process(process) => Seen::Process(process::state(process)),
            Sight::Descriptors(process) => {
                let numbers = numbers(process)?;
                let limit = files_limit(process)?.0.unwrap_or(u64::MAX);
                let below = numbers.iter().filter(|number| **number < limit).count();
                Seen::Descriptors {
                    free: limit.saturating_sub(below as u64),
                    open: numbers.len() as u64,
                }
            }
            Sight::Throttled => {
                let (periods, throttled) = here.group()?.throttled()?;
                Seen::Throttled { periods, throttled }
            }
            Sight::TryDisk { folder, limit } => trial::look(here, &folder, limit)?,
            Sight::Mount { folder } => Seen::Mount(mounts::at(&folder)?),
            Sight::Bytes { path, at, bytes } => bytes::look(here, &path, at, bytes)?,
        })
    }
}

/// The numbers of the files that a process has open, in order.
pub(crate) fn numbers(process: Identity) -> Result<Vec<u64>> {
    let folder = format!("/proc/{}/fd", process.pid);
    let entries = std::fs::read_dir(&folder).with_context(|| format!("list {folder}"))?;
    let number =
        |entry: std::io::Result<std::fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    let mut numbers: Vec<u64> = entries.filter_map(number).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// How many files a process may open: now, and at the most. Without a limit it is none.
pub(crate) fn files_limit(process: Identity) -> Result<(Option<u64>, Option<u64>)> {
    let path = format!("/proc/{}/limits", process.pid);
    let text = std::fs::read_to_string(&path).with_context(|| format!("read {path}"))?;
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix("Max open files"));
    let mut words = line.unwrap_or_default().split_ascii_whitespace();
    let mut word = || match words.next() {
        Some("unlimited") => Ok(None),
        Some(word) => word.parse().map(Some).map_err(anyhow::Error::new),
        None => Err(anyhow::anyhow!("it has no limit of open files")),
    };
    let both = word().and_then(|now| Ok((now, word()?)));
    both.with_context(|| format!("read the limits in {path}"))
}
