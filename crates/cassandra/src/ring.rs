//! Replicas of each token range, and each node's share of the data.
//!
//! This module computes replicas only from tokens, racks and a replication strategy, as Cassandra
//! 4.0 to 5.0 does it (`SimpleStrategy`, `NetworkTopologyStrategy`). From a token onwards around
//! the ring, the replicas are:
//!
//! - simple: the first distinct nodes, regardless of their data center and rack;
//! - by data center: in each data center the first nodes of racks not yet used. A node of a used
//!   rack is taken only while enough replicas remain for every unused rack.
//!
//! Invariants: shares are exact fractions of 2^64 until the last division. If the ring has enough
//! nodes, the shares of a keyspace add up to its number of replicas.

use crate::node_info::NodeInfo;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;

/// Number of positions on the ring. Murmur3 tokens have 64 bits, and the ring wraps around.
const RING: u128 = 1 << 64;

/// Replication of a keyspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replication {
    /// Number of replicas, regardless of data centers.
    Simple(usize),
    /// Number of replicas by data center.
    ByDatacenter(BTreeMap<String, usize>),
    /// Every node has all data.
    Everywhere,
    /// Every node stores only its own data, without replicas on other nodes.
    Local,
}

impl Replication {
    /// Parses the map in `system_schema.keyspaces`: `class` and the options of the strategy.
    ///
    /// # Errors
    /// The strategy is not one of Cassandra's own, or a number of replicas is not an integer.
    pub fn parse(options: &BTreeMap<String, String>) -> Result<Replication> {
        let class = options.get("class").context("the replication options contain no class")?;
        let copies = |(name, text): (&String, &String)| -> Result<usize> {
            // `3/1` means three replicas. One of them is transient, but its node still stores the
            // range.
            let whole = text.split('/').next().unwrap_or_default();
            let number = whole.parse();
            number.with_context(|| {
                format!(
                    "the number of replicas for {name:?} in the replication options is {text:?}, \
                     which is not a number"
                )
            })
        };
        match class.rsplit('.').next().unwrap_or_default() {
            "SimpleStrategy" => {
                let found = options.get_key_value("replication_factor");
                Ok(Replication::Simple(copies(found.context(
                    "the options of SimpleStrategy contain no replication_factor, the number of \
                     replicas",
                )?)?))
            }
            "NetworkTopologyStrategy" => {
                let datacenters = options.iter().filter(|(name, _)| *name != "class");
                let each = datacenters.map(|one| Ok((one.0.clone(), copies(one)?)));
                Ok(Replication::ByDatacenter(each.collect::<Result<_>>()?))
            }
            "EverywhereStrategy" => Ok(Replication::Everywhere),
            "LocalStrategy" => Ok(Replication::Local),
            _ => bail!(
                "cassay does not support the replication strategy {class}, so it cannot determine \
                 the owners of the data"
            ),
        }
    }
}

/// Token ring of a cluster, with the data center and the rack of each node.
#[derive(Clone, Debug)]
pub struct Ring {
    /// Tokens in ascending order, each with the index of its node.
    tokens: Vec<(i64, usize)>,
    /// Data center and rack of each node, as indices.
    places: Vec<RackId>,
    /// Names of the data centers. The field `datacenter` of a [`RackId`] is an index into this
    /// list.
    datacenters: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
struct RackId {
    datacenter: usize,
    /// Index of the rack among the racks of all data centers. Racks with the same name in two data
    /// centers have different indices.
    rack: usize,
}

/// Number of replicas that a data center still needs for a range.
#[derive(Clone, Copy, Debug)]
struct Remaining {
    copies: usize,
    /// Number of nodes of used racks that may still be taken before every rack has a replica.
    repeats: usize,
}

impl Ring {
    /// Builds the ring of `nodes`. The index of a node is its position in `nodes`.
    pub fn new(nodes: &[NodeInfo]) -> Ring {
        let mut datacenters: Vec<String> = Vec::new();
        let mut racks: Vec<(usize, &str)> = Vec::new();
        let mut places = Vec::with_capacity(nodes.len());
        let mut tokens = Vec::new();
        for (index, node) in nodes.iter().enumerate() {
            let datacenter = index_of(&mut datacenters, node.datacenter.clone());
            let rack = index_of(&mut racks, (datacenter, node.rack.as_str()));
            places.push(RackId { datacenter, rack });
            tokens.extend(node.tokens.iter().map(|token| (*token, index)));
        }
        tokens.sort_unstable();
        // Nodes of a ring never share a token. If two nodes claim the same token, the first node
        // keeps it.
        tokens.dedup_by_key(|(token, _)| *token);
        Ring {
            tokens,
            places,
            datacenters,
        }
    }

    /// Returns the number of token ranges.
    pub fn ranges_count(&self) -> usize {
        self.tokens.len()
    }

    /// Returns the range that ends at the token with this index, as `(after, up to and including]`.
    pub fn range(&self, index: usize) -> (i64, i64) {
        let before = index.checked_sub(1).unwrap_or(self.tokens.len() - 1);
        (self.tokens[before].0, self.tokens[index].0)
    }

    /// Returns the indices of the nodes that store the range with this index, beginning with the
    /// owner of the range.
    pub fn replicas(&self, index: usize, replication: &Replication) -> Vec<usize> {
        match replication {
            Replication::Simple(copies) => self.distinct_from(index, *copies),
            Replication::Everywhere => self.distinct_from(index, self.places.len()),
            Replication::Local => vec![self.tokens[index].1],
            Replication::ByDatacenter(copies) => self.spread_from(index, &self.demand(copies)),
        }
    }

    /// Returns the indices of the nodes that store this token, beginning with the owner of the
    /// token. Returns an empty list if the ring is empty.
    pub fn replicas_of(&self, token: i64, replication: &Replication) -> Vec<usize> {
        if self.tokens.is_empty() {
            return Vec::new();
        }
        // A range includes its end token. A token after the last one belongs to the first range.
        let index = self.tokens.partition_point(|(up_to, _)| *up_to < token);
        self.replicas(index % self.tokens.len(), replication)
    }

    /// Returns each node's share of the data. A node with a share of 1.0 stores a complete copy.
    /// For a keyspace, `nodetool status` calls this share effective ownership.
    pub fn shares(&self, replication: &Replication) -> Vec<f64> {
        let mut owned = vec![0u128; self.places.len()];
        let demand = match replication {
            Replication::ByDatacenter(copies) => Some(self.demand(copies)),
            _ => None,
        };
        for index in 0..self.tokens.len() {
            let size = self.size(index);
            let replicas = match &demand {
                Some(demand) => self.spread_from(index, demand),
                None => self.replicas(index, replication),
            };
            for node in replicas {
                owned[node] += size;
            }
        }
        // The conversion is exact for up to 2^53 parts of the ring, which is far finer than any
        // displayed value.
        owned.iter().map(|size| *size as f64 / RING as f64).collect()
    }

    /// Returns each node's share of the ring, by its primary token ranges. The shares add up to 1.
    pub fn primary_shares(&self) -> Vec<f64> {
        self.shares(&Replication::Simple(1))
    }

    /// Returns the number of positions in a range.
    fn size(&self, index: usize) -> u128 {
        let (after, to) = self.range(index);
        match to.wrapping_sub(after).cast_unsigned() {
            // The range of a single token is the whole ring.
            0 => RING,
            size => u128::from(size),
        }
    }

    /// Iterates over the owners of all tokens, beginning with this token.
    fn walk(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let (before, from) = self.tokens.split_at(index);
        from.iter().chain(before).map(|(_, node)| *node)
    }

    fn distinct_from(&self, index: usize, count: usize) -> Vec<usize> {
        let mut replicas = Vec::with_capacity(count.min(self.places.len()));
        for node in self.walk(index) {
            if replicas.len() >= count {
                break;
            }
            if !replicas.contains(&node) {
                replicas.push(node);
            }
        }
        replicas
    }

    /// Returns the number of replicas that each data center needs for every range.
    fn demand(&self, copies: &BTreeMap<String, usize>) -> Vec<Remaining> {
        let of = |(index, name): (usize, &String)| {
            let here = |node: &usize| self.places[*node].datacenter == index;
            let mut nodes: Vec<usize> = self.tokens.iter().map(|(_, node)| *node).collect();
            nodes.sort_unstable();
            nodes.dedup();
            nodes.retain(here);
            let mut racks: Vec<usize> = nodes.iter().map(|n| self.places[*n].rack).collect();
            racks.sort_unstable();
            racks.dedup();
            let wanted = copies.get(name).copied().unwrap_or(0);
            Remaining {
                copies: wanted.min(nodes.len()),
                repeats: wanted.saturating_sub(racks.len()),
            }
        };
        self.datacenters.iter().enumerate().map(of).collect()
    }

    fn spread_from(&self, index: usize, demand: &[Remaining]) -> Vec<usize> {
        let mut left = demand.to_vec();
        let mut wanted: usize = left.iter().map(|left| left.copies).sum();
        let mut replicas = Vec::with_capacity(wanted);
        let mut racks: Vec<usize> = Vec::with_capacity(wanted);
        for node in self.walk(index) {
            if wanted == 0 {
                break;
            }
            let place = self.places[node];
            let left = &mut left[place.datacenter];
            if left.copies == 0 || replicas.contains(&node) {
                continue;
            }
            if racks.contains(&place.rack) {
                if left.repeats == 0 {
                    continue;
                }
                left.repeats -= 1;
            } else {
                racks.push(place.rack);
            }
            left.copies -= 1;
            wanted -= 1;
            replicas.push(node);
        }
        replicas
    }
}

/// Returns the index of an item in a list. Appends the item if it is new.
fn index_of<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    let found = list.iter().position(|known| *known == item);
    found.unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

#[cfg(test)]
mod tests;
