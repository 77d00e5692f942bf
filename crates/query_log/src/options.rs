//! Parses the options of a request in a full query log. The options have the form of the native
//! protocol, in the protocol version of the client.
//!
//! Invariants: the parser checks lengths against the remaining bytes. It keeps values unchanged,
//! each after its length, so null remains null and unset remains unset.

use cql::Consistency;

mod flag {
    pub const VALUES: u32 = 0x01;
    pub const PAGE_SIZE: u32 = 0x04;
    pub const PAGING_STATE: u32 = 0x08;
    pub const SERIAL: u32 = 0x10;
    pub const TIMESTAMP: u32 = 0x20;
    pub const NAMES: u32 = 0x40;
    pub const KEYSPACE: u32 = 0x80;
}

/// First protocol version whose flags have four bytes. In earlier versions, the flags have one
/// byte.
const WIDE_FLAGS_SINCE: i64 = 5;

/// Size of a value's length field, in bytes. A null or unset value consists only of this field.
const LENGTH_BYTES: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options<'a> {
    /// Consistency level of the request. `None` if the code of the level is unknown.
    pub consistency: Option<Consistency>,
    pub serial_consistency: Option<Consistency>,
    pub page_size: Option<i32>,
    /// True if the request fetches a further page of an earlier read.
    pub continues: bool,
    /// True if the client sets the write timestamp.
    pub stamped: bool,
    /// Keyspace that the options name. `None` if they do not name a keyspace.
    pub keyspace: Option<&'a str>,
    pub values_count: u16,
    /// The values, each as an int length and the bytes of the value (`[int length][bytes]`).
    pub values: Vec<u8>,
}

/// Parses the options of a request in the protocol version `version`. Returns `None` if the bytes
/// end too early.
pub(crate) fn parse(bytes: &[u8], version: i64) -> Option<Options<'_>> {
    let mut reader = Reader(bytes);
    let consistency = Consistency::from_code(reader.u16()?);
    let flags = if version < WIDE_FLAGS_SINCE {
        u32::from(reader.take(1)?[0])
    } else {
        reader.u32()?
    };
    let has = |bit: u32| flags & bit != 0;
    let mut options = Options {
        consistency,
        serial_consistency: None,
        page_size: None,
        continues: false,
        stamped: has(flag::TIMESTAMP),
        keyspace: None,
        values_count: 0,
        values: Vec::new(),
    };
    if has(flag::VALUES) {
        options.values_count = reader.u16()?;
        for _ in 0..options.values_count {
            if has(flag::NAMES) {
                let length = reader.u16()?;
                reader.take(usize::from(length))?;
            }
            let value = reader.value()?;
            options.values.extend_from_slice(value);
        }
    }
    if has(flag::PAGE_SIZE) {
        options.page_size = Some(reader.u32()? as i32).filter(|rows| *rows > 0);
    }
    if has(flag::PAGING_STATE) {
        reader.value()?;
        options.continues = true;
    }
    if has(flag::SERIAL) {
        options.serial_consistency = Consistency::from_code(reader.u16()?);
    }
    if has(flag::TIMESTAMP) {
        reader.take(8)?;
    }
    if has(flag::KEYSPACE) {
        let length = reader.u16()?;
        options.keyspace = std::str::from_utf8(reader.take(usize::from(length))?).ok();
    }
    Some(options)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    /// Reads a value together with its length field.
    fn value(&mut self) -> Option<&'a [u8]> {
        let length = self.0.first_chunk().map(|bytes| i32::from_be_bytes(*bytes))?;
        self.take(LENGTH_BYTES + usize::try_from(length).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_as_each_version_of_the_protocol_has_them() {
        // The bytes are LOCAL_QUORUM and the flags for values, page size, serial consistency and
        // timestamp. The values 7, null and unset follow.
        let rest = [
            &[
                0, 3, 0, 0, 0, 1, 7, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE,
            ][..],
            &[0, 0, 0, 100],
            &[0, 9],
            &[0; 8],
        ]
        .concat();
        let narrow = [&[0, 6, 0x35][..], &rest].concat();
        let wide = [&[0, 6, 0, 0, 0, 0x35][..], &rest].concat();
        let expected = Options {
            consistency: Some(Consistency::LocalQuorum),
            serial_consistency: Some(Consistency::LocalSerial),
            page_size: Some(100),
            continues: false,
            stamped: true,
            keyspace: None,
            values_count: 3,
            values: rest[2..15].to_vec(),
        };
        assert_eq!(parse(&narrow, 4).as_ref(), Some(&expected));
        assert_eq!(parse(&wide, 5).as_ref(), Some(&expected));
        for length in 0..narrow.len() {
            assert_eq!(parse(&narrow[..length], 4), None, "{length} bytes");
        }
    }

    #[test]
    fn a_further_page_and_the_keyspace_of_a_request_are_seen() {
        let bytes = [
            &[0, 1, 0, 0, 0, 0x88][..],
            &[0, 0, 0, 2, 1, 2],
            &[0, 4],
            b"shop",
        ]
        .concat();
        let options = parse(&bytes, 5).expect("options");
        assert!(options.continues && options.keyspace == Some("shop"));
    }
}
