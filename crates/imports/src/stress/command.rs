//! Parses and checks a command line of cassandra-stress. This file parses the command, its target
//! and its length.
//!
//! The parser reads only the words, and reports every mistake with its column. An absent option has
//! the tool's default. The parser supports both spellings of options, that of 3.11 and that of
//! trunk.

use core::time::Duration;

use cql::Consistency;
use yaml::{Diagnostics, Place};

use super::argument_split::{Line, Word};
use super::argument_values::{self, WrittenDistribution};
use super::options::{self, Options};
use super::params::{KnownParam, Pair, Params, new};
use super::tables::{ANY, COMMON, MIXED, USER, VERBS};
use crate::Tool;

/// A parsed command line.
#[derive(Clone, Debug)]
pub struct Command {
    pub(crate) line: Line,
    /// Task that the command requests.
    pub task: Task,
}

/// Task of a command line.
#[derive(Clone, Debug)]
pub enum Task {
    /// Runs operations on a cluster.
    Run(Box<Run>),
    /// Prints an explanation. The explanation is about the named command or option, or about all of
    /// them.
    Help(Option<String>),
    /// Prints the shape of a distribution.
    Print(WrittenDistribution),
    /// Prints the version of cassandra-stress that cassay supports.
    Version,
}

/// A run of operations on a cluster.
#[derive(Clone, Debug)]
pub struct Run {
    /// Kind of the operations.
    pub verb: Verb,
    /// Limit that ends the run: a number of operations, a duration, or a small uncertainty.
    pub limit: Limit,
    /// True if warm-up operations run before the measured operations.
    pub warmup: bool,
    /// Point of the run at which the tables are truncated.
    pub truncate: Truncate,
    /// Consistency level of the operations. A profile may state another level.
    pub consistency: Consistency,
    /// True if the command line states the consistency level.
    pub consistency_written: bool,
    /// Serial consistency of conditional statements.
    pub serial_consistency: Option<Consistency>,
    /// Size of a key of the predefined tables, in bytes.
    pub key_bytes: u64,
    /// Amount that a counter update adds to each column.
    pub add: WrittenDistribution,
    /// Number of consecutive operations of one kind in `mixed` and `user`.
    pub clustering: WrittenDistribution,
    /// Options of the run, in the same order as in the tool.
    pub options: Options,
    /// Notes on words without effect. Each note is a sentence.
    pub(crate) notes: Vec<String>,
}

/// A command that runs operations.
#[derive(Clone, Debug, PartialEq)]
pub enum Verb {
    /// Reads the predefined table.
    Read,
    /// Writes to the predefined table.
    Write,
    /// Several kinds of operations on the predefined tables, with their shares.
    Mixed(Vec<Weight>),
    /// Updates the predefined counters.
    CounterWrite,
    /// Reads the predefined counters.
    CounterRead,
    /// Runs the operations of user profiles.
    User {
        /// Paths of the profiles.
        profiles: Vec<String>,
        /// The operations with their shares. The name of an operation is `name` or `spec.name`.
        ops: Vec<Weight>,
    },
}

impl Verb {
    /// Returns the name of the command in the tool.
    pub fn name(&self) -> &'static str {
        match self {
            Verb::Read => "read",
            Verb::Write => "write",
            Verb::Mixed(_) => "mixed",
            Verb::CounterWrite => "counter_write",
            Verb::CounterRead => "counter_read",
            Verb::User { .. } => "user",
        }
    }

    /// Returns true if the command only writes rows. The default of the seeds is then a sequence.
    pub(crate) fn only_inserts(&self) -> bool {
        match self {
            Verb::Write | Verb::CounterWrite => true,
            // This condition is the same as in the tool. The only operation must be `insert`,
            // without the name of a profile.
            Verb::User { ops, .. } => ops.len() == 1 && ops[0].name == "insert",
            Verb::Read | Verb::Mixed(_) | Verb::CounterRead => false,
        }
    }
}

/// An operation and its share.
#[derive(Clone, Debug, PartialEq)]
pub struct Weight {
    /// Name of the operation, as written on the command line.
    pub name: String,
    /// Share of the operation. The share is above 0.
    pub weight: f64,
    pub(crate) place: Place,
}

/// Limit that ends a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// A number of operations. With 0, the command only creates the schema.
    Operations(u64),
    /// A fixed duration.
    Duration(Duration),
    /// The run continues until the standard error of the mean rate is small.
    Uncertainty {
        /// Upper limit of the standard error, as a share of the mean.
        target: f64,
        /// Minimum number of intervals.
        min: u32,
        /// Maximum number of intervals.
        max: u32,
    },
}

/// Point of the run at which the tables are truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncate {
    /// Tables are never truncated.
    Never,
    /// Tables are truncated before the first run.
    Once,
    /// Tables are truncated before every number of threads of the ladder.
    Always,
}

/// All words with which a command line may begin, for suggestions.
const FIRST_WORDS: [&str; 9] = [
    "read",
    "write",
    "mixed",
    "counter_write",
    "counter_read",
    "user",
    "help",
    "print",
    "version",
];

/// Maximum size of a key in Cassandra, in bytes.
const KEY_BYTES_MAX: u64 = 65_535;

impl Command {
    /// Parses a command line of cassandra-stress.
    ///
    /// # Errors
    /// All mistakes, with their columns in the source `command line`. Secrets are masked.
    pub fn parse(words: &[String]) -> Result<Command, Diagnostics> {
        let line = Line::new(Tool::Stress.own_words(words));
        let mut diagnostics = line.diagnostics();
        let task = task(&line, &mut diagnostics);
        diagnostics.into_result()?;
        match task {
            Some(task) => Ok(Command { line, task }),
            None => Err(line.diagnostics()),
        }
    }
}

/// Parses the task of a command line. Returns `None` only if a mistake was reported.
fn task(line: &Line, diagnostics: &mut Diagnostics) -> Option<Task> {
    let Some((first, rest)) = line.words.split_first() else {
        let hint = format!("begin with one of: {}", FIRST_WORDS.join(", "));
        diagnostics.add(&line.end(), "the command is missing", Some(hint));
        return None;
    };
    let name = first.text.to_ascii_lowercase();
    match name.as_str() {
        "help" | "-?" | "-h" | "--help" => return help(rest, diagnostics),
        "print" => return print(first, rest, diagnostics),
        "version" => return Some(Task::Version),
        "legacy" => {
            let hint = "write the command in the form of cassandra-stress 2.1 and later, such as \
                        `write n=1m`";
            let message = "cassay does not support the options of cassandra-stress before 2.1";
            diagnostics.add(&first.place(), message, Some(hint.to_owned()));
            return None;
        }
        _ => {}
    }
    let verb = VERBS
        .iter()
        .find(|(verb, aliases)| *verb == name || aliases.contains(&name.as_str()));
    let Some((verb, _)) = verb else {
        let key = first.key();
        let message = if key.starts_with('-') {
            format!("write the command first, and options such as `{key}` after it")
        } else {
            format!("command `{key}` does not exist")
        };
        diagnostics.add(
            &first.place(),
            message,
            yaml::did_you_mean(key, FIRST_WORDS),
        );
        return None;
    };
    run(verb, first, rest, diagnostics).map(|run| Task::Run(Box::new(run)))
}

fn help(rest: &[Word], diagnostics: &mut Diagnostics) -> Option<Task> {
    let Some(topic) = rest.first() else {
        return Some(Task::Help(None));
    };
    let name = topic.text.to_ascii_lowercase();
    let topics = super::help::topics();
    if topics.contains(&name.as_str()) {
        return Some(Task::Help(Some(name)));
    }
    let message = format!("cassay has no help on `{}`", topic.key());
    diagnostics.add(
        &topic.place(),
        message,
        yaml::did_you_mean(topic.key(), topics),
    );
    None
}

fn print(first: &Word, rest: &[Word], diagnostics: &mut Diagnostics) -> Option<Task> {
    let table = [new("dist=", ANY, "", "A distribution")];
    let params = Params::read("print", first.place(), rest, &table, false, diagnostics);
    if !params.has("dist=") {
        let hint = Some("write for example print dist=uniform(1..10)".to_owned());
        diagnostics.add(&first.place(), "`print` requires `dist=`", hint);
    }
    params.distribution("dist=", diagnostics).map(Task::Print)
}

/// The options of a command line, each with the words that follow its name.
pub(crate) struct Groups<'a> {
    groups: Vec<(String, &'a Word, &'a [Word])>,
}

impl<'a> Groups<'a> {
    /// Returns the words of an option, and records that the parser knows the option.
    pub(crate) fn take(&mut self, name: &str) -> Option<(&'a Word, &'a [Word])> {
        let at = self.groups.iter().position(|(group, _, _)| group == name)?;
        let (_, word, rest) = self.groups.swap_remove(at);
        Some((word, rest))
    }

    fn split(words: &'a [Word], diagnostics: &mut Diagnostics) -> (&'a [Word], Groups<'a>) {
        let is_option = |word: &Word| word.text.starts_with('-');
        let first = words.iter().position(is_option).unwrap_or(words.len());
        let (own, mut rest) = words.split_at(first);
        let mut groups: Vec<(String, &Word, &[Word])> = Vec::new();
        while let Some((option, behind)) = rest.split_first() {
            let end = behind.iter().position(is_option).unwrap_or(behind.len());
            let name = option.text.to_ascii_lowercase();
            if groups.iter().any(|(group, _, _)| *group == name) {
                let message = format!("`{}` occurs a second time", option.key());
                let hint = "write all parameters after the first one".to_owned();
                diagnostics.add(&option.place(), message, Some(hint));
            } else {
                groups.push((name, option, &behind[..end]));
            }
            rest = &behind[end..];
        }
        (own, Groups { groups })
    }
}

fn run(verb: &'static str, first: &Word, rest: &[Word], d: &mut Diagnostics) -> Option<Run> {
    let (own, mut groups) = Groups::split(rest, d);
    let table: Vec<KnownParam> = match verb {
        "mixed" => COMMON.into_iter().chain(MIXED).collect(),
        "user" => COMMON.into_iter().chain(USER).collect(),
        _ => COMMON.to_vec(),
    };
    let params = Params::read(verb, first.place(), own, &table, false, d);
    let verb = verb_of(verb, &params, d);
    let limit = limit(&params, d);
    let mut notes = Vec::new();
    let options = options::read(&mut groups, &verb, limit, &mut notes, d);
    for (_, option, _) in groups.groups {
        let message = format!("option `{}` does not exist", option.key());
        let hint = yaml::did_you_mean(&option.text, options::NAMES);
        d.add(&option.place(), message, hint);
    }
    let truncate = |text: &str| match text.to_ascii_lowercase().as_str() {
        "never" => Ok(Truncate::Never),
        "once" => Ok(Truncate::Once),
        "always" => Ok(Truncate::Always),
        _ => Err(format!("`{text}` is not one of never, once, always")),
    };
    Some(Run {
        limit,
        warmup: !(params.has("no-warmup") || params.has("no_warmup")),
        truncate: params.value("truncate=", d, truncate).unwrap_or(Truncate::Never),
        consistency: params
            .value("cl=", d, argument_values::consistency)
            .unwrap_or(Consistency::LocalOne),
        consistency_written: params.has("cl="),
        serial_consistency: params.value("serial-cl=", d, argument_values::serial_consistency),
        key_bytes: key_bytes(&params, d),
        add: params
            .distribution("add=", d)
            .unwrap_or_else(|| WrittenDistribution::default_of("fixed(1)")),
        clustering: params
            .distribution("clustering=", d)
            .unwrap_or_else(|| WrittenDistribution::default_of("gaussian(1..10)")),
        verb,
        options,
        notes,
    })
}

fn key_bytes(params: &Params, d: &mut Diagnostics) -> u64 {
    let parse = |text: &str| argument_values::number(text, (1, KEY_BYTES_MAX));
    params.value("keysize=", d, parse).unwrap_or(10)
}

fn limit(params: &Params, d: &mut Diagnostics) -> Limit {
    if params.has("n=") {
        let count = params.value("n=", d, argument_values::count).unwrap_or(1);
        return Limit::Operations(count);
    }
    if params.has("duration=") {
        let time = params.value("duration=", d, argument_values::duration);
        return Limit::Duration(time.unwrap_or(Duration::from_secs(1)));
    }
    let intervals = |text: &str| argument_values::number(text, (1, 1_000_000)).map(|n| n as u32);
    let min = params.value("n>", d, intervals).unwrap_or(30);
    let max = params.value("n<", d, intervals).unwrap_or_else(|| min.max(200));
    if min > max {
        let message = format!("`n>{min}` requires more intervals than `n<{max}` allows");
        d.add(
            &params.place_of("n<"),
            message,
            Some("raise `n<`".to_owned()),
        );
    }
    let target = params.value("err<", d, argument_values::fraction).unwrap_or(0.02);
    Limit::Uncertainty { target, min, max }
}

fn verb_of(verb: &str, params: &Params, d: &mut Diagnostics) -> Verb {
    match verb {
        "read" => Verb::Read,
        "write" => Verb::Write,
        "counter_write" => Verb::CounterWrite,
        "counter_read" => Verb::CounterRead,
        "mixed" => Verb::Mixed(mixed(params, d)),
        _ => user(params, d),
    }
}

fn mixed(params: &Params, d: &mut Diagnostics) -> Vec<Weight> {
    const KINDS: [&str; 4] = ["read", "write", "counter_write", "counter_read"];
    let Some(pairs) = params.pairs("ratio(", d) else {
        let one = |name: &str| Weight {
            name: name.to_owned(),
            weight: 1.0,
            place: params.place.clone(),
        };
        return vec![one("read"), one("write")];
    };
    for pair in &pairs {
        if !KINDS.iter().any(|kind| pair.name.eq_ignore_ascii_case(kind)) {
            let message = format!("`ratio` has no operation `{}`", pair.name);
            d.add(&pair.place, message, yaml::did_you_mean(&pair.name, KINDS));
        }
    }
    let mut weights = weights("ratio", params, pairs, d);
    for weight in &mut weights {
        weight.name.make_ascii_lowercase();
    }
    weights
}

fn user(params: &Params, d: &mut Diagnostics) -> Verb {
    let profiles: Vec<String> = params
        .text("profile=")
        .map(|list| list.split(',').filter(|file| !file.is_empty()).map(str::to_owned).collect())
        .unwrap_or_default();
    if profiles.is_empty() {
        let hint = Some("write for example profile=cqlstress-example.yaml".to_owned());
        d.add(
            &params.place_of("profile="),
            "`user` requires `profile=` with a file",
            hint,
        );
    }
    if !params.has("ops(") {
        let hint = Some("write for example ops(insert=1), quoted for the shell".to_owned());
        d.add(
            &params.place,
            "`user` requires `ops(…)` with the share of each operation",
            hint,
        );
    }
    let ops = params
        .pairs("ops(", d)
        .map(|pairs| weights("ops", params, pairs, d))
        .unwrap_or_default();
    Verb::User { profiles, ops }
}

/// Returns the operations whose share is above 0. If none is above 0, reports an error.
fn weights(form: &str, params: &Params, pairs: Vec<Pair>, d: &mut Diagnostics) -> Vec<Weight> {
    let mut weights: Vec<Weight> = Vec::new();
    for pair in pairs {
        let digits = |c: char| c.is_ascii_digit() || c == '.';
        let weight = pair
            .value
            .parse::<f64>()
            .ok()
            .filter(|w| w.is_finite() && pair.value.chars().all(digits));
        let Some(weight) = weight else {
            let message = format!(
                "`{}` of `{}` in `{form}` is not a number",
                pair.value, pair.name
            );
            d.add(
                &pair.place,
                message,
                Some("write a share such as 1 or 0.5".to_owned()),
            );
            continue;
        };
        if weights.iter().any(|known| known.name == pair.name) {
            let message = format!("`{}` occurs in `{form}` a second time", pair.name);
            d.add(&pair.place, message, Some("add the two shares".to_owned()));
        } else if weight > 0.0 {
            let Pair { name, place, .. } = pair;
            weights.push(Weight {
                name,
                weight,
                place,
            });
        }
    }
    let place = params.place_of(&format!("{form}("));
    let mistaken = |mistake: &yaml::Diagnostic| place.span.contains(&mistake.place.span.start);
    if weights.is_empty() && !d.list.iter().any(mistaken) {
        let message = format!("in `{form}`, no operation has a share above 0");
        d.add(
            &place,
            message,
            Some(format!("write for example {form}(read=1)")),
        );
    }
    weights
}
