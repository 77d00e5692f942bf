//! Chooses the load at which the throughput of a number of units is taken, and returns the
//! throughput there by block.
//!
//! Invariant: the throughput is the limit of the units. A throughput that may be below the limit
//! does not count. Examples are a rate that the target kept up with, a search that reached the end
//! of its range, and a trial with a client at its limit.

use super::ScaleFacts;
use crate::comparisons::{COMPARED, is_search, used};
use crate::curves::is_client_busy;
use crate::points::{load_of, state_of, sweep};
use analysis::procedure::Point;
use analysis::procedure::grid;
use analysis::rules::Verdict;
use analysis::sweep::State;
use analysis::{Looks, too_few_blocks};
use measure::Known;
use measure::number::significant;
use store::record::{PointRecord, SearchRecord, TrialFinding};
use study::settings::Variant;

/// Chosen throughput of a variant.
#[derive(Clone, Debug, Default)]
pub struct VariantChoice {
    /// Throughput by block, in op/s. `None` for a block whose trial may not be used.
    pub ops_per_s: Vec<Option<f64>>,
    /// Verdict on the trials of the chosen load.
    pub verdict: Verdict,
    /// Reason why the variant has no throughput, if known.
    pub missing: Option<String>,
    /// True if the throughput is that of the highest offered load, so that more may be possible.
    pub is_last: bool,
    /// Ratio of neighbouring rates, if the throughput is one of a series of rates that were tried.
    pub grid: Option<f64>,
}

impl VariantChoice {
    fn none(missing: Option<String>) -> VariantChoice {
        VariantChoice {
            verdict: Verdict::Invalid,
            missing,
            ..VariantChoice::default()
        }
    }
}

impl<'a> ScaleFacts<'a> {
    /// Chooses the throughput of a variant. Without a search, p99 must be within the given bound,
    /// if any.
    pub fn chosen(&self, variant: &Variant, p99_bound_ms: Option<f64>) -> VariantChoice {
        let mut chosen = if is_search(variant) {
            self.searched(variant)
        } else {
            self.at_best(variant, p99_bound_ms)
        };
        if chosen.ops_per_s.iter().all(Option::is_none) && chosen.missing.is_none() {
            let mut trials = self.trials_of(&variant.name);
            let reason = trials.find_map(|trial| trial.reasons.first().cloned());
            chosen.missing =
                reason.or_else(|| Some("the run did not measure this variant".to_owned()));
        }
        chosen.ops_per_s.resize(self.study.blocks(), None);
        chosen
    }

    fn searched(&self, variant: &Variant) -> VariantChoice {
        let own = || {
            let all = self.searches.iter();
            all.filter(|search| search.variant == variant.name)
        };
        let is_open = |search: &&SearchRecord| matches!(search.found(), Some(Known::AtLeast(_)));
        if let Some(open) = own().find(is_open) {
            return VariantChoice::none(Some(format!(
                "the search found only a lower bound: {}",
                open.words
            )));
        }
        let of = |block: usize| match own().find(|one| one.block == block)?.found_ops_per_s()? {
            Known::Exactly(ops) => Some(ops),
            Known::AtLeast(_) => None,
        };
        let ops_per_s: Vec<Option<f64>> = (0..self.study.blocks()).map(of).collect();
        let ended: Vec<usize> = own().filter_map(|search| search.ended).collect();
        let trials = self.trials_of(&variant.name).filter(|trial| ended.contains(&trial.index));
        let missing = if ops_per_s.iter().all(Option::is_none) {
            own().map(|search| search.words.clone()).next()
        } else {
            None
        };
        VariantChoice {
            ops_per_s,
            verdict: Verdict::worst(trials.map(|trial| trial.verdict)),
            missing,
            grid: own()
                .filter_map(SearchRecord::found)
                .map(|found| grid(found.least()))
                .max_by(f64::total_cmp),
            ..VariantChoice::default()
        }
    }

    /// Chooses the load with the variant's highest throughput within the bound. Without a bound,
    /// only saturated rates count, because a rate that the target sustained shows no limit.
    fn at_best(&self, variant: &Variant, p99_bound_ms: Option<f64>) -> VariantChoice {
        let points = self.points_of(variant, p99_bound_ms.is_some());
        let is_rate = points.iter().any(|point| point.point.is_some_and(Point::is_rate));
        let reading = sweep(&points, p99_bound_ms);
        let best = match (p99_bound_ms, is_rate) {
            (Some(_), _) => reading.best_within_bound,
            (None, true) => most_of_saturated(&points),
            (None, false) => reading.best,
        };
        let Some(at) = best else {
            return VariantChoice::none(match (points.is_empty(), p99_bound_ms) {
                (true, _) => None,
                (false, Some(bound)) => {
                    let bound = significant(bound, 3);
                    Some(format!("no point has a p99 known to be within {bound} ms"))
                }
                (false, None) => {
                    Some("no rate was too high: throughput equals the offered rate".to_owned())
                }
            });
        };
        let next = points.get(at + 1);
        let load = |point: &PointRecord| load_of(point.point);
        let grid = match (is_rate, p99_bound_ms, next) {
            (true, Some(bound), None) => {
                let bound = significant(bound, 3);
                return VariantChoice::none(Some(format!(
                    "at the highest rate, p99 was still within {bound} ms, so a higher rate may be \
                     possible"
                )));
            }
            (true, Some(_), Some(next)) => Some(load(next) / load(points[at])),
            _ => None,
        };
        let trials = self.target_throughput(variant, points[at], p99_bound_ms.is_some());
        VariantChoice {
            ops_per_s: trials,
            verdict: points[at].verdict,
            missing: None,
            is_last: !is_rate && next.is_none(),
            grid,
        }
    }

    /// Returns the points of a variant, ordered by load. If some points have enough usable blocks,
    /// returns only these points.
    fn points_of(&self, variant: &Variant, needs_latency: bool) -> Vec<&'a PointRecord> {
        // A p99 of 0 is unknown, because the logs could not be read.
        let is_known = |point: &PointRecord| point.latency_ms.p99.least() > 0.0;
        let of = |point: &&PointRecord| {
            point.variant == variant.name && (!needs_latency || is_known(point))
        };
        let points: Vec<&PointRecord> = self.points.iter().filter(of).collect();
        let has_blocks =
            |point: &&PointRecord| !too_few_blocks(point.blocks, self.blocks, Looks::Once);
        if points.iter().any(has_blocks) {
            points.into_iter().filter(has_blocks).collect()
        } else {
            points
        }
    }

    /// Returns throughput by block. It uses those trials of a point that show the limit of the
    /// target. These trials must have run on the same data as the last trials of the block.
    fn target_throughput(
        &self,
        variant: &Variant,
        point: &PointRecord,
        is_bounded: bool,
    ) -> Vec<Option<f64>> {
        let (study, name) = (self.study, &variant.name);
        let trials = used(study, self.trials, name, point.point, &COMPARED[0]);
        let may_be_used = |trial: &&TrialFinding| {
            let in_time = !is_bounded || state_of(trial) == State::Kept;
            in_time && !is_client_busy(trial) && self.is_of_last_data(trial)
        };
        let ops = trials.into_iter().map(|trial| trial.filter(may_be_used));
        ops.map(|trial| Some(trial?.all.ops_per_s)).collect()
    }

    /// Returns true if no trial of the same block ran on data that was loaded later, after an
    /// interruption.
    fn is_of_last_data(&self, trial: &TrialFinding) -> bool {
        let block = self.trials.iter().filter(|one| one.block == trial.block);
        let last = block.filter_map(|one| one.generation).max();
        trial.generation.is_none() || trial.generation == last
    }
}

/// Returns the index of the saturated point with the highest throughput.
fn most_of_saturated(points: &[&PointRecord]) -> Option<usize> {
    let all = points.iter().enumerate();
    let saturated = all.filter(|(_, point)| point.saturated);
    let most = saturated.max_by(|(_, a), (_, b)| a.ops_per_s.total_cmp(&b.ops_per_s));
    most.map(|(at, _)| at)
}
