//! Tests bindings and anchors in the forms that YAML and NoSQLBench allow. Also tests that the
//! import refuses other forms.

use super::imported;
use workload::Stage;

/// Returns a file with these lines of bindings and one operation.
fn file(bindings: &str, operation: &str) -> String {
    format!(
        "scenarios:\n  default:\n    fill: run driver=cqld4 tags==block:fill cycles===5\n\
         bindings:{bindings}\nblocks:\n  schema:\n    ops:\n      tb: create table shop.t (k text \
         primary key, v text, n bigint)\n  fill:\n    ops:\n      f:\n        {operation}\n"
    )
}

const PLAIN: &str = "\n  k: Mod(100); ToString()\n  v: NumberNameToString()\n  n: Identity()";
const INSERT: &str = "stmt: insert into shop.t (k, v, n) values ({k}, {v}, {n})";

#[test]
fn yaml_quotes_around_names_and_recipes_change_nothing() {
    let sent = |bindings: &str| {
        let import = imported(&file(bindings, INSERT), &[]).unwrap();
        import.steps[0].program.fingerprint_of(Stage::Main, 5).to_string()
    };
    let plain = sent(PLAIN);
    for bindings in [
        "\n  'k': 'Mod(100); ToString()'\n  \"v\": \"NumberNameToString()\"\n  n: Identity();",
        "\n  k: |\n    Mod(100);\n    ToString()\n  v: >\n    NumberNameToString()\n  n: >-\n    \
         Identity()",
        " {k: 'Mod(100); ToString()', v: NumberNameToString(), n: Identity()}",
    ] {
        assert_eq!(sent(bindings), plain, "{bindings}");
    }
    let template = |recipe: &str| sent(&PLAIN.replace("NumberNameToString()", recipe));
    assert_eq!(
        template("'Template(''u-{}'', Identity())'"),
        template("Template(\"u-{}\", Identity())")
    );
}

#[test]
fn bindings_that_nosqlbench_misreads_are_refused_with_advice() {
    for (bindings, message, hint) in [
        (
            "\n  - k: Mod(100); ToString()",
            "bindings must be a map, not a list",
            "without a dash",
        ),
        (
            " \"k=Identity()\"",
            "bindings must be a map, not",
            "`name: Recipe()`",
        ),
        (
            "\n  k: 5\n  v: NumberNameToString()\n  n: Identity()",
            "expected a function",
            "FixedValue(5)",
        ),
        (
            "\n  k: \"'Identity()'\"\n  v: NumberNameToString()\n  n: Identity()",
            "expected a function",
            "remove the inner quotes",
        ),
        (
            "\n  k: [Identity()]\n  v: NumberNameToString()\n  n: Identity()",
            "must be a recipe, not a list",
            "",
        ),
        (
            "\n  k: Mod(TEMPLATE(keys)); ToString()\n  v: NumberNameToString()\n  n: Identity()",
            "template parameter keys has neither",
            "TEMPLATE(keys,DEFAULT)",
        ),
    ] {
        let said = imported(&file(bindings, INSERT), &[]).unwrap_err();
        assert!(
            said.contains(message) && said.contains(hint),
            "{bindings}: {said}"
        );
    }
}

#[test]
fn anchors_where_no_value_can_stand_are_refused_with_a_way_out() {
    let raw = |values: &str| format!("raw: \"insert into shop.t (k, v, n) values ({values})\"");
    for (operation, message, hint) in [
        (
            raw("'user-{k}', {v}, {n}"),
            "is in quotes",
            "Template('a-{}'",
        ),
        (
            raw("{{k}}, {v}, {n}"),
            "contains a recipe in NoSQLBench",
            "",
        ),
        (
            INSERT.replace("shop.t", "shop.{v}"),
            "is the name of a table",
            "TEMPLATE(v,NAME)",
        ),
        (
            INSERT.replace("shop.t", "<<keyspace>>.t"),
            "template parameter keyspace has neither",
            "add keyspace=VALUE",
        ),
    ] {
        let said = imported(&file(PLAIN, &operation), &[]).unwrap_err();
        assert!(
            said.contains(message) && said.contains(hint),
            "{operation}: {said}"
        );
    }
    let given = imported(
        &file(PLAIN, &INSERT.replace("shop.t", "<<keyspace>>.t")),
        &["keyspace=shop"],
    );
    assert!(given.is_ok());
}
