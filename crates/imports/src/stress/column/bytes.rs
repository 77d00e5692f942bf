//! Computes the maximum size of a row before values are generated.

use super::{Column, ValueType};

/// Maximum size of a generated row, in bytes. A server refuses rows that are larger than half a
/// segment of its commit log. Half a segment is 16 MiB, unless the server has a larger
/// `commitlog_segment_size`.
pub(crate) const ROW_BYTES_MAX: u64 = 64 << 20;

const LENGTH_BYTES: u64 = 4;

impl Column {
    pub(crate) fn bytes_max(&self) -> u64 {
        let size = self.size.max().max(0) as u64;
        let cell = |of: &Column| LENGTH_BYTES.saturating_add(of.bytes_max());
        match &self.kind {
            ValueType::Text | ValueType::Blob | ValueType::HexBlob => size,
            ValueType::List(of) | ValueType::Set(of) => size.saturating_mul(cell(of)),
            ValueType::Map(key, value) => {
                size.saturating_mul(cell(key).saturating_add(cell(value)))
            }
            ValueType::Tuple(fields) => fields.iter().map(cell).fold(0, u64::saturating_add),
            ValueType::Vector(of, count, _) => u64::from(*count).saturating_mul(cell(of)),
            // The longest of the remaining types is a decimal, which consists of a scale and a
            // varint of 64 bits.
            _ => 16,
        }
    }
}

/// Returns an error if a row of these columns could be larger than any server accepts.
pub(crate) fn too_large<'a>(columns: impl Iterator<Item = &'a Column> + Clone) -> Option<String> {
    let row = columns.clone().map(Column::bytes_max).fold(0, u64::saturating_add);
    let largest = columns
        .max_by_key(|column| column.bytes_max())
        .filter(|_| row > ROW_BYTES_MAX)?;
    Some(format!(
        "a row may take {row} bytes, {} of them `{}`; the maximum is {ROW_BYTES_MAX}, four times \
         the default limit of a server: set a smaller size",
        largest.bytes_max(),
        largest.name
    ))
}

#[cfg(test)]
mod tests {
    use super::super::{Column, Dist, Spec};
    use super::*;
    use cql::value::CqlType;

    fn column(typ: &CqlType, size: &str) -> Column {
        let spec = Spec {
            size: Some(Dist::parse(size).unwrap()),
            ..Spec::default()
        };
        Column::from_profile("c", typ, spec)
    }

    /// In an earlier version, `size=fixed(9000000000000000000)` ended the process, because it
    /// requested too much memory.
    #[test]
    fn sizes_that_servers_refuse_are_reported_before_allocation() {
        let list = CqlType::List(Box::new(CqlType::Text));
        for (typ, size, fits) in [
            (&CqlType::Blob, "fixed(67108864)", true),
            (&CqlType::Blob, "fixed(67108865)", false),
            (&CqlType::Text, "uniform(1..9000000000000000000)", false),
            (&list, "fixed(1000)", true),
            (&list, "fixed(3000000000)", false),
            (&CqlType::Int, "fixed(9000000000000000000)", true),
        ] {
            let columns = [column(typ, size)];
            assert_eq!(too_large(columns.iter()).is_none(), fits, "{typ:?} {size}");
        }
        let many = vec![column(&CqlType::Blob, "fixed(1000000)"); 100];
        let said = too_large(many.iter()).expect("a hundred megabytes");
        assert!(said.contains("100000000 bytes"), "{said}");
    }
}
