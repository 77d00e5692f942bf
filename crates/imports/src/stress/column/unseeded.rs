//! Lists the values that cassandra-stress draws from unseeded generators, so that each of its runs
//! has different rows. These are the sizes of collections, the number of time-based UUIDs on a
//! level, and the position within a quantum of QEXTREME. In cassay, these values follow from the
//! seed. A check must not report rows of cassandra-stress as wrong because of these values.
//!
//! All distributions of 3.11.4 were examined for this list. FIXED, UNIFORM, GAUSSIAN, EXP, EXTREME
//! and SEQ, with or without ~, draw only from seeded generators.

use super::{Column, ValueType};

impl Column {
    /// Returns true if cassandra-stress would refuse the column, or would generate collections of
    /// different sizes in each run.
    pub(crate) fn is_own(&self) -> bool {
        match &self.kind {
            ValueType::Map(..)
            | ValueType::Tuple(_)
            | ValueType::Vector(..)
            | ValueType::Duration => true,
            ValueType::List(inner) | ValueType::Set(inner) => {
                !self.size.is_fixed()
                    || matches!(inner.kind, ValueType::List(_) | ValueType::Set(_))
                    || inner.is_own()
            }
            _ => false,
        }
    }

    /// Returns true if the tool generates a different number of values on a level in each run. This
    /// applies to time-based UUIDs, because the tool seeds only their times.
    pub(crate) fn has_unseeded_count(&self) -> bool {
        let times_only = matches!(self.kind, ValueType::Timeuuid) && !self.cluster.is_fixed();
        times_only || self.cluster.is_half_seeded()
    }

    /// Returns true if the collections of cassandra-stress have different sizes in each run.
    pub(crate) fn has_unseeded_size(&self) -> bool {
        matches!(self.kind, ValueType::List(_) | ValueType::Set(_)) && !self.size.is_fixed()
    }

    /// Returns true if the tool generates different values of this column in each run.
    pub(crate) fn has_unseeded_value(&self) -> bool {
        let inner = match &self.kind {
            ValueType::List(inner) | ValueType::Set(inner) => inner.has_unseeded_value(),
            _ => false,
        };
        inner || self.identity.is_half_seeded()
    }

    /// Returns true if the texts or blobs of cassandra-stress have different sizes in each run.
    pub(crate) fn has_unseeded_length(&self) -> bool {
        matches!(self.kind, ValueType::Text | ValueType::Blob) && self.size.is_half_seeded()
    }

    /// Returns true if `cell` is the value `made`, or differs from it only in parts that the tool
    /// does not seed. The tool seeds the elements of collections, but not the size. Of two lists,
    /// the longer therefore begins with the shorter. Of two sets, the larger contains the smaller.
    pub(crate) fn may_be(&self, made: &[u8], cell: &[u8]) -> bool {
        if made == cell || self.has_unseeded_value() {
            return true;
        }
        if self.has_unseeded_length() {
            // The tool seeds the bytes, but not the number of bytes.
            return made.iter().zip(cell).all(|(a, b)| a == b);
        }
        if !self.has_unseeded_size() {
            return false;
        }
        let (Some(made), Some(cell)) = (elements(made), elements(cell)) else {
            return false;
        };
        if matches!(self.kind, ValueType::List(_)) {
            return made.iter().zip(&cell).all(|(a, b)| a == b);
        }
        let (small, large) = if made.len() < cell.len() {
            (made, cell)
        } else {
            (cell, made)
        };
        small.iter().all(|element| large.contains(element))
    }

    /// Returns true if Cassandra may return null for `made`. Cassandra returns null for an empty
    /// collection.
    pub(crate) fn may_be_none(&self, made: &[u8]) -> bool {
        match self.kind {
            ValueType::List(_) | ValueType::Set(_) | ValueType::Map(..) => {
                made == [0; 4] || self.has_unseeded_size() || self.size.is_half_seeded()
            }
            _ => false,
        }
    }
}

/// Returns the elements of a list or set. Returns `None` if the bytes are not a valid collection.
fn elements(cell: &[u8]) -> Option<Vec<&[u8]>> {
    let (count, mut rest) = cell.split_first_chunk::<4>()?;
    let mut elements = Vec::new();
    for _ in 0..i32::from_be_bytes(*count) {
        let (length, behind) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
        let (element, behind) = behind.split_at_checked(length)?;
        elements.push(element);
        rest = behind;
    }
    rest.is_empty().then_some(elements)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stress::column::Spec;
    use crate::stress::draw::Dist;
    use cql::value::CqlType;
    use data_encoding::HEXLOWER;

    fn list(elements: &[u8]) -> Vec<u8> {
        let mut cell = (elements.len() as i32).to_be_bytes().to_vec();
        for element in elements {
            cell.extend([0, 0, 0, 1, *element]);
        }
        cell
    }

    fn column(typ: &CqlType, size: &str) -> Column {
        let spec = Spec {
            size: Some(Dist::parse(size).expect(size)),
            ..Spec::default()
        };
        Column::from_profile("c", typ, spec)
    }

    #[test]
    fn a_collection_of_another_size_is_right_if_sizes_have_no_seed() {
        let (a_list, a_set) = (
            CqlType::List(Box::new(CqlType::Tinyint)),
            CqlType::Set(Box::new(CqlType::Tinyint)),
        );
        for (typ, size, made, cell, right) in [
            (&a_list, "uniform(1..3)", &[1, 2][..], &[1, 2, 3][..], true),
            (&a_list, "uniform(1..3)", &[1, 2], &[1], true),
            (&a_list, "uniform(1..3)", &[1, 2], &[2], false),
            (&a_list, "fixed(2)", &[1, 2], &[1, 2], true),
            (&a_list, "fixed(2)", &[1, 2], &[1], false),
            (&a_set, "uniform(1..3)", &[1, 3], &[1, 2, 3], true),
            (&a_set, "uniform(1..3)", &[1, 3], &[3], true),
            (&a_set, "uniform(1..3)", &[1, 3], &[2, 3], false),
            (&a_set, "fixed(2)", &[1, 3], &[3], false),
            (&CqlType::Blob, "uniform(1..9)", &[1], &[1, 2], false),
            (&a_list, "qextreme(1..9,2,3)", &[1, 2], &[1, 2, 3], true),
        ] {
            let column = column(typ, size);
            let is_right = column.may_be(&list(made), &list(cell));
            assert_eq!(is_right, right, "{typ:?} {size} {made:?} {cell:?}");
        }
    }

    /// Lines of `type size population seed`. Each line continues with the sizes of the first three
    /// values, and up to 12 bytes of each value. The classes Bytes and Strings in
    /// org.apache.cassandra.stress.generate.values of 3.11.4 generated the values.
    const SIZES: &str = include_str!("sizes.txt");

    #[test]
    fn blobs_and_texts_of_any_size_equal_those_of_cassandra_stress() {
        for line in SIZES.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let typ = if words[0] == "blob" {
                CqlType::Blob
            } else {
                CqlType::Text
            };
            let dist = |text: &str| (text != "null").then(|| Dist::parse(text).expect(text));
            let spec = Spec {
                size: dist(words[1]),
                population: dist(words[2]),
                cluster: None,
            };
            let mut column = Column::from_profile("v", &typ, spec);
            assert!(!column.has_unseeded_value() && !column.has_unseeded_length());
            column.set_seed(words[3].parse().expect(line));
            for expected in &words[4..] {
                let mut made = Vec::new();
                column.append(&mut made);
                let hex = HEXLOWER.encode(&made[..made.len().min(12)]);
                assert_eq!(format!("{}:{hex}", made.len()), *expected, "{line}");
            }
        }
        assert!(SIZES.lines().count() > 50);
    }

    #[test]
    fn a_draw_within_a_quantum_is_any_value_of_it() {
        let spec = |size: &str, population: &str| Spec {
            size: Some(Dist::parse(size).expect(size)),
            population: Some(Dist::parse(population).expect(population)),
            cluster: None,
        };
        let of = |spec| Column::from_profile("c", &CqlType::Blob, spec);
        let whole = of(spec("exp(0..300)", "qextreme(1..1M,2,4)"));
        assert!(whole.has_unseeded_value() && whole.may_be(&[1], &[2, 3]));
        let length = of(spec("qextreme(0..60,2,3)", "uniform(1..1M)"));
        assert!(length.has_unseeded_length() && !length.has_unseeded_value());
        assert!(length.may_be(&[1, 2], &[1, 2, 3]) && !length.may_be(&[1, 2], &[2, 2, 3]));
    }

    #[test]
    fn only_an_empty_collection_may_be_none() {
        let a_list = CqlType::List(Box::new(CqlType::Tinyint));
        for (typ, made, right) in [
            (&a_list, &[][..], true),
            (&a_list, &[1][..], false),
            (&CqlType::Blob, &[][..], false),
        ] {
            let column = column(typ, "fixed(2)");
            assert_eq!(column.may_be_none(&list(made)), right, "{typ:?} {made:?}");
        }
    }
}
