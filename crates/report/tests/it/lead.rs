//! Tests the figure of the first screen, which must come directly after the question and be
//! complete.

use crate::{fixture, lab};
use report::{RunView, html, page};
use store::record::{PromiseKind, ReadBackRecord, RuleOutcome, VerifyRecord};

/// Counts the words of a page's body before its first figure, not including tags.
fn words_before_figure(html: &str) -> usize {
    let body = &html[html.find("<body>").expect("a body")..];
    let before = &body[..body.find("<svg").expect("a figure")];
    let mut is_tag = false;
    let text: String = before
        .chars()
        .map(|c| {
            is_tag = (is_tag || c == '<') && c != '>';
            if is_tag || c == '>' { ' ' } else { c }
        })
        .collect();
    text.split_whitespace().count()
}

fn runs() -> [(&'static str, RunView); 2] {
    [
        ("a sweep of two variants", fixture::run(3)),
        ("a matrix on hosts", lab::run()),
    ]
}

#[test]
fn the_first_screen_begins_with_a_figure() {
    for (what, view) in runs() {
        let html = html(&page(&view));
        let words = words_before_figure(&html);
        assert!(words < 120, "{what}: {words} words");
        let figure = html.find("class=\"glance\"").expect(what);
        let answer = html.find("class=\"answer\"").expect(what);
        assert!(figure < answer, "{what}");
        assert_eq!(
            html.matches("<svg class=\"wide\" role=\"img\"").count(),
            1,
            "{what}"
        );
        assert_eq!(
            html.matches("<svg class=\"narrow\" role=\"img\"").count(),
            1,
            "{what}"
        );
    }
}

#[test]
fn nothing_is_drawn_outside_of_the_figure_or_at_nan() {
    for (what, view) in runs() {
        let html = html(&page(&view));
        let begin = html.find("class=\"glance\"").expect(what);
        let figure = &html[begin..begin + html[begin..].find("</figure>").expect("its end")];
        assert!(!figure.contains("NaN") && !figure.contains("inf"), "{what}");
        for (width, part) in [(1120.0, "wide"), (390.0, "narrow")] {
            let svg = &figure[figure.find(&format!("svg class=\"{part}\"")).expect(part)..];
            let svg = &svg[..svg.find("</svg>").expect("its end")];
            for x in svg.split(" x=\"").skip(1).chain(svg.split(" cx=\"").skip(1)) {
                let x: f64 = x.split('"').next().and_then(|x| x.parse().ok()).expect("a number");
                assert!((0.0..=width).contains(&x), "{what}, {part}: {x}");
            }
        }
    }
}

/// Returns a search that found the load `at`, with a limit of 10 ms.
pub fn searched() -> RunView {
    use store::record::{Point, Role, SearchOutcome, SearchRecord, SearchResult, SearchStepRecord};
    let step = |trial, rate, ms, result| SearchStepRecord {
        trial,
        point: Some(Point::Rate(rate)),
        role: Role::Probe,
        result,
        latency_ms: Some(ms),
        ..SearchStepRecord::default()
    };
    let mut view = fixture::run(1);
    view.findings.searches = vec![SearchRecord {
        variant: view.findings.trials[0].variant.clone(),
        goal: "p99 within 10 ms".into(),
        within_ms: [None, Some(10.0)],
        outcome: SearchOutcome::Held,
        at: Some(Point::Rate(8_000)),
        words: "8,000 op/s is the most".into(),
        steps: vec![
            step(0, 8_000, 7.0, SearchResult::Pass),
            step(1, 9_000, 700.0, SearchResult::Fail),
            step(2, 8_500, 9.0, SearchResult::NoAnswer),
            step(3, 4_000, 5.0, SearchResult::PassDisturbed),
        ],
        ..SearchRecord::default()
    }];
    view
}

#[test]
fn a_search_shows_its_limit_its_result_and_each_trials_outcome() {
    let html = html(&page(&searched()));
    let begin = html.find("class=\"glance\"").expect("a figure");
    let svg = &html[begin..begin + html[begin..].find("</svg>").expect("its end")];
    for part in [
        ">10.0 ms</text>",
        ">8,000</text>",
        "class=\"band good\"",
        "class=\"dot good\"",
        "class=\"dot bad\"",
        "class=\"dot muted\"",
        "class=\"dot hollow good\"",
        "trial 1: 700 ms at 9,000",
    ] {
        assert!(svg.contains(part), "{part} is not in\n{svg}");
    }
}

/// With four types of machine, trials of a single type would not answer the question.
#[test]
fn answers_for_many_variants_stand_below_each_other() {
    use store::record::SearchOutcome;
    let mut view = searched();
    let first = view.findings.searches[0].clone();
    let of = |name: &str, outcome, rate| {
        let mut search = first.clone();
        search.variant = name.into();
        search.outcome = outcome;
        search.at = Some(store::record::Point::Rate(rate));
        search
    };
    view.findings.searches = vec![
        of("small", SearchOutcome::Held, 8_000),
        of("small", SearchOutcome::Held, 9_000),
        of("large", SearchOutcome::NotReached, 20_000),
        of("odd", SearchOutcome::Nowhere, 1_000),
    ];
    let html = html(&page(&view));
    let begin = html.find("class=\"glance\"").expect("a figure");
    let svg = &html[begin..begin + html[begin..].find("</svg>").expect("its end")];
    for part in [">8,000 to 9,000 op/s</text>", ">≥ 20,000 op/s</text>"] {
        assert!(svg.contains(part), "{part} is not in\n{svg}");
    }
    assert!(!svg.contains("1,000 op/s"), "{svg}");
}

/// In an earlier version, the first screen wrongly reported reads without a row as changed data.
#[test]
fn only_differing_reads_are_said_to_have_returned_other_data() {
    let mut view = fixture::run(1);
    for trial in &mut view.findings.trials {
        for rule in &mut trial.rules {
            rule.result = RuleOutcome::Pass;
        }
    }
    for index in [2, 5] {
        let rules = &mut view.findings.trials[index].rules;
        rules.iter_mut().find(|one| one.rule == "V14").expect("V14").result = RuleOutcome::Warn;
    }
    let reasons = |view: &RunView| page(view).headline.short_reasons;
    for trial in &mut view.findings.trials {
        trial.verify = VerifyRecord {
            checked: 100,
            ..VerifyRecord::default()
        };
    }
    let nothing = ["Reads found no row, or cassay could not compare them (2 of 12 trials)."];
    assert_eq!(reasons(&view), nothing);
    view.findings.trials[5].verify.stale = 1;
    let differed = ["Reads returned data that differs from the writes (1 of 12 trials)."];
    assert_eq!(reasons(&view), differed);
}

#[test]
fn reasons_of_the_first_screen_are_few_and_count_their_trials() {
    let html = html(&page(&fixture::run(1)));
    let begin = html.find("<div class=\"verdict").expect("a verdict");
    let verdict = &html[begin..begin + html[begin..].find("</div>").expect("its end")];
    let reasons: Vec<&str> = verdict.split("<li>").skip(1).collect();
    assert!((1..=3).contains(&reasons.len()), "{reasons:?}");
    for reason in reasons {
        let text = reason.split("</li>").next().unwrap_or_default();
        assert!(text.contains(" of 12 trials)."), "{text}");
        assert!(text.split_whitespace().count() <= 16, "{text}");
    }
}

/// Every form of the page must state lost rows in its first sentences, above the figure. No form
/// may present the results of other reads as success.
#[test]
fn lost_data_is_seen_before_anything_else() {
    let mut view = fixture::run(1);
    let sentence = "Data was lost: of 5,000 rows that were read back 7 are lost (rows 3, 4).";
    view.findings.alarms = vec![sentence.to_owned()];
    view.findings.answer.insert(0, sentence.to_owned());
    for trial in &mut view.findings.trials {
        trial.verify = VerifyRecord {
            checked: 100,
            ..VerifyRecord::default()
        };
        let rule = trial.rules.iter_mut().find(|one| one.rule == "V14").expect("V14");
        rule.result = RuleOutcome::Pass;
    }
    let lossy = &mut view.findings.trials[4];
    lossy.read_back = Some(ReadBackRecord {
        promise: PromiseKind::Kept,
        rows: 5000,
        lost: 7,
        ..ReadBackRecord::default()
    });
    lossy.rules.iter_mut().find(|one| one.rule == "V14").expect("V14").result = RuleOutcome::Fail;
    let shown = page(&view);
    let html = html(&shown);
    let [alarm, figure] = ["class=\"alarm\"", "<svg"].map(|part| html.find(part).expect(part));
    assert!(alarm < figure);
    let header = &html[..html.find("</header>").expect("a header")];
    assert_eq!(
        header.matches("7 are lost").count(),
        1,
        "it stands there once"
    );
    for text in [report::text(&shown), report::markdown(&shown, None, None)] {
        let [first, other] = ["7 are lost", "op/s"].map(|part| text.find(part).expect(part));
        assert!(first < other, "{text}");
        assert!(!text.contains("all were correct"), "{text}");
    }
    assert!(!html.contains("all were correct"));
    let reasons = shown.headline.short_reasons;
    assert_eq!(
        reasons[0],
        "Data was lost, or differs from the writes (1 of 12 trials)."
    );
}

/// In an earlier version, two variants with only invalid trials were indistinguishable grey dots.
#[test]
fn invalid_points_keep_the_colour_and_the_name_of_their_variant() {
    let mut view = fixture::run(1);
    for trial in &mut view.findings.trials {
        trial.verdict = store::record::Verdict::Invalid;
    }
    for point in &mut view.findings.points {
        point.verdict = store::record::Verdict::Invalid;
    }
    let shown = page(&view);
    let html = html(&shown);
    let figure = &html[html.find("<svg class=\"wide\"").expect("a figure")..];
    let figure = &figure[..figure.find("</svg>").expect("its end")];
    for part in [
        "dot hollow p0",
        "dot hollow p1",
        "line dashed p0",
        ">off<",
        ">on<",
    ] {
        assert!(figure.contains(part), "{part} is not in the figure");
    }
    assert!(html.contains("hollow: invalid"));
    let meaning = shown.headline.meaning;
    assert!(
        meaning.starts_with("12 of 12 trials broke a rule"),
        "{meaning}"
    );
    assert!(!html.contains("used nowhere"));
}
