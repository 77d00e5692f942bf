//! Tests mistakes in a spec. The compiler must report all of them at once, each with its path, its
//! limit and a hint.

use expect_test::{Expect, expect};
use workload::{ParamValue, Problem, Replication, Spec, compile, names};

use crate::{spec, spec_with, wrapped};

/// Returns every mistake of a spec on a separate line.
fn mistakes(spec: &Spec) -> String {
    let problems = compile(spec).map(|_| ()).expect_err("the spec has mistakes");
    let line = |problem: Problem| {
        let hint = problem.hint.map_or(String::new(), |hint| format!(" ({hint})"));
        wrapped(&format!(
            "{}: {}{hint}",
            problem.path.join("."),
            problem.message
        ))
    };
    problems.into_iter().map(line).collect()
}

fn check(spec: &Spec, expected: Expect) {
    expected.assert_eq(&mistakes(spec));
}

#[test]
fn all_mistakes_are_reported_together() {
    let mut spec = spec_with(
        "standard1",
        &[
            ("colums", "5"),
            ("column_size", "big"),
            ("distribution", "zipff(1)"),
        ],
        &[
            ("wrte", 1.0),
            ("read", -1.0),
            ("write", 1.0),
            ("write", 2.0),
        ],
    );
    spec.rows = 0;
    spec.keyspace = Some("no spaces".to_owned());
    spec.replication = Replication::Simple { factor: 0 };
    spec.params.insert("key_size".to_owned(), ParamValue::Float(10.5));
    spec.params.insert("columns".to_owned(), ParamValue::Int(-1));
    check(
        &spec,
        expect![[r#"
            params.colums: standard1 has no parameter "colums"; it has columns, column_size,
                key_size, compressible, distribution (did you mean `columns`?)
            keyspace: keyspace "no spaces" is not a valid name; it may have 1 to 48 letters,
                digits and underscores
            replication: the replication factor is 0; it must be at least 1
            mix.wrte: standard1 has no kind of operation "wrte"; it has write, read (did you
                mean `write`?)
            mix.read: the weight of read is -1; it must be 0 or more
            mix.write: write has two weights
            rows: the study loads 0 rows; the number must be from 1 to 4611686018427387904
                (set the number of rows to load)
            params.columns: columns is -1; it must be a whole number from 1 to 1000
            params.column_size: column_size is "big"; it must be a whole number from 1 to
                1000000
            params.key_size: key_size is 10.5; it must be a whole number from 1 to 65535
            params.distribution: "zipff" is not a distribution; write fixed(n), sequence,
                uniform, gaussian, exponential, zipf(theta) or latest(theta), with an
                optional range first: uniform(100..2000) (did you mean `zipf`?)
        "#]],
    );
}

#[test]
fn an_unknown_workload_is_reported_with_all_other_mistakes() {
    check(
        &spec_with("standart1", &[], &[("raed", 1.0)]),
        expect![[r#"
            use: no workload has the name "standart1"; `cassay workload list` shows all
                workloads (did you mean `standard1`?)
        "#]],
    );
    check(
        &spec("standart1"),
        expect![[r#"
            use: no workload has the name "standart1"; `cassay workload list` shows all
                workloads (did you mean `standard1`?)
        "#]],
    );
}

#[test]
fn cql_iot_states_its_limits() {
    let params = [
        ("words_file", ""),
        ("text_file", "short"),
        ("table", "a b"),
        ("compression", "x'; y"),
    ];
    let mut spec = spec_with("cql-iot", &params, &[]);
    spec.params.insert("sources".to_owned(), ParamValue::Int(0));
    check(
        &spec,
        expect![[r#"
            params.words_file: words_file has 0 lines, the longest of 0 bytes; it must have 1
                to 1000000 lines of at most 60000 bytes
            params.sources: sources is 0; it must be a whole number from 1 to 1000000000000
            params.text_file: text_file has 5 bytes; it must be ASCII of 1201 to 16000000
                bytes
            params.table: table "a b" is not a valid name; it may have up to 48 characters
                (use letters and digits)
            params.compression: compression "x'; y" is not a valid class name (LZ4Compressor)
        "#]],
    );
}

#[test]
fn kv_states_its_limits() {
    let text: String = [
        ("value_size", "uniform"),
        ("value_size", "10"),
        ("value_size", "uniform(100..20M)"),
        ("value_size", "latest(100..200)"),
        ("compressible", "1.5"),
        ("compressible", "half"),
        ("key_type", "uuid"),
        ("distribution", "uniform(0..1000)"),
        ("distribution", "zipf(-1)"),
        ("distribution", "zipf(nan)"),
        ("distribution", "uniform(5..1)"),
        ("distribution", "uniform(1..2, 3)"),
        ("distribution", "gaussian(1..2, 0)"),
        ("distribution", "zipf(1..2, 1, 2)"),
        ("distribution", "fixed"),
        ("distribution", "uniform(1..2"),
        ("distribution", "uniform(1-2)"),
    ]
    .into_iter()
    .map(|(param, value)| mistakes(&spec_with("kv", &[(param, value)], &[])))
    .collect();
    expect![[r#"
        params.value_size: value_size requires a range of sizes (write a number, or a
            distribution with a range: uniform(100..2000))
        params.value_size: value_size is 10 to 10 bytes; sizes must be from 32 to
            16000000 (write a number, or a distribution with a range: uniform(100..2000))
        params.value_size: value_size is 100 to 20000000 bytes; sizes must be from 32 to
            16000000 (write a number, or a distribution with a range: uniform(100..2000))
        params.value_size: value_size cannot use latest (write a number, or a
            distribution with a range: uniform(100..2000))
        params.compressible: compressible is "1.5"; it must be a number from 0 to 1
        params.compressible: compressible is "half"; it must be a number from 0 to 1
        params.key_type: key_type is "uuid"; it must be text or bigint
        params.distribution: distribution reaches row 1000; the rows are 0 to 999
        params.distribution: "zipf(-1)": theta is -1; it must be at least 0
        params.distribution: "nan" is not a number; write fixed(n), sequence, uniform,
            gaussian, exponential, zipf(theta) or latest(theta), with an optional range
            first: uniform(100..2000)
        params.distribution: "5..1" ends before it begins
        params.distribution: "uniform(1..2, 3)": uniform takes no number besides its
            range
        params.distribution: "gaussian(1..2, 0)": 0 must be above 0
        params.distribution: "zipf(1..2, 1, 2)" has too many arguments for zipf; write
            fixed(n), sequence, uniform, gaussian, exponential, zipf(theta) or
            latest(theta), with an optional range first: uniform(100..2000)
        params.distribution: "fixed" needs one value, as in fixed(100)
        params.distribution: "uniform(1..2" has no closing parenthesis; write fixed(n),
            sequence, uniform, gaussian, exponential, zipf(theta) or latest(theta), with
            an optional range first: uniform(100..2000)
        params.distribution: "1-2" is not a number; write fixed(n), sequence, uniform,
            gaussian, exponential, zipf(theta) or latest(theta), with an optional range
            first: uniform(100..2000)
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_data_centre_has_one_factor_and_some_data_centre_a_copy() {
    let mut spec = spec("kv");
    let factors = [("dc1".to_owned(), 0), ("dc1".to_owned(), 0)];
    spec.replication = Replication::NetworkTopology(factors.to_vec());
    check(
        &spec,
        expect![[r#"
        replication: no data center has a replica; at least one data center needs a
            replication factor
        replication.dc1: data center dc1 has two replication factors
    "#]],
    );
}

#[test]
fn weights_must_not_all_be_0() {
    check(
        &spec_with("kv", &[], &[("read", 0.0)]),
        expect![[r#"
        mix: the weights add up to 0; at least one kind needs a weight above 0
    "#]],
    );
}

#[test]
fn numbers_may_be_written_in_several_ways() {
    for value in [
        ParamValue::Int(1000),
        ParamValue::Float(1000.0),
        ParamValue::Text("1000".to_owned()),
        ParamValue::Text("1k".to_owned()),
    ] {
        let mut spec = spec("standard1");
        spec.params.insert("column_size".to_owned(), value.clone());
        let program = compile(&spec).unwrap();
        assert_eq!(program.row_bytes_estimate(), 5010, "{value:?}");
    }
}

#[test]
fn every_named_workload_compiles_as_its_reference_describes_it() {
    for named in names() {
        let program = compile(&spec(named.name)).unwrap();
        assert_eq!(program.name(), named.name);
        assert_eq!(program.keyspace(), named.keyspace);
        let kinds: Vec<&str> = program.kinds().iter().map(|kind| kind.name.as_str()).collect();
        assert_eq!(kinds, named.kinds);
        assert!(named.mix.iter().all(|(kind, _)| named.kinds.contains(kind)));
        for (param, default, _) in named.params {
            let is_file = param.ends_with("_file");
            if is_file {
                continue;
            }
            // If a spec states a default explicitly, the program must not change.
            let written = compile(&spec_with(named.name, &[(param, default)], &[])).unwrap();
            let [a, b] = [written, compile(&spec(named.name)).unwrap()].map(std::sync::Arc::new);
            assert_eq!(a.fingerprint(100), b.fingerprint(100), "{param}");
            assert_eq!(a.schema(), b.schema(), "{param}");
        }
    }
}
