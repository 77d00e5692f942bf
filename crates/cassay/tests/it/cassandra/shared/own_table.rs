//! Tests an existing table with data. cassay measures the table without changing it, and the node
//! accepts the twin of the table.

use super::one_node;
use crate::program::{HANG_LIMIT, Lab, vector};
use ::cassandra::{Access, Session};
use serde_json::json;

const STUDY: &str = "\
study: own
question: How fast are reads of what is there?
target: {attach: {contact_points: ['NODE']}}
workload: {table: '\"Shop\".\"Orders\"', mix: {row: 4, partition: 1, page: 1}}
client: {timeout: 60s}
procedure: {fixed: {threads: 2}}
window: {warmup: 0s, measure: 2s}
";

/// Creates and fills a table with columns of most types, a name that must be quoted, and partitions
/// of 1 to 40 rows.
fn fill(session: &mut Session) {
    for cql in [
        "CREATE KEYSPACE \"Shop\" WITH replication = \
         {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TYPE \"Shop\".address (street text, \"zipCode\" int)",
        "CREATE TABLE \"Shop\".\"Orders\" (customer uuid, region text, at timestamp, line int, \
         since date static, state text, note text, price decimal, weight float, paid boolean, \
         tags set<text>, counts map<text, int>, place frozen<address>, vec vector<float, 3>, \
         ip inet, raw blob, big varint, tod time, ref timeuuid, dur duration, \
         PRIMARY KEY ((customer, region), at, line)) WITH CLUSTERING ORDER BY (at DESC, line ASC)",
    ] {
        let cql = cql.replace("vector<float, 3>", vector());
        session.execute_schema(&cql).expect("a schema");
    }
    for partition in 0..60_u32 {
        let key = format!("5752fae6-9d16-43da-b20f-5500dd{partition:06}, 'eu'");
        for row in 0..if partition.is_multiple_of(10) {
            40
        } else {
            1 + partition % 4
        } {
            let note = "as it was said ".repeat(1 + (partition + row) as usize % 9);
            let ip = if row.is_multiple_of(2) {
                "null"
            } else {
                "'10.0.0.1'"
            };
            session
                .query(&format!(
                    "INSERT INTO \"Shop\".\"Orders\" (customer, region, at, line, since, state, \
                     note, price, weight, paid, tags, counts, place, vec, ip, raw, big, tod, ref, \
                     dur) VALUES ({key}, {}, {row}, '2024-02-03', 'open', '{note}', 12.50, 0.5, \
                     true, {{'a', 'b'}}, {{'n': {row}}}, {{street: 'x', \"zipCode\": 7}}, \
                     [0.1, 0.2, {row}.5], {ip}, 0x00ff, 123456789012345678, '08:30:00', now(), \
                     1mo2d)",
                    1_700_000_000_000_u64 + u64::from(row) * 1000
                ))
                .expect("a row");
        }
    }
}

/// Returns most columns of every row, and the write time of `note`.
fn content(session: &mut Session) -> Vec<String> {
    let found = session
        .query(
            "SELECT JSON customer, region, at, line, since, state, note, WRITETIME(note), price, \
             tags, counts, place, vec, ip, raw, big, tod, ref, dur FROM \"Shop\".\"Orders\"",
        )
        .expect("all rows");
    let mut rows: Vec<String> = found.rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}

#[test]
#[ignore = "starts a real Cassandra: cargo xtask cassandra"]
fn a_table_of_others_is_measured_as_it_is_and_has_a_twin() {
    let node = one_node::address();
    let mut session = Session::open(node, &Access::default(), HANG_LIMIT).expect("a session");
    fill(&mut session);
    let before = content(&mut session);
    let lab = Lab::new();
    lab.write("own.yaml", &STUDY.replace("NODE", &node.to_string()));
    let ran = lab.cassay(&["run", "own.yaml", "--json"]).measured(&lab);
    ran.says(&["Shop.Orders: cassay sampled the keys of "]);
    let findings = ran.json();
    let trial = &findings["trials"][0];
    assert_eq!(trial["errors"], json!({}), "{trial:#}");
    let kinds = trial["kinds"].as_object().expect("kinds");
    let names: Vec<&String> = kinds.keys().collect();
    assert_eq!(names, ["page", "partition", "row"]);
    // Every read by row returns one row, and reads by partition return several rows.
    let rows = |kind: &str| trial["counts"][kind]["rows"].as_u64();
    assert_eq!(trial["counts"]["row"]["rows_missing"], 0, "{trial:#}");
    assert!(rows("row") >= kinds["row"]["ops"].as_u64(), "{trial:#}");
    assert!(rows("partition") > kinds["partition"]["ops"].as_u64());
    assert_eq!(
        before,
        content(&mut session),
        "something of the table was changed"
    );

    // The CSV file has keys without clustering columns, so these keys name only partitions.
    lab.write(
        "keys.csv",
        "id,where\n5752fae6-9d16-43da-b20f-5500dd000010,eu\n",
    );
    let csv = "{file: keys.csv, columns: {customer: id, region: where}}";
    let study = STUDY.replace("NODE", &node.to_string()).replace(
        "mix: {row: 4, partition: 1, page: 1}",
        &format!("keys: {csv}"),
    );
    lab.write("csv.yaml", &study);
    let ran = lab.cassay(&["run", "csv.yaml", "--json"]).measured(&lab).json();
    assert!(ran["trials"][0]["kinds"]["page"].is_object(), "{ran:#}");

    let target = format!("attach:{node}");
    let twin = [
        "workload",
        "twin",
        "\"Shop\".\"Orders\"",
        "--target",
        &target,
        "--to",
        "twin.yaml",
    ];
    lab.cassay(&twin).ended_with(0);
    lab.cassay(&twin).ended_with(1).says(&["already exists"]);
    // The node can prepare all statements of the twin.
    let check = ["workload", "check", "twin.yaml", "--target", &target];
    lab.cassay(&check).ended_with(0).says(&["prepared all "]);
    let wrong = ["workload", "twin", "\"Shop\".orders", "--target", &target];
    lab.cassay(&wrong).ended_with(1).says(&["no table orders", "Orders"]);
}
