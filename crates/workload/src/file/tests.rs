//! Tests the example file, every mistake with its position, and the guarantees of generators.
//!
//! Long because one of its tables has a line for each mistake.

mod keyed;
mod shared;
use std::sync::Arc;

use super::{compile_file, no_files};
use crate::program::{BatchKind, Program, Stage};
use crate::spec::{ParamValue, Spec};
use cql::token::murmur3;

const ORDERS: &str = include_str!("../../../../workloads/orders.yaml");

const SMALL: &str = "\
keyspace: k
schema: [\"CREATE TABLE t (a bigint, b int, v text, PRIMARY KEY (a, b))\"]
values:
  a: row
  b: uniform(1..9)
  v: text(20)
statements:
  write: INSERT INTO t (a, b, v) VALUES (:a, :b, :v)
  read: SELECT a, b, v FROM t WHERE a = :a AND b = :b
load: write
verify: read
";

fn spec() -> Spec {
    Spec::new("", 1000, 7)
}

fn program(text: &str) -> Arc<Program> {
    let made = compile_file("w.yaml", text, &spec(), &no_files);
    Arc::new(made.unwrap_or_else(|mistakes| panic!("{mistakes}")))
}

/// Returns the values of each entry of an operation.
fn values(program: &Arc<Program>, stage: Stage, n: u64) -> Vec<Vec<Vec<u8>>> {
    let mut generator = program.generator(stage);
    generator.begin(n);
    let mut entries = Vec::new();
    for entry in 0..generator.entries() {
        let (mut bytes, mut cells) = (Vec::new(), Vec::new());
        generator.append_entry_values(entry, &mut bytes);
        let mut rest = bytes.as_slice();
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let (cell, after) = after.split_at(u32::from_be_bytes(*length) as usize);
            cells.push(cell.to_vec());
            rest = after;
        }
        let statement = &program.statements()[usize::from(generator.entry_statement(entry))];
        assert_eq!(cells.len(), usize::from(statement.values_count));
        entries.push(cells);
    }
    entries
}

#[test]
fn the_example_compiles_and_every_kind_can_be_generated() {
    let program = program(ORDERS);
    assert_eq!(program.keyspace(), "shop");
    assert_eq!(program.tables().len(), 4);
    assert_eq!(program.kinds().len(), 7);
    let create = &program.schema().create_tables;
    assert!(
        create[0].starts_with("CREATE TYPE IF NOT EXISTS \"shop\".address"),
        "{create:?}"
    );
    assert!(
        create[5].contains("IF NOT EXISTS orders_status ON \"shop\".orders"),
        "{create:?}"
    );
    let statement = |name: &str| {
        let kind = program.kinds().iter().position(|kind| kind.name == name).unwrap();
        let found = program.statements().iter().find(|s| usize::from(s.kind) == kind);
        found.unwrap().clone()
    };
    assert_eq!(statement("place").batch, Some(BatchKind::Logged));
    assert!(statement("look_up").verifies && statement("look_up").returns_rows);
    assert!(statement("claim").conditional && !statement("claim").idempotent);
    assert_eq!(statement("history").page_size, Some(5));
    assert!(statement("fill_cart").client_timestamp);
    assert!(statement("recent").cql.contains("FROM \"shop\".orders_by_customer"));
    assert!(statement("recent").cql.contains("placed >= ? LIMIT ?"));

    let mut seen = vec![0; program.kinds().len()];
    let mut generator = program.generator(Stage::Main);
    for n in 0..1000 {
        let operation = generator.begin(n);
        assert!(generator.token().is_some());
        seen[usize::from(operation.kind)] += 1;
        values(&program, Stage::Main, n);
    }
    assert_eq!(seen, [100, 500, 150, 50, 120, 30, 50]);
}

#[test]
fn a_logged_batch_writes_one_order_to_both_tables() {
    let program = program(ORDERS);
    for n in 0..50 {
        let entries = values(&program, Stage::Load, n);
        let [order, by_customer] = &entries[..] else {
            panic!("{} entries", entries.len());
        };
        // The first statement binds id, customer, placed and total. The second statement binds
        // customer, placed, id and total.
        let same = [&order[1], &order[2], &order[0], &order[4]];
        assert_eq!(
            same.map(Vec::as_slice),
            [0, 1, 2, 3].map(|i| by_customer[i].as_slice())
        );
        assert_eq!(order[1], (n / 20).to_be_bytes());
        let mut generator = program.generator(Stage::Load);
        generator.begin(n);
        assert_eq!(generator.token(), Some(murmur3(&order[0])));
    }
}

#[test]
fn one_seed_makes_the_same_work_and_another_seed_other_work() {
    let of = |seed: u64| {
        let made = compile_file("w.yaml", ORDERS, &Spec { seed, ..spec() }, &no_files).unwrap();
        Arc::new(made).fingerprint(200)
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn values_per_operation_change_and_values_per_row_do_not() {
    let text = SMALL
        .replace("v: text(20)", "v: {is: text(20), per: operation}")
        .replace("verify: read\n", "rows: fixed(3)\nmix: {write: 1}\n");
    let program = program(&text);
    let [first, second] = [5, 6].map(|n| values(&program, Stage::Main, n).remove(0));
    assert_eq!(first[..2], second[..2]);
    assert_ne!(first[2], second[2]);
    let loaded = values(&program, Stage::Load, 5).remove(0);
    assert_ne!(first[2], loaded[2], "stages draw apart");
}

#[test]
fn several_load_statements_follow_each_other_with_one_row() {
    let text = SMALL
        .replace(
            "PRIMARY KEY (a, b))\"",
            "PRIMARY KEY (a, b))\", \"CREATE TABLE u (a bigint PRIMARY KEY)\"",
        )
        .replace(
            "statements:\n",
            "statements:\n  also: INSERT INTO u (a) VALUES (:a)\n",
        )
        .replace("load: write", "load: [write, also]");
    let program = program(&text);
    let mut generator = program.generator(Stage::Load);
    let mut operation = generator.begin(9);
    let lead = &program.statements()[usize::from(operation.statement)];
    assert!(lead.cql.contains(".t "));
    operation.statement = lead.then.unwrap();
    let next = &program.statements()[usize::from(operation.statement)];
    assert!(next.cql.contains(".u ") && next.then.is_none() && next.kind == lead.kind);
    generator.seek(operation);
    let mut bytes = Vec::new();
    generator.append_values(&mut bytes);
    assert_eq!(bytes, [&[0, 0, 0, 8][..], &9u64.to_be_bytes()].concat());
    let mut main = program.generator(Stage::Main);
    for n in 0..20 {
        let operation = main.begin(n);
        assert_eq!(
            program.statements()[usize::from(operation.statement)].then,
            None
        );
    }
}

#[test]
fn a_batch_of_a_size_has_rows_of_one_partition_or_of_each() {
    for (partition, distinct) in [("same", 1), ("each", 4)] {
        let batch = format!("    batch: {{kind: unlogged, size: 4, partition: {partition}}}\n");
        let text = SMALL
            .replace(
                "statements:\n",
                &format!(
                    "statements:\n  many:\n    \
                     cql: INSERT INTO t (a, b, v) VALUES (:a, :b, :v)\n{batch}"
                ),
            )
            .replace("verify: read\n", "mix: {many: 1}\n");
        let program = program(&text);
        let mut keys: Vec<_> = values(&program, Stage::Main, 1)
            .into_iter()
            .map(|mut cells| cells.remove(0))
            .collect();
        assert_eq!(keys.len(), 4);
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), distinct, "{partition}");
    }
}

#[test]
fn the_study_replaces_keyspace_mix_values_and_rows() {
    let mut spec = spec();
    spec.keyspace = Some("other".to_owned());
    spec.mix = vec![("write".to_owned(), 1.0)];
    spec.params.insert("v".to_owned(), ParamValue::Text("text(3)".to_owned()));
    spec.params.insert("rows".to_owned(), ParamValue::Text("fixed(4)".to_owned()));
    let program = Arc::new(compile_file("w.yaml", SMALL, &spec, &no_files).unwrap());
    assert_eq!(program.keyspace(), "other");
    for n in 0..10 {
        let cells = values(&program, Stage::Main, n).remove(0);
        assert_eq!(
            (cells[0].as_slice(), cells[2].len()),
            (&4u64.to_be_bytes()[..], 3)
        );
    }
    spec.params.insert("w".to_owned(), ParamValue::Int(3));
    spec.mix = vec![("wirte".to_owned(), 1.0)];
    let mistakes = compile_file("w.yaml", SMALL, &spec, &no_files).unwrap_err().to_string();
    assert!(
        mistakes.contains("the study's mix:1:1: statement `wirte` does not exist"),
        "{mistakes}"
    );
    assert!(mistakes.contains("the study's params.w:1:1"), "{mistakes}");
}

/// Changes the small file, and returns its mistakes with their positions.
fn mistakes(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "{from}");
    let made = compile_file("w.yaml", &SMALL.replacen(from, to, 1), &spec(), &no_files);
    made.map_or_else(|mistakes| mistakes.to_string(), |_| "nothing".to_owned())
}

/// Cases of mistakes. Each case has the text to replace in the small file, the replacement, and the
/// resulting message.
const MISTAKES: [(&str, &str, &str); 38] = [
    (
        "keyspace: k",
        "keyspcae: k",
        "1:1: `keyspcae` is not a key of a workload file\n  hint: did you mean `keyspace`?",
    ),
    (
        "keyspace: k",
        "keyspace: a-b",
        "1:11: keyspace \"a-b\" is not a valid name",
    ),
    ("v text,", "v txet,", "2:"),
    (
        "SELECT a, b, v",
        "SELECT a, b, w",
        "9:22: the table t has no column `w`",
    ),
    (
        "AND b = :b",
        "AND b = :b LIMTI 5",
        "9:55: `limti` is not allowed here\n  hint: did you mean `LIMIT`?",
    ),
    (
        "INSERT INTO t (a, b, v) VALUES (:a, :b, :v)",
        "UPDATE t SET v = :v WHERE a = :a",
        "8:30: this UPDATE does not select which row it affects: b missing from the key\n  hint: b \
         = :b",
    ),
    (
        "INSERT INTO t (a, b, v) VALUES (:a, :b, :v)",
        "INSERT INTO t (b, v) VALUES (:b, :v)",
        "8:24: this INSERT does not select which row it affects: a missing from the key",
    ),
    (
        "a: row",
        "a: rwo",
        "4:6: function `rwo` for values does not exist",
    ),
    (
        "a: row",
        "a: uniform(1..9",
        "4:13: the parenthesis that opens here is not closed",
    ),
    (
        "a: row",
        "a: row(modulo=0)",
        "4:6: divide and modulo must be at least 1",
    ),
    (
        "a: row",
        "a: row(modolu=3)",
        "4:17: row has no argument `modolu` (column t.a)\n  hint: did you mean `modulo`?",
    ),
    (
        "uniform(1..9)",
        "uniform(1..9G)",
        "5:6: `uniform(1..9G)` reaches 9000000000; int ends at 2147483647 (column t.b)",
    ),
    (
        "uniform(1..9)",
        "9..1",
        "5:6: `9..1` is a range, not a value",
    ),
    (
        "uniform(1..9)",
        "uniform",
        "5:6: `uniform` requires a range",
    ),
    (
        "uniform(1..9)",
        "text(3)",
        "5:6: `text(3)` generates no values of type int (column t.b)",
    ),
    (
        "uniform(1..9)",
        "\"'nine'\"",
        "5:7: `'nine'` is not a constant of type int",
    ),
    ("text(20)", "text(20M)", "6:11: `20M` goes from 20000000"),
    (
        "text(20)",
        "text(20, compressible=2)",
        "6:28: `2` is not a share from 0 to 1",
    ),
    (
        "text(20)",
        "{is: text(20), pre: row}",
        "6:21: `pre` is not a key of a value",
    ),
    (
        "text(20)",
        "{is: text(20), per: rwo}",
        "6:26: per must be row or operation",
    ),
    (
        "text(20)",
        "{is: text(20), type: txet}",
        "6:27: `txet` is not a CQL type",
    ),
    (
        "text(20)",
        "timestamp(start='2024-02-30')",
        "6:22: `'2024-02-30'` is not a point in time",
    ),
    (
        "(a, b, v) VALUES",
        "(a, b, w) VALUES",
        "8:31: the table t has no column `w`",
    ),
    (
        ":a, :b, :v)",
        ":a, :b, :x)",
        "8:50: the marker :x has no value",
    ),
    (":a, :b, :v)", ":a, :b, ?)", "8:50: this marker has no name"),
    ("INTO t", "INTO tt", "8:22: no table `tt` in the schema"),
    (
        "INSERT INTO t",
        "INSRET INTO t",
        "8:10: `insret` is not SELECT, INSERT, UPDATE or DELETE",
    ),
    ("a = :a AND", "f(a, 1) + f(:a) AND", "9:"),
    ("a = :a AND", "a = 'x AND", "9:"),
    (
        "load: write",
        "load: wirte",
        "10:7: statement `wirte` does not exist\n  hint: did you mean `write`?",
    ),
    (
        "load: write",
        "load: read",
        "10:7: read: the load stage writes, but this statement reads",
    ),
    (
        "load: write\n",
        "",
        "10:9: cassay compares the rows of reads with the rows that `load` writes, but the file \
         has no `load`",
    ),
    (
        "verify: read",
        "verify: raed",
        "11:9: statement `raed` does not exist",
    ),
    (
        "verify: read",
        "mix: {raed: 1}",
        "11:7: statement `raed` does not exist",
    ),
    (
        "verify: read",
        "mix: {read: -1}",
        "11:13: the weight of read must be a number from 0",
    ),
    (
        "verify: read",
        "mix: {read: 0}",
        "11:13: the weights add up to 0",
    ),
    (
        "verify: read",
        "rows: zipff",
        "11:7: \"zipff\" is not a distribution",
    ),
    (
        "verify: read",
        "rows: uniform(0..5k)",
        "11:7: `uniform(0..5k)` reaches beyond the rows 0 to 999",
    ),
];

#[test]
fn every_mistake_has_its_line_and_column() {
    let mut failed = Vec::new();
    for (from, to, expected) in MISTAKES {
        let found = mistakes(from, to);
        if !found.contains(&format!("w.yaml:{expected}")) {
            failed.push(format!("{to}, expected {expected}:\n{found}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn of_a_misspelt_section_only_its_name_is_said() {
    for (from, to) in [
        ("statements:", "statments:"),
        ("schema:", "shcema:"),
        ("values:", "vaules:"),
        ("load:", "laod:"),
    ] {
        let made = compile_file("w.yaml", &SMALL.replacen(from, to, 1), &spec(), &no_files);
        let mistakes = made.expect_err(to);
        assert_eq!(mistakes.list.len(), 1, "{mistakes}");
        assert!(
            mistakes
                .to_string()
                .contains(&format!("did you mean `{}`", &from[..from.len() - 1]))
        );
    }
}

#[test]
fn counters_are_in_batches_of_their_own() {
    let with = |parts: &str, batch: &str| {
        let text = SMALL
            .replace(
                "PRIMARY KEY (a, b))\"",
                "PRIMARY KEY (a, b))\", \"CREATE TABLE c (a bigint PRIMARY KEY, n counter)\"",
            )
            .replace(
                "statements:\n",
                &format!("statements:\n  s: {{cql: [{parts}], {batch}}}\n"),
            )
            .replace("verify: read\n", "");
        let made = compile_file("w.yaml", &text, &spec(), &no_files);
        made.map_or_else(|mistakes| mistakes.to_string(), |_| "nothing".to_owned())
    };
    let counts = "\"UPDATE c SET n = n + :b WHERE a = :a\"";
    let writes = "\"UPDATE t SET v = :v WHERE a = :a AND b = :b\"";
    for (parts, batch, expected) in [
        (
            format!("{counts}, {counts}"),
            "batch: {kind: logged}",
            "write `batch: {kind: counter}`",
        ),
        (
            format!("{counts}, {counts}"),
            "kind: write",
            "write `batch: {kind: counter}`",
        ),
        (
            format!("{counts}, {writes}"),
            "batch: {kind: counter}",
            "in one batch",
        ),
        (
            format!("{writes}, {writes}"),
            "batch: {kind: counter}",
            "may contain only counters",
        ),
        (
            format!("{counts}, {counts}"),
            "batch: {kind: counter}",
            "nothing",
        ),
        (counts.to_owned(), "kind: write", "nothing"),
    ] {
        let found = with(&parts, batch);
        assert!(found.contains(expected), "{parts} {batch}: {found}");
    }
}

#[test]
fn options_that_do_not_fit_their_statement_are_refused() {
    let option = |cql: &str, option: &str| {
        mistakes(
            "statements:\n",
            &format!("statements:\n  s:\n    cql: {cql}\n    {option}\n"),
        )
    };
    let read = "SELECT v FROM t WHERE a = :a";
    let write = "INSERT INTO t (a, b, v) VALUES (:a, :b, :v)";
    for (cql, stated, expected) in [
        (
            read,
            "batch: {size: 3}",
            "a batch cannot contain a SELECT: use separate statements",
        ),
        (
            read,
            "rows: new",
            "`rows: new` is not possible for a read, which adds no rows",
        ),
        (read, "pages_max: 3", "pages_max needs a page_size"),
        (
            read,
            "page_size: 0",
            "10:16: page_size is `0`; it must be 1 to 2147483647",
        ),
        (read, "consistency: most", "10:18: "),
        (
            read,
            "serial_consistency: ONE",
            "it can be SERIAL or LOCAL_SERIAL",
        ),
        (
            read,
            "timestamp: client",
            "10:5: `timestamp` is not a key of a statement",
        ),
        (
            write,
            "page_size: 5",
            "only a SELECT has pages: remove page_size and pages_max",
        ),
        (write, "batch: {kind: loged}", "did you mean `logged`?"),
        (
            write,
            "batch: {size: 100k}",
            "the allowed range is 1 to 65535",
        ),
        (
            write,
            "idempotent: perhaps",
            "idempotent is `perhaps`; it can be true or false",
        ),
    ] {
        let found = option(cql, stated);
        assert!(found.contains(expected), "{stated}:\n{found}");
    }
}

#[test]
fn a_read_that_cannot_be_checked_is_refused_with_the_reason() {
    let with =
        |statement: &str| mistakes("statements:\n", &format!("statements:\n  s: {statement}\n"));
    for (found, expected) in [
        (mistakes("SELECT a, b, v", "SELECT *"), "name its columns"),
        (
            mistakes("a = :a AND b = :b", "a = :a"),
            "must contain b = :value",
        ),
        (
            mistakes("a: row", "a: uniform(1..9)"),
            "two rows may have the same primary key",
        ),
        (
            mistakes("v: text(20)", "v: {is: text(20), per: operation}"),
            "which has `per: operation`, so reads cannot expect it: write `per: row`",
        ),
        (
            with("DELETE FROM t WHERE a = :a"),
            "s deletes from the table",
        ),
        (
            with("UPDATE t SET v = 'x' WHERE a = :a AND b = :b"),
            "s writes a value to v that differs from the loaded value",
        ),
        (
            with("UPDATE t USING TTL 5 SET v = :v WHERE a = :a AND b = :b"),
            "s writes with a TTL",
        ),
    ] {
        assert!(found.contains("cassay cannot check read"), "{found}");
        assert!(found.contains(expected), "{found}");
    }
    let same = with("UPDATE t SET v = :v WHERE a = :a AND b = :b");
    assert_eq!(same, "nothing", "the same value again changes nothing");
}

#[test]
fn every_type_has_values_that_decode() {
    for (typ, expression) in [
        ("tinyint", "hash"),
        ("smallint", "uniform(0..9)"),
        ("bigint", "-5"),
        ("varint", "hash"),
        ("decimal", "real(-1..1)"),
        ("decimal", "-12.50"),
        ("float", "real(0..1)"),
        ("double", "gaussian(1..100)"),
        ("boolean", "boolean(0.9)"),
        ("boolean", "true"),
        ("ascii", "text(0..9)"),
        ("text", "row(divide=3, from=10)"),
        ("blob", "0x0aFF"),
        ("inet", "inet"),
        ("inet", "10.1.2.3"),
        ("date", "timestamp(step=1d)"),
        ("date", "'2024-02-29'"),
        ("time", "timestamp(step=1h)"),
        ("time", "'12:30:01.5'"),
        ("timestamp", "'2024-02-29T12:00:00Z'"),
        ("timeuuid", "timeuuid(start='2020-01-01')"),
        ("uuid", "hash"),
        ("duration", "'1mo2d3h'"),
        ("list<text>", "list(words(a, b), 0..3)"),
        ("set<int>", "set(row, 4)"),
        (
            "map<text, frozen<list<int>>>",
            "map(text(3), list(row, 2), 2)",
        ),
        ("tuple<int, text>", "tuple(uniform(1..9), text(3))"),
        ("vector<float, 3>", "vector(real(0..1))"),
        ("vector<text, 2>", "vector(text(1..300))"),
    ] {
        let text = SMALL
            .replace("v text,", &format!("v {typ},"))
            .replace("v: text(20)", &format!("v: \"{expression}\""))
            .replace("verify: read\n", "");
        let program = program(&text);
        let create = &program.schema().create_tables[0];
        let Ok(crate::schema::DefinedObject::Table(table)) = crate::schema::parse(create, &[])
        else {
            panic!("{create}");
        };
        let typ = &table.columns[2].typ;
        for n in 0..50 {
            let cell = values(&program, Stage::Load, n).remove(0).remove(2);
            let value = cql::value::decode(typ, Some(&cell))
                .unwrap_or_else(|error| panic!("{typ} {expression}: {error}"));
            let mut again = Vec::new();
            value.append(&mut again);
            assert_eq!(again, cell, "{typ} {expression}");
        }
    }
}
