//! What command lines come to, against the tool's own rules.

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
        "nodes" => Ok("10.0.0.1\n\n 10.0.0.2:9043 \n".to_owned()),
        other => Err(format!("no file {other}")),
    }
}

fn of(line: &str) -> Import {
    import(&[line.to_owned()], 1, &files).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn step(line: &str) -> Step {
    of(line).steps.remove(0)
}

#[test]
fn a_warm_up_is_a_quarter_of_the_run_and_at_most_50000_for_each_kind_and_node() {
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
fn the_pace_is_the_written_rate_and_not_a_period_of_whole_nanoseconds() {
    for (pace, hides_wait) in [("fixed", false), ("throttle", true)] {
        let offer = Offer::Rate {
            // A period of 3333 ns would be 300 030/s.
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
        assert_eq!(step.program.kinds[0].policy.retries, retries, "{line}");
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
