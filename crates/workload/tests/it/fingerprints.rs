//! Golden fingerprints, which are hashes of the first operations of every workload and stage.

use workload::Stage;

use crate::{program, spec, spec_with};

const OPERATIONS: u64 = 1000;

/// If this test fails and you did not intend to change the bytes that workloads generate, you have
/// broken them. Data written by earlier versions can then no longer be verified, and results can no
/// longer be compared. If you intended the change, describe it in CHANGELOG.md, and copy the new
/// fingerprints from the failure message. The bytes of `standard1` are cassandra-stress's bytes.
/// The machines, stations and times of `cql-iot` are NoSQLBench's. In both workloads, the bytes of
/// the load stage may never change.
#[test]
fn the_generated_bytes_are_those_of_earlier_versions() {
    let specs = [
        ("standard1", spec("standard1")),
        (
            "standard1 zipf",
            spec_with("standard1", &[("distribution", "zipf")], &[]),
        ),
        (
            "standard1 gaussian",
            spec_with("standard1", &[("distribution", "gaussian")], &[]),
        ),
        (
            "standard1 exponential",
            spec_with("standard1", &[("distribution", "exponential")], &[]),
        ),
        ("cql-iot", spec("cql-iot")),
        ("cql-keyvalue", spec("cql-keyvalue")),
        ("cql-tabular", spec("cql-tabular")),
        ("counters", spec("counters")),
        ("registers", spec("registers")),
        ("kv", spec("kv")),
        (
            "kv latest",
            spec_with(
                "kv",
                &[
                    ("distribution", "latest"),
                    ("value_size", "uniform(32..400)"),
                ],
                &[("read", 8.0), ("insert", 1.0), ("write", 1.0)],
            ),
        ),
    ];
    let mut table = String::new();
    for (name, spec) in specs {
        let program = program(&spec);
        let [load, main, verify] = [Stage::Load, Stage::Main, Stage::Verify]
            .map(|stage| program.fingerprint_of(stage, OPERATIONS));
        table += &format!("{name:22} {load:016x} {main:016x} {verify:016x}\n");
    }
    let golden = expect_test::expect![[r#"
        standard1              7e4d669a050e7f9d c916246b6585821e 174c4bf6658b9e8a
        standard1 zipf         7e4d669a050e7f9d cdf4637541f8d828 174c4bf6658b9e8a
        standard1 gaussian     7e4d669a050e7f9d 5b0bbf927bff3cb3 174c4bf6658b9e8a
        standard1 exponential  7e4d669a050e7f9d 7662b440794e4e24 174c4bf6658b9e8a
        cql-iot                028a751029c03bd8 dba3aa3247413c2e 760f8843444bbd57
        cql-keyvalue           792b7492522b3357 4896159ad3f9aac1 70ec43a1d33983ae
        cql-tabular            587958148706458d e92ae85998c96712 3a8fc33b04c3e9ef
        counters               07c969a8f4920e85 ff48d0e8f171da1a d61e758efa87b8fb
        registers              e42e42f0369f7d59 9d5c09253bfef9cf d61e758efa87b8fb
        kv                     2ec05595aedb4223 a514d2a09d96afb2 493dce990afde0d9
        kv latest              27b854c785155b8a 53c22c3ddf85328e 493dce990afde0d9
    "#]];
    golden.assert_eq(&table);
}

#[test]
fn a_fingerprint_covers_all_stages_and_the_requested_operations() {
    let program = program(&spec("kv"));
    assert_ne!(program.fingerprint(10), program.fingerprint(11));
    assert_eq!(program.fingerprint(10), program.fingerprint(10));
    assert_ne!(
        program.fingerprint_of(Stage::Load, 10),
        program.fingerprint_of(Stage::Main, 10)
    );
}
