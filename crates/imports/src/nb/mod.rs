//! Imports NoSQLBench's workload files, nb4 and nb5. This module converts a file and a scenario to
//! steps.
//!
//! Operation n is NoSQLBench's cycle n, and has the values that NoSQLBench generates for that
//! cycle.

mod answer;
mod command_line;
mod inline;
mod operation;
mod operations;
mod params;
mod places;
mod scenario;
mod statement;
mod step_builder;
mod tags;
mod template;
mod virtdata;
mod workload_file;

use std::collections::BTreeSet;

use crate::import_result::{Connection, Import, ImportStep, Offer, ReadFile, StepLimit};
use command_line::{Command, Run};
use scenario::Line;
use step_builder::Builder;
use workload::Stage;
use yaml::{Diagnostics, Limits, Node, Place, Raw, SourceText};

pub use answer::answer;

/// Number of threads for `threads=auto`. NoSQLBench uses ten threads per processor of its own
/// machine.
const THREADS_AUTO: u32 = 100;
/// Maximum number of threads, and therefore of operations in flight.
const THREADS_MAX: u32 = 1_000_000;

/// Imports `nb FILE [scenario] key=value…`. Values are functions of the cycle alone, as in
/// NoSQLBench.
///
/// # Errors
/// Every mistake in the words and the file, with its position.
pub(crate) fn import(words: &[String], read: ReadFile) -> Result<Import, Diagnostics> {
    let command_line = words.join(" ");
    let refuse = |message: String| {
        let mut out = Diagnostics::new(vec![SourceText {
            name: "command line".to_owned(),
            text: command_line.clone(),
        }]);
        out.add(&Place::default(), message, None);
        out
    };
    let words = command_line::parse(words).map_err(refuse)?;
    let mut all = Import {
        steps: Vec::new(),
        notes: words.notes,
        connection: Connection::default(),
    };
    // Schema changes that have not been added to a step yet. Each element also contains a separate
    // step that makes only its changes.
    let mut pending: Vec<Schema> = Vec::new();
    for command in &words.commands {
        let (name, text) = find(&command.file, read).map_err(refuse)?;
        let value = |key: &str| {
            let found = command.given.iter().find(|(known, _)| known == key);
            found.map(|(_, value)| value.clone())
        };
        let (text, parameters) = template::expand(&text, &value);
        // Records mask the value of a parameter whose name marks a secret. A resumed run would use
        // the mask as the value.
        let is_masked = |name: &&String| {
            let set = value(name).map(|value| format!("{name}={value}"));
            set.is_some_and(|set| yaml::without_secrets(&set) != set)
        };
        if let Some(name) = parameters.iter().find(is_masked) {
            return Err(refuse(format!(
                "{}: the parameter `{name}` has the name of a secret, and cassay stores no value \
                 of a secret; rename the parameter",
                command.file
            )));
        }
        let file = File {
            source: SourceText { name, text },
            parameters,
        };
        let (mut import, schema) = one(command, &file, read)?;
        if let Some(first) = import.steps.first_mut() {
            let texts = pending.drain(..).flat_map(|(texts, _)| texts);
            first.before = texts.chain(std::mem::take(&mut first.before)).collect();
        }
        append(&mut all, import);
        pending.extend(schema);
    }
    for (_, step) in pending {
        let steps = vec![step];
        let alone = Import {
            steps,
            notes: Vec::new(),
            connection: Connection::default(),
        };
        append(&mut all, alone);
    }
    all.notes.sort();
    all.notes.dedup();
    Ok(all)
}

/// Schema changes, and a step that makes only these changes.
type Schema = (Vec<String>, ImportStep);

#[derive(Debug)]
struct File {
    source: SourceText,
    parameters: BTreeSet<String>,
}

/// Finds a workload file by its name. If the file does not exist, tries the name with an added
/// ending, and then the built-in file with that name.
fn find(file: &str, read: ReadFile) -> Result<(String, String), String> {
    let why = match read(file) {
        Ok(text) => return Ok((file.to_owned(), text)),
        Err(why) => why,
    };
    let endings = [".yaml", ".yml"].map(|ending| format!("{file}{ending}"));
    for name in endings {
        if let Ok(text) = read(&name) {
            return Ok((name, text));
        }
    }
    if let Some((name, text)) = answer::built_in(file) {
        return Ok((name.to_owned(), text.to_owned()));
    }
    let own = answer::names().join(", ");
    Err(format!("{why}; the built-in workloads are {own}"))
}

/// Returns `name`, or `name` with the lowest number from 2 that makes it unused.
fn unused_name(name: &str, is_used: impl Fn(&str) -> bool) -> String {
    if !is_used(name) {
        return name.to_owned();
    }
    let mut numbered = (2..).map(|number| format!("{name}-{number}"));
    numbered.find(|one| !is_used(one)).unwrap_or_default()
}

fn append(all: &mut Import, mut more: Import) {
    for step in &mut more.steps {
        let is_used = |name: &str| all.steps.iter().any(|known| known.name == name);
        step.name = unused_name(&step.name, is_used);
        all.steps.push(step.clone());
    }
    all.notes.append(&mut more.notes);
    let (own, other) = (&mut all.connection, more.connection);
    if own.nodes.is_empty() {
        own.nodes = other.nodes;
    }
    own.port = own.port.or(other.port);
    own.username = own.username.take().or(other.username);
    own.password = own.password.take().or(other.password);
    own.password_file = own.password_file.take().or(other.password_file);
    own.tls = own.tls.or(other.tls);
    own.compression = own.compression.or(other.compression);
    own.connections_per_node = own.connections_per_node.or(other.connections_per_node);
    own.datacenter = own.datacenter.take().or(other.datacenter);
}

/// Imports one command. Also returns the schema changes after its last step.
fn one(
    command: &Command,
    file: &File,
    read: ReadFile,
) -> Result<(Import, Option<Schema>), Diagnostics> {
    let mut out = Diagnostics::new(vec![file.source.clone()]);
    let text = &file.source.text;
    let Some(root) = yaml::parse(0, text, Limits::WORKLOAD, &mut out) else {
        return Err(out);
    };
    let ops = workload_file::operations(&root, &mut out);
    if ops.is_empty() && out.is_empty() {
        let message = "the file has no operations in blocks, ops or statements";
        out.add(&root.place, message, None);
    }
    if !out.is_empty() {
        return Err(out);
    }
    let mut builder = Builder::new(&root, ops, file, read, &mut out);
    let scenarios = match &command.run {
        Run::Scenarios(names) => names.clone(),
        Run::Line => Vec::new(),
    };
    let mut lines = Vec::new();
    for scenario in &scenarios {
        lines.extend(scenario_lines(&root, scenario, builder.out));
    }
    if command.run == Run::Line {
        lines.push(("run".to_owned(), &root));
    }
    let (steps, schema) = steps(&mut builder, &lines, command);
    if steps.is_empty() && schema.is_none() && builder.out.is_empty() {
        let message = if scenarios.is_empty() {
            "this step has no cycles, so it runs no operation".to_owned()
        } else {
            format!(
                "scenario {} has no cycles, so it runs no operation",
                scenarios.join(", ")
            )
        };
        let place = root.nearest("scenarios").place.clone();
        builder.out.add(&place, message, None);
    }
    let (notes, connection) = builder.finish();
    out.into_result()?;
    let import = Import {
        steps,
        notes,
        connection,
    };
    Ok((import, schema))
}

/// Returns the steps of lines. Adds schema changes to the next step with operations. Returns the
/// changes after the last step separately.
fn steps(
    builder: &mut Builder,
    lines: &[(String, &Node)],
    command: &Command,
) -> (Vec<ImportStep>, Option<Schema>) {
    let (mut before, mut steps) = (Vec::new(), Vec::new());
    let mut last = None;
    for (name, node) in lines {
        // In a run without a scenario, all settings come from the command line.
        let is_scenario = command.run != Run::Line;
        let text = node.text().filter(|_| is_scenario).unwrap_or("");
        let result = Line::parse(text).and_then(|mut line| {
            line.set(&command.given)?;
            Ok(line)
        });
        match result {
            Err(message) => builder.out.add(&node.place, message, None),
            Ok(line) => {
                steps.extend(builder.step(name, node, &line, &mut before));
                last = Some((name, *node));
            }
        }
    }
    let schema = match (builder.out.is_empty(), last) {
        (true, Some((name, node))) if !before.is_empty() => {
            builder.schema_step(name, node, &before).map(|step| (before, step))
        }
        _ => None,
    };
    (steps, schema)
}

type Lines<'a> = Vec<(String, &'a Node)>;

/// Finds the lines of the scenario `name`. If the name has the form `scenario.step`, finds a single
/// line.
fn scenario_lines<'a>(root: &'a Node, name: &str, out: &mut Diagnostics) -> Lines<'a> {
    let all = root.entry("scenarios").and_then(|e| e.value.entries()).unwrap_or(&[]);
    let whole = all.iter().find(|entry| entry.key == name);
    let (scenario, step) = match (whole, name.split_once('.')) {
        (None, Some((scenario, step))) => (scenario, Some(step)),
        _ => (name, None),
    };
    let place = &root.nearest("scenarios").place;
    let Some(found) = all.iter().find(|entry| entry.key == scenario) else {
        let as_step: Vec<String> = all
            .iter()
            .filter(|entry| {
                let lines = lines_of(&entry.key, &entry.value);
                lines.iter().any(|(step, _)| step == scenario)
            })
            .map(|e| format!("{}.{scenario}", e.key))
            .collect();
        let hint = match (all.is_empty(), as_step.is_empty()) {
            (true, _) => Some(
                "run a file without scenarios with `run driver=cql workload=FILE tags=…`"
                    .to_owned(),
            ),
            (false, true) => yaml::did_you_mean(scenario, all.iter().map(|e| e.key.as_str())),
            (false, false) => Some(format!("did you mean `{}`?", as_step.join("` or `"))),
        };
        out.add(place, format!("the file has no scenario {scenario}"), hint);
        return Vec::new();
    };
    let lines = lines_of(scenario, &found.value);
    let Some(step) = step else {
        return lines;
    };
    // A number is the index of a step, and the first step has index 0.
    let number: Option<usize> = step.parse().ok();
    let is_it = |(at, (name, _)): &(usize, &(String, &Node))| name == step || number == Some(*at);
    if let Some((_, line)) = lines.iter().enumerate().find(is_it) {
        return vec![line.clone()];
    }
    let hint = yaml::did_you_mean(step, lines.iter().map(|(name, _)| name.as_str()));
    let message = format!("scenario {scenario} has no step {step}");
    out.add(&found.value.place, message, hint);
    Vec::new()
}

fn lines_of<'a>(scenario: &str, node: &'a Node) -> Lines<'a> {
    match &node.raw {
        Raw::Map(entries) => entries.iter().map(|e| (e.key.clone(), &e.value)).collect(),
        Raw::List(items) => {
            let named = items.iter().enumerate();
            named
                .flat_map(|(n, item)| match item.entries() {
                    Some(_) => lines_of(scenario, item),
                    None => vec![(format!("step{}", n + 1), item)],
                })
                .collect()
        }
        _ => vec![(scenario.to_owned(), node)],
    }
}

/// Returns true if a number of threads depends on the number of processors, as in `auto` or `20x`.
fn are_per_processor(text: &str) -> bool {
    text == "auto" || text.ends_with('x')
}

/// Returns the load that a line requests. Unless the line states a stride, a stride consists of
/// `sequence` operations.
fn offer(line: &Line, sequence: usize) -> Result<Offer, String> {
    let threads = match line.get("async").or_else(|| line.get("threads")) {
        None => 1,
        Some("auto") => THREADS_AUTO,
        Some(text) => {
            let (digits, factor) = match text.strip_suffix('x') {
                Some(digits) => (digits, u64::from(THREADS_AUTO) / 10),
                None => (text, 1),
            };
            let number = scenario::count(digits)
                .and_then(|n| n.checked_mul(factor))
                .and_then(|n| u32::try_from(n).ok());
            match number.filter(|n| (1..=THREADS_MAX).contains(n)) {
                Some(number) => number,
                None => {
                    return Err(format!(
                        "threads is `{text}`; it must be a number up to {THREADS_MAX}, such as 5x, \
                         or auto"
                    ));
                }
            }
        }
    };
    let stride = match line.get("stride") {
        None => sequence as u64,
        Some(text) => match scenario::count(text).filter(|n| *n > 0) {
            Some(stride) => stride,
            None => return Err(format!("stride is `{text}`; it must be a number of cycles")),
        },
    };
    let keys = [("cyclerate", 1), ("targetrate", 1), ("rate", 1)];
    let cycles = keys.iter().find(|(key, _)| line.get(key).is_some());
    let rates = [cycles.copied(), Some(("striderate", stride))];
    let mut lowest: Option<f64> = None;
    for (key, factor) in rates.into_iter().flatten() {
        if let Some(text) = line.get(key) {
            let rate = rate(key, text)? * factor as f64;
            lowest = Some(lowest.map_or(rate, |lowest| lowest.min(rate)));
        }
    }
    Ok(match lowest {
        None => Offer::Threads(threads),
        Some(per_second) => Offer::Rate {
            per_second,
            threads,
            hides_wait: false,
        },
    })
}

/// Parses a rate per second. The function ignores the part after a comma or a colon, which
/// describes how to compensate for delays.
fn rate(key: &str, text: &str) -> Result<f64, String> {
    let number = text.split([',', ':']).next().unwrap_or("");
    let counted = || Some(scenario::count(number)? as f64);
    let rate = number.parse().ok().or_else(counted);
    rate.filter(|rate: &f64| *rate > 0.0 && rate.is_finite())
        .ok_or_else(|| format!("{key} is `{text}`; it must be a rate per second"))
}

/// The first cycle, the total number of cycles, and the range of cycles that is repeated. The range
/// is `None` if the cycles are not repeated.
type Range = (u64, u64, Option<(u64, u64)>);

fn limits(line: &Line, sequence: usize) -> Result<Range, String> {
    let (from, to) = match line.get("cycles") {
        None => (0, sequence as u64),
        Some(text) => scenario::cycles(text).ok_or_else(|| {
            format!("cycles is `{text}`; it must be a count such as 10k or a range a..b")
        })?,
    };
    let count = to - from;
    let Some(text) = line.get("recycles") else {
        return Ok((from, count, None));
    };
    let times = scenario::count(text).filter(|n| *n > 0);
    match times.and_then(|times| Some((times, count.checked_mul(times)?))) {
        Some((1, all)) => Ok((from, all, None)),
        Some((_, all)) => Ok((from, all, Some((from, count)))),
        None => Err(format!("recycles is `{text}`; it must be at least 1")),
    }
}

struct Frame {
    offer: Offer,
    first: u64,
    limit: StepLimit,
    again: Option<(u64, u64)>,
    stage: Stage,
}

fn frame(line: &Line, sequence: usize) -> Result<Frame, String> {
    let (first, count, again) = limits(line, sequence)?;
    Ok(Frame {
        offer: offer(line, sequence)?,
        first,
        limit: StepLimit::Operations(count),
        again,
        stage: Stage::Main,
    })
}

#[cfg(test)]
mod tests;
