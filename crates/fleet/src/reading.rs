//! What a client says while it offers load, read and put with what the others say.
//!
//! What must hold: an interval is given away once, in order, when no client can add to it any more;
//! all that was said is in one.

use crate::codec::{unpack_client, unpack_kinds};
use crate::health::{ClientEnd, ClientSecond};
use crate::wire::{EndNote, IntervalNote, KeptNote, Note};
use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use flate2::read::DeflateDecoder;
use load::KeptPiece;
use measure::{Interval, KindInterval};
use std::collections::BTreeMap;
use std::io::Read;

/// The clock of the day was set if it moves against the other one by so much between two intervals:
/// more than the 500 millionths by which time is slewed at most, in any interval that is not held
/// up for a minute.
const SET_NS: u64 = 30_000_000;

/// What one client has said so far.
pub(crate) struct ClientCourse {
    /// Its own start line, by its clock.
    pub theirs_start_ns: u64,
    /// The lowest interval that it may still add to; `None` once it has ended, or is lost.
    pub next: Option<u64>,
    /// When it was heard last, our monotonic clock.
    pub heard_ns: u64,
    pub end: ClientEnd,
    pub ended: Option<EndNote>,
    kinds: Vec<KindInterval>,
    day_ns: Option<i64>,
}

impl ClientCourse {
    /// One that has said nothing yet.
    pub fn of(name: &str, place: &str) -> ClientCourse {
        ClientCourse {
            theirs_start_ns: 0,
            next: Some(0),
            heard_ns: 0,
            end: ClientEnd {
                name: name.to_owned(),
                place: place.to_owned(),
                ..ClientEnd::default()
            },
            ended: None,
            kinds: Vec::new(),
            day_ns: None,
        }
    }
}

/// The intervals that are not whole yet.
pub(crate) struct Merging {
    pending: BTreeMap<u64, Interval>,
    pub seconds: Vec<ClientSecond>,
    /// The start line, our monotonic clock.
    pub start_ns: u64,
}

impl Merging {
    pub fn new() -> Merging {
        Merging {
            pending: BTreeMap::new(),
            seconds: Vec::new(),
            start_ns: 0,
        }
    }

    /// Takes what client number `number` says; a piece of what was written down, if it is that.
    ///
    /// # Errors
    /// It is of another form than ours, or its load has failed: its own words.
    pub fn take(
        &mut self,
        number: usize,
        said: &mut ClientCourse,
        note: Note,
        now_ns: u64,
    ) -> Result<Option<KeptPiece>> {
        match note {
            Note::Kinds(text) => unpack_kinds(&text, &mut said.kinds)?,
            Note::Interval(note) => self.interval(number, said, &note, now_ns)?,
            Note::Kept(note) => return piece(note).map(Some),
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
        let figures = unpack_client(&note.client)?;
        let kinds = std::mem::take(&mut said.kinds);
        let ours = |ns: u64| self.start_ns + ns;
        let mut second = ClientSecond {
            client: number,
            index: note.index,
            start_ns: ours(note.start_ns),
            end_ns: ours(note.end_ns),
            draining: note.draining,
            outcomes: Default::default(),
            latency_ns: [0; 3],
            figures,
        };
        let mut latency = measure::Histogram::new();
        for kind in kinds.iter().filter(|kind| !kind.is_part) {
            second.outcomes.add(&kind.outcomes);
            said.end.latency.add(&kind.latency);
            latency.add(&kind.latency);
            latency.add(&kind.early.latency);
        }
        second.latency_ns = [
            latency.quantile_ns(0.5),
            latency.quantile_ns(0.99),
            latency.max_ns(),
        ];
        said.next = Some(note.index + 1);
        if let Some(before_ns) = said.day_ns.replace(note.day_ns) {
            let by_ns = note.day_ns - before_ns;
            if by_ns.unsigned_abs() >= SET_NS {
                said.end.set.push((now_ns, by_ns));
            }
        }
        self.add(note.index, &second, kinds);
        self.seconds.push(second);
        Ok(())
    }

    fn add(&mut self, index: u64, second: &ClientSecond, kinds: Vec<KindInterval>) {
        let Some(interval) = self.pending.get_mut(&index) else {
            let interval = Interval {
                index,
                start_ns: second.start_ns,
                end_ns: second.end_ns,
                window_from_ns: u64::MAX,
                draining: second.draining,
                kinds,
                client: second.figures.clone(),
            };
            self.pending.insert(index, interval);
            return;
        };
        interval.start_ns = interval.start_ns.min(second.start_ns);
        interval.end_ns = interval.end_ns.max(second.end_ns);
        interval.draining |= second.draining;
        for (sum, kind) in interval.kinds.iter_mut().zip(&kinds) {
            sum.add(kind);
        }
        interval.client.add(&second.figures);
    }

    /// The next interval to which nobody can add any more.
    pub fn next(&mut self, all: &[ClientCourse]) -> Option<Interval> {
        let open_from = all.iter().filter_map(|said| said.next).min().unwrap_or(u64::MAX);
        let entry = self.pending.first_entry()?;
        (*entry.key() < open_from).then(|| entry.remove())
    }

    /// Whether nothing is left to be given away.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}

fn piece(note: KeptNote) -> Result<KeptPiece> {
    let not_ours = "what a client has written down is of another form than ours";
    let packed = BASE64.decode(&note.bytes).context(not_ours)?;
    let mut bytes = Vec::new();
    let most = crate::wire::PIECE_BYTES as u64 + 1;
    let unpacked = DeflateDecoder::new(&packed[..]).take(most).read_to_end(&mut bytes);
    unpacked.context(not_ours)?;
    Ok(KeptPiece {
        what: note.what,
        first: note.first,
        chunk: note.chunk,
        at: note.at,
        bytes,
    })
}
