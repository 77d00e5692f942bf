//! A compiled workload file, with the positions of everything that a server may refuse. A refusal
//! is reported as a mistake at its position in the file.
//!
//! A statement is moved to another keyspace completely, or not at all. This is possible because
//! each statement names only the keyspace of the workload, which the parser has checked.

use cql::value::CqlType;
use yaml::{Diagnostics, Place, SourceText};

use super::sections::NamedStatement;
use crate::program::Program;
use crate::schema::{self, Token};
use crate::type_assumptions::is_taken;

/// Positions of a program's statements in the file.
pub(super) struct StatementPlaces {
    schema: Vec<Place>,
    /// The statements of the program. Copies for the load stage come last.
    statements: Vec<PlacedStatement>,
}

impl StatementPlaces {
    pub(super) fn new(schema: Vec<Place>, named: &[NamedStatement]) -> StatementPlaces {
        let parts = named.iter().flat_map(|named| &named.parts);
        let written = parts.map(|part| {
            let markers = part.binds.iter().map(|bind| Marker {
                name: bind.value.clone(),
                typ: bind.typ.clone(),
                place: bind.place.clone(),
            });
            PlacedStatement {
                place: part.place.clone(),
                markers: markers.collect(),
            }
        });
        StatementPlaces {
            schema,
            statements: written.collect(),
        }
    }
}

struct PlacedStatement {
    place: Place,
    markers: Vec<Marker>,
}

struct Marker {
    name: String,
    typ: CqlType,
    place: Place,
}

/// A workload file that has been compiled without mistakes.
pub struct CompiledFile {
    program: Program,
    places: StatementPlaces,
    sources: Vec<SourceText>,
}

/// The statements of a workload file, moved to a keyspace.
pub struct KeyspaceStatements {
    /// Statements that create the types, tables and indexes of the workload, in the order of their
    /// execution.
    pub schema: Vec<String>,
    /// All statements, each once. The index of a statement is its number for
    /// [`CompiledFile::refuse`].
    pub statements: Vec<String>,
}

impl CompiledFile {
    pub(super) fn new(
        program: Program,
        places: StatementPlaces,
        sources: Vec<SourceText>,
    ) -> CompiledFile {
        CompiledFile {
            program,
            places,
            sources,
        }
    }

    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the compiled program, without the positions.
    pub fn into_program(self) -> Program {
        self.program
    }

    /// Returns the statements of the file in `keyspace`, which may be the keyspace of the workload
    /// or another keyspace.
    pub fn placed(&self, keyspace: &str) -> KeyspaceStatements {
        let own = self.program.keyspace();
        let moved = |cql: &str| {
            if keyspace == own {
                cql.to_owned()
            } else {
                // The compiler has already parsed the statement, so it can be parsed again.
                schema::moved(cql, own, keyspace).expect("the statement parses")
            }
        };
        let statements = &self.program.statements()[..self.places.statements.len()];
        let schema = self.program.schema().create_tables.iter();
        KeyspaceStatements {
            schema: schema.map(|cql| moved(cql)).collect(),
            statements: statements.iter().map(|s| moved(&s.cql)).collect(),
        }
    }

    /// Creates empty diagnostics for the sources of the file.
    pub fn no_mistakes(&self) -> Diagnostics {
        Diagnostics::new(self.sources.clone())
    }

    /// Reports the message with which the server refused a schema statement.
    pub fn refuse_schema(&self, number: usize, words: &str, out: &mut Diagnostics) {
        if let Some(place) = self.places.schema.get(number) {
            out.add(place, words, None);
        }
    }

    /// Reports the message with which the server refused a statement.
    pub fn refuse(&self, number: usize, words: &str, out: &mut Diagnostics) {
        if let Some(written) = self.places.statements.get(number) {
            out.add(&written.place, words, None);
        }
    }

    /// Reports every marker of a statement for which the server expects another type than the type
    /// of the generated values. The server would refuse or misinterpret these values. If the server
    /// expects another number of values, the function reports the whole statement instead.
    pub fn compare(&self, number: usize, takes: &[CqlType], out: &mut Diagnostics) {
        let Some(written) = self.places.statements.get(number) else {
            return;
        };
        let (markers, count) = (&written.markers, takes.len());
        if markers.len() != count {
            let made = markers.len();
            let message = format!(
                "the server requires {count} values here, but the workload generates {made}"
            );
            return out.add(&written.place, message, None);
        }
        for (marker, takes) in markers.iter().zip(takes) {
            let Marker { name, typ, place } = marker;
            if !is_taken(takes, typ) {
                let message = format!(
                    "the server requires {takes} here, but the workload generates `{name}` as \
                         {typ}"
                );
                let hint = "a column of the server's table differs from the `schema` of this file, \
                     or the value's `type:` is wrong";
                out.add(place, message, Some(hint.to_owned()));
            }
        }
    }
}

/// Returns the mistake of a statement that names a keyspace other than `own`: its offset, message
/// and hint. Such a keyspace may belong to another application, and cassay would not measure its
/// contents.
pub(super) fn strange_keyspace(tokens: &[Token], own: &str) -> Option<(usize, String, String)> {
    let mut named = schema::keyspaces(tokens).into_iter();
    let named = named.find(|named| named.text != own)?;
    let message = format!("`{}` is not the keyspace of this workload", named.text);
    let hint = format!("remove the keyspace: all tables are in {own}");
    Some((named.at, message, hint))
}

#[cfg(test)]
mod tests;
