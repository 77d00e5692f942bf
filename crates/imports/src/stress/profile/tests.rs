//! Tests profiles like those that people write. They have keys with an effect, keys that only lead
//! to a note, and mistakes with their positions.

use super::*;
use crate::Import;
use crate::ImportStep;
use workload::Check;

const PROFILE: &str = "\
keyspace: ks
keyspace_definition: |
  CREATE KEYSPACE ks WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1};
table: t
table_definition: |
  CREATE TABLE t (k int PRIMARY KEY, v text);
columnspec:
  - {name: v, size: fixed(9)}
queries:
  get:
    cql: select * from t where k = ?
    fields: samerow
";

fn run(profile: &str, ops: &str) -> Result<Import, Diagnostics> {
    let read = |_: &str| Ok(profile.to_owned());
    let words = [format!("user profile=p.yaml ops({ops}) n=100")];
    crate::stress::plan::import(&words, 1, &read)
}

fn notes(profile: &str, ops: &str) -> String {
    run(profile, ops)
        .unwrap_or_else(|mistakes| panic!("{mistakes}"))
        .notes
        .join("\n")
}

#[test]
fn the_last_of_duplicate_keys_counts_and_both_places_are_named() {
    let twice = format!("{PROFILE}  get:\n    cql: select v from t where k = ?\n");
    let import = run(&twice, "get=1").expect("a profile");
    assert_eq!(
        import.steps[0].program.statements()[0].cql,
        "select v from \"ks\".t where k = ?"
    );
    let said = import.notes.join("\n");
    assert!(
        said.contains(
            "get occurs twice; like cassandra-stress, cassay uses p.yaml:13, not p.yaml:10"
        ),
        "{said}"
    );
}

#[test]
fn an_unreadable_query_is_a_mistake_only_if_a_run_uses_it() {
    let broken = format!("{PROFILE}  lost:\n    cql: select * from t where gone = ?\n");
    let said = notes(&broken, "insert=1,get=1");
    assert!(
        said.contains(
            "this command does not use query lost, which is invalid: line 14: `gone` is not a \
             column"
        ),
        "{said}"
    );
    let mistakes = run(&broken, "insert=1,lost=1").expect_err("gone is not a column");
    assert_eq!(mistakes.list.len(), 1, "{mistakes}");
    assert_eq!(mistakes.list[0].line, 14, "{mistakes}");
}

#[test]
fn rows_of_a_view_or_of_another_table_are_compared_with_nothing() {
    for (from, compared) in [
        ("t", true),
        ("ks.T", true),
        ("\"ks\".\"t\"", true),
        ("t_by_v", false),
        ("other.t", false),
    ] {
        let profile = PROFILE.replace("from t where", &format!("from {from} where"));
        let import = run(&profile, "get=1").expect("a profile");
        let said = import.notes.join("\n");
        assert_eq!(
            import.steps[0].program.statements()[0].verifies,
            compared,
            "{from}"
        );
        assert_eq!(
            said.contains("another table or view"),
            !compared,
            "{from}: {said}"
        );
    }
}

/// Returns the verdict on an empty answer to the first read of a step.
fn empty_answer(step: &ImportStep) -> Check {
    let mut generator = step.program.generator(step.stage);
    let mut operations = (0..100).map(|n| generator.begin(n));
    let is_read = |statement: u16| step.program.statements()[usize::from(statement)].returns_rows;
    let read = operations
        .find(|operation| is_read(operation.statement))
        .expect("a read among a hundred");
    // This is a result of kind Rows without metadata. It has two columns and no rows.
    let body: Vec<u8> = [2i32, 4, 2, 0].into_iter().flat_map(i32::to_be_bytes).collect();
    let rows = cql::response::RawRows::parse(&body).expect("the body is well-formed");
    generator.check(read, &rows)
}

#[test]
fn an_absent_partition_is_missing_unless_the_run_writes_it() {
    for (ops, expected) in [
        ("get=1", Check::Missing),
        ("insert=1,get=1", Check::Unknown),
        ("insert=1,validate=1", Check::Missing),
    ] {
        let import = run(PROFILE, ops).expect("a profile");
        assert_eq!(empty_answer(&import.steps[0]), expected, "{ops}");
        let said = import.notes.join("\n");
        let may_miss = said.contains("perhaps no operation has written the partition yet");
        assert_eq!(may_miss, expected == Check::Unknown, "{ops}: {said}");
    }
}

#[test]
fn a_specification_of_no_column_has_no_effect_and_is_said() {
    let more = PROFILE.replace("queries:", "  - {name: kk, cluster: fixed(5)}\nqueries:");
    let said = notes(&more, "insert=1");
    for part in ["p.yaml:9: the table has no column kk", "did you mean `k`"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_divisor_may_be_in_thousands_millions_or_billions() {
    for (select, share) in [
        ("fixed(5)/10", 0.5),
        ("fixed(5)/1k", 0.005),
        ("fixed(2)/10240M", 2.0 / 10_240e6),
    ] {
        let ratio = Ratio::parse(select).unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!(ratio.max(), share, "{select}");
    }
}

#[test]
fn a_mistake_has_its_place_in_the_file_and_a_correction() {
    for (old, new, line, message, hint) in [
        ("v text);", "v text WITH x);", 6, "expected `", ""),
        (
            "k int PRIMARY",
            "k\n  int,, PRIMARY",
            7,
            "expected a name",
            "",
        ),
        (
            "table_definition: |\n  CREATE TABLE t (k int PRIMARY KEY, v text);\n",
            "",
            1,
            "`table_definition` is missing",
            "reads the definition from an existing table",
        ),
        (
            "queries:",
            "insert: {pervisit: fixed(1)/2}\nqueries:",
            9,
            "`pervisit`",
            "`select`",
        ),
        (
            "queries:",
            "insert: {visits: fixed(2)}\nqueries:",
            9,
            "`visits`",
            "-insert visits=",
        ),
        (
            "get:\n    cql: select * from t where k = ?\n    fields: samerow\n",
            "get: select * from t where k = ?\n",
            10,
            "must be a mapping",
            "`get: {cql:",
        ),
    ] {
        assert!(PROFILE.contains(old), "{old}");
        let mistakes = run(&PROFILE.replace(old, new), "insert=1,get=1").expect_err(new);
        let said = format!("{new}: {mistakes}");
        assert_eq!(mistakes.list.len(), 1, "{said}");
        let mistake = &mistakes.list[0];
        assert_eq!(mistake.line, line, "{said}");
        assert!(mistake.message.contains(message), "{said}");
        assert!(
            mistake.hint.as_deref().unwrap_or("").contains(hint),
            "{said}"
        );
    }
}

#[test]
fn an_unreadable_profile_is_a_mistake_of_the_word_that_names_it() {
    let read = |_: &str| Err("no such file".to_owned());
    let words = ["user ops(insert=1) profile=p.yaml".to_owned()];
    let mistakes = crate::stress::plan::import(&words, 1, &read).expect_err("no file");
    assert_eq!(mistakes.list[0].column, 20, "{mistakes}");
}

#[test]
fn a_profile_is_a_file_of_this_machine_only() {
    for (name, path) in [
        ("p.yaml", "p.yaml"),
        ("/a/p.yaml", "/a/p.yaml"),
        ("file:///a/p.yaml", "/a/p.yaml"),
        ("file:////a/p.yaml", "/a/p.yaml"),
        ("file://localhost/a/p.yaml", "/a/p.yaml"),
        ("file:/a/p.yaml", "/a/p.yaml"),
        ("file:p.yaml", "p.yaml"),
    ] {
        let read = |asked: &str| {
            if asked == path {
                Ok(PROFILE.to_owned())
            } else {
                Err(format!("no {asked}"))
            }
        };
        let words = [format!("user profile={name} ops(insert=1) n=1")];
        let import = crate::stress::plan::import(&words, 1, &read);
        assert!(import.is_ok(), "{name}: {import:?}");
    }
    let read = |_: &str| Err("no such file".to_owned());
    let words = ["user profile=http://127.0.0.1/p.yaml ops(insert=1)".to_owned()];
    let mistakes = crate::stress::plan::import(&words, 1, &read).expect_err("a URL");
    let hint = mistakes.list[0].hint.as_deref().unwrap_or("");
    assert!(hint.contains("download the profile"), "{mistakes}");
}

#[test]
fn a_keyspace_without_a_definition_is_made_if_it_is_absent() {
    let start = PROFILE.find("keyspace_definition").expect("a definition");
    let end = PROFILE.find("table:").expect("a table");
    let without = [&PROFILE[..start], &PROFILE[end..]].concat();
    for (profile, made, noted) in [
        (PROFILE, "CREATE KEYSPACE ks WITH", false),
        (&without, "CREATE KEYSPACE IF NOT EXISTS \"ks\" WITH", true),
    ] {
        let import = run(profile, "insert=1").expect("a profile");
        let first = &import.steps[0].before[0];
        assert!(first.starts_with(made), "{first}");
        let said = import.notes.join("\n");
        assert_eq!(said.contains("unless it already exists"), noted, "{said}");
    }
}

#[test]
fn a_logged_batch_holds_what_one_visit_writes() {
    let wide = PROFILE
        .replace(
            "k int PRIMARY KEY, v text",
            "k int, c int, v text, PRIMARY KEY (k, c)",
        )
        .replace("{name: v, size: fixed(9)}", "{name: c, cluster: fixed(1M)}");
    let read = |_: &str| Ok(wide.clone());
    for (visits, fits) in [("1", false), ("15", false), ("16", true), ("100K", true)] {
        let words = [format!(
            "user profile=p.yaml ops(insert=1) n=50 -insert visits=FIXED({visits}) \
             revisit=FIXED(100K)"
        )];
        let import = crate::stress::plan::import(&words, 1, &read);
        assert_eq!(import.is_ok(), fits, "{visits}: {import:?}");
    }
}
