//! Probe of a node with inaccessible MBeans, which reads the tables of `system_views`. If the node
//! provides its metrics in `system_metrics`, the probe reads only values that are not metrics.
//!
//! A series has the same name as with MBeans if it has the same meaning, with two exceptions.
//! `client_request.*` covers only the workload's keyspace, and counts a batch once per table. The
//! compaction series cover only running compactions. Of the latency tables, this probe uses only
//! the counts. Their rates are averages of five minutes, and their percentiles are wrong (0.004 ms
//! where the timers of the same 5.0.8 showed milliseconds).

use super::beans::Counters;
use super::cassandra::POOLS;
use crate::credentials::Access;
use crate::session::{QueryResult, RepeatedQuery, Session};
use anyhow::Result;
use cql::value::Value;
use host::probe::{Out, SampledSource};
use measure::clock;
use std::net::SocketAddr;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(5);

const MEBIBYTE: f64 = 1_048_576.0;

pub(super) struct VirtualTables {
    node: SocketAddr,
    access: Access,
    session: Option<Session>,
    queries: Vec<Query>,
    put: Put,
}

/// Handler of a row. The probe calls it for every row of a result.
type Use = fn(&mut Put, &Row<'_>);

struct Query {
    asked: RepeatedQuery,
    each: Use,
}

/// Values of a sample under construction, and previous counts for the computation of increases.
struct Put {
    place: String,
    tables: Vec<String>,
    counters: Counters,
    /// Sums over the rows of one result, in the order of their first rows.
    sums: Vec<Sum>,
    ready: Vec<(String, &'static str, f64)>,
    at_ns: u64,
}

struct Sum {
    name: &'static str,
    unit: &'static str,
    rate: bool,
    value: f64,
}

impl VirtualTables {
    /// Creates a probe for the node `place`. `all` contains the keyspace and its tables. With
    /// `None`, the probe reads only values that are not metrics.
    pub(super) fn new(
        node: SocketAddr,
        access: &Access,
        place: &str,
        all: Option<(&str, &[&str])>,
    ) -> VirtualTables {
        let (keyspace, tables) = all.unzip();
        VirtualTables {
            node,
            access: access.clone(),
            session: None,
            queries: queries(keyspace),
            put: Put {
                place: place.to_string(),
                tables: tables.into_iter().flatten().map(|table| (*table).to_owned()).collect(),
                counters: Counters::default(),
                sums: Vec::new(),
                ready: Vec::new(),
                at_ns: 0,
            },
        }
    }
}

impl SampledSource for VirtualTables {
    fn look(&mut self, _now_ns: u64, out: &mut Out) -> Result<()> {
        let session = self.session.take();
        let mut session = match session {
            Some(session) => session,
            None => Session::open(self.node, &self.access, LIMIT)?,
        };
        let mut refusal = None;
        for query in &mut self.queries {
            let before_ns = clock::now_ns();
            if let Some(result) = query.asked.ask(&mut session, &mut refusal)? {
                self.put.at_ns = before_ns.midpoint(clock::now_ns());
                self.put.result(&result, query.each, out);
            }
        }
        self.session = Some(session);
        refusal.map_or(Ok(()), Err)
    }
}

/// Virtual tables about the node: columns, table name and row handler.
const OF_NODE: [(&str, &str, Use); 4] = [
    (
        "name, active_tasks, pending_tasks, blocked_tasks, blocked_tasks_all_time, completed_tasks",
        "thread_pools",
        thread_pools,
    ),
    (
        "name, capacity_bytes, size_bytes, entry_count, hit_count, request_count",
        "caches",
        caches,
    ),
    ("connection_stage", "clients", clients),
    ("name, value", "cql_metrics", cql_metrics),
];

/// Virtual tables about the node that contain only values that are not metrics.
const NO_METRICS: [(&str, &str, Use); 4] = [
    (
        "kind, unit, progress, total",
        "sstable_tasks",
        sstable_tasks,
    ),
    ("files", "pending_hints", pending_hints),
    (
        "received_bytes, expired_count, error_count, throttled_nanos",
        "internode_inbound",
        internode_inbound,
    ),
    (
        "sent_bytes, expired_count, error_count, overload_count, pending_bytes",
        "internode_outbound",
        internode_outbound,
    ),
];

/// Virtual tables about the tables of a keyspace.
const OF_KEYSPACE: [(&str, &str, Use); 6] = [
    (COUNT, "coordinator_read_latency", |put, row| {
        put.count(row, Some("client_request.Read.ops/s"), "coordinator_read");
    }),
    (COUNT, "coordinator_write_latency", |put, row| {
        put.count(row, Some("client_request.Write.ops/s"), "coordinator_write");
    }),
    (COUNT, "coordinator_scan_latency", |put, row| {
        let name = "client_request.RangeSlice.ops/s";
        put.count(row, Some(name), "coordinator_scan");
    }),
    (COUNT, "local_read_latency", |put, row| {
        put.count(row, None, "local_read");
    }),
    (COUNT, "local_write_latency", |put, row| {
        put.count(row, None, "local_write");
    }),
    ("table_name, mebibytes", "disk_usage", disk_usage),
];

const COUNT: &str = "table_name, count";

/// Builds the queries. Without a keyspace, builds only the queries for values that are not metrics.
fn queries(keyspace: Option<&str>) -> Vec<Query> {
    let query = |cql: String, each: Use| Query {
        asked: RepeatedQuery::new(cql),
        each,
    };
    let select = |columns: &str, table: &str| format!("SELECT {columns} FROM system_views.{table}");
    let whole = |(columns, table, each)| query(select(columns, table), each);
    let mut queries: Vec<Query> = NO_METRICS.into_iter().map(whole).collect();
    let Some(keyspace) = keyspace.map(cql::tokens::literal) else {
        return queries;
    };
    queries.extend(OF_NODE.into_iter().map(whole));
    queries.extend(OF_KEYSPACE.into_iter().map(|(columns, table, each)| {
        let all = select(columns, table);
        // Before 5.0, a restriction to a part of the key needs ALLOW FILTERING.
        let some = format!("{all} WHERE keyspace_name = {keyspace} ALLOW FILTERING");
        query(some, each)
    }));
    queries
}

struct Row<'a> {
    columns: &'a [String],
    cells: &'a [Value],
}

impl Row<'_> {
    fn cell(&self, column: &str) -> Option<&Value> {
        let index = self.columns.iter().position(|name| name == column)?;
        self.cells.get(index)
    }

    fn number(&self, column: &str) -> Option<f64> {
        self.cell(column)?.as_f64()
    }

    fn text(&self, column: &str) -> &str {
        let text = self.cell(column).and_then(Value::as_str);
        text.unwrap_or_default()
    }
}

impl Put {
    fn result(&mut self, result: &QueryResult, each: Use, out: &mut Out) {
        for cells in &result.rows {
            let columns = &result.columns;
            each(self, &Row { columns, cells });
        }
        if result.rows.is_empty() {
            // An empty table has sums of zero.
            let columns = &result.columns;
            each(
                self,
                &Row {
                    columns,
                    cells: &[],
                },
            );
        }
        for sum in std::mem::take(&mut self.sums) {
            if sum.rate {
                self.rate(sum.name.to_string(), sum.unit, Some(sum.value));
            } else {
                self.level(sum.name.to_string(), sum.unit, Some(sum.value));
            }
        }
        for (name, unit, value) in self.ready.drain(..) {
            out.put_at(self.at_ns, &name, &self.place, unit, value);
        }
    }

    fn level(&mut self, name: String, unit: &'static str, value: Option<f64>) {
        let value = value.filter(|value| *value >= 0.0);
        self.ready.extend(value.map(|value| (name, unit, value)));
    }

    fn rate(&mut self, name: String, unit: &'static str, value: Option<f64>) {
        let increase = value.and_then(|value| self.counters.increase(&name, self.at_ns, value));
        let per_second = increase.map(|increase| increase.per_second());
        self.ready.extend(per_second.map(|value| (name, unit, value)));
    }

    /// Adds a value to a sum over rows. A missing value counts as 0, so a sum exists even if all
    /// values are missing.
    fn add(&mut self, name: &'static str, unit: &'static str, rate: bool, value: Option<f64>) {
        let value = value.unwrap_or(0.0);
        match self.sums.iter_mut().find(|sum| sum.name == name) {
            Some(sum) => sum.value += value,
            None => self.sums.push(Sum {
                name,
                unit,
                rate,
                value,
            }),
        }
    }

    fn count(&mut self, row: &Row<'_>, requests: Option<&'static str>, what: &str) {
        let count = row.number("count");
        if let Some(name) = requests {
            self.add(name, "/s", true, count);
        }
        let table = row.text("table_name");
        if self.tables.iter().any(|wanted| wanted == table) {
            self.rate(format!("table.{table}.{what}.ops/s"), "/s", count);
        }
    }
}

fn thread_pools(put: &mut Put, row: &Row<'_>) {
    let pool = row.text("name");
    if !POOLS.iter().any(|(_, known)| *known == pool) {
        return;
    }
    let name = |what: &str| format!("thread_pools.{pool}.{what}");
    put.level(name("active"), "count", row.number("active_tasks"));
    put.level(name("pending"), "count", row.number("pending_tasks"));
    put.level(name("blocked"), "count", row.number("blocked_tasks"));
    put.rate(
        name("blocked/s"),
        "/s",
        row.number("blocked_tasks_all_time"),
    );
    put.rate(name("completed/s"), "/s", row.number("completed_tasks"));
}

fn caches(put: &mut Put, row: &Row<'_>) {
    let cache = row.text("name");
    let name = |what: &str| format!("cache.{cache}.{what}");
    let (hits, requests) = (row.number("hit_count"), row.number("request_count"));
    let ratio = put.counters.share(&name("hit_ratio"), put.at_ns, hits, requests);
    put.level(name("hit_ratio"), "ratio", ratio);
    put.rate(name("requests/s"), "/s", requests);
    put.level(name("size"), "bytes", row.number("size_bytes"));
    put.level(name("entries"), "count", row.number("entry_count"));
    put.level(name("capacity"), "bytes", row.number("capacity_bytes"));
}

fn sstable_tasks(put: &mut Put, row: &Row<'_>) {
    let runs = (!row.cells.is_empty()).then_some(1.0);
    put.add("compactions.running", "count", false, runs);
    let left = match (row.number("total"), row.number("progress")) {
        (Some(total), Some(progress)) if row.text("unit") == "bytes" => Some(total - progress),
        _ => None,
    };
    put.add("compactions.running_left", "bytes", false, left);
}

fn pending_hints(put: &mut Put, row: &Row<'_>) {
    put.add("hints.files", "count", false, row.number("files"));
}

fn clients(put: &mut Put, row: &Row<'_>) {
    let ready = row.text("connection_stage").eq_ignore_ascii_case("ready");
    put.add("clients.connected", "count", false, ready.then_some(1.0));
}

fn cql_metrics(put: &mut Put, row: &Row<'_>) {
    let name = match row.text("name") {
        "prepared_statements_executed" => "cql.prepared/s",
        "regular_statements_executed" => "cql.regular/s",
        "prepared_statements_evicted" => "cql.evicted/s",
        _ => return,
    };
    put.rate(name.to_string(), "/s", row.number("value"));
}

fn internode_inbound(put: &mut Put, row: &Row<'_>) {
    for (name, unit, column) in [
        ("internode.received_bytes/s", "bytes/s", "received_bytes"),
        ("internode.received_expired/s", "/s", "expired_count"),
        ("internode.received_errors/s", "/s", "error_count"),
        ("internode.throttled_ns/s", "ns/s", "throttled_nanos"),
    ] {
        put.add(name, unit, true, row.number(column));
    }
}

fn internode_outbound(put: &mut Put, row: &Row<'_>) {
    for (name, unit, column) in [
        ("internode.sent_bytes/s", "bytes/s", "sent_bytes"),
        ("internode.sent_expired/s", "/s", "expired_count"),
        ("internode.sent_errors/s", "/s", "error_count"),
        ("internode.overloads/s", "/s", "overload_count"),
    ] {
        put.add(name, unit, true, row.number(column));
    }
    put.add(
        "internode.pending_bytes",
        "bytes",
        false,
        row.number("pending_bytes"),
    );
}

fn disk_usage(put: &mut Put, row: &Row<'_>) {
    let table = row.text("table_name");
    if put.tables.iter().any(|wanted| wanted == table) {
        let bytes = row.number("mebibytes").map(|size| size * MEBIBYTE);
        put.level(format!("table.{table}.total_disk_space"), "bytes", bytes);
    }
}
