//! Curves through the points of a scale-up, and which of them says most with least.
//!
//! Every curve goes through the same points, those of which it is known how many units are on which
//! socket, or they could not be compared. There is none through fewer than two points more than it
//! has coefficients beside its scale: through as many as it has, any curve goes.
//!
//! Intervals of coefficients come from how fast the squares of all trials grow when one is held
//! elsewhere. That takes the trials of a block as independent but for the block's level. From five
//! blocks on, whole blocks are drawn again as well, which does not take that for granted, and the
//! wider ends of both are the interval: by themselves, draws of five blocks held the truth in 88 to
//! 95 of 100 simulated machines, squares in 93 to 98.
//!
//! Curves are compared by AICc (Akaike 1974 with the correction of Hurvich and Tsai 1989), where a
//! trial is one observation and each block has a level of its own. So many blocks say how large the
//! noise is, and with it whether what points are off a curve is more than that. Of n trials and k
//! numbers that are looked for (coefficients, levels, noise), AICc = n ln(squares ÷ n) + 2k +
//! 2k (k + 1) ÷ (n − k − 1). Curves within 2 of the best are not told from it (Burnham and Anderson
//! 2002, "Model selection and multimodel inference", 2.6).

use super::models::{Amdahl, Model, TwoLevel};
use super::{Machine, Point};
use crate::curves::{self, BLOCKS_MIN, Law, NONE_MAX, OFF_MAX, Peak};
use crate::least_squares::{self, Curve, Held, Measured, Noise, Seen};

/// Curves whose AICc is within this of the best are not told from it.
pub const RIVALS_WITHIN: f64 = 2.0;
/// No throughput is known better than this, as a share.
const EXACT: f64 = 1e-6;

/// A curve through the points.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Which.
    pub model: Model,
    /// x1: throughput of one unit by the curve, op/s.
    pub x1: f64,
    /// Its coefficients, in the order of [`Model::coefficients`].
    pub coefficients: Vec<Coefficient>,
    /// Points that it goes through.
    pub points: usize,
    /// Whether blocks were drawn again for its intervals.
    pub from_blocks: bool,
    /// Root of the mean square of ln (seen ÷ curve).
    pub off: f64,
    /// The same of each point by a curve through the others; none where these do not make a curve.
    pub left_out_off: Option<f64>,
    /// Its AICc; none of too few trials.
    pub aicc: Option<f64>,
    /// Where throughput is highest, of the Universal Scalability Law. Amdahl's law has no such
    /// place, and of two levels it would be one within a socket.
    pub peak: Option<Peak>,
}

/// A coefficient of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficient {
    /// Its name in records.
    pub name: &'static str,
    /// Its value.
    pub value: f64,
    /// Its 95 % confidence interval, if any.
    pub ci95: Option<[f64; 2]>,
    /// Whether it is held at 0, since the points cannot tell it from another.
    pub is_held: bool,
}

impl Coefficient {
    /// Whether it can be told from 0.
    pub fn is_told(&self) -> bool {
        !self.is_held && self.ci95.is_some_and(|[low, _]| low > NONE_MAX)
    }
}

impl Fit {
    /// Throughput with so many units on each socket in use.
    pub fn ops_per_s(&self, split: &[f64]) -> Option<f64> {
        let values: Vec<f64> = self.coefficients.iter().map(|of| of.value).collect();
        self.model.ops_per_s(self.x1, &values, split)
    }
}

/// Why there is no such curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoFit {
    /// There are so many usable points with different numbers of units; it takes so many.
    FewPoints {
        /// There are.
        points: usize,
        /// It takes.
        needed: usize,
    },
    /// All points are on one socket, or all on as many.
    OneLevelOfSockets,
    /// No point has more units on a socket than another.
    OneLevelOfUnits,
    /// The points are off the best such curve by this.
    OffCurve(f64),
}

/// Why no curve is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoBest {
    /// There is no curve.
    NoCurve,
    /// AICc is defined for fewer than two curves, where there is more than one.
    FewTrials,
}

/// Every model through the points.
pub fn fits(points: &[Point], machine: Machine) -> Vec<(Model, Result<Fit, NoFit>)> {
    let places: Vec<(Vec<f64>, &[Option<f64>])> = points
        .iter()
        .filter(|point| point.is_usable())
        .filter_map(|point| {
            let split = point.split()?.into_iter().map(f64::from).collect();
            Some((split, point.ops_per_s.as_slice()))
        })
        .collect();
    let totals: Vec<(f64, &[Option<f64>])> = places
        .iter()
        .map(|(split, ops)| (split.iter().sum(), *ops))
        .collect();
    let of = |model| match model {
        Model::Amdahl => amdahl(&totals),
        Model::Usl => usl(&totals),
        Model::TwoLevel => two_level(&places, machine),
    };
    Model::ALL.map(|model| (model, of(model))).into()
}

/// The model with the least AICc.
///
/// # Errors
/// There is no curve, or too few trials to compare them.
pub fn best(fits: &[(Model, Result<Fit, NoFit>)]) -> Result<Model, NoBest> {
    let fitted = || fits.iter().filter_map(|(_, fit)| fit.as_ref().ok());
    let judged: Vec<(f64, Model)> = fitted()
        .filter_map(|fit| Some((fit.aicc?, fit.model)))
        .collect();
    let least = judged.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    match (fitted().count(), least) {
        (0, _) => Err(NoBest::NoCurve),
        (curves, Some((_, model))) if curves == 1 || judged.len() > 1 => Ok(*model),
        _ => Err(NoBest::FewTrials),
    }
}

/// The models that are not told from the best one.
pub fn rivals(fits: &[(Model, Result<Fit, NoFit>)], best: Model) -> Vec<Model> {
    let aicc = |(_, fit): &(Model, Result<Fit, NoFit>)| fit.as_ref().ok()?.aicc;
    let least = fits.iter().find(|(model, _)| *model == best).and_then(aicc);
    let near = |of: &&(Model, Result<Fit, NoFit>)| {
        let distance = aicc(of).zip(least).map(|(aicc, least)| aicc - least);
        of.0 != best && distance.is_some_and(|distance| distance <= RIVALS_WITHIN)
    };
    fits.iter().filter(near).map(|(model, _)| *model).collect()
}

fn amdahl(totals: &Measured<'_, f64>) -> Result<Fit, NoFit> {
    let makes_one = |seen: &[Seen<'_, f64>]| different(seen) > 1;
    enough(different(&least_squares::seen_once(totals)), 1)?;
    let raw = raw::<1, Amdahl>(totals, &[None], &makes_one)?;
    Ok(raw.fit(Model::Amdahl, None))
}

fn usl(totals: &Measured<'_, f64>) -> Result<Fit, NoFit> {
    let held = [None; 2];
    let makes_one = |seen: &[Seen<'_, f64>]| different(seen) > 2;
    let seen = least_squares::seen_once(totals);
    enough(different(&seen), 2)?;
    let raw = raw::<2, Law>(totals, &held, &makes_one)?;
    let peak = raw.intervals.map(|[_, kappa]| {
        let units = curves::threads_between(&seen, &raw.found, kappa);
        let ends = curves::ends(&seen);
        curves::peak(curves::coefficients(&raw.found), kappa, units, ends)
    });
    // Without an interval nobody knows whether κ is 0.
    let peak = peak.unwrap_or(Peak::Untold);
    Ok(raw.fit(Model::Usl, Some(peak)))
}

fn two_level(places: &Measured<'_, Vec<f64>>, machine: Machine) -> Result<Fit, NoFit> {
    let seen = least_squares::seen_once(places);
    let [sockets, units] = levels(&seen);
    if machine.sockets < 2 || sockets < 2 {
        return Err(NoFit::OneLevelOfSockets);
    }
    if units < 2 {
        return Err(NoFit::OneLevelOfUnits);
    }
    // Contention and coherency differ in how a socket bends: two numbers of units on it do not
    // show that, nor do so few points.
    let bends = units > 2 && seen.len() > 4;
    let held: Held<3> = [None, if bends { None } else { Some(0.0) }, None];
    let free = least_squares::free_count(&held);
    enough(seen.len(), free)?;
    let makes_one = |seen: &[Seen<'_, Vec<f64>>]| {
        let [sockets, units] = levels(seen);
        sockets > 1 && units >= free && seen.len() > free
    };
    let raw = raw::<3, TwoLevel>(places, &held, &makes_one)?;
    Ok(raw.fit(Model::TwoLevel, None))
}

/// Two points more than coefficients beside the scale.
fn enough(points: usize, coefficients: usize) -> Result<(), NoFit> {
    let needed = coefficients + 2;
    match points >= needed {
        true => Ok(()),
        false => Err(NoFit::FewPoints { points, needed }),
    }
}

/// How many different numbers of units there are.
fn different(seen: &[Seen<'_, f64>]) -> usize {
    let mut units: Vec<f64> = seen.iter().map(|s| *s.at).collect();
    units.sort_by(f64::total_cmp);
    units.dedup();
    units.len()
}

/// How many different numbers of sockets, and of units on a socket.
fn levels(seen: &[Seen<'_, Vec<f64>>]) -> [usize; 2] {
    let sockets = seen.iter().map(|s| s.at.len() as f64).collect();
    let units = seen.iter().flat_map(|s| s.at).copied().collect();
    [sockets, units].map(|mut of: Vec<f64>| {
        of.sort_by(f64::total_cmp);
        of.dedup();
        of.len()
    })
}

/// Whether such points make a curve.
type MakesOne<'f, A> = &'f dyn Fn(&[Seen<'_, A>]) -> bool;

/// What is found of a curve of `P` coefficients.
struct Raw<const P: usize> {
    found: least_squares::Fit<P>,
    held: Held<P>,
    points: usize,
    intervals: Option<[[f64; 2]; P]>,
    from_blocks: bool,
    off: f64,
    left_out_off: Option<f64>,
    aicc: Option<f64>,
}

fn raw<const P: usize, C: Curve<P>>(
    measured: &Measured<'_, C::At>,
    held: &Held<P>,
    makes_one: MakesOne<'_, C::At>,
) -> Result<Raw<P>, NoFit> {
    let seen = least_squares::seen_once(measured);
    let found = least_squares::fit::<P, C>(&seen, held);
    let off = least_squares::off::<P, C>(&seen, &found.coefficients);
    if off > OFF_MAX {
        return Err(NoFit::OffCurve(off));
    }
    let trials = Trials::of::<P, C>(measured, &found, least_squares::free_count(held));
    let profiled = |noise| least_squares::profiled::<P, C>(&seen, &found, held, noise);
    let drawn = drawn::<P, C>(measured, &seen, held, &found);
    let wider = |from_squares: [[f64; 2]; P]| match drawn {
        None => from_squares,
        Some(drawn) => std::array::from_fn(|of| {
            let ([low, high], [lower, higher]) = (from_squares[of], drawn[of]);
            [low.min(lower), high.max(higher)]
        }),
    };
    Ok(Raw {
        found,
        held: *held,
        points: seen.len(),
        intervals: trials.noise().map(profiled).map(wider),
        from_blocks: drawn.is_some(),
        off,
        left_out_off: left_out_off::<P, C>(&seen, held, makes_one),
        aicc: trials.aicc(),
    })
}

/// Intervals from drawing blocks again; none where a point has fewer than [`BLOCKS_MIN`].
fn drawn<const P: usize, C: Curve<P>>(
    measured: &Measured<'_, C::At>,
    seen: &[Seen<'_, C::At>],
    held: &Held<P>,
    found: &least_squares::Fit<P>,
) -> Option<[[f64; 2]; P]> {
    let blocks = seen.iter().map(|s| s.weight as usize).min()?;
    if blocks < BLOCKS_MIN {
        return None;
    }
    let draws = least_squares::resampled::<P, C>(measured, held, &[found.coefficients]);
    Some(std::array::from_fn(|of| {
        let drawn = draws.iter().map(|fit| fit.coefficients[of]);
        least_squares::between(drawn.collect(), blocks)
    }))
}

impl<const P: usize> Raw<P> {
    fn fit(self, model: Model, peak: Option<Peak>) -> Fit {
        let coefficient = |(of, name): (usize, &&'static str)| Coefficient {
            name,
            value: self.found.coefficients[of],
            ci95: match self.held[of] {
                Some(_) => None,
                None => self.intervals.map(|intervals| intervals[of]),
            },
            is_held: self.held[of].is_some(),
        };
        let names = model.coefficients().iter().enumerate();
        Fit {
            model,
            x1: self.found.ln_scale.exp(),
            coefficients: names.map(coefficient).collect(),
            points: self.points,
            from_blocks: self.from_blocks,
            off: self.off,
            left_out_off: self.left_out_off,
            aicc: self.aicc,
            peak,
        }
    }
}

/// How far each point is from the curve through the others.
fn left_out_off<const P: usize, C: Curve<P>>(
    seen: &[Seen<'_, C::At>],
    held: &Held<P>,
    makes_one: MakesOne<'_, C::At>,
) -> Option<f64> {
    let mut sum = 0.0;
    for (index, left) in seen.iter().enumerate() {
        let mut others = seen.to_vec();
        others.remove(index);
        if !makes_one(&others) {
            return None;
        }
        let fit = least_squares::fit::<P, C>(&others, held);
        let off = left.ln_ops - C::ln_relative(left.at, &fit.coefficients) - fit.ln_scale;
        sum += off * off;
    }
    Some((sum / seen.len() as f64).sqrt())
}

/// Every trial against a curve, whose level is each block's own.
struct Trials {
    count: usize,
    squares: f64,
    /// Coefficients and levels.
    looked_for: usize,
}

impl Trials {
    fn of<const P: usize, C: Curve<P>>(
        measured: &Measured<'_, C::At>,
        found: &least_squares::Fit<P>,
        coefficients: usize,
    ) -> Trials {
        let mut trials = Trials {
            count: 0,
            squares: 0.0,
            looked_for: coefficients,
        };
        for block in 0..least_squares::blocks_count(measured) {
            let left = |(at, ops): &(C::At, &[Option<f64>])| {
                let ops = ops.get(block).copied().flatten();
                let ops = ops.filter(|ops| ops.is_finite() && *ops > 0.0)?;
                Some(ops.ln() - C::ln_relative(at, &found.coefficients))
            };
            let left: Vec<f64> = measured.iter().filter_map(left).collect();
            let level = crate::series::mean(&left);
            trials.count += left.len();
            trials.looked_for += usize::from(!left.is_empty());
            trials.squares += left.iter().map(|of| (of - level).powi(2)).sum::<f64>();
        }
        trials
    }

    /// What the squares say of one trial.
    fn noise(&self) -> Option<Noise> {
        let freedom = self.count.checked_sub(self.looked_for)?;
        (freedom > 0).then(|| Noise {
            variance: self.squares / freedom as f64,
            freedom: freedom as f64,
        })
    }

    fn aicc(&self) -> Option<f64> {
        // The noise is looked for as well.
        let looked_for = self.looked_for + 1;
        let spare = self.count.checked_sub(looked_for + 1)?;
        let (count, k) = (self.count as f64, looked_for as f64);
        let mean = (self.squares / count).max(EXACT * EXACT);
        (spare > 0).then(|| count * mean.ln() + 2.0 * k + 2.0 * k * (k + 1.0) / spare as f64)
    }
}
