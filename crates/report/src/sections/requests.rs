//! Properties of requests for each kind of operation, such as consistency, timeouts and retries.
//!
//! The properties come from `requests` in the plan. Equal variants and statements share a row. A
//! property has a column only if its value differs between rows. Otherwise, a sentence below the
//! table states the value.

use crate::merged_points::{variant_name, variants};
use crate::number;
use crate::page::{Block, Cell, Column, Table, Tone};
use crate::run_view::RunView;
use analysis::VariantName;
use std::collections::BTreeSet;
use store::record::RequestRecord;

/// Maximum length of a statement in a cell. The whole statement is in a separate table.
const CQL_CHARS_SHORT: usize = 40;

/// One recorded property of a request. A narrow terminal omits columns, beginning with the last
/// property, if a sentence states the property.
struct Field {
    title: &'static str,
    /// Function that returns the value for a statement. The value is `None` if the property does
    /// not apply or was not recorded.
    value: fn(&RequestRecord) -> Option<String>,
    /// Function that returns a sentence about all statements together. `None` if the property
    /// always has a column.
    said: Option<fn(&str) -> String>,
}

const FIELDS: [Field; 10] = [
    Field {
        title: "Consistency",
        value: |r| r.consistency.clone(),
        said: None,
    },
    Field {
        title: "Serial consistency",
        // Conditional statements without a configured level use the default of the protocol.
        value: |r| {
            let default = || r.conditional.then(|| "SERIAL".to_owned());
            r.serial_consistency.clone().or_else(default)
        },
        said: Some(|v| format!("serial consistency {v}")),
    },
    Field {
        title: "Timeout",
        value: |r| r.timeout_ms.map(milliseconds),
        said: None,
    },
    Field {
        title: "Retries",
        value: |r| r.retries.map(times),
        said: Some(|v| match v {
            "none" => "no retries".into(),
            count => format!("retries of a failed attempt: {count}"),
        }),
    },
    Field {
        title: "Speculative execution",
        value: |r| {
            // Plans that do not record retries do not record speculative execution either.
            r.retries?;
            let after = r.speculate_after_ms.map(milliseconds);
            Some(after.map_or("none".into(), |after| format!("after {after}")))
        },
        said: Some(|v| match v {
            "none" => "no speculative execution".into(),
            after => format!("speculative execution {after}"),
        }),
    },
    Field {
        title: "Idempotent",
        value: |r| Some(if r.idempotent? { "yes" } else { "no" }.into()),
        said: Some(|v| match v {
            "yes" => "idempotent".into(),
            _ => "not idempotent".into(),
        }),
    },
    Field {
        title: "Sent as",
        value: sent_as,
        said: Some(|v| match v {
            "prepared" => "prepared statements".into(),
            "not prepared" => "statements that are not prepared".into(),
            batch => format!("sent as {batch}"),
        }),
    },
    Field {
        title: "Page size",
        value: page_size,
        said: Some(|v| match v {
            "no paging" => "no paging".into(),
            rows => format!("page size {rows}"),
        }),
    },
    Field {
        title: "Timestamps",
        // Reads have no write timestamps, so the property does not apply to them.
        value: |r| match r.returns_rows {
            Some(true) => None,
            _ => r.timestamps.clone(),
        },
        said: Some(|v| format!("timestamps by the {v}")),
    },
    Field {
        title: "Compression",
        value: |r| r.compression.clone(),
        said: Some(|v| match v {
            "none" => "no compression".into(),
            how => format!("compression {how}"),
        }),
    },
];

fn times(count: u64) -> String {
    match count {
        0 => "none".into(),
        count => number::count(count),
    }
}

/// Formats a time in ms, such as `2 s` or `50 ms`.
fn milliseconds(ms: f64) -> String {
    let (value, unit) = match ms {
        1000.0.. => (ms / 1e3, "s"),
        _ => (ms, "ms"),
    };
    // Six significant digits are enough. Without rounding, the text would contain all digits of a
    // sum such as 0.1 + 0.2.
    format!("{} {unit}", number::round(value, 6))
}

fn sent_as(request: &RequestRecord) -> Option<String> {
    match (&request.batch, request.prepared?) {
        (Some(kind), _) => Some(format!("{} BATCH", kind.to_uppercase())),
        (None, true) => Some("prepared".into()),
        (None, false) => Some("not prepared".into()),
    }
}

fn page_size(request: &RequestRecord) -> Option<String> {
    let Some(rows) = request.page_size else {
        return (request.returns_rows == Some(true)).then(|| "no paging".into());
    };
    let rows = format!("{} rows", number::count(rows));
    Some(match request.pages_max {
        None => rows,
        Some(1) => format!("{rows}, first page only"),
        Some(pages) => format!("{rows}, at most {} pages", number::count(pages)),
    })
}

struct Request<'a> {
    variant: &'a VariantName,
    kind: &'a str,
    cql: &'a str,
    values: Vec<Option<String>>,
}

struct Group<'a> {
    kind: &'a str,
    values: Vec<Option<String>>,
    variants: Vec<&'a VariantName>,
    cqls: Vec<&'a str>,
}

/// Returns the table, and the text of the statements. Empty if the plan does not record requests.
pub fn blocks(view: &RunView) -> Vec<Block> {
    let requests = requests(view);
    if requests.is_empty() {
        return Vec::new();
    }
    let statements = statements_table(view, &requests);
    let title = format!("The statements ({})", statements.rows.len());
    vec![
        Block::Table(requests_table(view, &requests)),
        Block::Details(title, vec![Block::Table(statements)]),
    ]
}

/// Returns the recorded statements of the kinds that were executed, in the order of the plan.
fn requests(view: &RunView) -> Vec<Request<'_>> {
    let executed = executed_kinds(view);
    let recorded = &view.plan.resolved.requests;
    let variants = variants(view).into_iter();
    let of = |variant| Some((variant, recorded.get(variant)?));
    let all = variants.filter_map(of).flat_map(|(variant, list)| {
        list.iter().map(move |one| Request {
            variant,
            kind: &one.kind,
            cql: &one.cql,
            values: FIELDS.iter().map(|field| (field.value)(one)).collect(),
        })
    });
    let is_executed = |r: &Request<'_>| executed.is_empty() || executed.contains(r.kind);
    all.filter(is_executed).collect()
}

/// Returns the kinds with at least one operation in any trial. Empty for a run without records.
fn executed_kinds(view: &RunView) -> BTreeSet<&str> {
    let intervals = view.trials.iter().flat_map(|trial| &trial.intervals);
    intervals
        .filter(|interval| interval.ok > 0 || !interval.errors.is_empty())
        .map(|interval| interval.kind.as_str())
        .collect()
}

fn variants_of<'a>(requests: &[Request<'a>]) -> Vec<&'a VariantName> {
    let mut variants = Vec::new();
    requests.iter().for_each(|r| add(&mut variants, r.variant));
    variants
}

fn add<'a, T: PartialEq + ?Sized>(list: &mut Vec<&'a T>, one: &'a T) {
    if !list.contains(&one) {
        list.push(one);
    }
}

/// Groups requests that differ only in variant and text.
fn groups<'a>(requests: &[Request<'a>]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for request in requests {
        let same = |g: &&mut Group<'_>| g.kind == request.kind && g.values == request.values;
        if let Some(group) = groups.iter_mut().find(same) {
            add(&mut group.variants, request.variant);
            add(&mut group.cqls, request.cql);
        } else {
            groups.push(Group {
                kind: request.kind,
                values: request.values.clone(),
                variants: vec![request.variant],
                cqls: vec![request.cql],
            });
        }
    }
    // Rows of one kind are next to each other, regardless of their order in the plan.
    let mut kinds = Vec::new();
    requests.iter().for_each(|r| add(&mut kinds, r.kind));
    groups.sort_by_key(|group| kinds.iter().position(|kind| *kind == group.kind));
    groups
}

/// Returns true if all groups to which a field applies have the same value.
fn is_uniform(groups: &[Group<'_>], field: usize) -> bool {
    let mut values = groups.iter().filter_map(|g| g.values[field].as_ref());
    let first = values.next();
    values.all(|value| Some(value) == first)
}

fn requests_table(view: &RunView, requests: &[Request<'_>]) -> Table {
    let groups = groups(requests);
    let variants = variants_of(requests);
    let shown: Vec<usize> = (0..FIELDS.len())
        .filter(|at| FIELDS[*at].said.is_none() || !is_uniform(&groups, *at))
        .collect();
    let by_variant = groups.iter().any(|g| g.variants.len() < variants.len());
    let by_statement = variants.iter().any(|variant| splits_a_kind(&groups, variant));
    Table::from_records("How requests are sent", &groups)
        .text("Kind", |group| group.kind)
        .when(by_statement, |table| {
            table.text("Statement", |group| statement_cell(&group.cqls))
        })
        .when(by_variant, |table| {
            table.text("Variant", |group| {
                variants_cell(view, &group.variants, &variants)
            })
        })
        .each(shown, |table, at| {
            let column = Column {
                wide_only: FIELDS[at].said.is_some(),
                ..Column::text(FIELDS[at].title)
            };
            table.column(column, |group| value_cell(&groups, group, at))
        })
        .foot(said_of_all(&groups))
        .build()
}

/// Returns true if a variant sends several statements of one kind with different properties.
fn splits_a_kind(groups: &[Group<'_>], variant: &VariantName) -> bool {
    let of_variant = groups.iter().filter(|g| g.variants.contains(&variant));
    let mut kinds = BTreeSet::new();
    !of_variant.map(|g| g.kind).all(|kind| kinds.insert(kind))
}

fn statement_cell(cqls: &[&str]) -> Cell {
    let short = cqls.first().copied().map(short).unwrap_or_default();
    let cell = Cell::new(short).hint(cqls.join("\n"));
    match cqls.len() {
        0 | 1 => cell,
        count => cell.detail(format!("and {} more", count - 1)),
    }
}

fn short(cql: &str) -> String {
    let words: Vec<&str> = cql.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(CQL_CHARS_SHORT) {
        None => line,
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
    }
}

fn variants_cell(view: &RunView, of: &[&VariantName], all: &[&VariantName]) -> Cell {
    if of.len() == all.len() {
        return Cell::new("all").tone(Tone::Muted);
    }
    let names = of.iter().map(|name| variant_name(name, view));
    Cell::new(names.collect::<Vec<_>>().join(", "))
}

/// Returns the cell of a value. The cell is emphasized if rows of the same kind differ in this
/// value.
fn value_cell(groups: &[Group<'_>], group: &Group<'_>, field: usize) -> Cell {
    let Some(value) = &group.values[field] else {
        return Cell::absent();
    };
    let mut others = groups.iter().filter(|g| g.kind == group.kind);
    let cell = Cell::new(value.as_str());
    if others.any(|g| g.values[field].as_ref().is_some_and(|v| v != value)) {
        cell.tone(Tone::Strong)
    } else {
        cell
    }
}

/// Lists the properties that have no column because their value is the same wherever they apply.
fn said_of_all(groups: &[Group<'_>]) -> String {
    let said: Vec<String> = FIELDS
        .iter()
        .enumerate()
        .filter_map(|(at, field)| {
            let said = field.said.filter(|_| is_uniform(groups, at))?;
            groups.iter().find_map(|g| g.values[at].as_deref()).map(said)
        })
        .collect();
    if said.is_empty() {
        String::new()
    } else {
        format!(
            "The same for all requests, where applicable: {}.",
            said.join("; ")
        )
    }
}

fn statements_table(view: &RunView, requests: &[Request<'_>]) -> Table {
    let variants = variants_of(requests);
    let mut rows: Vec<(&str, &str, Vec<&VariantName>)> = Vec::new();
    for request in requests {
        let same = |row: &&mut (&str, &str, _)| row.0 == request.kind && row.1 == request.cql;
        match rows.iter_mut().find(same) {
            Some((_, _, variants)) => add(variants, request.variant),
            None => rows.push((request.kind, request.cql, vec![request.variant])),
        }
    }
    let by_variant = rows.iter().any(|row| row.2.len() < variants.len());
    Table::from_records("", &rows)
        .text("Kind", |(kind, ..)| *kind)
        .text("CQL", |(_, cql, _)| *cql)
        .when(by_variant, |table| {
            table.text("Variant", |(.., of)| variants_cell(view, of, &variants))
        })
        .build()
}
