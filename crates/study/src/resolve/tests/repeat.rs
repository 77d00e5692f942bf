//! Tests repetitions: the number of blocks, and the end of a run.

use super::*;

/// cassay refuses two keys for the number of blocks, because they exclude each other. It also
/// refuses `until: answered` if the study has no question to answer.
#[test]
fn blocks_added_until_answered_are_refused_without_a_question() {
    let study = |rest: &str| {
        let text = format!(
            "study: s\nquestion: q\ntarget: {{null: {{}}}}\nworkload: {{use: standard1}}\n{rest}"
        );
        resolve("s", &text, &Overrides::default()).map_err(|mistakes| mistakes.to_string())
    };
    const SIDES: &str = "variants: {a: {}, b: {}}\nprocedure: {fixed: {threads: 4}}\n";
    let with = |repeat: &str| study(&format!("{SIDES}repeat: {{{repeat}}}\n"));
    let found = with("until: answered, min: 5, max: 9, detect: 2.5%, primary: p99").unwrap();
    assert_eq!((found.repeat.blocks, found.repeat.first_look), (9, Some(5)));
    assert_eq!(found.repeat.detect, Some(0.025));
    assert_eq!(
        found.primary.metric,
        crate::settings::PrimaryMetric::Named("latency_ms.p99")
    );
    let found = with("until: answered").unwrap();
    assert_eq!(
        (found.repeat.blocks, found.repeat.first_look),
        (12, Some(4))
    );
    // A file in the older form keeps its meaning.
    let found = with("blocks: 5").unwrap();
    assert_eq!((found.repeat.blocks, found.repeat.first_look), (5, None));
    for (repeat, expected) in [
        (
            "until: answered, blocks: 5",
            "`repeat.blocks` is a fixed number",
        ),
        ("until: answered, min: 9, max: 5", "above `repeat.max`"),
        ("until: answered, min: 2", "the minimum is 3"),
        ("until: answered, max: 51", "the maximum is 50"),
        ("until: answered, order: sequential", "block by block"),
        ("min: 4", "no effect without `until: answered`"),
        ("detect: 0", "the minimum is 0.1%"),
        ("detect: five", "write a share such as 5%"),
        ("until: soon", "it must be one of blocks, answered"),
    ] {
        let said = with(repeat).unwrap_err();
        assert!(said.contains(expected), "{repeat}: {said}");
    }
    let repeat = "repeat: {until: answered, primary: p99}\n";
    for (rest, expected) in [
        ("procedure: {fixed: {threads: 4}}\n", "has only one variant"),
        (
            "variants: {a: {}}\nprocedure: {fixed: {threads: 4}}\n",
            "has only one variant",
        ),
        (
            "variants: {a: {}, b: {}}\nprocedure: {endurance: {threads: 4, for: 1h}}\n",
            "compares windows of one",
        ),
        (
            "variants: {a: {}, b: {}}\nprocedure: {fixed: {threads: 4}}\n\
             primary: {metric: p50}\n",
            "both set the metric",
        ),
    ] {
        let said = study(&format!("{rest}{repeat}")).unwrap_err();
        assert!(said.contains(expected), "{rest}: {said}");
    }
    // cassay compares searches by the loads that they find.
    let search = "variants: {a: {}, b: {}}\nprocedure: {band: {threads: {from: 1, to: 4, step: 1}, \
                  p99_ms: [1, 2]}}\n";
    study(&format!("{search}repeat: {{until: answered}}\n")).unwrap();
}
