//! Members of a ring as one node reports them by its MBeans: status, and pending joins and leaves.

use crate::fault_handle::NodeControl;
use anyhow::{Context, Result};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

const STORAGE: &str = "org.apache.cassandra.db:type=StorageService";
const STREAMS: &str = "org.apache.cassandra.net:type=StreamManager";

const ATTRIBUTES: [(&str, &str); 7] = [
    (STORAGE, "OperationMode"),
    (STORAGE, "EndpointWithPortToHostId"),
    (STORAGE, "LiveNodesWithPort"),
    (STORAGE, "JoiningNodesWithPort"),
    (STORAGE, "LeavingNodesWithPort"),
    (STORAGE, "MovingNodesWithPort"),
    (STREAMS, "CurrentStreams"),
];

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// Operation mode of the queried node, such as `NORMAL`, `JOINING` or `DECOMMISSIONED`.
    pub mode: String,
    /// Number of active streams of the queried node.
    pub streams_count: usize,
    /// Members of the ring, by internode address.
    pub all: BTreeMap<SocketAddr, Member>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub host_id: String,
    pub standing: MemberStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberStatus {
    /// Up. The member owns its tokens.
    Normal,
    /// Down. The member still owns its tokens.
    Down,
    Joining,
    Leaving,
    Moving,
}

impl MemberStatus {
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
    /// Requests the members of the ring.
    ///
    /// # Errors
    /// The node does not answer within `limit`.
    pub fn members(&self, limit: Duration) -> Result<Members> {
        let answers = self.0.with_limit(limit).read(&ATTRIBUTES)?;
        members_of(&answers).context("the node does not report the members of the ring")
    }
}

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

/// Parses an address such as `10.0.0.1:7000` or `/10.0.0.1:7000`, as Java writes addresses.
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
