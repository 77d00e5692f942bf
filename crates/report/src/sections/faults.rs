//! The faults of a run, with the effect on the load, the evidence and the times of each fault.

mod card;
mod effect_table;
mod without;

use crate::number;
use crate::page::{Band, Block, Cell, Section, Table, Tone};
use crate::run_view::RunView;
use crate::sections::trial_series::label;
use store::record::{Aftermath, FaultRecord, FaultVerdict, Returns, SeriesEnd, since};

/// Maximum number of faults with a separate card.
const CARDS_MAX: usize = 24;

pub fn section(view: &RunView) -> Option<Section> {
    let faults = &view.findings.faults;
    if faults.is_empty() {
        return None;
    }
    let mut blocks = Vec::new();
    if faults.iter().any(|fault| fault.recovery.is_some()) {
        blocks.push(Block::Table(effect_table::table(view)));
    }
    blocks.extend(without::table(view).map(Block::Table));
    blocks.push(Block::Table(times(view)));
    let cards = faults.iter().take(CARDS_MAX);
    blocks.extend(cards.map(|fault| Block::Card(card::card(view, fault))));
    if faults.len() > CARDS_MAX {
        blocks.push(Block::Text(format!(
            "findings.json contains the same data for {} more faults.",
            faults.len() - CARDS_MAX
        )));
    }
    Some(Section {
        id: "faults",
        title: "Faults".into(),
        lead: "A fault counts only if an observer other than its injector saw the fault take \
               effect, and saw the target healthy again. cassay compares the fault with the \
               seconds before it in the same window. The recovery ends at the start of the first \
               30 consecutive seconds that were as before. Without such seconds, the recovery time \
               is unknown."
            .into(),
        blocks,
    })
}

fn times(view: &RunView) -> Table {
    let between =
        |from: Option<f64>, to: Option<f64>| from.zip(to).map(|(a, b)| number::small(b - a));
    Table::from_records(
        "Times of each fault, and its observers",
        &view.findings.faults,
    )
    .text("Fault", |fault| {
        Cell::new(fault.name()).detail(trial(view, fault))
    })
    .text("Verdict", |fault| {
        Cell::new(fault.verdict.name()).tone(tone(fault))
    })
    .number("Injected at", "s", |fault| {
        fault.injected_s.map(number::small)
    })
    .number("Seen after", "s", |fault| {
        between(fault.injected_s, fault.seen_s)
    })
    .number("Clients noticed within", "s", |fault| {
        fault.detect_s.map(number::small)
    })
    .number("Considered down after", "s", |fault| {
        fault.recovery.as_ref()?.noticed.gossip_s.map(number::small)
    })
    .number("Healed after", "s", |fault| {
        between(fault.injected_s, fault.healing_s)
    })
    .number("Intact after healing", "s", |fault| {
        between(fault.healing_s, fault.whole_s)
    })
    .foot(
        "Seen: the time at which cassay's observer saw the fault. Clients: the end of the first \
         second with more errors, retries or lost connections than any before it, or outside the \
         usual range. Considered down: the first poll that showed that another node considers the \
         node down.",
    )
    .build()
}

fn trial(view: &RunView, fault: &FaultRecord) -> String {
    let trial = fault.trial.filter(|_| view.findings.trials.len() > 1);
    trial.map_or_else(String::new, |trial| {
        format!("in trial {}", label(view, trial))
    })
}

fn tone(fault: &FaultRecord) -> Tone {
    match fault.verdict {
        FaultVerdict::Confirmed => Tone::Good,
        FaultVerdict::Mismatch => Tone::Bad,
        FaultVerdict::Inconclusive => Tone::Warn,
    }
}

/// Describes when throughput or p99 was back to normal after a fault. Returns `None` if the level
/// before the fault is unknown.
fn returned(fault: &FaultRecord, of: fn(&Aftermath) -> Option<SeriesEnd>) -> Option<Cell> {
    let aftermath = Aftermath::from_fault(fault)?;
    let from = since(fault);
    Some(match of(&aftermath)? {
        SeriesEnd::Usual => Cell::new(format!("normal since the {from}")).tone(Tone::Good),
        SeriesEnd::Back(back_s) => {
            let back = number::duration(back_s);
            Cell::new(format!("{back} after the {from}"))
        }
        SeriesEnd::NotBack(watched_s) => {
            let watched = number::duration(watched_s);
            Cell::new(format!("not back within {watched} of the {from}")).tone(Tone::Warn)
        }
        SeriesEnd::NotMeasured => {
            let why = aftermath.not_measured.map(|why| why.words(fault));
            Cell::new("not measured").hint(why.unwrap_or_default()).tone(Tone::Warn)
        }
    })
}

/// Returns the periods of all faults of a trial.
pub fn bands(view: &RunView, trial: usize) -> impl Iterator<Item = Band> {
    let finding = view.findings.trials.iter().find(move |t| t.index == trial);
    let faults = finding.into_iter().flat_map(|finding| &finding.faults);
    faults.flat_map(fault_bands)
}

/// Returns up to two periods of one fault, or none if the fault was not injected. The first period
/// lasts from the injection until all nodes of the target were up again. The second period lasts
/// from then until throughput and p99 were normal.
pub fn fault_bands(fault: &FaultRecord) -> Vec<Band> {
    let recovery = fault.recovery.as_ref();
    let Some(from) = fault.injected_s else {
        return Vec::new();
    };
    let watched = recovery.map(|found| from + found.watched_s);
    // If the nodes were never all up again, the period of the fault lasts until the end of the
    // observation. Without an observation, the period lasts until the healing.
    let Some(to) = fault.whole_s.or(watched).or(fault.healing_s) else {
        return Vec::new();
    };
    let mut bands = vec![Band {
        from,
        to,
        label: fault.name(),
        tone: Tone::Bad,
    }];
    let back = |returns: &Returns| match returns.healed?.back_s {
        Some(back_s) => Some(fault.healing_s? + back_s),
        None => watched,
    };
    let returns = recovery.iter().flat_map(|found| [&found.throughput, &found.p99]);
    let back = returns.flatten().filter_map(back).fold(to, f64::max);
    if back > to && fault.healing_s.is_some() {
        bands.push(Band {
            from: to,
            to: back,
            label: "not as before".into(),
            tone: Tone::Warn,
        });
    }
    bands
}
