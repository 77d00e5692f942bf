//! Tests of operations on one node, with scripted servers.

use super::*;
use crate::other_clients::{Estimate, OtherConnection};
use crate::scripted_server::{
    BIGINT, INET, TEXT, TEXTS, error, node_at, rows, serve_session, texts,
};
use crate::session::ServerError;
use cql::frame::opcode;
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};

fn with_node<T>(
    version: &str,
    answers: Vec<(u8, Vec<u8>)>,
    work: impl FnOnce(&Node<'_>) -> T,
) -> T {
    let info = node_at(serve_session(answers), version);
    work(&Node {
        info: &info,
        members: std::slice::from_ref(&info),
        access: &Access::default(),
        mbeans: Err("no agent".to_owned()),
    })
}

fn number(value: i64) -> Vec<u8> {
    value.to_be_bytes().to_vec()
}

fn refusal() -> (u8, Vec<u8>) {
    (opcode::ERROR, error(0x2200, "unconfigured table"))
}

#[test]
fn settings_that_a_node_does_not_show_are_absent() {
    let shown = rows(
        &[("name", TEXT), ("value", TEXT)],
        &[&[b"concurrent_reads".to_vec(), b"32".to_vec()]],
    );
    let found = with_node("5.0.8", vec![shown], |node| node.settings().unwrap());
    let expected = BTreeMap::from([("concurrent_reads".to_owned(), "32".to_owned())]);
    assert_eq!(found, Some(expected));
    let found = with_node("3.11.19", vec![refusal()], |node| node.settings().unwrap());
    assert_eq!(found, None);
    let said = with_node("5.0.8", Vec::new(), |node| node.settings().unwrap_err());
    assert!(
        said.to_string().contains("read the settings of node1"),
        "{said:#}"
    );
}

#[test]
fn counts_of_reads_are_those_of_partitions_and_ranges() {
    let count = |count: i64| rows(&[("count", BIGINT)], &[&[number(count)], &[number(1)]]);
    let answers = vec![count(40), count(5), count(2)];
    let found = with_node("5.0.8", answers, |node| node.operation_counts("k").unwrap());
    assert_eq!(
        found.map(|counts| (counts.writes, counts.reads)),
        Some((41, 9))
    );
    let answers = vec![count(40), refusal(), count(2)];
    let found = with_node("3.11.19", answers, |node| {
        node.operation_counts("k").unwrap()
    });
    assert_eq!(found, None);
}

#[test]
fn compactions_without_metrics_have_no_pending_count() {
    let tasks = || {
        rows(
            &[("progress", BIGINT), ("total", BIGINT)],
            &[&[number(10), number(100)], &[number(5), number(50)]],
        )
    };
    let sample = with_node("5.0.8", vec![tasks()], |node| {
        node.compactions_by_tables("k", &["t"]).unwrap()
    });
    assert_eq!((sample.running, sample.progress), (2, (15, 150)));
    assert_eq!(
        sample.describe(),
        "2 running, unknown pending, unknown SSTables"
    );
    let said = with_node("5.0.8", vec![tasks()], |node| {
        node.compactions("k", &["t"]).unwrap_err().to_string()
    });
    assert_eq!(said, "no agent");
}

#[test]
fn bytes_of_tables_come_from_the_table_of_disk_use() {
    let mebibytes = |size: i64| rows(&[("mebibytes", BIGINT)], &[&[number(size)]]);
    let bytes = with_node("5.0.8", vec![mebibytes(3), mebibytes(1)], |node| {
        node.live_bytes("k", &["a", "b"]).unwrap()
    });
    assert_eq!(bytes, 4 << 20);
    let said = with_node("5.0.8", vec![refusal()], |node| {
        format!("{:#}", node.live_bytes("k", &["a"]).unwrap_err())
    });
    assert!(
        said.starts_with("request the size of k from node1: node1 does not let this user read"),
        "{said}"
    );
}

#[test]
fn clients_are_others_unless_they_are_this_program() {
    let columns = [
        ("address", INET),
        ("port", BIGINT),
        ("driver_name", TEXT),
        ("request_count", BIGINT),
    ];
    let row = |address: [u8; 4], driver: &str| {
        [
            address.to_vec(),
            number(41),
            driver.as_bytes().to_vec(),
            number(9),
        ]
    };
    let ours = row([127, 0, 0, 1], cql::request::DRIVER_NAME);
    let other = row([10, 0, 0, 7], cql::request::DRIVER_NAME);
    let shown = rows(&columns, &[&ours, &other]);
    let found = with_node("5.0.8", vec![shown], |node| node.other_clients().unwrap());
    let expected = OtherConnection {
        node: "node1".to_owned(),
        from: "10.0.0.7:41".to_owned(),
        driver: cql::request::DRIVER_NAME.to_owned(),
        requests: 9,
    };
    assert_eq!(found, Some(vec![expected]));
    let found = with_node("3.11.19", vec![refusal()], |node| {
        node.other_clients().unwrap()
    });
    assert_eq!(found, None);
}

#[test]
fn estimates_of_ranges_are_added_by_table() {
    let columns = [
        ("table_name", TEXT),
        ("partitions_count", BIGINT),
        ("mean_partition_size", BIGINT),
    ];
    let row = |table: &str, count, mean| [table.as_bytes().to_vec(), number(count), number(mean)];
    let all = [row("a", 3, 100), row("b", 1, 7), row("a", 2, 50)];
    let shown = rows(&columns, &[&all[0], &all[1], &all[2]]);
    let found = with_node("5.0.8", vec![shown], |node| node.estimates("k").unwrap());
    let of = |partitions, bytes| Estimate { partitions, bytes };
    let expected = [("a".to_owned(), of(5, 400)), ("b".to_owned(), of(1, 7))];
    assert_eq!(found, Some(BTreeMap::from(expected)));
}

#[test]
fn metrics_come_from_tables_where_the_line_has_them() {
    with_node("5.0.8", Vec::new(), |node| {
        assert_eq!(node.metrics().unwrap_err(), "no agent");
        assert!(node.line().is_some());
    });
    with_node("6.0-alpha2", Vec::new(), |node| {
        let metrics = node.metrics().unwrap();
        assert!(matches!(metrics, Metrics::ByTables { node: at, .. } if at == node.info.address));
    });
}

/// The owner has recreated the pod of a node, so the node has the same tokens and a new address.
#[test]
fn a_node_that_has_moved_is_found_by_its_tokens() {
    let port = || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let gone: SocketAddr = port();
    let version = rows(&[("v", TEXT)], &[&[b"5.0.8".to_vec()]]);
    let now = serve_session(vec![version]);
    let columns = [
        ("data_center", TEXT),
        ("rack", TEXT),
        ("tokens", TEXTS),
        ("release_version", TEXT),
    ];
    let row = |token: &str| {
        let text = |text: &str| text.as_bytes().to_vec();
        [text("dc1"), text("r1"), texts(&[token]), text("5.0.8")]
    };
    let local = rows(&columns, &[&row("9")]);
    let with_address = [
        &[("native_address", INET), ("native_port", BIGINT)][..],
        &columns,
    ]
    .concat();
    let peer = [
        &[vec![127, 0, 0, 1], number(i64::from(now.port()))][..],
        &row("7"),
    ]
    .concat();
    let peers = rows(&with_address, &[&peer]);
    let sibling = serve_session(vec![local, peers]);
    let members = [
        node_at(gone, "5.0.8"),
        NodeInfo {
            tokens: vec![9],
            ..node_at(sibling, "5.0.8")
        },
    ];
    let access = Access::for_attached(None, None);
    let node = Node {
        info: &members[0],
        members: &members,
        access: &access,
        mbeans: Err("no agent".to_owned()),
    };
    let found = node.session().unwrap().query("SELECT v FROM system.local").unwrap();
    assert_eq!(found.rows[0][0].as_str(), Some("5.0.8"));
    assert_eq!(access.moves.now(gone), now);
}

#[test]
fn a_refusal_of_a_statement_is_not_a_reason_to_look_elsewhere() {
    let said = with_node("5.0.8", vec![refusal()], |node| {
        node.session().unwrap().query("SELECT 1").unwrap_err()
    });
    assert!(said.is::<ServerError>(), "{said:#}");
}
