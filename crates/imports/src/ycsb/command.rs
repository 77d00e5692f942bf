//! Parses YCSB's command line: `load|run [binding] -P file -p name=value -threads n -target n -s`.

use super::properties::Properties;
use crate::import_result::{ReadFile, Tool};
use yaml::{Diagnostics, Place, did_you_mean};

/// Phase of YCSB that the command line runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Phase that inserts the rows.
    Load,
    /// Phase that executes the operations of the mix.
    Run,
}

/// Content of the command line apart from the properties.
pub(super) struct Command {
    pub(super) phase: Phase,
    pub(super) notes: Vec<String>,
}

/// Options with a value that have no effect in cassay.
const WITHOUT_EFFECT: &[&str] = &["-l", "-label", "-cp", "-jvm-args", "-classpath"];

/// Returns true if a word contains an option without effect together with its value, as in
/// `-jvm-args=-Xmx4g`.
fn is_idle(word: &str) -> bool {
    let option = word.split_once('=').map(|(option, _)| option);
    option.is_some_and(|option| WITHOUT_EFFECT.contains(&option))
}

pub(super) fn parse(
    command_line: &[String],
    read: ReadFile,
) -> Result<(Command, Properties), Diagnostics> {
    let words = Tool::Ycsb.own_words(command_line);
    let mut reader = Reader::new(words);
    let mut index = 0;
    while index < words.len() {
        index += reader.take(index);
    }
    let mut properties = reader.properties;
    let mut lost = false;
    for (index, file) in reader.files {
        match read(file) {
            Ok(text) => properties.file(file, &text),
            Err(message) => {
                lost = true;
                properties.out.add(&reader.places[index], message, None);
            }
        }
    }
    for (index, key, value) in reader.set {
        properties.set(key, value, reader.places[index].span.clone());
    }
    let Some(phase) = reader.phase else {
        let hint = "cassay ycsb load -P workloads/workloada".to_owned();
        let message = "the first word must be load or run";
        // If the phase is missing, the other words cannot be interpreted, so the parser reports
        // only this mistake.
        let place = reader.places.first().cloned().unwrap_or_default();
        let mut out = Properties::new(words.join(" ")).out;
        out.add(&place, message, Some(hint));
        return Err(out);
    };
    if lost {
        // If a file cannot be read, the parser stops, because the properties in the file would be
        // reported as missing.
        return Err(properties.out);
    }
    let notes = reader.notes;
    Ok((Command { phase, notes }, properties))
}

struct Reader<'a> {
    words: &'a [String],
    places: Vec<Place>,
    properties: Properties,
    phase: Option<Phase>,
    /// Files of properties, each with the index of its word.
    files: Vec<(usize, &'a str)>,
    set: Vec<(usize, &'a str, &'a str)>,
    notes: Vec<String>,
}

impl<'a> Reader<'a> {
    fn new(words: &'a [String]) -> Reader<'a> {
        let mut at = 0;
        let place = |word: &String| {
            let span = at..at + word.len();
            at = span.end + 1;
            Place { source: 0, span }
        };
        Reader {
            words,
            places: words.iter().map(place).collect(),
            properties: Properties::new(words.join(" ")),
            phase: None,
            files: Vec::new(),
            set: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn wrong(&mut self, index: usize, message: String, hint: Option<String>) {
        self.properties.out.add(&self.places[index], message, hint);
    }

    /// Parses the word at `index`. If the word is an option with a value, also parses the value.
    /// Returns the number of words that it has parsed.
    fn take(&mut self, index: usize) -> usize {
        let word = self.words[index].as_str();
        let value = self.words.get(index + 1).map(String::as_str);
        match (word, value) {
            ("load" | "-load", _) => self.phase = Some(Phase::Load),
            ("run" | "-t", _) => self.phase = Some(Phase::Run),
            ("-s", _) => {}
            (option, _) if is_idle(option) => self.idle(option),
            (option, Some(value)) if self.takes(index, option, value) => return 2,
            (option, None) if option.starts_with('-') => {
                self.wrong(index, format!("{option} needs a value"), None);
            }
            (binding, _) if self.is_binding(index) => {
                if !binding.starts_with("cassandra") {
                    let hint = "write cassandra-cql, or omit the binding".to_owned();
                    let message = format!("binding {binding} is not a binding for Cassandra");
                    self.wrong(index, message, Some(hint));
                }
            }
            (other, _) => {
                let known = ["load", "run", "-P", "-p", "-s", "-threads", "-target"];
                let hint = did_you_mean(other, known);
                self.wrong(index, format!("cassay does not understand `{other}`"), hint);
            }
        }
        1
    }

    /// Returns true if the word is the binding, which is the name after `load` or `run`.
    fn is_binding(&self, index: usize) -> bool {
        let before = index.checked_sub(1).map(|at| self.words[at].as_str());
        matches!(before, Some("load" | "run")) && !self.words[index].starts_with('-')
    }

    fn idle(&mut self, option: &str) {
        let name = option.split('=').next().unwrap_or(option);
        let note = format!("{name} has no effect in cassay");
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Parses an option with a value. Returns false if the word is not such an option.
    fn takes(&mut self, index: usize, option: &str, value: &'a str) -> bool {
        let at = index + 1;
        match option {
            "-P" => self.files.push((at, value)),
            "-p" => match value.split_once('=') {
                Some((key, value)) => self.set.push((at, key, value)),
                None => self.wrong(
                    at,
                    format!("`{value}` does not have the form name=value"),
                    None,
                ),
            },
            "-threads" => self.set.push((at, "threadcount", value)),
            "-target" => self.set.push((at, "target", value)),
            "-db" => {
                if !value.to_lowercase().contains("cassandra") {
                    let hint = "omit -db".to_owned();
                    let message = format!("-db {value} is not a binding for Cassandra");
                    self.wrong(at, message, Some(hint));
                }
            }
            _ if WITHOUT_EFFECT.contains(&option) => self.idle(option),
            _ => return false,
        }
        true
    }
}
