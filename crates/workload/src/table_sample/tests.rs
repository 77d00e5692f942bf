//! Tests an invented table with columns of all types, the similar table (twin), and the file that
//! reads the invented table.

use super::*;
use crate::file::{compile_file, no_files};
use crate::program::{Program, Stage};
use crate::random::mix;
use crate::spec::Spec;
use cql::token::murmur3;
use std::net::IpAddr;
use std::sync::Arc;

fn column(name: &str, typ: &str, role: ColumnRole) -> SampledColumn {
    SampledColumn {
        name: name.to_owned(),
        typ: typ.to_owned(),
        role,
    }
}

const CLUSTERING: ColumnRole = ColumnRole::Clustering {
    is_descending: true,
};

/// Returns a prose text of `length` characters.
fn prose(n: u64, length: u64) -> Value {
    const WORDS: [&str; 8] = [
        "order ",
        "shipped ",
        "to ",
        "the ",
        "customer ",
        "again ",
        "because ",
        "of ",
    ];
    let mut text = String::new();
    let mut at = mix(n);
    while (text.len() as u64) < length {
        text += WORDS[(at % 8) as usize];
        at = mix(at);
    }
    text.truncate(length as usize);
    Value::Text(text)
}

fn uuid(n: u64) -> Value {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&mix(n).to_be_bytes());
    bytes[8..].copy_from_slice(&mix(n + 1).to_be_bytes());
    bytes[6] = bytes[6] & 0x0F | 0x40;
    Value::Uuid(bytes)
}

/// Returns a table with many types. Every 20th partition has 200 rows; the others have 1 to 5 rows.
fn orders() -> TableSample {
    let columns = vec![
        column("customer", "uuid", ColumnRole::Partition),
        column("Region", "text", ColumnRole::Partition),
        column("at", "timestamp", CLUSTERING),
        column("line", "int", CLUSTERING),
        column("since", "date", ColumnRole::Static),
        column("state", "text", ColumnRole::Regular),
        column("note", "text", ColumnRole::Regular),
        column("price", "decimal", ColumnRole::Regular),
        column("weight", "float", ColumnRole::Regular),
        column("paid", "boolean", ColumnRole::Regular),
        column("tags", "set<text>", ColumnRole::Regular),
        column("place", "frozen<address>", ColumnRole::Regular),
        column("vector", "vector<float, 3>", ColumnRole::Regular),
        column("from_ip", "inet", ColumnRole::Regular),
        column("never", "blob", ColumnRole::Regular),
    ];
    let partition = |p: u64| {
        let rows_count = if p.is_multiple_of(20) { 200 } else { 1 + p % 5 };
        let row = |r: u64| {
            let n = p * 1000 + r;
            vec![
                uuid(p),
                Value::Text(["eu", "us", "asia"][(p % 3) as usize].to_owned()),
                Value::Timestamp(1_700_000_000_000 + (n * 977 % 1_000_000) as i64 * 1000),
                Value::Int(r as i32),
                Value::Date((1 << 31) + 19_000 + (p % 400) as u32),
                Value::Text(["open", "shipped", "returned"][(mix(n) % 3) as usize].to_owned()),
                prose(n, 20 + mix(n) % 200),
                Value::Decimal {
                    unscaled: ((mix(n) % 10_000) as i64).to_be_bytes().to_vec(),
                    scale: 2,
                },
                Value::Float((mix(n) % 1000) as f32 / 7.0),
                Value::Boolean(mix(n).is_multiple_of(4)),
                Value::Set((0..mix(n) % 4).map(|i| prose(n + i, 6)).collect()),
                Value::Udt(vec![
                    ("street".into(), prose(n, 15)),
                    ("zip".into(), Value::Int((mix(n) % 90_000) as i32)),
                ]),
                Value::Vector((0..3).map(|i| Value::Float((mix(n + i) % 100) as f32)).collect()),
                if mix(n).is_multiple_of(3) {
                    Value::Null
                } else {
                    Value::Inet(IpAddr::from([192, 168, 0, (n % 250) as u8]))
                },
                Value::Null,
            ]
        };
        SampledPartition {
            rows: (0..rows_count.min(4)).map(row).collect(),
            rows_count,
            key: row(rows_count - 1)[..4].to_vec(),
        }
    };
    TableSample {
        keyspace: "shop".to_owned(),
        table: "Orders".to_owned(),
        types: vec!["CREATE TYPE address (street text, zip int)".to_owned()],
        columns,
        options: vec![(
            "compression".to_owned(),
            "{'class': 'org.apache.cassandra.io.compress.LZ4Compressor'}".to_owned(),
        )],
        transactions: None,
        checked: Vec::new(),
        partitions: (0..600).map(partition).collect(),
    }
}

fn compiled(text: &str, csv: &str) -> Arc<Program> {
    let read = |_: &str| Ok(csv.to_owned());
    let made = compile_file("own.yaml", text, &Spec::new("", 1000, 1), &read);
    Arc::new(made.unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}")))
}

#[test]
fn the_file_that_reads_a_table_asks_for_keys_that_were_seen() {
    let sample = orders();
    let text = sample.definition(KeySource::Sample { file: "k.csv" }).unwrap();
    let program = compiled(&text, &sample.keys_csv());
    assert_eq!(program.rows(), 600);
    assert_eq!(program.keyspace(), "shop");
    let kinds: Vec<&str> = program.kinds().iter().map(|kind| kind.name.as_str()).collect();
    assert_eq!(kinds, OUTLINE_KINDS);
    for stage in [Stage::Load, Stage::Main, Stage::Verify] {
        assert!(program.writes(stage).is_empty(), "{stage:?} writes");
    }
    let row = &program.statements()[0];
    assert!(
        row.finds && row.idempotent,
        "an empty answer to {} is news",
        row.cql
    );
    assert!(
        row.cql.contains("FROM \"shop\".\"Orders\" WHERE \"customer\" = ?"),
        "{}",
        row.cql
    );
    assert_eq!(program.statements()[2].pages_max, Some(1));
    // Every requested key belongs to the sample, and identifies the chosen row.
    let mut generator = program.generator(Stage::Main);
    for n in 0..200 {
        let operation = generator.begin(n);
        let partition = &sample.partitions[operation.key as usize];
        let mut expected = Vec::new();
        partition.key.iter().for_each(|value| value.append_cell(&mut expected));
        let mut bytes = Vec::new();
        generator.append_entry_values(0, &mut bytes);
        assert_eq!(bytes, expected);
        let mut key = Vec::new();
        for value in &partition.key[..2] {
            let mut part = Vec::new();
            value.append(&mut part);
            key.extend_from_slice(&(part.len() as u16).to_be_bytes());
            key.extend_from_slice(&part);
            key.push(0);
        }
        assert_eq!(generator.token(), Some(murmur3(&key)));
    }
}

#[test]
fn keys_of_a_csv_of_ones_own_are_taken_by_name() {
    let sample = orders();
    let names: Vec<String> = ["id", "Region", "x"].iter().map(|n| (*n).to_owned()).collect();
    let columns = [("customer".to_owned(), "id".to_owned())];
    let of = |columns: &[(String, String)]| {
        sample.definition(KeySource::Csv {
            file: "c.csv",
            columns,
            names: &names,
        })
    };
    let text = of(&columns).unwrap();
    let csv = "id,Region,x\n1b4e28ba-2fa1-4d2b-883f-0016d3cca427,eu,1\n";
    let program = compiled(&text, csv);
    // Without the clustering columns, operations cannot read single rows.
    let kinds: Vec<&str> = program.kinds().iter().map(|kind| kind.name.as_str()).collect();
    assert_eq!(kinds, ["partition", "page"]);
    assert!(of(&[]).unwrap_err().contains("c.csv has no column customer"));
    let strange = [("custmer".to_owned(), "id".to_owned())];
    assert!(of(&strange).unwrap_err().contains("has no column custmer"));
}

#[test]
fn a_twin_has_the_sizes_and_the_ratio_of_its_table() {
    let sample = orders();
    let twin = sample.twin().unwrap();
    for (what, [table, twin], within) in [
        ("bytes of a row", twin.row_bytes, 0.1),
        ("compressed share", twin.compressed, 0.05),
        ("rows of a partition", twin.partition_rows, 0.02),
    ] {
        assert!(
            (twin / table - 1.0).abs() < within,
            "{what}: {table} and {twin}"
        );
    }
    assert_eq!(twin.without, ["never"]);
    let program = compiled(&twin.text, "");
    assert!(
        program.statements().iter().any(|s| s.verifies),
        "{}",
        twin.text
    );
    // All of the first thousand rows have different keys.
    let mut generator = program.generator(Stage::Load);
    let mut keys = std::collections::HashSet::new();
    for n in 0..1000 {
        generator.begin(n);
        let mut bytes = Vec::new();
        generator.append_entry_values(0, &mut bytes);
        assert!(keys.insert(bytes[..60].to_vec()), "row {n}");
    }
}

#[test]
fn a_twin_has_no_text_of_its_table() {
    let twin = orders().twin().unwrap();
    for text in ["shipped", "returned", "customer again", "192.168"] {
        assert!(!twin.text.contains(text), "{text} stands in\n{}", twin.text);
    }
}

#[test]
fn tables_of_counters_and_of_keys_alone_have_twins() {
    let counters = TableSample {
        columns: vec![
            column("page", "text", ColumnRole::Partition),
            column("views", "counter", ColumnRole::Regular),
        ],
        partitions: (0..50_u64)
            .map(|n| SampledPartition {
                rows: vec![vec![prose(n, 9), Value::Counter(n as i64)]],
                rows_count: 1,
                key: vec![prose(n, 9)],
            })
            .collect(),
        ..orders()
    };
    let twin = counters.twin().unwrap();
    assert!(
        twin.text.contains("SET \"views\" = \"views\" + :views"),
        "{}",
        twin.text
    );
    let keys = TableSample {
        columns: counters.columns[..1].to_vec(),
        partitions: counters
            .partitions
            .iter()
            .map(|one| SampledPartition {
                rows: vec![one.rows[0][..1].to_vec()],
                ..one.clone()
            })
            .collect(),
        ..counters
    };
    let twin = keys.twin().unwrap();
    compile_file("t", &twin.text, &Spec::new("", 100, 1), &no_files).unwrap();
}
