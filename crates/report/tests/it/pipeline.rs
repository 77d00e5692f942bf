//! Tests the output for pipelines, which is JUnit XML and Markdown.

use crate::fixture;
use analysis::procedure::Point;
use quick_xml::Reader;
use quick_xml::events::Event;
use report::RunView;
use std::collections::BTreeMap;
use store::record::RequirementRecord;

fn required(metric: &str, outcome: &str, says: &str) -> RequirementRecord {
    RequirementRecord {
        metric: store::record::RequiredMetric::from_name(metric).expect("a word"),
        variant: "off".into(),
        point: Some(Point::Threads(28)),
        bound: store::record::Bound::AtMost,
        limit: 10.0,
        value: Some(12.0),
        ci95: Some([11.0, 13.0]),
        outcome: store::record::RequirementOutcome::from_name(outcome).expect("a word"),
        says: says.into(),
        ..RequirementRecord::default()
    }
}

/// Returns the fixture with a missed, an inconclusive and a met requirement. One of them contains
/// text that XML cannot contain.
fn view() -> RunView {
    let mut view = fixture::run(1);
    view.findings.requirements = vec![
        required(
            "p99_ms",
            "missed",
            "p99 <is> \"12\" & ]]> \u{1b}[31m too much.",
        ),
        required("p95_ms", "inconclusive", "who knows"),
        required("p50_ms", "met", "fine"),
    ];
    view.plan.question = "Is <a> & b \u{0} better?".into();
    view
}

/// Returns every element with its attributes, in order.
fn parsed(xml: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let mut reader = Reader::from_str(xml);
    let mut elements = Vec::new();
    let text = |bytes: &[u8]| std::str::from_utf8(bytes).expect("UTF-8").to_owned();
    loop {
        match reader.read_event().expect("well-formed XML") {
            Event::Start(element) | Event::Empty(element) => {
                let attributes = element.attributes().map(|attribute| {
                    let attribute = attribute.expect("an attribute");
                    let value = text(&attribute.value);
                    let value = quick_xml::escape::unescape(&value).expect("escaped text");
                    (text(attribute.key.as_ref()), value.into_owned())
                });
                elements.push((text(element.name().as_ref()), attributes.collect()));
            }
            Event::Eof => return elements,
            _ => {}
        }
    }
}

#[test]
fn junit_has_a_case_for_the_run_each_trial_and_each_requirement() {
    let view = view();
    let elements = parsed(&report::junit(&view).unwrap());
    let of = |name: &str| elements.iter().filter(|(n, _)| n == name).collect::<Vec<_>>();
    let suite = &of("testsuite")[0].1;
    assert_eq!(suite["name"], view.plan.study);
    for (attribute, counted) in [
        ("tests", "testcase"),
        ("failures", "failure"),
        ("errors", "error"),
        ("skipped", "skipped"),
    ] {
        assert_eq!(
            suite[attribute],
            of(counted).len().to_string(),
            "{attribute}"
        );
    }
    assert_eq!(of("testcase").len(), 1 + view.plan.trials.len() + 3);
    assert_eq!(of("failure").len(), 1);
    // An inconclusive requirement must count neither as a failure nor as a pass.
    assert!(of("skipped").iter().any(|(_, a)| a["message"] == "who knows"));
    let invalid = view
        .findings
        .trials
        .iter()
        .filter(|t| t.verdict == store::record::Verdict::Invalid);
    assert_eq!(
        of("error").len(),
        1 + invalid.count(),
        "the run, and its invalid trials"
    );
    for (_, attributes) in of("testcase") {
        assert!(attributes["time"].parse::<f64>().unwrap() >= 0.0);
        assert!(attributes["classname"].starts_with(&format!("{}.", view.plan.study)));
    }
}

#[test]
fn no_text_of_a_run_breaks_junit() {
    let xml = report::junit(&view()).unwrap();
    let elements = parsed(&xml);
    assert!(!xml.contains(['\u{0}', '\u{1b}']), "XML cannot hold them");
    let failure = elements.iter().find(|(name, _)| name == "failure").unwrap();
    assert_eq!(
        failure.1["message"],
        "p99 <is> \"12\" & ]]> ?[31m too much."
    );
}

#[test]
fn markdown_has_the_answer_the_requirements_and_the_report() {
    let page = report::page(&view());
    let text = report::markdown(
        &page,
        Some("results/a b/report.html"),
        Some("results/a b/figure.svg"),
    );
    for part in [
        "## ❌ vtopology: requirements missed (invalid)",
        "**Is &lt;a&gt; &amp; b   better?**",
        "### Are the requirements met?",
        "| p99 latency ≤ 10 ms | off | 28 threads | 12.0 ms | 11.0 ms to 13.0 ms | missed |",
        "[report](results/a%20b/report.html)",
    ] {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
    // Every row of a table must have as many columns as its head.
    let tables = text.split("\n\n").filter(|part| part.starts_with("| "));
    for table in tables {
        let columns = |row: &str| row.replace("\\|", "").matches('|').count();
        let rows = table.lines().take_while(|line| line.starts_with('|'));
        let counts: Vec<usize> = rows.map(columns).collect();
        assert!(counts.windows(2).all(|two| two[0] == two[1]), "{table}");
    }
}
