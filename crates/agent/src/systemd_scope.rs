//! systemd scope with delegated control groups for an agent and its child processes. A program must
//! not create groups below systemd's own groups, because systemd may withdraw controllers from such
//! groups, and ends the processes of a login session together with the session.

use anyhow::{Result, ensure};
use host::invocation;
use measure::clock::{self, Deadline};
use remote::process::Identity;
use std::path::{Path, PathBuf};
use std::time::Duration;
use target_spec::Invocation;

/// Folder that exists while systemd runs, see `sd_booted(3)`.
const SYSTEMD_FOLDER: &str = "/run/systemd/system";

/// Time limit for systemd to answer.
const LIMIT: Duration = Duration::from_secs(10);

/// Interval between two checks whether systemd has moved this process.
const POLL: Duration = Duration::from_millis(5);

/// Moves this process into a separate scope, if systemd manages this machine and the user is root.
/// Does nothing for other users, whose session manager cannot delegate the controllers that limit
/// disks or CPUs.
///
/// Fails if systemd refuses or does not answer in time. This process has then not moved.
pub(crate) fn enter(agent: &str) -> Result<()> {
    if !rustix::process::geteuid().is_root() || !Path::new(SYSTEMD_FOLDER).is_dir() {
        return Ok(());
    }
    let own = Identity::own();
    let unit = format!("cassay-{agent}-{}-{}.scope", own.pid, own.start_ticks);
    invocation::succeed(&asking_for(&unit, agent, own.pid), LIMIT)?;
    // systemd's answer only means that the job has begun.
    let deadline = Deadline::after(LIMIT);
    while !is_in(&std::fs::read_to_string("/proc/self/cgroup")?, &unit) {
        ensure!(
            !deadline.passed(),
            "systemd accepted the scope {unit}, but this process was not in the scope after {} s",
            LIMIT.as_secs()
        );
        clock::sleep(POLL);
    }
    Ok(())
}

/// Builds a call of `StartTransientUnit` of `org.freedesktop.systemd1(5)`. The unit ends with its
/// last process.
fn asking_for(unit: &str, agent: &str, pid: u32) -> Invocation {
    let about = format!("cassay: nodes of a laboratory, and their agent {agent}");
    let pid = pid.to_string();
    let words = [
        "busctl",
        "--system",
        "call",
        "org.freedesktop.systemd1",
        "/org/freedesktop/systemd1",
        "org.freedesktop.systemd1.Manager",
        "StartTransientUnit",
        "ssa(sv)a(sa(sv))",
        unit,
        "fail",
        // Number of properties, each with a name, a type and a value.
        "4",
        "Description",
        "s",
        &about,
        "Delegate",
        "b",
        "true",
        "CollectMode",
        "s",
        "inactive-or-failed",
        "PIDs",
        "au",
        "1",
        &pid,
        // No auxiliary units.
        "0",
    ];
    Invocation {
        words: words.map(str::to_owned).to_vec(),
        folder: PathBuf::from("/"),
    }
}

/// Returns true if the content of a `cgroup` file contains the unit.
fn is_in(cgroups: &str, unit: &str) -> bool {
    let mut paths = cgroups.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    paths.any(|path| path.split('/').any(|part| part == unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_in_the_unit_that_its_groups_are_called_by() {
        let unit = "cassay-host1-12-345.scope";
        let unified = format!("0::/system.slice/{unit}\n");
        let named = format!("4:memory:/\n1:name=systemd:/system.slice/{unit}\n0::/\n");
        let below = format!("0::/system.slice/{unit}/cassay-itself\n");
        for cgroups in [unified, named, below] {
            assert!(is_in(&cgroups, unit), "{cgroups}");
        }
        for cgroups in [
            "",
            "0::/\n",
            "0::/system.slice/cassay-host1-12-3456.scope\n",
        ] {
            assert!(!is_in(cgroups, unit), "{cgroups}");
        }
    }
}
