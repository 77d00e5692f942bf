//! NoSQLBench's workload files, nb4 and nb5: a file and a scenario in, steps out.
//!
//! What must hold: operation n is NoSQLBench's cycle n; the values of a cycle are NoSQLBench's.

mod build;
mod file;
mod scenario;
mod source;
mod tags;
mod template;
mod virtdata;

use crate::import::{Connection, Import, Offer, ReadFile, Step, StepLimit};
use crate::program::Stage;
use build::Builder;
use scenario::Line;
use yaml::{Diagnostics, Limits, Node, Place, Raw, Source};

pub(crate) use virtdata::curve::UniformInt;

/// What `threads=auto` means: NoSQLBench takes ten per processor of its own machine.
const THREADS_AUTO: u32 = 100;

/// What `nb FILE [scenario] key=value…` asks for. Values are functions of the cycle alone, as
/// NoSQLBench's are.
///
/// # Errors
/// Every mistake in the words and the file, with its place.
pub(crate) fn import(words: &[String], read: ReadFile) -> Result<Import, Diagnostics> {
    let command = words.join(" ");
    let refuse = |message: String| {
        let mut out = Diagnostics::new(vec![Source {
            name: "command line".to_owned(),
            text: command.clone(),
        }]);
        out.add(&Place::default(), message, None);
        out
    };
    let mut given: Vec<(String, String)> = Vec::new();
    let mut plain: Vec<&str> = Vec::new();
    for word in words {
        match word.split_once('=') {
            Some((key, value)) => given.push((key.to_owned(), value.to_owned())),
            None => plain.push(word),
        }
    }
    // `run driver=cql workload=FILE tags=…` is a scenario of one line.
    let is_line = plain
        .first()
        .is_some_and(|word| ["run", "start"].contains(word));
    if let Some(option) = plain.iter().find(|word| word.starts_with("--")) {
        let hint = "scenarios are run; reports and logs are cassay's own";
        return Err(refuse(format!("option {option} is not understood: {hint}")));
    }
    let stated = given.iter().find(|(k, _)| k == "workload" || k == "yaml");
    let (name, scenario) = match (is_line, &plain[..], stated) {
        (true, [_], Some((_, file))) => (file.clone(), None),
        (true, [_, extra, ..], _) | (false, [_, _, extra, ..], _) => {
            return Err(refuse(format!("`{extra}` is one word too many")));
        }
        (true, ..) => return Err(refuse("say workload=FILE".to_owned())),
        (false, [name, scenario], _) => ((*name).to_owned(), Some(*scenario)),
        (false, [name], _) => ((*name).to_owned(), Some("default")),
        (false, [], _) => return Err(refuse("name the workload file first".to_owned())),
    };
    let text = read(&name).map_err(|why| {
        let mut message = format!("cannot read {name}: {why}");
        let own = name.trim_end_matches(".yaml").replace('_', "-");
        if crate::names().iter().any(|named| named.name == own) {
            message += &format!("; a study has it as `workload: {{use: {own}}}`, without a file");
        }
        refuse(message)
    })?;
    let value = |key: &str| given.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone());
    let text = template::expand(&text, &value);
    let mut out = Diagnostics::new(vec![Source {
        name,
        text: text.clone(),
    }]);
    let Some(root) = yaml::parse(0, &text, Limits::WORKLOAD, &mut out) else {
        return Err(out);
    };
    let steps = steps(&root, scenario, &given, read, &mut out);
    out.into_result()?;
    let (steps, notes, connection) = steps;
    Ok(Import {
        steps,
        notes,
        connection,
    })
}

type Steps = (Vec<Step>, Vec<String>, Connection);

fn steps(
    root: &Node,
    scenario: Option<&str>,
    given: &[(String, String)],
    read: ReadFile,
    out: &mut Diagnostics,
) -> Steps {
    let ops = file::operations(root, out);
    let mut builder = Builder::new(root, ops, read, out);
    let mut before = Vec::new();
    let mut steps: Vec<Step> = Vec::new();
    let lines = match scenario {
        Some(scenario) => lines(root, scenario, builder.out),
        None => vec![("run".to_owned(), root)],
    };
    for (name, node) in &lines {
        // The settings of a run without a scenario are all given.
        let text = scenario.and(node.text()).unwrap_or("");
        let result = Line::parse(text).and_then(|mut line| {
            line.set(given)?;
            Ok(line)
        });
        match result {
            Err(message) => builder.out.add(&node.place, message, None),
            Ok(line) => {
                if let Some(step) = builder.step(name, node, &line, &mut before) {
                    steps.push(step);
                }
            }
        }
    }
    if steps.is_empty() && builder.out.is_empty() {
        let message = format!(
            "{} only changes the schema; there is nothing to run",
            scenario.map_or("this".to_owned(), |name| format!("scenario {name}"))
        );
        builder
            .out
            .add(&root.nearest("scenarios").place, message, None);
    }
    let (notes, connection) = builder.finish(given);
    (steps, notes, connection)
}

/// The lines of a scenario by name.
fn lines<'a>(root: &'a Node, scenario: &str, out: &mut Diagnostics) -> Vec<(String, &'a Node)> {
    let all = root
        .entry("scenarios")
        .and_then(|e| e.value.entries())
        .unwrap_or(&[]);
    let Some(found) = all.iter().find(|entry| entry.key == scenario) else {
        let hint = yaml::did_you_mean(scenario, all.iter().map(|e| e.key.as_str()));
        let message = format!("the file has no scenario {scenario}");
        out.add(&root.nearest("scenarios").place, message, hint);
        return Vec::new();
    };
    match &found.value.raw {
        Raw::Map(entries) => entries.iter().map(|e| (e.key.clone(), &e.value)).collect(),
        Raw::List(items) => {
            let named = items.iter().enumerate();
            named
                .map(|(n, item)| (format!("step{}", n + 1), item))
                .collect()
        }
        _ => vec![(scenario.to_owned(), &found.value)],
    }
}

/// How much a line asks for at a time.
fn offer(line: &Line) -> Result<Offer, String> {
    let threads = match line.get("threads") {
        None => 1,
        Some("auto") => THREADS_AUTO,
        Some(text) => {
            let factor = text.strip_suffix('x');
            let number: Option<u32> = factor.unwrap_or(text).parse().ok();
            match number.filter(|n| *n > 0) {
                Some(n) if factor.is_some() => n.saturating_mul(THREADS_AUTO / 10),
                Some(n) => n,
                None => return Err(format!("threads is `{text}`; it must be a number or auto")),
            }
        }
    };
    let rate = line.get("cyclerate").or_else(|| line.get("rate"));
    match rate {
        None => Ok(Offer::Threads(threads)),
        Some(text) => {
            let number = text.split(',').next().unwrap_or("");
            let per_second = number
                .parse()
                .ok()
                .or_else(|| Some(scenario::count(number)? as f64));
            match per_second.filter(|rate| *rate > 0.0) {
                Some(per_second) => Ok(Offer::Rate {
                    per_second,
                    threads,
                    hides_wait: false,
                }),
                None => Err(format!("rate is `{text}`; it must be cycles per second")),
            }
        }
    }
}

fn limits(line: &Line, sequence: usize) -> Result<(u64, StepLimit), String> {
    let Some(text) = line.get("cycles") else {
        return Ok((0, StepLimit::Operations(sequence as u64)));
    };
    match scenario::cycles(text) {
        Some((from, to)) => Ok((from, StepLimit::Operations(to - from))),
        None => Err(format!(
            "cycles is `{text}`; it must be a count or a range a..b"
        )),
    }
}

/// All of a step but its program.
fn frame(line: &Line, sequence: usize) -> Result<(Offer, u64, StepLimit, Stage), String> {
    let (first, limit) = limits(line, sequence)?;
    Ok((offer(line)?, first, limit, Stage::Main))
}

#[cfg(test)]
mod tests;
