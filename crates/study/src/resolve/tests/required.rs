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
        (threads, "{p99_ms: 10, inconclusive: miss, at: every}"),
    ] {
        let good = resolve("s.yaml", &study(procedure, require), &Overrides::default());
        assert!(good.is_ok(), "{procedure} {require}: {good:?}");
    }
}

/// In an earlier version, cassay reported a wrong key or value a second time, as a missing
/// requirement.
#[test]
fn a_wrong_requirement_is_one_mistake() {
    let text = |require: &str| {
        format!(
            "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{use: standard1}}\n\
             procedure: {{fixed: {{threads: 4}}}}\nrequire: {require}\n"
        )
    };
    for (require, mistakes_count) in [
        ("{p99_ms: 0, error_rate: -1%}", 2),
        ("{error_rate: 150%}", 1),
        ("{throughput: 1M}", 1),
        ("{at: [4], throughput: 1M}", 1),
        ("5", 1),
        ("{}", 1),
        ("", 1),
        ("{at: every, inconclusive: miss}", 1),
    ] {
        let out = resolve("s.yaml", &text(require), &Overrides::default()).expect_err(require);
        assert_eq!(out.list.len(), mistakes_count, "{require}: {out}");
        let is_said = out.to_string().contains("`require` requires nothing");
        let names_none = !require.contains(['%', '1', '5']);
        assert_eq!(is_said, names_none, "{require}: {out}");
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
