//! Tests the page below the first screen, where everything is behind folds with summaries.

use crate::{fixture, lab};
use report::{Block, Page, html, page};
use std::collections::BTreeSet;

fn titles(page: &Page) -> Vec<&str> {
    page.folds.iter().map(|fold| fold.title.as_str()).collect()
}

#[test]
fn a_run_is_told_as_question_evidence_trust_and_set_up() {
    for view in [fixture::run(1), fixture::run(3), lab::run()] {
        let page = page(&view);
        assert_eq!(titles(&page), ["Question", "Evidence", "Trust", "Set-up"]);
        assert!(page.folds.iter().all(|fold| !fold.is_open));
        let html = html(&page);
        for fold in &page.folds {
            let named: Vec<&str> = fold.sections.iter().map(|part| part.title.as_str()).collect();
            let summary = format!("<h2>{}</h2> <span>{}</span>", fold.title, named.join(" · "));
            assert!(html.contains(&summary), "{summary}");
        }
        let folds = page.folds.iter().map(|fold| fold.id);
        let ids: Vec<&str> = folds.chain(page.sections().map(|part| part.id)).collect();
        let different: BTreeSet<&str> = ids.iter().copied().collect();
        assert_eq!(different.len(), ids.len(), "an anchor leads to one place");
    }
}

/// In earlier versions, a printed page first had 21 sheets with truncated charts, and later one
/// sheet without charts.
#[test]
fn a_print_has_the_answer_charts_and_a_note_on_the_rest() {
    let html = html(&page(&lab::run()));
    let (screen, paper) = html.split_once("@media print").expect("a style for paper");
    for rule in [
        "figure, tr, .figure, .verdict, .card { break-inside: avoid; }",
        ".charts .unprinted, .charts section > :not(h3):not(figure) { display: none; }",
        ".on-paper { display: block;",
        "nav, .fold > .links, .choice select, .modebar { display: none !important; }",
    ] {
        assert!(paper.contains(rule), "{rule}");
    }
    assert!(screen.contains(".on-paper { display: none; }"));
    assert_eq!(
        html.matches("<p class=\"on-paper\">A printed report contains the answer")
            .count(),
        1
    );
    // The script draws charts again in the size of the paper, and restores them afterwards.
    let script = html.rsplit("<script>").next().expect("a script");
    let number = |name: &str| -> u32 {
        let (_, rest) = script.split_once(&format!("const {name} = ")).expect(name);
        rest.split(';').next().and_then(|text| text.parse().ok()).expect(name)
    };
    // Within their margins, A4 and US letter are at least 690 px wide and 930 px high. A page for
    // paper must not be larger.
    assert!(number("PAPER_PX") <= 690 && number("PAPER_PAGE_PX") <= 930);
    assert!(
        3 * (number("PAPER_ROW_PX") + 60) <= 930,
        "three with their captions"
    );
    for part in [
        "beforeprint",
        "afterprint",
        "opened.open = false",
        "delete layout.updatemenus",
    ] {
        assert!(script.contains(part), "{part}");
    }
}

/// In an earlier version, a run on a busy machine had a table of five screens, with one sentence
/// per trial.
#[test]
fn a_rule_that_several_trials_broke_is_given_once() {
    let mut view = fixture::run(1);
    let count = view.findings.trials.len();
    for trial in &mut view.findings.trials {
        trial.verdict = store::record::Verdict::Suspect;
        trial.reasons = vec![format!("V18: others used {} % of 2 CPUs", 11 + trial.index)];
    }
    view.findings.trials[4].verdict = store::record::Verdict::Invalid;
    view.findings.trials[7].reasons.push("the trial failed: no room".into());
    let page = page(&view);
    let section = page.sections().find(|one| one.id == "verdict").expect("the verdict");
    let table = section.blocks.iter().find_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    let said: Vec<Vec<String>> = table
        .expect("a table")
        .rows
        .iter()
        .map(|row| row.cells.iter().map(|c| format!("{} {}", c.text, c.detail)).collect())
        .collect();
    assert_eq!(
        said,
        [
            [
                format!("{count} trials "),
                "invalid ".into(),
                "V18: others used 15 % of 2 CPUs figures of trial 4".into()
            ],
            [
                "1 trial ".to_owned(),
                "suspect ".into(),
                "the trial failed: no room trial 7".into()
            ],
        ]
    );
    let folded = section.blocks.iter().any(|block| match block {
        Block::Details(_, blocks) => blocks.iter().any(|inner| match inner {
            Block::Table(table) => table.rows.len() == count,
            _ => false,
        }),
        _ => false,
    });
    assert!(folded, "each trial with its own sentence is behind a fold");
}
