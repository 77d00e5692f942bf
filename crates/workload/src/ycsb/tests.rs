//! What command lines and files of YCSB come to.

use super::source::MODIFY;
use super::*;

/// The properties of the published workloads, in the form of the files.
fn file(name: &str) -> Result<String, String> {
    let (read, update, scan, insert, modify, distribution) = match name {
        "a" => (0.5, 0.5, 0.0, 0.0, 0.0, "zipfian"),
        "b" => (0.95, 0.05, 0.0, 0.0, 0.0, "zipfian"),
        "c" => (1.0, 0.0, 0.0, 0.0, 0.0, "zipfian"),
        "d" => (0.95, 0.0, 0.0, 0.05, 0.0, "latest"),
        "e" => (0.0, 0.0, 0.95, 0.05, 0.0, "zipfian"),
        "f" => (0.5, 0.0, 0.0, 0.0, 0.5, "zipfian"),
        _ => return Err(format!("cannot read {name}")),
    };
    Ok(format!(
        "# {name}\nrecordcount=1000\noperationcount=1000\n\
         workload=site.ycsb.workloads.CoreWorkload\n\
         readallfields=true\nreadproportion={read}\nupdateproportion={update}\n\
         scanproportion={scan}\ninsertproportion={insert}\nreadmodifywriteproportion={modify}\n\
         requestdistribution={distribution}\nmaxscanlength=100\nscanlengthdistribution=uniform\n"
    ))
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn imported(line: &str) -> Import {
    import(&words(line), 1, &file).unwrap_or_else(|mistakes| panic!("{line}: {mistakes}"))
}

fn mistakes(line: &str) -> String {
    import(&words(line), 1, &file).expect_err(line).to_string()
}

/// How many operations of each kind the first thousand are.
fn counts(step: &Step) -> Vec<(String, u64)> {
    let mut generator = step.program.generator(step.stage);
    let kinds = step.program.kinds();
    let mut counts = vec![0; kinds.len()];
    for n in 0..1000 {
        counts[usize::from(generator.begin(n).kind)] += 1;
    }
    let counted = kinds.iter().zip(counts).filter(|(_, count)| *count > 0);
    counted
        .map(|(kind, count)| (kind.name.clone(), count))
        .collect()
}

#[test]
fn the_mixes_of_a_to_f_are_exact() {
    for (name, expected) in [
        ("a", vec![("read", 500), ("update", 500)]),
        ("b", vec![("read", 950), ("update", 50)]),
        ("c", vec![("read", 1000)]),
        ("d", vec![("read", 950), ("insert", 50)]),
        ("e", vec![("insert", 50), ("scan", 950)]),
        ("f", vec![("read", 500), ("read-modify-write", 500)]),
    ] {
        let import = imported(&format!("run -P {name}"));
        let counted = counts(&import.steps[0]);
        let expected: Vec<_> = expected
            .iter()
            .map(|(k, c)| ((*k).to_owned(), *c))
            .collect();
        assert_eq!(counted, expected, "{name}");
    }
}

#[test]
fn load_inserts_every_record_once_under_ycsb_s_keys() {
    let import = imported("load cassandra-cql -P a -threads 8 -s");
    let step = &import.steps[0];
    assert_eq!(step.limit, StepLimit::Operations(1000));
    assert_eq!(step.offer, Offer::Threads(8));
    let mut generator = step.program.generator(step.stage);
    for (n, key) in [
        (0, "user6284781860667377211"),
        (1, "user8517097267634966620"),
        (2, "user1820151046732198393"),
    ] {
        generator.begin(n);
        let mut values = Vec::new();
        generator.append_values(&mut values);
        assert_eq!(&values[4..4 + key.len()], key.as_bytes());
        assert_eq!(values.len(), 4 + key.len() + 10 * 104);
        assert!(
            values[4 + key.len() + 4..][..100]
                .iter()
                .all(|b| (b' '..=b'~').contains(b))
        );
    }
}

#[test]
fn a_read_modify_write_is_one_operation_of_two_parts() {
    let import = imported("run -P f");
    let program = &import.steps[0].program;
    let mut generator = program.generator(Stage::Main);
    let modify = (0..100)
        .map(|n| generator.begin(n))
        .find(|o| usize::from(o.kind) == MODIFY);
    let first = &program.statements()[usize::from(modify.expect("half of them").statement)];
    let second = &program.statements()[usize::from(first.then.expect("an update follows"))];
    assert!(first.returns_rows && second.cql.starts_with("UPDATE"));
    let part = |statement: &Statement| {
        let kind = &program.kinds()[usize::from(statement.part.expect("a part"))];
        assert!(kind.part);
        kind.name.clone()
    };
    assert_eq!(
        (part(first), part(second)),
        ("rmw-read".into(), "rmw-update".into())
    );
}

#[test]
fn inserts_of_a_run_follow_the_records_without_gap() {
    let import = imported("run -P d");
    let mut generator = import.steps[0].program.generator(Stage::Main);
    let mut added: Vec<u64> = (0..1000)
        .map(|n| generator.begin(n))
        .filter(|operation| usize::from(operation.kind) == INSERT)
        .map(|operation| operation.key)
        .collect();
    added.sort_unstable();
    assert_eq!(added, (1000..1050).collect::<Vec<_>>());
}

#[test]
fn scans_say_that_they_are_no_ordered_ranges() {
    let import = imported("run -P e -target 500 -threads 4");
    assert!(
        import
            .notes
            .iter()
            .any(|note| note.contains("order of their tokens"))
    );
    let rate = Offer::Rate {
        per_second: 500.0,
        threads: 4,
        hides_wait: false,
    };
    assert_eq!(import.steps[0].offer, rate);
}

#[test]
fn mistakes_are_said_where_they_stand() {
    for (line, expected) in [
        (
            "run -P a -p recordcuont=5",
            "command line:1:13: `recordcuont`",
        ),
        (
            "run -P a -p fieldcount=0",
            "fieldcount is `0`; it must be a whole number of 1 to 1000",
        ),
        ("run -P zzz", "command line:1:8: cannot read zzz"),
        ("walk -P a", "the first word must be load or run"),
        ("run mongodb -P a", "binding mongodb is not Cassandra's"),
        (
            "run -P a -p requestdistribution=zipf",
            "did you mean `zipfian`?",
        ),
        ("run -P a -p operationcount=0", "operationcount is missing"),
        ("run -P a -p cassandra.password=hush", "belong together"),
    ] {
        let said = mistakes(line);
        assert!(said.contains(expected), "{line}: {said}");
    }
}

#[test]
fn a_limit_in_time_and_operations_is_whichever_comes_first() {
    let import = imported("run -P a -p maxexecutiontime=60");
    let minute = Duration::from_secs(60);
    assert_eq!(import.steps[0].limit, StepLimit::Either(1000, minute));
}

#[test]
fn a_record_number_beyond_an_int_has_a_key_of_its_own() {
    let import =
        imported("load -P a -p recordcount=8589934592 -p insertorder=ordered -p zeropadding=12");
    let mut generator = import.steps[0].program.generator(Stage::Load);
    generator.begin(4_294_967_296);
    let mut values = Vec::new();
    generator.append_values(&mut values);
    assert_eq!(&values[4..20], b"user004294967296");
}
