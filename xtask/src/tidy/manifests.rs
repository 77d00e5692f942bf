//! Rules about crates. The manifests of the crates must correspond to the table in ARCHITECTURE.md.

use super::Violation;
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

const ARCHITECTURE: &str = "ARCHITECTURE.md";
/// Header of the table. The rows below it are crates, up to the first line that is not a row.
const TABLE_HEAD: &str = "| layer | crate | the only crate that… | uses |";

/// Crates that the tests of another crate may use, although its other code may not. The tests of
/// `cassandra` and `cluster` use an agent that runs as a thread. The tests of `fault` query the
/// capabilities of a target. The simulated studies of `findings` generate their noise with
/// `workload`.
const TEST_DEPENDENCIES: [(&str, &str); 4] = [
    ("cassandra", "agent"),
    ("cluster", "agent"),
    ("fault", "cluster"),
    ("findings", "workload"),
];

/// Crates with developer commands. Their folders are in the root, and their rows in the table do
/// not state what only these crates know.
const DEVELOPMENT: [&str; 2] = ["xtask", "laboratories"];

#[derive(Debug, PartialEq)]
struct Row {
    line: usize,
    layer: String,
    name: String,
    secret: String,
    uses: BTreeSet<String>,
}

fn rows(tree: &Tree) -> Result<Vec<Row>, Violation> {
    let text = tree.file(ARCHITECTURE).map(|file| file.text()).unwrap_or_default();
    let lines = text.lines().enumerate().skip_while(|(_, line)| *line != TABLE_HEAD);
    let rows: Vec<Row> = lines
        .skip(2)
        .take_while(|(_, line)| line.starts_with('|'))
        .map(|(index, line)| row(index + 1, line))
        .collect::<Option<_>>()
        .unwrap_or_default();
    if rows.is_empty() {
        let what = format!("has no table of crates under the head `{TABLE_HEAD}`");
        return Err(Violation::in_file(ARCHITECTURE, what));
    }
    Ok(rows)
}

fn row(line: usize, text: &str) -> Option<Row> {
    let cells: Vec<&str> = text.trim_matches('|').split('|').map(str::trim).collect();
    let [layer, name, secret, uses] = cells[..] else {
        return None;
    };
    let uses = uses.split_whitespace().filter(|word| *word != "–");
    Some(Row {
        line,
        layer: layer.to_owned(),
        name: name.trim_matches('`').to_owned(),
        secret: secret.to_owned(),
        uses: uses.map(|word| word.trim_matches('`').to_owned()).collect(),
    })
}

/// Returns the path of the crate's manifest, and the possible paths of its root source file.
fn places(name: &str) -> (String, [String; 2]) {
    let folder = if DEVELOPMENT.contains(&name) {
        name.to_owned()
    } else {
        format!("crates/{name}")
    };
    let roots = [
        format!("{folder}/src/lib.rs"),
        format!("{folder}/src/main.rs"),
    ];
    (format!("{folder}/Cargo.toml"), roots)
}

fn dependencies_of(manifest: &toml::Table, key: &str) -> BTreeSet<String> {
    let table = manifest.get(key).and_then(toml::Value::as_table);
    table.into_iter().flat_map(|table| table.keys().cloned()).collect()
}

/// Checks that the table lists all crates, and that each crate uses exactly the crates in its row.
pub fn dependencies(tree: &Tree) -> Vec<Violation> {
    let rows = match rows(tree) {
        Ok(rows) => rows,
        Err(violation) => return vec![violation],
    };
    let names: BTreeSet<String> = rows.iter().map(|row| row.name.clone()).collect();
    let mut found = Vec::new();
    for file in tree.with_extension("toml") {
        let name = file.path.strip_prefix("crates/").and_then(|p| p.strip_suffix("/Cargo.toml"));
        if let Some(name) = name.filter(|name| !names.contains(*name)) {
            let what = format!("crate `{name}` is not in the table of {ARCHITECTURE}");
            found.push(Violation::in_file(&file.path, what));
        }
    }
    for row in &rows {
        let (path, _) = places(&row.name);
        let Some(file) = tree.file(&path) else {
            let what = format!("names `{}`, but {path} does not exist", row.name);
            found.push(Violation::on_line(ARCHITECTURE, row.line, what));
            continue;
        };
        match file.text().parse::<toml::Table>() {
            Ok(manifest) => compare(row, &names, &path, &manifest, &mut found),
            Err(error) => found.push(Violation::in_file(&path, error.to_string())),
        }
    }
    found
}

fn compare(
    row: &Row,
    names: &BTreeSet<String>,
    path: &str,
    manifest: &toml::Table,
    found: &mut Vec<Violation>,
) {
    let mut used = dependencies_of(manifest, "dependencies");
    used.extend(dependencies_of(manifest, "build-dependencies"));
    for name in used.intersection(names).filter(|name| !row.uses.contains(*name)) {
        let what = format!("`{}` uses `{name}`, which its row does not allow", row.name);
        found.push(Violation::in_file(path, what));
    }
    for name in row.uses.difference(&used) {
        let what = format!(
            "`{}` lists `{name}` in its row, but does not use it",
            row.name
        );
        found.push(Violation::on_line(ARCHITECTURE, row.line, what));
    }
    // The tests of the binary may use all crates. The tests of another crate may use only the
    // crates in its row and in `TEST_DEPENDENCIES`.
    let tested = dependencies_of(manifest, "dev-dependencies");
    let foreign = tested
        .intersection(names)
        .filter(|name| !row.uses.contains(*name))
        .filter(|name| !TEST_DEPENDENCIES.contains(&(row.name.as_str(), name.as_str())));
    for name in foreign.filter(|_| row.name != "cassay") {
        let what = format!(
            "tests of `{}` use `{name}`, which its row does not allow",
            row.name
        );
        found.push(Violation::in_file(path, what));
    }
    // A crate must not use an async runtime, because the hot path and the engine consist of threads
    // and loops.
    for name in ["tokio", "async-std", "smol"].iter().filter(|name| used.contains(**name)) {
        found.push(Violation::in_file(
            path,
            format!("uses `{name}`, an async runtime"),
        ));
    }
}

/// Checks that the first column is the layer of each crate, and that the rows are sorted by it. A
/// crate is in the layer above the highest layer that it uses. If it uses no crates, it is in layer
/// 0.
pub fn layers(tree: &Tree) -> Vec<Violation> {
    let rows = match rows(tree) {
        Ok(rows) => rows,
        Err(violation) => return vec![violation],
    };
    let mut layers: BTreeMap<&str, usize> = BTreeMap::new();
    // This number of rounds is sufficient. Unless crates use each other in a cycle, each round
    // determines the layer of at least one more crate.
    for _ in &rows {
        for row in &rows {
            let used: Option<Vec<usize>> =
                row.uses.iter().map(|name| layers.get(name.as_str()).copied()).collect();
            if let Some(used) = used {
                layers.insert(&row.name, used.iter().max().map_or(0, |layer| layer + 1));
            }
        }
    }
    let mut found = Vec::new();
    let mut last = None;
    for row in rows.iter().filter(|row| row.layer != "–") {
        let layer = layers.get(row.name.as_str());
        if layer.map(ToString::to_string).as_ref() != Some(&row.layer) {
            let right = layer.map_or("none, since crates use each other".to_owned(), |layer| {
                layer.to_string()
            });
            let what = format!("the layer of `{}` is {right}, not {}", row.name, row.layer);
            found.push(Violation::on_line(ARCHITECTURE, row.line, what));
        }
        if layer < last {
            let what = format!("`{}` must stand above rows of higher layers", row.name);
            found.push(Violation::on_line(ARCHITECTURE, row.line, what));
        }
        last = layer;
    }
    found
}

/// Checks that the header of each crate, the manifest of the crate and its row in the table contain
/// the same sentence.
pub fn sentences(tree: &Tree) -> Vec<Violation> {
    let rows = match rows(tree) {
        Ok(rows) => rows,
        Err(violation) => return vec![violation],
    };
    let mut found = Vec::new();
    for row in rows.iter().filter(|row| !DEVELOPMENT.contains(&row.name.as_str())) {
        let wanted = format!("The only crate that {}.", row.secret);
        let (manifest_path, roots) = places(&row.name);
        let root = roots.iter().find_map(|path| tree.file(path));
        let said = root.map(|root| first_paragraph(root.text())).unwrap_or_default();
        if said != wanted {
            let path = root.map_or(roots[0].as_str(), |root| root.path.as_str());
            let what = format!("the header must begin with `{wanted}`, not with `{said}`");
            found.push(Violation::on_line(path, 1, what));
        }
        let manifest = tree.file(&manifest_path).map(|file| file.text()).unwrap_or_default();
        if !manifest.contains(&format!("description = \"{wanted}\"")) {
            let what = format!("the description must be `{wanted}`");
            found.push(Violation::in_file(&manifest_path, what));
        }
    }
    found
}

fn first_paragraph(source: &str) -> String {
    let header = source.lines().map_while(|line| line.strip_prefix("//!"));
    let lines: Vec<&str> = header.map(str::trim).take_while(|line| !line.is_empty()).collect();
    lines.join(" ")
}

/// Checks that each line of `[workspace.dependencies]` with a third-party crate ends with the
/// reason for the crate.
pub fn reasons(tree: &Tree) -> Vec<Violation> {
    let text = tree.file("Cargo.toml").map(|file| file.text()).unwrap_or_default();
    let lines = text.lines().enumerate().skip_while(|(_, l)| *l != "[workspace.dependencies]");
    let section = lines.skip(1).take_while(|(_, line)| !line.starts_with('['));
    let unexplained = section.filter(|(_, line)| {
        line.contains(" = ")
            && !line.starts_with('#')
            && !line.contains("path = ")
            && !line.contains(" # ")
    });
    unexplained
        .map(|(index, line)| {
            let name = line.split_whitespace().next().unwrap_or_default();
            let what = format!("`{name}` does not state its reason (a comment on its line)");
            Violation::on_line("Cargo.toml", index + 1, what)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# A\n\n| layer | crate | the only crate that… | uses |\n| --- | --- \
        | --- | --- |\n| 0 | `low` | reads bytes | – |\n| 1 | `high` | asks people | `low` |\n";

    fn whats(violations: &[Violation]) -> Vec<String> {
        violations.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_dependency_outside_the_table_is_found() {
        let tree = Tree::from_texts(&[
            (ARCHITECTURE, TABLE),
            (
                "crates/low/Cargo.toml",
                "[dependencies]\nhigh.workspace = true\n",
            ),
            ("crates/high/Cargo.toml", "[dependencies]\ntokio = \"1\"\n"),
            ("crates/new/Cargo.toml", ""),
        ]);
        assert_eq!(
            whats(&dependencies(&tree)),
            [
                "crates/new/Cargo.toml: crate `new` is not in the table of ARCHITECTURE.md",
                "crates/low/Cargo.toml: `low` uses `high`, which its row does not allow",
                "ARCHITECTURE.md:6: `high` lists `low` in its row, but does not use it",
                "crates/high/Cargo.toml: uses `tokio`, an async runtime",
            ]
        );
    }

    #[test]
    fn a_wrong_layer_and_a_wrong_order_are_found() {
        assert_eq!(layers(&Tree::from_texts(&[(ARCHITECTURE, TABLE)])), []);
        let text = TABLE.replace("| 1 |", "| 2 |") + "| 0 | `lower` | reads bits | – |\n";
        assert_eq!(
            whats(&layers(&Tree::from_texts(&[(ARCHITECTURE, &text)]))),
            [
                "ARCHITECTURE.md:6: the layer of `high` is 1, not 2",
                "ARCHITECTURE.md:7: `lower` must stand above rows of higher layers",
            ]
        );
    }

    #[test]
    fn tests_use_their_rows_crates_and_those_of_cluster_an_agent() {
        let table = TABLE
            .replace("`low`", "`agent`")
            .replace("`high`", "`cluster`")
            .replace("people | `agent`", "people | –");
        let tests = |name: &str| format!("[dev-dependencies]\n{name}.workspace = true\n");
        let tree = Tree::from_texts(&[
            (ARCHITECTURE, &table),
            ("crates/agent/Cargo.toml", &tests("cluster")),
            ("crates/cluster/Cargo.toml", &tests("agent")),
        ]);
        let what = "tests of `agent` use `cluster`, which its row does not allow";
        let expected = [format!("crates/agent/Cargo.toml: {what}")];
        assert_eq!(whats(&dependencies(&tree)), expected);
    }

    #[test]
    fn crates_of_developer_commands_are_in_the_root() {
        let table = format!(
            "{TABLE}| – | `xtask` | tidy | – |\n| – | `laboratories` | hours | `xtask` |\n"
        );
        let uses_low = "[dependencies]\nlow.workspace = true\n";
        let tree = Tree::from_texts(&[
            (ARCHITECTURE, &table),
            ("crates/low/Cargo.toml", ""),
            ("crates/high/Cargo.toml", uses_low),
            ("xtask/Cargo.toml", ""),
            ("laboratories/Cargo.toml", uses_low),
        ]);
        assert_eq!(
            whats(&dependencies(&tree)),
            [
                "laboratories/Cargo.toml: `laboratories` uses `low`, which its row does not allow",
                "ARCHITECTURE.md:8: `laboratories` lists `xtask` in its row, but does not use it",
            ]
        );
        let found = whats(&sentences(&tree));
        assert!(
            found.iter().all(|what| what.starts_with("crates/")),
            "{found:?}"
        );
    }

    #[test]
    fn a_table_that_is_gone_is_a_violation_not_a_pass() {
        let tree = Tree::from_texts(&[(ARCHITECTURE, "# Nothing")]);
        assert_eq!(dependencies(&tree).len(), 1);
        assert_eq!(sentences(&tree).len(), 1);
    }

    #[test]
    fn a_header_may_wrap_but_must_say_the_sentence() {
        let manifest =
            |secret: &str| format!("[package]\ndescription = \"The only crate that {secret}.\"\n");
        let tree = Tree::from_texts(&[
            (ARCHITECTURE, TABLE),
            ("crates/low/Cargo.toml", &manifest("reads bytes")),
            (
                "crates/low/src/lib.rs",
                "//! The only crate\n//! that reads bytes.\n//!\n//! More.",
            ),
            ("crates/high/Cargo.toml", &manifest("asks people")),
            ("crates/high/src/main.rs", "//! Knows people.\n"),
        ]);
        let found = whats(&sentences(&tree));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/high/src/main.rs:1:"));
    }

    #[test]
    fn a_dependency_without_a_reason_is_found() {
        let text = "[workspace.dependencies]\nlow = { path = \"crates/low\" }\n# group\n\
            a = \"1\" # why\nb = \"1\"\n[other]\nc = 1\n";
        let found = whats(&reasons(&Tree::from_texts(&[("Cargo.toml", text)])));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("Cargo.toml:5: `b`"));
    }
}
