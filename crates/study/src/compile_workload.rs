//! Compiles a study's settings to a program of `workload`. Reports each problem at its place in the
//! study.

mod file;
mod imported;
mod own_table;
mod recorded_traffic;

pub use imported::{Steps, import, steps};
pub use own_table::unread_tables;

use crate::checked_tree::Tree;
use crate::estimate;
use crate::inputs::Inputs;
use crate::settings::{
    self, Data, Draft, FaultDraft, FaultWhere, Keyspace, Replication, Settings, Settle,
};
use file::{CompileFailure, compiled};
use imports::ImportStep;
use std::collections::BTreeMap;
use std::sync::Arc;
use workload::schema::{OptionValue, options};
use workload::{ParamValue, Problem, Program, Schema, Spec, Stage};
use yaml::{Diagnostics, Node, Place, Raw};

// These items are re-exported because studies name workloads and user interfaces list their names.
pub use workload::{NamedWorkload, names};

/// Compiled workload of a variant.
#[derive(Clone, Debug)]
pub struct Work {
    pub program: Arc<Program>,
    /// The imported step that the variant executes. `None` for other workloads.
    pub step: Option<ImportStep>,
}

/// Compiles the workload of resolved settings. Resolving has already compiled the same workload. So
/// an error here means that the settings were not resolved, or that a file has changed since then.
pub fn compile(settings: &Settings, seed: u64, inputs: &Inputs<'_>) -> Result<Work, String> {
    let words = |problems: Vec<Problem>| {
        let messages: Vec<_> = problems.into_iter().map(|p| p.message).collect();
        messages.join("; ")
    };
    if let Some(imported) = &settings.workload.import {
        let import = import(imported, seed, inputs).map_err(|mistakes| mistakes.to_string())?;
        let mut steps = import.steps;
        if imported.step >= steps.len() {
            return Err(format!("the command line has only {} steps", steps.len()));
        }
        let mut step = steps.swap_remove(imported.step);
        let tuned = tune(&step.program, &settings.workload).map_err(words)?;
        step.program = Arc::new(tuned);
        return Ok(Work {
            program: Arc::clone(&step.program),
            step: Some(step),
        });
    }
    let parts = Parts {
        workload: &settings.workload,
        keyspace: &settings.keyspace,
        data: &settings.data,
    };
    let program = program(&parts, seed, inputs).map_err(|failed| match failed {
        CompileFailure::Problems(problems) => words(problems),
        CompileFailure::Mistakes(mistakes) => mistakes.to_string(),
    })?;
    let tuned = tune(&program, &settings.workload).map_err(words)?;
    Ok(Work {
        program: Arc::new(tuned),
        step: None,
    })
}

/// Does the same as [`compile`], for `rows` rows instead of the rows of the settings.
///
/// Operation n of the load stage writes row n, regardless of the number of rows. So a load in bytes
/// continues in steps with the estimated program until the requested number of bytes is on the
/// disk. The program that measures and verifies is then compiled for the loaded rows, and chooses
/// only from these rows. Compiling fails if the workload's own choice of rows includes other rows.
pub fn compile_with_rows(
    settings: &Settings,
    rows: u64,
    seed: u64,
    inputs: &Inputs<'_>,
) -> Result<Work, String> {
    compile(&settings.with_rows(rows), seed, inputs)
}

/// Sets the number of rows in the settings to an estimate, if the load is in bytes. Returns `None`
/// for other loads. Also returns `None` for a workload that does not compile, because resolving has
/// already reported its mistakes.
pub fn estimate_rows(settings: &mut Settings, seed: u64, inputs: &Inputs<'_>) -> Option<()> {
    if settings.data.load.rows_are_known() {
        return None;
    }
    let work = compile(settings, seed, inputs).ok()?;
    let row_bytes = work.program.row_bytes_estimate().max(1);
    let rows = estimate::rows_of_load(settings, row_bytes)?;
    settings.data.load_rows = rows;
    settings.data.rows = rows;
    Some(())
}

/// Compiles a workload that is not an import. Does not apply the changes to kinds of operations.
fn program(parts: &Parts<'_>, seed: u64, inputs: &Inputs<'_>) -> Result<Program, CompileFailure> {
    if let Some(recorded) = &parts.workload.recorded {
        let program = recorded_traffic::program(recorded, inputs);
        return program.map_err(|problem| CompileFailure::Problems(vec![problem]));
    }
    let spec = spec(parts, seed);
    if let Some(table) = &parts.workload.table {
        return own_table::program(table, &spec, inputs);
    }
    let Some(file) = &parts.workload.file else {
        return workload::compile(&spec).map_err(CompileFailure::Problems);
    };
    let text = inputs.read(file).map_err(|message| {
        CompileFailure::Problems(vec![Problem {
            path: vec!["file".to_owned()],
            message,
            hint: None,
            is_unknown_name: false,
        }])
    })?;
    compiled(file, &text, &spec, inputs)
}

/// Sets rows and replication in the settings to those that the workload defines. A workload may
/// define its own rows (the records of a CSV, the keys of an existing table). The command of
/// another tool may define the replication. Does nothing for other workloads, or if the workload
/// does not compile, because resolving has already reported its mistakes.
pub fn take_own(settings: &mut Settings, seed: u64, inputs: &Inputs<'_>) {
    let Ok(work) = compile(settings, seed, inputs) else {
        return;
    };
    if let Ok(Some(stated)) = replication_stated(work.program.schema()) {
        settings.keyspace.replication = stated;
    }
    let is_own = has_own_rows(&settings.workload, &settings.data, &work.program);
    if !is_own {
        return;
    }
    settings.data.rows = work.program.rows();
    if work.program.writes(Stage::Load).is_empty() {
        settings.data.has_rows = true;
        settings.data.settle = Settle::None;
    }
}

/// Returns the replication of the keyspace that a workload creates. `None` if the command of the
/// other tool does not state the replication.
///
/// # Errors
/// A number of copies is not a whole number. The message contains the text.
fn replication_stated(schema: &Schema) -> Result<Option<Replication>, String> {
    let mut options = options(&schema.create_keyspace)
        .into_iter()
        .filter(|_| schema.is_replication_stated);
    let stated = options.find(|(name, _)| name.eq_ignore_ascii_case("replication"));
    let Some((_, OptionValue::Map(pairs))) = stated else {
        return Ok(None);
    };
    let place = |(name, copies): (String, String)| match copies.trim().parse::<u32>() {
        Ok(number) => Ok((name, number)),
        Err(_) => Err(format!(
            "the workload's keyspace has the replication `{name}: {copies}`, which is not a whole \
             number of replicas"
        )),
    };
    let places: Vec<(String, u32)> = pairs
        .into_iter()
        .filter(|(name, _)| name != "class")
        .map(place)
        .collect::<Result<_, String>>()?;
    Ok(match &places[..] {
        [] => None,
        [(name, factor)] if name == "replication_factor" => {
            Some(Replication::Simple { factor: *factor })
        }
        _ => Some(Replication::NetworkTopology(places)),
    })
}

/// Returns true if a workload defines its own number of rows. Other workloads have the number of
/// rows that the study requests.
fn has_own_rows(workload: &settings::Workload, data: &Data, program: &Program) -> bool {
    workload.table.is_some() || workload.file.is_some() && program.rows() != data.rows
}

fn tune(program: &Program, workload: &settings::Workload) -> Result<Program, Vec<Problem>> {
    workload::tune(program.clone(), &workload.tunings)
}

/// Compiles the workload of a checked tree, even if other sections have mistakes. Reports each
/// problem at its place.
pub fn check(node: &Node, tree: &Tree, inputs: &Inputs<'_>, out: &mut Diagnostics) {
    let draft = Draft::from_tree(tree);
    let work = draft.workload();
    if work.name.is_empty() {
        return;
    }
    let say = |problems: Vec<Problem>, out: &mut Diagnostics| {
        for problem in problems {
            out.add(place_of(node, &problem), problem.message, problem.hint);
        }
    };
    if let Some(imported) = &work.import {
        match import(imported, 0, inputs) {
            Err(mistakes) => out.absorb(mistakes),
            Ok(import) => {
                unreadable(node, tree, false, out);
                imported::beyond_step(node, &draft, import.steps.last(), out);
                let stated = |step: &ImportStep| replication_stated(step.program.schema()).err();
                if let Some(message) = import.steps.iter().find_map(stated) {
                    let hint = "write the number of replicas as a whole number".to_owned();
                    out.add(&node.nearest("workload").place, message, Some(hint));
                }
                for step in &import.steps {
                    if let Err(problems) = tune(&step.program, &work) {
                        say(problems, out);
                    }
                }
            }
        }
        return;
    }
    let parts = Parts {
        workload: &work,
        keyspace: &draft.keyspace,
        // If the section `data` has a mistake, the number of rows is unknown, so the default number
        // is used.
        data: &match tree.find("data") {
            Some(data) if !data.has_hole() => draft.data(),
            _ => Data::present(settings::ROWS_UNLOADED),
        },
    };
    match program(&parts, 0, inputs) {
        Err(CompileFailure::Problems(problems)) => {
            say(problems, out);
            // Settings of kinds of operations are checked even if the mix or a parameter has a
            // mistake. To make this possible, the mix and the parameters are replaced by their
            // defaults.
            let mut usual = spec(&parts, 0);
            (usual.mix, usual.params) = (Vec::new(), BTreeMap::new());
            if let Ok(program) = workload::compile(&usual)
                && let Err(problems) = tune(&program, &work)
            {
                say(problems, out);
            }
        }
        Err(CompileFailure::Mistakes(mistakes)) => out.absorb(mistakes),
        Ok(program) => {
            if let Err(problems) = tune(&program, &work) {
                say(problems, out);
            }
            loads(node, tree, &parts, &program, out);
            reads_without_rows(node, tree, &parts, &program, out);
            let can_be_read = program.statements().iter().any(|s| s.verifies);
            unreadable(node, tree, can_be_read, out);
            without_hottest(node, &draft, program, out);
        }
    }
}

/// Reports a fault on the hottest partition if the workload chooses all rows equally often, because
/// then no partition is the hottest.
fn without_hottest(node: &Node, draft: &Draft, program: Program, out: &mut Diagnostics) {
    let asks = |fault: &FaultDraft| fault.on == FaultWhere::HottestReplica;
    if !draft.faults.iter().any(asks) || workload::hottest_token(&Arc::new(program)).is_some() {
        return;
    }
    let items = node.find("faults").map(|faults| &faults.raw);
    let items = match items {
        Some(Raw::List(items)) => items.as_slice(),
        _ => &[],
    };
    for (item, _) in items.iter().zip(&draft.faults).filter(|(_, one)| asks(one)) {
        let message = "the workload has no partition that it requests much more often than others";
        let hint = "name a node, or skew the rows: `workload: {params: {distribution: zipf}}`";
        let place = &item.nearest("where.role").place;
        out.add(place, message.to_owned(), Some(hint.to_owned()));
    }
}

/// Reports a mistake if a study reads all rows back but its workload has no suitable read.
fn unreadable(node: &Node, tree: &Tree, can_be_read: bool, out: &mut Diagnostics) {
    let path = "verify.sample";
    let asks = tree.find(path).and_then(Tree::text) == Some("all");
    if asks && !can_be_read && tree.find("target.null").is_none() {
        let message =
            "the workload has no read that cassay could use to compare rows with the written rows";
        let hint = "name such a read under `verify` in the workload file, or use another workload";
        let place = &node.nearest(path).place;
        out.add(place, message, Some(hint.to_owned()));
    }
}

/// Checks, for a workload file, that a statement writes the loaded rows, and that the workload has
/// as many rows as the study loads.
fn loads(node: &Node, tree: &Tree, parts: &Parts<'_>, program: &Program, out: &mut Diagnostics) {
    let path = "data.load";
    let Some(file) = parts.workload.file.as_ref().filter(|_| tree.find(path).is_some()) else {
        return;
    };
    let (message, hint) = if program.writes(Stage::Load).is_empty() {
        let message = format!(
            "`{path}` writes rows, but {file} does not name the statement that writes them"
        );
        let hint = "name the statement in the file, for example `load: write`, or use `present` if \
                    the rows exist";
        (message, hint.to_owned())
    } else if program.rows() != parts.data.rows {
        let message = format!(
            "`{path}` requests {} rows, but the CSV file of {file} has only {} records",
            parts.data.rows,
            program.rows()
        );
        (message, format!("write `operations: {}`", program.rows()))
    } else {
        return;
    };
    out.add(&node.nearest(path).place, message, Some(hint));
}

/// Reports reads of tables without rows, because they would measure only the answers of an empty
/// table.
fn reads_without_rows(
    node: &Node,
    tree: &Tree,
    parts: &Parts<'_>,
    program: &Program,
    out: &mut Diagnostics,
) {
    let has_own = has_own_rows(parts.workload, parts.data, program);
    if parts.data.has_rows || has_own || tree.find("target.null").is_some() {
        return;
    }
    let named = workload::names().iter().find(|named| named.name == program.name());
    let default: Vec<(String, f64)> = named
        .map(|named| named.mix.iter().map(|(kind, w)| ((*kind).to_owned(), *w)).collect())
        .unwrap_or_default();
    let mix = if parts.workload.mix.is_empty() {
        &default
    } else {
        &parts.workload.mix
    };
    let is_read = |name: &str| program.kinds().iter().any(|k| k.name == name && !k.is_write);
    if let Some((kind, _)) = mix.iter().find(|(kind, weight)| *weight > 0.0 && is_read(kind)) {
        let message =
            format!("the mix has `{kind}`, but the study loads no rows that this kind can read");
        let hint =
            "add `data: {load: {operations: 100k}}`, or `present` if the rows exist".to_owned();
        let place = &node.nearest(&format!("workload.mix.{kind}")).place;
        out.add(place, message, Some(hint));
    }
}

fn place_of<'a>(node: &'a Node, problem: &Problem) -> &'a Place {
    let path = path_of(problem);
    let key = path.rsplit_once('.').and_then(|(parent, key)| node.find(parent)?.entry(key));
    match key.filter(|_| problem.is_unknown_name) {
        Some(entry) => &entry.place,
        None => &node.nearest(&path).place,
    }
}

fn path_of(problem: &Problem) -> String {
    let path = problem.path.join(".");
    match path.as_str() {
        "keyspace" => "keyspace.name".to_owned(),
        "replication" => "keyspace.replication".to_owned(),
        "rows" => "data.load.operations".to_owned(),
        _ => format!("workload.{path}"),
    }
}

struct Parts<'a> {
    workload: &'a settings::Workload,
    keyspace: &'a Keyspace,
    data: &'a Data,
}

fn spec(parts: &Parts<'_>, seed: u64) -> Spec {
    let Parts {
        workload,
        keyspace,
        data,
    } = parts;
    Spec {
        use_: workload.name.clone(),
        keyspace: keyspace.name.clone(),
        replication: keyspace.replication.clone(),
        mix: workload.mix.clone(),
        params: params(&workload.params),
        seed,
        rows: data.rows,
        epoch: 0,
    }
}

fn params(entries: &[(String, Tree)]) -> BTreeMap<String, ParamValue> {
    let value = |tree: &Tree| match tree {
        Tree::Count(count) => match i64::try_from(*count) {
            Ok(int) => ParamValue::Int(int),
            Err(_) => ParamValue::Float(*count as f64),
        },
        Tree::Negative(number) => ParamValue::Int(*number),
        Tree::Number(number) => ParamValue::Float(*number),
        Tree::Text(text) => ParamValue::Text(text.clone()),
        other => ParamValue::Text(other.to_json().to_string()),
    };
    entries.iter().map(|(key, tree)| (key.clone(), value(tree))).collect()
}

#[cfg(test)]
mod tests {
    use crate::resolve::resolve;
    use crate::settings::Overrides;
    use expect_test::{Expect, expect};

    fn mistakes(workload: &str, expect: Expect) {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{local: {{}}}}\nprocedure: {{fixed: {{threads: 1}}}}\n\
             workload: {workload}\n"
        );
        let shown = match resolve("s", &text, &Overrides::default()) {
            Ok(_) => "no mistakes".to_owned(),
            Err(diagnostics) => diagnostics.to_string(),
        };
        // The expected text omits the lists of known names, because they grow with every new
        // workload.
        let lines = shown.lines().map(|line| line.split("; ").next().unwrap());
        expect.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn problems_of_the_workload_are_shown_at_their_places() {
        mistakes(
            "{use: standard2}",
            expect![[r#"
                s:5:17: no workload has the name "standard2"
                  hint: did you mean `standard1`?"#]],
        );
        mistakes(
            "{use: standard1, mix: {write: 1}, params: {colums: 3}}",
            expect![[r#"
                s:5:54: standard1 has no parameter "colums"
                  hint: did you mean `columns`?"#]],
        );
        mistakes(
            "{use: standard1, mix: {wirte: 1}, consistency: {raed: ONE}}",
            expect![[r#"
                s:5:34: standard1 has no kind of operation "wirte"
                  hint: did you mean `write`?
                s:5:59: standard1 has no kind of operation "raed"
                  hint: did you mean `read`?"#]],
        );
    }

    /// In an earlier version, if the number of copies was not a number, the keyspace was treated as
    /// a keyspace with one copy.
    #[test]
    fn a_stated_number_of_copies_is_a_number_or_refused() {
        let text = "study: s\nquestion: q\ntarget: {local: {}}\nworkload: {stress: 'write n=10 \
                    -schema ''replication(strategy=NetworkTopologyStrategy,dc1=3/1)'''}\n";
        let refused = resolve("s", text, &Overrides::default()).unwrap_err().to_string();
        assert!(refused.contains("`dc1: 3/1`"), "{refused}");
    }

    #[test]
    fn reads_of_an_empty_table_are_refused() {
        mistakes(
            "{use: standard1, mix: {write: 9, read: 1}}",
            expect![[r#"
                s:5:50: the mix has `read`, but the study loads no rows that this kind can read
                  hint: add `data: {load: {operations: 100k}}`, or `present` if the rows exist"#]],
        );
        mistakes(
            "{use: standard1, mix: {write: 1}}",
            expect![["no mistakes"]],
        );
    }
}
