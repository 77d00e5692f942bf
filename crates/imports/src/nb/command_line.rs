//! Parses the words of a NoSQLBench command line into the commands to run.
//!
//! cassay accepts the command lines that run workload files, and refuses other commands and options
//! by name. If a word has no effect in cassay, a note names the word.

use crate::Tool;

#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Words {
    pub(crate) commands: Vec<Command>,
    /// Notes on words that have no effect. Each note is a sentence.
    pub(crate) notes: Vec<String>,
}

/// A workload file, and the part of it to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) file: String,
    pub(crate) run: Run,
    /// The `key=value` words after the command.
    pub(crate) given: Vec<(String, String)>,
}

/// Part of a workload file to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Run {
    /// Scenarios of the file. Each entry is a name, or `scenario.step`.
    Scenarios(Vec<String>),
    /// A separate line, from the command `run` or `start`.
    Line,
}

/// Options of NoSQLBench without a value.
const FLAGS: [&str; 11] = [
    "show-stacktraces",
    "experimental",
    "enable-logged-metrics",
    "disable-logged-metrics",
    "enable-dedicated-verification-logging",
    "enable-chart",
    "use-nbio-cache",
    "disable-nbio-cache",
    "nbio-cache-force-update",
    "nbio-cache-no-verify",
    "docker-metrics",
];

/// Options of NoSQLBench with a value.
const OPTIONS: [&str; 45] = [
    "statedir",
    "include",
    "properties",
    "environment",
    "metrics-prefix",
    "annotate",
    "annotators",
    "annotate-labelspec",
    "metrics-labelspec",
    "labelspec",
    "set-labels",
    "add-labels",
    "add-label",
    "heartbeat-millis",
    "ansi",
    "maturity",
    "advisor",
    "hdr-digits",
    "session-name",
    "logs-dir",
    "workspaces-dir",
    "logs-max",
    "logs-level",
    "log-level-override",
    "report-interval",
    "report-graphite-to",
    "report-prompush-to",
    "report-csv-to",
    "report-sqlite-to",
    "report-summary-to",
    "prompush-apikeyfile",
    "graphite-log-level",
    "summary",
    "sqlite-histograms",
    "classic-histograms",
    "progress",
    "with-logging-pattern",
    "logging-pattern",
    "console-pattern",
    "logfile-pattern",
    "log-histograms",
    "log-histostats",
    "docker-metrics-at",
    "nbio-cache-dir",
    "nbio-cache-max-retries",
];

/// Options that make NoSQLBench do something other than run a workload. Each has the replacement in
/// cassay.
const REFUSED: [(&str, &str); 9] = [
    (
        "export-cycle-log",
        "write a range of cycles such as cycles=0..1M",
    ),
    (
        "import-cycle-log",
        "write a range of cycles such as cycles=0..1M",
    ),
    (
        "script-file",
        "cassay does not run scripts; name a workload file and a scenario",
    ),
    (
        "show-script",
        "cassay has no scripts; `cassay plan` shows what a study would do",
    ),
    (
        "compile-script",
        "cassay has no scripts; `cassay plan` shows what a study would do",
    ),
    (
        "copy",
        "named workloads are not files; `cassay workload show NAME` prints a workload",
    ),
    (
        "cat",
        "named workloads are not files; `cassay workload show NAME` prints a workload",
    ),
    (
        "argsfile",
        "write the arguments of the file on the command line",
    ),
    ("pin", "write the arguments of the file on the command line"),
];

/// Commands in scenarios of NoSQLBench that do not run a workload.
const COMMANDS: [&str; 10] = [
    "script",
    "fragment",
    "await",
    "stop",
    "forcestop",
    "waitmillis",
    "context",
    "java",
    "summary",
    "runapp",
];

pub(crate) fn parse(words: &[String]) -> Result<Words, String> {
    let mut out = Words::default();
    let mut words = Tool::Nb.own_words(words).iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        if let Some(option) = word.strip_prefix("--") {
            let value = words.peek().copied();
            if out.option(option, value)? {
                words.next();
            }
        } else if word.starts_with('-') {
            out.dash(word)?;
        } else if let Some((key, value)) = word.split_once('=') {
            out.setting(key, value)?;
        } else {
            out.plain(word)?;
        }
    }
    out.finish()
}

impl Words {
    /// Parses an option. Returns true if the next word is the value of the option.
    fn option(&mut self, option: &str, next: Option<&str>) -> Result<bool, String> {
        let (name, inline) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        if let Some((_, instead)) = REFUSED.iter().find(|(known, _)| *known == name) {
            return Err(format!("option --{name} does not exist: {instead}"));
        }
        let takes_value = OPTIONS.contains(&name);
        if !takes_value && !FLAGS.contains(&name) {
            let known = OPTIONS.iter().chain(&FLAGS).copied();
            let hint = yaml::near_name(name, known);
            let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
            return Err(format!("cassay does not support option --{name}{hint}"));
        }
        if takes_value && inline.or(next).is_none() {
            return Err(format!("option --{name} requires a value"));
        }
        self.notes.push(format!(
            "--{name} has no effect in cassay, which writes its own results, reports and logs"
        ));
        Ok(takes_value && inline.is_none())
    }

    fn dash(&mut self, word: &str) -> Result<(), String> {
        match word {
            "-v" | "-vv" | "-vvv" => {
                let note = format!("{word} has no effect: cassay writes its own logs");
                self.notes.push(note);
                Ok(())
            }
            _ => Err(format!("option {word} is unknown")),
        }
    }

    fn setting(&mut self, key: &str, value: &str) -> Result<(), String> {
        // `workload=FILE …` without a command runs the file.
        if self.commands.is_empty() {
            self.commands.push(Command::line());
        }
        let Some(command) = self.commands.last_mut() else {
            return Ok(());
        };
        if command.given.iter().any(|(known, _)| known == key) {
            return Err(format!("{key} occurs twice; omit one of the two"));
        }
        // In a file, `==` and `===` lock the settings of a scenario. On the command line, they act
        // like `=`.
        let value = value.trim_start_matches('=');
        command.given.push((key.to_owned(), value.to_owned()));
        Ok(())
    }

    fn plain(&mut self, word: &str) -> Result<(), String> {
        if word == "run" || word == "start" {
            if word == "start" {
                self.notes.push(START.to_owned());
            }
            self.commands.push(Command::line());
            return Ok(());
        }
        if COMMANDS.contains(&word.to_lowercase().as_str()) {
            return Err(format!(
                "cassay supports only run, start and the scenarios of a file, not the command \
                 {word}"
            ));
        }
        match self.commands.last_mut() {
            Some(Command {
                run: Run::Scenarios(names),
                given,
                ..
            }) if given.is_empty() => names.push(word.to_owned()),
            Some(Command { run: Run::Line, .. }) => {
                return Err(format!(
                    "`{word}` is not a setting of run, such as cycles=10k or tags=block:main"
                ));
            }
            Some(_) => {
                return Err(format!(
                    "`{word}` is after the settings, but scenarios come before them"
                ));
            }
            None => self.commands.push(Command {
                file: word.to_owned(),
                run: Run::Scenarios(Vec::new()),
                given: Vec::new(),
            }),
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Words, String> {
        if self.commands.is_empty() {
            return Err("write the name of the workload file first".to_owned());
        }
        for command in &mut self.commands {
            match &mut command.run {
                Run::Scenarios(names) if names.is_empty() => names.push("default".to_owned()),
                Run::Scenarios(_) => {}
                Run::Line => {
                    let stated = |key: &str| command.given.iter().find(|(k, _)| k == key);
                    let Some((_, file)) = stated("workload").or_else(|| stated("yaml")) else {
                        let has_statement =
                            ["op", "stmt", "statement"].iter().any(|key| stated(key).is_some());
                        return Err(if has_statement {
                            "op= requires a file: write the statement into a workload file and use \
                             workload=FILE"
                                .to_owned()
                        } else {
                            "use workload=FILE".to_owned()
                        });
                    };
                    command.file = file.clone();
                }
            }
        }
        Ok(self)
    }
}

/// Note on the difference between `start` in NoSQLBench and in cassay.
pub(crate) const START: &str = "in NoSQLBench, start runs activities in parallel; in cassay, they \
                                run one after the other, each with separate results";

impl Command {
    fn line() -> Command {
        Command {
            file: String::new(),
            run: Run::Line,
            given: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Words, String> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        parse(&words)
    }

    #[test]
    fn scenarios_and_lines_take_the_settings_behind_them() {
        let words = read(
            "nb5 a.yaml default.schema main x=1 hosts=h run workload=b tags=block:main \
             cycles==5 start yaml=c --progress console:1s -v",
        )
        .unwrap();
        let shown: Vec<(&str, Vec<&str>, usize)> = words
            .commands
            .iter()
            .map(|command| {
                let names = match &command.run {
                    Run::Scenarios(names) => names.iter().map(String::as_str).collect(),
                    Run::Line => vec![],
                };
                (command.file.as_str(), names, command.given.len())
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("a.yaml", vec!["default.schema", "main"], 2),
                ("b", vec![], 3),
                ("c", vec![], 1),
            ]
        );
        assert_eq!(words.commands[1].given[2], ("cycles".into(), "5".into()));
        assert_eq!(words.notes.len(), 3, "{:?}", words.notes);
    }

    #[test]
    fn a_file_alone_means_its_default_scenario() {
        let words = read("a.yaml threads=5").unwrap();
        let expected = Run::Scenarios(vec!["default".to_owned()]);
        assert_eq!(words.commands[0].run, expected);
        assert_eq!(read("workload=a").unwrap().commands[0].run, Run::Line);
    }

    #[test]
    fn words_without_a_meaning_are_refused_with_what_to_do() {
        for (text, expected) in [
            ("", "write the name of the workload file first"),
            ("run driver=cql", "use workload=FILE"),
            ("run op=select", "write the statement into a workload file"),
            ("run workload=a more", "`more` is not a setting of run"),
            ("a.yaml x=1 more", "`more` is after the settings"),
            ("a.yaml x=1 x=2", "x occurs twice"),
            ("a.yaml --progres 1s", "did you mean `progress`"),
            ("a.yaml --progress", "requires a value"),
            ("a.yaml --copy cql-iot", "named workloads are not files"),
            ("a.yaml -x", "option -x is unknown"),
            ("a.yaml waitmillis ms=5", "not the command waitmillis"),
        ] {
            let why = read(text).unwrap_err();
            assert!(why.contains(expected), "{text}: {why}");
        }
    }
}
