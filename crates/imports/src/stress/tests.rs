//! Compares command lines with the settings that cassandra-stress 3.11.4 lists for the same words.

use core::time::Duration;

use super::*;
use cql::{Compression, Consistency};
use workload::BatchKind;

fn parse(line: &str) -> Result<Command, yaml::Diagnostics> {
    Command::parse(&[line.to_owned()])
}

fn run(line: &str) -> Run {
    match parse(line).map(|command| command.task) {
        Ok(Task::Run(run)) => *run,
        other => panic!("{line}: {other:?}"),
    }
}

fn sequence(last: u64, wrap: bool) -> Seeds {
    Seeds::Sequence {
        first: 1,
        last,
        wrap,
        lookback: None,
    }
}

#[test]
fn absent_options_have_the_defaults_of_the_tool() {
    let run = run("write n=10");
    assert_eq!(run.limit, Limit::Operations(10));
    assert!(run.warmup);
    assert_eq!(run.truncate, Truncate::Never);
    assert_eq!(run.consistency, Consistency::LocalOne);
    assert_eq!(run.key_bytes, 10);
    assert_eq!(run.add.text, "fixed(1)");
    assert_eq!(run.clustering.text, "gaussian(1..10)");
    let options = run.options;
    assert_eq!(options.population.seeds, sequence(10, true));
    assert_eq!(options.population.order, Order::Arbitrary);
    assert_eq!(options.insert.revisit.text, "uniform(1..1M)");
    assert_eq!(options.insert.visits.text, "fixed(1)");
    assert_eq!(options.insert.batch, None);
    assert_eq!(options.columns.names, ["C0", "C1", "C2", "C3", "C4"]);
    assert_eq!(options.columns.size.text, "FIXED(34)");
    assert_eq!(options.columns.count.text, "FIXED(5)");
    assert!(!options.columns.slice);
    let threads = Rate::Threads {
        threads: 200,
        pace: Pace::Free,
    };
    assert_eq!(options.rate, threads);
    assert!(!options.errors.ignore);
    assert!(options.connect.nodes.is_empty());
    assert_eq!(options.connect.style, Style::Prepared);
    assert_eq!(options.schema.keyspace, "keyspace1");
    assert_eq!(options.output.interval, Duration::from_secs(1));
    assert_eq!(options.output.level, Verbosity::Normal);
    assert_eq!(options.output.token_range_split, 1);
}

#[test]
fn seeds_and_threads_follow_from_the_command_and_its_count() {
    let auto = |from, to, auto| Rate::Ladder { from, to, auto };
    let drawn = |text: &str| Seeds::Drawn(WrittenDistribution::default_of(text));
    let threads = |threads, pace| Rate::Threads { threads, pace };
    for (line, seeds, rate) in [
        (
            "write duration=5m -rate threads>=8 threads<=20",
            sequence(1_000_000, true),
            auto(8, 20, false),
        ),
        (
            "read -rate threads=10 throttle=500/s",
            drawn("gaussian(1..1000000)"),
            threads(10, Pace::Throttle(500)),
        ),
        (
            "mixed ratio(read=3) n=1k -pop contents=sorted",
            drawn("gaussian(1..1000)"),
            auto(4, 1000, true),
        ),
        ("write n=0", sequence(1_000_000, true), auto(4, 1000, true)),
        (
            "counteradd n=1M -pop seq=1...1M no-wrap",
            sequence(1_000_000, false),
            threads(200, Pace::Free),
        ),
        (
            "user profile=a.yaml ops(insert=1) n=7 -rate threads=5 fixed=9/s",
            sequence(7, true),
            threads(5, Pace::Fixed(9)),
        ),
        (
            "user profile=a.yaml ops(insert=1,q=2) n=7 -rate auto",
            drawn("gaussian(1..7)"),
            auto(4, 1000, true),
        ),
        (
            "write n=7 -pop contents=shuffled -rate threads=1 fixed=0/s",
            drawn("gaussian(1..7)"),
            threads(1, Pace::Free),
        ),
    ] {
        let options = run(line).options;
        assert_eq!(options.population.seeds, seeds, "{line}");
        assert_eq!(options.rate, rate, "{line}");
    }
}

#[test]
fn every_option_takes_its_parameters() {
    let run = run(
        "counter_write n=5 cl=quorum serial-cl=local_serial truncate=ALWAYS no-warmup \
         keysize=20 add=uniform(1..3) -col n=uniform(1..12) size=fixed(3) slice timestamp=5 \
         -insert revisit=fixed(3) visits=fixed(2) batchtype=unlogged select-ratio=fixed(1)/2 \
         -errors retries=0 ignore skip-read-validation -schema keyspace=ks \
         replication(strategy=NetworkTopologyStrategy,dc1=3) compression=LZ4Compressor \
         compaction(strategy=LeveledCompactionStrategy,sstable_size_in_mb=5) \
         -mode native cql3 unprepared user=u password=secret compression=lz4 connectionsPerHost=3 \
         -node 10.0.0.1,10.0.0.2:9043 whitelist datacenter=dc1 -port native=9142 jmx=1 \
         -transport truststore=a truststore-password=b -log interval=500ms level=verbose \
         hdrfile=h no-settings -graph file=x.html -tokenrange wrap split-factor=3",
    );
    assert_eq!(run.consistency, Consistency::Quorum);
    assert_eq!(run.serial_consistency, Some(Consistency::LocalSerial));
    assert_eq!(
        (run.truncate, run.warmup, run.key_bytes),
        (Truncate::Always, false, 20)
    );
    let Options {
        insert,
        columns,
        errors,
        schema,
        connect,
        output,
        ..
    } = run.options;
    let sorted = [
        "C0", "C1", "C10", "C11", "C2", "C3", "C4", "C5", "C6", "C7", "C8", "C9",
    ];
    assert_eq!(columns.names, sorted);
    assert_eq!((columns.slice, columns.timestamp), (true, Some(5)));
    assert_eq!(insert.batch, Some(BatchKind::Unlogged));
    assert_eq!(
        insert.select.map(|ratio| ratio.text),
        Some("fixed(1)/2".to_owned())
    );
    assert_eq!(errors.retries, Some(0), "one try, not none");
    assert!(errors.ignore && errors.skip_read_validation);
    assert_eq!(schema.compression.as_deref(), Some("LZ4Compressor"));
    assert_eq!(
        schema.replication_options,
        [("dc1".to_owned(), "3".to_owned())]
    );
    assert_eq!(connect.style, Style::Unprepared);
    assert_eq!(
        connect.password.as_ref().map(|p| p.reveal().to_owned()).as_deref(),
        Some("secret")
    );
    assert_eq!(connect.compression, Some(Compression::Lz4));
    assert_eq!(connect.nodes, ["10.0.0.1", "10.0.0.2:9043"]);
    assert_eq!((connect.port, connect.tls), (Some(9142), true));
    assert_eq!(connect.connections_per_node, Some(3));
    assert_eq!(connect.datacenter.as_deref(), Some("dc1"));
    assert_eq!(output.interval, Duration::from_millis(500));
    assert_eq!(output.hdr_file.as_deref(), Some("h"));
    assert_eq!(
        (output.token_range_split, output.token_range_wrap),
        (3, true)
    );
}

#[test]
fn words_may_be_written_in_either_case_and_with_their_aliases() {
    for (line, name) in [
        ("INSERT n=1", "write"),
        ("CounterGet N=1", "counter_read"),
        ("counteradd n=1 -RATE Threads=3", "counter_write"),
    ] {
        assert_eq!(run(line).verb.name(), name);
    }
    assert!(matches!(parse("-?").unwrap().task, Task::Help(None)));
    assert!(
        matches!(parse("help -RATE").unwrap().task, Task::Help(Some(topic)) if topic == "-rate")
    );
    let task = parse("print dist = exp(1..5)").unwrap().task;
    assert!(matches!(task, Task::Print(shape) if shape.text == "exp(1..5)"));
    assert!(matches!(parse("version").unwrap().task, Task::Version));
}

#[test]
fn only_the_shares_that_are_written_count() {
    let Verb::Mixed(weights) = run("mixed ratio(READ=3,write=0) n=1").verb else {
        panic!("mixed is mixed");
    };
    let weights: Vec<_> = weights.iter().map(|w| (w.name.as_str(), w.weight)).collect();
    assert_eq!(weights, [("read", 3.0)]);
    let Verb::User { profiles, ops } =
        run("user profile=a.yaml,b.yaml ops(x.insert=0.5, q1=2)").verb
    else {
        panic!("user is user");
    };
    assert_eq!(profiles, ["a.yaml", "b.yaml"]);
    assert_eq!((ops[0].name.as_str(), ops[0].weight), ("x.insert", 0.5));
}

/// A command line, the column of its first mistake, a part of the message, and a part of the hint.
type Mistake = (&'static str, usize, &'static str, &'static str);

const MISTAKES: &[Mistake] = &[
    ("", 1, "the command is missing", "begin with"),
    ("wirte n=5", 1, "command `wirte` does not exist", "`write`"),
    ("-rate threads=5", 1, "write the command first", ""),
    ("legacy", 1, "before 2.1", "write n=1m"),
    ("write n=1.5", 9, "n: `1.5`", ""),
    ("write n=5 n=6", 11, "second time", "remove one"),
    (
        "write n=5 duration=5s",
        11,
        "exclude each other",
        "remove one",
    ),
    ("write x=5", 7, "no parameter `x`", "known here"),
    ("read err<1", 10, "`1` is not a fraction", "0.02"),
    ("read n>300 n<20", 12, "more intervals", "raise"),
    ("write cl=foo", 10, "foo", "LOCAL_ONE"),
    ("write serial-cl=ONE", 17, "not serial", "SERIAL"),
    ("write n", 7, "does not have the required form", "`n=…`"),
    (
        "write -poop dist=fixed(1)",
        7,
        "option `-poop` does not exist",
        "`-pop`",
    ),
    ("write -pop no-wrap", 7, "need `seq=`", "seq=1..1000000"),
    ("write -pop dist=unifrom(1..5)", 17, "`unifrom`", ""),
    ("write -pop seq=10..1", 16, "above its end", ""),
    (
        "write -pop seq=1..5 dist=fixed(1)",
        21,
        "exclude",
        "remove one",
    ),
    (
        "write -rate throttle=5/s",
        7,
        "requires `threads=`",
        "threads=50",
    ),
    ("write -rate threads=0", 21, "not between 1", ""),
    (
        "write -rate threads=5 fixed=5/s throttle=5/s",
        23,
        "exclude",
        "fixed=",
    ),
    ("write -rate threads=5 -rate auto", 23, "second time", ""),
    (
        "write -rate thread=5",
        13,
        "no parameter `thread`",
        "threads",
    ),
    (
        "mixed ratio(read=0)",
        7,
        "no operation has a share",
        "read=1",
    ),
    ("mixed ratio(raed=1)", 13, "`raed`", "`read`"),
    ("mixed ratio(read=1", 7, "is not closed", "`)`"),
    ("mixed ratio(read)", 13, "not have the form name=value", ""),
    ("user n=5", 1, "requires `profile=`", "yaml"),
    (
        "user profile=a ops(insert=1) -schema keyspace=x",
        30,
        "not for `user`",
        "profile",
    ),
    ("write -sendto host", 7, "daemon", ""),
    ("write -mode thrift", 13, "`thrift`", ""),
    ("write -mode compression=zstd", 25, "lz4, snappy", "none"),
    ("write -mode user=x", 13, "belong together", "both"),
    (
        "write -mode auth-provider=com.x.Y",
        13,
        "Java class",
        "omit the authenticator",
    ),
    ("write -errors retries=-1", 23, "retries: `-1`", "9"),
    (
        "write -rate threads=5 duration=5m",
        23,
        "`-rate` has no parameter `duration`",
        "before the first option",
    ),
    ("write -log interval=0", 21, "greater than zero", "1s"),
    ("write -node a b", 15, "second list", "commas"),
    ("write -port native=0", 20, "between 1 and 65535", "9042"),
    ("write -graph title=x", 7, "requires `file=`", ""),
    (
        "write -schema keyspace=a-b",
        24,
        "not a valid keyspace name",
        "",
    ),
    (
        "write -schema compaction(a=b)",
        15,
        "requires `strategy=`",
        "Leveled",
    ),
    ("help -rat", 6, "no help on `-rat`", "`-rate`"),
    ("print", 1, "requires `dist=`", "uniform"),
];

#[test]
fn each_mistake_says_where_it_is_and_what_to_write() {
    for &(line, column, message, hint) in MISTAKES {
        let error = parse(line).expect_err(line);
        let mistake = error.list.first().expect("a mistake");
        let said = format!("{line}\n{error}");
        assert_eq!(mistake.column, column, "{said}");
        assert!(mistake.message.contains(message), "{said}");
        assert!(
            mistake.hint.as_deref().unwrap_or("").contains(hint),
            "{said}"
        );
        assert_eq!(error.sources[0].name, "command line");
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let error = parse("write n=x cl=foo -rate threads=0 -pop seq=1 -foo").expect_err("mistakes");
    let columns: Vec<usize> = error.list.iter().map(|mistake| mistake.column).collect();
    assert_eq!(columns, [9, 14, 32, 43, 45], "{error}");
}

#[test]
fn no_debug_text_and_no_mistake_shows_a_password() {
    for line in [
        "read -mode user=u password=hunter2",
        "read -mode user=u password = hunter2 -foo",
        "read -mode passwrod=hunter2",
        "read password=hunter2",
        "read -transport keystore-password=hunter2 truststore=t",
        "read -mode password=hunter2",
    ] {
        let shown = match parse(line) {
            Ok(command) => format!("{command:?}"),
            Err(error) => format!("{error} {error:?}"),
        };
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn an_option_without_effect_leaves_a_note() {
    let notes = |line: &str| run(line).notes.join("\n");
    for (line, part) in [
        ("read", "9 times"),
        ("read -mode maxPending=5", "`-rate`"),
        ("read -graph file=x", "-graph"),
        ("read -port jmx=7199", "-port jmx="),
        ("read -col comparator=AsciiType", "comparator"),
        ("read -jmx user=a", "-jmx"),
        ("read -errors delay-policy=linear", "delay-policy"),
        ("read -errors retries=999", "at most 255 times"),
        ("read -graph file=x title=A B", "-graph"),
    ] {
        assert!(notes(line).contains(part), "{line}: {}", notes(line));
    }
    assert_eq!(notes("read -errors retries=9"), "");
}
