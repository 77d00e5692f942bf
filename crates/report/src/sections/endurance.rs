//! Shows trials that last for hours at one load, with level shifts, drifts, growth, compaction
//! cycles, and the shorter windows.

use crate::number;
use crate::page::{
    Axis, Band, Block, Cell, Chart, Color, Dash, Panel, Scale, Section, Series, Shape, Table, Tone,
    XValues,
};
use crate::probe_series;
use crate::run_view::RunView;
use crate::sections::faults;
use crate::sections::trial_series::label;
use analysis::autocorrelation::NORMAL_975;
use analysis::endurance::{DriftDirection, Growing, MarginResult};
use analysis::procedure::Role;
use store::record::{
    ChangeRecord, CourseRecord, CyclesState, EnduranceRecord, EnduredRecord, GrowthRecord,
    TrialFinding, TurnRecord,
};

/// Maximum number of long trials with separate charts.
const TRIALS_MAX: usize = 12;

pub fn section(view: &RunView) -> Option<Section> {
    let trials = view.findings.trials.iter();
    let long: Vec<(&TrialFinding, &EnduranceRecord)> =
        trials.filter_map(|trial| Some((trial, trial.endurance.as_ref()?))).collect();
    if long.is_empty() {
        return None;
    }
    let mut blocks: Vec<Block> = Vec::new();
    for one in &view.findings.endured {
        blocks.push(Block::Table(turns(one)));
    }
    let several = long.len() > 1;
    for (trial, shown) in long.iter().take(TRIALS_MAX) {
        let parts = trial_blocks(shown, trial.seconds, broken(view, trial));
        if several {
            blocks.push(Block::Details(label(view, trial.index), parts))
        } else {
            blocks.extend(parts)
        }
    }
    Some(Section {
        id: "endurance",
        title: "Over hours".into(),
        lead: "One sustained load. Consecutive seconds depend on each other, so cassay judges \
               blocks of seconds. It judges throughput and latency separately. This section does \
               not prove a cause: the table lists each change with the nearest event that the \
               probes saw."
            .into(),
        blocks,
    })
}

/// Returns the periods of a trial's faults, in seconds since the start of the measured window.
fn broken(view: &RunView, trial: &TrialFinding) -> Vec<Band> {
    let begin_s = probe_series::window(&trial.phases).map_or(0.0, |[from_s, _]| from_s);
    let since = |band: Band| Band {
        from: band.from - begin_s,
        to: band.to - begin_s,
        ..band
    };
    faults::bands(view, trial.index).map(since).collect()
}

fn trial_blocks(shown: &EnduranceRecord, seconds: f64, broken: Vec<Band>) -> Vec<Block> {
    let mut blocks = vec![
        Block::Chart(chart(shown, broken)),
        Block::Table(drifts(shown)),
        if shown.changes.is_empty() {
            Block::Text("No level changed within the window.".into())
        } else {
            Block::Table(changes(shown, seconds))
        },
        Block::Text(cycles(shown)),
    ];
    if !shown.growths.is_empty() {
        blocks.push(Block::Table(growths(shown)));
    }
    if !shown.unseen.is_empty() {
        let unseen = shown.unseen.clone();
        blocks.push(Block::List("Not observed".into(), unseen));
    }
    blocks
}

fn name(of: &str) -> &str {
    match of {
        "ops_per_s" => "throughput",
        "latency_ms.mean" => "mean latency",
        "latency_ms.p50" => "median latency",
        "latency_ms.p99" => "p99 latency",
        "compactions.pending" => "compactions pending",
        "gc.heap_after" => "heap after collections",
        "status.RssAnon" => "memory of the process (RssAnon)",
        "jvm.buffers.direct.used" => "direct buffers",
        "jvm.file_descriptors" => "open files",
        "jvm.threads" => "threads",
        other => other,
    }
}

fn signed(share: f64) -> String {
    let sign = if share < 0.0 { "−" } else { "+" };
    format!("{sign}{}", number::significant(share.abs() * 100.0, 3))
}

fn between(ci95: Option<[f64; 2]>, show: impl Fn(f64) -> String) -> String {
    ci95.map_or(String::new(), |[low, high]| {
        format!("{} to {}", show(low), show(high))
    })
}

fn turns(one: &EnduredRecord) -> Table {
    let error = |turn: &TurnRecord| {
        let ci95 = turn.error.map(|error| {
            let half = NORMAL_975 * error;
            [turn.ops_per_s - half, turn.ops_per_s + half]
        });
        number::relative_error(turn.ops_per_s, ci95)
    };
    let variant = (one.variant.name()).map_or_else(String::new, |name| format!("{name}: "));
    let caption = format!(
        "{variant}the same load in windows of different lengths: {}",
        agreed(one)
    );
    let foot = one.mean_ms_change.map(|change| {
        format!(
            "Mean latency of the long window compared with the shorter windows: {} %. The latency \
             does not affect the verdict above.",
            signed(change)
        )
    });
    Table::from_records(caption, &one.turns)
        .text("Turn", |turn| match turn.role {
            Role::Beside(number) => format!("beside it, {}", u32::from(number) + 1),
            _ => "the long window".to_owned(),
        })
        .number("Window", "", |turn| number::duration(turn.seconds))
        .number("Throughput", "op/s", |turn| {
            Cell::new(number::rate(turn.ops_per_s)).detail(error(turn))
        })
        .number("Mean latency", "ms", |turn| number::ms(turn.mean_ms))
        .wide_number("Trials", "", |turn| turn.trials.len().to_string())
        .foot(foot.unwrap_or_default())
        .build()
}

/// Describes the difference in throughput between the long trial and the shorter windows.
fn agreed(one: &EnduredRecord) -> String {
    let within = number::percent(one.within);
    let apart = one.apart.map_or(String::new(), |apart| {
        let ci95 = between(one.apart_ci95, number::percent);
        format!(
            " Largest ÷ smallest − 1: {} ({ci95}).",
            number::percent(apart)
        )
    });
    match one.agreed {
        Some(MarginResult::Inside) => {
            format!("all throughputs are within {within} of each other.{apart}")
        }
        Some(MarginResult::Outside) => format!("more than {within} apart.{apart}"),
        Some(MarginResult::Inconclusive) => {
            format!(
                "the data does not show whether the throughputs are within {within} of each \
                 other.{apart}"
            )
        }
        None => "cassay measured no other window for comparison.".to_owned(),
    }
}

fn course_tone(course: DriftDirection) -> Tone {
    match course {
        DriftDirection::Steady => Tone::Good,
        DriftDirection::Rising | DriftDirection::Falling => Tone::Warn,
        DriftDirection::Inconclusive => Tone::Muted,
    }
}

fn growth_tone(growing: Growing) -> Tone {
    match growing {
        Growing::No => Tone::Good,
        Growing::Grows => Tone::Warn,
        Growing::Leaks => Tone::Bad,
        Growing::Inconclusive => Tone::Muted,
    }
}

fn drifts(shown: &EnduranceRecord) -> Table {
    Table::from_records(
        "Drift from the beginning to the end of the window",
        &shown.drifts,
    )
    .text("Of", |drift| name(&drift.of))
    .number("Drift", "%", |drift| {
        Cell::new(signed(drift.change)).detail(between(drift.ci95, signed))
    })
    .wide_number("Unimportant within", "%", |drift| {
        format!("± {}", number::significant(drift.within * 100.0, 2))
    })
    .wide_number("z", "", |drift| number::significant(drift.z, 3))
    .wide_number("Blocks", "", |drift| drift.blocks.to_string())
    .text("So", |drift| {
        Cell::new(drift.course.name()).tone(course_tone(drift.course))
    })
    .foot(format!(
        "Theil and Sen's slope of blocks of {}, with Sen's 95 % interval. z is the statistic of \
         Mann and Kendall's test, for blocks that follow each other. Steady: drift and interval \
         are within the margin.",
        number::duration(shown.block_s)
    ))
    .build()
}

fn changes(shown: &EnduranceRecord, seconds: f64) -> Table {
    // Share of the window that is at most one block before or after a change.
    let near = (2.0 * shown.block_s / seconds.max(1e-9)).min(1.0);
    let chance = 1.0 - (1.0 - near).powi(shown.events.len() as i32);
    Table::from_records("Changes of level", &shown.changes)
        .number("After", "", |change| number::duration(change.at_s))
        .text("Of", |change| name(&change.of))
        .number("Before", "", |change| number::rate(change.before))
        .number("After it", "", |change| {
            let percent = signed(change.after / change.before - 1.0);
            Cell::new(number::rate(change.after)).detail(format!("{percent} %"))
        })
        .wide_text("Within a block of the change", |change| {
            match &change.coincides {
                None => "no recorded event".to_owned(),
                Some(what) => format!("coincides with {what}"),
            }
        })
        .foot(format!(
            "A change-point search (PELT) found at most five changes per series. A coincidence \
             does not prove a cause. The probes recorded {} events: by chance alone, one of them \
             is within a block of a given moment in {} of cases.",
            shown.events.len(),
            number::percent(chance)
        ))
        .build()
}

fn cycles(shown: &EnduranceRecord) -> String {
    let Some(cycles) = &shown.cycles else {
        return "No probe saw compactions.".into();
    };
    let period = number::duration(cycles.period_s);
    let count = number::significant(cycles.count, 2);
    match cycles.state {
        CyclesState::Seen => format!(
            "Compaction repeats every {period} ({}); the window has {count} of these cycles.",
            cycles.of
        ),
        CyclesState::Few => format!(
            "The window is shorter than three cycles of compaction: a cycle takes about {period} \
             ({}), and the window has {count}. A part of a cycle looks like a trend.",
            cycles.of
        ),
        CyclesState::Quiet => {
            "No compaction ran in the window, so these figures exclude its cost.".into()
        }
        CyclesState::Unseen => format!("No cycle of compaction is visible in {}.", cycles.of),
    }
}

/// Formats a value in its unit. Bytes and kB have a binary prefix that suits the size.
fn amount(value: f64, unit: &str) -> String {
    let (sign, size) = if value < 0.0 {
        ("−", -value)
    } else {
        ("", value)
    };
    match unit {
        "bytes" => format!("{sign}{}", number::bytes(size as u64)),
        "kB" => format!("{sign}{}", number::bytes((size * 1024.0) as u64)),
        _ => format!("{sign}{}", number::significant(size, 3)),
    }
}

fn growths(shown: &EnduranceRecord) -> Table {
    let show = |growth: &GrowthRecord, value: f64| amount(value, &growth.unit);
    let days = shown.growths.first().map_or(0.0, |growth| growth.horizon_days);
    Table::from_records("Resources that may grow", &shown.growths)
        .text("Of", |growth| name(&growth.of))
        .text("Where", |growth| &growth.place)
        .number("At the end", "", |growth| show(growth, growth.last))
        .number("In a day", "", |growth| {
            let ci95 = between(growth.per_day_ci95, |value| show(growth, value));
            Cell::new(show(growth, growth.per_day)).detail(ci95)
        })
        .wide_number("Limit", "", |growth| {
            growth.limit.map(|value| show(growth, value))
        })
        .wide_number("Reached in", "days", |growth| {
            growth.reaches_days.map(|days| number::significant(days, 2))
        })
        .text("So", |growth| {
            let word = match growth.growing {
                Growing::No => "does not grow",
                Growing::Grows => "grows",
                Growing::Leaks => "would reach its limit",
                Growing::Inconclusive => "inconclusive",
            };
            Cell::new(word).tone(growth_tone(growth.growing))
        })
        .foot(format!(
            "Theil and Sen's slope of the minimum of each block, over the last two thirds of the \
             window. The report extrapolates the line for thirty times the window, and for at most \
             30 days: in this report, for {}. If cassay knows no limit, it reports only the \
             growth.",
            number::duration(days * 86_400.0)
        ))
        .build()
}

/// Draws throughput and p99 over the window, with changes, events and faults.
fn chart(shown: &EnduranceRecord, broken: Vec<Band>) -> Chart {
    let mut panels = Vec::new();
    for (of, share, scale) in [
        ("ops_per_s", 0.35, Scale::Linear),
        ("latency_ms.p99", 0.3, Scale::Log),
        ("compactions.pending", 0.15, Scale::Linear),
        ("gc.heap_after", 0.15, Scale::Linear),
        ("status.RssAnon", 0.15, Scale::Linear),
    ] {
        let courses: Vec<&CourseRecord> =
            shown.courses.iter().filter(|course| course.of == of).collect();
        if let Some(first) = courses.first() {
            let lines =
                courses.iter().enumerate().flat_map(|(at, one)| lines(one, panels.len() + at));
            panels.push(Panel {
                share,
                title: name(of).into(),
                left: Axis::new(&first.unit, scale),
                series: lines.collect(),
                ..Panel::default()
            });
        }
    }
    if !shown.events.is_empty() {
        panels.push(events(shown));
    }
    let width_s = shown.courses.first().map_or(1.0, |course| course.width_s);
    let band = |change: &ChangeRecord| Band {
        from: change.at_s - width_s / 2.0,
        to: change.at_s + width_s / 2.0,
        label: format!(
            "{} {} %",
            name(&change.of),
            signed(change.after / change.before - 1.0)
        ),
        tone: Tone::Plain,
    };
    Chart {
        title: "Throughput and latency during the long window".into(),
        what: format!(
            "Each point covers {} s. The line is the mean of its seconds, and the dotted lines are \
             their minimum and maximum. p99 is from single seconds. Shaded: changes of level.",
            number::significant(width_s, 3)
        ),
        height_px: 300 + 130 * panels.len() as u32,
        x: Axis::new("seconds since the window began", Scale::Linear),
        panels,
        bands: shown.changes.iter().map(band).chain(broken).collect(),
        unified_hover: true,
        ..Chart::default()
    }
}

/// Returns the mean, minimum and maximum of a series, as three lines.
fn lines(course: &CourseRecord, number: usize) -> Vec<Series> {
    let place = if course.place.is_empty() {
        String::new()
    } else {
        format!(" of {}", course.place)
    };
    let line = |what: &str, dash, column: usize| Series {
        name: format!("{}{place}{what}", name(&course.of)),
        group: format!("{}{}", course.of, course.place),
        in_legend: column == 1,
        color: Color::Category(number),
        dash,
        x: XValues::Numbers(course.bins.iter().map(|bin| bin[0]).collect()),
        y: course.bins.iter().map(|bin| Some(bin[column])).collect(),
        unit: course.unit.clone(),
        ..Series::default()
    };
    vec![
        line("", Dash::Solid, 1),
        line(", least", Dash::Dot, 2),
        line(", most", Dash::Dot, 3),
    ]
}

fn events(shown: &EnduranceRecord) -> Panel {
    let mark = |event: &store::record::HappenedRecord| {
        let is_pause = event.what.starts_with("a pause");
        Series {
            name: event.what.clone(),
            group: "events".into(),
            shape: Shape::Marks,
            color: if is_pause {
                Color::Error
            } else {
                Color::Neutral
            },
            x: XValues::Numbers(vec![event.at_s]),
            y: vec![Some(if is_pause { 1.0 } else { 2.0 })],
            ..Series::default()
        }
    };
    Panel {
        share: 0.12,
        left: Axis {
            title: String::new(),
            scale: Scale::Names,
            names: vec!["pauses".into(), "compactions".into()],
        },
        series: shown.events.iter().map(mark).collect(),
        ..Panel::default()
    }
}
