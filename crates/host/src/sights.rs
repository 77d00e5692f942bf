//! What can be seen of a host by who has not broken it: its agent asks the kernel, or tries.

use crate::Agent;
use crate::here::Here;
use crate::process::{self, Identity};
use anyhow::{Context, Result};
use reach::{Call, Serve};
use serde::{Deserialize, Serialize};
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
        LIMIT
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
