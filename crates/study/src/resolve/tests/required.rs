//! Tests how cassay reads the requirements of a study.

use super::*;

#[test]
fn requirements_that_cannot_be_judged_or_met_are_mistakes() {
    let study = |procedure: &str, require: &str| {
        format!(
            "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{use: standard1}}\n\
             procedure: {procedure}\nrequire: {require}\n"
        )
    };
    let threads = "{fixed: {threads: 4}}";
    for (procedure, require, said) in [
        (threads, "{}", "`require` requires nothing"),
        (threads, "{at: 4}", "`require` requires nothing"),
        (threads, "{ratio: 0.97}", "the study has one"),
        (threads, "{p99_ms: 10, at: [8]}", "`require.at` is `8`"),
        (threads, "{p99_ms: 0}", "the minimum is 0.001"),
        (threads, "{error_rate: 200%}", "the maximum is 100%"),
        (threads, "{p99: 10}", "did you mean `p99_ms`"),
        (
            "{fixed: {rate: 5k}}",
            "{ops_per_s: 20k}",
            "at most 5000 op/s",
        ),
        (
            "{sweep: {rate: [5k, 20k]}}",
            "{ops_per_s: 20k}",
            "at most 5000 op/s",
        ),
    ] {
        let mistakes = resolve("s.yaml", &study(procedure, require), &Overrides::default())
            .unwrap_err()
            .to_string();
        assert!(mistakes.contains(said), "{procedure} {require}: {mistakes}");
    }
    for (procedure, require) in [
        ("{sweep: {rate: [5k, 20k]}}", "{ops_per_s: 20k, at: 20k}"),
        ("{sweep: {rate: [5k, 20k]}}", "{ops_per_s: 20k, at: best}"),
        (threads, "{p99_ms: 10, untold: miss, at: every}"),
    ] {
        let good = resolve("s.yaml", &study(procedure, require), &Overrides::default());
        assert!(good.is_ok(), "{procedure} {require}: {good:?}");
    }
}

#[test]
fn a_variant_may_require_something_else() {
    let text = "study: s\nquestion: q\ntarget: {null: {}}\nworkload: {use: standard1}\n\
                procedure: {fixed: {threads: 4}}\nrequire: {p99_ms: 10, ratio: 97%}\n\
                variants: {a: {}, b: {require: {p99_ms: 20}}}\n";
    let study = resolve("s.yaml", text, &Overrides::default()).unwrap();
    let required: Vec<_> = study.variants.iter().map(|v| &v.settings.require).collect();
    assert_eq!(
        (required[0].p99_ms, required[1].p99_ms),
        (Some(10.0), Some(20.0))
    );
    assert_eq!(
        (required[0].ratio, required[1].ratio),
        (Some(0.97), Some(0.97))
    );
}
