//! Members of a ring, as one node reports them by its MBeans: the status of each member, and
//! pending joins and leaves.

use crate::fault_handle::NodeControl;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

const STORAGE: &str = "org.apache.cassandra.db:type=StorageService";
const STREAMS: &str = "org.apache.cassandra.net:type=StreamManager";

/// Attributes to request. The answers are in the order of the attributes.
const ATTRIBUTES: [(&str, &str); 7] = [
    (STORAGE, "OperationMode"),
    (STORAGE, "EndpointWithPortToHostId"),
    (STORAGE, "LiveNodesWithPort"),
    (STORAGE, "JoiningNodesWithPort"),
    (STORAGE, "LeavingNodesWithPort"),
    (STORAGE, "MovingNodesWithPort"),
    (STREAMS, "CurrentStreams"),
];

/// Report of a node about itself and about the other members.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// Operation mode of the node itself, such as `NORMAL`, `JOINING` or `DECOMMISSIONED`.
    pub mode: String,
    /// Number of streams in which the node takes part.
    pub streams_count: usize,
    /// All members of the ring, by the addresses that nodes use to communicate with each other.
    pub all: BTreeMap<SocketAddr, Member>,
}

/// A member of a ring, as reported by another node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Host id of the member.
    pub host_id: String,
    /// Status of the member.
    pub standing: MemberStatus,
}

/// Status of a ring member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberStatus {
    /// The member is up, and owns its tokens.
    Normal,
    /// The member is down, and owns its tokens.
    Down,
    /// The member is streaming the data that it will own.
    Joining,
    /// The member is streaming its data to other nodes.
    Leaving,
    /// The member is changing its tokens.
    Moving,
}

impl MemberStatus {
    /// Returns a description of the status: `up and normal`, `down`, `joining`, `leaving` or
    /// `moving`.
    pub fn words(self) -> &'static str {
        match self {
            MemberStatus::Normal => "up and normal",
            MemberStatus::Down => "down",
            MemberStatus::Joining => "joining",
            MemberStatus::Leaving => "leaving",
            MemberStatus::Moving => "moving",
        }
    }
}

impl NodeControl {
    /// Requests the members of the ring from the node.
    ///
    /// # Errors
    /// The node does not answer within `limit`.
    pub fn members(&self, limit: Duration) -> Result<Members> {
        let answers = self.0.with_limit(limit).read(&ATTRIBUTES)?;
        members_of(&answers).context("the node does not report the members of the ring")
    }
}

/// Parses the answers to [`ATTRIBUTES`]. Returns `None` if an answer is missing.
fn members_of(answers: &[Option<Value>]) -> Option<Members> {
    let answer = |index: usize| answers.get(index)?.as_ref();
    let nodes = |index: usize| -> Option<Vec<SocketAddr>> {
        let all = answer(index)?.as_array()?.iter();
        all.map(|one| address_of(one.as_str()?)).collect()
    };
    let (live, joining, leaving, moving) = (nodes(2)?, nodes(3)?, nodes(4)?, nodes(5)?);
    let member = |(name, host_id): (&String, &Value)| {
        let address = address_of(name)?;
        let standing = match () {
            () if joining.contains(&address) => MemberStatus::Joining,
            () if leaving.contains(&address) => MemberStatus::Leaving,
            () if moving.contains(&address) => MemberStatus::Moving,
            () if live.contains(&address) => MemberStatus::Normal,
            () => MemberStatus::Down,
        };
        let host_id = host_id.as_str()?.to_owned();
        Some((address, Member { host_id, standing }))
    };
    let all = answer(1)?.as_object()?.iter();
    Some(Members {
        mode: answer(0)?.as_str()?.to_owned(),
        streams_count: answer(6)?.as_array()?.len(),
        all: all.map(member).collect::<Option<_>>()?,
    })
}

/// Parses an address such as `10.0.0.1:7000`. Java may write a slash before the address.
fn address_of(name: &str) -> Option<SocketAddr> {
    name.trim_start_matches('/').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_member_stands_where_the_lists_have_it() {
        let ids = json!({
            "10.0.0.1:7000": "a", "10.0.0.2:7000": "b", "10.0.0.3:7000": "c", "10.0.0.4:7000": "d",
        });
        let mut answers = [
            json!("NORMAL"),
            ids,
            json!(["10.0.0.1:7000", "/10.0.0.3:7000", "10.0.0.4:7000"]),
            json!(["10.0.0.4:7000"]),
            json!(["10.0.0.3:7000"]),
            json!([]),
            json!([{"planId": "x"}]),
        ]
        .map(Some);
        let found = members_of(&answers).unwrap();
        assert_eq!((found.mode.as_str(), found.streams_count), ("NORMAL", 1));
        let standings: Vec<MemberStatus> = found.all.values().map(|one| one.standing).collect();
        use MemberStatus::{Down, Joining, Leaving, Normal};
        assert_eq!(standings, [Normal, Down, Leaving, Joining]);
        assert_eq!(found.all.values().next().unwrap().host_id, "a");
        answers[2] = None;
        assert_eq!(members_of(&answers), None, "the live nodes are unknown");
    }
}
