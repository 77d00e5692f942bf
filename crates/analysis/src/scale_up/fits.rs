//! Fits curves through the points of a scale-up, and chooses the best by AICc.
//!
//! All curves use the same points, so that they can be compared. These are the points whose number
//! of units on each socket is known. Not counting the scale, a curve needs at least two points more
//! than it has coefficients. With fewer points, any curve fits.
//!
//! Intervals of coefficients come from the growth of the sum of squares of all trials when one
//! coefficient has another value. This treats the trials of a block as independent, apart from the
//! block's level. But the distance of a point from the curve is the same in every block. So the
//! module also computes the interval with points as the observations, and uses the wider ends. With
//! trials alone, intervals contained the true value for 54 of 100 simulated machines (points 1 %
//! off their law, five blocks of 0.3 % noise). With five blocks or more, the module also resamples
//! whole blocks, which may widen the interval.
//!
//! Curves are compared by AICc (Akaike 1974 with the correction of Hurvich and Tsai 1989). A trial
//! is one observation, and each block has a separate level. If the points are off the best curve by
//! more than the noise between blocks, trials do not show which curve is better. Then no curve is
//! the best. With n trials and k fitted numbers (coefficients, levels, noise), AICc = n ln(squares
//! ÷ n) + 2k + 2k (k + 1) ÷ (n − k − 1). Curves whose AICc is within 2 of the lowest count as
//! equally good (Burnham and Anderson 2002, "Model selection and multimodel inference", 2.6).

use super::models::{Amdahl, Model, TwoLevel};
use super::{MachineSize, Point};
use crate::curves::{self, BLOCKS_MIN, Law, NONE_MAX, OFF_MAX, Peak};
use crate::least_squares::{self, Curve, FixedCoefficients, Noise, Observations, SeriesByPoint};

/// A point on the axis of a curve, with the throughput of each block.
type FitPoint<A> = (A, Vec<Option<f64>>);

/// Difference in AICc up to which curves count as equally good.
pub const RIVAL_AICC_MAX: f64 = 2.0;

/// A curve through the points.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Model that was fitted.
    pub model: Model,
    /// Throughput of one unit (x1) according to the curve, in op/s.
    pub x1: f64,
    /// Coefficients of the curve, in the order of [`Model::coefficients`].
    pub coefficients: Vec<Coefficient>,
    /// Number of points that the fit uses.
    pub points: usize,
    /// True if blocks were resampled for the intervals of the coefficients.
    pub from_blocks: bool,
    /// Distance of the points from the curve, as the root mean square of ln (measured ÷ curve).
    pub off: f64,
    /// True if the points deviate from the curve by more than their noise.
    pub beyond_noise: bool,
    /// Distance of each point from a curve through the other points, as the root mean square of ln
    /// (measured ÷ curve). `None` if no curve can be fitted to the other points.
    pub left_out_off: Option<f64>,
    /// AICc of the curve. `None` if the number of trials is too small.
    pub aicc: Option<f64>,
    /// Peak of the throughput. Only the Universal Scalability Law has this value. Amdahl's law has
    /// no peak, and the peak of the two-level model would be within a socket.
    pub peak: Option<Peak>,
}

/// A coefficient of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficient {
    /// Name of the coefficient in records.
    pub name: &'static str,
    pub value: f64,
    /// 95 % confidence interval of the coefficient, if known.
    pub ci95: Option<[f64; 2]>,
    /// True if the fit keeps the coefficient at 0, because the points cannot distinguish this
    /// coefficient from another.
    pub is_held: bool,
}

impl Coefficient {
    /// Returns true if the coefficient differs significantly from 0.
    pub fn is_told(&self) -> bool {
        !self.is_held && self.ci95.is_some_and(|[low, _]| low > NONE_MAX)
    }
}

impl Fit {
    /// Returns the throughput of the curve, in op/s, with the numbers of units in `split` on the
    /// sockets.
    pub fn ops_per_s(&self, split: &[f64]) -> Option<f64> {
        let values: Vec<f64> = self.coefficients.iter().map(|of| of.value).collect();
        self.model.ops_per_s(self.x1, &values, split)
    }
}

/// Reason why a curve cannot be fitted to the points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoFit {
    /// The curve needs more points.
    FewPoints {
        /// Number of usable points. For a curve over all units, only points with different numbers
        /// of units count.
        points: usize,
        /// Number of points that the curve needs.
        needed: usize,
    },
    /// All points are on the same number of sockets.
    OneLevelOfSockets,
    /// All sockets of all points have the same number of units.
    OneLevelOfUnits,
    /// The points are too far from the best curve of this model. The value is the root mean square
    /// of ln (measured ÷ curve).
    OffCurve(f64),
}

/// Reason why no curve is the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoBest {
    /// No curve fits the points.
    NoCurve,
    /// Only one curve fits the points, so no comparison is possible.
    OnlyOne,
    /// At least one curve has too few trials for an AICc.
    FewTrials,
    /// The points deviate from the curve with the least AICc by more than their noise.
    BeyondNoise,
}

/// Fits every model through the points.
pub fn fits(points: &[Point], machine: MachineSize) -> Vec<(Model, Result<Fit, NoFit>)> {
    let places: Vec<(Vec<f64>, &[Option<f64>])> = points
        .iter()
        .filter(|point| point.is_usable())
        .filter_map(|point| {
            let split = point.split()?.into_iter().map(f64::from).collect();
            Some((split, point.ops_per_s.as_slice()))
        })
        .collect();
    let places = bound(&places);
    let places: Vec<(Vec<f64>, &[Option<f64>])> =
        places.iter().map(|(split, ops)| (split.clone(), ops.as_slice())).collect();
    let totals: Vec<(f64, &[Option<f64>])> =
        places.iter().map(|(split, ops)| (split.iter().sum(), *ops)).collect();
    let of = |model| match model {
        Model::Amdahl => amdahl(&totals),
        Model::Usl => usl(&totals),
        Model::TwoLevel => two_level(&places, machine),
    };
    Model::ALL.map(|model| (model, of(model))).into()
}

/// Returns the points that are connected. Two points are connected if a block has trials of both.
/// If the points form several connected sets, the function returns the largest set. Blocks with
/// only one of these trials are omitted.
fn bound(places: &SeriesByPoint<'_, Vec<f64>>) -> Vec<FitPoint<Vec<f64>>> {
    let of = least_squares::by_block(places, &least_squares::once(places)).bound();
    let size = |set: usize| of.iter().filter(|one| **one == set).count();
    let sets = (0..of.len()).rev();
    let largest = sets.max_by_key(|set| size(*set)).unwrap_or(0);
    let own = || places.iter().zip(&of).filter(|(_, set)| **set == largest);
    let has = |ops: &[Option<f64>], block: usize| {
        least_squares::usable(ops.get(block).copied().flatten()).is_some()
    };
    let trials = |block| own().filter(|((_, ops), _)| has(ops, block)).count();
    let least = own().count().min(2);
    let of_place = |((at, ops), _): (&(Vec<f64>, &[Option<f64>]), &usize)| {
        let of_block = |(block, ops): (usize, &Option<f64>)| ops.filter(|_| trials(block) >= least);
        (at.clone(), ops.iter().enumerate().map(of_block).collect())
    };
    own().map(of_place).collect()
}

/// Returns the model with the least AICc.
///
/// # Errors
/// The list has fewer than two curves, or too few trials to compare them, or the trials do not show
/// which curve is better.
pub fn best(fits: &[(Model, Result<Fit, NoFit>)]) -> Result<Model, NoBest> {
    let fitted: Vec<&Fit> = fits.iter().filter_map(|(_, fit)| fit.as_ref().ok()).collect();
    match fitted.len() {
        0 => return Err(NoBest::NoCurve),
        1 => return Err(NoBest::OnlyOne),
        _ => {}
    }
    let judged: Option<Vec<(f64, &Fit)>> =
        fitted.into_iter().map(|fit| Some((fit.aicc?, fit))).collect();
    let judged = judged.ok_or(NoBest::FewTrials)?;
    let least = judged.iter().min_by(|a, b| a.0.total_cmp(&b.0));
    match least {
        Some((_, fit)) if fit.beyond_noise => Err(NoBest::BeyondNoise),
        Some((_, fit)) => Ok(fit.model),
        None => Err(NoBest::NoCurve),
    }
}

/// Returns the models whose curves count as equally good as the curve of `best`.
pub fn rivals(fits: &[(Model, Result<Fit, NoFit>)], best: Model) -> Vec<Model> {
    let aicc = |(_, fit): &(Model, Result<Fit, NoFit>)| fit.as_ref().ok()?.aicc;
    let least = fits.iter().find(|(model, _)| *model == best).and_then(aicc);
    let near = |of: &&(Model, Result<Fit, NoFit>)| {
        let distance = aicc(of).zip(least).map(|(aicc, least)| aicc - least);
        of.0 != best && distance.is_some_and(|distance| distance <= RIVAL_AICC_MAX)
    };
    fits.iter().filter(near).map(|(model, _)| *model).collect()
}

fn amdahl(totals: &SeriesByPoint<'_, f64>) -> Result<Fit, NoFit> {
    let makes_one = |seen: &Observations<'_, f64>| different(seen) > 1;
    enough(different(&by_block(totals)), 1)?;
    let raw = raw::<1, Amdahl>(totals, &[None], &makes_one)?;
    Ok(raw.fit(Model::Amdahl, None))
}

fn usl(totals: &SeriesByPoint<'_, f64>) -> Result<Fit, NoFit> {
    let held = [None; 2];
    let makes_one = |seen: &Observations<'_, f64>| different(seen) > 2;
    let seen = by_block(totals);
    enough(different(&seen), 2)?;
    let raw = raw::<2, Law>(totals, &held, &makes_one)?;
    let [_, kappa] = raw.intervals;
    let units = curves::threads_between(&seen, &raw.found, kappa);
    let law = curves::coefficients(raw.found.ln_scale, raw.found.coefficients);
    let peak = curves::peak(law, kappa, units, curves::ends(&seen));
    Ok(raw.fit(Model::Usl, Some(peak)))
}

fn two_level(places: &SeriesByPoint<'_, Vec<f64>>, machine: MachineSize) -> Result<Fit, NoFit> {
    let seen = by_block(places);
    let [sockets, units] = levels(&seen);
    if machine.sockets < 2 || sockets < 2 {
        return Err(NoFit::OneLevelOfSockets);
    }
    if units < 2 {
        return Err(NoFit::OneLevelOfUnits);
    }
    // Contention and coherency differ only in the way in which throughput bends within a socket. To
    // show this difference, the points need more than two different numbers of units on a socket,
    // and the fit needs more than four points.
    let bends = units > 2 && seen.places.len() > 4;
    let held: FixedCoefficients<3> = [None, if bends { None } else { Some(0.0) }, None];
    let free = least_squares::free_count(&held);
    enough(seen.places.len(), free)?;
    let makes_one = |seen: &Observations<'_, Vec<f64>>| {
        let [sockets, units] = levels(seen);
        sockets > 1 && units >= free && seen.places.len() > free
    };
    let raw = raw::<3, TwoLevel>(places, &held, &makes_one)?;
    Ok(raw.fit(Model::TwoLevel, None))
}

/// Checks that the number of points is at least the number of coefficients plus 2, not counting the
/// scale.
fn enough(points: usize, coefficients: usize) -> Result<(), NoFit> {
    let needed = coefficients + 2;
    if points >= needed {
        Ok(())
    } else {
        Err(NoFit::FewPoints { points, needed })
    }
}

fn by_block<'a, A>(measured: &'a SeriesByPoint<'_, A>) -> Observations<'a, A> {
    least_squares::by_block(measured, &least_squares::once(measured))
}

fn different(seen: &Observations<'_, f64>) -> usize {
    let mut units: Vec<f64> = seen.places.iter().map(|at| **at).collect();
    units.sort_by(f64::total_cmp);
    units.dedup();
    units.len()
}

/// Returns the number of different numbers of sockets, and the number of different numbers of units
/// on a socket.
fn levels(seen: &Observations<'_, Vec<f64>>) -> [usize; 2] {
    let sockets = seen.places.iter().map(|at| at.len() as f64).collect();
    let units = seen.places.iter().flat_map(|at| *at).copied().collect();
    [sockets, units].map(|mut of: Vec<f64>| {
        of.sort_by(f64::total_cmp);
        of.dedup();
        of.len()
    })
}

/// Function that returns true if the observations are sufficient for the curve.
type MakesOne<'f, A> = &'f dyn Fn(&Observations<'_, A>) -> bool;

/// Results of fitting a curve with `P` coefficients, without the model.
struct Raw<const P: usize> {
    found: least_squares::Fit<P>,
    held: FixedCoefficients<P>,
    points: usize,
    intervals: [[f64; 2]; P],
    from_blocks: bool,
    off: f64,
    beyond_noise: bool,
    left_out_off: Option<f64>,
    aicc: Option<f64>,
}

fn raw<const P: usize, C: Curve<P>>(
    measured: &SeriesByPoint<'_, C::At>,
    held: &FixedCoefficients<P>,
    makes_one: MakesOne<'_, C::At>,
) -> Result<Raw<P>, NoFit> {
    let seen = by_block(measured);
    let found = least_squares::fit::<P, C>(&seen, held);
    let off = least_squares::off::<P, C>(&seen, &found.coefficients);
    if off > OFF_MAX {
        return Err(NoFit::OffCurve(off));
    }
    // If the points are connected and outnumber the coefficients and the scale, the noise of trials
    // and the noise of points are both known.
    let more = "the fit has more points than coefficients";
    let of_places = least_squares::noise_of_places::<P, C>(&seen, &found, held).expect(more);
    let of_trials = least_squares::noise_of_trials::<P, C>(&seen, &found, held).expect(more);
    let profiled = |noise: Noise| least_squares::profiled::<P, C>(&seen, &found, held, noise);
    let drawn = drawn::<P, C>(measured, &seen, held, &found);
    let all = [Some(profiled(of_trials)), Some(profiled(of_places)), drawn];
    let wider = |of: usize| {
        let ends = all.iter().flatten().map(|intervals| intervals[of]);
        ends.reduce(|[low, high], [lower, higher]| [low.min(lower), high.max(higher)])
    };
    Ok(Raw {
        found,
        held: *held,
        points: seen.places.len(),
        intervals: std::array::from_fn(|of| wider(of).expect("at least two intervals are known")),
        from_blocks: drawn.is_some(),
        off,
        beyond_noise: least_squares::off_by_more(&seen, of_places),
        left_out_off: left_out_off::<P, C>(&seen, held, makes_one),
        aicc: aicc::<P, C>(&seen, &found, held),
    })
}

/// Returns intervals from resampled blocks. Returns `None` if a point has fewer than [`BLOCKS_MIN`]
/// blocks.
fn drawn<const P: usize, C: Curve<P>>(
    measured: &SeriesByPoint<'_, C::At>,
    seen: &Observations<'_, C::At>,
    held: &FixedCoefficients<P>,
    found: &least_squares::Fit<P>,
) -> Option<[[f64; 2]; P]> {
    let blocks = (0..seen.places.len())
        .map(|place| {
            let own = seen.trials.iter().filter(|trial| trial.place == place);
            own.count()
        })
        .min()?;
    if blocks < BLOCKS_MIN {
        return None;
    }
    let count = least_squares::blocks_count(measured);
    let of = |counts: &[u32]| least_squares::by_block(measured, counts);
    let draws = least_squares::resampled::<P, C>(count, of, held, &[found.coefficients]);
    Some(std::array::from_fn(|of| {
        let drawn = draws.iter().map(|drawn| drawn[of]);
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
                None => Some(self.intervals[of]),
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
            beyond_noise: self.beyond_noise,
            left_out_off: self.left_out_off,
            aicc: self.aicc,
            peak,
        }
    }
}

/// Returns the distance of the points from curves through the other points (root mean square of
/// ln). Returns `None` if the other points of any point are not sufficient for a curve.
fn left_out_off<const P: usize, C: Curve<P>>(
    seen: &Observations<'_, C::At>,
    held: &FixedCoefficients<P>,
    makes_one: MakesOne<'_, C::At>,
) -> Option<f64> {
    let mut sum = 0.0;
    for place in 0..seen.places.len() {
        let others = seen.without(place);
        if !makes_one(&others) || !others.is_bound() {
            return None;
        }
        let fit = least_squares::fit::<P, C>(&others, held);
        let levels = least_squares::levels::<P, C>(&others, &fit.coefficients);
        let relative = C::ln_relative(seen.places[place], &fit.coefficients);
        let own = seen.trials.iter().filter(|trial| trial.place == place);
        let left: Vec<f64> = own
            .filter_map(|trial| {
                let level = levels.get(trial.block).copied().flatten()?;
                Some(trial.ln_ops - relative - level)
            })
            .collect();
        if left.is_empty() {
            return None;
        }
        sum += crate::autocorrelation::mean(&left).powi(2);
    }
    Some((sum / seen.places.len() as f64).sqrt())
}

/// Returns the AICc of a curve with a separate level for each block. Returns `None` if the number
/// of trials is too small.
fn aicc<const P: usize, C: Curve<P>>(
    seen: &Observations<'_, C::At>,
    found: &least_squares::Fit<P>,
    held: &FixedCoefficients<P>,
) -> Option<f64> {
    // The noise is a fitted number as well, so the number of fitted numbers is larger by one.
    let looked_for = least_squares::free_count(held) + seen.levels_count() + 1;
    let spare = seen.trials.len().checked_sub(looked_for + 1)?;
    let (count, k) = (seen.trials.len() as f64, looked_for as f64);
    let squares = least_squares::squares::<P, C>(seen, &found.coefficients);
    let mean = (squares / count).max(least_squares::EXACT * least_squares::EXACT);
    (spare > 0).then(|| count * mean.ln() + 2.0 * k + 2.0 * k * (k + 1.0) / spare as f64)
}
