//! Replicas of each token range, and each node's share of the data.
//!
//! This module computes replicas from tokens, racks and a replication strategy in the same way as
//! Cassandra 4.0 to 5.0 (`SimpleStrategy`, `NetworkTopologyStrategy`). Clockwise from a token, the
//! replicas are:
//!
//! - `SimpleStrategy`: the first distinct nodes, regardless of data center and rack;
//! - `NetworkTopologyStrategy`: in each data center, the first nodes of unused racks. A node of a
//!   used rack is taken only if enough replicas remain for all unused racks.
//!
//! Invariants: shares are exact fractions of 2^64 until the last division. If the ring has enough
//! nodes, the shares of a keyspace add up to its number of replicas.

use crate::node_info::NodeInfo;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;

/// Number of positions on the ring. Murmur3 tokens have 64 bits.
const RING: u128 = 1 << 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replication {
    Simple(usize),
    ByDatacenter(BTreeMap<String, usize>),
    /// Every node stores all data.
    Everywhere,
    /// Every node stores only its own data, without replicas.
    Local,
}

impl Replication {
    /// Parses the map in `system_schema.keyspaces`, which contains `class` and the options of the
    /// strategy.
    ///
    /// # Errors
    /// The strategy is not one of Cassandra's own, or a number of replicas is not an integer.
    pub fn parse(options: &BTreeMap<String, String>) -> Result<Replication> {
        let class = options.get("class").context("the replication options contain no class")?;
        let copies = |(name, text): (&String, &String)| -> Result<usize> {
            // `3/1` means three replicas, one of them transient. The node of a transient replica
            // also stores the range.
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

#[derive(Clone, Debug)]
pub struct Ring {
    tokens: Vec<(i64, usize)>,
    places: Vec<RackId>,
    datacenters: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
struct RackId {
    datacenter: usize,
    /// Index of the rack among the racks of all data centers. Equal rack names in two data centers
    /// have different indices.
    rack: usize,
}

/// Number of replicas of a range that a data center still needs.
#[derive(Clone, Copy, Debug)]
struct Remaining {
    copies: usize,
    /// Number of nodes in used racks that can be taken before every rack has a replica.
    repeats: usize,
}

impl Ring {
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
        // Two nodes never own the same token. If two nodes claim the same token, the first node
        // keeps it.
        tokens.dedup_by_key(|(token, _)| *token);
        Ring {
            tokens,
            places,
            datacenters,
        }
    }

    pub fn ranges_count(&self) -> usize {
        self.tokens.len()
    }

    /// Returns the range that ends at the token with this index. The range excludes its first
    /// token, and includes its second one.
    pub fn range(&self, index: usize) -> (i64, i64) {
        let before = index.checked_sub(1).unwrap_or(self.tokens.len() - 1);
        (self.tokens[before].0, self.tokens[index].0)
    }

    /// Returns the indices of the nodes that replicate the range with this index. The first one is
    /// the range's owner.
    pub fn replicas(&self, index: usize, replication: &Replication) -> Vec<usize> {
        match replication {
            Replication::Simple(copies) => self.distinct_from(index, *copies),
            Replication::Everywhere => self.distinct_from(index, self.places.len()),
            Replication::Local => vec![self.tokens[index].1],
            Replication::ByDatacenter(copies) => self.spread_from(index, &self.demand(copies)),
        }
    }

    /// Returns the indices of the nodes that replicate this token. The first one is the token's
    /// owner. Returns an empty list for an empty ring.
    pub fn replicas_of(&self, token: i64, replication: &Replication) -> Vec<usize> {
        if self.tokens.is_empty() {
            return Vec::new();
        }
        // A range includes its end token. A token after the last one is in the first range.
        let index = self.tokens.partition_point(|(up_to, _)| *up_to < token);
        self.replicas(index % self.tokens.len(), replication)
    }

    /// Returns each node's share of the data. A share of 1.0 is a complete copy. `nodetool status
    /// KEYSPACE` shows this share as effective ownership.
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
        owned.iter().map(|size| *size as f64 / RING as f64).collect()
    }

    /// Returns each node's share of the primary token ranges. The shares add up to 1.
    pub fn primary_shares(&self) -> Vec<f64> {
        self.shares(&Replication::Simple(1))
    }

    fn size(&self, index: usize) -> u128 {
        let (after, to) = self.range(index);
        match to.wrapping_sub(after).cast_unsigned() {
            // The range of a single token is the whole ring.
            0 => RING,
            size => u128::from(size),
        }
    }

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

fn index_of<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    let found = list.iter().position(|known| *known == item);
    found.unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

#[cfg(test)]
mod tests;
