//! Tests workload files and other tools' command lines on the null target, from the command line of
//! the user to the results.

use crate::program::{Lab, ProgramOutput};
use measure::KindCount;
use serde_json::Value;

/// A profile whose inserts are unlogged batches of five partitions.
const PROFILE: &str = "\
keyspace: k
keyspace_definition: |
  CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};
table: t
table_definition: CREATE TABLE t (name text PRIMARY KEY, value blob)
columnspec:
  - {name: value, size: fixed(10)}
insert: {partitions: fixed(5), batchtype: UNLOGGED}
queries:
  get: {cql: 'select * from t where name = ?', fields: samerow}
";

const OWN: &str = "\
schema:
  - CREATE TABLE t (k bigint PRIMARY KEY, v text)
values:
  k: row
  v: text(20)
statements:
  write: INSERT INTO t (k, v) VALUES (:k, :v)
  read: SELECT k, v FROM t WHERE k = :k
mix: {write: 1, read: 1}
load: write
verify: read
";

const STUDY: &str = "\
study: own
question: Does a file beside the study work?
target: {null: {}}
workload: {file: own.yaml}
data: {load: {operations: 500}}
procedure: {fixed: {threads: 4}}
window: {warmup: 0s, measure: 1s}
";

fn on_null(lab: &Lab, words: &[&str]) -> ProgramOutput {
    let (tool, rest) = words.split_first().expect("a tool");
    lab.cassay(&[&[*tool, "--target", "null"], rest].concat())
}

#[test]
fn a_profile_runs_by_its_partitions_and_says_what_the_tool_says() {
    let lab = Lab::new();
    lab.write("p.yaml", PROFILE);
    let words = [
        "stress",
        "--compat",
        "user",
        "profile=p.yaml",
        "ops(insert=1)",
    ];
    let more = ["n=1000", "no-warmup", "-rate", "threads=4"];
    let said = on_null(&lab, &[&words[..], &more].concat()).measured(&lab);
    for line in [
        "Running [insert] with 4 threads for 1000 iteration",
        "type       total ops,    op/s,",
        "Total partitions          :      1,000 [insert: 1,000]",
        "Total errors              :          0 [insert: 0]",
    ] {
        assert!(said.stdout.contains(line), "{line}: {said}");
    }
    assert!(said.stdout.ends_with("END\n"), "{said}");
    // Besides the output of the other tool, the run must write cassay's results.
    let run = lab.run();
    let trial = &run.findings.expect("findings").trials[0];
    assert_eq!(
        (trial.ops_total, trial.counts["insert"][KindCount::Batched]),
        (200, 800)
    );
    assert!(run.path.join("report.html").is_file());
    let rerun = "cassay stress user profile=p.yaml 'ops(insert=1)' n=1000 no-warmup -rate \
                 threads=4 --target null";
    assert_eq!(run.plan.rerun, rerun);
}

#[test]
fn a_ladder_of_threads_is_one_trial_for_each_step() {
    let lab = Lab::new();
    let words = [
        "stress",
        "write",
        "n=20000",
        "no-warmup",
        "-rate",
        "threads>=4",
        "threads<=16",
    ];
    let said = on_null(&lab, &[&words[..], &["--json"]].concat()).measured(&lab).json();
    let trials = said["trials"].as_array().expect("trials");
    let threads: Vec<_> = trials.iter().map(|t| t["point"]["threads"].as_f64()).collect();
    assert_eq!(threads, [Some(4.0), Some(8.0), Some(16.0)]);
}

#[test]
fn ycsb_lines_are_printed_with_the_parts_of_a_read_modify_write() {
    let lab = Lab::new();
    let properties = "recordcount=100\noperationcount=1000\nreadproportion=0\n\
                      updateproportion=0\nreadmodifywriteproportion=1\n";
    lab.write("workload", properties);
    let words = ["ycsb", "run", "-P", "workload", "-threads", "4", "--compat"];
    let said = on_null(&lab, &words).measured(&lab);
    for line in [
        "[OVERALL], RunTime(ms), ",
        "[READ], Operations, 1000",
        "[UPDATE], Operations, 1000",
        "[READ-MODIFY-WRITE], Operations, 1000",
    ] {
        assert!(said.stdout.contains(line), "{line}: {said}");
    }
}

/// The output contains the means of the clients' percentiles, in addition to the values over all
/// operations. The test covers the outputs of cassandra-stress and of YCSB.
#[test]
fn means_of_percentiles_of_several_clients_are_printed() {
    let lab = Lab::new();
    let two = [
        "--compat",
        "--set",
        "client.machines=[{workers: 1}, {workers: 1}]",
    ];
    let words = [
        "stress",
        "write",
        "n=20000",
        "no-warmup",
        "-rate",
        "threads=4",
    ];
    let said = on_null(&lab, &[&words[..1], &two, &words[1..]].concat()).measured(&lab);
    let figure = |label: &str| -> f64 {
        let mut lines = said.stdout.lines().filter(|line| line.starts_with(label));
        let (Some(line), None) = (lines.next(), lines.next()) else {
            panic!("one line with {label}: {said}");
        };
        let rest = line.split_once(": ").expect("a figure").1.trim();
        rest.split(' ').next().expect("a figure").parse().expect("a number")
    };
    // Scripts look for these figures, so each occurs only once and covers all operations.
    assert!(
        figure("Latency 99th percentile") <= figure("Latency max"),
        "{said}"
    );
    assert!(
        said.stdout.contains("A mean of percentiles is not a percentile"),
        "{said}"
    );
    // The run keeps the times of each client.
    let run = lab.run();
    let trial = run.trial(0).expect("a record").expect("the trial").logs_dir();
    let log = trial.parent().expect("its folder").join("clients.hlog");
    let own = ["client1", "client2"].map(|client| {
        let tag = format!("{client}.service.write");
        store::hlog::merged(&log, &tag, None).expect("a log")
    });
    assert_eq!(
        own.iter().map(measure::Histogram::count).sum::<u64>(),
        20_000
    );
    let mean_ms = own.iter().map(|one| one.max_ns() as f64 / 1e6).sum::<f64>() / 2.0;
    let found_ms = figure("Mean of clients' maxima");
    assert!((found_ms - mean_ms).abs() < 0.06, "{mean_ms}: {said}");

    lab.write(
        "workload",
        "recordcount=100\noperationcount=4000\nreadproportion=1\n",
    );
    let words = ["ycsb", "run", "-P", "workload", "-threads", "4"];
    let said = on_null(&lab, &[&words[..1], &two, &words[1..]].concat()).measured(&lab);
    let mean = "[READ], MeanOf2Clients99thPercentiles(us; no percentile), ";
    for line in ["[READ], 99thPercentileLatency(us), ", mean] {
        let count = said.stdout.lines().filter(|one| one.starts_with(line)).count();
        assert_eq!(count, 1, "{line}: {said}");
    }
}

/// Other load generators omit, from some or all of their outputs, operations that were due but
/// never sent.
#[test]
fn operations_due_and_never_sent_stand_in_every_output() {
    let lab = Lab::new();
    let words = [
        "stress",
        "write",
        "duration=1s",
        "no-warmup",
        "-rate",
        "threads=1",
    ];
    // The run is suspect or invalid, because the target or a busy machine limits it.
    let said = on_null(&lab, &[&words[..], &["fixed=9000000/s"]].concat());
    assert!(said.stdout.contains("never sent"), "{said}");
    let run = lab.run();
    let trial = &run.findings.as_ref().expect("findings").trials[0];
    let never_sent = trial.due_never_sent;
    assert!(never_sent > 0 && never_sent + trial.ops_total <= 9_000_000);
    let latency = &trial.all.latency_ms;
    assert_eq!((latency.censored, latency.count), (never_sent, 9_000_000));
    assert!(latency.p999.is_at_least(), "{latency:?}");
    let path = run.path.join("trials/00-write-rate-9000000/intervals.ndjson");
    let seconds = std::fs::read_to_string(path).expect("the seconds");
    let written: u64 = seconds
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"))
        .filter_map(|line| line["client"]["due_never_sent"].as_u64())
        .sum();
    assert_eq!(written, never_sent);
    let said = format!(
        "{} requests were never sent",
        measure::number::count(never_sent)
    );
    let text = lab
        .cassay(&["show", "latest"])
        .ended_with(0)
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let page = std::fs::read_to_string(run.path.join("report.html")).expect("a page");
    let json = lab.cassay(&["show", "latest", "--json"]).ended_with(0).stdout;
    for (output, text) in [("terminal", text), ("page", page), ("JSON", json)] {
        assert!(text.contains(&said), "{output}: {said}");
    }
}

/// A section without operations has no mean, so cassay must not print one. YCSB itself divides by
/// zero in such a section.
#[test]
fn sections_without_an_operation_say_nothing_that_is_no_number() {
    let lab = Lab::new();
    let properties = "recordcount=100\noperationcount=200\nreadproportion=1\n\
                      updateproportion=0\nscanproportion=0.0000001\n";
    lab.write("workload", properties);
    let words = ["ycsb", "run", "-P", "workload", "-threads", "2", "--compat"];
    let said = on_null(&lab, &words).measured(&lab);
    assert!(said.stdout.contains("[READ], Operations, 200"), "{said}");
    for nonsense in ["NaN", "Infinity", "inf"] {
        assert!(!said.stdout.contains(nonsense), "{nonsense}: {said}");
    }
}

#[test]
fn ycsb_s_exportfile_and_exporter_take_the_lines() {
    let lab = Lab::new();
    lab.write("workload", "recordcount=100\noperationcount=1000\n");
    let words = ["ycsb", "run", "-P", "workload", "--compat", "-p"];
    let class = "exporter=site.ycsb.measurements.exporter.JSONArrayMeasurementsExporter";
    let more = [class, "-p", "exportfile=out.json"];
    let said = on_null(&lab, &[&words[..], &more].concat()).measured(&lab);
    assert_eq!(said.stdout, "", "{said}");
    let text = std::fs::read_to_string(lab.path().join("out.json")).expect("it was written");
    let rows: Vec<serde_json::Value> = serde_json::from_str(&text).expect("JSON");
    let reads = rows
        .iter()
        .find(|row| row["metric"] == "READ" && row["measurement"] == "Operations");
    assert_eq!(reads.map(|row| &row["value"]), Some(&950.into()));
    // If the path is not writable, cassay still prints the results.
    let more = ["exportfile=no/such/folder", "-s"];
    let said = on_null(&lab, &[&words[..], &more].concat()).measured(&lab);
    assert!(said.stdout.contains("[READ], Operations, 950"), "{said}");
    assert!(said.stderr.contains("exportfile no/such/folder"), "{said}");
}

#[test]
fn a_bad_command_line_starts_nothing_and_stores_no_password() {
    let lab = Lab::new();
    for words in [
        &["stress", "write", "n=10", "-rate", "thread=5"][..],
        &["stress", "write", "n=10", "-sendto", "127.0.0.1"],
        &["ycsb", "run", "-P", "absent"],
        &["nb", "absent.yaml"],
        &["easy", "run", "LWT"],
    ] {
        on_null(&lab, words).ended_with(2);
    }
    assert!(!lab.path().join("results").exists());
    let words = [
        "stress",
        "write",
        "n=10",
        "no-warmup",
        "-rate",
        "threads=1",
        "-mode",
        "native",
    ];
    let secret = ["cql3", "user=me", "password=topsecret"];
    let said = on_null(&lab, &[&words[..], &secret].concat()).measured(&lab);
    assert!(
        !said.stdout.contains("topsecret") && !said.stderr.contains("topsecret"),
        "{said}"
    );
    // The password comes first from a properties file, and then from one of several options on the
    // command line.
    let user = "recordcount=9\ncassandra.username=me\ncassandra.password=topsecret\n";
    lab.write("properties", user);
    let words = ["ycsb", "load", "-P", "properties"];
    on_null(&lab, &words).measured(&lab);
    std::fs::remove_file(lab.path().join("properties")).expect("it was there");
    let words: Vec<&str> =
        "ycsb load cassandra-cql -p recordcount=9 -p cassandra.username=cassandra \
                 -p cassandra.password=cassandra"
            .split(' ')
            .filter(|word| !word.is_empty())
            .collect();
    on_null(&lab, &words).measured(&lab);
    // The tools read these passwords, but cassay does not.
    for line in [
        "stress write n=10 no-warmup -rate threads=1 -jmx password=topsecret",
        "stress write n=10 no-warmup -rate threads=1 -jmx user=u password=topsecret",
        "ycsb load -p recordcount=9 -p password=topsecret",
        "ycsb load -p recordcount=9 -p javax.net.ssl.trustStorePassword=topsecret",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let said = on_null(&lab, &words).measured(&lab);
        assert!(!said.to_string().contains("topsecret"), "{said}");
    }
    // The password is a separate word after an option of one letter.
    let words = ["easy", "run", "KeyValue", "-n", "9", "-P", "topsecret"];
    let said = on_null(&lab, &words).measured(&lab);
    assert!(!said.to_string().contains("topsecret"), "{said}");
    let mut folders = vec![lab.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if let Ok(bytes) = std::fs::read(&path) {
                let text = String::from_utf8_lossy(&bytes);
                assert!(!text.contains("topsecret"), "{}", path.display());
            }
        }
    }
}

#[test]
fn easy_stress_populates_and_then_runs_at_its_rate() {
    let lab = Lab::new();
    let line = "run KeyValue -n 1000 -t 2 --rate 5k --populate 100 -p 10k -r 0.25 -c 9";
    let study =
        format!("study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{easy: '{line}'}}\n");
    lab.write("study.yaml", &study);
    let words: Vec<&str> = line.split(' ').collect();
    for words in [vec!["run", "study.yaml"], [vec!["easy"], words].concat()] {
        let said = on_null(&lab, &[&words[..], &["--json"]].concat()).measured(&lab);
        assert_eq!(
            times(&said, "these options have no effect in cassay: -c"),
            1,
            "{said}"
        );
        let trials = said.json()["trials"].clone();
        for (trial, name, operations) in [(0, "populate", 200), (1, "run", 2000)] {
            let trial = &trials[trial];
            assert_eq!(trial["variant"], name, "{words:?}");
            assert_eq!(trial["point"]["rate"].as_f64(), Some(5000.0), "{trial}");
            let kinds = trial["kinds"].as_object().expect("kinds").values();
            let count: u64 = kinds.filter_map(|kind| kind["ops"].as_u64()).sum();
            assert_eq!(count, operations, "{trial}");
        }
    }
}

#[test]
fn a_workload_file_lies_beside_its_study_and_is_kept() {
    let lab = Lab::with(STUDY);
    lab.write("own.yaml", OWN);
    lab.cassay(&["run", "study.yaml"]).measured(&lab);
    let plan = lab.run().plan;
    assert_eq!(plan.resolved.overrides.inputs["own.yaml"], OWN);
    let requests = &plan.resolved.requests[&"-".into()];
    assert_eq!(requests[0].retries, Some(0), "{requests:?}");

    let outside = STUDY.replace("own.yaml", "../own.yaml");
    lab.write("study.yaml", &outside);
    let said = lab.cassay(&["run", "study.yaml"]).ended_with(2);
    assert!(
        said.stderr.contains("is outside the study's folder"),
        "{said}"
    );
}

/// Returns how often the program printed this text on stderr.
fn times(said: &ProgramOutput, text: &str) -> usize {
    said.stderr.matches(text).count()
}

#[test]
fn differences_of_an_import_are_listed_once_and_reported() {
    const NOTE: &str = "`-graph` has no effect: the report contains the graphs.";
    let command = "write n=1000 no-warmup -rate threads=2 -graph file=x.html";
    let study = format!(
        "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{stress: '{command}'}}\n"
    );
    let lab = Lab::with(&study);
    let planned = lab.cassay(&["plan", "study.yaml", "--json"]).ended_with(0);
    assert_eq!(times(&planned, NOTE), 1, "{planned}");
    let notes = planned.json()["resolved"]["notes"].to_string();
    assert!(notes.contains(NOTE), "{notes}");
    let words: Vec<&str> = command.split(' ').collect();
    for words in [vec!["run", "study.yaml"], [vec!["stress"], words].concat()] {
        let said = on_null(&lab, &words).measured(&lab);
        assert_eq!(times(&said, NOTE), 1, "{said}");
        let run = lab.run();
        let notes = run.plan.resolved.notes.concat();
        assert!(notes.contains(NOTE), "{notes}");
        let html = std::fs::read_to_string(run.path.join("report.html")).expect("a report");
        // The page shows the text of the note, with code marked up. The plan in the report does not
        // repeat the note.
        let marked = NOTE.replace("`-graph`", "<code>-graph</code>");
        let count = html.matches(&marked).count() + html.matches(NOTE).count();
        assert_eq!(count, 1, "in the report of {words:?}");
        let shown = lab.cassay(&["show", "latest"]).ended_with(0);
        assert!(shown.stdout.contains(NOTE), "{shown}");
    }
}

#[test]
fn workload_files_are_checked_and_sampled() {
    let lab = Lab::new();
    lab.write("own.yaml", OWN);
    let said = lab.cassay(&["workload", "check", "own.yaml"]).ended_with(0);
    assert!(
        said.stdout.contains("read, LOCAL_ONE, verified: SELECT k, v"),
        "{said}"
    );
    let said = lab.cassay(&["workload", "sample", "own.yaml", "--rows", "2"]);
    assert!(said.ended_with(0).stdout.contains("1 write"));
    // Statements that run only in the load stage do not count as a kind of the mix.
    let twice = OWN.replace("load: write", "load: [write, write]");
    lab.write("own.yaml", &twice);
    let said = lab.cassay(&["workload", "check", "own.yaml"]).ended_with(0);
    assert_eq!(
        said.stdout.matches("\nload, LOCAL_ONE: INSERT").count(),
        2,
        "{said}"
    );
    lab.write("own.yaml", &OWN.replace("v: text(20)", "v: txet(20)"));
    let said = lab.cassay(&["workload", "check", "own.yaml"]).ended_with(2);
    assert!(said.stderr.contains("own.yaml:5:"), "{said}");
}

/// A NoSQLBench workload file. It has a schema, writes rows with a map, and reads these rows.
const NB: &str = "\
scenarios:
  default:
    schema: run driver=cql tags==block:schema threads==1 cycles==UNDEF
    rampup: run driver=cql tags==block:rampup cycles===TEMPLATE(rampup-cycles,1M) threads=auto
    main: run driver=cql tags==block:main cycles=TEMPLATE(main-cycles,1M) errors=count,retry
bindings:
  id: Mod(50)
  names: MapSizedStepped(2, NumberNameToString(), ToInt())
blocks:
  schema:
    ops:
      keyspace: >-
        create keyspace nb with replication =
        {'class': 'SimpleStrategy', 'replication_factor': 1}
      make: create table if not exists nb.t (id bigint primary key, names map<text, int>)
  rampup:
    ops:
      put: {stmt: 'insert into nb.t (id, names) values ({id}, {names})', instrument: true}
  main:
    params: {cl: LOCAL_QUORUM, timeout: 0.5}
    ops:
      get: select * from nb.t where id = {id}
";

#[test]
fn nosqlbench_s_lines_run_by_scenario_by_step_and_by_themselves() {
    let lab = Lab::new();
    lab.write("w.yaml", NB);
    let trials = |words: &[&str]| {
        let said = on_null(&lab, &[words, &["--json"]].concat()).measured(&lab);
        let operations = said.json()["trials"].as_array().map(|trials| {
            let one = |trial: &serde_json::Value| trial["ops_total"].as_u64();
            trials.iter().map(one).collect::<Vec<_>>()
        });
        (operations.unwrap_or_default(), said.stderr)
    };
    let cycles = [
        "rampup-cycles=300",
        "main-cycles=0..200",
        "hosts=absent",
        "localdc=dc1",
    ];
    let (operations, notes) = trials(&[&["nb", "w"][..], &cycles].concat());
    assert_eq!(operations, [Some(300), Some(200)]);
    assert!(notes.contains("w.yaml:18: instrument: true"), "{notes}");
    let (operations, _) = trials(&["nb", "w.yaml", "default.schema", "--progress", "console:1s"]);
    assert_eq!(operations, [Some(2)]);
    let schema = ["nb", "run", "driver=cql", "workload=w", "tags=block:schema"];
    let line = ["run", "workload=w", "tags=block:main", "cycles=1k..2k"];
    assert_eq!(trials(&[&schema[..], &line].concat()).0, [Some(1000)]);
    let built_in = [
        "nb",
        "cql-keyvalue",
        "rampup-cycles=100",
        "main-cycles=90",
        "threads=2",
    ];
    assert_eq!(trials(&built_in).0, [Some(100), Some(90)]);
    let said = lab.cassay(&["nb", "--list-workloads"]).ended_with(0);
    assert!(said.stdout.contains("cql-tabular: rows of text"), "{said}");
}
