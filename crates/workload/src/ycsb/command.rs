//! YCSB's command line: `load|run [binding] -P file -p name=value -threads n -target n -s`.

use super::properties::Properties;
use crate::import::ReadFile;
use yaml::{Diagnostics, Place, did_you_mean};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Rows are inserted.
    Load,
    /// Operations of the mix.
    Run,
}

/// What the words say besides properties.
pub(super) struct Command {
    pub(super) phase: Phase,
    pub(super) notes: Vec<String>,
}

/// Options with a value that have no effect here.
const WITHOUT_EFFECT: &[&str] = &["-l", "-label", "-cp", "-jvm-args", "-classpath"];

/// Reads the words, and the files that they name.
pub(super) fn parse(
    words: &[String],
    read: ReadFile,
) -> Result<(Command, Properties), Diagnostics> {
    let mut reader = Reader::new(words);
    let mut index = 0;
    while index < words.len() {
        index += reader.take(index);
    }
    let mut properties = reader.properties;
    for (index, file) in reader.files {
        match read(file) {
            Ok(text) => properties.file(file, &text),
            Err(message) => properties.out.add(&reader.places[index], message, None),
        }
    }
    for (index, key, value) in reader.set {
        properties.set(key, value, reader.places[index].span.clone());
    }
    let Some(phase) = reader.phase else {
        let hint = "cassay ycsb load -P workloads/workloada".to_owned();
        let message = "the first word must be load or run";
        let place = reader.places.first().cloned().unwrap_or_default();
        properties.out.add(&place, message, Some(hint));
        return Err(properties.out);
    };
    let notes = reader.notes;
    Ok((Command { phase, notes }, properties))
}

/// Reads word by word.
struct Reader<'a> {
    words: &'a [String],
    places: Vec<Place>,
    properties: Properties,
    phase: Option<Phase>,
    /// Files and properties with the index of their word.
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

    /// Takes the word at `index`, with its value if it has one; returns how many words these are.
    fn take(&mut self, index: usize) -> usize {
        let word = self.words[index].as_str();
        let value = self.words.get(index + 1).map(String::as_str);
        match (word, value) {
            ("load" | "-load", _) => self.phase = Some(Phase::Load),
            ("run" | "-t", _) => self.phase = Some(Phase::Run),
            ("-s", _) => {}
            (option, Some(value)) if self.takes(index, option, value) => return 2,
            (option, None) if option.starts_with('-') => {
                self.wrong(index, format!("{option} needs a value"), None);
            }
            (binding, _) if index == 1 && !binding.starts_with('-') => {
                if !binding.starts_with("cassandra") {
                    let hint = "write cassandra-cql, or nothing".to_owned();
                    let message = format!("binding {binding} is not Cassandra's");
                    self.wrong(index, message, Some(hint));
                }
            }
            (other, _) => {
                let known = ["load", "run", "-P", "-p", "-s", "-threads", "-target"];
                let hint = did_you_mean(other, known);
                self.wrong(index, format!("`{other}` is not understood"), hint);
            }
        }
        1
    }

    /// Takes an option that has a value; false if it is none.
    fn takes(&mut self, index: usize, option: &str, value: &'a str) -> bool {
        let at = index + 1;
        match option {
            "-P" => self.files.push((at, value)),
            "-p" => match value.split_once('=') {
                Some((key, value)) => self.set.push((at, key, value)),
                None => self.wrong(at, format!("`{value}` is not name=value"), None),
            },
            "-threads" => self.set.push((at, "threadcount", value)),
            "-target" => self.set.push((at, "target", value)),
            "-db" => {}
            _ if WITHOUT_EFFECT.contains(&option) => {
                self.notes.push(format!("{option} has no effect here"));
            }
            _ => return false,
        }
        true
    }
}
