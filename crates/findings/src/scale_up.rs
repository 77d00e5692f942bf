//! Computes the findings of a scale-up study, whose variants differ in the number of units. Each
//! arm is analysed separately.

mod arm_record;
mod load_choice;

use super::comparisons::blocks_of;
use analysis::scale_up::{MachineSize, Point};
use analysis::{Metric, VariantName};
use arm_record::{Arm, Instances, Setting, UnitsMeasurement, UnpairedReason, record};
use indexmap::IndexMap;
use sentences::scale_up::plural;
use store::record::{PartRecord, PointRecord, ScaleUpRecord, SearchRecord, TrialFinding};
use study::scale_up::AXIS;
use study::settings::ScaleUp;
use study::settings::{Study, Variant};
use target_spec::Placing;

/// Findings of a run that the analysis of the scale-up uses.
struct ScaleFacts<'a> {
    study: &'a Study,
    trials: &'a [TrialFinding],
    points: &'a [PointRecord],
    searches: &'a [SearchRecord],
    /// Number of blocks that [`blocks_of`] returns.
    blocks: usize,
}

/// Returns a record for each arm. The list is empty if the study is not a scale-up study, or if
/// every trial failed before its machine was known.
pub fn records(
    study: &Study,
    trials: &[TrialFinding],
    points: &[PointRecord],
    searches: &[SearchRecord],
) -> Vec<ScaleUpRecord> {
    let Some(asked) = &study.scale_up else {
        return Vec::new();
    };
    let found = ScaleFacts {
        study,
        trials,
        points,
        searches,
        blocks: blocks_of(study, trials),
    };
    let axis = found.study.axes.iter().position(|axis| axis.name == AXIS);
    let parts = found.trials.iter().filter_map(|trial| trial.part.as_ref());
    let (Some(axis), Some(part)) = (axis, parts.max_by_key(|part| part.split.len())) else {
        return Vec::new();
    };
    let machine = MachineSize {
        units_per_socket: part.units_per_socket,
        sockets: part.sockets,
    };
    let arms = found.arms(asked, axis, machine);
    let setting = found.setting(asked, machine, &arms);
    let baseline = arms.first();
    let each = arms.iter().enumerate();
    each.map(|(index, arm)| {
        let mut record = record(&setting, arm, baseline.filter(|_| index > 0));
        record.sentences.extend(found.said_of(arm, &record.unit));
        let is_placed = |baseline: &Arm| found.topology(baseline) != found.topology(arm);
        if !baseline.is_some_and(is_placed) {
            // Improvement factors have names only if the arms differ in placement.
            let gains = record.improvements.iter_mut();
            gains.for_each(|gain| gain.fills = None);
        }
        record
    })
    .collect()
}

impl<'a> ScaleFacts<'a> {
    fn trials_of<'v>(
        &self,
        variant: &'v VariantName,
    ) -> impl Iterator<Item = &'a TrialFinding> + use<'a, 'v> {
        self.trials.iter().filter(move |trial| trial.variant == *variant)
    }

    fn setting(&self, asked: &ScaleUp, machine: MachineSize, arms: &[Arm]) -> Setting {
        let unit = asked.units.map_or("", |units| units.name()).to_owned();
        let repeat = &self.study.repeat;
        let nodes = self.study.variants.first().and_then(|variant| variant.settings.target.local());
        let points = || arms.iter().flat_map(|arm| &arm.points);
        let grid = points().filter_map(|point| point.grid);
        let goals = self.searches.iter().map(|search| search.goal.clone());
        Setting {
            instances: match (asked.per_unit, nodes) {
                (true, _) => Instances::OfUnits(unit.clone()),
                (false, local) => Instances::Shared(local.map_or(1, |local| local.nodes)),
            },
            unit,
            machine,
            load: String::new(),
            bound: asked.p99_bound_ms.map(|ms| ("p99".to_owned(), (ms * 1e6) as u64)),
            goal: goals.into_iter().next(),
            metric: match grid.max_by(f64::total_cmp) {
                Some(grid) => Metric::THROUGHPUT.on_grid(grid),
                None => Metric::THROUGHPUT,
            },
            blocks: self.blocks,
            unpaired: match (repeat.interleaved, repeat.first_look) {
                (false, _) => Some(UnpairedReason::InARow),
                (true, Some(_)) => Some(UnpairedReason::UntilAnswered),
                (true, None) => None,
            },
        }
    }

    /// Groups the variants by their values on the other axes of the study.
    fn arms(&self, asked: &ScaleUp, axis: usize, machine: MachineSize) -> Vec<Arm> {
        let mut arms: IndexMap<Vec<usize>, Arm> = IndexMap::new();
        for variant in &self.study.variants {
            let Some(count) = variant.cell.get(axis).and_then(|at| asked.counts.get(*at)) else {
                continue;
            };
            let mut others = variant.cell.clone();
            others.remove(axis);
            let arm = arms.entry(others).or_insert_with(|| Arm {
                name: self.name_of(variant, axis),
                points: Vec::new(),
            });
            arm.points.push(self.measured(variant, *count, asked, machine));
        }
        arms.into_values().collect()
    }

    fn topology(&self, arm: &Arm) -> Option<Placing> {
        let of = &arm.points.first()?.variant;
        let variant = self.study.variants.iter().find(|one| one.name == *of)?;
        Some(variant.settings.target.local()?.topology.placing)
    }

    /// Returns remarks, each of which applies to some points of an arm.
    fn said_of(&self, arm: &Arm, unit: &str) -> Vec<String> {
        let mut said = Vec::new();
        let shares = |of: &&UnitsMeasurement| {
            let trials = self.trials_of(&of.variant);
            let mut parts = trials.filter_map(|trial| trial.part.as_ref());
            parts.any(|part| part.client_shares)
        };
        if let Some(shared) = arm.counted(shares) {
            said.push(format!(
                "With {shared} {unit} in use, the client ran on CPUs of the nodes and took CPU \
                 time from them. This lowers the efficiency at these points, and distorts the \
                 curves.",
                unit = plural(unit)
            ));
        }
        if let Some(last) = arm.counted(|of| of.is_last) {
            said.push(format!(
                "With {last} {unit} in use, the highest offered load had the highest throughput, \
                 so a higher load may reach more.",
                unit = plural(unit)
            ));
        }
        said
    }

    /// Returns the values of a variant on the other axes of the study.
    fn name_of(&self, variant: &Variant, axis: usize) -> Option<String> {
        let axes = self.study.axes.iter().zip(&variant.cell).enumerate();
        let others = axes.filter(|(index, _)| *index != axis);
        let names = others.filter_map(|(_, (axis, at))| axis.values.get(*at).cloned());
        let name = names.collect::<Vec<_>>().join("-");
        Some(name).filter(|name| !name.is_empty())
    }

    fn measured(
        &self,
        variant: &Variant,
        count: u32,
        asked: &ScaleUp,
        machine: MachineSize,
    ) -> UnitsMeasurement {
        let own = || self.trials_of(&variant.name);
        let part = own().find_map(|trial| trial.part.as_ref());
        let (sockets, split) = lies(part, count, machine);
        let chosen = self.chosen(variant, asked.p99_bound_ms);
        UnitsMeasurement {
            point: Point {
                units: count,
                sockets,
                split,
                ops_per_s: chosen.ops_per_s,
            },
            variant: variant.name.clone(),
            verdict: chosen.verdict,
            missing: chosen.missing,
            is_last: chosen.is_last,
            grid: chosen.grid,
        }
    }
}

/// Returns the number of sockets that contain the units, and the number of units on each socket.
fn lies(part: Option<&PartRecord>, count: u32, machine: MachineSize) -> (u32, Vec<u32>) {
    match part {
        Some(part) => (part.split.len() as u32, part.split.clone()),
        // If a trial failed before its nodes were placed, the function assumes that sockets are
        // filled one after the other.
        None => (count.div_ceil(machine.units_per_socket.max(1)), Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use crate::{combine, test_runs};
    use analysis::VariantName;
    use measure::Known;
    use store::record::{EfficiencyOf, RuleOutcome, SaturatedResource};
    use store::record::{FindingsRecord, PartRecord, RuleRecord, TrialFinding};
    use study::resolve::resolve;
    use study::settings::Overrides;

    /// Returns the findings on a machine of two sockets with four NUMA nodes each, which scales by
    /// the two-level model. At the second load, latency exceeds the bound.
    fn run(rest: &str, gain: f64) -> FindingsRecord {
        run_with(rest, "blocks: 5", gain, |_| {})
    }

    fn run_with(
        rest: &str,
        repeat: &str,
        gain: f64,
        change: impl Fn(&mut TrialFinding),
    ) -> FindingsRecord {
        let text = format!(
            "study: s\nquestion: q\nworkload: {{use: standard1, mix: {{write: 1}}}}\n\
             target: {{local: {{hosts: 1}}}}\nkeyspace: {{replication: 1}}\n\
             repeat: {{{repeat}}}\n\
             variants:\n  as-it-comes: {{target: {{local: {{topology: none}}}}}}\n  \
             planned: {{target: {{local: {{topology: pinned}}}}}}\n\
             procedure: {{scale_up: {{units: numa, counts: [1, 2, 4, 8], \
             instances: one-per-numa{rest}}}\n"
        );
        let study = resolve("s", &text, &Overrides::default()).unwrap();
        let part = |name: &VariantName| {
            let count = name.as_str().rsplit('-').nth(1).unwrap();
            let units: u32 = count.parse().unwrap();
            match units.checked_sub(4) {
                Some(rest) if rest > 0 => (units, vec![4, rest]),
                _ => (units, vec![units]),
            }
        };
        let mut trials = test_runs::trials(&study, |trial| {
            let (units, split) = part(&trial.variant.name);
            let (n, s) = (f64::from(split[0]), split.len() as f64);
            let ideal = f64::from(units) * 1000.0;
            let slowed = ideal / (1.0 + 0.0068 * (n - 1.0)) / (1.0 + 0.0889 * (s - 1.0));
            let placed = if trial.variant.name.as_str().starts_with("planned") {
                gain
            } else {
                1.0
            };
            let wobble = 1.0 + trial.one_of([0.0, 0.002, -0.002, 0.001, -0.001]);
            match trial.point.value() as u64 {
                16 => (slowed * placed * wobble, Known::Exactly(5.0)),
                _ => (slowed * placed * 2.0, Known::Exactly(50.0)),
            }
        });
        for trial in &mut trials {
            let (units, split) = part(&trial.variant);
            trial.part = Some(PartRecord {
                unit: "numa".to_owned(),
                split,
                units_per_socket: 4,
                sockets: 2,
                client_shares: units == 8,
            });
            change(trial);
        }
        let first = |of: &[&TrialFinding]| Some(of.first()?.all.latency_ms.clone());
        combine(&study, trials, &first, None)
    }

    #[test]
    fn arms_have_the_three_efficiencies_and_what_placement_brings() {
        let found = run(", p99_ms: 10}, fixed: {threads: 16}", 1.25);
        let [baseline, planned] = found.scale_ups.as_slice() else {
            panic!("{:#?}", found.scale_ups)
        };
        assert_eq!(
            (baseline.arm.as_deref(), planned.arm.as_deref()),
            (Some("as-it-comes"), Some("planned"))
        );
        let efficiency = |name| {
            let of = planned.efficiencies.iter().find(|one| one.name == name).unwrap();
            let ratio = of.ratio.as_ref().unwrap();
            let [least, most] = ratio.ci95.unwrap();
            assert!(least < ratio.value && ratio.value < most, "{ratio:?}");
            ratio.value
        };
        assert!((efficiency(EfficiencyOf::Socket) - 0.98).abs() < 0.005);
        assert!((efficiency(EfficiencyOf::System) - 0.90).abs() < 0.005);
        assert!((efficiency(EfficiencyOf::Cross) - 0.918).abs() < 0.005);
        let gains = &planned.improvements;
        assert!(gains.iter().all(|one| {
            one.ratio.as_ref().is_some_and(|ratio| (ratio.value - 1.25).abs() < 0.01)
        }));
        let fills: Vec<_> = gains.iter().map(|one| one.fills).collect();
        assert_eq!(
            fills,
            [
                None,
                None,
                Some(SaturatedResource::Socket),
                Some(SaturatedResource::System)
            ]
        );
        assert!(baseline.improvements.is_empty());
        let said = planned.sentences.join("\n");
        assert!(
            said.contains("With 8 NUMA nodes in use, the client ran on CPUs of the nodes"),
            "{said}"
        );
        assert!(
            said.contains("With 1, 2, 4 and 8 NUMA nodes in use, the highest offered load"),
            "{said}"
        );
        let answer = found.answer.join("\n");
        assert!(
            answer.contains("“planned”: the efficiency across sockets is 0.91"),
            "{answer}"
        );
    }

    #[test]
    fn only_what_is_within_the_bound_counts() {
        let found = run(", p99_ms: 10}, sweep: {threads: [16, 64]}", 1.0);
        let first = &found.scale_ups[0].points[0];
        let ops = first.ops_per_s.unwrap();
        assert!((ops - 1000.0).abs() < 5.0, "{first:?}");
        let said = found.scale_ups[0].sentences.join("\n");
        assert!(!said.contains("the highest offered load"), "{said}");
    }

    #[test]
    fn an_offered_rate_that_was_kept_up_with_is_no_capacity() {
        // The target kept up with every rate, so the limit of the units is unknown.
        let found = run_with("}, fixed: {rate: 10}", "blocks: 5", 1.0, |trial| {
            trial.all.ops_per_s = 10.0;
        });
        for point in &found.scale_ups[0].points {
            assert!(point.ops_per_s.is_none() && point.efficiency.is_none());
            assert!(
                point.missing.as_ref().unwrap().contains("no rate was too high"),
                "{point:?}"
            );
        }
        // The second rate was too high, so its throughput shows what the target can do.
        let found = run("}, sweep: {rate: [10, 1000k]}", 1.0);
        let first = &found.scale_ups[0].points[0];
        assert!((first.ops_per_s.unwrap() - 2000.0).abs() < 5.0, "{first:?}");
    }

    #[test]
    fn a_busy_client_and_older_data_say_nothing_of_the_nodes() {
        let found = run_with("}, fixed: {threads: 16}", "blocks: 5", 1.0, |trial| {
            if trial.block == 0 {
                trial.rules.push(RuleRecord {
                    rule: "V3".to_owned(),
                    result: RuleOutcome::Warn,
                    detail: String::new(),
                    measured: Vec::new(),
                });
            }
            // In the first two blocks, the trials with an odd index ran on older data.
            trial.generation = Some(if trial.block > 1 || trial.index % 2 == 0 {
                2
            } else {
                1
            });
        });
        let efficiency = found.scale_ups[0].points[1].efficiency.as_ref();
        let blocks = efficiency.map(|efficiency| efficiency.blocks);
        assert!(
            blocks.is_some_and(|blocks| (3..5).contains(&blocks)),
            "{blocks:?}"
        );
        let of_unit = &found.scale_ups[0].points[0].ops_per_s_blocks;
        assert!(of_unit[0].is_none() && of_unit[4].is_some(), "{of_unit:?}");
    }

    #[test]
    fn trials_that_did_not_take_turns_have_no_interval() {
        for repeat in ["blocks: 5, order: sequential", "until: answered"] {
            let found = run_with("}, fixed: {threads: 16}", repeat, 1.0, |_| {});
            let record = &found.scale_ups[0];
            let efficiency = record.points[1].efficiency.as_ref().unwrap();
            assert!(efficiency.ci95.is_none() && efficiency.value > 0.9);
            let coefficients = record.fits.iter().flat_map(|fit| &fit.coefficients);
            assert!(coefficients.clone().count() > 0);
            assert!(coefficients.clone().all(|of| of.ci95.is_none() && !of.told));
            let said = record.sentences.join("\n");
            assert!(said.to_lowercase().contains("interval"), "{said}");
        }
    }

    #[test]
    fn a_point_that_most_blocks_lack_has_no_ratio() {
        let found = run_with("}, fixed: {threads: 16}", "blocks: 5", 1.0, |trial| {
            if trial.block > 1 {
                trial.verdict = store::record::Verdict::Invalid;
            }
        });
        let point = &found.scale_ups[0].points[1];
        assert!(point.efficiency.is_none(), "{point:?}");
        assert!(
            point.missing.as_ref().unwrap().contains("2 of 5 blocks"),
            "{point:?}"
        );
    }

    #[test]
    fn a_study_that_does_not_scale_up_has_none() {
        let text = "study: s\nquestion: q\ntarget: {null: {}}\nworkload: {use: standard1}\n\
                    procedure: {fixed: {threads: 1}}\n";
        let study = resolve("s", text, &Overrides::default()).unwrap();
        let trials = test_runs::trials(&study, |_| (1.0, Known::default()));
        assert!(combine(&study, trials, &|_| None, None).scale_ups.is_empty());
    }
}
