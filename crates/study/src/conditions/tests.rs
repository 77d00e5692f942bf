//! Tests the description of a study's conditions.

use super::*;
use crate::resolve::resolve;
use crate::settings::Overrides;
use expect_test::{Expect, expect};

fn check(text: &str, expect: Expect) {
    let text = format!("study: s\nquestion: q\nworkload: {{use: standard1}}\n{text}");
    let study =
        resolve("s", &text, &Overrides::default()).unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let line = |condition: Condition| {
        let variant = condition.of.map(|name| format!(" [{name}]")).unwrap_or_default();
        let what = condition.what.replace(", ", ",\n  ");
        format!("{}{variant}: {what}\n", condition.about)
    };
    expect.assert_eq(&conditions(&study).into_iter().map(line).collect::<String>());
}

/// In an earlier version, the plan of a matrix with 24 combinations had 24 lines for four kinds of
/// machine.
#[test]
fn conditions_that_one_axis_decides_are_told_by_its_values() {
    check(
        "target: {local: {}}\ndata: {load: {operations: 10k}}\n\
         matrix: {heap: {a: {}, b: {}, c: {target: {local: {heap: 512MiB}}}}, \
         sync: {x: {}, y: {keyspace: {durable_writes: false}}}}\n\
         probes: {period: 2s}\nprocedure: {fixed: {threads: 1}}\n",
        expect![[r#"
            hosts: none: 1 node on loopback addresses,
              racks rack1
            nodes [a, b]: Cassandra 5.0.9,
              heap 1GiB
            nodes [c]: Cassandra 5.0.9,
              heap 512MiB
            tables [x]: replicas 1
            tables [y]: replicas 1,
              durable_writes = false
            data: load 10k rows,
              not reset between trials
            probes: hosts processes jvm cassandra gc_log every 2s
        "#]],
    );
    // Variants without a matrix are grouped if their conditions are equal.
    check(
        "target: {local: {}}\ndata: {load: {operations: 10k}}\n\
         variants: {a: {}, b: {target: {local: {heap: 512MiB}}}, c: {}}\n\
         procedure: {fixed: {threads: 1}}\n",
        expect![[r#"
            hosts: none: 1 node on loopback addresses,
              racks rack1
            nodes [a, c]: Cassandra 5.0.9,
              heap 1GiB
            nodes [b]: Cassandra 5.0.9,
              heap 512MiB
            tables: replicas 1
            data: load 10k rows,
              not reset between trials
            probes: hosts processes jvm cassandra gc_log every 1s
        "#]],
    );
}

/// In an earlier version, the plan showed "replicas 1" for a command line with three copies in dc1.
#[test]
fn the_replication_of_another_tool_s_words_is_said() {
    let of = |words: &str| {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{local: {{}}}}\n\
             workload: {{stress: 'write n=10 {words}'}}\n"
        );
        let resolved = resolve("s", &text, &Overrides::default());
        let all = conditions(&resolved.unwrap_or_else(|why| panic!("{why}"))).into_iter();
        let tables = all.filter(|condition| condition.about == "tables");
        tables.map(|condition| condition.what).collect::<String>()
    };
    for (words, expected) in [
        ("", "replicas 1"),
        ("-schema 'replication(factor=3)'", "replicas 3"),
        (
            "-schema 'replication(strategy=NetworkTopologyStrategy,dc1=3)'",
            "replicas dc1: 3",
        ),
    ] {
        let words = words.replace('\'', "''");
        assert_eq!(of(&words), expected);
    }
}

#[test]
fn shared_conditions_are_listed_once_and_others_with_variants() {
    check(
        "target: {local: {hosts: 2, nodes_per_host: 2, \
         host: {cpus: [0, 1], cpu_quota: 1.5, memory: 3GiB, volume: 20GiB, \
         link: {rate: 1Gbit, delay: 1ms}}}}\n\
         keyspace: {replication: 2, compaction: {class: LeveledCompactionStrategy}}\n\
         data: {load: {bytes_per_node: 200MB}, reset: snapshot, page_cache: drop}\n\
         phases: {load: {target: {local: {yaml: {commitlog_sync: periodic}}}}}\n\
         matrix: {heap: {a: {}, b: {target: {local: {heap: 512MiB, gc: zgc}}}}}\n\
         probes: {period: 2s, jvm: false, hosts: 10s, import: [{esxtop: x.csv}]}\n\
         procedure: {fixed: {threads: 1}}\n",
        expect![[r#"
            hosts: 2 of 2 nodes,
              racks rack1 rack2,
              isolated if this machine supports isolation,
              otherwise on loopback addresses
            each host: CPUs 0 1,
              CPU time of 1.5 cores,
              3GiB of memory,
              including page cache,
              a volume of 20GiB,
              a link of 1Gbit/s,
              a delay of 1ms in each direction
            nodes [a]: Cassandra 5.0.9,
              heap 1GiB
            nodes [b]: Cassandra 5.0.9,
              heap 512MiB,
              collector ZGC
            tables: replicas 2,
              compaction = {'class': 'LeveledCompactionStrategy'}
            data: load until each node has 200MB,
              about 1.82M rows,
              a snapshot restored before each trial,
              online,
              then page cache dropped
            loading: commitlog_sync: periodic
            probes: processes cassandra gc_log every 2s,
              hosts every 10s,
              esxtop from x.csv
        "#]],
    );
}

#[test]
fn loopback_nodes_and_the_null_target_say_little() {
    check(
        "target: {local: {nodes: 2}}\nprobes: none\ndata: {present: 5}\n\
         procedure: {fixed: {threads: 1}}\n",
        expect![[r#"
            hosts: none: 2 nodes on loopback addresses,
              racks rack1
            nodes: Cassandra 5.0.9,
              heap 1GiB
            tables: replicas 1
            data: not reset between trials
        "#]],
    );
    check(
        "target: {null: {}}\nprocedure: {fixed: {threads: 1}}\n",
        expect![[r#""#]],
    );
}

#[test]
fn a_file_of_settings_is_named_and_what_differs_from_it_is_said() {
    check(
        "target: {local: {cassandra: 5.0, yaml: {use: latest, concurrent_reads: 16, \
         column_index_size: 8KiB}}}\ndata: {present: 5}\nprobes: none\n\
         procedure: {fixed: {threads: 1}}\n",
        expect![[r#"
            hosts: none: 1 node on loopback addresses,
              racks rack1
            nodes: Cassandra 5.0.9,
              heap 1GiB,
              cassandra_latest.yaml,
              column_index_size: 8KiB,
              concurrent_reads: 16
            tables: replicas 1
            data: not reset between trials
        "#]],
    );
}
