//! Observations for a fit. An observation is a trial at a point and in a block.
//!
//! Trials of a block share a level. So a block compares two points only if it contains a trial of
//! each point.

/// Points on the axis of the curve, each with the throughput of its trial in each block. A
/// throughput is `None` if the trial may not be used.
pub type SeriesByPoint<'a, A> = [(A, &'a [Option<f64>])];

/// One trial, or the mean of several trials at one point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Index of the trial's point in `places`.
    pub place: usize,
    /// Index of the block of the trial. Trials of a block share a level.
    pub block: usize,
    /// Logarithm of the throughput in op/s.
    pub ln_ops: f64,
    pub weight: f64,
}

/// Points and trials that a curve is fitted to.
#[derive(Clone, Debug)]
pub struct Observations<'a, A> {
    /// Points that have at least one trial.
    pub places: Vec<&'a A>,
    /// Trials at the points in `places`.
    pub trials: Vec<Trial>,
}

/// Returns the throughput if it is usable, that is, above 0.
pub fn usable(ops: Option<f64>) -> Option<f64> {
    ops.filter(|ops| ops.is_finite() && *ops > 0.0)
}

/// Returns the observations with every usable trial and its block. `counts` contains the number of
/// times that each block counts.
pub fn by_block<'a, A>(measured: &'a SeriesByPoint<'_, A>, counts: &[u32]) -> Observations<'a, A> {
    let (mut places, mut trials) = (Vec::new(), Vec::new());
    for (at, ops) in measured {
        let before = trials.len();
        let of_blocks = ops.iter().zip(counts).enumerate();
        trials.extend(of_blocks.filter_map(|(block, (ops, count))| {
            let ln_ops = usable(*ops).filter(|_| *count > 0)?.ln();
            Some(Trial {
                place: places.len(),
                block,
                ln_ops,
                weight: f64::from(*count),
            })
        }));
        if trials.len() > before {
            places.push(at);
        }
    }
    Observations { places, trials }
}

/// Returns the observations with one mean over all blocks for each point. These means share one
/// level.
pub fn by_place<'a, A>(measured: &'a SeriesByPoint<'_, A>, counts: &[u32]) -> Observations<'a, A> {
    let Observations { places, trials } = by_block(measured, counts);
    let mean = |place: usize| {
        let own = trials.iter().filter(|trial| trial.place == place);
        let (sum, weight) = own.fold((0.0, 0.0), |(sum, weight), trial| {
            (sum + trial.weight * trial.ln_ops, weight + trial.weight)
        });
        Trial {
            place,
            block: 0,
            ln_ops: sum / weight,
            weight,
        }
    };
    let trials = (0..places.len()).map(mean).collect();
    Observations { places, trials }
}

/// Returns the number of blocks.
pub fn blocks_count<A>(measured: &SeriesByPoint<'_, A>) -> usize {
    let counts = measured.iter().map(|(_, ops)| ops.len());
    counts.max().unwrap_or(0)
}

/// Returns a vector in which every block counts once.
pub fn once<A>(measured: &SeriesByPoint<'_, A>) -> Vec<u32> {
    vec![1; blocks_count(measured)]
}

impl<'a, A> Observations<'a, A> {
    /// Returns the sum of the weights.
    pub fn weights(&self) -> f64 {
        self.trials.iter().map(|trial| trial.weight).sum()
    }

    /// Returns the number of blocks that have a trial.
    pub fn levels_count(&self) -> usize {
        let weights = self.sums(self.blocks_end(), |trial| (trial.block, 1.0));
        weights.iter().filter(|(_, weight)| *weight > 0.0).count()
    }

    /// Returns the observations without one point.
    pub fn without(&self, place: usize) -> Observations<'a, A> {
        let mut places = self.places.clone();
        places.remove(place);
        let others = self.trials.iter().filter(|trial| trial.place != place);
        let moved = others.map(|trial| Trial {
            place: trial.place - usize::from(trial.place > place),
            ..*trial
        });
        Observations {
            places,
            trials: moved.collect(),
        }
    }

    /// Returns the index of the connected set to which each point belongs. Two points are connected
    /// if a block has trials of both points.
    pub fn bound(&self) -> Vec<usize> {
        let mut of: Vec<usize> = (0..self.places.len()).collect();
        let mut first = vec![None; self.blocks_end()];
        for trial in &self.trials {
            match first[trial.block] {
                None => first[trial.block] = Some(trial.place),
                Some(place) => {
                    let (from, to): (usize, usize) = (of[trial.place], of[place]);
                    let same = of.iter_mut().filter(|of| **of == from);
                    same.for_each(|of| *of = to);
                }
            }
        }
        of
    }

    /// Returns true if all points belong to one connected set.
    pub fn is_bound(&self) -> bool {
        let of = self.bound();
        of.iter().all(|one| *one == of[0])
    }

    /// Returns the mean residual of each point, with its weight.
    pub fn place_residuals(&self, left: &[f64]) -> Vec<(f64, f64)> {
        let mut left = left.iter();
        let sums = self.sums(self.places.len(), |trial| {
            (trial.place, left.next().copied().unwrap_or(0.0))
        });
        let mean = |(sum, weight): (f64, f64)| (sum / weight, weight);
        sums.into_iter().map(mean).collect()
    }

    pub(super) fn blocks_end(&self) -> usize {
        let ends = self.trials.iter().map(|trial| trial.block + 1);
        ends.max().unwrap_or(0)
    }

    /// Returns, for each index, the weighted sum of the values with this index and the sum of their
    /// weights.
    pub(super) fn sums(
        &self,
        count: usize,
        mut of: impl FnMut(&Trial) -> (usize, f64),
    ) -> Vec<(f64, f64)> {
        let mut sums = vec![(0.0, 0.0); count];
        for trial in &self.trials {
            let (index, value) = of(trial);
            sums[index].0 += trial.weight * value;
            sums[index].1 += trial.weight;
        }
        sums
    }

    /// Returns the residual of each trial and the level of each block, if the points have the
    /// values `of_places`. The level is `None` for a block without a trial.
    pub(super) fn left(&self, of_places: &[f64]) -> (Vec<f64>, Vec<Option<f64>>) {
        let raw = |trial: &Trial| trial.ln_ops - of_places[trial.place];
        let sums = self.sums(self.blocks_end(), |trial| (trial.block, raw(trial)));
        let level = |(sum, weight): (f64, f64)| (weight > 0.0).then(|| sum / weight);
        let levels: Vec<Option<f64>> = sums.into_iter().map(level).collect();
        let left = |trial: &Trial| raw(trial) - levels[trial.block].unwrap_or(0.0);
        (self.trials.iter().map(left).collect(), levels)
    }

    pub(super) fn weighted(&self, left: &[f64]) -> f64 {
        let squares = self.trials.iter().zip(left);
        squares.map(|(trial, left)| trial.weight * left * left).sum()
    }
}
