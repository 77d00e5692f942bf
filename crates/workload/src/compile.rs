//! Checks a spec and makes a program of it. All mistakes are reported together.

use crate::counters;
use crate::distribution::Sampler;
use crate::iot;
use crate::keyvalue;
use crate::kv;
use crate::mix::Mix;
use crate::names::{Named, names};
use crate::params::{Params, did_you_mean};
use crate::program::{Choices, Kind, Program, Schema, Statement, lanes};
use crate::random::lane;
use crate::registers;
use crate::source::{Chosen, RowFunction};
use crate::spec::{Problem, Replication, Spec};
use crate::standard1;
use crate::tabular;
use cql::Consistency;
use std::sync::Arc;

/// Cassandra's limit on the length of a keyspace's name.
const KEYSPACE_CHARACTERS_MAX: usize = 48;
/// Rows beyond this many would overflow the arithmetic of rows and times.
pub(crate) const ROWS_MAX: u64 = 1 << 62;

/// Compiles a spec.
///
/// # Errors
/// Every mistake in the spec, each with its path below the study's workload section.
pub fn compile(spec: &Spec) -> Result<Program, Vec<Problem>> {
    let mut params = Params::new(spec);
    let Some(named) = find(&mut params) else {
        return Err(params.problems);
    };
    check_param_names(&mut params, named);
    let keyspace = keyspace(&mut params, named);
    let keyspaces = keyspace_statements(&mut params, &keyspace);
    let weights = weights(&mut params, named);
    if spec.rows == 0 || spec.rows > ROWS_MAX {
        let message = format!("{} rows; there must be 1 to {ROWS_MAX}", spec.rows);
        let hint = Some("state how many rows to load".to_owned());
        params.problem(&["rows"], message, hint);
    }
    let draft = Draft {
        named,
        keyspace,
        keyspaces,
        weights,
    };
    let program = match named.name {
        standard1::NAME => standard1::program(&mut params, draft),
        iot::NAME | iot::NAME_TIMESERIES => iot::program(&mut params, draft),
        keyvalue::NAME => keyvalue::program(&mut params, draft),
        tabular::NAME => tabular::program(&mut params, draft),
        kv::NAME => kv::program(&mut params, draft),
        counters::NAME => counters::program(&mut params, draft),
        registers::NAME => registers::program(&mut params, draft),
        other => unreachable!("{other} is named but not built"),
    };
    if params.problems.is_empty() {
        Ok(program)
    } else {
        Err(params.problems)
    }
}

/// What every workload has.
pub(crate) struct Draft {
    pub(crate) named: &'static Named,
    pub(crate) keyspace: String,
    /// CREATE and DROP of the keyspace.
    pub(crate) keyspaces: (String, String),
    /// Per kind of the workload.
    weights: Vec<f64>,
}

/// What named workloads of one table differ in.
pub(crate) struct OneTable<'a, T> {
    /// The table, without its keyspace.
    pub(crate) name: String,
    /// Its `CREATE TABLE`.
    pub(crate) create: String,
    /// Names, and whether they write.
    pub(crate) kinds: &'a [(&'a str, bool)],
    pub(crate) statements: Vec<Statement>,
    pub(crate) rows: u64,
    /// Which rows the main stage is about.
    pub(crate) picks: Sampler,
    /// A kind that adds rows, by the statement of the same number.
    pub(crate) insert_kind: Option<u8>,
    /// The statement of the load stage, of the first kind.
    pub(crate) load: u16,
    /// The statement of the verify stage.
    pub(crate) verify: u16,
    /// Where keys and values come from.
    pub(crate) table: T,
}

impl Draft {
    /// The schema of one table, given `CREATE TABLE`.
    pub(crate) fn schema(&self, table: &str, create_table: String) -> Schema {
        Schema {
            create_keyspace: self.keyspaces.0.clone(),
            is_replication_stated: false,
            create_tables: vec![create_table],
            truncate: vec![format!("TRUNCATE {}", self.qualified(table))],
            drop_keyspace: self.keyspaces.1.clone(),
        }
    }

    /// Whether the mix has operations of a kind.
    pub(crate) fn weighs(&self, kind: usize) -> bool {
        self.weights.get(kind).is_some_and(|weight| *weight > 0.0)
    }

    /// The table with its keyspace, quoted.
    pub(crate) fn qualified(&self, table: &str) -> String {
        format!("\"{}\".\"{table}\"", self.keyspace)
    }

    /// The program of `parts`. Each kind has the statement of its number; the first one writes, and
    /// loads by `parts.load`, the second one reads, and verifies by `parts.verify`.
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
            source: Arc::new(Chosen {
                choices,
                rows: parts.rows,
                table: parts.table,
            }),
            keyspace: self.keyspace,
        }
    }

    /// The mix; of the first kind alone when something is wrong, and reported.
    pub(crate) fn mix(&self, params: &Params) -> Mix {
        let seed = lane(params.spec.seed, lanes::MIX);
        if params.problems.is_empty() {
            Mix::new(&self.weights, seed)
        } else {
            Mix::new(&[1.0], seed)
        }
    }
}

/// The rows of a spec, or the nearest possible number when that is wrong and reported.
pub(crate) fn rows(spec: &Spec) -> u64 {
    spec.rows.clamp(1, ROWS_MAX)
}

fn find(params: &mut Params) -> Option<&'static Named> {
    let use_ = params.spec.use_.as_str();
    let found = names().iter().find(|named| named.name == use_);
    if found.is_none() {
        let all: Vec<&str> = names().iter().map(|named| named.name).collect();
        let hint = did_you_mean(use_, all.iter().copied());
        params.problem(
            &["use"],
            format!(
                "no workload is named \"{use_}\"; `cassay workload list` shows those there are"
            ),
            hint,
        );
    }
    found
}

fn check_param_names(params: &mut Params, named: &Named) {
    for name in params.spec.params.keys() {
        if named.params.iter().any(|param| param.0 == name) {
            continue;
        }
        let all: Vec<&str> = named.params.iter().map(|param| param.0).collect();
        let hint = did_you_mean(name, all.iter().copied());
        let message = format!(
            "{} has no parameter \"{name}\"; it has {}",
            named.name,
            all.join(", ")
        );
        params.problem(&["params", name], message, hint);
    }
}

fn keyspace(params: &mut Params, named: &Named) -> String {
    let Some(keyspace) = &params.spec.keyspace else {
        return named.keyspace.to_owned();
    };
    if !is_identifier(keyspace) {
        let message = format!(
            "keyspace \"{keyspace}\" is no name; it may have 1 to {KEYSPACE_CHARACTERS_MAX} \
             letters, digits and underscores"
        );
        params.problem(&["keyspace"], message, None);
    }
    keyspace.clone()
}

/// Whether Cassandra takes `name` as the name of a keyspace or table, when quoted.
pub fn is_identifier(name: &str) -> bool {
    (1..=KEYSPACE_CHARACTERS_MAX).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

pub(crate) fn keyspace_statements(params: &mut Params, keyspace: &str) -> (String, String) {
    let mut parts = Vec::new();
    match &params.spec.replication {
        Replication::Simple { factor } => {
            parts.push("'class': 'SimpleStrategy'".to_owned());
            parts.push(format!("'replication_factor': '{factor}'"));
            if *factor == 0 {
                let message = "replication factor 0; it must be at least 1".to_owned();
                params.problem(&["replication"], message, None);
            }
        }
        Replication::NetworkTopology(factors) => {
            parts.push("'class': 'NetworkTopologyStrategy'".to_owned());
            let total: u64 = factors.iter().map(|(_, factor)| u64::from(*factor)).sum();
            if total == 0 {
                let message = "no data centre has a copy; at least one needs a factor".to_owned();
                params.problem(&["replication"], message, None);
            }
            for (index, (datacenter, factor)) in factors.iter().enumerate() {
                if factors[..index]
                    .iter()
                    .any(|(earlier, _)| earlier == datacenter)
                {
                    let message = format!("data centre {datacenter} has two factors");
                    params.problem(&["replication", datacenter], message, None);
                }
                parts.push(format!("{}: '{factor}'", cql::text::literal(datacenter)));
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

/// The weight of every kind of the workload.
fn weights(params: &mut Params, named: &Named) -> Vec<f64> {
    let spec = params.spec;
    let mut weights = vec![0.0; named.kinds.len()];
    if spec.mix.is_empty() {
        for (kind, weight) in named.mix {
            if let Some(index) = named.kinds.iter().position(|name| name == kind) {
                weights[index] = *weight;
            }
        }
        return weights;
    }
    for (index, (kind, weight)) in spec.mix.iter().enumerate() {
        let known = check_kind(params, named, "mix", kind);
        if !(weight.is_finite() && *weight >= 0.0) {
            let message = format!("the weight of {kind} is {weight}; it must be 0 or more");
            params.problem(&["mix", kind], message, None);
        } else if spec.mix[..index].iter().any(|(earlier, _)| earlier == kind) {
            params.problem(&["mix", kind], format!("{kind} is weighed twice"), None);
        } else if let Some(known) = known {
            weights[known] = *weight;
        }
    }
    if params
        .problems
        .iter()
        .all(|problem| problem.path[0] != "mix")
    {
        let sum: f64 = weights.iter().sum();
        if !(sum > 0.0 && sum.is_finite()) {
            let message = format!("the weights sum up to {sum}; some kind needs a weight above 0");
            params.problem(&["mix"], message, None);
        }
    }
    weights
}

fn check_kind(params: &mut Params, named: &Named, section: &str, kind: &str) -> Option<usize> {
    let found = named.kinds.iter().position(|name| *name == kind);
    if found.is_none() {
        let hint = did_you_mean(kind, named.kinds.iter().copied());
        let message = format!(
            "{} has no kind of operation \"{kind}\"; it has {}",
            named.name,
            named.kinds.join(", ")
        );
        params.problem(&[section, kind], message, hint);
    }
    found
}

/// Kinds from their names and whether they change data.
pub(crate) fn kinds(kinds: &[(&str, bool)]) -> Vec<Kind> {
    let made = kinds.iter();
    made.map(|(name, is_write)| Kind::new(*name, *is_write))
        .collect()
}

/// An idempotent statement of a kind; reads return rows that can be verified.
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
