//! Metrics by the tables of `system_metrics`: one of all metrics for each group of them, with one
//! value each, and one for each kind of metric with its percentiles.
//!
//! A row is found by the metric's name, which is its partition key, so that a look costs what it
//! asks for and not the 10,000 rows that a node has. The value in the table of a group is what the
//! attributes `Value` and `Count` are, but for a histogram, where it is the median.

use crate::access::Access;
use crate::mbeans::METRICS;
use crate::metrics::Ask;
use crate::session::{QueryResult, RepeatedQuery, Session};
use anyhow::Result;
use serde_json::{Number, Value};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

/// Asks for a list of attributes.
pub(super) struct MetricTables {
    node: SocketAddr,
    access: Access,
    limit: Duration,
    session: Option<Session>,
    statements: Vec<Statement>,
    count: usize,
}

/// One statement, and what its rows are for.
struct Statement {
    asked: RepeatedQuery,
    /// Which attributes a row of this name answers, and by which column.
    fills: BTreeMap<String, Vec<(usize, Column)>>,
}

/// Where in a row a value stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    /// The value of the table of a group, where it is no histogram.
    Value,
    /// The same, where it is a histogram.
    Median,
    P99,
    Max,
}

impl Column {
    fn of(attribute: &str) -> Option<Column> {
        match attribute {
            "Value" | "Count" => Some(Column::Value),
            "50thPercentile" => Some(Column::Median),
            "99thPercentile" => Some(Column::P99),
            "Max" => Some(Column::Max),
            _ => None,
        }
    }

    /// The tables that have it of a metric of a group.
    fn tables(self, group: &str) -> Vec<String> {
        match self {
            Column::Value | Column::Median => vec![group.to_owned()],
            // A metric is in that of its kind.
            Column::P99 | Column::Max => vec!["type_timer".to_owned(), "type_histogram".to_owned()],
        }
    }

    fn of_row(self, result: &QueryResult, row: &[cql::Value]) -> Option<Value> {
        let cell = |name: &str| row.get(result.column(name).ok()?);
        let is_histogram = || cell("type").and_then(cql::Value::as_str) == Some("histogram");
        match self {
            Column::Value if is_histogram() => None,
            Column::Median if !is_histogram() => None,
            Column::Value | Column::Median => number_of(cell("value")?.as_str()?),
            Column::P99 => of_f64(cell("p99th")?.as_f64()?),
            Column::Max => of_f64(cell("max")?.as_f64()?),
        }
    }
}

/// A metric as its tables call it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Metric {
    /// The table of its group.
    group: String,
    name: String,
}

impl Metric {
    /// Of the name of its MBean; none of what is no metric.
    fn of(mbean: &str) -> Option<Metric> {
        let properties = mbean.strip_prefix(METRICS)?.strip_prefix(':')?;
        let property = |wanted: &str| {
            let mut pairs = properties.split(',').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == wanted).map(|(_, value)| value)
        };
        let (kind, name) = (property("type")?, property("name")?);
        // Keyspaces have a prefix of their own.
        let prefix = if kind == "Keyspace" { "keyspace" } else { kind };
        let of_all = (kind == "Table").then_some("all");
        let scope: Vec<&str> =
            ["path", "keyspace", "scope"].into_iter().filter_map(property).collect();
        let scope = if scope.is_empty() {
            Vec::from_iter(of_all)
        } else {
            scope
        };
        let parts = [&[METRICS, prefix, name][..], &scope].concat();
        Some(Metric {
            group: format!("{}_group", snake_case(kind)),
            name: parts.join("."),
        })
    }
}

/// `ThreadPools` as `thread_pools`; what is all capital letters (`CQL`) only in small ones.
fn snake_case(name: &str) -> String {
    let is_word = |letter: char| letter.is_ascii_uppercase();
    if name.chars().all(is_word) {
        return name.to_ascii_lowercase();
    }
    let mut snake = String::new();
    for letter in name.chars() {
        if is_word(letter) && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// What stands in a table as text: a whole number, or another one.
fn number_of(text: &str) -> Option<Value> {
    let whole = text.parse::<i64>().ok().map(Value::from);
    whole.or_else(|| of_f64(text.parse().ok()?))
}

fn of_f64(number: f64) -> Option<Value> {
    Number::from_f64(number).map(Value::Number)
}

impl MetricTables {
    pub fn new(
        (node, access): (SocketAddr, &Access),
        attributes: &[(&str, &str)],
        limit: Duration,
    ) -> MetricTables {
        MetricTables {
            node,
            access: access.clone(),
            limit,
            session: None,
            statements: statements(attributes),
            count: attributes.len(),
        }
    }
}

/// A statement for each table that has something of it.
fn statements(attributes: &[(&str, &str)]) -> Vec<Statement> {
    let mut tables: BTreeMap<String, BTreeMap<String, Vec<(usize, Column)>>> = BTreeMap::new();
    for (index, (mbean, attribute)) in attributes.iter().enumerate() {
        let Some((metric, column)) = Metric::of(mbean).zip(Column::of(attribute)) else {
            continue;
        };
        for table in column.tables(&metric.group) {
            let fills = tables.entry(table).or_default();
            fills.entry(metric.name.clone()).or_default().push((index, column));
        }
    }
    let statement = |(table, fills): (String, BTreeMap<String, Vec<(usize, Column)>>)| {
        let columns = if table.ends_with("_group") {
            "type, value"
        } else {
            "p99th, max"
        };
        let names: Vec<String> = fills.keys().map(|name| cql::text::literal(name)).collect();
        Statement {
            asked: RepeatedQuery::new(format!(
                "SELECT name, {columns} FROM system_metrics.{table} WHERE name IN ({})",
                names.join(", ")
            )),
            fills,
        }
    };
    tables.into_iter().map(statement).collect()
}

impl Ask for MetricTables {
    fn ask(&mut self) -> Result<Vec<Option<Value>>> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => Session::open(self.node, &self.access, self.limit)?,
        };
        let mut answers = vec![None; self.count];
        let mut refusal = None;
        for statement in &mut self.statements {
            if let Some(result) = statement.asked.ask(&mut session, &mut refusal)? {
                statement.fill(&result, &mut answers);
            }
        }
        self.session = Some(session);
        match refusal {
            // What else there is has been seen for nothing this time.
            Some(error) => Err(error),
            None => Ok(answers),
        }
    }
}

impl Statement {
    fn fill(&self, result: &QueryResult, answers: &mut [Option<Value>]) {
        let Ok(name) = result.column("name") else {
            return;
        };
        for row in &result.rows {
            let named = row.get(name).and_then(cql::Value::as_str);
            let fills = named.and_then(|name| self.fills.get(name));
            for (index, column) in fills.into_iter().flatten() {
                if let Some(value) = column.of_row(result, row) {
                    answers[*index] = Some(value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names as a node of 6.0-alpha2 has them.
    #[test]
    fn mbeans_have_these_names_in_tables() {
        for (properties, group, name) in [
            (
                "type=ThreadPools,path=internal,scope=CompactionExecutor,name=ActiveTasks",
                "thread_pools_group",
                "ThreadPools.ActiveTasks.internal.CompactionExecutor",
            ),
            (
                "type=Compaction,name=PendingTasks",
                "compaction_group",
                "Compaction.PendingTasks",
            ),
            (
                "type=ClientRequest,scope=Read,name=Latency",
                "client_request_group",
                "ClientRequest.Latency.Read",
            ),
            (
                "type=CQL,name=PreparedStatementsExecuted",
                "cql_group",
                "CQL.PreparedStatementsExecuted",
            ),
            (
                "type=Keyspace,keyspace=ks,name=ReadLatency",
                "keyspace_group",
                "keyspace.ReadLatency.ks",
            ),
            (
                "type=Table,keyspace=ks,scope=t,name=LiveSSTableCount",
                "table_group",
                "Table.LiveSSTableCount.ks.t",
            ),
            (
                "type=Table,name=AllMemtablesLiveDataSize",
                "table_group",
                "Table.AllMemtablesLiveDataSize.all",
            ),
        ] {
            let metric = Metric::of(&format!("{METRICS}:{properties}"));
            let (group, name) = (group.to_owned(), format!("{METRICS}.{name}"));
            assert_eq!(metric, Some(Metric { group, name }), "{properties}");
        }
        for no_metric in [
            "org.apache.cassandra.db:type=CompactionManager",
            "java.lang:type=Memory",
        ] {
            assert_eq!(Metric::of(no_metric), None);
        }
    }

    #[test]
    fn each_table_is_asked_once_for_all_of_its_metrics() {
        let latency = format!("{METRICS}:type=ClientRequest,scope=Read,name=Latency");
        let pending = format!("{METRICS}:type=Compaction,name=PendingTasks");
        let asked = [
            (latency.as_str(), "Count"),
            (pending.as_str(), "Value"),
            (latency.as_str(), "99thPercentile"),
            (
                "org.apache.cassandra.db:type=CompactionManager",
                "Compactions",
            ),
        ];
        let statements = statements(&asked);
        let cql: Vec<&str> = statements.iter().map(|one| one.asked.cql()).collect();
        let name = "'org.apache.cassandra.metrics.ClientRequest.Latency.Read'";
        let of = |table: &str, columns: &str, name: &str| {
            format!("SELECT name, {columns} FROM system_metrics.{table} WHERE name IN ({name})")
        };
        assert_eq!(
            cql,
            [
                of("client_request_group", "type, value", name),
                of(
                    "compaction_group",
                    "type, value",
                    "'org.apache.cassandra.metrics.Compaction.PendingTasks'"
                ),
                of("type_histogram", "p99th, max", name),
                of("type_timer", "p99th, max", name),
            ]
        );
        let text = |text: &str| cql::Value::Text(text.to_owned());
        let mut answers = vec![None; asked.len()];
        let row = |kind: &str, value: &str| QueryResult {
            columns: ["name", "type", "value"].map(str::to_owned).to_vec(),
            rows: vec![vec![text(name.trim_matches('\'')), text(kind), text(value)]],
        };
        // The value of a histogram is no count.
        statements[0].fill(&row("histogram", "7.0"), &mut answers);
        assert_eq!(answers[0], None);
        statements[0].fill(&row("timer", "7"), &mut answers);
        assert_eq!(answers[0], Some(Value::from(7)));
        assert_eq!(number_of("0.5"), Some(Value::from(0.5)));
        assert_eq!(number_of("null"), None);
        assert_eq!(number_of("NaN"), None);
    }
}
