//! A node that is up and silent: its JVM is stopped (SIGSTOP), and goes on (SIGCONT). Connections
//! stay open, and new ones are taken by the kernel; nobody answers on them.

use crate::Kind;
use cluster::Ability;
use std::time::Duration;

pub(crate) const KIND: Kind = Kind {
    name: "node-pause",
    what: "the node's process is stopped, and goes on where it was",
    needs: Ability::Provision,
    ends_process: false,
    inject: |world, within| world.pause(within),
    // `T`: stopped by a signal.
    is_broken: |state| state == Some('T'),
    healed_within: Duration::from_secs(60),
};
