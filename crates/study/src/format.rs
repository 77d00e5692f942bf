//! The format of a study, as one table: key, type, default, meaning.
//!
//! The table determines the accepted keys, the suggestions, the defaults, the setting that each key
//! sets (a [`crate::settings::Draft`]), and the reference `docs/study-file.md`. cassay rejects a
//! key that is not in the table. Paths are dotted. The path of a key begins with the path of its
//! section.

mod field;
mod fields;
mod former_keys;
pub(crate) mod sections;

pub use field::{Field, Type, Word};
pub use fields::LOCAL_NODES_MAX;
pub use former_keys::rename as rename_former_keys;
pub use sections::{
    ELSEWHERE, EXCLUSIVE, Exclusive, PHASE_PATHS, PHASES, REPLACED_WHOLE, VARIANT_SECTIONS,
    outside_phases,
};

/// Returns all rows of the table.
pub fn fields() -> impl Iterator<Item = &'static Field> {
    fields::FIELDS.into_iter().flatten()
}

/// Returns the row for a path. `None` if the table has no such path.
pub fn field(path: &str) -> Option<&'static Field> {
    fields().find(|field| field.path == path)
}

/// Returns the rows directly below a path. Each row comes with the last part of its path. For the
/// empty path, returns the rows of the top level.
pub fn children(path: &str) -> impl Iterator<Item = (&'static str, &'static Field)> {
    fields().filter_map(move |field| {
        let rest = if path.is_empty() {
            field.path
        } else {
            field.path.strip_prefix(path)?.strip_prefix('.')?
        };
        (!rest.contains('.')).then_some((rest, field))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_has_its_section_and_stands_once() {
        let mut seen = BTreeSet::new();
        for row in fields() {
            assert!(seen.insert(row.path), "{} stands twice", row.path);
            if let Some((parent, _)) = row.path.rsplit_once('.') {
                assert!(seen.contains(parent), "{} comes before {parent}", row.path);
            }
        }
        for group in EXCLUSIVE {
            for key in group.keys {
                let path = match group.path {
                    "" => (*key).to_owned(),
                    path => format!("{path}.{key}"),
                };
                assert!(field(&path).is_some(), "{path}");
            }
        }
        let others = [VARIANT_SECTIONS, PHASE_PATHS, PHASES];
        for path in REPLACED_WHOLE.iter().chain(others.into_iter().flatten()) {
            assert!(field(path).is_some(), "{path}");
        }
    }

    #[test]
    fn keys_that_stand_elsewhere_are_fields_there() {
        for (name, path) in ELSEWHERE {
            assert!(field(name).is_none() && field(path).is_some(), "{name}");
        }
    }
}
