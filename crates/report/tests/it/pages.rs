//! Tests report pages of several runs, and the export of figures to files.

use crate::fixture;
use report::{GalleryEntry, RunView, Side, compare_all, figures, gallery, html, page, text};

fn view(name: &str) -> RunView {
    RunView {
        name: name.to_owned(),
        ..fixture::run(2)
    }
}

#[test]
fn several_runs_stand_beside_the_first_with_links_to_reports() {
    let (a, mut b, mut c) = (view("s/a"), view("s/b"), view("s/c"));
    for trial in &mut b.findings.trials {
        trial.all.ops_per_s *= 1.5;
    }
    c.facts[3].1 = "another kernel".into();
    let side = |run, link: Option<&str>| Side {
        run,
        link: link.map(str::to_owned),
    };
    let odd = "../s/a b\"<c>/report.html";
    let sides = [
        side(&a, Some("s/a/report.html")),
        side(&b, Some(odd)),
        side(&c, None),
    ];
    let page = compare_all(&sides);
    let contenders = page.data["contenders"].as_array().expect("a list");
    assert_eq!(contenders.len(), 2);
    let ratio = |at: usize| contenders[at]["comparisons"][0]["ratio"].as_f64().expect("a ratio");
    assert!((ratio(0) - 1.5).abs() < 1e-9 && (ratio(1) - 1.0).abs() < 1e-9);
    let lead = page.headline.lead.as_ref().expect("a figure");
    assert_eq!(lead.legend.len(), 3, "a colour for each run");
    let html = html(&page);
    assert!(html.contains("<a href=\"./s/a/report.html\">s/a</a>"));
    assert!(html.contains("<a href=\"../s/a%20b%22%3Cc%3E/report.html\">s/b</a>"));
    assert!(html.contains(">s/c</th>"), "a name and no link");
    let text = text(&page);
    for part in ["s/b against s/a", "s/c against s/a", "another kernel"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn the_figures_of_a_run_stand_alone_with_plain_colours() {
    let run = fixture::run(1);
    let figures = figures(&run, &page(&run));
    let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    for name in ["answer", "load", "latency-off", "latency-on"] {
        assert!(names.contains(&name), "{name} of {names:?}");
    }
    let courses = names.iter().filter(|name| name.starts_with("course-")).count();
    assert_eq!(courses, run.findings.trials.len());
    for figure in &figures {
        assert!(!figure.svg.contains("var("), "{}", figure.name);
        assert!(!figure.svg.contains("href"), "{}", figure.name);
    }
}

#[test]
fn a_gallery_has_question_verdict_figure_and_links() {
    let mut first = page(&view("s/a"));
    first.headline.question = "Is <b> faster?".into();
    let second = page(&view("s/b"));
    let entries = [("s-a/index.html", &first), ("s b/index.html", &second)];
    let entries = entries.map(|(link, page)| GalleryEntry { link, page });
    let html = gallery(&entries);
    assert!(html.contains("<a href=\"./s-a/index.html\">Is &lt;b&gt; faster?</a>"));
    assert!(html.contains("<a href=\"./s%20b/index.html\">"));
    assert_eq!(html.matches("<figure class=\"glance\"").count(), 2);
    assert_eq!(html.matches("class=\"badge").count(), 2);
    for sentence in &second.headline.answer {
        assert!(html.contains(sentence.as_str()), "{sentence}");
    }
    // Anchors of the drawings are unique, and the page needs no script.
    assert_eq!(html.matches("id=\"figure-0-wide-title\"").count(), 1);
    assert!(html.contains("script-src 'none'") && !html.contains("<script"));
}

#[test]
fn tooltips_have_intervals_and_tables_can_be_copied() {
    let html = html(&page(&fixture::run(3)));
    assert!(html.contains("\"customdata\":[\" (95 %: "));
    assert!(html.contains("%{customdata}"));
    assert!(html.contains("Copy as CSV"));
    let tables = html.matches("<div class=\"table\"").count();
    assert!(tables > 3, "the tables need no script");
    let labelled = html.matches("class=\"plot\" role=\"group\" aria-label=\"").count();
    assert_eq!(labelled, html.matches("class=\"plot\"").count());
}

/// The PNG picture must contain all letters, whichever fonts the machine has.
#[cfg(feature = "png")]
#[test]
fn a_picture_has_the_letters_of_its_drawing() {
    let drawing = |text: &str| {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 90 20\" \
             font-family=\"system-ui, sans-serif\"><text y=\"15\">{text}</text></svg>"
        )
    };
    let draw = |text: &str| report::png(&drawing(text)).expect("a picture");
    assert!(draw("p99, ms").starts_with(b"\x89PNG\r\n"));
    assert_ne!(draw("p99, ms"), draw(""));
    assert_ne!(draw("p99"), draw("p95"));
    assert!(report::png("<svg").is_err());
}
