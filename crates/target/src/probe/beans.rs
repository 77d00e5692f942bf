//! Series from the MBeans of one node: a fixed list, one request per look.
//!
//! What must hold: an MBean that is not there has no reading (Cassandra registers many with their
//! first use); a counter gives its increase per second between two looks, at the time of the second
//! one, so that the sum over time is what was counted; after a counter has fallen, which is a node
//! started again, it begins anew.

use super::Out;
use crate::jolokia::{Bulk, Jolokia};
use anyhow::Result;
use measure::clock::{self, SECOND_NS};
use serde_json::Value;
use std::collections::HashMap;
use std::time::Duration;

/// How long a node may take to answer a look: longer than any pause worth living with. A frozen
/// node must not hold up the end of a trial for long.
const LIMIT: Duration = Duration::from_secs(5);

/// One number of an MBean.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Source {
    mbean: String,
    attribute: &'static str,
    /// The part of a composite value.
    part: Option<&'static str>,
}

impl Source {
    /// An attribute that is a number, or a list, which counts as its length.
    pub fn new(mbean: impl Into<String>, attribute: &'static str) -> Source {
        Source {
            mbean: mbean.into(),
            attribute,
            part: None,
        }
    }

    /// A part of an attribute that is a composite value.
    pub fn part(mbean: impl Into<String>, attribute: &'static str, part: &'static str) -> Source {
        Source {
            part: Some(part),
            ..Source::new(mbean, attribute)
        }
    }
}

/// What becomes of the numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// The number as it is, times a factor. Negative ones mean that there is none.
    Level(Source, f64),
    /// Its increase per second, times a factor.
    Rate(Source, f64),
    /// The increase of the first per increase of the second, times a factor; nothing while the
    /// second one stands still.
    Share(Source, Source, f64),
}

impl Kind {
    fn sources(&self) -> impl Iterator<Item = &Source> {
        let (first, second) = match self {
            Kind::Level(source, _) | Kind::Rate(source, _) => (source, None),
            Kind::Share(first, second, _) => (first, Some(second)),
        };
        std::iter::once(first).chain(second)
    }
}

/// One series.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Series {
    /// Its name.
    pub name: String,
    /// Unit of its values.
    pub unit: &'static str,
    /// Where they are from.
    pub kind: Kind,
}

/// A list of series of one node.
pub(super) struct Beans {
    agent: Jolokia,
    place: String,
    series: Vec<Series>,
    /// Whether what was absent once is absent for as long as the JVM runs.
    fixed: bool,
    asked: Option<Asked>,
    counters: Counters,
}

/// The request for a list of series.
struct Asked {
    bulk: Bulk,
    /// Index of the answer by MBean and attribute.
    index: HashMap<(String, &'static str), usize>,
    /// Whether absent ones are in it still.
    whole: bool,
}

impl Beans {
    /// Of the node `place`. `fixed`: what is absent at the first look is not asked for again, until
    /// the node has failed to answer.
    pub fn new(agent: &Jolokia, place: &str, series: Vec<Series>, fixed: bool) -> Beans {
        Beans {
            agent: agent.with_limit(LIMIT),
            place: place.to_string(),
            series,
            fixed,
            asked: None,
            counters: Counters::default(),
        }
    }

    /// Asks once and puts what is there.
    ///
    /// # Errors
    /// The agent does not answer.
    pub fn look(&mut self, out: &mut Out) -> Result<()> {
        let asked = self.asked.take();
        let asked = asked.unwrap_or_else(|| Asked::of(&self.series, |_| true));
        let before_ns = clock::now_ns();
        let answers = self.agent.read_bulk(&asked.bulk)?;
        // The values were read somewhere in between.
        let at_ns = before_ns.midpoint(clock::now_ns());
        self.put(at_ns, &asked, &answers, out);
        self.asked = Some(if self.fixed && asked.whole {
            let is_there = |source: &Source| asked.answer(source, &answers).is_some();
            Asked::of(&self.series, is_there)
        } else {
            asked
        });
        Ok(())
    }

    fn put(&mut self, at_ns: u64, asked: &Asked, answers: &[Option<Value>], out: &mut Out) {
        for series in &self.series {
            let value = |source: &Source| number_of(asked.answer(source, answers)?, source);
            let counters = &mut self.counters;
            let value = match &series.kind {
                Kind::Level(source, factor) => {
                    value(source).filter(|n| *n >= 0.0).map(|n| n * factor)
                }
                Kind::Rate(source, factor) => value(source)
                    .and_then(|n| counters.increase(&series.name, at_ns, n))
                    .map(|more| more.per_second() * factor),
                Kind::Share(first, second, factor) => {
                    let (first, second) = (value(first), value(second));
                    counters
                        .share(&series.name, at_ns, first, second)
                        .map(|n| n * factor)
                }
            };
            if let Some(value) = value {
                out.put_at(at_ns, &series.name, &self.place, series.unit, value);
            }
        }
    }
}

impl Asked {
    fn of(series: &[Series], wanted: impl Fn(&Source) -> bool) -> Asked {
        let mut index = HashMap::new();
        let mut attributes = Vec::new();
        let mut whole = true;
        for source in series.iter().flat_map(|series| series.kind.sources()) {
            let key = (source.mbean.clone(), source.attribute);
            if !wanted(source) {
                whole = false;
            } else if !index.contains_key(&key) {
                index.insert(key, attributes.len());
                attributes.push((source.mbean.as_str(), source.attribute));
            }
        }
        Asked {
            bulk: Bulk::of(&attributes),
            index,
            whole,
        }
    }

    fn answer<'a>(&self, source: &Source, answers: &'a [Option<Value>]) -> Option<&'a Value> {
        let key = (source.mbean.clone(), source.attribute);
        answers.get(*self.index.get(&key)?)?.as_ref()
    }
}

fn number_of(value: &Value, source: &Source) -> Option<f64> {
    let value = match source.part {
        Some(part) => value.get(part)?,
        None => value,
    };
    match value {
        Value::Array(items) => Some(items.len() as f64),
        other => other.as_f64(),
    }
}

/// The last values of counters, for differences.
#[derive(Debug, Default)]
pub(super) struct Counters {
    last: HashMap<String, (u64, f64)>,
}

/// How much a counter has counted, and in what time.
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
    /// The increase since the last call for this counter; `None` the first time, and when it has
    /// fallen.
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

    /// The increase of one counter per increase of another; `None` while the other stands still.
    pub fn share(
        &mut self,
        name: &str,
        at_ns: u64,
        first: Option<f64>,
        second: Option<f64>,
    ) -> Option<f64> {
        let first = self.increase(&format!("{name} 1"), at_ns, first?)?;
        let second = self.increase(&format!("{name} 2"), at_ns, second?)?;
        (second.by > 0.0).then(|| first.by / second.by)
    }
}
