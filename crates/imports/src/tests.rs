//! Tests of behaviour that all tools share.

use super::{ImportStep, Tool, import};
use workload::Generator;

const CYCLES: &str = "
bindings: {id: 'ToString()'}
statements: [{insert: 'INSERT INTO ks.t (id) VALUES ({id})', tags: {phase: main}}]
";

fn step(tool: Tool, line: &str) -> ImportStep {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let read = |_: &str| Ok(CYCLES.to_owned());
    let mut import = import(tool, &words, 1, &read).unwrap_or_else(|why| panic!("{line}: {why}"));
    import.steps.remove(0)
}

/// A command line that the user has pasted begins with the tool's program, and means the same.
#[test]
fn the_program_of_the_tool_may_stand_before_its_words() {
    for (tool, programs, line) in [
        (
            Tool::Stress,
            &["cassandra-stress", "tools/bin/cassandra-stress"][..],
            "write n=9 -rate threads=2",
        ),
        (
            Tool::Nb,
            &["nb5", "./nb"],
            "run driver=cql workload=w tags=phase:main cycles=9",
        ),
        (
            Tool::Ycsb,
            &["bin/ycsb", "bin\\ycsb.bat"],
            "load -p recordcount=9",
        ),
        (
            Tool::Easy,
            &["bin/cassandra-easy-stress", "tlp-stress"],
            "run KeyValue -n 9",
        ),
    ] {
        let of = |line: &str| tokens(&step(tool, line), 0..9);
        for program in programs {
            assert_eq!(of(&format!("{program} {line}")), of(line), "{program}");
        }
    }
}

/// Returns the tokens of the operations' partitions.
fn tokens(step: &ImportStep, numbers: impl Iterator<Item = u64>) -> Vec<Option<i64>> {
    let mut generator = step.program.generator(step.stage);
    let token = |generator: &mut Generator, n: u64| {
        generator.begin(step.first_operation + n);
        generator.token()
    };
    numbers.map(|n| token(&mut generator, n)).collect()
}

/// Command lines of one client. Each has the command lines of three clients that share the same
/// work with 2, 1 and 1 workers.
const RANGES: [(Tool, &str, [&str; 3]); 5] = [
    (
        Tool::Stress,
        "write n=1000",
        [
            "write n=500 -pop seq=1..500",
            "write n=250 -pop seq=501..750",
            "write n=250 -pop seq=751..1000",
        ],
    ),
    (
        Tool::Stress,
        "read n=400 -pop seq=1001..2000",
        [
            "read n=200 -pop seq=1001..1500",
            "read n=100 -pop seq=1501..1750",
            "read n=100 -pop seq=1751..2000",
        ],
    ),
    (
        Tool::Nb,
        "run driver=cql workload=w tags=phase:main cycles=100..1100 threads=8",
        [
            "run driver=cql workload=w tags=phase:main cycles=100..600 threads=8",
            "run driver=cql workload=w tags=phase:main cycles=600..850 threads=8",
            "run driver=cql workload=w tags=phase:main cycles=850..1100 threads=8",
        ],
    ),
    (
        Tool::Nb,
        "run driver=cql workload=w tags=phase:main cycles=1000 recycles=2 threads=8",
        [
            "run driver=cql workload=w tags=phase:main cycles=0..500 recycles=2 threads=8",
            "run driver=cql workload=w tags=phase:main cycles=500..750 recycles=2 threads=8",
            "run driver=cql workload=w tags=phase:main cycles=750..1000 recycles=2 threads=8",
        ],
    ),
    (
        Tool::Ycsb,
        "load -p recordcount=1000 -p threadcount=8",
        [
            "load -p recordcount=1000 -p insertstart=0 -p insertcount=500",
            "load -p recordcount=1000 -p insertstart=500 -p insertcount=250",
            "load -p recordcount=1000 -p insertstart=750 -p insertcount=250",
        ],
    ),
];

#[test]
fn each_client_asks_as_the_tool_does_within_its_range() {
    for (tool, all, clients) in RANGES {
        let step = step(tool, all);
        let range = (step.first_operation, step.limit.operations());
        let program = step.program.in_ranges(step.stage, range, &[2, 1, 1]).expect(all);
        let split = ImportStep {
            program: program.into(),
            ..step
        };
        let count = split.limit.operations().expect(all);
        for (line, workers) in clients.into_iter().zip([[0, 1], [2, 2], [3, 3]]) {
            let own = (0..count).filter(|n| (workers[0]..=workers[1]).contains(&(n % 4)));
            let alone = self::step(tool, line);
            let expected = alone.limit.operations().expect(line);
            assert_eq!(
                tokens(&split, own),
                tokens(&alone, 0..expected),
                "{all}: {line}"
            );
        }
    }
}

#[test]
fn a_step_that_walks_through_no_range_cannot_be_split() {
    for (tool, line) in [
        (Tool::Stress, "read n=1000"),
        (
            Tool::Stress,
            "mixed n=1000 -pop seq=1..10 read-lookback=uniform(1..5)",
        ),
        (Tool::Ycsb, "run -p recordcount=1000 -p operationcount=10"),
        (Tool::Easy, "run KeyValue -n 1000"),
    ] {
        let step = step(tool, line);
        let range = (step.first_operation, step.limit.operations());
        let split = step.program.in_ranges(step.stage, range, &[1, 1]);
        assert!(split.is_none(), "{line}");
    }
}

/// Command lines with a planted word in place of a secret. Earlier versions showed the word in a
/// note, a mistake or the stored command line.
const PLANTED: [(Tool, &str); 15] = [
    (
        Tool::Stress,
        "write n=9 -mode native cql3 user=u password=planted",
    ),
    (Tool::Stress, "write n=9 -jmx password=planted"),
    (Tool::Stress, "write n=9 -jmx user=u password=planted"),
    (Tool::Stress, "write n=9 -node u:planted@h"),
    (Tool::Stress, "write n=9 -password planted"),
    (
        Tool::Nb,
        "run driver=cql workload=w tags=phase:main cycles=9 passwd=planted",
    ),
    (
        Tool::Nb,
        "run driver=cql workload=w tags=phase:main cycles=9 Password=planted",
    ),
    (
        Tool::Nb,
        "run driver=cql workload=w tags=phase:main cycles=9 token=planted",
    ),
    (
        Tool::Nb,
        "run driver=cql workload=w tags=phase:main cycles=9 hosts=u:planted@h",
    ),
    (
        Tool::Nb,
        "run driver=cql workload=w username=u password=planted bogus",
    ),
    (Tool::Ycsb, "load -p recordcount=9 -p password=planted"),
    (
        Tool::Ycsb,
        "load -p recordcount=9 -p javax.net.ssl.trustStorePassword=planted",
    ),
    (
        Tool::Ycsb,
        "load -p recordcount=9 -p cassandra.passwort:planted",
    ),
    (Tool::Ycsb, "load -p recordcount=9 -p hosts=u:planted@h"),
    (Tool::Easy, "run KeyValue -n 9 --passwd planted"),
];

#[test]
fn no_import_shows_a_password_in_notes_mistakes_or_words() {
    for (tool, line) in PLANTED {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let read = |_: &str| Ok(CYCLES.to_owned());
        let said = match import(tool, &words, 1, &read) {
            Ok(import) => {
                let password =
                    import.connection.password.as_ref().map_or("", super::Secret::reveal);
                let shown = tool.without_secrets(&words, password);
                assert!(import.connection.nodes.iter().all(|node| !node.contains('@')));
                // A study contains the words with masks, so the masks must stay as they are.
                assert_eq!(tool.without_secrets(&shown, "***"), shown, "{line}");
                format!("{} {}", import.notes.join(" "), shown.join(" "))
            }
            Err(mistakes) => {
                let masked = |one: &yaml::SourceText| yaml::MaskedSource::new(&one.text).text();
                let sources: String = mistakes.sources.iter().map(masked).collect();
                format!("{mistakes} {sources}")
            }
        };
        assert!(!said.contains("planted"), "{line}: {said}");
    }
}

/// cassay once stored the value of such a parameter as `***`. A resumed run would then have used
/// other values.
#[test]
fn a_template_parameter_named_like_a_secret_is_refused() {
    let file = CYCLES.replace("ToString()", "Template('TEMPLATE(token,a)')");
    let read = |_: &str| Ok(file.clone());
    let line = "run driver=cql workload=w tags=phase:main cycles=9 token=";
    for (value, refused) in [("planted", true), ("5", false)] {
        let words: Vec<String> = format!("{line}{value}").split(' ').map(str::to_owned).collect();
        let said = import(Tool::Nb, &words, 1, &read)
            .map_or_else(|why| why.to_string(), |_| String::new());
        assert_eq!(said.contains("rename the parameter"), refused, "{said}");
        assert!(!said.contains("planted"), "{said}");
    }
}
