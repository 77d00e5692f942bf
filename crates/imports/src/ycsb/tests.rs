//! Tests imports of YCSB's command lines and files.

use super::operations::MODIFY;
use super::*;

/// Returns the file of a workload that YCSB publishes, with its properties in the published form.
fn file(name: &str) -> Result<String, String> {
    let (read, update, scan, insert, modify, distribution) = match name {
        "a" => (0.5, 0.5, 0.0, 0.0, 0.0, "zipfian"),
        "b" => (0.95, 0.05, 0.0, 0.0, 0.0, "zipfian"),
        "c" => (1.0, 0.0, 0.0, 0.0, 0.0, "zipfian"),
        "d" => (0.95, 0.0, 0.0, 0.05, 0.0, "latest"),
        "e" => (0.0, 0.0, 0.95, 0.05, 0.0, "zipfian"),
        "f" => (0.5, 0.0, 0.0, 0.0, 0.5, "zipfian"),
        "hist" => return Ok("BlockSize\t50\n0\t1\n1\t1\n2\t1\n".to_owned()),
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

/// Returns the number of operations of each kind among the first thousand operations.
fn counts(step: &ImportStep) -> Vec<(String, u64)> {
    let mut generator = step.program.generator(step.stage);
    let kinds = step.program.kinds();
    let mut counts = vec![0; kinds.len()];
    for n in 0..1000 {
        counts[usize::from(generator.begin(n).kind)] += 1;
    }
    let counted = kinds.iter().zip(counts).filter(|(_, count)| *count > 0);
    counted.map(|(kind, count)| (kind.name.clone(), count)).collect()
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
        let expected: Vec<_> = expected.iter().map(|(k, c)| ((*k).to_owned(), *c)).collect();
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
        assert!(values[4 + key.len() + 4..][..100].iter().all(|b| (b' '..=b'~').contains(b)));
    }
}

#[test]
fn a_read_modify_write_is_one_operation_of_two_parts() {
    let import = imported("run -P f");
    let program = &import.steps[0].program;
    let mut generator = program.generator(Stage::Main);
    let modify = (0..100).map(|n| generator.begin(n)).find(|o| usize::from(o.kind) == MODIFY);
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
    assert!(import.notes.iter().any(|note| note.contains("token order")));
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
            "fieldcount is `0`; it must be a whole number from 1 to 1000",
        ),
        ("run -P zzz", "command line:1:8: cannot read zzz"),
        ("walk on -P a", "the first word must be load or run"),
        (
            "run mongodb -P a",
            "binding mongodb is not a binding for Cassandra",
        ),
        (
            "run -P a -p requestdistribution=zipf",
            "did you mean `zipfian`?",
        ),
        (
            "run -P a -p cassandra.usernme=me",
            "did you mean `cassandra.username`?",
        ),
        (
            "run -P a -p dataintegrity=true -p fieldlengthdistribution=uniform",
            "dataintegrity requires fieldlengthdistribution=constant",
        ),
        (
            "load -P a -p fieldlengthdistribution=histogram -p fieldlengthhistogram=a",
            "a:1:1: the first line must be BlockSize",
        ),
        (
            "run -P a -p measurement.interval=intend",
            "did you mean `intended`?",
        ),
        (
            "load -db com.yahoo.ycsb.db.MongoDbClient -P a",
            "-db com.yahoo.ycsb.db.MongoDbClient is not a binding for Cassandra",
        ),
        (
            "run -P a -p workload=site.ycsb.workloads.ConstantOccupancyWorkload",
            "only YCSB's CoreWorkload",
        ),
        (
            "run -P a -p readproportion=0 -p updateproportion=0",
            "no kind of operation has a proportion above 0",
        ),
        (
            "run -p operationcount=5",
            "recordcount, the number of records in the table, is missing",
        ),
        ("run -P a -p operationcount=0", "operationcount is missing"),
        ("run -P a -p cassandra.password=hush", "belong together"),
    ] {
        let said = mistakes(line);
        assert!(said.contains(expected), "{line}: {said}");
    }
}

/// In an earlier version, one sentence refused the whole workload. The properties of the workload
/// themselves must not count as mistakes.
#[test]
fn a_time_series_workload_is_refused_operation_by_operation() {
    let series = "-p workload=site.ycsb.workloads.TimeSeriesWorkload -p tagcount=3 \
                  -p tagcardinality=1,2,4 -p timestampunits=SECONDS -p sparsity=0.1";
    let all = "-p recordcount=1000 -p operationcount=1000 -p readproportion=0.1 \
               -p scan1proportion=0.2 -p scanproportion=0 -p insertproportion=0.5 \
               -p updateproportion=0.1 -p deleteproportion=0.1";
    let said = mistakes(&format!("run {series} {all}"));
    for part in [
        "YCSB's TimeSeriesWorkload is for time-series databases",
        "use: cql-timeseries",
        "readproportion: a read uses columns with names such as",
        "scan1proportion: a scan uses tags, times, group-by",
        "insertproportion: `y_id` is the full primary key",
        "updateproportion: an update replaces tags, time and value",
        "deleteproportion: a delete removes the row of a `y_id` like",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // cassay must not refuse a property that the workload does not use. It also must not report an
    // unknown operation here.
    for part in ["scanproportion:", "tagcount", "sparsity", "timestampunits"] {
        assert!(!said.contains(part), "{part}: {said}");
    }
    let said = mistakes(&format!("load {series} -p recordcount=1000"));
    assert_eq!(said.matches("command line:").count(), 1, "{said}");
}

/// In an earlier version, ten follow-up mistakes hid the message that a file could not be read.
#[test]
fn of_a_file_that_cannot_be_read_nothing_else_is_said() {
    assert_eq!(mistakes("run -P zzz").matches("command line:").count(), 1);
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

/// Returns the values that operation `n` binds.
fn bound(step: &ImportStep, n: u64) -> Vec<Vec<u8>> {
    let mut generator = step.program.generator(step.stage);
    generator.begin(n);
    let mut bytes = Vec::new();
    generator.append_values(&mut bytes);
    let (mut rest, mut values) = (&bytes[..], Vec::new());
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let (value, after) = after.split_at(u32::from_be_bytes(*length) as usize);
        values.push(value.to_vec());
        rest = after;
    }
    values
}

#[test]
fn dataintegrity_writes_ycsb_s_values_and_reads_name_the_fields() {
    let import = imported("load -P a -p dataintegrity=true");
    let expected = "user6284781860667377211:field0:-56807877:2032869390:-165488160:\
                    1762371712:-169193395:-1039977118:-10";
    assert_eq!(bound(&import.steps[0], 0)[1], expected.as_bytes());
    // The value of a shorter field must be the beginning of the value of a longer field.
    let import = imported("load -P a -p dataintegrity=true -p fieldlength=12");
    assert_eq!(bound(&import.steps[0], 0)[1], &expected.as_bytes()[..12]);
    for line in [
        "run -P c -p dataintegrity=true -p fieldcount=2",
        "run -P c -p readallfieldsbyname=true -p fieldcount=2",
    ] {
        let program = imported(line).steps[0].program.clone();
        let operation = program.generator(Stage::Main).begin(0);
        let read = &program.statements()[usize::from(operation.statement)];
        assert!(read.cql.starts_with("SELECT field0, field1 FROM"), "{line}");
        assert!(read.verifies, "{line}");
    }
}

/// Returns a result with one row, in the form in which a server sends it.
fn row(cells: &[Vec<u8>]) -> Vec<u8> {
    let no_metadata = 4;
    let counts = [2, no_metadata, cells.len() as i32, 1];
    let mut body: Vec<u8> = counts.iter().flat_map(|n| n.to_be_bytes()).collect();
    for cell in cells {
        cql::template::append_value(&mut body, cell);
    }
    body
}

#[test]
fn a_read_is_judged_by_the_values_that_load_writes() {
    use workload::Check;
    for options in [
        "-p dataintegrity=true",
        "-p readallfieldsbyname=true",
        "-p fieldcount=12",
        "-p readallfields=false -p fieldcount=1",
        "-p fieldlengthdistribution=zipfian -p minfieldlength=20",
    ] {
        let load = imported(&format!("load -P c {options}"));
        let run = imported(&format!("run -P c {options}"));
        let mut generator = run.steps[0].program.generator(Stage::Main);
        let operation = generator.begin(5);
        let read = &run.steps[0].program.statements()[usize::from(operation.statement)];
        let mut cells = bound(&load.steps[0], operation.key);
        if read.cql.starts_with("SELECT * ") {
            // The server returns columns ordered by name: field0, field1, field10, field11, field2.
            let mut order: Vec<usize> = (0..cells.len() - 1).collect();
            order.sort_by_key(|field| format!("field{field}"));
            let sorted = order.iter().map(|field| cells[field + 1].clone());
            cells = [vec![cells[0].clone()], sorted.collect()].concat();
        } else {
            cells.remove(0);
        }
        let mut judge = |cells: &[Vec<u8>]| {
            let body = row(cells);
            let rows = cql::response::RawRows::parse(&body).expect("a result");
            generator.check(operation, &rows)
        };
        assert_eq!(judge(&cells), Check::Right, "{options}");
        let last = cells.last_mut().and_then(|cell| cell.last_mut());
        *last.expect("a byte") ^= 1;
        assert_eq!(judge(&cells), Check::Wrong, "{options}");
    }
}

#[test]
fn lengths_of_a_histogram_are_its_blocks() {
    let line = "load -P a -p fieldlengthdistribution=histogram -p fieldlengthhistogram=hist";
    let import = imported(line);
    let lengths: std::collections::BTreeSet<usize> = (0..50)
        .flat_map(|n| bound(&import.steps[0], n).split_off(1))
        .map(|value| value.len())
        .collect();
    assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [50, 100]);
}

#[test]
fn the_binding_s_settings_act() {
    let import = imported(
        "load -P a -p cassandra.readtimeoutmillis=500 -p cassandra.maxconnections=4 \
         -p core_workload_insertion_retry_limit=3 -p table=UserTable -p cassandra.username=",
    );
    let kind = &import.steps[0].program.kinds()[INSERT];
    assert_eq!(kind.policy.timeout, Some(Duration::from_millis(500)));
    assert_eq!(kind.policy.retries, 3);
    assert_eq!(import.connection.connections_per_node, Some(4));
    assert_eq!(import.connection.username, None);
    assert!(import.steps[0].before[1].contains("\"ycsb\".\"usertable\""));
    // YCSB retries only the inserts of a load.
    let import = imported("run -P d -p core_workload_insertion_retry_limit=3");
    assert_eq!(import.steps[0].program.kinds()[INSERT].policy.retries, 0);
}

#[test]
fn command_lines_of_scripts_are_taken_as_they_stand() {
    for (line, threads) in [
        ("bin/ycsb.sh load cassandra-cql -P a -threads 5", 5),
        ("ycsb load cassandra2-cql -s -P a -p threadcount=6", 6),
        (
            "-db com.yahoo.ycsb.db.CassandraCQLClient -load -P a -threads 7",
            7,
        ),
        (
            "load cassandra-cql -jvm-args=-Xmx4g -cp=x.jar -P a -threads 8",
            8,
        ),
        // A load only inserts records, regardless of the mix.
        (
            "load -P a -p readproportion=0 -p updateproportion=0 -threads 9",
            9,
        ),
    ] {
        let import = imported(line);
        assert_eq!(import.steps[0].offer, Offer::Threads(threads), "{line}");
        assert_eq!(import.steps[0].limit, StepLimit::Operations(1000), "{line}");
    }
}

#[test]
fn a_property_without_effect_is_named_in_a_note() {
    for (line, note) in [
        (
            "load -jvm-args=-Xmx4g -P a",
            "-jvm-args has no effect in cassay",
        ),
        (
            "run -P a -p insertorder=nonhashed",
            "every order except hashed is ordered",
        ),
        (
            "run -P a -p exportfile=f -p status.interval=1",
            "only with --compat: exportfile",
        ),
        (
            "run -P a -p status.interval=1",
            "have no effect in cassay: status.interval",
        ),
        (
            "load -P a -p core_workload_insertion_retry_limit=10000",
            "cassay retries an insert at most 255 times",
        ),
        ("run -P a", "`hosts` is missing: cassay uses localhost"),
        (
            "run -P a -p cassandra.maxpendingrequests=256 -p threads=9",
            "have no effect in cassay: cassandra.maxpendingrequests, threads",
        ),
    ] {
        let notes = imported(line).notes;
        assert!(
            notes.iter().any(|said| said.contains(note)),
            "{line}: {notes:?}"
        );
    }
    assert!(!imported("run -P a -p hosts=h").notes.iter().any(|note| note.contains("hosts")));
}

/// Returns the share of reads that access a record below `bound`, among ten thousand reads.
fn share_below(line: &str, bound: u64) -> f64 {
    let import = imported(line);
    let mut generator = import.steps[0].program.generator(Stage::Main);
    let below = (0..10_000).filter(|n| generator.begin(*n).key < bound);
    below.count() as f64 / 10_000.0
}

#[test]
fn distributions_have_ycsb_s_shares() {
    let common = "run -P c -p requestdistribution=";
    for (rest, bound, expected) in [
        ("uniform", 250, 0.25),
        ("sequential", 250, 0.25),
        ("hotspot", 200, 0.8),
        (
            "hotspot -p hotspotdatafraction=0.5 -p hotspotopnfraction=0.1",
            500,
            0.1,
        ),
        // 95 % of the draws are within the last 857 records. Draws beyond 1000 are repeated, and
        // 3.03 % of the draws are beyond 1000. The share is therefore (0.05 - 0.0303) / (1 -
        // 0.0303).
        ("exponential", 143, 0.0203),
        // This client has few records, but YCSB spreads the draws over the whole `recordcount`.
        (
            "exponential -p insertstart=0 -p insertcount=100",
            143,
            0.0203,
        ),
    ] {
        let share = share_below(&format!("{common}{rest}"), bound);
        assert!((share - expected).abs() < 0.015, "{rest}: {share}");
    }
}
