//! Tests that every setting in the list of effective settings has an effect.

use super::super::params::{LINE, OPERATION};
use super::imported;
use std::collections::BTreeSet;
use workload::Stage;

const FILE: &str = "
scenarios:
  default:
    main: run cycles=8
bindings:
  id: Add(7); ToString()
blocks:
  - ops:
      get:
        prepared: select * from k.t where id={id} limit 1
      put:
        prepared: insert into k.t (id) values ({id})
        desc: nothing
";

/// Returns the complete result of an import as text. If a setting has an effect, it must change
/// this text.
fn outcome(file: &str, words: &str) -> String {
    let words: Vec<&str> = words.split_whitespace().collect();
    let import = match imported(file, &words) {
        Ok(import) => import,
        Err(mistakes) => return mistakes,
    };
    let mut out = format!("{:?} {:?}\n", import.connection, import.notes);
    for step in &import.steps {
        let (kinds, statements) = (step.program.kinds(), step.program.statements());
        let sent = step.program.fingerprint_of(Stage::Main, 16);
        let frame = (step.first_operation, step.limit, step.offer);
        out += &format!(
            "{frame:?} {:?} {kinds:?} {statements:?} {sent}\n",
            step.before
        );
    }
    out
}

/// Settings of a line. Each has the other settings without which it would have no effect.
const LINES: &[(&str, &str)] = &[
    ("driver=stdout", ""),
    ("type=stdout", ""),
    ("tags=name:put", ""),
    ("recycles=2", ""),
    ("threads=7", ""),
    ("async=7", ""),
    ("cyclerate=5", ""),
    ("targetrate=5", ""),
    ("rate=5", ""),
    ("striderate=5", ""),
    ("stride=3", "striderate=5"),
    ("cycles=9", ""),
    ("seq=wrong", ""),
    ("yaml=other", ""),
    ("workload=other", ""),
    ("host=a", ""),
    ("hosts=a,b", ""),
    ("port=1", ""),
    ("localdc=dc1", ""),
    ("username=me", ""),
    ("userfile=absent", ""),
    ("password=word", ""),
    ("passfile=file", ""),
    ("ssl=jdk", ""),
    ("pooling=4", ""),
    ("compression=LZ4", ""),
    ("driver.advanced.protocol.compression=LZ4", ""),
];

/// Settings of an operation. Each has the words of the command with which the test runs it.
const OPERATIONS: &[(&str, &str)] = &[
    ("ratio: 3", ""),
    ("repeat: 2", ""),
    ("batch: some", ""),
    ("type: raw", ""),
    ("driver: stdout", ""),
    ("tags: {kind: mine}", "tags=kind:mine"),
    ("params: {cl: TWO}", ""),
    ("bindings: {id: 'Add(9); ToString()'}", ""),
    (
        "op_template: {prepared: 'delete from k.t where id={id}'}",
        "",
    ),
];

/// In an earlier version, the lists contained `errors` of an operation and `workload` of a line,
/// but no code read these settings.
#[test]
fn every_listed_setting_changes_the_work_or_is_refused() {
    fn names<'a>(rows: &[(&'a str, &str)], end: char) -> BTreeSet<&'a str> {
        let names = rows.iter().map(|(row, _)| row.split(end).next().unwrap());
        names.collect()
    }
    assert_eq!(names(LINES, '='), LINE.split(", ").collect());
    assert_eq!(names(OPERATIONS, ':'), OPERATION.split(", ").collect());
    for (setting, beside) in LINES {
        let with = format!("{beside} {setting}");
        assert_ne!(outcome(FILE, &with), outcome(FILE, beside), "{setting}");
    }
    for (setting, words) in OPERATIONS {
        let with = FILE.replace("desc: nothing", setting);
        assert_ne!(outcome(&with, words), outcome(FILE, words), "{setting}");
    }
}

#[test]
fn a_setting_without_effect_on_an_operation_is_reported() {
    for (setting, expected) in [
        (
            "errors: retry",
            "errors: retry has no effect on an operation",
        ),
        ("maxtries: 3", "set this parameter in a line of a scenario"),
        ("type: fluent", "cassay does not support type: fluent"),
        ("raw: select now()", "raw: select now() has no effect"),
    ] {
        let told = outcome(&FILE.replace("desc: nothing", setting), "");
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn a_line_that_asks_for_another_file_is_refused() {
    for own in ["file", "file.yaml", "./some/where/file.yaml"] {
        let same = outcome(FILE, &format!("workload={own}"));
        assert!(!same.contains("requests operations"), "{same}");
    }
    let other = outcome(FILE, "yaml=others.yaml");
    assert!(
        other.contains("cassay imports only operations of file.yaml"),
        "{other}"
    );
}
