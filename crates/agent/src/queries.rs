//! Queries about an agent's host, for which the agent reads the kernel's state or tries an action.

mod bytes;

use crate::descriptors::{files_limit, numbers};
use crate::disk_check;
use crate::faults::packets;
use crate::host_state::AgentState;
use anyhow::{Context, Result};
use host::files::Space;
use host::process::{self, Life};
use host::queries::RunQuery;
use host::{Query, QueryAnswer, Reach, invocation};
use linux::cgroup::Group;
use linux::net::Netlink;
use linux::{links, mounts, tcp};
use measure::clock;
use remote::Serve;
use std::path::Path;
use std::time::Duration;

impl Serve<AgentState> for RunQuery {
    fn serve(self, here: &AgentState) -> Result<QueryAnswer> {
        Ok(match self.what {
            Query::Process(process) => QueryAnswer::Process(process::state(process)),
            Query::Descriptors(process) => {
                let numbers = numbers(process)?;
                let limit = files_limit(process)?.0.unwrap_or(u64::MAX);
                let below = numbers.iter().filter(|number| **number < limit).count();
                QueryAnswer::Descriptors {
                    free: limit.saturating_sub(below as u64),
                    open: numbers.len() as u64,
                }
            }
            Query::Cpu(ms) => QueryAnswer::Cpu(cores(here.group()?, Duration::from_millis(ms))?),
            Query::Reach { address, limit } => QueryAnswer::Reach(Reach::connect(address, limit)?),
            Query::Tries {
                address,
                tries,
                limit,
            } => QueryAnswer::Open(Reach::count(address, tries, limit)?),
            Query::Transfer {
                address,
                bytes,
                limit,
            } => QueryAnswer::Transfer(tcp::transfer(address, bytes, limit)?),
            Query::Port(link) => {
                here.check_switch()?;
                see_link(&link.name())?
            }
            Query::Link => {
                here.check_stand_in()?;
                see_link(links::HOST_LINK)?
            }
            Query::Dropped(broken) => QueryAnswer::Dropped(packets::dropped(here, broken)?),
            Query::Resets => {
                let (connections, sent) = tcp::resets()?;
                QueryAnswer::Resets { connections, sent }
            }
            Query::TryDisk {
                folder,
                work,
                limit,
            } => disk_check::look(here, &folder, work, limit)?,
            Query::VolumeTaken => QueryAnswer::VolumeTaken(here.volume()?.is_claimed()),
            Query::Space { folder } => QueryAnswer::Space(Space(folder).serve(here)?),
            Query::Mount { folder } => QueryAnswer::Mount(mounts::mount_at(&folder)?),
            Query::Bytes { path, at, bytes } => bytes::look(here, &path, at, bytes)?,
            Query::Command { what, limit } => QueryAnswer::Command(invocation::run(&what, limit)?),
        })
    }
}

/// Returns the number of cores that a control group gets while an additional busy thread runs in
/// it.
fn cores(group: &Group, length: Duration) -> Result<f64> {
    let mut busy = process::command(Path::new("/bin/sh"));
    busy.args(["-c", "while :; do :; done"]);
    group.let_in(&mut busy)?;
    let mut child = process::spawn(busy, Life::Ours)?;
    let looked = (|| {
        let (before, began_ns) = (group.used()?, clock::now_ns());
        clock::sleep(length);
        let used = group.used()?.saturating_sub(before);
        Ok(used.as_nanos() as f64 / (clock::now_ns() - began_ns) as f64)
    })();
    let ended = child.kill().and_then(|()| child.wait());
    ended.context("end the process that kept a CPU busy")?;
    looked
}

fn see_link(name: &str) -> Result<QueryAnswer> {
    let link = Netlink::open()?.link(name)?;
    Ok(QueryAnswer::Link {
        is_up: link.is_up,
        has_carrier: link.has_carrier,
        received_packets: link.received_packets,
        sent_packets: link.sent_packets,
    })
}
