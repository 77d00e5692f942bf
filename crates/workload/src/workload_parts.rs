//! Code that several named workloads share. It determines the number of rows, and builds the schema
//! and statements of workloads with one table.

use crate::distribution::Sampler;
use crate::mix::Mix;
use crate::params::Params;
use crate::program::{Choices, Kind, Program, Schema, Statement, lanes};
use crate::program_traits::{RowFunction, TableSource};
use crate::random::lane;
use crate::spec::{Replication, Spec};
use cql::Consistency;
use std::sync::Arc;

/// Cassandra's limit on the length of a keyspace's name, in characters.
pub(crate) const KEYSPACE_CHARACTERS_MAX: usize = 48;
/// Maximum number of rows. With more rows, calculations with rows and times would overflow.
pub(crate) const ROWS_MAX: u64 = 1 << 62;

#[derive(Clone, Copy, Debug)]
pub struct NamedWorkload {
    /// Name of the workload after `use:` in a study.
    pub name: &'static str,
    /// Description, in sentences.
    pub what: &'static str,
    /// Default keyspace.
    pub keyspace: &'static str,
    /// Kinds of operation to which a mix can assign weights.
    pub kinds: &'static [&'static str],
    /// Default mix, as a weight for each kind.
    pub mix: &'static [(&'static str, f64)],
    /// Parameters, each with its name, default and meaning.
    pub params: &'static [(&'static str, &'static str, &'static str)],
}

/// Settings that every workload has.
pub(crate) struct Draft {
    pub(crate) named: &'static NamedWorkload,
    pub(crate) keyspace: String,
    /// Statements that create and drop the keyspace.
    pub(crate) keyspaces: (String, String),
    pub(crate) weights: Vec<f64>,
}

/// Properties in which named workloads with one table differ.
pub(crate) struct OneTable<'a, T> {
    /// Name of the table, without the keyspace.
    pub(crate) name: String,
    pub(crate) create: String,
    /// Names of the kinds. The flag is true for kinds that write.
    pub(crate) kinds: &'a [(&'a str, bool)],
    pub(crate) statements: Vec<Statement>,
    pub(crate) rows: u64,
    pub(crate) picks: Sampler,
    /// Index of the kind that adds rows. The statement of this kind has the same index. `None` if
    /// no kind adds rows.
    pub(crate) insert_kind: Option<u8>,
    /// Index of the statement of the load stage, which belongs to the first kind.
    pub(crate) load: u16,
    pub(crate) verify: u16,
    pub(crate) table: T,
}

impl Draft {
    /// Returns the schema of a workload with one table. `create_table` is the `CREATE TABLE`
    /// statement.
    pub(crate) fn schema(&self, table: &str, create_table: String) -> Schema {
        Schema {
            create_keyspace: self.keyspaces.0.clone(),
            is_replication_stated: false,
            create_tables: vec![create_table],
            truncate: vec![format!("TRUNCATE {}", self.qualified(table))],
            drop_keyspace: self.keyspaces.1.clone(),
        }
    }

    pub(crate) fn weighs(&self, kind: usize) -> bool {
        self.weights.get(kind).is_some_and(|weight| *weight > 0.0)
    }

    /// Returns the quoted name of the table, with its keyspace.
    pub(crate) fn qualified(&self, table: &str) -> String {
        format!("\"{}\".\"{table}\"", self.keyspace)
    }

    /// Returns the program of `parts`. Each kind has the statement with the same index. The load
    /// stage belongs to the first kind, and executes `parts.load`. The verify stage belongs to the
    /// second kind, and executes `parts.verify`.
    pub(crate) fn program<T: RowFunction>(self, params: &Params, parts: OneTable<T>) -> Program {
        let (sample, rows_seed) = Choices::sample(params.spec.seed, parts.rows);
        let insert = parts.insert_kind;
        let choices = Choices {
            mix: self.mix(params),
            rows: parts.picks,
            insert_kind: insert,
            main_statements: (0..parts.kinds.len() as u16).collect(),
            load: (0, parts.load),
            verify: (1, parts.verify),
            sample,
            rows_seed,
        };
        Program {
            name: self.named.name.to_owned(),
            schema: self.schema(&parts.name, parts.create),
            tables: vec![parts.name],
            kinds: kinds(parts.kinds),
            statements: parts.statements,
            rows: parts.rows,
            source: Arc::new(TableSource {
                choices,
                rows: parts.rows,
                table: parts.table,
            }),
            keyspace: self.keyspace,
        }
    }

    /// Returns the mix. After a reported mistake, the mix has only the first kind.
    pub(crate) fn mix(&self, params: &Params) -> Mix {
        let seed = lane(params.spec.seed, lanes::MIX);
        if params.problems.is_empty() {
            Mix::new(&self.weights, seed)
        } else {
            Mix::new(&[1.0], seed)
        }
    }
}

/// Returns the number of rows of a specification. If the number is out of range, it has been
/// reported as a mistake, and the function returns the nearest possible number.
pub(crate) fn rows(spec: &Spec) -> u64 {
    spec.rows.clamp(1, ROWS_MAX)
}

/// Returns true if Cassandra accepts the quoted `name` as the name of a keyspace or table.
pub fn is_identifier(name: &str) -> bool {
    (1..=KEYSPACE_CHARACTERS_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

pub(crate) fn keyspace_statements(params: &mut Params, keyspace: &str) -> (String, String) {
    let mut parts = Vec::new();
    match &params.spec.replication {
        Replication::Simple { factor } => {
            parts.push("'class': 'SimpleStrategy'".to_owned());
            parts.push(format!("'replication_factor': '{factor}'"));
            if *factor == 0 {
                let message = "the replication factor is 0; it must be at least 1".to_owned();
                params.problem(&["replication"], message, None);
            }
        }
        Replication::NetworkTopology(factors) => {
            parts.push("'class': 'NetworkTopologyStrategy'".to_owned());
            let total: u64 = factors.iter().map(|(_, factor)| u64::from(*factor)).sum();
            if total == 0 {
                let message =
                    "no data center has a replica; at least one data center needs a replication \
                     factor"
                        .to_owned();
                params.problem(&["replication"], message, None);
            }
            for (index, (datacenter, factor)) in factors.iter().enumerate() {
                if factors[..index].iter().any(|(earlier, _)| earlier == datacenter) {
                    let message = format!("data center {datacenter} has two replication factors");
                    params.problem(&["replication", datacenter], message, None);
                }
                parts.push(format!("{}: '{factor}'", cql::tokens::literal(datacenter)));
            }
        }
    }
    let create = format!(
        "CREATE KEYSPACE IF NOT EXISTS \"{keyspace}\" WITH replication = {{{}}} \
         AND durable_writes = true",
        parts.join(", ")
    );
    (create, format!("DROP KEYSPACE IF EXISTS \"{keyspace}\""))
}

/// Creates kinds from their names. The flag after a name is true if the kind changes data.
pub(crate) fn kinds(kinds: &[(&str, bool)]) -> Vec<Kind> {
    let made = kinds.iter();
    made.map(|(name, is_write)| Kind::new(*name, *is_write)).collect()
}

/// Returns an idempotent statement of a kind. If the statement is a read, it returns rows, which
/// can be verified.
pub(crate) fn statement(
    kinds: &[(&str, bool)],
    kind: u8,
    cql: String,
    default: Consistency,
) -> Statement {
    let (_, is_write) = kinds[usize::from(kind)];
    let values_count = cql.matches('?').count() as u16;
    Statement {
        idempotent: true,
        returns_rows: !is_write,
        verifies: !is_write,
        finds: !is_write,
        ..Statement::new(cql, kind, values_count, default)
    }
}
