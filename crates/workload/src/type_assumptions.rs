//! The types of markers and the columns of results that the statements of a program assume. The
//! assumptions follow from the program's table definitions. A server may have a different table
//! with the same name.

use crate::program::Program;
use crate::schema::{DefinedObject, Marker, Table, markers, named_table, parse, tokens};
use cql::value::{CqlType, UdtType};

/// A statement's assumptions about a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// Type of the values of each marker. `None` if the text of the statement does not determine
    /// the type.
    pub markers: Vec<Option<CqlType>>,
    /// The columns of the result, in order, if the statement selects all columns. Otherwise `None`.
    pub all_columns: Option<Vec<String>>,
}

/// The tables that a program's schema statements define.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    tables: Vec<Table>,
}

impl Definitions {
    /// Reads the statements that create a program's tables and types.
    pub fn read(program: &Program) -> Definitions {
        let (mut types, mut tables): (Vec<UdtType>, Vec<Table>) = Default::default();
        for cql in &program.schema().create_tables {
            match parse(cql, &types) {
                Ok(DefinedObject::Type(typ)) => types.push(typ),
                Ok(DefinedObject::Table(table)) => tables.push(table),
                Ok(DefinedObject::Keyspace(_) | DefinedObject::Other) | Err(_) => {}
            }
        }
        Definitions { tables }
    }

    /// Returns a statement's assumptions about its table. Returns `None` if the program does not
    /// define the table.
    pub fn expectation(&self, cql: &str) -> Option<Expectation> {
        let name = table_of(cql)?;
        let table = self.tables.iter().find(|table| table.name == name)?;
        let typ = |marker: &Marker| match marker {
            Marker::Column(name) => {
                let mut columns = table.columns.iter();
                let column = columns.find(|column| column.name.eq_ignore_ascii_case(name))?;
                Some(column.typ.clone())
            }
            Marker::Int | Marker::Token | Marker::Timestamp | Marker::Unknown => None,
        };
        Some(Expectation {
            markers: markers(cql).ok()?.iter().map(typ).collect(),
            all_columns: selects_all(cql).then(|| columns_of(table)),
        })
    }
}

/// Returns the table that a statement reads or writes, without its keyspace. Returns `None` for
/// other statements.
pub fn table_of(cql: &str) -> Option<String> {
    Some(named_table(&tokens(cql).ok()?)?.1.to_owned())
}

fn selects_all(cql: &str) -> bool {
    let tokens = tokens(cql).unwrap_or_default();
    let texts: Vec<&str> = tokens.iter().take(3).map(|token| token.text.as_str()).collect();
    texts == ["select", "*", "from"]
}

/// Returns all columns in the order of Cassandra's results. The order is the partition key, the
/// clustering columns, the static columns by name, and the other columns by name.
fn columns_of(table: &Table) -> Vec<String> {
    let keys = table.partition_key.iter().chain(&table.clustering);
    let name = |at: &usize| table.columns[*at].name.clone();
    let mut others: Vec<usize> = (0..table.columns.len()).filter(|at| !table.is_key(*at)).collect();
    others.sort_by_key(|at| (!table.columns[*at].is_static, &table.columns[*at].name));
    keys.chain(&others).map(name).collect()
}

/// Returns true if a value of type `made` has the same meaning for a server that expects type
/// `takes`.
pub fn is_taken(takes: &CqlType, made: &CqlType) -> bool {
    use CqlType as T;
    match (takes, made) {
        (T::List(a), T::List(b)) | (T::Set(a), T::Set(b)) => is_taken(a, b),
        (T::Map(k, v), T::Map(l, w)) => is_taken(k, l) && is_taken(v, w),
        (T::Vector(a, n), T::Vector(b, m)) => n == m && is_taken(a, b),
        (T::Tuple(a), T::Tuple(b)) => a.len() == b.len() && all(a.iter().zip(b)),
        // The keyspace and the name of a type are not part of its values.
        (T::Udt(a), T::Udt(b)) => {
            let types = a.fields.iter().zip(&b.fields);
            a.fields.len() == b.fields.len() && all(types.map(|(a, b)| (&a.1, &b.1)))
        }
        // Every value of the type that is generated (ASCII, version 1 UUID) is also a value of the
        // type that the server expects.
        (T::Text, T::Ascii) | (T::Uuid, T::Timeuuid) => true,
        (T::Bigint | T::Counter | T::Timestamp, T::Bigint | T::Counter | T::Timestamp) => true,
        // cassay knows only the name of the class, so it cannot compare the values of the types.
        (T::Custom(_), _) | (_, T::Custom(_)) => true,
        (takes, made) => takes == made,
    }
}

fn all<'a>(mut pairs: impl Iterator<Item = (&'a CqlType, &'a CqlType)>) -> bool {
    pairs.all(|(takes, made)| is_taken(takes, made))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definitions(create: &str) -> Definitions {
        let Ok(DefinedObject::Table(table)) = parse(create, &[]) else {
            panic!("no table: {create}");
        };
        Definitions {
            tables: vec![table],
        }
    }

    #[test]
    fn a_statement_takes_its_table_as_it_is_defined() {
        let definitions = definitions(
            "CREATE TABLE k.t (v int, a text, s int static, \"B\" blob, c bigint, \
             PRIMARY KEY (a, c))",
        );
        let of = |cql: &str| definitions.expectation(cql);
        let read = of("SELECT * FROM \"k\".\"t\" WHERE a = ? LIMIT ?").unwrap();
        assert_eq!(read.markers, [Some(CqlType::Text), None]);
        assert_eq!(read.all_columns.unwrap(), ["a", "c", "s", "B", "v"]);
        let write = of("UPDATE t SET v = ?, \"B\" = ? WHERE a = ? AND c = ?").unwrap();
        let types = [CqlType::Int, CqlType::Blob, CqlType::Text, CqlType::Bigint];
        assert_eq!(write.markers, types.map(Some));
        assert_eq!(write.all_columns, None);
        assert_eq!(of("select v from t where a = ?").unwrap().all_columns, None);
        assert_eq!(of("SELECT * FROM other WHERE a = ?"), None);
    }
}
