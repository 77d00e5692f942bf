//! Tests schemas and statements against the server's rules.

use expect_test::{Expect, expect};
use workload::{Replication, Spec};

use crate::{program, spec, spec_with, wrapped};

fn check(spec: &Spec, expected: Expect) {
    let program = program(spec);
    let schema = program.schema();
    let mut text = String::new();
    text += &wrapped(&schema.create_keyspace);
    for statement in schema.create_tables.iter().chain(&schema.truncate) {
        text += &wrapped(statement);
    }
    text += &wrapped(&schema.drop_keyspace);
    for statement in program.statements() {
        let kind = &program.kinds()[usize::from(statement.kind)].name;
        let (values, level, cql) = (
            statement.values_count,
            statement.consistency,
            &statement.cql,
        );
        text += &wrapped(&format!("{kind} at {level} with {values} values: {cql}"));
    }
    text += &format!("{} bytes per row\n", program.row_bytes_estimate());
    expected.assert_eq(&text);
}

#[test]
fn standard1_is_cassandra_stress_s_table() {
    check(
        &spec("standard1"),
        expect![[r#"
            CREATE KEYSPACE IF NOT EXISTS "keyspace1" WITH replication = {'class':
                'SimpleStrategy', 'replication_factor': '1'} AND durable_writes = true
            CREATE TABLE IF NOT EXISTS "keyspace1"."standard1" ("key" blob PRIMARY KEY, "C0"
                blob, "C1" blob, "C2" blob, "C3" blob, "C4" blob) WITH compression =
                {'enabled': 'false'}
            TRUNCATE "keyspace1"."standard1"
            DROP KEYSPACE IF EXISTS "keyspace1"
            write at LOCAL_ONE with 6 values: UPDATE "keyspace1"."standard1" SET "C0" =
                ?,"C1" = ?,"C2" = ?,"C3" = ?,"C4" = ? WHERE KEY=?
            read at LOCAL_ONE with 1 values: SELECT "C0","C1","C2","C3","C4" FROM
                "keyspace1"."standard1" WHERE KEY=?
            180 bytes per row
        "#]],
    );
}

#[test]
fn cql_iot_is_nosqlbench_s_table() {
    check(
        &spec("cql-iot"),
        expect![[r#"
            CREATE KEYSPACE IF NOT EXISTS "baselines" WITH replication = {'class':
                'SimpleStrategy', 'replication_factor': '1'} AND durable_writes = true
            CREATE TABLE IF NOT EXISTS "baselines"."iot" (machine_id uuid, sensor_name text,
                time timestamp, sensor_value double, station_id uuid, data text, PRIMARY KEY
                ((machine_id, sensor_name), time)) WITH CLUSTERING ORDER BY (time DESC) AND
                compression = {'class': 'LZ4Compressor'} AND compaction = {'class':
                'TimeWindowCompactionStrategy', 'compaction_window_size': '60',
                'compaction_window_unit': 'MINUTES'}
            TRUNCATE "baselines"."iot"
            DROP KEYSPACE IF EXISTS "baselines"
            write at LOCAL_QUORUM with 7 values: INSERT INTO "baselines"."iot" (machine_id,
                sensor_name, time, sensor_value, station_id, data) VALUES (?, ?, ?, ?, ?, ?)
                USING TIMESTAMP ?
            read at LOCAL_QUORUM with 2 values: SELECT * FROM "baselines"."iot" WHERE
                machine_id = ? AND sensor_name = ? LIMIT 10
            read at LOCAL_QUORUM with 3 values: SELECT * FROM "baselines"."iot" WHERE
                machine_id = ? AND sensor_name = ? AND time = ?
            1061 bytes per row
        "#]],
    );
}

#[test]
fn cql_keyvalue_and_cql_tabular_are_nosqlbench_s_tables() {
    check(
        &spec("cql-keyvalue"),
        expect![[r#"
        CREATE KEYSPACE IF NOT EXISTS "baselines" WITH replication = {'class':
            'SimpleStrategy', 'replication_factor': '1'} AND durable_writes = true
        CREATE TABLE IF NOT EXISTS "baselines"."keyvalue" (key text PRIMARY KEY, value
            text)
        TRUNCATE "baselines"."keyvalue"
        DROP KEYSPACE IF EXISTS "baselines"
        write at LOCAL_QUORUM with 2 values: INSERT INTO "baselines"."keyvalue" (key,
            value) VALUES (?, ?)
        read at LOCAL_QUORUM with 1 values: SELECT * FROM "baselines"."keyvalue" WHERE
            key = ?
        18 bytes per row
    "#]],
    );
    check(
        &spec("cql-tabular"),
        expect![[r#"
        CREATE KEYSPACE IF NOT EXISTS "baselines" WITH replication = {'class':
            'SimpleStrategy', 'replication_factor': '1'} AND durable_writes = true
        CREATE TABLE IF NOT EXISTS "baselines"."tabular" (part text, clust text, data
            text, PRIMARY KEY (part, clust))
        TRUNCATE "baselines"."tabular"
        DROP KEYSPACE IF EXISTS "baselines"
        write at LOCAL_QUORUM with 3 values: INSERT INTO "baselines"."tabular" (part,
            clust, data) VALUES (?, ?, ?)
        read at LOCAL_QUORUM with 2 values: SELECT * FROM "baselines"."tabular" WHERE
            part = ? LIMIT ?
        read at LOCAL_QUORUM with 2 values: SELECT * FROM "baselines"."tabular" WHERE
            part = ? AND clust = ?
        107 bytes per row
    "#]],
    );
}

#[test]
fn kv_has_one_value_per_key() {
    check(
        &spec("kv"),
        expect![[r#"
            CREATE KEYSPACE IF NOT EXISTS "cassay" WITH replication = {'class':
                'SimpleStrategy', 'replication_factor': '1'} AND durable_writes = true
            CREATE TABLE IF NOT EXISTS "cassay"."kv" (key text PRIMARY KEY, value blob)
            TRUNCATE "cassay"."kv"
            DROP KEYSPACE IF EXISTS "cassay"
            write at LOCAL_ONE with 2 values: INSERT INTO "cassay"."kv" (key, value) VALUES
                (?, ?)
            read at LOCAL_ONE with 1 values: SELECT value FROM "cassay"."kv" WHERE key = ?
            insert at LOCAL_ONE with 2 values: INSERT INTO "cassay"."kv" (key, value) VALUES
                (?, ?)
            delete at LOCAL_ONE with 1 values: DELETE FROM "cassay"."kv" WHERE key = ?
            116 bytes per row
        "#]],
    );
}

#[test]
fn the_study_s_keyspace_and_replication_are_used() {
    let mut spec = spec_with("kv", &[("key_type", "bigint")], &[]);
    spec.keyspace = Some("Mine".to_owned());
    let factors = [("dc1".to_owned(), 2), ("it's".to_owned(), 1)];
    spec.replication = Replication::NetworkTopology(factors.to_vec());
    check(
        &spec,
        expect![[r#"
            CREATE KEYSPACE IF NOT EXISTS "Mine" WITH replication = {'class':
                'NetworkTopologyStrategy', 'dc1': '2', 'it''s': '1'} AND durable_writes =
                true
            CREATE TABLE IF NOT EXISTS "Mine"."kv" (key bigint PRIMARY KEY, value blob)
            TRUNCATE "Mine"."kv"
            DROP KEYSPACE IF EXISTS "Mine"
            write at LOCAL_ONE with 2 values: INSERT INTO "Mine"."kv" (key, value) VALUES (?,
                ?)
            read at LOCAL_ONE with 1 values: SELECT value FROM "Mine"."kv" WHERE key = ?
            insert at LOCAL_ONE with 2 values: INSERT INTO "Mine"."kv" (key, value) VALUES
                (?, ?)
            delete at LOCAL_ONE with 1 values: DELETE FROM "Mine"."kv" WHERE key = ?
            108 bytes per row
        "#]],
    );
}

#[test]
fn bind_markers_are_as_many_as_values() {
    for use_ in ["standard1", "cql-iot", "cql-keyvalue", "cql-tabular", "kv"] {
        let program = program(&spec(use_));
        for stage in [
            workload::Stage::Load,
            workload::Stage::Main,
            workload::Stage::Verify,
        ] {
            let mut generator = program.generator(stage);
            for n in 0..100 {
                let operation = generator.begin(n);
                let mut out = Vec::new();
                generator.append_values(&mut out);
                let statement = &program.statements()[usize::from(operation.statement)];
                assert_eq!(
                    crate::values(&out).len(),
                    usize::from(statement.values_count)
                );
            }
        }
    }
}

#[test]
fn the_token_is_that_of_the_bound_partition_key() {
    for (use_, parts) in [
        ("standard1", 1),
        ("cql-iot", 2),
        ("cql-keyvalue", 1),
        ("cql-tabular", 1),
        ("kv", 1),
    ] {
        let program = program(&spec(use_));
        let mut generator = program.generator(workload::Stage::Verify);
        for n in 0..100 {
            generator.begin(n);
            let mut out = Vec::new();
            generator.append_values(&mut out);
            let values = crate::values(&out);
            let mut key = Vec::new();
            for part in &values[..parts] {
                if parts > 1 {
                    key.extend_from_slice(&(part.len() as u16).to_be_bytes());
                }
                key.extend_from_slice(part);
                if parts > 1 {
                    key.push(0);
                }
            }
            assert_eq!(generator.token(), Some(cql::token::murmur3(&key)), "{use_}");
        }
    }
}
