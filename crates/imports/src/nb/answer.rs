//! Answers to options of NoSQLBench that only print information. Also contains cassay's versions of
//! the named workloads.

/// A named workload, which consists of its names, its description and its file.
type BuiltIn = (&'static [&'static str], &'static str, &'static str);

const BUILT_IN: [BuiltIn; 4] = [
    (
        &["cql-iot", "cql_iot"],
        "sensor readings, clustered by time within machine and sensor",
        include_str!("built_in/cql-iot.yaml"),
    ),
    (
        &[
            "cql-keyvalue",
            "cql_keyvalue",
            "cql-keyvalue2",
            "cql_keyvalue2",
        ],
        "a text value per text key",
        include_str!("built_in/cql-keyvalue.yaml"),
    ),
    (
        &["cql-tabular", "cql_tabular", "cql-tabular2", "cql_tabular2"],
        "rows of text in partitions that are written one after another",
        include_str!("built_in/cql-tabular.yaml"),
    ),
    (
        &[
            "cql-timeseries",
            "cql_timeseries",
            "cql-timeseries2",
            "cql_timeseries2",
        ],
        "the name of cql-iot in newer releases",
        include_str!("built_in/cql-iot.yaml"),
    ),
];

pub(super) fn names() -> [&'static str; 4] {
    BUILT_IN.map(|(names, ..)| names[0])
}

pub(super) fn built_in(name: &str) -> Option<(&'static str, &'static str)> {
    let name = name.trim_end_matches(".yaml");
    let name = name.rsplit('/').next().unwrap_or(name);
    let found = BUILT_IN.iter().find(|(names, ..)| names.contains(&name));
    found.map(|(names, _, text)| (names[0], *text))
}

/// Returns NoSQLBench's output for words that do not run a workload. Returns `None` if the words
/// run a workload.
pub fn answer(words: &[String]) -> Option<String> {
    let mut words = words.iter().map(String::as_str);
    let word = words.find(|word| ANSWERED.contains(word))?;
    let workloads = || BUILT_IN.iter().map(|(names, what, _)| (names[0], *what));
    Some(match word {
        "--list-workloads" => {
            let lines = workloads().map(|(name, what)| format!("{name}: {what}\n"));
            lines.collect::<String>() + "Any workload file: cassay nb FILE\n"
        }
        "--list-scenarios" => {
            let lines = workloads().map(|(name, _)| format!("{name} default\n"));
            lines.collect::<String>()
                + "A workload file lists its scenarios in the section scenarios\n"
        }
        "--list-drivers" | "--list-activity-types" => "cql (also cqld3 and cqld4)\n".to_owned(),
        "--version" => format!(
            "cassay {}, which reads workload files of NoSQLBench 4.15 to 5\n",
            env!("CARGO_PKG_VERSION")
        ),
        "--cat" => match words.next().map(|name| (name, built_in(name))) {
            Some((_, Some((_, text)))) => text.to_owned(),
            _ => format!("Write one of {} after --cat\n", names().join(", ")),
        },
        _ => USAGE.to_owned(),
    })
}

const ANSWERED: [&str; 9] = [
    "--list-workloads",
    "--list-scenarios",
    "--list-drivers",
    "--list-activity-types",
    "--version",
    "--cat",
    "--help",
    "-h",
    "help",
];

const USAGE: &str = "\
cassay nb FILE [SCENARIO[.STEP]…] [KEY=VALUE…]
cassay nb run driver=cql workload=FILE [tags=…] [cycles=…] [threads=…] [KEY=VALUE…]
cassay nb --list-workloads | --list-scenarios | --list-drivers | --cat NAME

FILE is a workload file of NoSQLBench, or one of its named workloads.
KEY is a template parameter of the file, such as rampup-cycles or keycount, or a setting:
  host, hosts, port, localdc, username, password, userfile, passfile, ssl
  cycles (10k, 1M, 0..100), recycles, threads (auto, 5x), async, cyclerate, striderate, seq
  cl, scl, timeout, errors, maxtries, page_size, maxpages, idempotent, speculative, compression
cassay reports a setting without effect in a note.
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import_result::StepLimit;

    fn ask(text: &str) -> Option<String> {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        answer(&words)
    }

    #[test]
    fn questions_are_answered_and_runs_are_not() {
        for (words, expected) in [
            (
                "--list-workloads",
                "cql-keyvalue: a text value per text key",
            ),
            ("--list-scenarios -v", "cql-iot default"),
            ("--list-drivers", "cqld4"),
            ("--version", "NoSQLBench 4.15 to 5"),
            ("--cat cql_tabular", "blocks:"),
            ("--cat", "Write one of cql-iot"),
            ("-h", "cassay nb FILE"),
        ] {
            let answer = ask(words).unwrap();
            assert!(answer.contains(expected), "{words}: {answer}");
        }
        assert_eq!(ask("cql-iot threads=5"), None);
    }

    #[test]
    fn named_workloads_run_without_a_file() {
        let read = |_: &str| Err("no such file".to_owned());
        for name in BUILT_IN.iter().flat_map(|(names, ..)| *names) {
            let words =
                [name, "rampup-cycles=10k", "main-cycles=0..500", "threads=7"].map(str::to_owned);
            let import = super::super::import(&words, &read).unwrap();
            let limits: Vec<StepLimit> = import.steps.iter().map(|step| step.limit).collect();
            let expected = [10_000, 500].map(StepLimit::Operations);
            assert_eq!(limits, expected, "{name}");
            let create = import.steps[0].before.len();
            assert_eq!(create, 2, "{name}: keyspace and table");
        }
    }
}
