//! The list of settings that cassandra-stress prints before a run, with the settings that cassay
//! supports.

use imports::stress::{Command, Limit, Options, Pace, Rate, Seeds, Style, Task};
use report::compat::stress::Settings;

/// Returns true if a command line requests the summary, which is the default.
pub fn has_summary(words: &[String]) -> bool {
    match Command::parse(words).map(|command| command.task) {
        Ok(Task::Run(run)) => !run.options.output.no_summary,
        _ => true,
    }
}

/// Returns the settings that a command line requests. Empty if the command line does not request
/// the list.
pub fn from_words(words: &[String]) -> Settings {
    let Ok(Command {
        task: Task::Run(run),
        ..
    }) = Command::parse(words)
    else {
        return Vec::new();
    };
    let options = &run.options;
    if options.output.no_settings {
        return Vec::new();
    }
    let (count, duration, target) = match run.limit {
        Limit::Operations(count) => (
            measure::number::count(count),
            None,
            "not applicable".to_owned(),
        ),
        Limit::Duration(length) => {
            let seconds = format!("{} SECONDS", length.as_secs());
            ("-1".to_owned(), Some(seconds), "not applicable".to_owned())
        }
        Limit::Uncertainty { target, .. } => ("-1".to_owned(), None, format!("{target:.3}")),
    };
    let mut command = vec![("Type", run.verb.name().to_owned()), ("Count", count)];
    command.extend(duration.map(|duration| ("Duration", duration)));
    command.extend([
        ("No Warmup", (!run.warmup).to_string()),
        ("Consistency Level", run.consistency.to_string()),
        ("Target Uncertainty", target),
        ("Key Size (bytes)", run.key_bytes.to_string()),
    ]);
    vec![
        ("Command", command),
        ("Rate", rate(&options.rate)),
        ("Population", population(options)),
        ("Mode", mode(options)),
        ("Node", nodes(options)),
        ("Schema", schema(options)),
        (
            "Port",
            vec![(
                "Native Port",
                options.connect.port.unwrap_or(9042).to_string(),
            )],
        ),
    ]
}

type Rows = Vec<(&'static str, String)>;

fn or_null(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}

fn rate(rate: &Rate) -> Rows {
    match rate {
        Rate::Threads { threads, pace } => {
            let per_second = match pace {
                Pace::Free => 0,
                Pace::Throttle(per_second) | Pace::Fixed(per_second) => *per_second,
            };
            vec![
                ("Auto", "false".to_owned()),
                ("Thread Count", threads.to_string()),
                ("OpsPer Sec", per_second.to_string()),
            ]
        }
        Rate::Ladder { from, to, .. } => vec![
            ("Auto", "true".to_owned()),
            ("Min Threads", from.to_string()),
            ("Max Threads", to.to_string()),
        ],
    }
}

fn population(options: &Options) -> Rows {
    match &options.population.seeds {
        Seeds::Sequence {
            first, last, wrap, ..
        } => vec![
            ("Sequence", format!("{first}..{last}")),
            ("Wrap", wrap.to_string()),
        ],
        Seeds::Drawn(spelled) => vec![("Distribution", spelled.text.clone())],
    }
}

fn mode(options: &Options) -> Rows {
    let connect = &options.connect;
    let style = match connect.style {
        Style::Prepared => "CQL_PREPARED",
        Style::Unprepared => "CQL",
    };
    let password = connect.password.as_ref().map(|_| "*suppressed*");
    let compression = connect.compression.map_or("NONE".to_owned(), |compression| {
        compression.name().to_uppercase()
    });
    vec![
        ("API", "JAVA_DRIVER_NATIVE".to_owned()),
        ("Connection Style", style.to_owned()),
        ("CQL Version", "CQL3".to_owned()),
        ("Username", or_null(connect.user.as_ref())),
        ("Password", or_null(password)),
        (
            "Connections Per Host",
            connect.connections_per_node.unwrap_or(8).to_string(),
        ),
        ("Compression", compression),
    ]
}

fn nodes(options: &Options) -> Rows {
    let connect = &options.connect;
    let nodes = if connect.nodes.is_empty() {
        "localhost".to_owned()
    } else {
        connect.nodes.join(", ")
    };
    vec![
        ("Nodes", format!("[{nodes}]")),
        ("Datacenter", or_null(connect.datacenter.as_ref())),
    ]
}

fn schema(options: &Options) -> Rows {
    let schema = &options.schema;
    let pairs = |pairs: &[(String, String)]| {
        let pairs = pairs.iter().map(|(name, value)| format!("{name}={value}"));
        format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
    };
    vec![
        ("Keyspace", schema.keyspace.clone()),
        ("Replication Strategy", schema.replication.clone()),
        (
            "Replication Strategy Options",
            pairs(&schema.replication_options),
        ),
        ("Table Compression", or_null(schema.compression.as_ref())),
        (
            "Table Compaction Strategy",
            or_null(schema.compaction.as_ref()),
        ),
        (
            "Table Compaction Strategy Options",
            pairs(&schema.compaction_options),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::compat::stress;

    #[test]
    fn the_settings_that_parsers_read_are_listed_and_no_password_is() {
        let line = "write n=1000000 no-warmup cl=ONE -rate threads=4 -mode native cql3 user=u \
                    password=hunter2 -schema keyspace=ks -node a,b";
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let text = stress::settings(&from_words(&words));
        for row in [
            "******************** Stress Settings ********************\nCommand:\n",
            "  Type: write\n  Count: 1,000,000\n  No Warmup: true\n  Consistency Level: ONE\n",
            "Rate:\n  Auto: false\n  Thread Count: 4\n  OpsPer Sec: 0\n",
            "  Sequence: 1..1000000\n",
            "  Username: u\n  Password: *suppressed*\n",
            "Node:\n  Nodes: [a, b]\n  Datacenter: null\n",
            "Schema:\n  Keyspace: ks\n",
            "Port:\n  Native Port: 9042\n\n",
        ] {
            assert!(text.contains(row), "{row}{text}");
        }
        assert!(!text.contains("hunter2"));
        let silent = [&words[..], &["-log".to_owned(), "no-settings".to_owned()]].concat();
        assert_eq!(stress::settings(&from_words(&silent)), "");
        let anonymous = stress::settings(&from_words(&words[..2]));
        assert!(
            anonymous.contains("  Username: null\n  Password: null\n"),
            "{anonymous}"
        );
    }
}
