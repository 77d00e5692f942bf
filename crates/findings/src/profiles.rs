//! Combines the profiles of trials: one call tree per variant, the frames in which variants differ,
//! and the cost of the profiler.
//!
//! The profiled trials usually belong to a second run, whose folder is inside the folder of the
//! run, so that the profiler cannot disturb measured trials. [`add`] copies the findings of the
//! second run.

use crate::points::load_of;
use crate::used_trials::usable;
use analysis::VariantName;
use analysis::procedure::Point;
use analysis::profile::{
    CallTree, FrameDifference, MARGIN, Names, PrunedFrame, TrialProfile, differences,
};
use analysis::{Metric, compare_paired};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::Path;
use store::record::{
    CallTreeRecord, FindingsRecord, FrameDifferenceRecord, ProfileDifferenceRecord, ProfileUnit,
    ProfilerCostRecord, ProfilesRecord, TrialFinding, VariantProfileRecord,
};
use store::{ProfileRecord, Run, Trial};
use study::profile_study::PROFILED;
use study::settings::Study;

/// Share of a variant's cost below which frames are combined.
const SHARE_MIN: f64 = 0.002;
/// Maximum number of frames of a variant's call tree.
const FRAMES_MAX: usize = 3000;

/// Adds the profiles of the run in `profiled` to the findings of the run in `path`, and a sentence
/// on the first difference to the answer. `profiled` is a folder inside `path`.
///
/// # Errors
/// The run cannot be opened.
pub fn add(path: &Path, profiled: &Path, found: &mut FindingsRecord) -> Result<()> {
    let run = Run::look(profiled)
        .with_context(|| format!("open the profiles in {}", profiled.display()))?;
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let inner = run.path.strip_prefix(&path).unwrap_or(&run.path);
    let findings = run.findings.unwrap_or_default();
    let mut profiles = findings.profiles.unwrap_or_else(|| ProfilesRecord {
        reason: no_profiles(&findings.reasons),
        ..ProfilesRecord::default()
    });
    profiles.run = inner.display().to_string();
    if found.trials.iter().all(|trial| trial.variant.is_none()) {
        // The profiled run of a study without variants has a variant, whose name the user does not
        // know.
        profiles
            .variants
            .iter_mut()
            .for_each(|one| one.variant = VariantName::default());
        profiles
            .profiler_costs
            .iter_mut()
            .for_each(|one| one.variant = VariantName::default());
    }
    put(profiles, found);
    Ok(())
}

/// Adds the reason why the run has no profiles.
pub fn add_reason(reason: String, found: &mut FindingsRecord) {
    let without = ProfilesRecord {
        reason,
        ..ProfilesRecord::default()
    };
    put(without, found);
}

fn put(mut profiles: ProfilesRecord, found: &mut FindingsRecord) {
    profiles.says = sentences::profile::sentences(&profiles);
    found.answer.extend(sentences::profile::answer(&profiles));
    found.profiles = Some(profiles);
}

fn no_profiles(reasons: &[String]) -> String {
    match reasons.first() {
        Some(first) => format!("no trial with the profiler is usable: {first}"),
        None => "no trial with the profiler has a profile".to_owned(),
    }
}

/// Returns the profiles of a run's own trials, for the highest load that has a profile. Returns
/// `None` if no usable trial has a profile.
///
/// # Errors
/// A file of a profile cannot be read.
pub fn of_trials(
    study: &Study,
    run: &Run,
    trials: &[TrialFinding],
) -> Result<Option<ProfilesRecord>> {
    let of_run = run.trials()?;
    let mut profiled = Vec::new();
    for finding in trials.iter().filter(|trial| usable(trial)) {
        let trial = of_run.iter().find(|trial| trial.record.index == finding.index);
        let Some(trial) = trial else { continue };
        let profiles = trial.profiles()?;
        if !profiles.is_empty() {
            profiled.push((finding, trial, profiles));
        }
    }
    let load = |finding: &TrialFinding| load_of(finding.point);
    let highest = profiled.iter().max_by(|one, other| load(one.0).total_cmp(&load(other.0)));
    let Some(point) = highest.map(|(finding, ..)| finding.point) else {
        return Ok(None);
    };
    profiled.retain(|(finding, ..)| finding.point == point);
    let first = &profiled[0].2[0];
    let mut read = ProfiledTrials {
        names: Names::default(),
        variants: Vec::new(),
    };
    for variant in &study.variants {
        let mut blocks = BTreeMap::new();
        for (finding, trial, profiles) in &profiled {
            if finding.variant == variant.name && !blocks.contains_key(&finding.block) {
                let of_trial = read_trial(&mut read.names, trial, profiles)?;
                blocks.insert(finding.block, of_trial);
            }
        }
        if !blocks.is_empty() {
            read.variants.push((without_suffix(&variant.name), blocks));
        }
    }
    let mut record = ProfilesRecord {
        event: first.event.clone(),
        unit: unit_of(first),
        point,
        variants: read.variants.iter().map(|(name, blocks)| read.variant(name, blocks)).collect(),
        profiler_costs: profiler_costs(study, trials, point),
        ..ProfilesRecord::default()
    };
    record.differences = read.differences();
    record.says = sentences::profile::sentences(&record);
    Ok(Some(record))
}

fn unit_of(profile: &ProfileRecord) -> ProfileUnit {
    match profile.unit.as_str() {
        "bytes" => ProfileUnit::Bytes,
        _ => ProfileUnit::Microseconds,
    }
}

fn without_suffix(name: &VariantName) -> VariantName {
    let plain = name.name().and_then(|name| name.strip_suffix(PROFILED));
    match plain {
        Some(plain) => VariantName::from(plain),
        None => name.clone(),
    }
}

/// Profile of one trial, summed over its nodes.
struct Block {
    profile: TrialProfile,
    samples: u64,
}

/// Sums the profiles of all nodes of a trial.
fn read_trial(names: &mut Names, trial: &Trial, profiles: &[ProfileRecord]) -> Result<Block> {
    let mut block = Block {
        profile: TrialProfile::default(),
        samples: 0,
    };
    for record in profiles {
        let per_sample = match unit_of(record) {
            ProfileUnit::Microseconds => record.interval_ns as f64 / 1e3,
            ProfileUnit::Bytes => record.interval_ns as f64,
        };
        let profile = &mut block.profile;
        profile.sample_cost = profile.sample_cost.max(per_sample);
        profile.operations = profile.operations.max(record.operations as f64);
        for line in trial.folded(record)? {
            let (stack, count) = line?;
            profile.tree.add(names, &stack, count as f64 * per_sample);
            block.samples = block.samples.saturating_add(count);
        }
    }
    Ok(block)
}

/// All profiled trials of a run at one load, by variant and block.
struct ProfiledTrials {
    names: Names,
    variants: Vec<(VariantName, BTreeMap<usize, Block>)>,
}

impl ProfiledTrials {
    fn variant(&self, name: &VariantName, blocks: &BTreeMap<usize, Block>) -> VariantProfileRecord {
        let operations: f64 = blocks.values().map(|block| block.profile.operations).sum();
        let mut tree = CallTree::default();
        for block in blocks.values() {
            tree.merge(&block.profile.tree, 1.0 / operations.max(1.0));
        }
        VariantProfileRecord {
            variant: name.clone(),
            trials: blocks.len(),
            operations: operations as u64,
            samples: blocks.values().map(|block| block.samples).sum(),
            cost: rounded(tree.total()),
            tree: tree_record(&tree.pruned(&self.names, SHARE_MIN, FRAMES_MAX)),
        }
    }

    /// Compares each variant with the first one, block by block.
    fn differences(self) -> Vec<ProfileDifferenceRecord> {
        let names = self.names;
        let mut variants = self.variants.into_iter();
        let Some((baseline, mut first)) = variants.next() else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (contender, blocks) in variants {
            let mut pairs = Vec::new();
            let mut numbers = Vec::new();
            for (number, block) in blocks {
                if let Some(same) = first.remove(&number) {
                    pairs.push((same.profile, block.profile));
                    numbers.push((number, same.samples));
                }
            }
            found.push(difference(&names, &baseline, &contender, &pairs));
            // The next variant is compared with the same trials.
            for ((profile, _), (number, samples)) in pairs.into_iter().zip(numbers) {
                first.insert(number, Block { profile, samples });
            }
        }
        found
    }
}

fn difference(
    names: &Names,
    baseline: &VariantName,
    contender: &VariantName,
    pairs: &[(TrialProfile, TrialProfile)],
) -> ProfileDifferenceRecord {
    let count = pairs.len().max(1) as f64;
    let cost = |side: &TrialProfile| side.tree.total() / side.operations.max(1.0) / count;
    let costs = [
        pairs.iter().map(|(baseline, _)| cost(baseline)).sum::<f64>(),
        pairs.iter().map(|(_, contender)| cost(contender)).sum::<f64>(),
    ];
    ProfileDifferenceRecord {
        baseline: baseline.clone(),
        contender: contender.clone(),
        blocks: pairs.len(),
        costs: costs.map(rounded),
        margin: rounded(costs[0] * MARGIN),
        frames: differences(names, pairs).into_iter().map(frame_record).collect(),
    }
}

fn frame_record(frame: FrameDifference) -> FrameDifferenceRecord {
    FrameDifferenceRecord {
        frame: frame.name,
        is_pool: frame.is_pool,
        baseline: rounded(frame.baseline),
        contender: rounded(frame.contender),
        difference: rounded(frame.difference),
        own: rounded(frame.own),
        ci95: frame.ci95.map(|ends| ends.map(rounded)),
        p: frame.p,
        p_adjusted: frame.p_adjusted,
        named: frame.is_named,
        explained_by: frame.explained_by,
    }
}

fn tree_record(frames: &[PrunedFrame]) -> CallTreeRecord {
    let mut record = CallTreeRecord::default();
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    for frame in frames {
        let next = numbers.len() as u32;
        let number = *numbers.entry(&frame.name).or_insert(next);
        if number == next {
            record.names.push(frame.name.clone());
        }
        record.name.push(number);
        record.depth.push(u16::try_from(frame.depth).unwrap_or(u16::MAX));
        record.cost.push(rounded(frame.cost));
    }
    record
}

/// Rounds a cost to 0.001, because its error is larger.
fn rounded(cost: f64) -> f64 {
    (cost * 1e3).round() / 1e3
}

/// Compares the trials with the profiler with the trials without it, at one load. The metric is
/// throughput in a closed loop, and p99 at a rate, because the rate determines the throughput.
fn profiler_costs(
    study: &Study,
    trials: &[TrialFinding],
    point: Option<Point>,
) -> Vec<ProfilerCostRecord> {
    let is_closed = matches!(point, Some(Point::Threads(_)));
    let value = |trial: &TrialFinding| {
        if is_closed {
            trial.all.ops_per_s
        } else {
            trial.all.latency_ms.p99.least()
        }
    };
    let of = |name: &VariantName| -> BTreeMap<usize, f64> {
        let here =
            |trial: &&TrialFinding| trial.variant == *name && trial.point == point && usable(trial);
        // The first trial of a block counts, as for all findings.
        trials
            .iter()
            .rev()
            .filter(here)
            .map(|trial| (trial.block, value(trial)))
            .collect()
    };
    let compared = study.variants.iter().filter_map(|variant| {
        let plain = without_suffix(&variant.name);
        let (with, without) = (of(&variant.name), of(&plain));
        if plain == variant.name || without.is_empty() {
            return None;
        }
        let pairs: Vec<(f64, f64)> = without
            .iter()
            .filter_map(|(block, value)| Some((*value, *with.get(block)?)))
            .collect();
        let metric = if is_closed {
            Metric::THROUGHPUT
        } else {
            Metric::LATENCY
        };
        let compared = compare_paired(&pairs, metric).ok()?;
        Some(ProfilerCostRecord {
            variant: plain,
            metric: if is_closed {
                "ops_per_s"
            } else {
                "latency_ms.p99"
            }
            .to_owned(),
            ratio: compared.ratio,
            ci95: compared.ci95(),
            blocks: compared.blocks,
        })
    });
    compared.collect()
}

#[cfg(test)]
mod tests;
