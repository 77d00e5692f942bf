//! Empties a group without removing it. This simulates a host that has lost power and will restart
//! later.

use super::{CgroupDir, END_LIMIT, Group, POLL, all_pids, kill};
use anyhow::Result;
use measure::clock::{self, Deadline};

impl Group {
    /// Kills the processes in the group.
    ///
    /// # Errors
    /// A process does not end, or a directory is not a control group.
    pub fn empty(&self) -> Result<()> {
        self.check()?;
        let deadline = Deadline::after(END_LIMIT);
        let left = |place: &CgroupDir| all_pids(&place.dir);
        loop {
            let left: Vec<i32> = self.places.iter().flat_map(left).collect();
            if left.is_empty() {
                return Ok(());
            }
            anyhow::ensure!(
                !deadline.passed(),
                "processes are still running {} s after SIGKILL: {left:?}",
                END_LIMIT.as_secs()
            );
            self.places.iter().for_each(|place| kill(&place.dir));
            clock::sleep(POLL);
        }
    }
}
