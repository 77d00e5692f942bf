//! What rows are made of: their kinds, and limits that several of them share.

use crate::format::field::{Field, Type};
use cql::Consistency;
use target::NODES_COUNT_MAX;

pub(super) const S: u64 = 1_000_000_000;
pub(super) const DAY: u64 = 86_400 * S;

/// More threads than this need more stream ids than the connections of one client have.
pub(super) const THREADS_MAX: u64 = 1_000_000;
/// Above any machine: a typing error rather than a rate.
pub(super) const RATE_MAX: u64 = 1_000_000_000;
/// The most local nodes.
pub const LOCAL_NODES_MAX: u64 = NODES_COUNT_MAX as u64;
/// Shorter than 100 ms the looking itself would show in what is measured.
pub(super) const PERIOD_MIN: u64 = S / 10;
pub(super) const PERIOD_MAX: u64 = 3_600 * S;
/// Rows that fit the 63 bits of a partition key's number.
pub(super) const ROWS_MAX: u64 = 1 << 62;

/// Consistency levels at which rows may be read back.
pub(super) const READS: [Consistency; 9] = [
    Consistency::One,
    Consistency::Two,
    Consistency::Three,
    Consistency::Quorum,
    Consistency::All,
    Consistency::LocalQuorum,
    Consistency::LocalOne,
    Consistency::Serial,
    Consistency::LocalSerial,
];

/// Consistency levels that an operation may ask for.
pub(super) const LEVELS: [Consistency; 9] = [
    Consistency::Any,
    Consistency::One,
    Consistency::Two,
    Consistency::Three,
    Consistency::Quorum,
    Consistency::All,
    Consistency::LocalQuorum,
    Consistency::EachQuorum,
    Consistency::LocalOne,
];
pub(super) const SERIAL: [Consistency; 2] = [Consistency::Serial, Consistency::LocalSerial];

/// Keys and nothing else.
pub(super) const SECTION: Type = Type::Section(|_| {});

pub(super) const fn required(path: &'static str, typ: Type, what: &'static str) -> Field {
    Field {
        path,
        typ,
        required: true,
        default: None,
        what,
    }
}

pub(super) const fn optional(path: &'static str, typ: Type, what: &'static str) -> Field {
    Field {
        path,
        typ,
        required: false,
        default: None,
        what,
    }
}

pub(super) const fn with(
    path: &'static str,
    typ: Type,
    default: &'static str,
    what: &'static str,
) -> Field {
    Field {
        path,
        typ,
        required: false,
        default: Some(default),
        what,
    }
}
