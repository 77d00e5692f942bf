//! Converts the replayed part of a recording to bytes, for another process of this program.
//!
//! Both processes are the same build, so the format has no labels for its fields. Invariants:
//! unpacking returns exactly the packed operations, and checks them against the digest. Bytes never
//! cause a panic. Unpacking never reserves more memory than the number of bytes justifies.

use crate::recording::{Form, KindCount, Operation, Part, Recording};
use crate::recording_builder::digest;
use cql::Consistency;
use indexmap::IndexMap;
use std::io::{self, Read, Write};
use std::sync::Arc;
use workload::{ArrivalTimes, BatchKind};

/// Errors while unpacking a recording.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The bytes cannot be read.
    #[error("cassay cannot read the received recorded traffic: {0}")]
    Unreadable(#[from] io::Error),
    /// The bytes differ from the packed bytes. The text states the difference.
    #[error("the received recorded traffic differs from the original: {0}")]
    Other(&'static str),
}

impl Recording {
    /// Writes the replayed part of the recording to `out`. The output contains the bytes of the
    /// values, and about 15 bytes per operation. It does not contain notes on the logs or the
    /// numbers of omitted records.
    ///
    /// # Errors
    /// Writing to `out` fails.
    pub fn pack(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut to = Packer(out);
        to.text(&self.digest)?;
        to.number(self.began_ms)?;
        to.all(&self.kinds, |to, kind| {
            to.text(&kind.name)?;
            to.flag(kind.is_write)?;
            to.number(kind.operations)?;
            to.number(kind.statements)
        })?;
        to.count(self.keyspaces.len())?;
        for (name, count) in &self.keyspaces {
            to.text(name)?;
            to.number(*count)?;
        }
        to.count(self.tables.len())?;
        for ((keyspace, table), count) in &self.tables {
            to.text(keyspace)?;
            to.text(table)?;
            to.number(*count)?;
        }
        to.all(&self.forms, Packer::form)?;
        to.number(self.course.period_ns())?;
        to.all(self.course.due_ns(), |to, due_ns| to.number(*due_ns))?;
        to.all(&self.operations, |to, operation| {
            to.number(u64::from(operation.first))?;
            to.number(u64::from(operation.parts))?;
            to.number(u64::from(operation.kind))
        })?;
        to.all(&self.parts, |to, part| {
            to.number(u64::from(part.bytes))?;
            to.number(u64::from(part.form))
        })?;
        to.count(self.values.len())?;
        to.0.write_all(&self.values)
    }

    /// Reads the output of [`pack`](Recording::pack). Reads at most `bytes` bytes.
    ///
    /// # Errors
    /// The input cannot be read, or differs from the packed bytes.
    pub fn unpack(from: &mut dyn Read, bytes: u64) -> Result<Recording, UnpackError> {
        let mut from = Unpacker { from, left: bytes };
        let told = from.text()?;
        let began_ms = from.number()?;
        let kinds = from.all(4, |from| {
            Ok(KindCount {
                name: from.text()?,
                is_write: from.flag()?,
                operations: from.number()?,
                statements: from.number()?,
            })
        })?;
        let keyspaces = from.all(2, |from| Ok((from.text()?, from.number()?)))?;
        let tables = from.all(3, |from| Ok(((from.text()?, from.text()?), from.number()?)))?;
        let forms = from.all(9, Unpacker::form)?;
        let period_ns = from.number()?;
        let due_ns = from.all(1, Unpacker::number)?;
        let operations = from.all(3, |from| {
            Ok(Operation {
                first: from.small()?,
                parts: from.small()?,
                kind: from.small()?,
            })
        })?;
        let mut at = 0;
        let parts = from.all(2, |from| {
            let (bytes, form) = (from.small::<u32>()?, from.small()?);
            let part = Part { at, bytes, form };
            at += u64::from(bytes);
            Ok(part)
        })?;
        let values = from.values()?;
        let recording = Recording {
            logs: Vec::new(),
            began_ms,
            course: Arc::new(ArrivalTimes::new(due_ns, period_ns)),
            kinds,
            levels: Default::default(),
            keyspaces: keyspaces.into_iter().collect(),
            tables: tables.into_iter().collect::<IndexMap<_, _>>(),
            left_out: Default::default(),
            without_level: 0,
            digest: told,
            forms,
            operations,
            parts,
            values,
        };
        fits(&recording, at)?;
        Ok(recording)
    }
}

/// Fails unless all references are valid and the content matches the digest.
fn fits(recording: &Recording, values_bytes: u64) -> Result<(), UnpackError> {
    let (kinds, forms) = (recording.kinds.len(), recording.forms.len());
    let is_there = |operation: &Operation| {
        let end = operation.first as usize + usize::from(operation.parts);
        let has_parts = operation.parts > 0 && end <= recording.parts.len();
        has_parts && usize::from(operation.kind) < kinds
    };
    let all_there = recording.operations.iter().all(is_there)
        && recording.parts.iter().all(|part| usize::from(part.form) < forms)
        && recording.forms.iter().all(|form| usize::from(form.kind) < kinds);
    let counts = (
        recording.course.due_ns().len(),
        recording.values.len() as u64,
    );
    if recording.operations.is_empty()
        || !all_there
        || counts != (recording.operations.len(), values_bytes)
    {
        return Err(UnpackError::Other(
            "a part of the recorded traffic is missing",
        ));
    }
    if digest(recording) != recording.digest {
        return Err(UnpackError::Other("the digests differ"));
    }
    Ok(())
}

/// Writes numbers with seven bits per byte, as in LEB128.
struct Packer<'o>(&'o mut dyn Write);

impl Packer<'_> {
    fn number(&mut self, mut number: u64) -> io::Result<()> {
        let mut bytes = [0; 10];
        let mut count = 0;
        loop {
            bytes[count] = number as u8 & 0x7f;
            number >>= 7;
            if number == 0 {
                break;
            }
            bytes[count] |= 0x80;
            count += 1;
        }
        self.0.write_all(&bytes[..=count])
    }

    fn count(&mut self, count: usize) -> io::Result<()> {
        self.number(count as u64)
    }

    fn flag(&mut self, flag: bool) -> io::Result<()> {
        self.number(u64::from(flag))
    }

    /// Writes `None` as 0, and a number as its value plus one.
    fn maybe(&mut self, number: Option<u64>) -> io::Result<()> {
        self.number(number.map_or(0, |number| number + 1))
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        self.count(text.len())?;
        self.0.write_all(text.as_bytes())
    }

    fn all<T>(
        &mut self,
        all: &[T],
        mut one: impl FnMut(&mut Self, &T) -> io::Result<()>,
    ) -> io::Result<()> {
        self.count(all.len())?;
        all.iter().try_for_each(|item| one(self, item))
    }

    fn form(&mut self, form: &Form) -> io::Result<()> {
        let code = |level: Consistency| u64::from(level.code());
        self.text(&form.cql)?;
        self.number(u64::from(form.values_count))?;
        self.number(code(form.consistency))?;
        self.maybe(form.serial_consistency.map(code))?;
        self.maybe(form.page_size.map(|rows| u64::from(rows.cast_unsigned())))?;
        self.flag(form.stamped)?;
        self.flag(form.conditional)?;
        self.flag(form.returns_rows)?;
        self.maybe(form.batch.map(|kind| kind as u64))?;
        self.number(u64::from(form.kind))
    }
}

struct Unpacker<'i> {
    from: &'i mut dyn Read,
    /// Number of bytes of the input that the reader may still read.
    left: u64,
}

impl Unpacker<'_> {
    fn byte(&mut self) -> Result<u8, UnpackError> {
        let mut byte = [0];
        self.from.read_exact(&mut byte)?;
        self.left = self.left.saturating_sub(1);
        Ok(byte[0])
    }

    fn number(&mut self) -> Result<u64, UnpackError> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if (bits << shift) >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(UnpackError::Other("a number is too large"))
    }

    fn small<T: TryFrom<u64>>(&mut self) -> Result<T, UnpackError> {
        let number = self.number()?;
        T::try_from(number).map_err(|_| UnpackError::Other("a number is too large"))
    }

    /// Reads the number of items that follow. Each item takes at least `bytes_each` bytes.
    fn count(&mut self, bytes_each: u64) -> Result<usize, UnpackError> {
        let count = self.number()?;
        let fits = count.checked_mul(bytes_each).is_some_and(|bytes| bytes <= self.left);
        match usize::try_from(count) {
            Ok(count) if fits => Ok(count),
            _ => Err(UnpackError::Other("the data ends too early")),
        }
    }

    fn flag(&mut self) -> Result<bool, UnpackError> {
        Ok(self.number()? > 0)
    }

    fn maybe(&mut self) -> Result<Option<u64>, UnpackError> {
        Ok(self.number()?.checked_sub(1))
    }

    fn values(&mut self) -> Result<Vec<u8>, UnpackError> {
        let count = self.count(1)?;
        let mut bytes = vec![0; count];
        self.from.read_exact(&mut bytes)?;
        self.left -= count as u64;
        Ok(bytes)
    }

    fn text(&mut self) -> Result<String, UnpackError> {
        let bytes = self.values()?;
        String::from_utf8(bytes).map_err(|_| UnpackError::Other("a text is missing"))
    }

    fn all<T>(
        &mut self,
        bytes_each: u64,
        mut one: impl FnMut(&mut Self) -> Result<T, UnpackError>,
    ) -> Result<Vec<T>, UnpackError> {
        let count = self.count(bytes_each)?;
        // An item may take more memory than its bytes in the input. The vector therefore grows
        // while items arrive.
        (0..count).map(|_| one(self)).collect()
    }

    fn level(code: u64) -> Result<Consistency, UnpackError> {
        let known = u16::try_from(code).ok().and_then(Consistency::from_code);
        known.ok_or(UnpackError::Other("a consistency level is missing"))
    }

    fn form(&mut self) -> Result<Form, UnpackError> {
        Ok(Form {
            cql: self.text()?,
            values_count: self.small()?,
            consistency: Unpacker::level(self.number()?)?,
            serial_consistency: self.maybe()?.map(Unpacker::level).transpose()?,
            page_size: match self.maybe()?.map(u32::try_from) {
                Some(Ok(rows)) => Some(rows.cast_signed()),
                Some(Err(_)) => return Err(UnpackError::Other("a number is too large")),
                None => None,
            },
            stamped: self.flag()?,
            conditional: self.flag()?,
            returns_rows: self.flag()?,
            batch: match self.maybe()? {
                None => None,
                Some(code) => {
                    let mut kinds = BatchKind::NAMES.into_iter().map(|(_, kind)| kind);
                    let found = kinds.find(|kind| *kind as u64 == code);
                    Some(found.ok_or(UnpackError::Other("a batch has no kind"))?)
                }
            },
            kind: self.small()?,
        })
    }
}
