//! Reads the values in one document of a Chronicle queue. The values are field names, numbers,
//! texts and bytes. A code of one byte precedes each value.
//!
//! The module supports only codes that occur in Cassandra's logs, and codes that the library may
//! choose for the same values. Invariants: the module checks every length against the remaining
//! bytes. For an unknown item, it returns an error with the offset, and never guesses.

use std::borrow::Cow;

/// Reason why a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} at byte {at} of the record")]
pub struct MalformedDocument {
    /// The problem at this position.
    pub what: &'static str,
    /// Offset of the problem in the document, in bytes.
    pub at: usize,
}

/// A value, or the name of a field. The value of the field follows its name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item<'a> {
    Field(Cow<'a, str>),
    Number(i64),
    Text(Cow<'a, str>),
    Bytes(&'a [u8]),
    Null,
}

/// Codes that precede items.
mod code {
    pub const BYTES_8: u8 = 0x80;
    pub const BYTES_16: u8 = 0x81;
    pub const BYTES_32: u8 = 0x82;
    pub const U8_ARRAY: u8 = 0x8A;
    pub const PADDING_32: u8 = 0x8E;
    pub const PADDING: u8 = 0x8F;
    pub const FLOAT_32: u8 = 0x90;
    pub const FLOAT_64: u8 = 0x91;
    pub const UINT_8: u8 = 0xA1;
    pub const UINT_16: u8 = 0xA2;
    pub const UINT_32: u8 = 0xA3;
    pub const INT_8: u8 = 0xA4;
    pub const INT_16: u8 = 0xA5;
    pub const INT_32: u8 = 0xA6;
    pub const INT_64: u8 = 0xA7;
    pub const INT_64_HEX: u8 = 0xAF;
    pub const FALSE: u8 = 0xB0;
    pub const TRUE: u8 = 0xB1;
    pub const TYPE_PREFIX: u8 = 0xB6;
    pub const FIELD_ANY: u8 = 0xB7;
    pub const TEXT_ANY: u8 = 0xB8;
    pub const EVENT: u8 = 0xB9;
    pub const NULL: u8 = 0xBB;
    pub const COMMENT: u8 = 0xBE;
    pub const FIELD_0: u8 = 0xC0;
    pub const TEXT_0: u8 = 0xE0;
}

#[derive(Clone, Debug)]
pub(crate) struct Items<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Items<'a> {
    pub fn new(bytes: &'a [u8]) -> Items<'a> {
        Items { bytes, at: 0 }
    }

    /// Returns an error at the position of the last item.
    pub fn wrong(&self, what: &'static str) -> MalformedDocument {
        MalformedDocument { what, at: self.at }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], MalformedDocument> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let Some((taken, _)) = rest.split_at_checked(count) else {
            return Err(self.wrong("a value is longer than the record"));
        };
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], MalformedDocument> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn byte(&mut self) -> Result<u8, MalformedDocument> {
        Ok(self.array::<1>()?[0])
    }

    /// Reads a number that is stored with seven bits per byte, the lowest bits first.
    fn stop_bit(&mut self) -> Result<usize, MalformedDocument> {
        let mut number = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return usize::try_from(number).map_err(|_| self.wrong("a length is too large"));
            }
        }
        Err(self.wrong("a length has no last byte"))
    }

    fn text(&mut self, length: usize) -> Result<Cow<'a, str>, MalformedDocument> {
        Ok(text_of(self.take(length)?))
    }

    /// Reads a block of `length` bytes. If the block is an array, a code precedes its content.
    fn block(&mut self, length: usize) -> Result<Item<'a>, MalformedDocument> {
        let all = self.take(length)?;
        Ok(Item::Bytes(match all {
            [code::U8_ARRAY, rest @ ..] => rest,
            other => other,
        }))
    }

    /// Returns the next item. Returns `None` at the end of the document.
    pub fn next(&mut self) -> Result<Option<Item<'a>>, MalformedDocument> {
        while self.at < self.bytes.len() {
            let at = self.at;
            let first = self.byte()?;
            let number = |number: i64| Ok(Some(Item::Number(number)));
            return match first {
                0..=0x7F => number(i64::from(first)),
                code::PADDING => continue,
                code::PADDING_32 => {
                    let length = u32::from_le_bytes(self.array()?);
                    self.take(length as usize)?;
                    continue;
                }
                code::COMMENT | code::TYPE_PREFIX => {
                    let length = self.stop_bit()?;
                    self.take(length)?;
                    continue;
                }
                code::BYTES_8 => {
                    let length = usize::from(self.byte()?);
                    self.block(length).map(Some)
                }
                code::BYTES_16 => {
                    let length = usize::from(u16::from_le_bytes(self.array()?));
                    self.block(length).map(Some)
                }
                code::BYTES_32 => {
                    let length = u32::from_le_bytes(self.array()?);
                    self.block(length as usize).map(Some)
                }
                code::UINT_8 => number(i64::from(self.byte()?)),
                code::UINT_16 => number(i64::from(u16::from_le_bytes(self.array()?))),
                code::UINT_32 => number(i64::from(u32::from_le_bytes(self.array()?))),
                code::INT_8 => number(i64::from(i8::from_le_bytes(self.array()?))),
                code::INT_16 => number(i64::from(i16::from_le_bytes(self.array()?))),
                code::INT_32 => number(i64::from(i32::from_le_bytes(self.array()?))),
                code::INT_64 | code::INT_64_HEX => number(i64::from_le_bytes(self.array()?)),
                // The library may write a whole number as a shorter float if this float represents
                // the number exactly.
                code::FLOAT_32 => number(f32::from_le_bytes(self.array()?) as i64),
                code::FLOAT_64 => number(f64::from_le_bytes(self.array()?) as i64),
                code::FALSE => number(0),
                code::TRUE => number(1),
                code::NULL => Ok(Some(Item::Null)),
                code::FIELD_ANY | code::EVENT => {
                    let length = self.stop_bit()?;
                    Ok(Some(Item::Field(self.text(length)?)))
                }
                code::TEXT_ANY => {
                    let length = self.stop_bit()?;
                    Ok(Some(Item::Text(self.text(length)?)))
                }
                code::FIELD_0..=0xDF => {
                    let name = self.text(usize::from(first - code::FIELD_0))?;
                    Ok(Some(Item::Field(name)))
                }
                code::TEXT_0..=0xFF => Ok(Some(Item::Text(
                    self.text(usize::from(first - code::TEXT_0))?,
                ))),
                _ => {
                    self.at = at;
                    Err(self.wrong("the record contains a value of an unknown kind"))
                }
            };
        }
        Ok(None)
    }

    /// Advances to the value of a field with this name.
    pub fn field(&mut self, name: &str) -> Result<(), MalformedDocument> {
        while let Some(item) = self.next()? {
            if matches!(&item, Item::Field(found) if found == name) {
                return Ok(());
            }
        }
        Err(self.wrong("a field is missing"))
    }

    pub fn number(&mut self) -> Result<i64, MalformedDocument> {
        match self.next()? {
            Some(Item::Number(number)) => Ok(number),
            _ => Err(self.wrong("a number is missing")),
        }
    }

    /// Reads the number of items that follow. Each item takes at least one byte.
    pub fn count(&mut self) -> Result<usize, MalformedDocument> {
        let count = usize::try_from(self.number()?).unwrap_or(usize::MAX);
        if count > self.bytes.len() - self.at {
            return Err(self.wrong("the list has fewer items than its stated count"));
        }
        Ok(count)
    }

    pub fn words(&mut self) -> Result<Option<Cow<'a, str>>, MalformedDocument> {
        match self.next()? {
            Some(Item::Text(text)) => Ok(Some(text)),
            Some(Item::Null) => Ok(None),
            _ => Err(self.wrong("a text is missing")),
        }
    }

    /// Reads a value of bytes without decoding it. Returns `None` for null.
    pub fn bytes(&mut self) -> Result<Option<&'a [u8]>, MalformedDocument> {
        match self.next()? {
            Some(Item::Bytes(bytes)) => Ok(Some(bytes)),
            Some(Item::Null) => Ok(None),
            _ => Err(self.wrong("a value of bytes is missing")),
        }
    }
}

/// Decodes a text in the encoding of the library. The library encodes each half of a surrogate pair
/// separately. A character beyond the first 65,536 therefore takes six bytes instead of four.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(decode_halves(bytes)),
    }
}

fn decode_halves(bytes: &[u8]) -> String {
    let mut units: Vec<u16> = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, behind @ ..] = rest {
        let low = |byte: u8| u16::from(byte & 0x3F);
        let (unit, taken) = match (first, behind) {
            (0..=0x7F, _) => (u16::from(*first), 1),
            (0xC0..=0xDF, [second, ..]) => (u16::from(first & 0x1F) << 6 | low(*second), 2),
            (0xE0..=0xEF, [second, third, ..]) => {
                let high = u16::from(first & 0x0F) << 12;
                (high | low(*second) << 6 | low(*third), 3)
            }
            _ => (0xFFFD, 1),
        };
        units.push(unit);
        rest = &rest[taken..];
    }
    String::from_utf16_lossy(&units)
}
