//! The page of a running run: its progress, in the page model of the finished report.
//!
//! The figures are provisional. The page of the finished run replaces them by verified figures.

use crate::number;
use crate::page::{
    AxisScale, Block, Cell, ColorRole, CurvePlot, Figure, Fold, Headline, LeadFigure, LeadMark,
    Page, Plot, PlotAxis, Section, Table, Tone, Verdict,
};
use measure::number::{about_duration, count, counted, significant, whole};
use store::RunState;
use store::live::{LiveEnd, LiveFault, LiveFigures, LiveRun, LiveSecond, LiveTrial};

/// Script that updates the page of a running run by the events of its server.
pub const LIVE_SCRIPT: &str = concat!("\n", include_str!("../assets/live.js"));

/// Maximum number of seconds in the figure. A wider range would hide a short fault.
const SECONDS_SHOWN: usize = 300;
/// Maximum number of reasons at the top of the page.
const REASONS_MAX: usize = 5;

/// Builds the page of a running run. `now_unix_ns` is the present time.
pub fn live_page(run: &LiveRun, now_unix_ns: u64) -> Page {
    let sections = [
        trials(run),
        nodes(run),
        faults(run),
        errors(run),
        client(run),
        messages(run),
    ];
    let data = serde_json::to_value(run).unwrap_or_default();
    Page {
        title: format!("{}: {}", run.study, run.state),
        headline: headline(run, now_unix_ns),
        folds: Fold::with_sections("progress", "Progress", true, sections)
            .into_iter()
            .collect(),
        data,
    }
}

fn headline(run: &LiveRun, now_unix_ns: u64) -> Headline {
    let verdict = Verdict::from_record(run.verdict_so_far());
    let finished = run.finished().count();
    Headline {
        study: run.study.clone(),
        facts: facts(run),
        question: run.question.clone(),
        lead: lead(run),
        alarms: Vec::new(),
        answer: progress(run, now_unix_ns),
        verdict,
        is_missed: false,
        meaning: match finished {
            0 => "cassay judges each trial at its end.".to_owned(),
            _ => format!(
                "So far, this is the worst verdict of {}. cassay judges the run at its end.",
                counted(finished, "finished trial")
            ),
        },
        short_reasons: Vec::new(),
        reasons: reasons(run),
        figures: tiles(run, now_unix_ns),
        next: None,
    }
}

fn facts(run: &LiveRun) -> Vec<(String, String)> {
    let mut facts = vec![("run".to_owned(), run.name.clone())];
    if let Ok(began) = jiff::Timestamp::from_nanosecond(i128::from(run.started_unix_ns))
        && run.started_unix_ns > 0
    {
        facts.push((
            "began".to_owned(),
            began.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
        ));
    }
    facts.push(("state".to_owned(), run.state.to_string()));
    facts
}

/// Returns sentences about the current trial and phase, and the time left.
fn progress(run: &LiveRun, now_unix_ns: u64) -> Vec<String> {
    let mut said = Vec::new();
    match run.current_trial() {
        Some(trial) => {
            let number = run.current.map_or(0, |index| index + 1);
            said.push(format!(
                "Trial {number} of {}: {}.",
                run.trials.len(),
                trial.name
            ));
        }
        None => said.push("No trial has begun yet.".to_owned()),
    }
    if run.state == RunState::Interrupted {
        said.push(format!(
            "The run was interrupted. To continue: `cassay resume {}`",
            run.name
        ));
        return said;
    }
    let phase = &run.phase;
    if !phase.name.is_empty() {
        let gone = about_duration(run.phase_gone_s(now_unix_ns).floor());
        let planned = match phase.planned_s {
            planned_s if planned_s > 0.0 => format!(" of {}", about_duration(planned_s)),
            _ => String::new(),
        };
        said.push(format!(
            "Phase {}: {gone}{planned}. About {} left in the run.",
            phase.name,
            about_duration(run.left_s(now_unix_ns))
        ));
    }
    said
}

fn reasons(run: &LiveRun) -> Vec<String> {
    let all = run.finished().flat_map(|(trial, figures)| {
        figures.reasons.iter().map(move |reason| format!("{}: {reason}", trial.name))
    });
    all.take(REASONS_MAX).collect()
}

fn tiles(run: &LiveRun, now_unix_ns: u64) -> Vec<Figure> {
    let Some(last) = run.seconds.back() else {
        return Vec::new();
    };
    let known = run.seconds.iter().rev().find_map(|second| second.p50_p99_ms);
    let window = &run.window;
    let has_window = window.seconds > 0.0;
    let mean = |text: String| {
        if has_window {
            format!("in the window so far: {text}")
        } else {
            "in the last second".to_owned()
        }
    };
    let tile = |label: &str, value: String, unit: &str, detail: String| Figure {
        label: label.to_owned(),
        value,
        unit: unit.to_owned(),
        detail,
        variant: None,
    };
    let ms = |value: Option<f64>| value.map_or(number::ABSENT.to_owned(), number::ms);
    let errors: u64 = run.errors.values().sum();
    vec![
        tile(
            "Throughput",
            whole(last.ops_per_s),
            "op/s",
            mean(whole(window.ops as f64 / window.seconds.max(1e-9)) + " op/s"),
        ),
        tile(
            "p50",
            ms(known.map(|(p50, _)| p50)),
            "ms",
            mean(ms(window.p50_ms) + " ms"),
        ),
        tile(
            "p99",
            ms(known.map(|(_, p99)| p99)),
            "ms",
            mean(ms(window.p99_ms) + " ms"),
        ),
        tile("Errors", count(errors), "", "in this trial".to_owned()),
        tile(
            "Time left",
            about_duration(run.left_s(now_unix_ns)),
            "",
            "in the run".to_owned(),
        ),
    ]
}

fn lead(run: &LiveRun) -> Option<LeadFigure> {
    let first = run.seconds.len().saturating_sub(SECONDS_SHOWN);
    let shown: Vec<&LiveSecond> = run.seconds.iter().skip(first).collect();
    let (from_s, to_s) = (shown.first()?.t_s, shown.last()?.t_s);
    let line = |value: &dyn Fn(&LiveSecond) -> Option<f64>, paint, label: &str| LeadMark::Line {
        points: shown.iter().map(|second| (second.t_s, value(second))).collect(),
        paint,
        is_dashed: false,
        label: label.to_owned(),
    };
    let throughput = line(&|second| Some(second.ops_per_s), ColorRole::Category(0), "");
    let p50 = line(
        &|second| Some(second.p50_p99_ms?.0),
        ColorRole::Category(0),
        "p50",
    );
    let p99 = line(
        &|second| Some(second.p50_p99_ms?.1),
        ColorRole::Category(1),
        "p99",
    );
    let mut events: Vec<LeadMark> =
        run.faults.iter().filter_map(|fault| band(fault, from_s, to_s)).collect();
    if let Some(x) = run.window.from_s.filter(|x| *x >= from_s) {
        events.push(LeadMark::Upright {
            x,
            label: "window".to_owned(),
            paint: ColorRole::Muted,
        });
    }
    let plot = |title: &str, lines: Vec<LeadMark>| {
        Plot::Curve(CurvePlot {
            x: PlotAxis {
                title: "seconds since the start of the trial".to_owned(),
                ..PlotAxis::default()
            },
            y: PlotAxis {
                title: title.to_owned(),
                scale: AxisScale::FromZero,
                ticks: Vec::new(),
            },
            says: String::new(),
            marks: events.iter().cloned().chain(lines).collect(),
        })
    };
    Some(LeadFigure {
        title: format!(
            "The last {} of the trial",
            about_duration((to_s - from_s).ceil())
        ),
        what: "Throughput and latency of each second".to_owned(),
        plots: vec![
            plot("throughput, op/s", vec![throughput]),
            plot("latency, ms", vec![p99, p50]),
        ],
        legend: Vec::new(),
        says: String::new(),
    })
}

/// Returns the part of a fault that the figure shows.
fn band(fault: &LiveFault, from_s: f64, to_s: f64) -> Option<LeadMark> {
    let (begin, end) = (fault.from_s?, fault.to_s.unwrap_or(to_s));
    (end >= from_s && begin <= to_s).then(|| LeadMark::Band {
        from: begin.max(from_s),
        to: end.min(to_s).max(begin.max(from_s)),
        label: fault.kind.clone(),
        paint: ColorRole::Bad,
    })
}

fn section(id: &'static str, title: &str, blocks: Vec<Block>) -> Section {
    Section {
        id,
        title: title.to_owned(),
        lead: String::new(),
        blocks,
    }
}

fn trials(run: &LiveRun) -> Option<Section> {
    let known = |(value, is_bound): (f64, bool)| {
        format!("{}{}", if is_bound { "≥ " } else { "" }, number::ms(value))
    };
    let figures = |trial: &LiveTrial, text: &dyn Fn(&LiveFigures) -> String| match &trial.end {
        Some(LiveEnd::Finished(figures)) => Cell::new(text(figures)),
        _ => Cell::new(""),
    };
    let numbered: Vec<(usize, &LiveTrial)> = run.trials.iter().enumerate().collect();
    let table = Table::from_records("", numbered.iter().copied())
        .text("Trial", |(_, trial)| Cell::new(&*trial.name))
        .number("Throughput", "op/s", |(_, trial)| {
            figures(trial, &|figures| whole(figures.ops_per_s))
        })
        .number("p50", "ms", |(_, trial)| {
            figures(trial, &|figures| known(figures.p50_ms))
        })
        .number("p99", "ms", |(_, trial)| {
            figures(trial, &|figures| known(figures.p99_ms))
        })
        .number("Errors", "", |(_, trial)| {
            figures(trial, &|figures| count(figures.errors))
        })
        .text("Verdict", |(index, trial)| {
            state_cell(
                trial,
                run.current == Some(index) && run.state == RunState::Running,
            )
        })
        .text("Reason", |(_, trial)| reason_cell(trial))
        .build();
    Some(section("trials", "Trials", vec![Block::Table(table)]))
}

fn state_cell(trial: &LiveTrial, is_current: bool) -> Cell {
    match &trial.end {
        Some(LiveEnd::Finished(figures)) => {
            let verdict = Verdict::from_record(Some(figures.verdict));
            Cell::new(verdict.name()).tone(verdict.tone())
        }
        Some(LiveEnd::Failed(_)) => Cell::new("failed").tone(Tone::Bad),
        Some(LiveEnd::LeftOut(_)) => Cell::new("left out").tone(Tone::Muted),
        None if is_current => Cell::new("now").tone(Tone::Strong),
        None => Cell::new("").tone(Tone::Muted),
    }
}

fn reason_cell(trial: &LiveTrial) -> Cell {
    match &trial.end {
        Some(LiveEnd::Finished(figures)) => Cell::new(figures.reasons.join("; ")),
        Some(LiveEnd::Failed(reason) | LiveEnd::LeftOut(reason)) => Cell::new(&**reason),
        None => Cell::new(""),
    }
}

fn nodes(run: &LiveRun) -> Option<Section> {
    let is_disturbed = |node: &String| {
        run.faults
            .iter()
            .any(|fault| fault.stage.is_open() && fault.place.contains(node.as_str()))
    };
    if run.nodes.is_empty() {
        return None;
    }
    let table = Table::from_records("", run.nodes.iter())
        .text("Node", |node| Cell::new(&**node))
        .text("State", |node| {
            if is_disturbed(node) {
                Cell::new("under a fault").tone(Tone::Warn)
            } else {
                Cell::new("started").tone(Tone::Good)
            }
        })
        .build();
    Some(section("live-nodes", "Nodes", vec![Block::Table(table)]))
}

fn faults(run: &LiveRun) -> Option<Section> {
    if run.faults.is_empty() {
        return None;
    }
    let table = Table::from_records("", run.faults.iter())
        .text("Fault", |fault| Cell::new(&*fault.kind))
        .text("Target", |fault| Cell::new(&*fault.place))
        .number("Planned", "s after the start of the window", |fault| {
            Cell::new(significant(fault.at_s, 3))
        })
        .number("Length", "s", |fault| match fault.for_s {
            for_s if for_s > 0.0 => Cell::new(significant(for_s, 3)),
            _ => Cell::new(number::ABSENT),
        })
        .text("Stage", |fault| {
            let tone = if fault.stage.is_open() {
                Tone::Warn
            } else {
                Tone::Plain
            };
            Cell::new(fault.stage.name()).tone(tone)
        })
        .build();
    Some(section("live-faults", "Faults", vec![Block::Table(table)]))
}

fn errors(run: &LiveRun) -> Option<Section> {
    if run.errors.is_empty() {
        return None;
    }
    let table = Table::from_records("", run.errors.iter())
        .text("Error", |(name, _)| Cell::new(name.replace('_', " ")))
        .number("Operations", "", |(_, errors)| {
            Cell::new(count(*errors)).tone(Tone::Bad)
        })
        .build();
    Some(section(
        "live-errors",
        "Errors of this trial",
        vec![Block::Table(table)],
    ))
}

fn client(run: &LiveRun) -> Option<Section> {
    let client = run.client.as_ref()?;
    let mut facts = vec![
        (
            "CPU of the workers".to_owned(),
            format!("{} of one core", number::percent(client.cpu_share)),
        ),
        (
            "CPU per operation".to_owned(),
            format!("{} µs", number::small(client.cpu_us_per_op)),
        ),
        (
            "release lag, p99".to_owned(),
            format!("{} µs", number::small(client.lag_us_p99)),
        ),
        (
            "stalls".to_owned(),
            format!("{} ms in the last second", number::small(client.stalled_ms)),
        ),
    ];
    if let Some(delay_ms) = client.hiccup_ms_max {
        facts.push((
            "largest delay of a timer".to_owned(),
            format!("{} ms", number::small(delay_ms)),
        ));
    }
    let mut blocks = vec![Block::Facts(facts)];
    if !run.clients.is_empty() {
        let table = Table::from_records("Clients", run.clients.iter())
            .text("Client", |client| Cell::new(&*client.name))
            .number("Throughput", "op/s", |client| {
                Cell::new(whole(client.ops_per_s))
            })
            .number("p99", "ms", |client| Cell::new(number::ms(client.p99_ms)))
            .number("Errors", "", |client| Cell::new(count(client.errors)))
            .number("CPU", "of one core", |client| {
                Cell::new(number::percent(client.cpu_share))
            })
            .build();
        blocks.push(Block::Table(table));
    }
    Some(section("live-client", "Load generator", blocks))
}

fn messages(run: &LiveRun) -> Option<Section> {
    if run.messages.is_empty() {
        return None;
    }
    let items = run.messages.iter().rev().map(|(_, text)| text.clone()).collect();
    Some(section(
        "live-messages",
        "Messages",
        vec![Block::List("Newest first".to_owned(), items)],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::live::{LiveFaultStage, LivePhase, LiveWindow};
    use store::record::Verdict as JudgedVerdict;

    const BEGAN_NS: u64 = 1_766_000_000_000_000_000;

    fn trial(name: &str, end: Option<LiveEnd>) -> LiveTrial {
        LiveTrial {
            name: name.to_owned(),
            variant: "-".to_owned(),
            planned_s: 60.0,
            end,
        }
    }

    /// Returns a run in the second of three trials, with a fault.
    fn run() -> LiveRun {
        let finished = LiveEnd::Finished(LiveFigures {
            ops_per_s: 12_345.0,
            p50_ms: (0.5, false),
            p99_ms: (2.0, true),
            errors: 7,
            verdict: JudgedVerdict::Suspect,
            reasons: vec!["V4: the client <stalled>.".to_owned()],
        });
        let second = |t_s: f64| LiveSecond {
            t_s,
            ops_per_s: 1000.0 + t_s,
            errors: 0,
            p50_p99_ms: (t_s < 9.0).then_some((0.4, 1.9)),
            is_load: true,
        };
        LiveRun {
            name: "peak/20251217T193320Z".to_owned(),
            study: "peak".to_owned(),
            question: "How fast?".to_owned(),
            state: RunState::Running,
            started_unix_ns: BEGAN_NS,
            changed_unix_ns: BEGAN_NS,
            verdict: None,
            answer: Vec::new(),
            reasons: Vec::new(),
            trials: vec![
                trial("8 threads", Some(finished)),
                trial("16 threads", None),
                trial("32 threads", None),
            ],
            current: Some(1),
            phase: LivePhase {
                name: "measure".to_owned(),
                begin_unix_ns: BEGAN_NS,
                planned_s: 20.0,
                ..LivePhase::default()
            },
            seconds: (0..10).map(|at| second(f64::from(at))).collect(),
            window: LiveWindow {
                from_s: Some(3.0),
                seconds: 7.0,
                ops: 7000,
                p99_ms: Some(1.8),
                ..LiveWindow::default()
            },
            errors: [("overloaded".to_owned(), 3)].into(),
            nodes: vec!["node1".to_owned(), "node2".to_owned()],
            faults: vec![LiveFault {
                kind: "node-pause".to_owned(),
                place: "node2".to_owned(),
                at_s: 2.0,
                for_s: 4.0,
                stage: LiveFaultStage::Active,
                from_s: Some(5.0),
                ..LiveFault::default()
            }],
            client: None,
            clients: Vec::new(),
            messages: [(BEGAN_NS, "a <message>".to_owned())].into(),
        }
    }

    #[test]
    fn the_live_page_says_where_the_run_is_and_how_it_goes() {
        let page = live_page(&run(), BEGAN_NS + 5_000_000_000);
        assert_eq!(page.headline.verdict, Verdict::Suspect);
        assert_eq!(page.headline.answer[0], "Trial 2 of 3: 16 threads.");
        let phase = &page.headline.answer[1];
        assert!(phase.contains("measure: 5.0 s of 20 s"), "{phase}");
        let texts: Vec<String> = page.headline.figures.iter().map(|f| f.value.clone()).collect();
        assert_eq!(&texts[..4], ["1,009", "0.400", "1.90", "3"]);
        let html = crate::html(&page);
        for part in [
            "12,345",
            "≥ 2.00",
            "node-pause",
            "under a fault",
            "V4: the client &lt;",
        ] {
            assert!(html.contains(part), "{part}");
        }
        assert!(!html.contains("<stalled>") && !html.contains("<message>"));
    }

    #[test]
    fn the_parts_of_the_page_are_its_sections() {
        let page = live_page(&run(), BEGAN_NS);
        let additions = crate::Additions {
            live_script: Some(LIVE_SCRIPT),
            ..crate::Additions::default()
        };
        let html = crate::document(&page, &additions).html;
        let parts = crate::parts(&page);
        assert_eq!(parts.len(), 1 + page.sections().count());
        for (id, part) in parts {
            assert_eq!(html.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
            assert!(html.contains(&part), "{id}");
        }
    }

    #[test]
    fn a_run_that_has_just_begun_has_a_page() {
        let mut run = run();
        run.current = None;
        run.seconds.clear();
        run.phase = LivePhase::default();
        let page = live_page(&run, BEGAN_NS);
        assert!(page.headline.lead.is_none() && page.headline.figures.is_empty());
        assert_eq!(page.headline.answer, ["No trial has begun yet."]);
    }
}
