//! The text of a study: a template, with its gaps filled.

use super::template::Template;
use std::collections::BTreeMap;

/// Of what a study asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The server inside cassay.
    Null,
    /// A cluster on this machine.
    Local,
    /// A cluster at this address.
    Attach(String),
}

impl Place {
    /// Reads one as the command line has it.
    ///
    /// # Errors
    /// What can be written.
    pub fn parse(text: &str) -> Result<Place, String> {
        let address = text.strip_prefix("attach:").or(text.strip_prefix("attach ")).map(str::trim);
        match (text, address) {
            ("null", _) => Ok(Place::Null),
            ("local", _) => Ok(Place::Local),
            (_, Some(address)) if is_address(address) => Ok(Place::Attach(address.to_owned())),
            _ => Err("it is null, local or attach:HOST[:PORT]".to_owned()),
        }
    }

    /// What lines of templates call it.
    pub fn word(&self) -> &'static str {
        match self {
            Place::Null => "null",
            Place::Local => "local",
            Place::Attach(_) => "attach",
        }
    }

    /// Its section of a study called so.
    fn section(&self, name: &str) -> String {
        match self {
            Place::Null if name == "fault" => "\
# A server inside cassay that answers at once, but for 2 s of every 40 s: a fault that is known.
# Real nodes are broken with `--target local`.
target: {null: {latency: 200us, stall: {every: 40s, length: 2s}}}
"
            .to_owned(),
            Place::Null => "\
# A server inside cassay that answers at once: it measures the instrument, and shows what a study
# does before a cluster is there. `--target local` and `--target attach:HOST` run it elsewhere.
target: {null: {}}
"
            .to_owned(),
            Place::Local => format!(
                "\
# Real Cassandra on this machine, started and stopped by cassay.
target:
  local:
    nodes: {}
    heap: 1GiB
",
                if name == "fault" { 3 } else { 1 }
            ),
            Place::Attach(address) => format!(
                "\
# Your cluster: nothing is started or stopped there, and only what --allow names is changed.
target:
  attach:
    contact_points: ['{address}']
    # user: cassay
    # password: {{secret: db}}   # and on the command line: --secret db=file:PATH
    # datacenter: dc1            # only nodes of this one are asked
"
            ),
        }
    }

    /// The keyspace of a study called so: of its own where others have some.
    fn keyspace(&self, name: &str) -> String {
        match self {
            Place::Null => String::new(),
            Place::Local if name == "fault" => "keyspace: {replication: 3}\n".to_owned(),
            Place::Local => "keyspace: {replication: 1}\n".to_owned(),
            Place::Attach(_) => format!(
                "\
# Of its own, so that it meets nothing of yours. As many copies as your tables have:
# replication: {{dc1: 3}}
keyspace: {{name: {}, replication: 1}}
",
                keyspace_name(name)
            ),
        }
    }
}

/// The keyspace that a study called so makes on the clusters of others.
pub fn keyspace_name(study: &str) -> String {
    format!("cassay_{}", study.replace('-', "_"))
}

/// Whether it can stand between quotes: what else is wrong with it, the study's own check says.
fn is_address(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || ".:-_[]".contains(c))
}

/// The study.
pub fn filled(template: &Template, place: &Place, answers: &BTreeMap<&str, String>) -> String {
    let mut text = String::new();
    for line in template.text.lines() {
        match line {
            "<target>" => text += &format!("{}\n", place.section(template.name)),
            "<keyspace>" => text += &place.keyspace(template.name),
            _ => {
                if let Some(line) = of_place(line, place) {
                    text += &with_answers(line, answers);
                    text.push('\n');
                }
            }
        }
    }
    text
}

/// The line, if it is one of this target's.
fn of_place<'t>(line: &'t str, place: &Place) -> Option<&'t str> {
    let Some((words, rest)) = line.split_once('|') else {
        return Some(line);
    };
    let is_word = |word: &str| ["null", "local", "attach"].contains(&word);
    if !words.split(',').all(is_word) {
        return Some(line);
    }
    words.split(',').any(|word| word == place.word()).then_some(rest)
}

fn with_answers(line: &str, answers: &BTreeMap<&str, String>) -> String {
    answers.iter().fold(line.to_owned(), |line, (key, answer)| {
        line.replace(&format!("<{key}>"), answer)
    })
}
