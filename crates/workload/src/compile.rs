//! Checks a spec and makes a program of it. All mistakes are reported together.

use crate::cql::Consistency;
use crate::distribution::Sampler;
use crate::mix::Mix;
use crate::names::{Named, names};
use crate::params::{Params, did_you_mean};
use crate::program::{Choices, Kind, Program, Source, Statement, lanes};
use crate::random::lane;
use crate::spec::{Problem, Replication, Spec};
use crate::standard1;

/// Cassandra's limit on the length of a keyspace's name.
const KEYSPACE_CHARACTERS_MAX: usize = 48;
/// Rows beyond this many would overflow the arithmetic of rows and times.
const ROWS_MAX: u64 = 1 << 62;

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
    check_consistency(&mut params, named);
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
        "standard1" => standard1_program(&mut params, draft),
        other => unreachable!("{other} is named but not built"),
    };
    if params.problems.is_empty() {
        Ok(program)
    } else {
        Err(params.problems)
    }
}

/// What every workload has.
struct Draft {
    named: &'static Named,
    keyspace: String,
    /// CREATE and DROP.
    keyspaces: (String, String),
    weights: Vec<f64>,
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
                "no workload is named \"{use_}\"; there are {}",
                all.join(", ")
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
pub(crate) fn is_identifier(name: &str) -> bool {
    (1..=KEYSPACE_CHARACTERS_MAX).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn keyspace_statements(params: &mut Params, keyspace: &str) -> (String, String) {
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
            for (datacenter, factor) in factors {
                parts.push(format!("'{}': '{factor}'", datacenter.replace('\'', "''")));
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

fn check_consistency(params: &mut Params, named: &Named) {
    let spec = params.spec;
    for (index, (kind, _)) in spec.consistency.iter().enumerate() {
        check_kind(params, named, "consistency", kind);
        if spec.consistency[..index]
            .iter()
            .any(|(earlier, _)| earlier == kind)
        {
            let message = format!("{kind} has two consistency levels");
            params.problem(&["consistency", kind], message, None);
        }
    }
}

/// The consistency level of a kind: the study's, or `default`.
fn consistency(spec: &Spec, kind: &str, default: Consistency) -> Consistency {
    let stated = spec.consistency.iter().find(|(name, _)| name == kind);
    stated.map_or(default, |(_, level)| *level)
}

/// An idempotent statement of a kind; reads return rows that can be verified.
fn statement(
    spec: &Spec,
    kinds: &[Kind],
    kind: u8,
    cql: String,
    default: Consistency,
) -> Statement {
    let Kind { name, is_write } = kinds[usize::from(kind)];
    Statement {
        kind,
        values_count: cql.matches('?').count() as u16,
        consistency: consistency(spec, name, default),
        idempotent: true,
        returns_rows: !is_write,
        verifies: !is_write,
        page_size: None,
        serial_consistency: None,
        cql,
    }
}

/// The mix of `weights`; of the first kind alone when the weights are wrong and reported.
fn mix(params: &Params, weights: &[f64]) -> Mix {
    let seed = lane(params.spec.seed, lanes::MIX);
    if params.problems.is_empty() {
        Mix::new(weights, seed)
    } else {
        Mix::new(&[1.0], seed)
    }
}

/// Blob columns up to these limits keep a row below the 16 MiB that Cassandra's commit log takes
/// with its default segment size.
const COLUMNS_MAX: u64 = 1000;
const COLUMN_BYTES_MAX: u64 = 1_000_000;
const ROW_BYTES_MAX: u64 = 16_000_000;
/// Cassandra's limit on the bytes of a key.
const KEY_BYTES_MAX: u64 = 65_535;

fn standard1_program(params: &mut Params, draft: Draft) -> Program {
    let spec = params.spec;
    let columns = params.number("columns", 5, (1, COLUMNS_MAX));
    let column_size = params.number("column_size", 34, (1, COLUMN_BYTES_MAX));
    let key_size = params.number("key_size", 10, (1, KEY_BYTES_MAX));
    let rows = spec.rows.clamp(1, ROWS_MAX);
    let distribution = params.rows_distribution("distribution", rows);
    if columns * column_size > ROW_BYTES_MAX {
        let message = format!(
            "{columns} columns of {column_size} bytes are {} bytes per row; the limit is \
             {ROW_BYTES_MAX}",
            columns * column_size
        );
        params.problem(&["params", "column_size"], message, None);
    }
    let popular = lane(spec.seed, lanes::POPULAR);
    let (sample, rows_seed) = Choices::sample(spec.seed, rows);
    let statements = standard1::statements(&draft.keyspace, columns);
    let mut kind = 0..;
    let statements = statements.map(|cql| {
        let kind = kind.next().expect("an open range has a next");
        statement(spec, &standard1::KINDS, kind, cql, Consistency::LocalOne)
    });
    Program {
        name: draft.named.name,
        schema: standard1::schema(&draft.keyspace, columns, draft.keyspaces),
        keyspace: draft.keyspace,
        tables: vec![standard1::TABLE.to_owned()],
        kinds: standard1::KINDS.to_vec(),
        statements: statements.to_vec(),
        rows,
        choices: Choices {
            mix: mix(params, &draft.weights),
            rows: Sampler::new(distribution, (0, rows - 1), Some(popular)),
            insert_kind: None,
            main_statements: vec![standard1::WRITE, standard1::READ],
            load: (0, standard1::WRITE),
            verify: (1, standard1::READ),
            sample,
            rows_seed,
        },
        source: Source::Standard1(standard1::Table::new(
            columns,
            column_size as usize,
            key_size as usize,
        )),
    }
}
