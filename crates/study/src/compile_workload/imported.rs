//! Converts command lines of other tools to steps of a study.

use super::Draft;
use crate::inputs::Inputs;
use crate::settings::{ImportedCommands, Settings, Warmup, Window};
use crate::units;
use analysis::procedure::{FixedPoint, Point, Procedure, Sweep, Until};
use imports::{Import, ImportStep, Offer, StepLimit, Tool, stress};
use measure::number::counted;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use yaml::{Diagnostics, Node, Place, Raw};

/// Settings that become variants of a study, with notes on them.
#[derive(Debug, Default)]
pub struct Steps {
    /// Name and settings of each step. The name is `None` if the workload is not an import.
    pub steps: Vec<(Option<String>, Settings)>,
    /// Sentences about differences between the other tool and cassay.
    pub notes: Vec<String>,
}

/// Returns the settings of every step of an import. Settings without an import are returned as a
/// single step.
pub fn steps(settings: Settings, seed: u64, inputs: &Inputs<'_>) -> Result<Steps, Diagnostics> {
    let Some(imported) = &settings.workload.import else {
        let mut settings = settings;
        let recorded = settings.workload.recorded.clone();
        let notes = recorded.map(|one| super::recorded_traffic::apply(&mut settings, &one, inputs));
        return Ok(Steps {
            steps: vec![(None, settings)],
            notes: notes.unwrap_or_default(),
        });
    };
    let import = import(imported, seed, inputs)?;
    let one = |(number, step): (usize, &ImportStep)| {
        let mut settings = settings.clone();
        if let Some(imported) = &mut settings.workload.import {
            imported.step = number;
        }
        // Faults belong to the last step. The earlier steps only fill tables, so they have no
        // faults.
        if number + 1 < import.steps.len() {
            settings.faults.clear();
        }
        settings.procedure = procedure(step);
        settings.poisson = false;
        settings.window = window(step);
        if let Offer::Rate { threads, .. } = step.offer {
            settings.client.in_flight_max = threads.max(1);
        }
        let compression = import.connection.compression;
        settings.client.compression = settings.client.compression.or(compression);
        (Some(step.name.clone()), settings)
    };
    Ok(Steps {
        steps: import.steps.iter().enumerate().map(one).collect(),
        notes: import.notes,
    })
}

fn procedure(step: &ImportStep) -> Procedure {
    match step.offer {
        Offer::Threads(threads) => FixedPoint(Point::Threads(threads)).into(),
        Offer::Ladder {
            from,
            to,
            until_flat,
        } => {
            let points = stress::threads(from, to).into_iter().map(Point::Threads).collect();
            let gain_min = match step.limit {
                StepLimit::Uncertainty { target, .. } => Some(target),
                StepLimit::Operations(_) | StepLimit::Duration(_) | StepLimit::Either(..) => None,
            };
            let until = until_flat.then_some(Until::Flat { gain_min });
            Sweep { points, until }.into()
        }
        Offer::Rate { per_second, .. } => {
            FixedPoint(Point::Rate((per_second.round() as u64).max(1))).into()
        }
    }
}

/// Returns the window of a step. The window has the duration of the step if the duration is known
/// before the step runs.
fn window(step: &ImportStep) -> Window {
    Window {
        warmup: Warmup::Fixed(0),
        first_warmup_ns: None,
        after_faults_ns: None,
        measure_ns: match step.limit {
            StepLimit::Duration(length) => u64::try_from(length.as_nanos()).unwrap_or(u64::MAX),
            StepLimit::Operations(_) | StepLimit::Either(..) | StepLimit::Uncertainty { .. } => 0,
        },
    }
}

/// Imports all command lines. Returns the steps of all command lines in order. Each step has a
/// unique name.
///
/// # Errors
/// A command line cannot be imported. The error contains the mistakes in the first such command
/// line.
pub fn import(
    imported: &ImportedCommands,
    seed: u64,
    inputs: &Inputs<'_>,
) -> Result<Import, Diagnostics> {
    let mut commands = imported.commands.iter();
    let first = commands.next().map_or("", String::as_str);
    let mut all = import_one(imported.tool, first, seed, inputs)?;
    for command in commands {
        let next = import_one(imported.tool, command, seed, inputs)?;
        all.steps.extend(next.steps);
        let said = |note: &String| all.notes.contains(note);
        let notes: Vec<String> = next.notes.into_iter().filter(|note| !said(note)).collect();
        all.notes.extend(notes);
    }
    let mut names = BTreeMap::new();
    for step in &mut all.steps {
        let count = names.entry(step.name.clone()).or_insert(0);
        *count += 1;
        if *count > 1 {
            step.name = format!("{}-{count}", step.name);
        }
    }
    if !imported.range_workers.is_empty() {
        in_ranges(&mut all, imported)?;
    }
    Ok(all)
}

/// Divides the range of each step between the clients, so that each client processes a separate
/// part.
fn in_ranges(all: &mut Import, imported: &ImportedCommands) -> Result<(), Diagnostics> {
    let workers = &imported.range_workers;
    let needed: u64 = workers.iter().sum();
    let mut has_range = false;
    for step in &mut all.steps {
        let name = &step.name;
        // A step with fewer operations in flight than workers is not divided. For example, the
        // statements of a step that creates tables run one after the other.
        let threads = least_in_flight(step.offer);
        if u64::from(threads) < needed {
            all.notes.push(format!(
                "{name}: all clients share one sequence, because {} are too few for the {needed} \
                 workers of `client.machines`",
                counted(threads, "thread")
            ));
            continue;
        }
        let range = (step.first_operation, step.limit.operations());
        match step.program.in_ranges(step.stage, range, workers) {
            Some(program) => {
                step.program = Arc::new(program);
                has_range = true;
                all.notes.push(format!(
                    "{name}: each of {} processes its own part (`client.split: range`)",
                    counted(workers.len(), "client")
                ));
            }
            None => all.notes.push(format!(
                "{name}: all clients choose among all rows, because this command has no sequence \
                 to divide"
            )),
        }
    }
    if has_range {
        return Ok(());
    }
    let command = imported.commands.first().map_or("", String::as_str);
    let why = format!(
        "`client.split: range` has no effect, because no command has a range to divide: {}",
        all.notes.last().map_or("", String::as_str)
    );
    let hint = "cassandra-stress processes the seeds of `-pop seq=`, NoSQLBench processes cycles, \
                YCSB processes the records of a load, with at least one thread per worker";
    Err(refused(imported.tool, command, &why, hint))
}

fn least_in_flight(offer: Offer) -> u32 {
    match offer {
        Offer::Threads(threads) | Offer::Rate { threads, .. } => threads,
        Offer::Ladder { from, .. } => from,
    }
}

fn import_one(
    tool: Tool,
    command: &str,
    seed: u64,
    inputs: &Inputs<'_>,
) -> Result<Import, Diagnostics> {
    let Some(words) = shlex::split(command) else {
        return Err(refused(
            tool,
            command,
            "the command line contains an unterminated quote",
            "",
        ));
    };
    let import = imports::import(tool, &words, seed, &|name| inputs.read(name))?;
    let password = import.connection.password.as_ref().map_or("", imports::Secret::reveal);
    inputs.hide(tool, password);
    // cassay refuses a password in the command, because the study is stored with its run and shown
    // to readers.
    if tool.without_secrets(&words, password) != words {
        return Err(refused(
            tool,
            command,
            "the command line contains a password, but a study is stored with its runs",
            "remove the password; use `target.attach.password: {secret: NAME}`",
        ));
    }
    Ok(import)
}

fn refused(tool: Tool, command: &str, why: &str, hint: &str) -> Diagnostics {
    let mut out = Diagnostics::new(vec![yaml::SourceText {
        name: tool.name().to_owned(),
        text: command.to_owned(),
    }]);
    let hint = (!hint.is_empty()).then(|| hint.to_owned());
    out.add(&Place::default(), why, hint);
    out
}

/// Reports faults that end after their step, if the length of the step is known.
pub(super) fn beyond_step(
    node: &Node,
    draft: &Draft,
    last: Option<&ImportStep>,
    out: &mut Diagnostics,
) {
    let Some(StepLimit::Duration(length)) = last.map(|step| step.limit) else {
        return;
    };
    let Some(Raw::List(items)) = node.find("faults").map(|faults| &faults.raw) else {
        return;
    };
    for (number, fault) in draft.faults() {
        let ends = Duration::from_nanos(fault.end_ns());
        if ends > length {
            let message = format!(
                "this fault ends at {}, but the command line measures only for {}",
                units::format_duration_ns(fault.end_ns()),
                units::format_duration_ns(length.as_nanos() as u64)
            );
            let hint =
                "make the command run longer, so that it also covers the recovery".to_owned();
            out.add(&items[number].place, message, Some(hint));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::plan;
    use crate::resolve::resolve;
    use crate::settings::{Overrides, Study};

    const ALIKE: &str = "machines: [{workers: 2}, {workers: 1}], split: range";

    fn resolved(workload: &str, client: &str) -> Result<Study, String> {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {workload}\n\
             client: {{{client}}}\n"
        );
        let overrides = Overrides::default();
        resolve("s", &text, &overrides).map_err(|mistakes| mistakes.to_string())
    }

    #[test]
    fn clients_with_a_range_each_ask_the_same_in_another_order() {
        let stress = |client: &str| {
            let command = "{stress: 'write n=300 -rate threads=3'}";
            let study = resolved(command, client).unwrap();
            let program = plan(&study).unwrap().works[0].program.clone();
            let mut generator = program.generator(workload::Stage::Main);
            let token = |n| {
                generator.begin(n);
                generator.token()
            };
            ((0..300).map(token).collect::<Vec<_>>(), study.notes)
        };
        let (together, _) = stress("machines: [{workers: 2}, {workers: 1}]");
        let (apart, notes) = stress(ALIKE);
        assert_ne!(apart, together);
        // The operations of the third worker begin at the end of the first client's part.
        assert_eq!((apart[2], apart[5]), (together[200], together[201]));
        let said = "write: each of 2 clients processes its own part";
        assert!(notes.iter().any(|note| note.contains(said)), "{notes:?}");
        let mut sorted = [together, apart];
        sorted.iter_mut().for_each(|one| one.sort_unstable());
        assert_eq!(sorted[0], sorted[1]);
    }

    /// A study is stored with its runs, so no command line in it may contain a secret.
    #[test]
    fn a_study_whose_command_contains_a_secret_is_refused() {
        for workload in [
            "{stress: 'write n=9 -jmx password=planted'}",
            "{stress: 'write n=9 -mode native cql3 user=u password=planted'}",
            "{stress: 'write n=9 -node u:planted@h'}",
            "{ycsb: 'load -p recordcount=9 -p javax.net.ssl.trustStorePassword=planted'}",
            "{ycsb: 'load -p recordcount=9 -p password=planted'}",
            "{easy: 'run KeyValue -n 9 --password planted'}",
        ] {
            let said = resolved(workload, "timeout: 9s").expect_err(workload);
            let is_refused =
                said.contains("contains a password") || said.contains("a user or password");
            assert!(
                is_refused && !said.contains("planted"),
                "{workload}: {said}"
            );
        }
        resolved("{stress: 'write n=9 -jmx password=***'}", "timeout: 9s").unwrap();
    }

    #[test]
    fn a_step_without_a_range_is_noted_and_an_empty_split_refused() {
        let commands = "{stress: ['write n=300 -rate threads=3', 'read n=30 -rate threads=3', \
                        'write n=300 -rate threads=2']}";
        let notes = resolved(commands, ALIKE).unwrap().notes;
        for said in [
            "write: each of 2 clients processes its own part",
            "read: all clients choose among all rows",
            "write-2: all clients share one sequence, because 2 threads are too few for the 3",
        ] {
            assert!(notes.iter().any(|note| note.contains(said)), "{notes:?}");
        }
        for (workload, client, said) in [
            (
                "{stress: 'read n=30 -rate threads=3'}",
                ALIKE,
                "`client.split: range` has no effect, because no command has a range to divide: \
                 read: all clients choose",
            ),
            (
                "{stress: 'write n=30 -rate threads=3'}",
                "split: range",
                "`client.split: range` needs `client.machines`",
            ),
            (
                "{stress: 'write n=30 -rate threads=3'}",
                "machines: [here, {workers: 1}], split: range",
                "`client.split: range` needs the number of workers on every machine",
            ),
            (
                "{use: kv, mix: {write: 1}}\nprocedure: {fixed: {threads: 8}}",
                ALIKE,
                "`client.split: range` divides the range of an imported command",
            ),
        ] {
            let mistakes = resolved(workload, client).unwrap_err();
            assert!(mistakes.contains(said), "{workload}: {mistakes}");
        }
    }
}
