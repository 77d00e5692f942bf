//! Ring membership of simulated nodes.

use super::{ADDED, Agents, HIT, NodeSeen, S, Sim};
use cassandra::{Member, MemberStatus, Members};
use target_spec::NodeIndex;

/// Time until the other nodes consider a node down.
const DETECTED_NS: u64 = 2 * S;

/// Time that a node takes to leave a ring.
pub(in crate::tests) const LEAVING_NS: u64 = S;

impl Sim {
    /// Returns true if an operation on the node `by` has removed the target from the ring.
    pub fn is_out(&self, by: NodeIndex) -> bool {
        let mut at_work = self.at_work.iter();
        let is_done = |until: u64| self.now_ns >= until && !self.stays_member;
        at_work.any(|(node, _, until)| *node == by && is_done(*until)) && !self.broken.is_empty()
    }

    /// Returns the status of the target according to the other nodes.
    pub fn standing(&self) -> Option<MemberStatus> {
        let leaves = self.at_work.iter().any(|(node, ..)| *node == HIT);
        match () {
            () if self.is_out(HIT) || self.is_out(NodeIndex(HIT.0 + 1)) => None,
            () if leaves && !self.broken.is_empty() && !self.stays_member => {
                Some(MemberStatus::Leaving)
            }
            () if self.stays_down && self.is_healed() => Some(MemberStatus::Down),
            () if self.is_shunned && self.is_healed() && self.restarts_count == 0 => {
                Some(MemberStatus::Down)
            }
            () if self.is_gone() && self.now_ns >= DETECTED_NS => Some(MemberStatus::Down),
            () => Some(MemberStatus::Normal),
        }
    }

    /// Returns the status of the added node according to the other nodes.
    pub fn standing_of_added(&self) -> Option<MemberStatus> {
        let told = self.at_work.iter().find(|(node, ..)| *node == ADDED);
        let has_joined = self.now_ns >= self.added_ns? + self.joins_within_ns;
        match told {
            Some((.., until_ns)) if self.now_ns >= *until_ns => None,
            Some(_) => Some(MemberStatus::Leaving),
            None if has_joined => Some(MemberStatus::Normal),
            None => Some(MemberStatus::Joining),
        }
    }

    pub fn members_of(&self, node: NodeIndex) -> Members {
        let member = |(index, seen): (NodeIndex, NodeSeen)| {
            let standing = match index {
                HIT => self.standing()?,
                ADDED => self.standing_of_added()?,
                _ => MemberStatus::Normal,
            };
            let host_id = format!("id{}", index.0);
            Some((seen.storage, Member { host_id, standing }))
        };
        let back = node == HIT && self.now_ns < self.streams_until_ns && self.is_healed();
        let joins = self.standing_of_added() == Some(MemberStatus::Joining);
        let streams = back || (node == ADDED && joins);
        Members {
            mode: if streams { "JOINING" } else { "NORMAL" }.to_owned(),
            streams_count: usize::from(streams),
            all: self.nodes().into_pairs().filter_map(member).collect(),
        }
    }
}
