//! From a study's settings to a program of `workload`, and its problems back to their places.

use crate::settings::{self, Consistency, Data, Keyspace, Replication, Settings};
use crate::tree::Tree;
use std::collections::BTreeMap;
use workload::{ParamValue, Problem, Program, Spec};
use yaml::Diagnostics;
use yaml::Node;

// The names of workloads are part of what a study may say: faces list them from here.
pub use workload::{Named, names};

/// Compiles the workload of settings that were resolved. Resolving compiles it too, so problems
/// here mean that the settings did not come from there.
pub fn compile(settings: &Settings, seed: u64) -> Result<Program, Vec<Problem>> {
    let parts = Parts {
        workload: &settings.workload,
        keyspace: &settings.keyspace,
        data: &settings.data,
    };
    workload::compile(&spec(&parts, seed))
}

/// Compiles what a checked tree says about its workload, even if other sections have mistakes, and
/// says every problem at its place.
pub fn check(node: &Node, tree: &Tree, out: &mut Diagnostics) {
    let Some(work) = tree.at("workload").and_then(settings::workload) else {
        return;
    };
    let parts = Parts {
        workload: &work,
        keyspace: &tree
            .at("keyspace")
            .and_then(settings::keyspace)
            .unwrap_or(Keyspace {
                name: None,
                replication: Replication::Simple(1),
            }),
        data: &tree.at("data").and_then(settings::data).unwrap_or(Data {
            load_rows: 0,
            rows: settings::ROWS_UNLOADED,
            has_rows: true,
            settle: settings::Settle::None,
            settle_limit_ns: 0,
            truncate: false,
        }),
    };
    match workload::compile(&spec(&parts, 0)) {
        Err(problems) => {
            for problem in problems {
                let place = &node.nearest(&path_of(&problem)).place;
                out.add(place, problem.message, problem.hint);
            }
        }
        Ok(program) => reads_without_rows(node, tree, &parts, &program, out),
    }
}

/// Reading an empty table measures how fast nothing is found.
fn reads_without_rows(
    node: &Node,
    tree: &Tree,
    parts: &Parts<'_>,
    program: &Program,
    out: &mut Diagnostics,
) {
    if parts.data.has_rows || tree.at("target.null").is_some() {
        return;
    }
    let named = workload::names()
        .iter()
        .find(|named| named.name == program.name());
    let default: Vec<(String, f64)> = named
        .map(|named| {
            named
                .mix
                .iter()
                .map(|(kind, w)| ((*kind).to_owned(), *w))
                .collect()
        })
        .unwrap_or_default();
    let mix = if parts.workload.mix.is_empty() {
        &default
    } else {
        &parts.workload.mix
    };
    let is_read = |name: &str| {
        program
            .kinds()
            .iter()
            .any(|k| k.name == name && !k.is_write)
    };
    if let Some((kind, _)) = mix
        .iter()
        .find(|(kind, weight)| *weight > 0.0 && is_read(kind))
    {
        let message = format!("the mix has `{kind}`, but no rows are loaded to be read");
        let hint =
            "add `data: {load: {operations: 100k}}`, or `present` if they are there".to_owned();
        let place = &node.nearest(&format!("workload.mix.{kind}")).place;
        out.add(place, message, Some(hint));
    }
}

/// Where a problem of the workload stands in a study.
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
    let named = workload::names()
        .iter()
        .find(|named| named.name == workload.name);
    let kinds = named.map_or(&[][..], |named| named.kinds);
    let consistency = match &workload.consistency {
        None => Vec::new(),
        Some(Consistency::All(level)) => {
            let levels = kinds.iter().map(|kind| ((*kind).to_owned(), level.clone()));
            levels.collect()
        }
        Some(Consistency::ByKind(levels)) => levels.clone(),
    };
    Spec {
        use_: workload.name.clone(),
        keyspace: keyspace.name.clone(),
        replication: match &keyspace.replication {
            Replication::Simple(factor) => workload::Replication::Simple { factor: *factor },
            Replication::ByDatacenter(by) => workload::Replication::NetworkTopology(by.clone()),
        },
        mix: workload.mix.clone(),
        // The table knows the same levels as the protocol, so each of them parses.
        consistency: consistency
            .into_iter()
            .filter_map(|(kind, level)| Some((kind, level.parse().ok()?)))
            .collect(),
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
        Tree::Number(number) => ParamValue::Float(*number),
        Tree::Text(text) => ParamValue::Text(text.clone()),
        other => ParamValue::Text(other.to_json().to_string()),
    };
    entries
        .iter()
        .map(|(key, tree)| (key.clone(), value(tree)))
        .collect()
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
        // Without the lists of what there is: those grow with every workload.
        let lines = shown.lines().map(|line| line.split("; ").next().unwrap());
        expect.assert_eq(&lines.collect::<Vec<_>>().join("\n"));
    }

    #[test]
    fn problems_of_the_workload_are_shown_at_their_places() {
        mistakes(
            "{use: standard2}",
            expect![[r#"
                s:5:17: no workload is named "standard2"
                  hint: did you mean standard1?"#]],
        );
        mistakes(
            "{use: standard1, mix: {write: 1}, params: {colums: 3}}",
            expect![[r#"
                s:5:62: standard1 has no parameter "colums"
                  hint: did you mean columns?"#]],
        );
        mistakes(
            "{use: standard1, mix: {wirte: 1}, consistency: {raed: ONE}}",
            expect![[r#"
                s:5:41: standard1 has no kind of operation "wirte"
                  hint: did you mean write?
                s:5:65: standard1 has no kind of operation "raed"
                  hint: did you mean read?"#]],
        );
    }

    #[test]
    fn reads_of_an_empty_table_are_refused() {
        mistakes(
            "{use: standard1, mix: {write: 9, read: 1}}",
            expect![[r#"
                s:5:50: the mix has `read`, but no rows are loaded to be read
                  hint: add `data: {load: {operations: 100k}}`, or `present` if they are there"#]],
        );
        mistakes(
            "{use: standard1, mix: {write: 1}}",
            expect![["no mistakes"]],
        );
    }

    #[test]
    fn every_level_of_the_table_is_one_of_the_protocol() {
        for level in crate::format::CONSISTENCIES {
            let mut spec = workload::Spec {
                use_: "standard1".into(),
                keyspace: None,
                replication: workload::Replication::Simple { factor: 1 },
                mix: Vec::new(),
                consistency: Vec::new(),
                params: Default::default(),
                seed: 0,
                rows: 1,
                epoch: 0,
            };
            spec.consistency
                .push(("write".into(), level.parse().unwrap()));
        }
    }
}
