//! Ready-made answers to prepared statements. The answers are whole frames in which only the stream
//! id is missing.
//!
//! Each event loop has a separate table, so that an EXECUTE finds its answer without a lock. The
//! table uses open addressing by the first bytes of the id, which is already a hash.

use super::catalog::ID_BYTES;
use super::pages::Pages;
use super::statement::Select;
use cql::Compression;
use cql::frame::HEADER_BYTES;

#[derive(Clone, Debug)]
pub enum Effect {
    /// Acknowledges a write to the table that this mark identifies.
    Write(Ready, TableMark),
    /// Answers a conditional write. The condition is always reported as met.
    Conditional(Ready),
    /// Answers a read of a table.
    Read(Ready),
    /// Answers a read of a table in pages of the requested number of rows.
    Pages(Box<Pages>),
    /// Reads a system table. Its rows depend on the schema and on the bound values.
    System(Box<Select>),
    /// Changes the schema or the keyspace in use. Such a statement is executed like a QUERY.
    Schema,
}

/// Identifier of a table. The server must distinguish tables, because a batch counts once for each
/// of its tables.
pub type TableMark = u64;

/// A ready-made answer in each form that a client can request.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Frames of the answer. The first index is 1 if the client skips metadata. The second index is
    /// the client's compression: none, LZ4 or Snappy.
    forms: [[Box<[u8]>; 3]; 2],
}

impl Ready {
    /// Creates an answer from complete frames. The frames are with and without metadata, each
    /// uncompressed, compressed by LZ4, and compressed by Snappy.
    pub fn new(forms: [[Box<[u8]>; 3]; 2]) -> Ready {
        Ready { forms }
    }

    /// Appends the answer with the stream id `stream`.
    #[inline]
    pub fn append(
        &self,
        out: &mut Vec<u8>,
        stream: i16,
        skip_metadata: bool,
        compression: Option<Compression>,
    ) {
        let form = match compression {
            None => 0,
            Some(Compression::Lz4) => 1,
            Some(Compression::Snappy) => 2,
        };
        let frame = &self.forms[usize::from(skip_metadata)][form];
        let start = out.len();
        out.extend_from_slice(frame);
        // Every frame has at least a header, which contains the stream id in bytes 2 and 3.
        if let Some(place) = out.get_mut(start + 2..start + 4) {
            place.copy_from_slice(&stream.to_be_bytes());
        }
        debug_assert!(frame.len() >= HEADER_BYTES);
    }
}

/// Effects of the statements that an event loop has prepared or executed, as a hash table.
#[derive(Debug)]
pub struct PreparedTable {
    /// Slots of the hash table. Their number is a power of two, and at least half of them are free.
    places: Vec<Option<PreparedSlot>>,
    count: usize,
}

#[derive(Debug)]
struct PreparedSlot {
    id: [u8; ID_BYTES],
    effect: Effect,
}

/// Initial number of slots. It is enough for each of cassay's own workloads.
const PLACES_COUNT: usize = 64;

impl PreparedTable {
    pub fn new() -> PreparedTable {
        PreparedTable {
            places: empty(PLACES_COUNT),
            count: 0,
        }
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn clear(&mut self) {
        *self = PreparedTable::new();
    }

    /// Returns the effect of the statement `id`. Returns `None` if the table does not contain the
    /// statement.
    #[inline]
    pub fn find(&self, id: &[u8]) -> Option<&Effect> {
        let id: &[u8; ID_BYTES] = id.try_into().ok()?;
        let mask = self.places.len() - 1;
        let mut index = first_place(id) & mask;
        // The loop ends, because at least half of the slots are free.
        while let Some(place) = &self.places[index] {
            if place.id == *id {
                return Some(&place.effect);
            }
            index = (index + 1) & mask;
        }
        None
    }

    /// Stores the effect of the statement `id`, which replaces an earlier effect of this statement.
    pub fn insert(&mut self, id: [u8; ID_BYTES], effect: Effect) {
        if (self.count + 1) * 2 > self.places.len() {
            let larger = empty(self.places.len() * 2);
            let places = std::mem::replace(&mut self.places, larger);
            self.count = 0;
            for place in places.into_iter().flatten() {
                self.insert(place.id, place.effect);
            }
        }
        let mask = self.places.len() - 1;
        let mut index = first_place(&id) & mask;
        while self.places[index].as_ref().is_some_and(|place| place.id != id) {
            index = (index + 1) & mask;
        }
        self.count += usize::from(self.places[index].is_none());
        self.places[index] = Some(PreparedSlot { id, effect });
    }
}

fn empty(count: usize) -> Vec<Option<PreparedSlot>> {
    std::iter::repeat_with(|| None).take(count).collect()
}

#[inline]
fn first_place(id: &[u8; ID_BYTES]) -> usize {
    let [a, b, c, d, ..] = *id;
    u32::from_le_bytes([a, b, c, d]) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_statement_is_found_again_however_many_there_are() {
        let mut table = PreparedTable::new();
        // All ids begin with the same bytes, so that every look-up has to probe several slots.
        let id = |n: u32| {
            let mut id = [7; ID_BYTES];
            id[8..12].copy_from_slice(&n.to_be_bytes());
            id
        };
        for n in 0..300 {
            assert!(table.find(&id(n)).is_none());
            table.insert(id(n), Effect::Schema);
            table.insert(id(n), Effect::Schema);
        }
        assert!((0..300).all(|n| table.find(&id(n)).is_some()));
        assert_eq!(table.count, 300);
        assert!(table.find(&[7; ID_BYTES - 1]).is_none());
        table.clear();
        assert!((0..300).all(|n| table.find(&id(n)).is_none()));
    }
}
