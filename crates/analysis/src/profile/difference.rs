//! The frames in which two variants differ, by the CPU time per operation of each trial.
//!
//! The cost of a frame includes its callees, and counts a recursive frame once. A pair of trials of
//! one block gives one difference per frame, and Student's t gives the interval of their mean. The
//! standard error is at least that of counting the samples. A few equal differences do not prove
//! that a frame is more exact than the number of its samples.
//!
//! A frame is *named* if its difference is larger than [`MARGIN`], adjusted for the number of
//! frames by Holm's method at [`DIFFERENCE_LEVEL`]. Benjamini and Hochberg's method at 10 % names
//! smaller differences. But frames that share stacks vary together. With much noise, that method
//! named a frame of equal variants in 13 of 2,000 runs, instead of 2 (see the tests).

use super::call_tree::{CallTree, Names, Node};
use super::origin::FrameOrigin;
use crate::autocorrelation::{mean, t_above, t_quantile, variance};
use crate::compare::{DIFFERENCE_LEVEL, LEVEL};
use crate::multiple_comparisons::holm;
use std::collections::{BTreeMap, BTreeSet};

/// Minimum number of blocks for naming frames. With three blocks, one odd trial decides.
pub const BLOCKS_MIN: usize = 4;
/// Difference that counts as no difference, as a share of the baseline's cost of an operation.
pub const MARGIN: f64 = 0.01;
/// Minimum cost of a compared frame in at least one variant, as a share of the variant's cost of an
/// operation.
const SHARE_MIN: f64 = 0.01;
/// Maximum number of compared frames. With more frames, each needs a larger difference.
const FRAMES_MAX: usize = 50;
/// Minimum share of the cost of a frame, and of its callee, in their common stacks at which only
/// the callee is compared.
const SAME_STACKS: f64 = 0.98;
/// If a callee explains the difference of a caller, the difference outside of the callee is at most
/// this share.
const UNEXPLAINED_MAX: f64 = 0.1;
/// Level of the test for a caller's difference outside of a callee. It is stricter than that of an
/// interval, because a frame may have thirty callers.
const UNEXPLAINED_LEVEL: f64 = 0.01;

/// The profile of one trial, with the profiles of all nodes.
#[derive(Debug, Default)]
pub struct TrialProfile {
    /// Call tree, with costs of the whole window in µs or bytes.
    pub tree: CallTree,
    /// Number of operations in the window.
    pub operations: f64,
    /// Cost of one sample, in the same unit as the tree. If the nodes have different costs, the
    /// largest of these costs.
    pub sample_cost: f64,
}

/// Difference of one frame between two variants. Costs are per operation, in µs or bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameDifference {
    pub name: String,
    /// True if the frame is a thread pool, which contains all frames of its threads.
    pub is_pool: bool,
    /// Mean cost of the baseline over the blocks.
    pub baseline: f64,
    /// Mean cost of the contender over the blocks.
    pub contender: f64,
    /// Mean difference, contender − baseline, without callees.
    pub own: f64,
    /// Mean difference, contender − baseline.
    pub difference: f64,
    /// 95 % confidence interval of the difference, without adjustment for other frames. `None` with
    /// fewer than two blocks.
    pub ci95: Option<[f64; 2]>,
    /// Probability of a difference at least as far beyond [`MARGIN`], if the true difference is
    /// within [`MARGIN`]. `None` with fewer than two blocks.
    pub p: Option<f64>,
    /// The probability `p`, adjusted for the number of frames.
    pub p_adjusted: Option<f64>,
    /// True if the cost of the frame differs significantly: `p_adjusted` is at most
    /// [`DIFFERENCE_LEVEL`], and there are at least [`BLOCKS_MIN`] blocks.
    pub is_named: bool,
    /// For a named frame, the named callee whose difference explains the frame's difference.
    pub explained_by: Option<String>,
}

/// Compares the trials of two variants, as pairs (baseline, contender) of one block. Returns the
/// compared frames. Named frames come first: those without an explanation, then the explained
/// callers. In both groups, the frame with the largest certain difference comes first. Other frames
/// follow in rising order of `p`, because a wide frame varies more than a narrow one.
pub fn differences(names: &Names, pairs: &[(TrialProfile, TrialProfile)]) -> Vec<FrameDifference> {
    let usable = |side: &TrialProfile| side.operations > 0.0 && side.tree.total() > 0.0;
    let pairs: Vec<[SideCosts; 2]> = pairs
        .iter()
        .filter(|(baseline, contender)| usable(baseline) && usable(contender))
        .map(|(baseline, contender)| {
            [baseline, contender].map(|side| SideCosts::from_trial(side, names.count()))
        })
        .collect();
    if pairs.is_empty() {
        return Vec::new();
    }
    let pools = pools(&pairs);
    let frames = compared(&pairs);
    let margin = MARGIN * mean_of(&pairs, |pair| pair[0].total);
    let judged: Vec<FrameTest> = frames.iter().map(|frame| judge(&pairs, *frame, margin)).collect();
    let p: Vec<f64> = judged.iter().filter_map(|one| one.p).collect();
    let adjusted = holm(&p);
    let mut found: Vec<FrameDifference> = judged
        .into_iter()
        .enumerate()
        .map(|(at, one)| {
            let p_adjusted = adjusted.get(at).copied();
            let is_sure = p_adjusted.is_some_and(|p| p <= DIFFERENCE_LEVEL);
            FrameDifference {
                name: names.name(one.frame).to_owned(),
                is_pool: pools.contains(&one.frame),
                baseline: mean_of(&pairs, |pair| pair[0].with_callees(one.frame)),
                contender: mean_of(&pairs, |pair| pair[1].with_callees(one.frame)),
                own: mean_of(&pairs, |pair| {
                    pair[1].own(one.frame) - pair[0].own(one.frame)
                }),
                difference: one.difference,
                ci95: one.ci95,
                p: one.p,
                p_adjusted,
                is_named: is_sure && pairs.len() >= BLOCKS_MIN,
                explained_by: None,
            }
        })
        .collect();
    explain(&mut found, &frames, &pairs);
    found.sort_by(|one, other| {
        let key = |one: &FrameDifference| (!one.is_named, one.explained_by.is_some());
        let size = |one: &FrameDifference| match (one.is_named, one.p) {
            (true, _) => one.ci95.map_or(0.0, sure),
            (false, Some(p)) => -p,
            (false, None) => one.difference.abs(),
        };
        let by_size = size(other).total_cmp(&size(one));
        key(one).cmp(&key(other)).then(by_size).then(one.name.cmp(&other.name))
    });
    found
}

/// Returns the size of a difference that is certain: the end of its interval that is nearer to
/// zero, or 0 if the interval contains 0.
fn sure([low, high]: [f64; 2]) -> f64 {
    if low <= 0.0 && high >= 0.0 {
        0.0
    } else {
        low.abs().min(high.abs())
    }
}

struct SideCosts<'a> {
    of: &'a TrialProfile,
    /// Cost of each name with callees, and without them.
    costs: Vec<[f64; 2]>,
    total: f64,
}

impl<'a> SideCosts<'a> {
    fn from_trial(of: &'a TrialProfile, names: usize) -> SideCosts<'a> {
        let mut costs = vec![[0.0; 2]; names];
        walk(&of.tree, names, |node, cost, is_open| {
            let [with_callees, own] = &mut costs[node.name as usize];
            *own += node.own / of.operations;
            if !is_open[node.name as usize] {
                *with_callees += cost / of.operations;
            }
        });
        SideCosts {
            of,
            costs,
            total: of.tree.total() / of.operations,
        }
    }

    fn with_callees(&self, frame: u32) -> f64 {
        self.costs[frame as usize][0]
    }

    fn own(&self, frame: u32) -> f64 {
        self.costs[frame as usize][1]
    }

    /// Returns the variance of a cost that follows from counting samples.
    fn counting_variance(&self, cost: f64) -> f64 {
        cost * self.of.sample_cost / self.of.operations
    }

    /// Returns the cost of each frame in stacks in which another frame is one of its callers. The
    /// first index is the caller, the second the callee, as positions in `frames`.
    fn costs_below(&self, frames: &[u32]) -> Vec<Vec<f64>> {
        let mut place = vec![None; self.costs.len()];
        for (at, frame) in frames.iter().enumerate() {
            place[*frame as usize] = Some(at);
        }
        let mut below = vec![vec![0.0; frames.len()]; frames.len()];
        walk(&self.of.tree, self.costs.len(), |node, cost, is_open| {
            let Some(callee) = place[node.name as usize] else {
                return;
            };
            if is_open[node.name as usize] {
                return;
            }
            for (caller, frame) in frames.iter().enumerate() {
                if is_open[*frame as usize] {
                    below[caller][callee] += cost / self.of.operations;
                }
            }
        });
        below
    }
}

/// Visits each node before its callees. `visit` receives the node, its cost with callees, and a
/// flag for each name. The flag is true if a caller of the node has this name.
fn walk(tree: &CallTree, names: usize, mut visit: impl FnMut(&Node, f64, &[bool])) {
    let (nodes, costs) = (tree.nodes(), tree.costs());
    let mut callees: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
    let mut open: Vec<(u32, bool)> = Vec::new();
    for (at, node) in nodes.iter().enumerate().rev() {
        match node.parent {
            Some(parent) => callees[parent as usize].push(at as u32),
            None => open.push((at as u32, false)),
        }
    }
    let mut is_open = vec![false; names];
    // For each node on the way from the pool: true if no caller has the same name.
    let mut opened: Vec<bool> = Vec::new();
    while let Some((at, is_left)) = open.pop() {
        let node = &nodes[at as usize];
        if is_left {
            if opened.pop() == Some(true) {
                is_open[node.name as usize] = false;
            }
            continue;
        }
        visit(node, costs[at as usize], &is_open);
        let is_first = !is_open[node.name as usize];
        is_open[node.name as usize] = true;
        opened.push(is_first);
        open.push((at, true));
        open.extend(callees[at as usize].iter().map(|callee| (*callee, false)));
    }
}

fn mean_of(pairs: &[[SideCosts<'_>; 2]], of: impl Fn(&[SideCosts<'_>; 2]) -> f64) -> f64 {
    pairs.iter().map(of).sum::<f64>() / pairs.len() as f64
}

fn pools(pairs: &[[SideCosts<'_>; 2]]) -> BTreeSet<u32> {
    let trees = pairs.iter().flatten().map(|side| side.of.tree.nodes());
    let roots = trees.flatten().filter(|node| node.parent.is_none());
    roots.map(|node| node.name).collect()
}

/// Returns the frames to compare, the most expensive first. A compared frame has enough cost in at
/// least one variant. Of frames with nearly the same stacks, only the innermost is compared.
fn compared(pairs: &[[SideCosts<'_>; 2]]) -> Vec<u32> {
    let count = pairs[0][0].costs.len() as u32;
    let means =
        |frame: u32| [0, 1].map(|side| mean_of(pairs, |pair| pair[side].with_callees(frame)));
    let totals = [0, 1].map(|side| mean_of(pairs, |pair| pair[side].total));
    let share = |frame: u32| {
        let costs = means(frame);
        (costs[0] / totals[0]).max(costs[1] / totals[1])
    };
    let large: BTreeSet<u32> = (0..count).filter(|frame| share(*frame) >= SHARE_MIN).collect();
    let calls = calls(pairs, &large);
    let represents = |caller: u32, callee: u32| {
        let (outer, inner) = (means(caller), means(callee));
        (0..2).all(|side| {
            let shared = calls[&(caller, callee)][side];
            shared >= SAME_STACKS * outer[side] && shared >= SAME_STACKS * inner[side]
        })
    };
    let same: BTreeMap<u32, u32> = calls
        .keys()
        .filter(|(caller, callee)| caller != callee && represents(*caller, *callee))
        .copied()
        .collect();
    let mut frames: Vec<u32> = large
        .into_iter()
        // In a cycle of calls, each frame represents itself, so all of them remain.
        .filter(|frame| innermost(&same, *frame) == *frame)
        .collect();
    frames.sort_by(|one, other| share(*other).total_cmp(&share(*one)).then(one.cmp(other)));
    frames.truncate(FRAMES_MAX);
    frames
}

/// Returns the frame that represents a frame. A frame in a cycle of calls represents itself.
fn innermost(same: &BTreeMap<u32, u32>, frame: u32) -> u32 {
    let mut at = frame;
    for _ in 0..=same.len() {
        match same.get(&at) {
            Some(callee) => at = *callee,
            None => return at,
        }
    }
    frame
}

/// Returns the mean cost of each direct call from one large frame to another, for both variants.
fn calls(pairs: &[[SideCosts<'_>; 2]], large: &BTreeSet<u32>) -> BTreeMap<(u32, u32), [f64; 2]> {
    let mut calls: BTreeMap<(u32, u32), [f64; 2]> = BTreeMap::new();
    for pair in pairs {
        for (side, costs) in pair.iter().enumerate() {
            let nodes = costs.of.tree.nodes();
            walk(&costs.of.tree, costs.costs.len(), |node, cost, is_open| {
                // A recursive callee counts once, as in its cost with callees.
                let Some(parent) = node.parent else { return };
                let call = (nodes[parent as usize].name, node.name);
                let is_first = !is_open[node.name as usize];
                if is_first && large.contains(&call.0) && large.contains(&call.1) {
                    let per_operation = cost / costs.of.operations;
                    calls.entry(call).or_default()[side] += per_operation / pairs.len() as f64;
                }
            });
        }
    }
    calls
}

/// Difference of a frame, before the adjustment for other frames.
struct FrameTest {
    frame: u32,
    difference: f64,
    ci95: Option<[f64; 2]>,
    p: Option<f64>,
}

fn judge(pairs: &[[SideCosts<'_>; 2]], frame: u32, margin: f64) -> FrameTest {
    let each: Vec<f64> = pairs
        .iter()
        .map(|pair| pair[1].with_callees(frame) - pair[0].with_callees(frame))
        .collect();
    let counting = pairs
        .iter()
        .flatten()
        .map(|side| side.counting_variance(side.with_callees(frame)))
        .sum();
    let (difference, error) = paired_difference(&each, counting);
    let freedom = each.len() as f64 - 1.0;
    let p = error.map(|error| {
        let beyond = (difference.abs() - margin).max(0.0);
        if error > 0.0 {
            (2.0 * t_above(beyond / error, freedom)).min(1.0)
        } else if beyond > 0.0 {
            0.0
        } else {
            1.0
        }
    });
    let half = half_of(error, each.len(), LEVEL);
    FrameTest {
        frame,
        difference,
        ci95: half.map(|half| [difference - half, difference + half]),
        p,
    }
}

/// Returns the mean of paired differences and its standard error, which is at least that of
/// counting. `counting_variances` is the sum of the variances of all counts. The error is `None`
/// for fewer than two differences.
pub fn paired_difference(each: &[f64], counting_variances: f64) -> (f64, Option<f64>) {
    let count = each.len() as f64;
    let error = (each.len() >= 2).then(|| {
        let of_blocks = (variance(each) / count).sqrt();
        of_blocks.max(counting_variances.sqrt() / count)
    });
    (mean(each), error)
}

/// Finds the named callee that explains each named caller: outside of the callee, the caller's
/// difference is small or not resolved. A method of the JDK or native code does not explain a
/// method of the application, because the application calls it.
fn explain(found: &mut [FrameDifference], frames: &[u32], pairs: &[[SideCosts<'_>; 2]]) {
    let named: Vec<usize> = (0..found.len()).filter(|at| found[*at].is_named).collect();
    if named.len() < 2 {
        return;
    }
    let named_frames: Vec<u32> = named.iter().map(|at| frames[*at]).collect();
    let below: Vec<[Vec<Vec<f64>>; 2]> = pairs
        .iter()
        .map(|pair| [0, 1].map(|side: usize| pair[side].costs_below(&named_frames)))
        .collect();
    let is_application =
        |one: &FrameDifference| !one.is_pool && FrameOrigin::from_frame(&one.name).is_application();
    let mut by: Vec<Option<usize>> = vec![None; named.len()];
    for (caller, at) in named.iter().enumerate() {
        let outer = &found[*at];
        let explains = |callee: &usize| {
            let inner = &found[named[*callee]];
            let fits = !inner.is_pool && (is_application(inner) || !is_application(outer));
            let same_sign = outer.difference.signum() == inner.difference.signum();
            if *callee == caller || !fits || !same_sign {
                return false;
            }
            let rest = pairs.iter().zip(&below).map(|(pair, below)| {
                [0, 1].map(|side: usize| {
                    let cost = pair[side].with_callees(named_frames[caller]);
                    (cost - below[side][caller][*callee]).max(0.0)
                })
            });
            is_explained(pairs, &rest.collect::<Vec<_>>(), outer.difference)
        };
        let size = |callee: &usize| found[named[*callee]].difference.abs();
        let callees = (0..named.len()).filter(explains);
        by[caller] = callees.max_by(|one, other| size(one).total_cmp(&size(other)));
    }
    for caller in 0..named.len() {
        let mut last = by[caller];
        // The callee may have an explanation itself, so the loop goes to the end of the chain.
        for _ in 0..named.len() {
            last = last.and_then(|at| by[at]).or(last);
        }
        let name = last.map(|callee| found[named[callee]].name.clone());
        found[named[caller]].explained_by = name;
    }
}

/// Returns true if the difference of a caller is small or uncertain outside of a callee. `rest`
/// contains the costs outside of the callee.
fn is_explained(pairs: &[[SideCosts<'_>; 2]], rest: &[[f64; 2]], difference: f64) -> bool {
    let each: Vec<f64> = rest.iter().map(|[baseline, contender]| contender - baseline).collect();
    let counting = pairs
        .iter()
        .flatten()
        .zip(rest.iter().flatten())
        .map(|(side, cost)| side.counting_variance(*cost))
        .sum();
    let (rest, error) = paired_difference(&each, counting);
    let is_small = rest.abs() <= UNEXPLAINED_MAX * difference.abs();
    let half = half_of(error, each.len(), UNEXPLAINED_LEVEL);
    is_small || half.is_some_and(|half| rest.abs() <= half)
}

/// Returns half the width of the confidence interval of a mean over `blocks` blocks. `level` is the
/// error probability.
fn half_of(error: Option<f64>, blocks: usize, level: f64) -> Option<f64> {
    let freedom = blocks as f64 - 1.0;
    error.map(|error| error * t_quantile(1.0 - level / 2.0, freedom))
}
