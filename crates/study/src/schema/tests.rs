//! Checks studies against the schema with a validator that does not depend on cassay.

use crate::check;
use crate::resolve::{read, resolve};
use crate::settings::Overrides;
use boon::{Compiler, SchemaIndex, Schemas};
use expect_test::expect_file;
use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use yaml::{Diagnostics, Node};

const HERE: &str = "https://example.org/study.schema.json";

struct Validator {
    schemas: Schemas,
    study: SchemaIndex,
}

impl Validator {
    fn new() -> Validator {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource(HERE, super::study()).unwrap();
        let study = compiler.compile(HERE, &mut schemas).unwrap();
        Validator { schemas, study }
    }

    fn refusal(&self, value: &Value) -> Option<String> {
        self.schemas.validate(value, self.study).err().map(|why| why.to_string())
    }
}

thread_local! {
    static VALIDATOR: RefCell<Option<Validator>> = const { RefCell::new(None) };
}

/// Returns the reason why the schema refuses a tree. `None` if the schema accepts the tree.
fn refusal(root: &Node) -> Option<String> {
    VALIDATOR.with_borrow_mut(|validator| {
        let validator = validator.get_or_insert_with(Validator::new);
        validator.refusal(&check::any(root).to_json())
    })
}

fn refusal_of(text: &str) -> Option<String> {
    let mut none = Diagnostics::new(Vec::new());
    let root = yaml::parse(0, text, yaml::Limits::STUDY, &mut none);
    refusal(&root.unwrap_or_else(|| panic!("{none}: {text}")))
}

/// Checks that the schema accepts a study. Tests of this crate call this function for every
/// self-contained study that they resolve, including randomly damaged studies.
pub(crate) fn must_accept(root: &Node, overrides: &Overrides) {
    let is_alone = overrides.set.is_empty()
        && overrides.target.is_none()
        && overrides.scale.is_none()
        && overrides.seed.is_none();
    if let Some(why) = is_alone.then(|| refusal(root)).flatten() {
        panic!(
            "resolved, and refused by the schema: {why}\n{:#}",
            check::any(root).to_json()
        );
    }
}

#[test]
fn the_checked_in_schema_is_the_table() {
    // Each value is on a separate line without indentation, because a file in the source tree must
    // be small.
    let mut text = Vec::new();
    let lines = PrettyFormatter::with_indent(b"");
    super::study()
        .serialize(&mut Serializer::with_formatter(&mut text, lines))
        .unwrap();
    let text = String::from_utf8(text).unwrap() + "\n";
    expect_file!["../../../../docs/schema/study.schema.json"].assert_eq(&text);
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.to_str().unwrap().ends_with(ending) {
            found.push(path);
        }
    }
    found
}

/// Returns the string literals in a Rust file whose beginning looks like a study.
fn literals(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in source.match_indices("study: ") {
        let before = source[..at].trim_end();
        if !before.ends_with('"') && !before.ends_with("\"\\") {
            continue;
        }
        let mut text = String::new();
        let mut rest = source[at..].chars();
        while let Some(c) = rest.next() {
            match c {
                '"' => break,
                '\\' => match rest.next() {
                    Some('n') => text.push('\n'),
                    // A backslash at the end of a line continues the literal on the next line.
                    Some('\n') => rest = rest.as_str().trim_start().chars(),
                    Some(other) => text.push(other),
                    None => break,
                },
                _ => text.push(c),
            }
        }
        found.push(text);
    }
    found
}

/// The function [`must_accept`] checks each study that this test resolves.
#[test]
fn the_schema_accepts_every_study_that_the_program_accepts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let studies = files(&root.join("studies"), ".yaml");
    let read_ones = studies.iter().filter(|path| read(path, &Overrides::default()).is_ok());
    assert!(read_ones.count() > 10);
    let mut accepted = [0, 0];
    let pages = [
        files(&root.join("docs"), ".md"),
        vec![root.join("README.md")],
    ]
    .concat();
    for page in pages {
        let page = std::fs::read_to_string(page).unwrap();
        for block in page.split("```yaml\n").skip(1) {
            let text = block.split("```").next().unwrap_or_default();
            accepted[0] += usize::from(resolve("doc", text, &Overrides::default()).is_ok());
        }
    }
    for source in files(&root.join("crates"), ".rs") {
        for text in literals(&std::fs::read_to_string(source).unwrap()) {
            accepted[1] += usize::from(resolve("test", &text, &Overrides::default()).is_ok());
        }
    }
    assert!(accepted[0] >= 3 && accepted[1] >= 30, "{accepted:?}");
}

const GOOD: &str = "\
study: s
question: Does it?
target: {local: {nodes: 2, heap: 1GiB}}
workload: {use: standard1, mix: {write: 9, read: 1}, consistency: one}
data: {load: {operations: 10k}, settle: auto}
procedure: {sweep: {threads: [4, 8]}}
window: {warmup: auto, measure: 1m30s}
repeat: {blocks: 3, order: interleaved, detect: 5%}
scales:
  small: {data.load.operations: 1k, workload.mix.read: 2, procedure.sweep.threads: 2}
";

#[test]
fn the_schema_finds_the_mistakes_that_people_make() {
    assert_eq!(refusal_of(GOOD), None);
    for (right, wrong) in [
        // These cases contain an unknown key and misspelt keys, also in a scale.
        ("repeat: {blocks", "repeat: {rounds: 2, blocks"),
        ("heap: 1GiB", "heep: 1GiB"),
        ("window: {warmup", "window: {warm_up"),
        ("data.load.operations: 1k", "data.load.operation: 1k"),
        // These cases have a value with a wrong unit, or without a unit.
        ("measure: 1m30s", "measure: 90 secs"),
        ("measure: 1m30s", "measure: 90"),
        ("heap: 1GiB", "heap: 1Gb"),
        ("heap: 1GiB", "heap: 1024"),
        ("operations: 10k", "operations: 10kk"),
        // These cases have a number in place of a mapping.
        ("window: {warmup: auto, measure: 1m30s}", "window: 60"),
        ("{operations: 10k}", "10k"),
        // These cases have a word that is not one of the choices.
        ("order: interleaved", "order: random"),
        ("settle: auto", "settle: yes"),
        ("consistency: one", "consistency: MOST"),
        // These cases have several keys that exclude each other, or lack all of them, or misspell
        // one.
        ("{sweep: {threads", "{fixed: {rate: 5}, sweep: {threads"),
        ("{use: standard1", "{file: w.yaml, use: standard1"),
        ("workload: {use: standard1", "workload: {timeout: 1s"),
        ("{threads: [4, 8]}", "{}"),
        ("target: {local", "target: {locla: {}, local"),
        (
            "target: {local: {nodes: 2, heap: 1GiB}}",
            "target: {locla: {}}",
        ),
        ("target: {local", "target: {null: {}, local"),
        // These cases lack required keys.
        ("study: s\n", ""),
        ("target: {local: {nodes: 2, heap: 1GiB}}\n", ""),
        ("procedure: {sweep: {threads: [4, 8]}}\n", ""),
        ("local: {nodes: 2, heap: 1GiB}", "attach: {}"),
        // These cases have a value that is too small, and a value that is too large.
        ("blocks: 3", "blocks: 0"),
        ("blocks: 3", "blocks: -3"),
        ("nodes: 2", "nodes: 1000"),
        // These cases have a list in place of a single value.
        ("measure: 1m30s", "measure: [10s, 20s]"),
        ("nodes: 2", "nodes: [1, 3]"),
        // This case has a name that cassay reserves for a link.
        ("study: s", "study: latest"),
    ] {
        assert!(GOOD.contains(right), "{right}");
        let text = GOOD.replacen(right, wrong, 1);
        assert!(refusal_of(&text).is_some(), "{wrong} is accepted");
        assert!(
            resolve("s", &text, &Overrides::default()).is_err(),
            "{wrong}"
        );
    }
}

/// Editors that support draft-07 must not misinterpret the schema. The keywords in this list are
/// newer than draft-07, or have another meaning there.
#[test]
fn the_schema_has_only_keywords_that_editors_know() {
    let text = super::study().to_string();
    for later in [
        "prefixItems",
        "unevaluated",
        "dependent",
        "$anchor",
        "$dynamic",
        "minContains",
    ] {
        assert!(!text.contains(&format!("\"{later}")), "{later}");
    }
    // Draft-07 ignores keywords next to a reference, so a reference must be alone.
    fn references(value: &Value) {
        match value {
            Value::Object(map) => {
                assert!(!map.contains_key("$ref") || map.len() == 1, "{value}");
                map.values().for_each(references);
            }
            Value::Array(items) => items.iter().for_each(references),
            _ => {}
        }
    }
    references(&super::study());
}
