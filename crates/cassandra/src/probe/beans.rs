//! Time series from the MBeans of one node. The list of series is fixed, and a sample takes one
//! request.
//!
//! Invariants: a missing MBean has no value. Cassandra registers many MBeans at their first use,
//! with counts from zero. A counter becomes a rate: its increase per second between two samples, at
//! the time of the second sample. The integral of the rate thus equals the increase of the count. A
//! decrease means that the node has restarted, and with it the counter.

use crate::metrics::{Ask, Metrics};
use anyhow::Result;
use host::probe::Out;
use measure::clock::{self, SECOND_NS};
use serde_json::Value;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::time::Duration;

/// Time limit of a sample. The limit exceeds tolerable pauses, but a frozen node delays the end of
/// a trial only briefly.
const LIMIT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, PartialEq)]
pub(super) struct BeanAttribute {
    mbean: String,
    attribute: &'static str,
    /// Key within a composite value. `None` for other values.
    part: Option<&'static str>,
}

impl BeanAttribute {
    /// Creates an attribute whose value is a number, or a list that counts by its length.
    pub fn new(mbean: impl Into<String>, attribute: &'static str) -> BeanAttribute {
        BeanAttribute {
            mbean: mbean.into(),
            attribute,
            part: None,
        }
    }

    /// Creates an attribute for one key of a composite value. A list of composite values counts by
    /// the sum over the list.
    pub fn part(
        mbean: impl Into<String>,
        attribute: &'static str,
        part: &'static str,
    ) -> BeanAttribute {
        BeanAttribute {
            part: Some(part),
            ..BeanAttribute::new(mbean, attribute)
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Conversion {
    /// The value, multiplied by a factor. A negative value is treated as missing.
    Level(BeanAttribute, f64),
    /// The increase per second, multiplied by a factor.
    Rate(BeanAttribute, f64),
    /// The value of the first attribute, multiplied by a factor, but only while the second
    /// attribute increases. Otherwise a percentile would describe samples that are minutes old.
    While(BeanAttribute, BeanAttribute, f64),
    /// The increase of the first attribute per increase of the second one, multiplied by a factor.
    /// Without an increase of the second attribute, the series has no value.
    Share(BeanAttribute, BeanAttribute, f64),
}

impl Conversion {
    fn sources(&self) -> impl Iterator<Item = &BeanAttribute> {
        let (first, second) = match self {
            Conversion::Level(source, _) | Conversion::Rate(source, _) => (source, None),
            Conversion::While(first, second, _) | Conversion::Share(first, second, _) => {
                (first, Some(second))
            }
        };
        std::iter::once(first).chain(second)
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series {
    pub name: String,
    pub unit: &'static str,
    pub kind: Conversion,
}

pub(super) struct Beans {
    metrics: Metrics,
    place: String,
    series: Vec<Series>,
    /// True if an attribute that is missing remains missing until the JVM restarts.
    fixed: bool,
    asked: Option<SeriesRequest>,
    counters: Counters,
}

struct SeriesRequest {
    ask: Box<dyn Ask>,
    /// Index of each attribute's value in the answer. The key consists of the MBean and the
    /// attribute.
    index: HashMap<(String, &'static str), usize>,
    /// True if the request contains all attributes, even those that were missing.
    whole: bool,
}

impl Beans {
    /// Creates a reader for the node `place`. With `fixed`, attributes that the first sample lacks
    /// are requested again only after the node failed to answer.
    pub fn new(metrics: Metrics, place: &str, series: Vec<Series>, fixed: bool) -> Beans {
        Beans {
            metrics,
            place: place.to_string(),
            series,
            fixed,
            asked: None,
            counters: Counters::default(),
        }
    }

    /// # Errors
    /// The node does not answer.
    pub fn look(&mut self, out: &mut Out) -> Result<()> {
        let mut asked = match self.asked.take() {
            Some(asked) => asked,
            None => self.request(|_| true),
        };
        let before_ns = clock::now_ns();
        let answers = asked.ask.ask()?;
        // The node read the values between these two times.
        let at_ns = before_ns.midpoint(clock::now_ns());
        self.put(at_ns, &asked, &answers, out);
        self.asked = Some(if self.fixed && asked.whole {
            let is_there = |source: &BeanAttribute| asked.answer(source, &answers).is_some();
            self.request(is_there)
        } else {
            asked
        });
        Ok(())
    }

    fn request(&self, wanted: impl Fn(&BeanAttribute) -> bool) -> SeriesRequest {
        SeriesRequest::build(&self.metrics, &self.series, wanted)
    }

    fn put(&mut self, at_ns: u64, asked: &SeriesRequest, answers: &[Option<Value>], out: &mut Out) {
        for series in &self.series {
            let value = |source: &BeanAttribute| number_of(asked.answer(source, answers)?, source);
            // An unregistered MBean has a count of zero, so the first count after its registration
            // is an increase.
            let count = |source: &BeanAttribute| value(source).unwrap_or(0.0);
            let counters = &mut self.counters;
            let value = match &series.kind {
                Conversion::Level(source, factor) => {
                    value(source).filter(|n| *n >= 0.0).map(|n| n * factor)
                }
                Conversion::Rate(source, factor) => {
                    let more = counters.increase(&series.name, at_ns, count(source));
                    let there = value(source).and(more);
                    there.map(|more| more.per_second() * factor)
                }
                Conversion::While(first, second, factor) => {
                    let more = counters.increase(&series.name, at_ns, count(second));
                    let moves = more.is_some_and(|more| more.by > 0.0);
                    value(first).filter(|_| moves).map(|n| n * factor)
                }
                Conversion::Share(first, second, factor) => {
                    let (first, second) = (Some(count(first)), Some(count(second)));
                    let share = counters.share(&series.name, at_ns, first, second);
                    share.map(|n| n * factor)
                }
            };
            if let Some(value) = value {
                out.put_at(at_ns, &series.name, &self.place, series.unit, value);
            }
        }
    }
}

impl SeriesRequest {
    fn build(
        metrics: &Metrics,
        series: &[Series],
        wanted: impl Fn(&BeanAttribute) -> bool,
    ) -> SeriesRequest {
        let mut index = HashMap::new();
        let mut attributes = Vec::new();
        let mut whole = true;
        for source in series.iter().flat_map(|series| series.kind.sources()) {
            let key = (source.mbean.clone(), source.attribute);
            if !wanted(source) {
                whole = false;
            } else if let Entry::Vacant(vacant) = index.entry(key) {
                vacant.insert(attributes.len());
                attributes.push((source.mbean.as_str(), source.attribute));
            }
        }
        SeriesRequest {
            ask: metrics.asking(&attributes, LIMIT),
            index,
            whole,
        }
    }

    fn answer<'a>(
        &self,
        source: &BeanAttribute,
        answers: &'a [Option<Value>],
    ) -> Option<&'a Value> {
        let key = (source.mbean.clone(), source.attribute);
        answers.get(*self.index.get(&key)?)?.as_ref()
    }
}

fn number_of(value: &Value, source: &BeanAttribute) -> Option<f64> {
    match (source.part, value) {
        (None, Value::Array(items)) => Some(items.len() as f64),
        (None, value) => value.as_f64(),
        (Some(part), Value::Array(items)) => items.iter().map(|item| part_of(item, part)).sum(),
        (Some(part), value) => part_of(value, part),
    }
}

/// Returns a number in a composite value. Cassandra reports the numbers of compactions as texts.
fn part_of(value: &Value, part: &str) -> Option<f64> {
    match value.get(part)? {
        Value::String(text) => text.parse().ok(),
        other => other.as_f64(),
    }
}

#[derive(Debug, Default)]
pub(super) struct Counters {
    last: HashMap<String, (u64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Increase {
    pub by: f64,
    pub seconds: f64,
}

impl Increase {
    pub fn per_second(self) -> f64 {
        self.by / self.seconds
    }
}

impl Counters {
    /// Returns the increase of a counter since the last call for it. Returns `None` at the first
    /// call, and after a decrease.
    pub fn increase(&mut self, name: &str, at_ns: u64, value: f64) -> Option<Increase> {
        let last = match self.last.get_mut(name) {
            Some(last) => std::mem::replace(last, (at_ns, value)),
            None => {
                self.last.insert(name.to_string(), (at_ns, value));
                return None;
            }
        };
        let (last_ns, last_value) = last;
        let increase = Increase {
            by: value - last_value,
            seconds: at_ns.saturating_sub(last_ns) as f64 / SECOND_NS as f64,
        };
        (increase.by >= 0.0 && increase.seconds > 0.0).then_some(increase)
    }

    /// Returns the increase of the first counter per increase of the second one. Returns `None`
    /// without an increase of the second counter.
    pub fn share(
        &mut self,
        name: &str,
        at_ns: u64,
        first: Option<f64>,
        second: Option<f64>,
    ) -> Option<f64> {
        // Both last values must be stored for the next call, even if the result is `None`.
        let first = first.and_then(|value| self.increase(&format!("{name} 1"), at_ns, value));
        let second = second.and_then(|value| self.increase(&format!("{name} 2"), at_ns, value));
        let (first, second) = (first?, second?);
        (second.by > 0.0).then(|| first.by / second.by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jolokia::Jolokia;
    use serde_json::json;
    use std::net::SocketAddr;

    fn beans(series: Vec<Series>) -> Beans {
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 1));
        let agent = Jolokia::new(nowhere, "", "");
        Beans::new(Metrics::ByAgent(agent), "node1", series, true)
    }

    fn series(name: &str, kind: Conversion) -> Series {
        let name = name.to_string();
        let unit = "count";
        Series { name, unit, kind }
    }

    fn put(beans: &mut Beans, second: u64, answers: &[Option<Value>]) -> Vec<(String, f64)> {
        let asked = beans.request(|_| true);
        let mut out = Out::new();
        out.begin("cassandra", 0);
        beans.put(second * SECOND_NS, &asked, answers, &mut out);
        let readings = out.readings().iter();
        readings.map(|one| (one.name.to_string(), one.value)).collect()
    }

    #[test]
    fn levels_rates_and_shares_are_of_what_is_there() {
        let source = |mbean: &str| BeanAttribute::new(mbean, "Count");
        let heap = |part| BeanAttribute::part("Memory", "HeapMemoryUsage", part);
        let mut beans = beans(vec![
            series("used", Conversion::Level(heap("used"), 1.0)),
            series("max", Conversion::Level(heap("max"), 1.0)),
            series(
                "running",
                Conversion::Level(BeanAttribute::new("Compactions", "List"), 1.0),
            ),
            series("hits", Conversion::Rate(source("Hits"), 1.0)),
            series(
                "ratio",
                Conversion::Share(source("Hits"), source("Requests"), 1.0),
            ),
            series(
                "p99",
                Conversion::While(source("Percentile"), source("Requests"), 1e-3),
            ),
        ]);
        let answers = |hits: Option<u64>, requests: u64| {
            let heap = json!({"used": 7, "max": -1});
            let hits = hits.map(|hits| json!(hits));
            let (list, requests) = (json!([{}, {}]), json!(requests));
            [
                Some(heap),
                Some(list),
                hits,
                Some(requests),
                Some(json!(2000.0)),
            ]
        };
        let of = |list: &[(&str, f64)]| -> Vec<(String, f64)> {
            list.iter().map(|(name, value)| ((*name).to_string(), *value)).collect()
        };
        let still = [("used", 7.0), ("running", 2.0)];
        assert_eq!(put(&mut beans, 0, &answers(Some(10), 10)), of(&still));
        let moved = [
            still[0],
            still[1],
            ("hits", 15.0),
            ("ratio", 0.75),
            ("p99", 2.0),
        ];
        assert_eq!(put(&mut beans, 2, &answers(Some(40), 50)), of(&moved));
        // The cache got no requests, so the ratio is undefined and the percentile is outdated.
        let idle = [still[0], still[1], ("hits", 0.0)];
        assert_eq!(put(&mut beans, 3, &answers(Some(40), 50)), of(&idle));
        // The node has restarted, so its counters start at zero, and one counter does not exist
        // yet.
        assert_eq!(put(&mut beans, 4, &answers(None, 2)), of(&still));
        let first = [
            still[0],
            still[1],
            ("hits", 1.0),
            ("ratio", 0.25),
            ("p99", 2.0),
        ];
        assert_eq!(put(&mut beans, 5, &answers(Some(1), 6)), of(&first));
        let after = [
            still[0],
            still[1],
            ("hits", 3.0),
            ("ratio", 0.75),
            ("p99", 2.0),
        ];
        assert_eq!(put(&mut beans, 6, &answers(Some(4), 10)), of(&after));
    }

    #[test]
    fn the_sum_of_a_rate_over_time_is_what_was_counted() {
        let mut counters = Counters::default();
        let counts = [
            (0, 100.0),
            (7, 130.0),
            (8, 130.0),
            (20, 1000.0),
            (21, 1001.0),
        ];
        let counted: f64 = counts
            .windows(2)
            .map(|pair| {
                let at_ns = |tenths: u64| tenths * SECOND_NS / 10;
                counters.increase("ops/s", at_ns(pair[0].0), pair[0].1);
                let more = counters.increase("ops/s", at_ns(pair[1].0), pair[1].1).unwrap();
                more.per_second() * (pair[1].0 - pair[0].0) as f64 / 10.0
            })
            .sum();
        assert!((counted - 901.0).abs() < 1e-9, "{counted}");
    }
}
