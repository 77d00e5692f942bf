//! A scope of systemd's for an agent and all that it starts, with every control group below it
//! handed over. Who makes groups among those that systemd manages breaks its rules: it may take
//! controllers away again, and what is in the session of a login ends with that login.

use anyhow::{Result, ensure};
use host::invocation;
use measure::clock::{self, Deadline};
use reach::process::Identity;
use std::path::{Path, PathBuf};
use std::time::Duration;
use target::Invocation;

/// Where a running systemd has its folder: `sd_booted(3)`.
const BOOTED: &str = "/run/systemd/system";

/// How long the manager may take to answer.
const LIMIT: Duration = Duration::from_secs(10);

/// How often it is looked whether this process has been moved.
const POLL: Duration = Duration::from_millis(5);

/// Moves this process into a scope of its own, if systemd manages this machine and this is root.
/// Another user's processes are in a session that only its own manager could hand
/// something over from, without the controllers that limit a disk or CPUs.
///
/// # Errors
/// The manager refuses, or does not answer in time: this process is where it was.
pub(crate) fn enter(agent: &str) -> Result<()> {
    if !rustix::process::geteuid().is_root() || !Path::new(BOOTED).is_dir() {
        return Ok(());
    }
    let own = Identity::own();
    let unit = format!("cassay-{agent}-{}-{}.scope", own.pid, own.start_ticks);
    invocation::succeed(&asking_for(&unit, agent, own.pid), LIMIT)?;
    // The answer is that of a job which has begun.
    let deadline = Deadline::after(LIMIT);
    while !is_in(&std::fs::read_to_string("/proc/self/cgroup")?, &unit) {
        ensure!(
            !deadline.passed(),
            "systemd has made {unit}, and this process is not in it after {} s",
            LIMIT.as_secs()
        );
        clock::sleep(POLL);
    }
    Ok(())
}

/// `StartTransientUnit` of `org.freedesktop.systemd1(5)`. The unit goes with its last process,
/// however that ends.
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
        // Four properties, by their names, types and values.
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
        // No units beside it.
        "0",
    ];
    Invocation {
        words: words.map(str::to_owned).to_vec(),
        folder: PathBuf::from("/"),
    }
}

/// Whether a process whose `cgroup` this is belongs to a unit.
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
