//! Reads metrics from the `system_metrics` tables. Each group of metrics has a table with one value
//! per metric. Timers and histograms have additional tables with percentiles.
//!
//! Statements select rows by the metric name, which is the partition key. So a sample does not read
//! all 10,000 rows of a node. The value in a group's table corresponds to the attributes `Value`
//! and `Count`. For a histogram, it is the median.

use crate::credentials::Access;
use crate::mbeans::METRICS;
use crate::metrics::Ask;
use crate::session::{QueryResult, RepeatedQuery, Session};
use anyhow::Result;
use serde_json::{Number, Value};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

pub(super) struct MetricTables {
    node: SocketAddr,
    access: Access,
    limit: Duration,
    session: Option<Session>,
    statements: Vec<Statement>,
    count: usize,
}

/// Statement, and the attributes whose values its rows contain.
struct Statement {
    asked: RepeatedQuery,
    /// Attributes whose values a row contains. The key is the metric name in the row. Each
    /// attribute has an index in the answer and a column.
    fills: BTreeMap<String, Vec<(usize, Column)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    /// Value of a metric that is not a histogram, in its group's table.
    Value,
    /// Value of a histogram in its group's table.
    Median,
    P99,
    Max,
}

impl Column {
    fn parse(attribute: &str) -> Option<Column> {
        match attribute {
            "Value" | "Count" => Some(Column::Value),
            "50thPercentile" => Some(Column::Median),
            "99thPercentile" => Some(Column::P99),
            "Max" => Some(Column::Max),
            _ => None,
        }
    }

    fn tables(self, group: &str) -> Vec<String> {
        match self {
            Column::Value | Column::Median => vec![group.to_owned()],
            // A metric of a group also appears in the table of its kind, which has this column.
            Column::P99 | Column::Max => vec!["type_timer".to_owned(), "type_histogram".to_owned()],
        }
    }

    fn row_value(self, result: &QueryResult, row: &[cql::Value]) -> Option<Value> {
        let cell = |name: &str| row.get(result.column(name).ok()?);
        let is_histogram = || cell("type").and_then(cql::Value::as_str) == Some("histogram");
        match self {
            Column::Value if is_histogram() => None,
            Column::Median if !is_histogram() => None,
            Column::Value | Column::Median => number_of(cell("value")?.as_str()?),
            Column::P99 => number_value(cell("p99th")?.as_f64()?),
            Column::Max => number_value(cell("max")?.as_f64()?),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Metric {
    group: String,
    name: String,
}

impl Metric {
    /// Converts the name of an MBean to a metric name. Returns `None` if the MBean is not a metric.
    fn parse(mbean: &str) -> Option<Metric> {
        let properties = mbean.strip_prefix(METRICS)?.strip_prefix(':')?;
        let property = |wanted: &str| {
            let mut pairs = properties.split(',').filter_map(|pair| pair.split_once('='));
            pairs.find(|(key, _)| *key == wanted).map(|(_, value)| value)
        };
        let (kind, name) = (property("type")?, property("name")?);
        // The names of keyspace metrics begin with `keyspace` in lower case.
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

/// Converts `ThreadPools` to `thread_pools`. Converts a name in capitals, such as `CQL`, to `cql`.
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

/// Parses an integer or a floating-point number.
fn number_of(text: &str) -> Option<Value> {
    let whole = text.parse::<i64>().ok().map(Value::from);
    whole.or_else(|| number_value(text.parse().ok()?))
}

fn number_value(number: f64) -> Option<Value> {
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

fn statements(attributes: &[(&str, &str)]) -> Vec<Statement> {
    let mut tables: BTreeMap<String, BTreeMap<String, Vec<(usize, Column)>>> = BTreeMap::new();
    for (index, (mbean, attribute)) in attributes.iter().enumerate() {
        let Some((metric, column)) = Metric::parse(mbean).zip(Column::parse(attribute)) else {
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
        let names: Vec<String> = fills.keys().map(|name| cql::tokens::literal(name)).collect();
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
                if let Some(value) = column.row_value(result, row) {
                    answers[*index] = Some(value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names in 6.0-alpha2.
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
            let metric = Metric::parse(&format!("{METRICS}:{properties}"));
            let (group, name) = (group.to_owned(), format!("{METRICS}.{name}"));
            assert_eq!(metric, Some(Metric { group, name }), "{properties}");
        }
        for no_metric in [
            "org.apache.cassandra.db:type=CompactionManager",
            "java.lang:type=Memory",
        ] {
            assert_eq!(Metric::parse(no_metric), None);
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
        // The value of a histogram is not a count.
        statements[0].fill(&row("histogram", "7.0"), &mut answers);
        assert_eq!(answers[0], None);
        statements[0].fill(&row("timer", "7"), &mut answers);
        assert_eq!(answers[0], Some(Value::from(7)));
        assert_eq!(number_of("0.5"), Some(Value::from(0.5)));
        assert_eq!(number_of("null"), None);
        assert_eq!(number_of("NaN"), None);
    }
}
