//! Helpers for the table of study keys: constructors of its rows, and limits that several keys
//! share.

use crate::format::field::{Field, Type};
use cql::Consistency;
use target_spec::NODES_COUNT_MAX;

pub(super) const S: u64 = 1_000_000_000;
pub(super) const DAY: u64 = 86_400 * S;

/// Maximum number of threads. More threads would need more stream ids than the connections of one
/// client have.
pub(super) const THREADS_MAX: u64 = 1_000_000;
/// Maximum rate, in op/s. Machines do not reach this rate, so a higher value is a typing error.
pub(super) const RATE_MAX: u64 = 1_000_000_000;
/// Maximum number of local nodes.
pub const LOCAL_NODES_MAX: u64 = NODES_COUNT_MAX as u64;
/// Minimum period of a probe, in ns. With a shorter period, the probe would affect the measurement.
pub(super) const PERIOD_MIN: u64 = S / 10;
pub(super) const PERIOD_MAX: u64 = 3_600 * S;
/// Maximum number of rows. This limit ensures that row numbers fit into the 63 bits of a partition
/// key.
pub(super) const ROWS_MAX: u64 = 1 << 62;

/// Consistency levels for reading rows back.
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

/// Consistency levels that an operation may use.
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

/// A section that only groups keys.
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
