//! Reads the nodes' views of each other during a fault from the readings of the probe.

use analysis::recovery::{Looks, NodeReadings};
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use store::Trial;
use store::record::NodesRecord;

/// Name of the probe that reads the MBeans of Cassandra.
const PROBE: &str = "cassandra";
/// Series that has a value at every reading of the MBeans.
const EVERY_LOOK: &str = "hints.in_progress";

pub struct NodeWatch {
    pub watched: NodeReadings,
    pub hosts: BTreeMap<String, String>,
    /// Shortest time for which a node keeps hints for another node that is down, in seconds. `None`
    /// if no node reports it, or if a node reports an invalid duration.
    pub hint_window_s: Option<f64>,
}

impl NodeWatch {
    /// Reads the readings of a trial.
    ///
    /// # Errors
    /// A line is damaged.
    pub fn read(trial: &Trial) -> Result<NodeWatch> {
        let mut watched = NodeReadings::new();
        let is_probed = trial.probes()?.iter().any(|probe| probe == PROBE);
        if is_probed {
            for sample in trial.samples(PROBE)? {
                let sample = sample?;
                let at = (sample.t_s, sample.value);
                let Some(series) = series(&sample.name) else {
                    continue;
                };
                let looks = watched.entry(sample.place).or_default();
                match series {
                    Of::SampledSource => looks.at_s.push(at.0),
                    Of::Series(series) => series(looks).push(at),
                }
            }
        }
        let nodes = trial.nodes()?.unwrap_or_default();
        Ok(NodeWatch {
            watched,
            hint_window_s: hint_window_s(&nodes),
            hosts: nodes.nodes.into_iter().map(|node| (node.name, node.host)).collect(),
        })
    }

    /// Returns true if `place`, which contains names of nodes or hosts, includes this node.
    pub fn is_at(&self, node: &str, place: &str) -> bool {
        let host = self.hosts.get(node);
        let named = place.split([' ', ',', '/', '|']);
        let mut named = named.filter(|word| !word.is_empty());
        named.any(|word| word == node || host.is_some_and(|host| word == host))
    }
}

/// Meaning of a series.
enum Of {
    /// The series has a value at every reading, so it shows that the node was read.
    SampledSource,
    /// The series contains values of the field that this function returns.
    Series(fn(&mut Looks) -> &mut Vec<(f64, f64)>),
}

fn series(name: &str) -> Option<Of> {
    Some(match name {
        EVERY_LOOK => Of::SampledSource,
        "gossip.unreachable" => Of::Series(|looks| &mut looks.unreachable),
        "hints.pending" => Of::Series(|looks| &mut looks.pending),
        "hints.total/s" => Of::Series(|looks| &mut looks.stored_per_s),
        "hints.delivered/s" => Of::Series(|looks| &mut looks.delivered_per_s),
        "hints.failed/s" | "hints.timed_out/s" => Of::Series(|looks| &mut looks.undelivered_per_s),
        "streams.received_bytes/s" => Of::Series(|looks| &mut looks.streamed_per_s),
        _ => return None,
    })
}

fn hint_window_s(nodes: &NodesRecord) -> Option<f64> {
    let windows = nodes.nodes.iter().map(|node| window_of(&node.settings));
    // If the duration of one node is unknown, the shortest duration is also unknown.
    let known = windows.collect::<Result<Vec<Option<f64>>>>().ok()?;
    known.into_iter().flatten().min_by(f64::total_cmp)
}

/// Returns the hint window of a node with these settings, in seconds. Returns `None` if the
/// settings do not contain it.
///
/// # Errors
/// The value is not a duration.
fn window_of(settings: &BTreeMap<String, String>) -> Result<Option<f64>> {
    if settings.get("hinted_handoff_enabled").is_some_and(|on| on == "false") {
        return Ok(Some(0.0));
    }
    if let Some(text) = settings.get("max_hint_window") {
        return seconds(text).map(Some);
    }
    // Before Cassandra 4.1, the setting had this name.
    match settings.get("max_hint_window_in_ms") {
        Some(text) => seconds(&format!("{text}ms")).map(Some),
        None => Ok(None),
    }
}

/// Parses a duration in Cassandra's format, such as `3h` or `10800000ms`.
fn seconds(text: &str) -> Result<f64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => bail!("{text:?} is not a duration"),
    };
    Ok(number.parse::<f64>()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::record::NodeRecord;

    #[test]
    fn a_node_is_broken_by_its_own_name_and_by_that_of_its_host() {
        let kept = NodeWatch {
            watched: NodeReadings::new(),
            hosts: BTreeMap::from([
                ("node1".to_owned(), "host1".to_owned()),
                ("node3".to_owned(), String::new()),
            ]),
            hint_window_s: None,
        };
        for place in ["node1", "host1", "host2, host1"] {
            assert!(kept.is_at("node1", place), "{place}");
        }
        for place in ["node11", "host2", ""] {
            assert!(!kept.is_at("node1", place), "{place}");
            assert!(!kept.is_at("node3", place), "{place}");
        }
    }

    #[test]
    fn the_shortest_window_of_any_node_counts_and_off_means_none() {
        let node = |settings: &[(&str, &str)]| NodeRecord {
            settings: settings
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            ..NodeRecord::default()
        };
        let window = |nodes: Vec<NodeRecord>| {
            hint_window_s(&NodesRecord {
                nodes,
                ..NodesRecord::default()
            })
        };
        let long = || {
            node(&[
                ("max_hint_window", "3h"),
                ("hinted_handoff_enabled", "true"),
            ])
        };
        assert_eq!(
            window(vec![long(), node(&[("max_hint_window", "30m")])]),
            Some(1800.0)
        );
        assert_eq!(
            window(vec![node(&[("max_hint_window_in_ms", "10800000")])]),
            Some(10_800.0)
        );
        let off = node(&[("hinted_handoff_enabled", "false")]);
        assert_eq!(window(vec![long(), off]), Some(0.0));
        let unknown = node(&[("max_hint_window", "soon")]);
        assert_eq!(window(vec![long(), unknown]), None);
        assert_eq!(window(vec![node(&[("max_hint_window", "soon")])]), None);
        assert_eq!(window(Vec::new()), None);
    }
}
