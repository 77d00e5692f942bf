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
    let mut properties = Properties::new(words.join(" "));
    let mut spans = Vec::new();
    let mut at = 0;
    for word in words {
        spans.push(at..at + word.len());
        at += word.len() + 1;
    }
    let place = |index: usize| Place {
        source: 0,
        span: spans.get(index).cloned().unwrap_or(at..at),
    };
    let mut phase = None;
    let mut files = Vec::new();
    let mut set = Vec::new();
    let mut notes = Vec::new();
    let mut index = 0;
    while index < words.len() {
        let word = words[index].as_str();
        let value = words.get(index + 1).map(String::as_str);
        let mut takes_value = true;
        match (word, value) {
            ("load" | "-load", _) => {
                phase = Some(Phase::Load);
                takes_value = false;
            }
            ("run" | "-t", _) => {
                phase = Some(Phase::Run);
                takes_value = false;
            }
            ("-s", _) => takes_value = false,
            ("-P", Some(file)) => files.push((index + 1, file)),
            ("-p", Some(pair)) => match pair.split_once('=') {
                Some((key, value)) => set.push((key, value, index + 1)),
                None => {
                    let message = format!("`{pair}` is not name=value");
                    properties.out.add(&place(index + 1), message, None);
                }
            },
            ("-threads", Some(count)) => set.push(("threadcount", count, index + 1)),
            ("-target", Some(rate)) => set.push(("target", rate, index + 1)),
            ("-db", Some(_)) => {}
            (option, Some(_)) if WITHOUT_EFFECT.contains(&option) => {
                notes.push(format!("{option} has no effect here"));
            }
            (binding, _) if index == 1 && !binding.starts_with('-') => {
                takes_value = false;
                if !binding.starts_with("cassandra") {
                    let message = format!("binding {binding} is not Cassandra's");
                    let hint = "write cassandra-cql, or nothing".to_owned();
                    properties.out.add(&place(index), message, Some(hint));
                }
            }
            (option, None) if option.starts_with('-') => {
                let message = format!("{option} needs a value");
                properties.out.add(&place(index), message, None);
            }
            (other, _) => {
                takes_value = false;
                let known = ["load", "run", "-P", "-p", "-s", "-threads", "-target"];
                let message = format!("`{other}` is not understood");
                properties
                    .out
                    .add(&place(index), message, did_you_mean(other, known));
            }
        }
        index += 1 + usize::from(takes_value);
    }
    for (index, file) in files {
        match read(file) {
            Ok(text) => properties.file(file, &text),
            Err(message) => properties.out.add(&place(index), message, None),
        }
    }
    for (key, value, index) in set {
        properties.set(key, value, spans[index].clone());
    }
    let Some(phase) = phase else {
        let hint = "cassay ycsb load -P workloads/workloada".to_owned();
        let message = "the first word must be load or run";
        properties.out.add(&place(0), message, Some(hint));
        return Err(properties.out);
    };
    Ok((Command { phase, notes }, properties))
}
