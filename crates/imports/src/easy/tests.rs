//! Tests imports of cassandra-easy-stress command lines against the formulas in the tool's source.

use super::*;
use workload::Check;

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn imported(line: &str) -> Import {
    import(&words(line), 1).unwrap_or_else(|mistakes| panic!("{line}: {mistakes}"))
}

fn mistakes(line: &str) -> String {
    import(&words(line), 1).expect_err(line).to_string()
}

/// Returns the kind of operation `n`, and the values that it binds.
fn bound(step: &ImportStep, n: u64) -> (u8, Vec<Vec<u8>>) {
    let mut generator = step.program.generator(step.stage);
    let kind = generator.begin(n).kind;
    let mut bytes = Vec::new();
    generator.append_values(&mut bytes);
    let (mut rest, mut values) = (&bytes[..], Vec::new());
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let (value, after) = after.split_at(u32::from_be_bytes(*length) as usize);
        values.push(value.to_vec());
        rest = after;
    }
    (kind, values)
}

fn key(step: &ImportStep, n: u64) -> String {
    String::from_utf8(bound(step, n).1.swap_remove(0)).expect("a text")
}

/// Returns the percentage of each kind among twenty thousand operations.
fn shares(step: &ImportStep) -> [f64; 3] {
    let mut generator = step.program.generator(step.stage);
    let mut counts = [0.0; 3];
    for n in 0..20_000 {
        counts[usize::from(generator.begin(n).kind)] += 1.0 / 200.0;
    }
    counts
}

#[test]
fn the_defaults_are_the_tool_s() {
    let import = imported("KeyValue");
    let step = &import.steps[0];
    let before = [
        "CREATE KEYSPACE IF NOT EXISTS \"cassandra_easy_stress\" WITH replication = \
         {'class': 'SimpleStrategy', 'replication_factor': 3}",
        "CREATE TABLE IF NOT EXISTS \"cassandra_easy_stress\".keyvalue \
         (key text PRIMARY KEY, value text) WITH \
         caching = {'keys': 'ALL', 'rows_per_partition': 'NONE'} AND default_time_to_live = 0",
    ];
    assert_eq!(step.before, before);
    let statements = step.program.statements();
    let texts: Vec<&str> = statements.iter().map(|s| s.cql.as_str()).collect();
    let table = "\"cassandra_easy_stress\".keyvalue";
    let expected = [
        format!("SELECT * from {table} WHERE key = ?"),
        format!("INSERT INTO {table} (key, value) VALUES (?, ?)"),
        format!("DELETE from {table} WHERE key = ?"),
    ];
    assert_eq!(texts, expected);
    let level = cql::Consistency::LocalOne;
    assert!(statements.iter().all(|s| s.consistency == level));
    let timeouts = step.program.kinds().iter().map(|kind| kind.policy.timeout);
    assert!(timeouts.eq([Some(Duration::from_secs(30)); 3]));
    assert_eq!((import.steps.len(), step.stage), (1, Stage::Main));
    assert_eq!(step.limit, StepLimit::Operations(1_000_000));
    let offer = Offer::Rate {
        per_second: 5000.0,
        threads: 32_768,
        hides_wait: false,
    };
    assert_eq!(step.offer, offer);
    assert_eq!(import.connection.nodes, ["127.0.0.1"]);
    assert!(import.connection.username.is_none() && import.connection.password.is_none());
}

#[test]
fn keys_are_the_run_s_id_the_thread_and_a_number() {
    let import = imported("KeyValue --pg sequence -t 2 -p 3 --populate 2 -n 10");
    let [populate, run] = &import.steps[..] else {
        panic!("two steps");
    };
    assert_eq!(populate.limit, StepLimit::Operations(4));
    assert_eq!(run.limit, StepLimit::Operations(20));
    assert!(!populate.before.is_empty() && run.before.is_empty());
    let keys: Vec<String> = (0..4).map(|n| key(populate, n)).collect();
    assert_eq!(keys, ["001.0.0", "001.1.0", "001.0.1", "001.1.1"]);
    // The run continues where populating ended, with the third key of the sequence. After its last
    // key, the sequence starts again.
    let keys: Vec<String> = (0..7).map(|n| key(run, n)).collect();
    let expected = ["0.2", "1.2", "0.3", "1.3", "0.0", "1.0", "0.1"];
    assert_eq!(keys, expected.map(|key| format!("001.{key}")));
    let import = imported("KeyValue --id b -p 10");
    let number = |n| key(&import.steps[0], n).strip_prefix("b.0.").map(str::to_owned);
    let numbers: std::collections::BTreeSet<_> = (0..500).map(number).collect();
    let expected = (0..10).map(|number: u64| Some(number.to_string()));
    assert!(numbers.into_iter().eq(expected));
}

#[test]
fn normal_keys_lie_around_the_middle() {
    let step = &imported("KeyValue --pg normal -p 1000").steps[0];
    let mut generator = step.program.generator(Stage::Main);
    let numbers: Vec<f64> = (0..20_000).map(|n| generator.begin(n).key as f64).collect();
    let mean = numbers.iter().sum::<f64>() / 20_000.0;
    let square: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
    let deviation = (square / 20_000.0).sqrt();
    assert!((mean - 500.0).abs() < 4.0, "{mean}");
    assert!((deviation - 125.0).abs() < 3.0, "{deviation}");
    assert!(numbers.iter().all(|number| *number <= 1000.0));
}

/// The tool draws a number from 0 to 99 and compares it with the share times a hundred. For a share
/// of 0.07, the binary product is slightly more than seven.
#[test]
fn shares_of_kinds_are_those_of_the_tool_s_die() {
    for (line, expected) in [
        ("KeyValue", [50.0, 50.0, 0.0]),
        ("KeyValue -r 0", [0.0, 100.0, 0.0]),
        ("KeyValue --reads 1", [100.0, 0.0, 0.0]),
        ("KeyValue --readrate 0.005", [1.0, 99.0, 0.0]),
        ("KeyValue -r 0.07", [8.0, 92.0, 0.0]),
        ("KeyValue -r 0.5 --deletes 0.2", [50.0, 30.0, 20.0]),
    ] {
        let shares = shares(&imported(line).steps[0]);
        let near = shares.iter().zip(expected).all(|(is, should)| (is - should).abs() < 1.2);
        assert!(near, "{line}: {shares:?}");
        for (is, should) in shares.iter().zip(expected) {
            assert_eq!(*is == 0.0, should == 0.0, "{line}: {shares:?}");
        }
    }
    // The populating step of `--populate` does not read rows, but deletes some of them.
    let shares = shares(&imported("KeyValue --populate 9 --deleterate 0.2").steps[0]);
    assert!(
        shares[0] == 0.0 && (shares[2] - 20.0).abs() < 1.2,
        "{shares:?}"
    );
}

#[test]
fn values_are_capital_letters_of_the_tool_s_lengths() {
    for (line, (least, most)) in [
        ("KeyValue -r 0", (100, 199)),
        ("KeyValue -r 0 --field.keyvalue.value=random(3,5)", (3, 4)),
        (
            "KeyValue -r 0 --field.keyvalue.value=random(1k,1001)",
            (1000, 1000),
        ),
    ] {
        let step = &imported(line).steps[0];
        let values: Vec<Vec<u8>> = (0..2000).map(|n| bound(step, n).1.swap_remove(1)).collect();
        let lengths = || values.iter().map(Vec::len);
        assert_eq!(
            (lengths().min(), lengths().max()),
            (Some(least), Some(most)),
            "{line}"
        );
        let mut counts = [0u64; 26];
        for letter in values.concat() {
            counts[usize::from(letter - b'A')] += 1;
        }
        let mean = counts.iter().sum::<u64>() as f64 / 26.0;
        let even = counts.iter().all(|count| (*count as f64 / mean - 1.0).abs() < 0.25);
        assert!(even, "{line}: {counts:?}");
        assert_eq!(bound(step, 7), bound(step, 7));
    }
}

/// Returns a result with these rows, in the form in which a server sends it.
fn rows(rows: &[Vec<Vec<u8>>]) -> Vec<u8> {
    let (no_metadata, columns) = (4, rows.first().map_or(0, Vec::len));
    let counts = [2, no_metadata, columns as i32, rows.len() as i32];
    let mut body: Vec<u8> = counts.iter().flat_map(|n| n.to_be_bytes()).collect();
    for cell in rows.concat() {
        cql::template::append_value(&mut body, &cell);
    }
    body
}

/// Returns the verdict on the answer `found` to operation `n` of the run.
fn judged(import: &Import, n: u64, found: &[Vec<Vec<u8>>]) -> Check {
    let program = &import.steps.last().expect("the run").program;
    let mut generator = program.generator(Stage::Main);
    let operation = generator.begin(n);
    assert_eq!(operation.kind, SELECT);
    let body = rows(found);
    let rows = cql::response::RawRows::parse(&body).expect("a result");
    generator.check(operation, &rows)
}

#[test]
fn a_read_is_judged_by_what_was_written_under_its_key() {
    // The table has only one partition, so every write changes the row that the other operations
    // read.
    let import = imported("KeyValue -p 1 --populate 5");
    let [populate, run] = &import.steps[..] else {
        panic!("two steps");
    };
    let first = |kind| (0..50).find(|n| bound(run, *n).0 == kind).expect("one of them");
    let (read, write) = (first(SELECT), first(MUTATION));
    let row = bound(run, write).1;
    assert_eq!(
        judged(&import, read, std::slice::from_ref(&row)),
        Check::Right
    );
    assert_eq!(judged(&import, read, &[bound(populate, 3).1]), Check::Right);
    for cell in 0..2 {
        let mut other = row.clone();
        *other[cell].last_mut().expect("a byte") ^= 1;
        assert_eq!(judged(&import, read, &[other]), Check::Wrong, "{cell}");
    }
    assert_eq!(judged(&import, read, &[row[..1].to_vec()]), Check::Wrong);
    assert_eq!(judged(&import, read, &[row.clone(), row]), Check::Wrong);
    for (line, expected) in [
        // The row of a random key may not have been written yet.
        ("--populate 5 -p 1", Check::Unknown),
        ("--pg sequence -p 4", Check::Unknown),
        ("--populate 5 --pg sequence -p 4", Check::Missing),
        ("--populate 5 --pg sequence -p 4 --ttl 9", Check::Unknown),
        (
            "--populate 5 --pg sequence -p 4 --deletes 0.0001",
            Check::Unknown,
        ),
    ] {
        let import = imported(&format!("KeyValue -r 0.99 {line}"));
        assert_eq!(judged(&import, 1, &[]), expected, "{line}");
    }
    let short = imported("KeyValue --field.keyvalue.value=random(5,9)");
    assert!(!short.steps[0].program.statements()[0].verifies);
}

#[test]
fn options_of_a_table_are_written_as_the_tool_writes_them() {
    for (option, expected) in [
        (
            "--compaction stcs",
            "compaction = {'class': 'SizeTieredCompactionStrategy'} AND ",
        ),
        (
            "--compaction stcs,4,32",
            "'min_threshold': '4', 'max_threshold': '32'} AND ",
        ),
        (
            "--compaction lcs,160,5",
            "{'class': 'LeveledCompactionStrategy', 'sstable_size_in_mb': '160', \
             'fanout_size': '5'}",
        ),
        (
            "--compaction twcs,1,days",
            "'compaction_window_size': '1', 'compaction_window_unit': 'DAYS'}",
        ),
        ("--compaction ucs,T4,L8", "'scaling_parameters': 'T4,L8'}"),
        (
            "--compaction {\"class\":\"X\"}",
            "compaction = {'class':'X'} AND ",
        ),
        (
            "--compression {'class':'ZstdCompressor'}",
            "compression = {'class':'ZstdCompressor'}",
        ),
        (
            "--keycache NONE --rowcache 10",
            "{'keys': 'NONE', 'rows_per_partition': '10'}",
        ),
    ] {
        let import = imported(&format!("run KeyValue {option}"));
        let table = &import.steps[0].before[1];
        assert!(table.contains(expected), "{option}: {table}");
    }
    let line = "KeyValue --drop --keyspace Mine --replication {'class':'X'} --cql ALTER";
    let before = &imported(line).steps[0].before;
    assert_eq!(before[0], "DROP KEYSPACE IF EXISTS \"mine\"");
    assert!(before[1].ends_with("\"mine\" WITH replication = {'class':'X'}"));
    assert_eq!(before[3..], ["USE \"mine\"", "ALTER"]);
    assert!(imported("KeyValue --no-schema --drop").steps[0].before.is_empty());
}

#[test]
fn lengths_of_a_run_are_read_as_the_tool_writes_them() {
    for (text, seconds) in [("1h30m", 5400), ("90s", 90), ("1d 3h 15m", 97_200 + 900)] {
        let words = ["run", "KeyValue", "-d", text].map(str::to_owned);
        let limit = import(&words, 1).expect(text).steps[0].limit;
        assert_eq!(
            limit,
            StepLimit::Duration(Duration::from_secs(seconds)),
            "{text}"
        );
    }
    for (text, count) in [
        ("7", 7),
        ("10k", 10_000),
        ("2M", 2_000_000),
        ("1b", 1_000_000_000),
    ] {
        let import = imported(&format!("KeyValue -n {text} -t 3"));
        assert_eq!(
            import.steps[0].limit,
            StepLimit::Operations(3 * count),
            "{text}"
        );
    }
}

/// Invalid command lines, each with a part of the expected message.
const MISTAKES: &[(&str, &str)] = &[
    ("run", "the workload is missing"),
    (
        "run KeyVallue",
        "command line:1:5: `KeyVallue` is not a workload",
    ),
    ("run KeyVallue", "did you mean `KeyValue`?"),
    (
        "run LWT",
        "cassay imports only the workload KeyValue, not LWT",
    ),
    (
        "list",
        "cassay supports only the tool's command `run`, not list",
    ),
    (
        "run KeyValue LWT",
        "`LWT` would be a second workload after KeyValue",
    ),
    ("run KeyValue --ratee 5", "did you mean `--rate`?"),
    (
        "run KeyValue --rate=5",
        "hint: write `--rate VALUE`, as two separate arguments",
    ),
    (
        "run KeyValue --rate",
        "command line:1:14: --rate needs a value",
    ),
    (
        "run KeyValue --rate 0",
        "--rate is `0`; it must be a whole number from 1 to 10000000",
    ),
    ("run KeyValue --rate 1.5k", "--rate is `1.5k`"),
    ("run KeyValue --rate 5\u{212A}", "--rate is"),
    ("run KeyValue --rate 5 --rate 6", "--rate occurs twice"),
    ("run KeyValue --rf 3", "hint: --replication"),
    ("run KeyValue --maxrate 5", "write --rate"),
    ("run KeyValue --maxrlat 5", "in a study: `procedure: {sweep"),
    ("run KeyValue -d 60", "it must be a duration such as 90s"),
    ("run KeyValue -d 1.5h", "it must be a duration such as 90s"),
    ("run KeyValue -d 0s", "it must be a duration such as 90s"),
    ("run KeyValue -d 1m -n 5", "omit if --duration is set"),
    ("run KeyValue -r 1.5", "it must be a number from 0 to 1"),
    (
        "run KeyValue -r 0.9 --deletes 0.2",
        "at most 1 minus the share of --readrate, 0.9",
    ),
    ("run KeyValue -p 0", "--partitions is `0`"),
    ("run KeyValue -p 1 --pg normal", "whole number from 2 to"),
    (
        "run KeyValue --pg zipf",
        "it must be random, normal or sequence",
    ),
    ("run KeyValue --cl MOST", "a level such as"),
    ("run KeyValue --keyspace a.b", "it must be a CQL name"),
    (
        "run KeyValue --compaction stcs,4",
        "it must be stcs; stcs,4,32",
    ),
    ("run KeyValue --replication 3", "it must be a CQL map"),
    (
        "run KeyValue --keycache 'x",
        "it must be ALL, NONE or a number",
    ),
    (
        "run KeyValue --workload.limit=5",
        "KeyValue has no parameter `limit=5`",
    ),
    ("run KeyValue -w.x=1", "KeyValue has no parameter `x=1`"),
    (
        "run KeyValue --field.keyvalue.key=random(1,2)",
        "only the number of letters of keyvalue.value",
    ),
    (
        "run KeyValue --field.keyvalue.value=book(1,2)",
        "only the number of letters of keyvalue.value",
    ),
    (
        "run KeyValue --field.keyvalue.value=random(5,5)",
        "only the number of letters of keyvalue.value",
    ),
];

#[test]
fn mistakes_are_said_where_they_stand() {
    for (line, expected) in MISTAKES {
        let said = mistakes(line);
        assert!(said.contains(expected), "{line}: {said}");
    }
    // The parser must not mistake the value of an unknown option for a workload.
    assert_eq!(
        mistakes("run --ratee 5 KeyValue").matches("command line:").count(),
        1
    );
    let all = mistakes("run KeyValue --rate x -p x --cl x");
    assert_eq!(all.matches("command line:").count(), 3, "{all}");
}

#[test]
fn an_option_without_effect_is_named_in_a_note() {
    for (line, note) in [
        (
            "KeyValue -c 100 --csv f",
            "these options have no effect in cassay: -c, --csv",
        ),
        (
            "KeyValue --co",
            "these options have no effect in cassay: --co",
        ),
        ("KeyValue", "The tool begins with a tenth of the rate"),
        (
            "KeyValue",
            "In the tool, latency counts from the time at which the generator creates an operation",
        ),
        ("KeyValue -t 4", "each of 4 threads has its own keys"),
    ] {
        let notes = imported(line).notes;
        assert!(
            notes.iter().any(|said| said.contains(note)),
            "{line}: {notes:?}"
        );
    }
    assert_eq!(imported("KeyValue").notes.len(), 3);
}

#[test]
fn a_password_is_known_and_in_no_mistake() {
    let with = imported("KeyValue -P hush --ssl --host h --port 9043 --max-connections 4");
    let connection = with.connection;
    let password = connection.password.map(|password| password.reveal().to_owned());
    let user = connection.username.as_deref();
    assert_eq!(
        (user, password.as_deref()),
        (Some("cassandra"), Some("hush"))
    );
    assert_eq!((connection.port, connection.tls), (Some(9043), Some(true)));
    assert_eq!(
        (connection.connections_per_node, connection.nodes),
        (Some(4), vec!["h".into()])
    );
    for line in [
        "run KeyValue --password hush --ratee 5",
        "run KeyValue --ratee 5 -P hush",
        "run KeyValue --password=hush",
        "run KeyValue -P hush -P hush",
        "run KeyValue --host --password hush",
    ] {
        // The check also covers the line of the message that shows the words.
        let said = format!("{:?}", import(&words(line), 1).expect_err(line));
        assert!(said.contains("***") && !said.contains("hush"), "{said}");
    }
}
