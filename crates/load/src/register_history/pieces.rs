//! Divides a history into pieces, for transfer to the client that joins the pieces of all clients.

use super::{HISTORY_OPERATIONS_MAX, History, HistoryPart, StoredEvent};
use crate::record_pieces::{ClientRecords, ClockConversion, RecordKind, RecordPiece};

/// Size of an operation in a piece, in bytes. An operation consists of the send time, the response
/// time, the number found, and flags for the values that are present.
const BYTES: usize = 8 + 8 + 8 + 1;
/// Flag that is set if the response contained a number. The lower bits of the flags encode the
/// condition.
const HAS_FOUND: u8 = 4;

impl History {
    /// Returns the contents of the parts in pieces of at most `bytes_max` bytes.
    pub(crate) fn pieces(&self, bytes_max: usize) -> impl Iterator<Item = RecordPiece> + '_ {
        let each = (bytes_max / BYTES).max(1);
        self.parts.iter().flat_map(move |part| {
            let piece = |what, chunk, bytes| RecordPiece {
                what,
                first: part.first,
                chunk,
                at: 0,
                bytes,
            };
            let beyond = [part.full_ns, part.beyond].map(u64::to_le_bytes).concat();
            let rest = (part.beyond > 0).then(|| piece(RecordKind::Beyond, 0, beyond));
            let sent = part.kept.iter().rposition(|event| event.sent_ns > 0);
            let all = part.kept[..sent.map_or(0, |last| last + 1)].chunks(each);
            let kept = all.enumerate().map(move |(number, events)| {
                let bytes = events.iter().flat_map(StoredEvent::bytes).collect();
                piece(RecordKind::Operations, number * each, bytes)
            });
            kept.chain(rest)
        })
    }

    /// Creates an empty history for the pieces of all clients.
    pub(crate) fn collect(all: ClientRecords) -> History {
        let step = all.workers.max(1);
        let room = HISTORY_OPERATIONS_MAX / step;
        let part = |worker| HistoryPart::new(all.first + worker, step, room);
        History::new((0..step).map(part).collect())
    }

    /// Inserts a piece at its position, and converts its times to the local clock. The converted
    /// send time is never too late, and the converted response time is never too early. Returns
    /// `None` if the piece does not fit.
    pub(crate) fn take_over(&mut self, piece: &RecordPiece, time: ClockConversion) -> Option<()> {
        let part = self.parts.iter_mut().find(|part| part.first == piece.first)?;
        match piece.what {
            RecordKind::Operations => {
                let (events, rest) = piece.bytes.as_chunks();
                let room = part.kept.get_mut(piece.chunk..)?;
                (rest.is_empty() && events.len() <= room.len()).then_some(())?;
                for (to, bytes) in room.iter_mut().zip(events) {
                    *to = StoredEvent::from_bytes(bytes, time);
                }
            }
            RecordKind::Beyond => {
                let ([full_ns, beyond], []) = piece.bytes.as_chunks::<8>() else {
                    return None;
                };
                part.full_ns = time.before(u64::from_le_bytes(*full_ns));
                part.beyond = u64::from_le_bytes(*beyond);
            }
            RecordKind::States | RecordKind::Times => return None,
        }
        Some(())
    }
}

impl StoredEvent {
    fn bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&self.sent_ns.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.answered_ns.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.found.to_le_bytes());
        bytes[24] = self.applied | if self.has_found { HAS_FOUND } else { 0 };
        bytes
    }

    fn from_bytes(bytes: &[u8; BYTES], time: ClockConversion) -> StoredEvent {
        let (words, _) = bytes.as_chunks::<8>();
        let [sent, answered, found] = [0, 1, 2].map(|at| u64::from_le_bytes(words[at]));
        StoredEvent {
            sent_ns: time.before(sent),
            answered_ns: time.after(answered),
            found: found as i64,
            has_found: bytes[24] & HAS_FOUND != 0,
            applied: bytes[24] & (HAS_FOUND - 1),
        }
    }
}
