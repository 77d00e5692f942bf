//! Probes that run in a host's agent, and the transfer of their readings, in the form that
//! controller and agent share.
//!
//! Invariants: the sampling threads never wait until the controller fetches readings. The agent
//! limits the number of readings that wait to be fetched. The number of readings in a message is
//! limited so that the message fits into a frame.

mod remote_watch;

use crate::calls::calls;
use crate::{Agent, Host};
use anyhow::{Context, Result};
use linux::probe::{Out, ProbeCost, ProbeSource, Reading, Sampler, SourceKind, tasks};
use remote::Offset;
use remote_watch::Remote;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of readings in one message. A reading takes about 30 bytes, and more if the
/// message also contains its series.
pub const READINGS_COUNT_MAX: usize = 4096;

/// Probes of one machine, with their sampling intervals.
#[derive(Default, Serialize, Deserialize)]
pub struct Watch(Vec<ProbeSource>);

impl Watch {
    /// Adds a probe of the machine itself. The probe omits the devices of `hosts`.
    pub fn machine(&mut self, period: Duration, hosts: &[Host]) {
        let ours = hosts.iter().filter(|host| !host.is_machine());
        let without = ours.filter_map(Host::device).map(str::to_owned).collect();
        self.add("machine", period, SourceKind::Machine { without });
    }

    /// Adds a probe of another machine. The readings have the place `place`.
    pub fn other_machine(&mut self, period: Duration, place: &str) {
        let without = Vec::new();
        self.add(place, period, SourceKind::Machine { without });
    }

    /// Adds a probe of a simulated host. Only the agent of that host can run this probe.
    ///
    /// # Errors
    /// The limits of the host cannot be read.
    pub fn stand_in(&mut self, period: Duration, host: &Host) -> Result<()> {
        let sources = host.sources().with_context(|| format!("watch {}", host.name()))?;
        self.add(host.name(), period, SourceKind::StandIn(sources));
        Ok(())
    }

    /// Adds a probe of a process. The readings have the place `place`.
    pub fn process(&mut self, period: Duration, place: &str, pid: u32) {
        self.add(place, period, SourceKind::Process(pid));
    }

    fn add(&mut self, place: &str, period: Duration, what: SourceKind) {
        let place = place.to_owned();
        self.0.push(ProbeSource {
            place,
            period,
            what,
        });
    }

    /// Runs the probes on a thread of this process. The name of the thread is `name`.
    ///
    /// # Errors
    /// A file that every kernel has cannot be read, or the process does not exist.
    pub fn ours(self, name: &str) -> Result<Sampler> {
        let mut sampler = Sampler::new(name);
        for watched in &self.0 {
            for task in tasks(watched).with_context(|| format!("watch {}", watched.place))? {
                sampler.add(task);
            }
        }
        Ok(sampler)
    }

    /// Runs the probes in `agent` from now on. The sampler fetches the readings, and reports the
    /// cost.
    ///
    /// # Errors
    /// The errors of [`Watch::ours`], or an interval is too short, or the agent has ended.
    pub fn by(self, agent: &Arc<Agent>) -> Result<Sampler> {
        let mut sampler = Sampler::new(&format!("probe-{}", agent.name()));
        if !self.0.is_empty() {
            sampler.add(Remote::begin(agent, self)?);
        }
        Ok(sampler)
    }
}

/// Starts probes. The answer is the number of the watch.
#[derive(Serialize, Deserialize)]
pub struct BeginWatch(pub Watch);

/// Fetches the readings of a watch.
#[derive(Serialize, Deserialize)]
pub struct TakeReadings {
    /// Number of the watch that [`BeginWatch`] returned.
    pub watch: u64,
    /// If true, the agent stops sampling and removes the watch. The answer contains the last
    /// readings of the watch.
    pub end: bool,
}

calls! {
    BeginWatch = "watch" -> u64;
    TakeReadings = "hand-over-readings" -> ReadingsBatch;
}

/// Readings of a watch, in an answer of the agent.
#[derive(Default, Serialize, Deserialize)]
pub struct ReadingsBatch {
    /// Readings, encoded as a batch.
    pub batch: Batch,
    /// True if the agent has more readings of the watch.
    pub rest: bool,
    /// Number and cost of the samples. They are present only with the last readings of a watch.
    pub costs: Option<Vec<ProbeCost>>,
}

/// Encoded readings. A batch contains each new series once, and refers to series by number.
#[derive(Default, Serialize, Deserialize)]
pub struct Batch {
    /// Series that occur for the first time, each as probe, name, place and unit. Series are
    /// numbered in the order in which they occur, across all batches.
    series: Vec<[String; 4]>,
    /// Text with a line for each time of a reading. A line contains the time, then the series
    /// number and the value of each reading at this time. The lines form one text, because JSON
    /// encodes a text in one piece, and because values can be restored exactly from text.
    lines: String,
}

/// Identity of a series, as probe, name, place and unit.
type SeriesIdentity<'a> = (Cow<'static, str>, Arc<str>, Arc<str>, Cow<'static, str>);

/// Encoder of consecutive batches of readings.
#[derive(Default)]
pub struct Encoder {
    numbers: HashMap<SeriesIdentity<'static>, usize>,
}

impl Encoder {
    /// Encodes the next batch.
    pub fn encode(&mut self, readings: impl Iterator<Item = Reading>) -> Batch {
        use std::fmt::Write;
        let mut batch = Batch::default();
        let mut at_ns = None;
        for one in readings {
            let value = one.value;
            if at_ns != Some(one.at_ns) {
                let end = if at_ns.is_some() { "\n" } else { "" };
                at_ns = Some(one.at_ns);
                let _ = write!(batch.lines, "{end}{}", one.at_ns);
            }
            let next = self.numbers.len();
            let named = (one.probe, one.name, one.place, one.unit);
            let number = *self.numbers.entry(named).or_insert_with_key(|named| {
                let (probe, name, place, unit) = named;
                let words = [&**probe, &**name, &**place, &**unit];
                batch.series.push(words.map(str::to_owned));
                next
            });
            // The exponent form keeps the text of large and small numbers short.
            let _ = write!(batch.lines, " {number} {value:e}");
        }
        batch
    }
}

/// Decoder of consecutive batches of readings.
#[derive(Default)]
pub struct Decoder {
    series: Vec<SeriesIdentity<'static>>,
}

impl Decoder {
    /// Stores the readings of `batch`, with times converted to the controller's clock.
    ///
    /// # Errors
    /// A line of the batch contains no time, a series number that was not announced, or no value.
    pub fn decode(&mut self, batch: Batch, theirs: Offset, out: &mut Out) -> Result<()> {
        let named = batch.series.into_iter().map(|[probe, name, place, unit]| {
            let (name, place) = (Arc::from(name), Arc::from(place));
            (Cow::Owned(probe), name, place, Cow::Owned(unit))
        });
        self.series.extend(named);
        for line in batch.lines.lines() {
            let mut words = line.split(' ');
            let mut next = || words.next();
            let at_ns: u64 = next().and_then(|word| word.parse().ok()).context("a time")?;
            while let Some(number) = next() {
                let series = number.parse().ok().and_then(|n: usize| self.series.get(n));
                let (probe, name, place, unit) = series.context("the number of a series")?;
                let value: Option<f64> = next().and_then(|word| word.parse().ok());
                out.pass_on(Reading {
                    probe: probe.clone(),
                    at_ns: theirs.ours(at_ns),
                    name: Arc::clone(name),
                    place: Arc::clone(place),
                    unit: unit.clone(),
                    value: value.context("a value")?,
                });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn readings(values: &[(u64, u8, f64)]) -> Vec<Reading> {
        let mut out = Out::new();
        for (at_ns, series, value) in values {
            let probe = if series % 2 == 0 {
                "hosts"
            } else {
                "processes"
            };
            out.begin(probe, *at_ns);
            out.put(&format!("a {}", series % 3), "host1/cpu 0", "%", *value);
        }
        out.drain().collect()
    }

    const AHEAD: Offset = Offset {
        ahead_ns: 1000,
        bound_ns: 0,
    };

    proptest! {
        #[test]
        fn readings_arrive_to_the_last_bit_however_they_are_divided(
            values in prop::collection::vec((1000_u64..1 << 60, any::<u8>(), any::<f64>()), 0..40),
            size in 1_usize..20,
        ) {
            let sent = readings(&values);
            let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
            let mut out = Out::new();
            for piece in sent.chunks(size) {
                let batch = encoder.encode(piece.iter().cloned());
                let wire = serde_json::to_vec(&batch).unwrap();
                let batch = serde_json::from_slice(&wire).unwrap();
                decoder.decode(batch, AHEAD, &mut out).unwrap();
            }
            let mut expected = sent;
            for one in &mut expected {
                one.at_ns -= 1000;
            }
            prop_assert_eq!(out.readings(), expected);
        }

        #[test]
        fn no_batch_panics(lines in "[0-9 e.\n-]{0,60}", words in prop::bool::ANY) {
            let series = if words { vec![["a", "b", "c", "d"].map(String::from)] } else { vec![] };
            // The result is ignored, because the test checks only that the decoder does not panic.
            let _ = Decoder::default().decode(Batch { series, lines }, AHEAD, &mut Out::new());
        }
    }

    #[test]
    fn a_full_message_fits_a_frame() {
        let value = (u64::MAX, 0, -f64::MIN_POSITIVE / 3.0);
        let mut sent = readings(&vec![value; READINGS_COUNT_MAX]);
        for (number, one) in sent.iter_mut().enumerate() {
            one.name = format!("{number:0>60}").into();
            one.place = format!("{number:0>60}").into();
            one.at_ns -= number as u64 % 2;
        }
        let batch = Encoder::default().encode(sent.into_iter());
        let mut wire = Vec::new();
        remote::frame::write(&mut wire, &batch).unwrap();
        assert!(wire.len() > READINGS_COUNT_MAX * 120);
    }
}
