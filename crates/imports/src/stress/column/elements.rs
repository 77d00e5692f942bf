//! The elements of a set, or the entries of a map, in Cassandra's order.
//!
//! A profile may define sets of thousands of elements, and every operation generates a new set. For
//! efficiency, one buffer contains all elements, and comparisons begin with a number for each
//! element. A row with 9,000 integers, of which 100 differ, takes 2.1 ms of CPU time. With a buffer
//! for each element and comparisons of their bytes, it took 4.0 ms (development profile, about
//! 1,250 rows).

use super::order::{compare, is_told_by_key, key};
use super::{Column, ValueType, append_cell};
use std::cmp::Ordering;

/// Elements in the order of their generation.
#[derive(Default)]
pub(super) struct Elements {
    /// Bytes of all elements, one element after another.
    bytes: Vec<u8>,
    spans: Vec<Span>,
    /// True for a map, in which a value follows each key.
    are_entries: bool,
}

/// Position of an element in the buffer. For a set, the key is the whole element. For a map, the
/// value follows the key.
#[derive(Clone, Copy)]
struct Span {
    order: u128,
    begin: usize,
    key_end: usize,
    end: usize,
}

impl Elements {
    /// Generates `count` elements from `key`. If `value` is present, generates a value from it
    /// after each element.
    pub(super) fn made(count: i64, key: &mut Column, mut value: Option<&mut Column>) -> Elements {
        let mut all = Elements {
            are_entries: value.is_some(),
            ..Elements::default()
        };
        for _ in 0..count.max(0) {
            all.add(key, value.as_deref_mut());
        }
        all
    }

    fn add(&mut self, column: &mut Column, value: Option<&mut Column>) {
        let begin = self.bytes.len();
        column.append(&mut self.bytes);
        let key_end = self.bytes.len();
        if let Some(value) = value {
            value.append(&mut self.bytes);
        }
        self.spans.push(Span {
            order: key(&column.kind, &self.bytes[begin..key_end]),
            begin,
            key_end,
            end: self.bytes.len(),
        });
    }

    /// Appends the elements in the form of a set or a map. The form consists of the number of
    /// elements, and then of each element in order. If several elements have equal keys, the
    /// function keeps only the first of them.
    pub(super) fn append_once(mut self, kind: &ValueType, out: &mut Vec<u8>) {
        let bytes = &self.bytes;
        let key_of = |one: &Span| &bytes[one.begin..one.key_end];
        let is_told = is_told_by_key(kind);
        // The sort is stable, so equal elements remain in the order of their generation.
        self.spans.sort_by(|a, b| match a.order.cmp(&b.order) {
            Ordering::Equal if !is_told => compare(kind, key_of(a), key_of(b)),
            order => order,
        });
        self.spans.dedup_by(|a, b| key_of(a) == key_of(b));
        out.extend_from_slice(&(self.spans.len() as i32).to_be_bytes());
        for one in &self.spans {
            append_cell(key_of(one), out);
            if self.are_entries {
                append_cell(&bytes[one.key_end..one.end], out);
            }
        }
    }
}
