//! Compares the pages with stored copies. The tests compare the whole text of the terminal, and the
//! structure of the HTML.

use crate::{fixture, lab};
use analysis::procedure::Point;
use expect_test::{expect, expect_file};
use report::{Page, compare, html, json, page, text};

/// Returns the structure of the HTML page, without the chart library, the style and the script. The
/// result has one line for each structural element, such as a heading, a table or a figure.
fn digest(html: &str) -> String {
    let body = html.split_once("<body>").map_or("", |(_, body)| body);
    let body = body.split_once("<script type=\"text/plain\"").map_or(body, |(body, _)| body);
    let mut lines = Vec::new();
    for part in body.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or((part, ""));
        let name = tag.split([' ', '/']).next().unwrap_or("");
        match name {
            "th" if !tag.contains("scope=\"col\"") => {}
            "h1" | "h2" | "h3" | "h4" | "summary" | "option" | "caption" | "th" | "strong" => {
                lines.push(format!("{name} {}", text.trim()));
            }
            "section" => lines.push(tag.to_string()),
            "tbody" => lines.push("tbody".into()),
            "tr" => lines.push("tr".into()),
            "figure" => lines.push("figure".into()),
            _ => {}
        }
    }
    // Consecutive rows of a table become one line with the number of rows. Consecutive options also
    // become one line.
    let mut folded: Vec<(String, usize)> = Vec::new();
    for line in lines {
        let same = line == "tr" || line.starts_with("option ");
        let key = if line.starts_with("option ") {
            "option".into()
        } else {
            line
        };
        match folded.last_mut() {
            Some((last, count)) if same && *last == key => *count += 1,
            _ => folded.push((key, 1)),
        }
    }
    let line = |(text, count): (String, usize)| match count {
        1 => format!("{text}\n"),
        n => format!("{text} ×{n}\n"),
    };
    folded.into_iter().map(line).collect()
}

/// Writes the page as HTML, text and JSON to the folder `CASSAY_REPORT_OUT`, for a visual check.
/// Writes nothing if this environment variable is not set.
pub fn keep(name: &str, page: &Page) {
    let Ok(folder) = std::env::var("CASSAY_REPORT_OUT") else {
        return;
    };
    std::fs::create_dir_all(&folder).expect("make the folder");
    let write = |ending: &str, content: String| {
        std::fs::write(format!("{folder}/{name}.{ending}"), content).expect("write the page");
    };
    write("html", html(page));
    write("txt", text(page));
    write("json", json(page));
}

#[test]
fn the_terminal_shows_answer_verdict_and_tables() {
    let page = page(&fixture::run(1));
    keep("run", &page);
    expect_file!["golden/run.txt"].assert_eq(&text(&page));
}

#[test]
fn the_html_has_every_section_table_and_chart() {
    let page = page(&fixture::run(1));
    expect_file!["golden/run.html.digest"].assert_eq(&digest(&html(&page)));
}

#[test]
fn several_blocks_become_one_row_with_the_spread_between_them() {
    let page = page(&fixture::run(3));
    keep("blocks", &page);
    expect_file!["golden/blocks.txt"].assert_eq(&text(&page));
}

/// Returns the page of two runs, of which the second is faster.
pub fn comparison() -> Page {
    let (a, mut b) = (fixture::run(3), fixture::run(3));
    b.name = "vtopology/20261121T081500Z".into();
    b.facts[3].1 = "21.0.4".into();
    b.nodes[0].settings.insert("concurrent_writes".into(), "64".into());
    for (index, trial) in b.findings.trials.iter_mut().enumerate() {
        trial.all.ops_per_s *= 1.10 + 0.01 * (index % 3) as f64;
    }
    b.findings.trials.retain(|t| t.point != Some(Point::Threads(4)));
    compare(&a, &b)
}

#[test]
fn a_comparison_matches_points_and_lists_what_differs() {
    let page = comparison();
    keep("compare", &page);
    expect_file!["golden/compare.txt"].assert_eq(&text(&page));
}

#[test]
fn no_line_of_the_terminal_is_longer_than_100_columns() {
    for page in [
        page(&fixture::run(1)),
        page(&fixture::run(3)),
        page(&lab::run()),
    ] {
        for line in text(&page).lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
}

#[test]
fn json_is_the_findings_with_a_summary_beside_them() {
    let view = fixture::run(1);
    let printed: serde_json::Value = serde_json::from_str(&json(&page(&view))).expect("JSON");
    let findings: store::record::FindingsRecord =
        serde_json::from_value(printed.clone()).expect("readable as findings");
    assert_eq!(findings.trials.len(), view.findings.trials.len());
    let best = &printed["summary"]["best"];
    // The invalid trial has the highest throughput of its variant, but must not be the best point.
    let expected = expect![[r#"{"threads":64.0}"#]];
    expected.assert_eq(&best[0]["point"].to_string());
}

/// The card of the headline must name the same point as the answer above it.
#[test]
fn the_best_point_is_the_one_that_the_findings_name() {
    let mut view = fixture::run(1);
    let at = |threads: u32| Some(Point::Threads(threads));
    view.findings.sweeps = vec![store::record::SweepRecord {
        variant: view.findings.trials[0].variant.clone(),
        best: at(64),
        best_within_bound: at(16),
        ..store::record::SweepRecord::default()
    }];
    let page = page(&view);
    let printed: serde_json::Value = serde_json::from_str(&json(&page)).expect("JSON");
    let best = &printed["summary"]["best"];
    let said: Vec<String> = [0, 1].map(|at| best[at]["point"].to_string()).into();
    expect![[r#"{"threads":16.0} {"threads":128.0}"#]].assert_eq(&said.join(" "));
    assert!(html(&page).contains("highest within the limit"));
}

#[test]
fn a_run_without_findings_has_a_page() {
    let mut view = fixture::run(1);
    view.findings.trials.clear();
    view.findings.comparisons.clear();
    view.verdict = None;
    view.points.clear();
    let page = page(&view);
    assert!(text(&page).contains("verdict: not judged"));
    assert!(html(&page).contains("unfinished"));
}

#[test]
fn an_invalid_point_in_the_middle_keeps_its_place_off_the_line() {
    let mut view = fixture::run(1);
    for trial in &mut view.findings.trials {
        if trial.point == Some(Point::Threads(16)) {
            trial.verdict = store::record::Verdict::Invalid;
        }
    }
    let html = html(&page(&view));
    let figure = html.split("<script type=\"application/json\">").nth(1).expect("a figure");
    let json = figure.split("</script>").next().expect("an end");
    let figure: serde_json::Value = serde_json::from_str(json).expect("JSON");
    let order = &figure["layout"]["xaxis"]["categoryarray"];
    assert_eq!(order.to_string(), r#"["4","8","16","32","64","128"]"#);
    let series = |name: &str| {
        let all = figure["data"].as_array().expect("traces").iter();
        let found = all.clone().find(|trace| trace["name"] == name);
        found.unwrap_or_else(|| panic!("no {name}"))["x"].to_string()
    };
    assert_eq!(series("on, invalid"), r#"["16"]"#);
    assert_eq!(series("on, p99.9"), r#"["4","8","32","64","128"]"#);
}
