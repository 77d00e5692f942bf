//! Which node of a cluster a node's part of an export is for.
//!
//! An SSTable has rows of the ranges that its node held, and a node that is given rows of other
//! ranges keeps them where no read looks for them. So a part fits a node exactly if both hold the
//! same ranges: in rings with the same tokens, racks and copies, and in any two where every node
//! holds everything.

use super::exported::Export;
use crate::node::NodeInfo;
use crate::ring::{Replication, Ring};
use anyhow::{Result, bail};
use measure::number::counted;

/// What a node holds: parts of the ring from a position to before another, ascending, none of which
/// touches the next.
type Held = Vec<(u128, u128)>;

/// Which part each node gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fitting {
    /// By node, the index of its part.
    pub parts: Vec<usize>,
    /// Parts that nobody gets, each with the one that holds the same.
    pub left_out: Vec<(usize, usize)>,
}

/// Finds the part of each of `nodes`, whose keyspace is copied as `replication` says.
///
/// # Errors
/// A node holds what no part has, or a part has what no node holds; and what would fit.
pub(super) fn fit(
    export: &Export,
    nodes: &[NodeInfo],
    replication: &Replication,
) -> Result<Fitting> {
    let members = export.members();
    let theirs = held(&members, &export.replication()?);
    let ours = held(nodes, replication);
    let mut parts: Vec<Option<usize>> = vec![None; nodes.len()];
    let mut taken = vec![false; theirs.len()];
    // First those that are the same node in all but its address, then the others in their order.
    let is_same = |node: usize, part: usize| nodes[node].tokens == members[part].tokens;
    for only_same in [true, false] {
        for node in 0..nodes.len() {
            let fits = |part: &usize| {
                theirs[*part] == ours[node] && (!only_same || is_same(node, *part)) && !taken[*part]
            };
            if parts[node].is_none()
                && let Some(part) = (0..theirs.len()).find(fits)
            {
                taken[part] = true;
                parts[node] = Some(part);
            }
        }
    }
    let again = |node: usize| theirs.iter().position(|held| *held == ours[node]);
    let all = parts.into_iter().enumerate().map(|(node, part)| part.or_else(|| again(node)));
    let Some(parts) = all.collect::<Option<Vec<usize>>>() else {
        bail!(refusal(export, nodes));
    };
    let mut left_out = Vec::new();
    for part in (0..theirs.len()).filter(|part| !taken[*part]) {
        match parts.iter().find(|one| theirs[**one] == theirs[part]) {
            Some(same) => left_out.push((part, *same)),
            None => bail!(refusal(export, nodes)),
        }
    }
    Ok(Fitting { parts, left_out })
}

fn refusal(export: &Export, nodes: &[NodeInfo]) -> String {
    let tokens = |nodes: &[NodeInfo]| {
        let count = nodes.first().map_or(0, |node| node.tokens.len());
        format!(
            "{} with {}",
            counted(nodes.len(), "node"),
            counted(count, "token")
        )
    };
    let members = export.members();
    let what = if members.len() == nodes.len() {
        "which hold other ranges of the data (other tokens, racks or data centers)".to_owned()
    } else {
        "which hold other ranges of the data".to_owned()
    };
    format!(
        "the export is of {}, and this cluster has {}, {what}: SSTables of one node would be where \
         no read looks for them, so nothing was copied\nhint: `cassay target up --like FROM` starts \
         a cluster whose nodes hold what these held",
        tokens(&members),
        tokens(nodes)
    )
}

/// What each node of a ring holds.
fn held(nodes: &[NodeInfo], replication: &Replication) -> Vec<Held> {
    let ring = Ring::new(nodes);
    let mut all: Vec<Held> = vec![Vec::new(); nodes.len()];
    for index in 0..ring.ranges_count() {
        let (after, up_to) = ring.range(index);
        let (begin, end) = (position(after) + 1, position(up_to) + 1);
        for node in ring.replicas(index, replication) {
            if begin < end {
                all[node].push((begin, end));
            } else {
                // Around the end of the ring.
                all[node].extend([(0, end), (begin, RING_END)]);
            }
        }
    }
    all.into_iter().map(joined).collect()
}

/// Behind the last position.
const RING_END: u128 = 1 << 64;

/// Where a token is on the ring, from 0.
fn position(token: i64) -> u128 {
    u128::from(token.cast_unsigned() ^ (1 << 63))
}

/// Ranges in their order, those that touch made one.
fn joined(mut ranges: Held) -> Held {
    ranges.retain(|(begin, end)| begin < end);
    ranges.sort_unstable();
    let mut joined: Held = Vec::with_capacity(ranges.len());
    for (begin, end) in ranges {
        match joined.last_mut() {
            Some(last) if last.1 >= begin => last.1 = last.1.max(end),
            _ => joined.push((begin, end)),
        }
    }
    joined
}
