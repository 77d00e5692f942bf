//! Tests imported command lines against the rules of cassandra-stress.

use super::*;
use core::time::Duration;

const PROFILE: &str = r"keyspace: KS
keyspace_definition: |
  CREATE KEYSPACE KS WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};
table: NAME
table_definition: |
  CREATE TABLE NAME (k int PRIMARY KEY, v int);
queries:
  get:
    cql: select * from NAME where k = ?
";

fn files(file: &str) -> Result<String, String> {
    match file {
        "a.yaml" => Ok(PROFILE.replace("KS", "ka").replace("NAME", "ta")),
        "b.yaml" => Ok(PROFILE.replace("KS", "kb").replace("NAME", "tb")),
        "w.yaml" => Ok(WIDE.to_owned()),
        "t.yaml" => Ok(TYPED.to_owned()),
        "nodes" => Ok("10.0.0.1\n\n 10.0.0.2:9043 \n".to_owned()),
        other => Err(format!("no file {other}")),
    }
}

fn import_line(line: &str) -> Import {
    import(&[line.to_owned()], 1, &files).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn step(line: &str) -> ImportStep {
    import_line(line).steps.remove(0)
}

#[test]
fn a_warm_up_is_a_quarter_of_the_run_and_at_most_50000_a_kind() {
    for (line, operations) in [
        ("write n=10", 2),
        ("write n=3", 0),
        ("write n=1m", 50_000),
        ("write n=1m -node a,b,c", 150_000),
        ("write n=1m -node file=nodes", 100_000),
        ("mixed ratio(read=1,write=3) n=400", 200),
        ("mixed ratio(read=1,write=3) n=400 -node a,b", 400),
        ("user profile=a.yaml ops(insert=1,get=2) n=400", 200),
        ("write n=400 -pop seq=1..4 no-wrap", 100),
        ("write duration=1h", 50_000),
        ("write n=1m no-warmup", 0),
    ] {
        assert_eq!(step(line).warmup_operations, operations, "{line}");
    }
}

#[test]
fn the_pace_is_the_written_rate_without_rounding_to_nanoseconds() {
    for (pace, hides_wait) in [("fixed", false), ("throttle", true)] {
        let offer = Offer::Rate {
            // With a period of a whole number of nanoseconds (3333 ns), the rate would be 300
            // 030/s.
            per_second: 300_000.0,
            threads: 9,
            hides_wait,
        };
        let line = format!("read n=1 -rate threads=9 {pace}=300000/s");
        assert_eq!(step(&line).offer, offer, "{line}");
    }
}

#[test]
fn a_run_ends_as_written_or_at_its_last_seed() {
    let minute = Duration::from_secs(60);
    for (line, limit) in [
        ("write n=10", StepLimit::Operations(10)),
        ("write n=10 -pop seq=1..4", StepLimit::Operations(10)),
        ("write n=10 -pop seq=1..4 no-wrap", StepLimit::Operations(4)),
        ("write duration=1m", StepLimit::Duration(minute)),
        (
            "write duration=1m -pop seq=1..4 no-wrap",
            StepLimit::Either(4, minute),
        ),
        (
            "write err<0.05 -pop seq=1..4 no-wrap",
            StepLimit::Operations(4),
        ),
        (
            "read err<0.05 n>3",
            StepLimit::Uncertainty {
                target: 0.05,
                min: 3,
                max: 200,
            },
        ),
    ] {
        assert_eq!(step(line).limit, limit, "{line}");
    }
}

#[test]
fn retries_are_off_unless_asked_for_and_none_of_them_is_one_try() {
    for (line, retries) in [
        ("read n=8", 0),
        ("read n=8 -errors retries=0", 0),
        ("read n=8 -errors retries=9", 9),
    ] {
        let step = step(line);
        assert_eq!(step.program.kinds()[0].policy.retries, retries, "{line}");
        assert_eq!(step.limit, StepLimit::Operations(8), "{line}");
    }
}

#[test]
fn tables_are_emptied_in_the_keyspaces_of_their_own_profiles() {
    let emptied = |line: &str| -> Vec<String> {
        let emptied = step(line).truncate.into_iter();
        emptied.map(|cql| cql.replace('"', "")).collect()
    };
    for (line, tables) in [
        ("write n=4", &[][..]),
        (
            "write n=4 truncate=once",
            &[
                "TRUNCATE keyspace1.standard1",
                "TRUNCATE keyspace1.counter1",
            ],
        ),
        (
            "user profile=a.yaml,b.yaml ops(insert=1) n=4 truncate=always",
            &["TRUNCATE ka.ta", "TRUNCATE kb.tb"],
        ),
    ] {
        assert_eq!(emptied(line), tables, "{line}");
    }
}

const WIDE: &str = r"keyspace: kw
table: tw
table_definition: |
  CREATE TABLE tw (k int, c int, v int, PRIMARY KEY (k, c));
columnspec:
  - {name: c, cluster: fixed(8)}
insert: {partitions: uniform(1..5)}
queries:
  get: {cql: select * from tw where k = ?}
token_range_queries:
  all: {columns: '*'}
";

fn limit(line: &str) -> StepLimit {
    step(line).limit
}

#[test]
fn a_read_without_a_seed_counts_as_one_partition_and_runs_end() {
    let back = "-pop seq=1..1000 read-lookback=uniform(1..10)";
    for (line, operations) in [
        (format!("user profile=a.yaml ops(get=1) n=100 {back}"), 100),
        (
            format!("user profile=a.yaml ops(insert=1,get=3) n=100 {back}"),
            100,
        ),
        (format!("read n=100 {back}"), 100),
        (format!("read n=100 {back} no-wrap"), 100),
        ("user profile=w.yaml ops(all=1) n=100".to_owned(), 100),
        (
            "user profile=w.yaml ops(all=1) n=100 -pop seq=1..10 no-wrap".to_owned(),
            100,
        ),
    ] {
        assert_eq!(limit(&line), StepLimit::Operations(operations), "{line}");
    }
    // An operation accesses several partitions, so the run has fewer operations than n. The last
    // operation accesses only the remaining partitions.
    let step = step("user profile=w.yaml ops(insert=1,all=1,get=1) n=100");
    let StepLimit::Operations(count) = step.limit else {
        panic!("{:?}", step.limit);
    };
    assert!((30..100).contains(&count), "{count}");
    let mut generator = step.program.generator(step.stage);
    let mut partitions = 0;
    for n in 0..count {
        let operation = generator.begin(n);
        let is_write = step.program.kinds()[usize::from(operation.kind)].is_write;
        // Each partition has eight rows.
        partitions += if is_write {
            generator.entries() as u64 / 8
        } else {
            1
        };
    }
    assert_eq!(partitions, 100);
}

#[test]
fn reads_between_the_visits_of_a_seed_skip_none_of_its_rows() {
    let step = step(
        "user profile=w.yaml ops(insert=1,get=1) n=400 -insert visits=fixed(4) partitions=fixed(1) \
         -pop seq=1..400",
    );
    let mut generator = step.program.generator(step.stage);
    let mut rows = std::collections::BTreeMap::new();
    for n in 0..400 {
        let operation = generator.begin(n);
        if step.program.kinds()[usize::from(operation.kind)].is_write {
            let token = generator.token().expect("one partition");
            *rows.entry(token).or_insert(0) += generator.entries();
        }
    }
    let whole = rows.values().filter(|count| **count == 8).count();
    assert!(rows.len() > 20 && whole >= rows.len() - 1, "{rows:?}");
}

#[test]
fn an_operation_names_its_profile_up_to_the_last_point() {
    let step = step("user profile=a.yaml,b.yaml ops(ka.ta.insert=1,kb.tb.get=1) n=10");
    let names: Vec<&str> = step.program.kinds().iter().map(|kind| kind.name.as_str()).collect();
    assert_eq!(names, ["ka.ta.insert", "kb.tb.get"]);
}

const TYPED: &str = r"keyspace: kt
table: tt
table_definition: |
  CREATE TABLE tt (k int PRIMARY KEY, p frozen<pair>, q frozen<pairs>);
extra_definitions:
  - CREATE INDEX ON tt (p);
  - CREATE TYPE pair (a int, b text);
  - CREATE TYPE pairs (c frozen<pair>, d frozen<pair>);
queries:
  get: {cql: select * from tt where k = ?}
  set: {cql: update tt set p = ? where k = ?}
";

#[test]
fn types_are_created_before_the_table_that_has_them() {
    let before = step("user profile=t.yaml ops(insert=1) n=1").before;
    let starts: Vec<&str> = before.iter().map(|cql| &cql[..12]).collect();
    assert_eq!(
        starts,
        [
            "CREATE KEYSP",
            "CREATE TYPE ",
            "CREATE TYPE ",
            "CREATE TABLE",
            "CREATE INDEX"
        ]
    );
    assert!(
        before[1].contains("pair ") && before[2].contains("pairs "),
        "{before:?}"
    );
}

#[test]
fn reads_of_a_table_that_a_query_writes_are_not_compared() {
    let verifies = |ops: &str| {
        let import = import_line(&format!("user profile=t.yaml ops({ops}) n=1"));
        let noted = import.notes.iter().any(|note| note.contains("cassay does not compare"));
        let get = import.steps[0].program.statements().iter().find(|s| s.returns_rows);
        (get.map(|statement| statement.verifies), noted)
    };
    assert_eq!(verifies("insert=1,get=1,set=1"), (Some(false), true));
    // An earlier run of the same profile may have written the row.
    assert_eq!(verifies("get=1"), (Some(false), true));
    assert_eq!(verifies("insert=1"), (None, false));
}

#[test]
fn columns_that_the_tool_does_not_seed_are_reported() {
    let profile = r"keyspace: k
table: t
table_definition: |
  CREATE TABLE t (k int, u timeuuid, PRIMARY KEY (k, u));
columnspec:
  - {name: u, cluster: uniform(1..5)}
";
    let said = |profile: &str| {
        let read = |_: &str| Ok(profile.to_owned());
        let words = ["user profile=p.yaml ops(insert=1) n=1".to_owned()];
        let import = import(&words, 1, &read).expect("a profile");
        import.notes.iter().any(|note| note.contains("values of u"))
    };
    assert!(said(profile));
    assert!(!said(&profile.replace("uniform(1..5)", "fixed(5)")));
}

#[test]
fn a_query_finds_its_partition_unless_it_asks_for_less() {
    for (query, must_find) in [
        ("select * from t where k = ?", true),
        ("SELECT c, v\nFROM t\nWHERE k = ?\nLIMIT 5", true),
        ("select * from t where k = ? and c = 5", false),
        (
            "select * from t where k = ? AND v > 1 allow filtering",
            false,
        ),
        ("select * from t where k = ? and c = ?", false),
    ] {
        let text = format!(
            "keyspace: k\ntable: t\ntable_definition: CREATE TABLE t (k int, c int, v int, \
             PRIMARY KEY (k, c))\nqueries:\n  q:\n    cql: {query:?}\n"
        );
        let mut out = Diagnostics::new(Vec::new());
        let profile = crate::stress::profile::read("p", &text, &mut out);
        let found = &profile.unwrap_or_else(|| panic!("{out}")).queries[0];
        assert_eq!(found.must_find, must_find, "{query}");
        assert!(found.returned.is_some(), "{query}");
    }
}
