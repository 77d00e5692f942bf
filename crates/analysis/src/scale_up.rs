//! Measures how throughput grows with the number of units of a machine: cores, L3 caches, NUMA
//! nodes or sockets. [`fits`] contains the curves through the points, and [`models`] contains their
//! formulas.
//!
//! X(N) is the throughput with N units in use. x1 = X(1) is the throughput of one unit alone, with
//! the same CPUs, memory and flags. The names of the three efficiencies ([`EfficiencyOf`]) are
//! those of Talreja et al., "Performance Scaling of Cassandra on High-Thread Count Servers", ICPE
//! 2019. That paper states 98 % and 90 % for one machine, but does not state which ratio the
//! second number is.
//!
//! Both throughputs of a ratio come from the same blocks, so that changes from block to block
//! cancel out. One unit runs with the rest of the machine idle. If the unit then has a higher clock
//! rate, every efficiency relative to one unit is too low by the same factor.

pub mod fits;
pub mod models;
pub mod sentences;

use crate::autocorrelation;
use crate::compare::{self, Metric, NotCompared};
use crate::least_squares;
use fits::{Fit, NoBest, NoFit};
pub use models::Model;

/// Measurements with one number of units in use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Number of units in use, on all sockets together.
    pub units: u32,
    /// Number of sockets that contain the units.
    pub sockets: u32,
    /// Number of units on each of these sockets. Empty if all sockets have the same number of
    /// units. The list is required if units fill the sockets one after the other, because 6 units
    /// may be 3 and 3, or 4 and 2.
    pub split: Vec<u32>,
    /// Throughput of each block, in op/s. `None` if the trial may not be used.
    pub ops_per_s: Vec<Option<f64>>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineSize {
    /// Number of units that fill one socket.
    pub units_per_socket: u32,
    /// Number of sockets.
    pub sockets: u32,
}

/// A ratio of throughputs from the same blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Ratio of geometric means.
    pub value: f64,
    /// 95 % confidence interval of the ratio. `None` with one block.
    pub ci95: Option<[f64; 2]>,
    /// Number of blocks that contain both trials of the ratio.
    pub blocks: usize,
}

measure::word_enum! {
    /// An efficiency with a name.
    #[derive(Default)]
    pub enum EfficiencyOf {
        /// Efficiency within a socket: X(one socket full) ÷ (units of the socket × x1).
        #[default]
        Socket = "socket",
        /// Efficiency of the system: X(machine full) ÷ (all units × x1).
        System = "system",
        /// Efficiency across sockets: X(machine full) ÷ (sockets × X(one socket full)).
        Cross = "cross",
    }
}

measure::word_enum! {
    /// Part of a machine that the units in use fill completely. Improvements have names (I₁ and I₂)
    /// only at these sizes.
    pub enum SaturatedResource {
        /// One socket (I₁).
        Socket = "socket",
        /// The machine (I₂).
        System = "system",
    }
}

/// Measurement to which a reason for a missing ratio refers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Measurement of a single unit.
    Unit,
    /// Measurement at the number of units of the point.
    Point,
    /// Measurement with one full socket.
    Socket,
    /// Measurement with all sockets full.
    System,
    /// Measurement of the other arm of a comparison, at the same number of units.
    Other,
}

/// Reason why a ratio is absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingRatio {
    /// The machine has only one socket.
    OneSocket,
    /// A unit is a whole socket.
    UnitIsSocket,
    /// The measurement was not made.
    NotMeasured(Of),
    /// The measurement was made, but none of its blocks can be used.
    NotUsable(Of),
    /// No block contains both trials of the ratio.
    NoCommonBlock,
}

/// Results for one number of units.
#[derive(Clone, Debug, PartialEq)]
pub struct PointResults {
    /// Number of units in use.
    pub units: u32,
    /// Number of sockets that contain the units.
    pub sockets: u32,
    /// Number of units on each socket. `None` if the units do not divide evenly and their
    /// distribution is unknown.
    pub split: Option<Vec<u32>>,
    /// Number of blocks that can be used.
    pub blocks: usize,
    /// Mean throughput, in op/s. `None` if no block can be used.
    pub ops_per_s: Option<f64>,
    /// 95 % confidence interval of the mean throughput, in op/s. `None` with fewer than three
    /// blocks.
    pub ops_per_s_ci95: Option<[f64; 2]>,
    /// Speed-up compared with one unit: X(N) ÷ x1.
    pub speed_up: Result<Ratio, MissingRatio>,
    /// Efficiency: X(N) ÷ (N x1).
    pub efficiency: Result<Ratio, MissingRatio>,
}

/// Analysis of one arm of the study under one load.
#[derive(Clone, Debug, PartialEq)]
pub struct ScaleUp {
    /// Size of the measured machine.
    pub machine: MachineSize,
    /// Results for each number of units, in the order of the given points.
    pub points: Vec<PointResults>,
    /// Efficiency within a socket.
    pub socket: Result<Ratio, MissingRatio>,
    /// Efficiency of the system, relative to one unit.
    pub system: Result<Ratio, MissingRatio>,
    /// Efficiency across sockets: that of the whole machine, relative to one socket.
    pub cross: Result<Ratio, MissingRatio>,
    /// Curve of each model through the points, or the reason why the curve is missing.
    pub fits: Vec<(Model, Result<Fit, NoFit>)>,
    /// Model whose curve has the lowest AICc, or the reason why no curve is the best.
    pub best: Result<Model, NoBest>,
}

/// Comparison of two arms with the same number of units.
#[derive(Clone, Debug, PartialEq)]
pub struct Improvement {
    /// Number of units in use.
    pub units: u32,
    /// Number of sockets that contain the contender's units.
    pub sockets: u32,
    /// Number of sockets that contain the baseline's units.
    pub baseline_sockets: u32,
    /// Part of the machine that the contender's units fill. The ratio for [`Of::Socket`] is I₁, and
    /// the ratio for [`Of::System`] is I₂. All other numbers of units are [`Of::Point`].
    pub fills: Of,
    /// Throughput of the contender ÷ throughput of the baseline.
    pub ratio: Result<Ratio, MissingRatio>,
}

impl Point {
    /// Returns the number of units on each socket in use. Returns `None` if this number is unknown
    /// or differs between sockets.
    pub fn per_socket(&self) -> Option<u32> {
        match self.split()?.as_slice() {
            [first, rest @ ..] if rest.iter().all(|units| units == first) => Some(*first),
            _ => None,
        }
    }

    /// Returns the number of units on each socket in use. Returns `None` if the distribution is
    /// unknown.
    pub fn split(&self) -> Option<Vec<u32>> {
        let (units, sockets) = (self.units, self.sockets);
        if self.split.is_empty() {
            let divides = units > 0 && sockets > 0 && units.is_multiple_of(sockets);
            return divides.then(|| vec![units / sockets; sockets as usize]);
        }
        let sum: u64 = self.split.iter().map(|units| u64::from(*units)).sum();
        let is_whole = sum == u64::from(units)
            && self.split.len() == sockets as usize
            && self.split.iter().all(|units| *units > 0);
        is_whole.then(|| self.split.clone())
    }

    fn usable(&self) -> Vec<f64> {
        let all = self.ops_per_s.iter();
        all.filter_map(|ops| least_squares::usable(*ops)).collect()
    }

    fn is_usable(&self) -> bool {
        self.units > 0 && !self.usable().is_empty()
    }
}

impl MachineSize {
    /// Returns the part of the machine that `units` units on `sockets` sockets fill.
    pub fn fills(self, units: u32, sockets: u32) -> Of {
        match (units, sockets) {
            (0, _) | (_, 0) => Of::Point,
            _ if units == self.units() && sockets == self.sockets && sockets > 1 => Of::System,
            _ if units == self.units_per_socket && sockets == 1 => Of::Socket,
            _ => Of::Point,
        }
    }

    /// Returns the number of units on all sockets together.
    pub fn units(self) -> u32 {
        self.units_per_socket.saturating_mul(self.sockets)
    }
}

/// Analyses the points of one arm under one load. `metric` is the metric of throughput. For results
/// of a search, the metric contains the step of the search's grid.
pub fn read(points: &[Point], machine: MachineSize, metric: Metric) -> ScaleUp {
    let unit = find(points, Of::Unit, |point| point.units == 1);
    let fits = fits::fits(points, machine);
    let best = fits::best(&fits);
    ScaleUp {
        machine,
        points: points.iter().map(|point| scaled(point, unit, metric)).collect(),
        socket: socket(points, machine, metric),
        system: system(points, machine, metric),
        cross: cross(points, machine, metric),
        fits,
        best,
    }
}

/// Compares the contender with the baseline at each number of units that both arms have. Blocks of
/// the two arms are pairs, so the arms must have been interleaved. If an arm has the same number of
/// units on several numbers of sockets, only points with equal numbers of sockets are compared.
pub fn improvements(
    baseline: &[Point],
    contender: &[Point],
    machine: MachineSize,
    metric: Metric,
) -> Vec<Improvement> {
    let against = |point: &Point| {
        let mut same = baseline.iter().filter(|other| other.units == point.units);
        let exact = same.clone().find(|other| other.sockets == point.sockets);
        let is_only = |of: &[Point]| of.iter().filter(|p| p.units == point.units).count() == 1;
        let is_alone = is_only(baseline) && is_only(contender);
        let other = exact.or_else(|| same.next().filter(|_| is_alone))?;
        let sides = (usable(other, Of::Other), usable(point, Of::Point));
        Some(Improvement {
            units: point.units,
            sockets: point.sockets,
            baseline_sockets: other.sockets,
            fills: machine.fills(point.units, point.sockets),
            ratio: match sides {
                (Ok(other), Ok(point)) => ratio(other, point, 1.0, metric),
                (Err(why), _) | (_, Err(why)) => Err(why),
            },
        })
    };
    contender.iter().filter_map(against).collect()
}

fn scaled(point: &Point, unit: Result<&Point, MissingRatio>, metric: Metric) -> PointResults {
    let usable_blocks = point.usable();
    let against = |times: u32| {
        let point = usable(point, Of::Point)?;
        ratio(unit?, point, f64::from(times), metric)
    };
    PointResults {
        units: point.units,
        sockets: point.sockets,
        split: point.split(),
        blocks: usable_blocks.len(),
        ops_per_s: (!usable_blocks.is_empty()).then(|| autocorrelation::mean(&usable_blocks)),
        ops_per_s_ci95: autocorrelation::mean_of_blocks_ci95(&usable_blocks),
        speed_up: against(1),
        efficiency: against(point.units),
    }
}

fn socket(points: &[Point], machine: MachineSize, metric: Metric) -> Result<Ratio, MissingRatio> {
    if machine.units_per_socket == 1 {
        return Err(MissingRatio::UnitIsSocket);
    }
    let unit = find(points, Of::Unit, |point| point.units == 1)?;
    let full = filling(points, machine, Of::Socket)?;
    ratio(unit, full, f64::from(full.units), metric)
}

fn system(points: &[Point], machine: MachineSize, metric: Metric) -> Result<Ratio, MissingRatio> {
    if machine.sockets < 2 {
        return Err(MissingRatio::OneSocket);
    }
    let unit = find(points, Of::Unit, |point| point.units == 1)?;
    let full = filling(points, machine, Of::System)?;
    ratio(unit, full, f64::from(full.units), metric)
}

fn cross(points: &[Point], machine: MachineSize, metric: Metric) -> Result<Ratio, MissingRatio> {
    if machine.sockets < 2 {
        return Err(MissingRatio::OneSocket);
    }
    let one = filling(points, machine, Of::Socket)?;
    let full = filling(points, machine, Of::System)?;
    ratio(one, full, f64::from(machine.sockets), metric)
}

fn filling(points: &[Point], machine: MachineSize, what: Of) -> Result<&Point, MissingRatio> {
    find(points, what, |point| {
        machine.fills(point.units, point.sockets) == what
    })
}

/// Returns the first usable point for which `is` returns true. `what` is the part of the machine
/// that an error names.
fn find(points: &[Point], what: Of, is: impl Fn(&Point) -> bool) -> Result<&Point, MissingRatio> {
    let such = || points.iter().filter(|point| is(point));
    match (such().next(), such().find(|point| point.is_usable())) {
        (None, _) => Err(MissingRatio::NotMeasured(what)),
        (Some(_), None) => Err(MissingRatio::NotUsable(what)),
        (Some(_), Some(point)) => Ok(point),
    }
}

fn usable(point: &Point, what: Of) -> Result<&Point, MissingRatio> {
    if point.is_usable() {
        Ok(point)
    } else {
        Err(MissingRatio::NotUsable(what))
    }
}

/// Returns the throughput of `of` ÷ (`times` × the throughput of `to`), from blocks that contain
/// both.
fn ratio(to: &Point, of: &Point, times: f64, metric: Metric) -> Result<Ratio, MissingRatio> {
    let pairs: Vec<(f64, f64)> = to
        .ops_per_s
        .iter()
        .zip(&of.ops_per_s)
        .filter_map(|(to, of)| to.zip(*of))
        .collect();
    let compared = compare::compare_paired(&pairs, metric).map_err(|why| match why {
        NotCompared::NoValues | NotCompared::BoundsOnBothSides => MissingRatio::NoCommonBlock,
    })?;
    // The ratio of one unit to itself is exactly 1.
    let is_itself = std::ptr::eq(to, of);
    let ci95 = compared.ci95().map(|ci95| ci95.map(|end| end / times));
    Ok(Ratio {
        value: compared.ratio / times,
        ci95: if is_itself { Some([1.0; 2]) } else { ci95 },
        blocks: compared.blocks,
    })
}

#[cfg(test)]
mod tests;
