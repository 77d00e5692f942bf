//! Verifies the complete replication of a keyspace. Replicas in an additional data center also
//! count as a difference.

use crate::settings::compare_settings::plain;
use crate::settings::outcome::{Effect, Proof};
use cql::Value;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// Strategy class without its package, and number of replicas. The key is a data center or
/// [`EVERYWHERE`].
#[derive(Clone, Debug, PartialEq)]
struct Replication {
    class: String,
    copies: BTreeMap<String, String>,
}

/// SimpleStrategy's option for its number of replicas. NetworkTopologyStrategy applies this option
/// to all data centers that exist when the keyspace is created.
const EVERYWHERE: &str = "replication_factor";

impl Replication {
    fn from_entries(entries: impl Iterator<Item = (String, String)>) -> Replication {
        let mut found = Replication {
            class: String::new(),
            copies: BTreeMap::new(),
        };
        for (key, value) in entries {
            if key == "class" {
                found.class = value.rsplit('.').next().unwrap_or_default().to_owned();
            } else {
                found.copies.insert(key, value);
            }
        }
        found
    }

    /// Replaces [`EVERYWHERE`] by an entry for each data center in `shown`.
    fn spread(mut self, shown: &Replication) -> Replication {
        if self.class == "NetworkTopologyStrategy"
            && let Some(copies) = self.copies.remove(EVERYWHERE)
        {
            for datacenter in shown.copies.keys() {
                let own = self.copies.entry(datacenter.clone());
                own.or_insert_with(|| copies.clone());
            }
        }
        self
    }

    fn words(&self) -> String {
        let copies = self.copies.iter().map(|(place, count)| format!(" {place}={count}"));
        format!("{}{}", self.class, copies.collect::<String>())
    }
}

pub(super) fn proof(
    node: &str,
    whose: &str,
    source: &'static str,
    wanted: &Map<String, Json>,
    shown: &[(Value, Value)],
) -> Proof {
    let wanted = wanted.iter().map(|(key, value)| (key.clone(), plain(value)));
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let shown = shown.iter();
    let shown = Replication::from_entries(
        shown.filter_map(|(key, value)| Some((text(key)?, text(value)?))),
    );
    let wanted = Replication::from_entries(wanted);
    let words = wanted.words();
    let holds = wanted.spread(&shown) == shown;
    Proof {
        node: node.to_owned(),
        key: format!("{whose} replication"),
        wanted: words,
        effect: Effect::from_comparison(Some((shown.words(), holds)), ""),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_replication_is_that_which_was_asked_for_or_another() {
        let simple = [
            ("class", "org.apache.cassandra.locator.SimpleStrategy"),
            (EVERYWHERE, "1"),
        ];
        let topology = [
            (
                "class",
                "org.apache.cassandra.locator.NetworkTopologyStrategy",
            ),
            ("dc1", "2"),
            ("dc2", "2"),
        ];
        for (wanted, shown, found) in [
            (
                json!({"class": "SimpleStrategy", EVERYWHERE: 1}),
                &simple[..],
                true,
            ),
            (
                json!({"class": "SimpleStrategy", EVERYWHERE: 3}),
                &simple,
                false,
            ),
            (
                json!({"class": "NetworkTopologyStrategy", "dc1": "1"}),
                &simple,
                false,
            ),
            (
                json!({"class": "NetworkTopologyStrategy", "dc1": 2}),
                &topology,
                false,
            ),
            (
                json!({"class": "NetworkTopologyStrategy", "dc1": 2, "dc2": 2}),
                &topology,
                true,
            ),
            (
                json!({"class": "NetworkTopologyStrategy", EVERYWHERE: "2"}),
                &topology,
                true,
            ),
            (
                json!({"class": "NetworkTopologyStrategy", EVERYWHERE: "3"}),
                &topology,
                false,
            ),
        ] {
            let Json::Object(map) = &wanted else {
                panic!("{wanted}")
            };
            let text = |text: &str| Value::Text(text.to_owned());
            let shown: Vec<_> = shown.iter().map(|(k, v)| (text(k), text(v))).collect();
            let proof = proof("n1", "ks", "there", map, &shown);
            assert_eq!(proof.effect.is_proved(), found, "{wanted}: {proof:?}");
        }
    }
}
