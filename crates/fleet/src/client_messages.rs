//! Reads the messages of clients under load, and merges their intervals.
//!
//! Invariants: each interval is returned once, in order, after all clients have completed it. It
//! includes every message about this interval. Intervals do not overlap.

use crate::client_figures::{ClientEnd, ClientSecond, SecondNow};
use crate::client_requests::{EndNote, IntervalNote, KeptNote, Note};
use crate::codec::{add_kinds, unpack_client};
use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use flate2::read::DeflateDecoder;
use load::RecordPiece;
use measure::{Interval, IntervalTiles, KindInterval, SourceProgress};
use std::io::Read;

/// Minimum movement of the wall clock relative to the monotonic clock between two intervals that
/// counts as a set clock, in ns. Slewing by at most 500 ppm remains below this threshold unless an
/// interval is delayed for a minute.
const SET_NS: u64 = 30_000_000;

/// Progress of one client, according to its messages so far.
pub(crate) struct ClientCourse {
    /// Time of the start line on the client's clock.
    pub theirs_start_ns: u64,
    /// Completed intervals. `None` if the client has ended or is lost.
    pub next: Option<SourceProgress>,
    /// Time of the client's last message on the local monotonic clock.
    pub heard_ns: u64,
    pub end: ClientEnd,
    pub ended: Option<EndNote>,
    pub second: Option<SecondNow>,
    day_ns: Option<i64>,
}

impl ClientCourse {
    /// Creates the progress of a client without messages.
    pub fn new(name: &str, place: &str) -> ClientCourse {
        ClientCourse {
            theirs_start_ns: 0,
            next: Some(SourceProgress::NOTHING),
            heard_ns: 0,
            end: ClientEnd {
                name: name.to_owned(),
                place: place.to_owned(),
                ..ClientEnd::default()
            },
            ended: None,
            second: None,
            day_ns: None,
        }
    }
}

/// Intervals that not all clients have completed yet.
pub(crate) struct Merging {
    tiles: IntervalTiles,
    pub seconds: Vec<ClientSecond>,
    /// Time of the start line on the local monotonic clock.
    pub start_ns: u64,
    kinds_count: usize,
}

impl Merging {
    pub fn new(kinds_count: usize) -> Merging {
        Merging {
            tiles: IntervalTiles::default(),
            seconds: Vec::new(),
            start_ns: 0,
            kinds_count,
        }
    }

    /// Processes a message of client number `number`. Returns the piece of records in the message,
    /// if any.
    ///
    /// # Errors
    /// The message has an unknown form, or reports that the load has failed. The error then
    /// contains the client's text.
    pub fn take(
        &mut self,
        number: usize,
        said: &mut ClientCourse,
        note: Note,
        now_ns: u64,
    ) -> Result<Option<RecordPiece>> {
        match note {
            Note::Kinds(note) => {
                let interval = self.interval_at(note.index);
                let kinds = interval
                    .kinds
                    .get_mut(note.at..)
                    .context("find the kinds of operations of the program")?;
                add_kinds(&note.packed, kinds)?;
            }
            Note::Interval(note) => self.interval(number, said, &note, now_ns)?,
            Note::Kept(note) => return piece(note).map(Some),
            Note::Population(note) => {
                let end = &mut said.end;
                let kinds = end.population.add(self.kinds_count, note.at, note.packed)?;
                let whole = kinds.iter().filter(|kind| !kind.is_part);
                whole.for_each(|kind| end.latency.add(&kind.latency));
            }
            Note::Ended(ended) => {
                let ended = ended.map_err(anyhow::Error::msg)?;
                said.end.operations_sent = ended.operations_sent;
                said.end.throttled_ns = ended.throttled_ns;
                (said.next, said.ended) = (None, Some(ended));
            }
        }
        Ok(None)
    }

    fn interval(
        &mut self,
        number: usize,
        said: &mut ClientCourse,
        note: &IntervalNote,
        now_ns: u64,
    ) -> Result<()> {
        let ours = |ns: u64| self.start_ns + ns;
        let second = ClientSecond {
            client: number,
            index: note.index,
            start_ns: ours(note.start_ns),
            end_ns: ours(note.end_ns),
            draining: note.draining,
            outcomes: note.outcomes,
            latency_ns: note.latency_ns,
            figures: unpack_client(&note.client)?,
        };
        said.next = Some(SourceProgress::after(note.index, second.end_ns));
        said.second = Some(SecondNow::from_second(&second, said.end.workers));
        if let Some(before_ns) = said.day_ns.replace(note.day_ns) {
            let by_ns = note.day_ns - before_ns;
            if by_ns.unsigned_abs() >= SET_NS {
                said.end.set.push((now_ns, by_ns));
            }
        }
        let interval = self.interval_at(note.index);
        interval.start_ns = interval.start_ns.min(second.start_ns);
        interval.end_ns = interval.end_ns.max(second.end_ns);
        interval.draining |= second.draining;
        interval.client.add(&second.figures);
        self.seconds.push(second);
        Ok(())
    }

    /// Returns the interval with this number, which is empty if no client has reported it yet.
    fn interval_at(&mut self, index: u64) -> &mut Interval {
        let kinds_count = self.kinds_count;
        self.tiles.at(index, || vec![KindInterval::default(); kinds_count])
    }

    /// Returns the next interval, if all clients have completed it.
    pub fn next(&mut self, all: &[ClientCourse]) -> Option<Interval> {
        let open = all.iter().filter_map(|said| said.next);
        self.tiles.take(SourceProgress::of_all(open))
    }

    pub fn is_empty(&self) -> bool {
        self.tiles.is_empty()
    }
}

fn piece(note: KeptNote) -> Result<RecordPiece> {
    let not_ours = "the format of a client's record differs from the format of this program";
    let packed = BASE64.decode(&note.bytes).context(not_ours)?;
    let mut bytes = Vec::new();
    let most = crate::client_requests::PIECE_BYTES as u64 + 1;
    let unpacked = DeflateDecoder::new(&packed[..]).take(most).read_to_end(&mut bytes);
    unpacked.context(not_ours)?;
    Ok(RecordPiece {
        what: note.what,
        first: note.first,
        chunk: note.chunk,
        at: note.at,
        bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client_requests::KindsNote;
    use crate::codec::{pack_client, pack_kinds};
    use measure::clock::SECOND_NS;
    use measure::interval::ClientInterval;
    use measure::outcome::OutcomeCounts;
    use measure::{IntervalConsumer, Outcome, SummedInterval};

    const PER_S: u64 = 100;

    /// Simulated client, which ends its intervals at these seconds.
    struct SimulatedClient {
        number: usize,
        ends_s: Vec<u64>,
    }

    impl SimulatedClient {
        fn report(&self, merging: &mut Merging, said: &mut ClientCourse) {
            let mut start_s = 0;
            for end_s in &self.ends_s {
                let count = PER_S * (end_s - start_s);
                let mut kind = KindInterval::default();
                kind.succeed(false, 1_000_000, 900_000, count);
                let mut outcomes = OutcomeCounts::default();
                outcomes.add_many(Outcome::Ok, count);
                let (packed, _) = pack_kinds(&[kind], usize::MAX);
                let kinds = KindsNote {
                    index: start_s,
                    at: 0,
                    packed,
                };
                let interval = IntervalNote {
                    index: start_s,
                    start_ns: start_s * SECOND_NS,
                    end_ns: end_s * SECOND_NS,
                    draining: false,
                    outcomes,
                    latency_ns: [0; 3],
                    client: pack_client(&ClientInterval::default()),
                    day_ns: 0,
                };
                for note in [Note::Kinds(kinds), Note::Interval(interval)] {
                    merging.take(self.number, said, note, 0).unwrap();
                }
                start_s = *end_s;
            }
            said.next = None;
        }
    }

    /// Sum of the lengths of intervals, and their operations.
    #[derive(Default)]
    struct Sum {
        seconds: f64,
        ended: u64,
        rates: Vec<f64>,
    }

    impl IntervalConsumer for Sum {
        fn push(&mut self, summed: &SummedInterval) {
            self.seconds += summed.interval.seconds();
            self.ended += summed.interval.ended();
            self.rates.push(summed.ok_per_s());
        }
    }

    /// In one run, client3 was stopped for 3 s. All 3600 operations of 12 s were answered, but an
    /// earlier version added up 14 s, and reported 257 instead of 300 op/s.
    #[test]
    fn a_stopped_client_does_not_lengthen_the_window() {
        let steady: Vec<u64> = (1..=12).collect();
        let stopped = vec![1, 2, 3, 4, 7, 8, 9, 10, 11, 12];
        let mut merging = Merging::new(1);
        let mut all: Vec<ClientCourse> =
            (0..3).map(|_| ClientCourse::new("client", "here")).collect();
        let mut sum = Sum::default();
        for (number, ends_s) in [steady.clone(), steady, stopped].into_iter().enumerate() {
            SimulatedClient { number, ends_s }.report(&mut merging, &mut all[number]);
            while let Some(interval) = merging.next(&all) {
                sum.push(&SummedInterval::new(interval.into()));
            }
        }
        assert_eq!(
            (sum.seconds, sum.ended, merging.is_empty()),
            (12.0, 3600, true)
        );
        assert_eq!(sum.rates, [300.0; 10]);
    }
}
