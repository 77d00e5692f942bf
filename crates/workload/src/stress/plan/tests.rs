//! What command lines come to, against the tool's own rules.

use super::*;
use core::time::Duration;

fn none(file: &str) -> Result<String, String> {
    Err(format!("no file {file}"))
}

fn of(line: &str) -> Plan {
    let command = Command::parse(&[line.to_owned()]).expect(line);
    plan(&command, &none).expect(line)
}

#[test]
fn a_warm_up_is_a_quarter_of_the_run_and_at_most_50000_per_node() {
    for (line, operations) in [
        ("write n=10", 2),
        ("write n=3", 0),
        ("write n=1m", 50_000),
        ("write n=1m -node a,b,c", 150_000),
        ("write duration=1h", 50_000),
        ("write n=1m no-warmup", 0),
        ("write n=0", 0),
    ] {
        assert_eq!(of(line).warmup_per_kind, operations, "{line}");
    }
}

#[test]
fn the_pace_is_the_written_rate_exactly() {
    let rate = |per_second, hides_wait| Offer::Rate {
        per_second,
        threads: 9,
        hides_wait,
    };
    // Not 300 030/s, which is a period of 3333 whole nanoseconds.
    for (line, offer) in [
        (
            "read n=1 -rate threads=9 fixed=300000/s",
            rate(300_000.0, false),
        ),
        (
            "read n=1 -rate threads=9 throttle=300000/s",
            rate(300_000.0, true),
        ),
        ("read n=1 -rate threads=9", Offer::Threads(9)),
        ("read n=1", Offer::Ladder { from: 4, to: 1000 }),
        ("write n=1", Offer::Threads(200)),
    ] {
        assert_eq!(of(line).offer, offer, "{line}");
    }
}

#[test]
fn a_run_ends_as_written_or_at_its_last_seed() {
    for (line, limit) in [
        ("write n=10", StepLimit::Operations(10)),
        ("write n=10 -pop seq=1..4 no-wrap", StepLimit::Operations(4)),
        ("write n=10 -pop seq=1..4", StepLimit::Operations(10)),
        (
            "write duration=1m -pop seq=1..4 no-wrap",
            StepLimit::Operations(4),
        ),
        (
            "write duration=1m",
            StepLimit::Duration(Duration::from_secs(60)),
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
        assert_eq!(of(line).limit, limit, "{line}");
    }
}

#[test]
fn retries_are_off_unless_asked_for_and_none_means_one_try() {
    for (line, retries) in [
        ("read n=1", 0),
        ("read n=1 -errors retries=0", 0),
        ("read n=1 -errors retries=9", 9),
    ] {
        assert_eq!(of(line).policy.retries, retries, "{line}");
    }
}

#[test]
fn the_schema_is_that_of_the_predefined_commands() {
    let plan = of(
        "write n=1 truncate=once -col n=fixed(2) -schema keyspace=ks \
         replication(strategy=NetworkTopologyStrategy,dc1=3,dc2=2) \
         compaction(strategy=LeveledCompactionStrategy,sstable_size_in_mb=5)",
    );
    let compaction = "compaction = {'class': 'LeveledCompactionStrategy', \
                      'sstable_size_in_mb': '5'}";
    assert_eq!(
        plan.before,
        [
            "CREATE KEYSPACE IF NOT EXISTS \"ks\" WITH replication = {'class': \
             'NetworkTopologyStrategy', 'dc1': '3', 'dc2': '2'} AND durable_writes = true"
                .to_owned(),
            format!(
                "CREATE TABLE IF NOT EXISTS \"ks\".standard1 (key blob PRIMARY KEY, \
                 \"C0\" blob, \"C1\" blob) WITH compression = {{'enabled': 'false'}} \
                 AND {compaction}"
            ),
            format!(
                "CREATE TABLE IF NOT EXISTS \"ks\".counter1 (key blob PRIMARY KEY, \
                 \"C0\" counter, \"C1\" counter) WITH compression = {{'enabled': 'false'}} \
                 AND {compaction}"
            ),
            "TRUNCATE \"ks\".standard1".to_owned(),
            "TRUNCATE \"ks\".counter1".to_owned(),
        ]
    );
    assert!(
        plan.notes
            .iter()
            .any(|note| note.contains("before the warm-up"))
    );
    let compressed = of("write n=1 -schema compression=LZ4Compressor");
    assert!(compressed.before[1].ends_with("compression = {'class': 'LZ4Compressor'}"));
    assert!(of("user profile=a ops(insert=1) n=1").before.is_empty());
}

#[test]
fn nodes_and_credentials_may_stand_in_files() {
    let files = |file: &str| match file {
        "nodes" => Ok("10.0.0.1\n\n 10.0.0.2:9043 \n".to_owned()),
        "creds" => Ok("# c\ncql.username = u\ncql.password: hunter2\n".to_owned()),
        other => none(other),
    };
    let line = "read n=4 -node file=nodes -credentials-file creds -port native=9142";
    let command = Command::parse(&[line.to_owned()]).expect(line);
    let made = plan(&command, &files).expect(line);
    assert_eq!(made.connection.nodes, ["10.0.0.1", "10.0.0.2:9043"]);
    assert_eq!(made.connection.port, Some(9142));
    assert_eq!(made.connection.username.as_deref(), Some("u"));
    let password = made.connection.password.clone();
    assert_eq!(
        password.map(|p| p.reveal().to_owned()).as_deref(),
        Some("hunter2")
    );
    assert_eq!(made.warmup_per_kind, 2, "1 per node");
    assert!(!format!("{made:?}").contains("hunter2"));

    for (line, column, message) in [
        ("read -node file=x", 12, "no file x"),
        ("read -credentials-file y", 24, "no file y"),
        ("help", 1, "no operations"),
    ] {
        let command = Command::parse(&[line.to_owned()]).expect(line);
        let error = plan(&command, &files).expect_err(line);
        assert_eq!(error.list[0].column, column, "{error}");
        assert!(error.list[0].message.contains(message), "{error}");
    }
}

#[test]
fn an_import_is_one_step_with_the_schema_of_its_profiles_and_all_notes() {
    let line = "mixed n=400 ratio(read=1,write=2) -errors retries=2 -port jmx=1";
    let command = Command::parse(&[line.to_owned()]).expect(line);
    let spec = crate::Spec {
        use_: "standard1".to_owned(),
        keyspace: None,
        replication: crate::Replication::Simple { factor: 1 },
        mix: Vec::new(),
        params: std::collections::BTreeMap::new(),
        seed: 1,
        rows: 400,
        epoch: 0,
    };
    let program = Arc::new(crate::compile(&spec).expect("standard1"));
    let import = import(&command, &none, |run, policy| {
        assert_eq!((run.verb.name(), policy.retries), ("mixed", 2));
        Ok(Rows {
            program: program.clone(),
            before: vec!["CREATE TYPE first".to_owned()],
            notes: vec!["rows".to_owned()],
        })
    })
    .expect(line);
    let [step] = &import.steps[..] else {
        panic!("one step");
    };
    assert_eq!((step.name.as_str(), step.warmup_operations), ("mixed", 200));
    assert_eq!(step.before.len(), 4);
    assert_eq!(step.before[0], "CREATE TYPE first");
    assert!(import.notes[0].contains("-port jmx=") && import.notes[1] == "rows");
}

#[test]
fn what_is_not_said_of_the_connection_stays_unsaid() {
    let connection = of("read n=1").connection;
    assert!(connection.nodes.is_empty() && connection.port.is_none());
    assert!(connection.tls.is_none() && connection.connections_per_node.is_none());
}
