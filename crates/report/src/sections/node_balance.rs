//! The balance between hosts and between nodes, by their means over the measured window.
//!
//! A cluster is as fast as its slowest node. Uneven load is a sign of a problem: the ring is
//! uneven, a machine is faulty, or a client uses only one node.

use crate::number;
use crate::page::{Block, Cell, Section, Table, Tone};
use crate::probe_series::{self, is_like, natural, owner, scaled};
use crate::run_view::{ProbeSeries, RunView, TrialView};
use crate::sections::trial_series;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Ratio of the largest to the smallest value from which the page has a sentence. Nodes of one ring
/// differ by about 10 to 20 %, because their tokens are random.
const RATIO_MAX: f64 = 1.5;
/// Maximum number of trials with a separate table. A table takes about 1 kB.
const TRIALS_MAX: usize = 100;
/// Maximum number of nodes for which the table has a column for each node.
const COLUMNS_MAX: usize = 6;
/// Places that are not part of the cluster.
const OUTSIDE: [&str; 3] = ["machine", "client", ""];

/// A quantity that should be the same for all nodes or hosts.
struct Measure {
    name: &'static str,
    /// Patterns of the names of the quantity's series. The series of one owner are combined.
    names: &'static [&'static str],
    how: Combination,
    /// Minimum of the largest mean for which a ratio is meaningful, in the scaled unit of the
    /// series.
    floor: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Combination {
    /// Sum of the means of the series.
    Sum,
    /// Largest of the means, because a host is as busy as its busiest disk.
    Largest,
    /// Sum of all values divided by the length of the window, such as the percentage of time in
    /// which a node was stopped.
    Share,
}

const MEASURES: [Measure; 11] = [
    Measure {
        name: "CPU of the host",
        names: &[
            "mpstat.%usr",
            "mpstat.%nice",
            "mpstat.%sys",
            "mpstat.%irq",
            "mpstat.%soft",
        ],
        how: Combination::Sum,
        floor: 5.0,
    },
    Measure {
        name: "CPU of the process",
        names: &["pidstat.%CPU"],
        how: Combination::Sum,
        floor: 5.0,
    },
    Measure {
        name: "Heap in use",
        names: &["jvm.heap_used"],
        how: Combination::Sum,
        floor: 64.0,
    },
    Measure {
        name: "Stopped at safepoints",
        names: &["safepoint.stopped"],
        how: Combination::Share,
        floor: 0.2,
    },
    Measure {
        name: "Compactions pending",
        names: &["compactions.pending"],
        how: Combination::Sum,
        floor: 2.0,
    },
    Measure {
        name: "Reads coordinated",
        names: &["client_request.Read.ops/s"],
        how: Combination::Sum,
        floor: 10.0,
    },
    Measure {
        name: "Writes coordinated",
        names: &["client_request.Write.ops/s"],
        how: Combination::Sum,
        floor: 10.0,
    },
    Measure {
        name: "Reads done locally",
        names: &["table.*.local_read.ops/s"],
        how: Combination::Sum,
        floor: 10.0,
    },
    Measure {
        name: "Writes done locally",
        names: &["table.*.local_write.ops/s"],
        how: Combination::Sum,
        floor: 10.0,
    },
    Measure {
        name: "Disk, busy",
        names: &["iostat.%util"],
        how: Combination::Largest,
        floor: 5.0,
    },
    Measure {
        name: "Disk, transferred",
        names: &["iostat.rkB/s", "iostat.wkB/s"],
        how: Combination::Sum,
        floor: 1.0,
    },
];

/// One quantity of one trial, node by node.
pub struct Spread {
    name: &'static str,
    unit: String,
    /// Owners and their means, ordered by name. At least two owners have a mean.
    values: Vec<(String, f64)>,
    floor: f64,
}

impl Spread {
    fn low(&self) -> &(String, f64) {
        let least = self.values.iter().min_by(|a, b| a.1.total_cmp(&b.1));
        least.expect("the list has at least two values")
    }

    fn high(&self) -> &(String, f64) {
        let most = self.values.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        most.expect("the list has at least two values")
    }

    /// Returns the ratio of the largest to the smallest mean. Returns `None` if the smallest mean
    /// is zero.
    fn ratio(&self) -> Option<f64> {
        (self.low().1 > 0.0).then(|| self.high().1 / self.low().1)
    }

    fn is_uneven(&self) -> bool {
        let apart = self.ratio().is_none_or(|ratio| ratio >= RATIO_MAX);
        self.high().1 >= self.floor && apart
    }

    fn sentence(&self) -> String {
        let (low, high) = (self.low(), self.high());
        let unit = if self.unit.is_empty() {
            String::new()
        } else {
            format!(" {}", self.unit)
        };
        let (most, least) = (number::small(high.1), number::small(low.1));
        let name = self.name;
        match self.ratio() {
            Some(ratio) => format!(
                "{name}: {} has {} times the value of {} ({most} and {least}{unit}).",
                high.0,
                number::significant(ratio, 2),
                low.0
            ),
            None => format!("{name}: {} has {most}{unit}, {} nothing.", high.0, low.0),
        }
    }
}

/// Returns the spread, in the window of a trial, of every quantity that at least two hosts or nodes
/// have.
pub fn trial_spreads(view: &RunView, trial: &TrialView) -> Vec<Spread> {
    let Some(window) = probe_series::window(&probe_series::phases(view, trial)) else {
        return Vec::new();
    };
    MEASURES.iter().filter_map(|m| spread(m, trial, window)).collect()
}

fn spread(measure: &Measure, trial: &TrialView, window: [f64; 2]) -> Option<Spread> {
    let named = |s: &&ProbeSeries| measure.names.iter().any(|name| is_like(&s.name, name));
    let mine: Vec<&ProbeSeries> = trial.probes.iter().filter(named).collect();
    // The figure of a host already includes the figures of its CPUs, so this code omits the series
    // of single CPUs.
    let whole = |s: &&&ProbeSeries| measure.name != "CPU of the host" || !s.place.contains('/');
    let mut found: BTreeMap<&str, f64> = BTreeMap::new();
    for series in mine.iter().filter(whole) {
        let owner = owner(&series.place);
        if OUTSIDE.contains(&owner) {
            continue;
        }
        let value = match measure.how {
            Combination::Share => {
                let length_ms = (window[1] - window[0]) * 1e3;
                Some(probe_series::sum(series, window) / length_ms * 100.0)
            }
            Combination::Sum | Combination::Largest => probe_series::mean(series, window),
        };
        let Some(value) = value else { continue };
        let known = found.entry(owner).or_insert(0.0);
        *known = if measure.how == Combination::Largest {
            known.max(value)
        } else {
            *known + value
        };
    }
    if found.len() < 2 {
        return None;
    }
    let (factor, unit) = scaled(mine.first().map_or("", |s| s.unit.as_str()));
    let (factor, unit) = match measure.how {
        Combination::Share => (1.0, "%"),
        Combination::Sum | Combination::Largest => (factor, unit),
    };
    let mut values: Vec<(String, f64)> =
        found.into_iter().map(|(name, v)| (name.to_owned(), v * factor)).collect();
    values.sort_by(|a, b| natural(&a.0, &b.0));
    let unit = if unit == "count" { "" } else { unit };
    Some(Spread {
        name: measure.name,
        unit: unit.into(),
        values,
        floor: measure.floor,
    })
}

/// Returns sentences on uneven quantities, the widest spread of every quantity, and tables of up to
/// [`TRIALS_MAX`] trials. Returns `None` if no quantity has values of two hosts or nodes.
pub fn section(view: &RunView) -> Option<Section> {
    let of = |trial| (trial, trial_spreads(view, trial));
    let all: Vec<(&TrialView, Vec<Spread>)> =
        view.trials.iter().map(of).filter(|(_, spreads)| !spreads.is_empty()).collect();
    if all.is_empty() {
        return None;
    }
    let mut blocks = sentences(view, &all);
    blocks.push(Block::Table(widest(view, &all)));
    let table = |(trial, spreads): &(&TrialView, Vec<Spread>)| {
        Block::Table(table(trial_series::label(view, trial.index), spreads))
    };
    let mut each: Vec<Block> = all.iter().take(TRIALS_MAX).map(table).collect();
    if all.len() > TRIALS_MAX {
        let more = all.len() - TRIALS_MAX;
        each.push(Block::Text(format!(
            "{more} more trials: see `cassay show --json`."
        )));
    }
    blocks.push(Block::Details("Every trial, node by node".into(), each));
    Some(Section {
        id: "spread",
        title: "Node by node".into(),
        lead: format!(
            "Means over the measured window. A quantity is uneven if its largest value is at least \
             {RATIO_MAX} times the smallest, and large enough to be relevant."
        ),
        blocks,
    })
}

fn sentences(view: &RunView, all: &[(&TrialView, Vec<Spread>)]) -> Vec<Block> {
    let sentence = |measure: &Measure| {
        let (index, widest) = widest_of(measure, all)?;
        let named = all.iter().flat_map(|(_, spreads)| spreads);
        let mine = || named.clone().filter(|s| s.name == measure.name);
        let uneven = mine().filter(|s| s.is_uneven()).count();
        let label = trial_series::label(view, index);
        widest.is_uneven().then(|| {
            let (text, of) = (widest.sentence(), mine().count());
            format!(
                "{text} This was in trial {label}. The quantity was uneven in {uneven} of {of} \
                 trials."
            )
        })
    };
    let uneven: Vec<String> = MEASURES.iter().filter_map(sentence).collect();
    if uneven.is_empty() {
        let text = "No quantity was uneven between the nodes.".into();
        return vec![Block::Note(Tone::Good, text)];
    }
    vec![Block::List("Uneven between the nodes".into(), uneven)]
}

/// Returns the trial with the widest spread of a quantity. A spread whose largest mean is below the
/// floor counts as zero.
fn widest_of<'a>(
    measure: &Measure,
    all: &'a [(&TrialView, Vec<Spread>)],
) -> Option<(usize, &'a Spread)> {
    let weight = |spread: &Spread| {
        if spread.high().1 >= spread.floor {
            spread.ratio().unwrap_or(f64::INFINITY)
        } else {
            0.0
        }
    };
    let mine = all.iter().filter_map(|(trial, spreads)| {
        let spread = spreads.iter().find(|s| s.name == measure.name)?;
        Some((trial.index, spread))
    });
    mine.max_by(|a, b| weight(a.1).total_cmp(&weight(b.1)))
}

fn widest(view: &RunView, all: &[(&TrialView, Vec<Spread>)]) -> Table {
    let widest = MEASURES.iter().filter_map(|measure| widest_of(measure, all));
    Table::from_records("The largest spread of every quantity", widest)
        .text("Quantity", |(_, spread)| spread.name)
        .text("Unit", |(_, spread)| &spread.unit)
        .number("Smallest", "", |(_, spread)| end(spread.low()))
        .number("Largest", "", |(_, spread)| end(spread.high()))
        .number("Ratio", "", |(_, spread)| ratio(spread))
        .wide_text("In trial", |(index, _)| trial_series::label(view, index))
        .build()
}

fn end((name, value): &(String, f64)) -> Cell {
    Cell::new(number::small(*value)).detail(name)
}

fn ratio(spread: &Spread) -> Cell {
    let ratio = spread.ratio().map(|ratio| number::significant(ratio, 3));
    let tone = match (spread.is_uneven(), spread.high().1 >= spread.floor) {
        (true, _) => Tone::Warn,
        (false, true) => Tone::Plain,
        (false, false) => Tone::Muted,
    };
    Cell::from(ratio).tone(tone)
}

fn table(caption: String, spreads: &[Spread]) -> Table {
    let mut owners: Vec<&str> =
        spreads.iter().flat_map(|s| &s.values).map(|v| v.0.as_str()).collect();
    owners.sort_by(|a, b| natural(a, b));
    owners.dedup();
    let widest = spreads.iter().map(|s| s.values.len()).max().unwrap_or(0);
    if widest > COLUMNS_MAX {
        owners.clear();
    }
    Table::from_records(caption, spreads)
        .text("Quantity", |spread| spread.name)
        .text("Unit", |spread| &spread.unit)
        .each(owners, |table, owner| {
            table.number(owner, "", |spread| {
                let value = spread.values.iter().find(|(name, _)| name == owner);
                value.map(|(_, value)| number::small(*value))
            })
        })
        .number("Smallest", "", |spread| end(spread.low()))
        .number("Largest", "", |spread| end(spread.high()))
        .number("Ratio", "", ratio)
        .build()
}

pub fn json(view: &RunView, trial: &TrialView) -> Value {
    let spreads = trial_spreads(view, trial);
    let entry = |spread: &Spread| {
        let nodes: BTreeMap<&str, f64> =
            spread.values.iter().map(|(name, value)| (name.as_str(), *value)).collect();
        json!({
            "quantity": spread.name,
            "unit": spread.unit,
            "nodes": nodes,
            "min": spread.low().1,
            "max": spread.high().1,
            "ratio": spread.ratio(),
            "uneven": spread.is_uneven(),
        })
    };
    spreads.iter().map(entry).collect()
}
