//! Colours of hosts and nodes in the charts of one trial.

use crate::page::Color;
use crate::probe_series::{owner, owners};
use crate::run_view::TrialView;
use std::collections::BTreeMap;

/// Colours of hosts and nodes. If a host has only one node, the host and the node have the same
/// colour.
pub struct PlaceColors<'a> {
    index: BTreeMap<&'a str, usize>,
    names: Vec<Vec<&'a str>>,
}

impl<'a> PlaceColors<'a> {
    /// Assigns colours to the hosts and nodes that occur in the trial's series.
    pub fn new(trial: &'a TrialView) -> PlaceColors<'a> {
        let mut places = PlaceColors {
            index: BTreeMap::new(),
            names: Vec::new(),
        };
        let nodes = trial.nodes.iter().flat_map(|n| &n.nodes);
        let host_of: BTreeMap<&str, &str> =
            nodes.map(|n| (n.name.as_str(), n.host.as_str())).collect();
        let alone = |host: &str| host_of.values().filter(|h| **h == host).count() == 1;
        let is_node = |name: &&str| host_of.get(name).is_some_and(|host| host != name);
        let (nodes, hosts): (Vec<&str>, Vec<&str>) = owners(trial).into_iter().partition(is_node);
        for name in hosts.into_iter().chain(nodes) {
            let host = host_of.get(name).copied().unwrap_or(name);
            let shared = places.index.get(host).copied().filter(|_| alone(host));
            let index = shared.unwrap_or(places.names.len());
            if index == places.names.len() {
                places.names.push(Vec::new());
            }
            places.names[index].push(name);
            places.index.insert(name, index);
        }
        places
    }

    /// Returns the index of the colour of a host, a node, or a part of either. Returns 0 for an
    /// unknown place.
    pub fn color(&self, place: &str) -> usize {
        self.index.get(owner(place)).copied().unwrap_or(0)
    }

    /// Returns one entry of the legend for each colour, with the names, the group and the colour of
    /// its places.
    pub fn legend(&self) -> Vec<(String, String, Color)> {
        let entry = |(index, names): (usize, &Vec<&str>)| {
            (names.join(" · "), group(index), Color::Category(index))
        };
        self.names.iter().enumerate().map(entry).collect()
    }
}

/// Returns the name of the group of lines that have the colour `index`.
pub fn group(index: usize) -> String {
    format!("place {index}")
}
