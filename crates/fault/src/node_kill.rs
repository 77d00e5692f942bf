//! A node that crashes: its JVM is killed (SIGKILL), and started again. What it had not synced of
//! its commit log is in the machine's page cache, and there when it comes back.

use crate::Kind;
use cluster::Ability;
use std::time::Duration;

pub(crate) const KIND: Kind = Kind {
    name: "node-kill",
    what: "the node's process is killed, and started again",
    needs: Ability::Provision,
    ends_process: true,
    inject: |world, within| world.kill(within),
    // The kernel knows it no more.
    is_broken: |state| state.is_none(),
    // A start with a commit log to be replayed, on a busy machine.
    healed_within: Duration::from_secs(180),
};
