//! Assigns the node parts of an export to the nodes of a cluster.
//!
//! An SSTable contains rows of the token ranges that its node stored. On a node with other ranges,
//! no read would find its rows. So a part fits a node only if both have the same ranges, as in
//! rings with the same tokens, racks and replication, and in rings in which every node stores all
//! data.

use super::export_json::Export;
use anyhow::{Result, bail};
use cassandra::{NodeInfo, Replication, Ring};
use measure::number::counted;

/// Merged token ranges of a node in ascending order, each with a start position and an exclusive
/// end.
type NodeRanges = Vec<(u128, u128)>;

/// Assignment of parts to nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fitting {
    /// Index of each node's part.
    pub parts: Vec<usize>,
    /// Indices of unassigned parts, each with the index of an assigned part with the same ranges.
    pub left_out: Vec<(usize, usize)>,
}

/// Finds the part for each of `nodes`, for a keyspace with this `replication`.
///
/// # Errors
/// A node needs ranges that no part has, or a part has ranges that no node stores. The message
/// contains the command that starts a matching cluster.
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
    // Nodes first get parts with equal tokens, then other matching parts.
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
        "which own other ranges of the data (other tokens, racks or data centers)".to_owned()
    } else {
        "which own other ranges of the data".to_owned()
    };
    format!(
        "the export is of {}, and this cluster has {}, {what}: reads would not find the rows of at \
         least one node, so cassay copied nothing\nhint: `cassay target up --like FROM` starts a \
         cluster whose nodes own the same ranges",
        tokens(&members),
        tokens(nodes)
    )
}

/// Returns the token ranges that each node of a ring stores.
fn held(nodes: &[NodeInfo], replication: &Replication) -> Vec<NodeRanges> {
    let ring = Ring::new(nodes);
    let mut all: Vec<NodeRanges> = vec![Vec::new(); nodes.len()];
    for index in 0..ring.ranges_count() {
        let (after, up_to) = ring.range(index);
        let (begin, end) = (position(after) + 1, position(up_to) + 1);
        for node in ring.replicas(index, replication) {
            if begin < end {
                all[node].push((begin, end));
            } else {
                // This range wraps around the ring, so it is split.
                all[node].extend([(0, end), (begin, RING_END)]);
            }
        }
    }
    all.into_iter().map(joined).collect()
}

/// Exclusive end of the last range.
const RING_END: u128 = 1 << 64;

/// Returns the position of a token on the ring, counted from 0.
fn position(token: i64) -> u128 {
    u128::from(token.cast_unsigned() ^ (1 << 63))
}

fn joined(mut ranges: NodeRanges) -> NodeRanges {
    ranges.retain(|(begin, end)| begin < end);
    ranges.sort_unstable();
    let mut joined: NodeRanges = Vec::with_capacity(ranges.len());
    for (begin, end) in ranges {
        match joined.last_mut() {
            Some(last) if last.1 >= begin => last.1 = last.1.max(end),
            _ => joined.push((begin, end)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::ring_of_test as ring;
    use crate::snapshot::export_json::tests::export;

    fn nodes(tokens: &[Vec<i64>]) -> Vec<NodeInfo> {
        let names: Vec<String> = (1..=tokens.len()).map(|n| format!("here{n}")).collect();
        let each = names.iter().zip(tokens);
        let all: Vec<(&str, &[i64])> = each.map(|(name, one)| (name.as_str(), &one[..])).collect();
        export(&all).members()
    }

    fn from(tokens: &[Vec<i64>], copies: usize) -> Export {
        let names: Vec<String> = (1..=tokens.len()).map(|n| format!("node{n}")).collect();
        let each = names.iter().zip(tokens);
        let all: Vec<(&str, &[i64])> = each.map(|(name, one)| (name.as_str(), &one[..])).collect();
        let mut export = export(&all);
        for node in &mut export.nodes {
            node.manifest.schema[0] =
                node.manifest.schema[0].replace("'1'", &format!("'{copies}'"));
        }
        export
    }

    fn fitted(export: &Export, tokens: &[Vec<i64>], copies: usize) -> Result<Fitting> {
        fit(export, &nodes(tokens), &Replication::Simple(copies))
    }

    #[test]
    fn nodes_of_the_same_ring_get_their_parts_in_whatever_order() {
        let ring = ring(3, 4);
        let one = fitted(&from(&ring, 1), &ring, 1).unwrap();
        assert_eq!((one.parts, one.left_out), (vec![0, 1, 2], Vec::new()));
        let turned = [ring[2].clone(), ring[0].clone(), ring[1].clone()];
        let found = fitted(&from(&ring, 2), &turned, 2).unwrap();
        assert_eq!(found.parts, [2, 0, 1]);
    }

    #[test]
    fn where_every_node_holds_everything_any_part_fits() {
        // Same number of nodes, other tokens.
        let found = fitted(&from(&ring(2, 4), 2), &ring(2, 16), 2).unwrap();
        assert_eq!((found.parts, found.left_out), (vec![0, 1], Vec::new()));
        // With more nodes than in the export, two nodes get the same part. With fewer, a part is
        // omitted and reported.
        let more = fitted(&from(&ring(1, 4), 1), &ring(2, 4), 3).unwrap();
        assert_eq!(more.parts, [0, 0]);
        let less = fitted(&from(&ring(2, 4), 2), &ring(1, 1), 1).unwrap();
        assert_eq!((less.parts, less.left_out), (vec![0], vec![(1, 0)]));
    }

    #[test]
    fn other_ranges_are_refused_with_the_way_out() {
        let of_three = from(&ring(3, 4), 1);
        let cases = [
            (
                ring(2, 4),
                1,
                "3 nodes with 4 tokens, and this cluster has 2 nodes with 4 tokens",
            ),
            (ring(3, 16), 1, "3 nodes with 16 tokens"),
            // Same ring, other replication factor.
            (ring(3, 4), 2, "other ranges"),
            // More replicas than in the export.
            (ring(3, 4), 3, "other ranges"),
        ];
        for (tokens, copies, part) in cases {
            let error = fitted(&of_three, &tokens, copies).unwrap_err().to_string();
            assert!(error.contains(part), "{part}: {error}");
            assert!(error.contains("target up --like FROM"), "{error}");
        }
    }

    #[test]
    fn ranges_are_joined_around_the_ring_and_where_they_touch() {
        let whole = held(&nodes(&[vec![17]]), &Replication::Simple(1));
        assert_eq!(whole, [vec![(0, RING_END)]]);
        let quarter = 1i64 << 62;
        let found = held(
            &nodes(&[vec![-quarter, 0], vec![quarter]]),
            &Replication::Simple(1),
        );
        let at = |token: i64| position(token) + 1;
        assert_eq!(found[0], [(0, at(0)), (at(quarter), RING_END)]);
        assert_eq!(found[1], [(at(0), at(quarter))]);
    }
}
