//! The page of one run, in reading order. The answer comes first, followed by question, evidence,
//! trust and set-up, each in a fold.

use crate::merged_points::{Point, points};
use crate::page::{Fold, Page, Verdict};
use crate::run_view::RunView;
use crate::sections::{
    cluster, comparisons, cost, curves, data, effective, effects, endurance, faults, grid, growth,
    headline, host_settings, latency, limits, load_generator, machines, node_balance, panels,
    price_performance, profiles, published, question, requirements, results, rules, scale_up,
    screening, search, setup, tail, trial_series, tuning,
};

pub fn page(view: &RunView) -> Page {
    let points = points(view);
    let folds = [
        question(view),
        evidence(view, &points),
        trust(view, &points),
        setup(view),
    ];
    Page {
        title: format!(
            "{}: {}",
            view.plan.study,
            Verdict::from_record(view.verdict)
        ),
        headline: headline::headline(view, &points),
        folds: folds.into_iter().flatten().collect(),
        data: crate::json::run(view, &points),
    }
}

fn question(view: &RunView) -> Option<Fold> {
    let sections = [
        question::section(view),
        requirements::section(view),
        comparisons::section(view),
        published::section(view),
        price_performance::section(view),
    ];
    Fold::with_sections("question", "Question", false, sections)
}

fn evidence(view: &RunView, points: &[Point<'_>]) -> Option<Fold> {
    let sections = [
        search::section(view),
        endurance::section(view),
        faults::section(view),
        scale_up::section(view),
        effects::section(view),
        tuning::section(view),
        screening::section(view),
        results::section(view, points),
        limits::section(view),
        profiles::section(view),
        tail::section(view),
        cost::section(view),
        grid::section(view),
        growth::section(view),
        curves::section(view, points),
        latency::section(view, points),
        trial_series::section(view),
        panels::section(view),
        node_balance::section(view),
    ];
    Fold::with_sections("evidence", "Evidence", false, sections)
}

fn trust(view: &RunView, points: &[Point<'_>]) -> Option<Fold> {
    let sections = [
        rules::section(view),
        load_generator::section(view, points),
        data::section(view),
        host_settings::section(view),
        crate::history::section(&view.history),
    ];
    Fold::with_sections("trust", "Trust", false, sections)
}

fn setup(view: &RunView) -> Option<Fold> {
    let sections = [
        setup::configuration(view),
        effective::section(view),
        cluster::section(view),
        machines::section(view),
        setup::rerun(view),
        setup::reading(),
    ];
    Fold::with_sections("setup", "Set-up", false, sections)
}
