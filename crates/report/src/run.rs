//! The page of one run, in reading order: answer, numbers, distribution, course, trust, set-up.

use crate::page::Page;
use crate::page::Verdict;
use crate::sections::{
    cluster, cost, curves, data, effective, effects, endurance, faults, grid, growth, headline,
    host_settings, instrument, latency, machines, panels, price_performance, published,
    requirements, results, rules, scale_up, screen, search, setup, spread, time,
};
use crate::summary::points;
use crate::view::RunView;

/// Makes the page of a run. Parts that the run has no records for are left out.
pub fn page(view: &RunView) -> Page {
    let points = points(view);
    let sections = [
        requirements::section(view),
        rules::section(view),
        search::section(view),
        endurance::section(view),
        faults::section(view),
        effects::section(view),
        screen::section(view),
        results::section(view, &points),
        cost::section(view),
        grid::section(view),
        growth::section(view),
        published::section(view),
        curves::section(view, &points),
        scale_up::section(view),
        price_performance::section(view),
        latency::section(view, &points),
        time::section(view),
        panels::section(view),
        spread::section(view),
        instrument::section(view, &points),
        data::section(view),
        crate::history::section(&view.history),
        cluster::section(view),
        machines::section(view),
        host_settings::section(view),
        effective::section(view),
        setup::configuration(view),
        setup::rerun(view),
        setup::reading(),
    ];
    Page {
        title: format!("{}: {}", view.plan.study, Verdict::of(view.verdict)),
        headline: headline::headline(view, &points),
        sections: sections.into_iter().flatten().collect(),
        data: crate::json::run(view, &points),
    }
}
