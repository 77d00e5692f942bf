//! What a scale-up study found: its variants as numbers of units, arm by arm.

use super::compared::{COMPARED, is_search, used};
use super::points::sweep;
use super::searched;
use super::verdict_of;
use crate::scale_up::{Arm, Measured, Setting, plural, record};
use analysis::Metric;
use analysis::rules::Verdict;
use analysis::scale_up::{Machine, Point};
use indexmap::IndexMap;
use measure::Known;
use measure::number::significant;
use store::record::{
    EfficiencyRecord, PartRecord, PointRecord, ScaleUpRecord, SearchRecord, TrialFinding,
};
use study::scale_up::{AXIS, ScaleUp};
use study::settings::{Study, Variant};

/// The findings of a run that this stands on.
struct Found<'a> {
    study: &'a Study,
    trials: &'a [TrialFinding],
    points: &'a [PointRecord],
    searches: &'a [SearchRecord],
}

/// A record for each arm; none of a study that does not scale up, and where no trial has come so
/// far that its machine is known.
pub fn records(
    study: &Study,
    trials: &[TrialFinding],
    points: &[PointRecord],
    searches: &[SearchRecord],
) -> Vec<ScaleUpRecord> {
    let Some(asked) = &study.scale_up else {
        return Vec::new();
    };
    let found = Found {
        study,
        trials,
        points,
        searches,
    };
    let axis = found.study.axes.iter().position(|axis| axis.name == AXIS);
    let parts = found.trials.iter().filter_map(|trial| trial.part.as_ref());
    let (Some(axis), Some(part)) = (axis, parts.max_by_key(|part| part.split.len())) else {
        return Vec::new();
    };
    let machine = Machine {
        units_per_socket: part.units_per_socket,
        sockets: part.sockets,
    };
    let arms = found.arms(asked, axis, machine);
    let setting = found.setting(asked, machine);
    let baseline = arms.first();
    let each = arms.iter().enumerate();
    each.map(|(index, arm)| {
        let mut record = record(&setting, arm, baseline.filter(|_| index > 0));
        let shared = found.shared(arm);
        if !shared.is_empty() {
            record.sentences.push(format!(
                "With {} {} in use no CPU was left for the client: it ran on those of the nodes \
                 and took from what was measured, so that the efficiency there is lower by that.",
                shared.join(" and "),
                plural(&record.unit)
            ));
        }
        record
    })
    .collect()
}

impl<'a> Found<'a> {
    fn trials_of<'v>(
        &self,
        variant: &'v str,
    ) -> impl Iterator<Item = &'a TrialFinding> + use<'a, 'v> {
        self.trials
            .iter()
            .filter(move |trial| trial.variant == variant)
    }

    fn setting(&self, asked: &ScaleUp, machine: Machine) -> Setting {
        let unit = asked.units.map_or("", |units| units.name()).to_owned();
        let found = self
            .searches
            .iter()
            .filter_map(SearchRecord::found_ops_per_s);
        let least = found.map(Known::least).fold(f64::INFINITY, f64::min);
        let is_searched = self.study.variants.iter().any(is_search);
        Setting {
            instances: match asked.per_unit {
                true => unit.clone(),
                false => "one".to_owned(),
            },
            unit,
            machine,
            load: String::new(),
            bound: asked
                .p99_bound_ms
                .map(|ms| ("p99".to_owned(), (ms * 1e6) as u64)),
            metric: match is_searched && least.is_finite() {
                true => Metric::THROUGHPUT.on_grid(searched::grid(least)),
                false => Metric::THROUGHPUT,
            },
        }
    }

    /// The variants by what they are on the other axes.
    fn arms(&self, asked: &ScaleUp, axis: usize, machine: Machine) -> Vec<Arm> {
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
            arm.points
                .push(self.measured(variant, *count, asked, machine));
        }
        arms.into_values().collect()
    }

    /// The numbers of units with which the client had no CPU of its own.
    fn shared(&self, arm: &Arm) -> Vec<String> {
        let is_shared = |of: &&Measured| {
            let mut parts = self
                .trials_of(&of.variant)
                .filter_map(|trial| trial.part.as_ref());
            parts.any(|part| part.client_shares)
        };
        let shared = arm.points.iter().filter(is_shared);
        shared.map(|of| of.point.units.to_string()).collect()
    }

    /// The values of a variant on the other axes.
    fn name_of(&self, variant: &Variant, axis: usize) -> String {
        let axes = self.study.axes.iter().zip(&variant.cell).enumerate();
        let others = axes.filter(|(index, _)| *index != axis);
        let names = others.filter_map(|(_, (axis, at))| axis.values.get(*at).cloned());
        names.collect::<Vec<_>>().join("-")
    }

    fn measured(
        &self,
        variant: &Variant,
        count: u32,
        asked: &ScaleUp,
        machine: Machine,
    ) -> Measured {
        let own = || self.trials_of(&variant.name);
        let part = own().find_map(|trial| trial.part.as_ref());
        let (sockets, split) = lies(part, count, machine);
        let blocks = self.study.blocks();
        let (ops_per_s, verdict) = match is_search(variant) {
            true => {
                let of = |block: usize| {
                    let is_of =
                        |one: &&SearchRecord| one.variant == variant.name && one.block == block;
                    match self.searches.iter().find(is_of)?.found_ops_per_s()? {
                        Known::Exactly(ops) => Some(ops),
                        // More could have been found: no ratio is known of it.
                        Known::AtLeast(_) => None,
                    }
                };
                let worst = Verdict::worst(own().map(|trial| verdict_of(&trial.verdict)));
                ((0..blocks).map(of).collect(), worst.name().to_owned())
            }
            false => self.best(variant, asked.p99_bound_ms),
        };
        let missing = match ops_per_s.iter().flatten().next() {
            Some(_) => String::new(),
            None => self.why_not(variant, asked.p99_bound_ms),
        };
        Measured {
            point: Point {
                units: count,
                sockets,
                split,
                ops_per_s,
            },
            variant: variant.name.clone(),
            verdict,
            missing,
        }
    }

    /// Throughput by block at the load where the variant does most, within the bound if there is
    /// one.
    fn best(&self, variant: &Variant, p99_bound_ms: Option<f64>) -> (Vec<Option<f64>>, String) {
        let none = || {
            (
                vec![None; self.study.blocks()],
                Verdict::Invalid.name().to_owned(),
            )
        };
        // Of logs that could not be read back nothing is known, which is no p99 of 0.
        let is_known = |point: &PointRecord| point.latency_ms.p99.least() > 0.0;
        let of = |point: &&PointRecord| {
            point.variant == variant.name && (p99_bound_ms.is_none() || is_known(point))
        };
        let points: Vec<&PointRecord> = self.points.iter().filter(of).collect();
        let reading = sweep(&points, p99_bound_ms);
        let best = match p99_bound_ms {
            Some(_) => reading.best_within_bound,
            None => reading.best,
        };
        let Some(point) = best.map(|at| points[at]) else {
            return none();
        };
        let trials = used(
            self.study,
            self.trials,
            &variant.name,
            &point.point,
            &COMPARED[0],
        );
        let ops = trials.iter().map(|trial| Some((*trial)?.all.ops_per_s));
        (ops.collect(), point.verdict.clone())
    }

    /// Why a variant has no throughput.
    fn why_not(&self, variant: &Variant, p99_bound_ms: Option<f64>) -> String {
        let has_points = self
            .points
            .iter()
            .any(|point| point.variant == variant.name);
        if let Some(bound) = p99_bound_ms.filter(|_| has_points) {
            let bound = significant(bound, 3);
            return format!("no point is known to be within a p99 of {bound} ms");
        }
        let mut trials = self.trials_of(&variant.name);
        let reason = trials.find_map(|trial| trial.reasons.first().cloned());
        reason.unwrap_or_else(|| "it was not measured".to_owned())
    }
}

/// On how many sockets so many units are, and how many on each.
fn lies(part: Option<&PartRecord>, count: u32, machine: Machine) -> (u32, Vec<u32>) {
    match part {
        Some(part) => (part.split.len() as u32, part.split.clone()),
        // A trial that failed before its nodes were placed: sockets are filled one by one.
        None => (count.div_ceil(machine.units_per_socket.max(1)), Vec::new()),
    }
}

/// What a study of this kind came to, a sentence for each arm and each efficiency.
pub fn sentences(records: &[ScaleUpRecord]) -> Vec<String> {
    records.iter().flat_map(of_arm).collect()
}

fn of_arm(arm: &ScaleUpRecord) -> Vec<String> {
    let who = match arm.arm.as_str() {
        "" => String::new(),
        name => format!("“{name}”: "),
    };
    let ratio = |ratio: &store::record::ScaleRatioRecord, digits: i32| {
        let value = significant(ratio.value, digits);
        match ratio.ci95 {
            Some([least, most]) => {
                let ends = [least, most].map(|end| significant(end, digits));
                format!("{value} (95 %: {} to {})", ends[0], ends[1])
            }
            None => format!("{value} (one block: no interval)"),
        }
    };
    let last = arm
        .points
        .iter()
        .filter(|point| point.units > 1)
        .max_by_key(|one| one.units);
    let mut said = Vec::new();
    if let Some(point) = last
        && let (Some(speed_up), Some(efficiency)) = (&point.speed_up, &point.efficiency)
    {
        said.push(format!(
            "{who}{} {} do {} times what one does, an efficiency of {}.",
            point.units,
            plural(&arm.unit),
            ratio(speed_up, 3),
            ratio(efficiency, 3)
        ));
    }
    said.extend(
        arm.efficiencies
            .iter()
            .filter_map(|one: &EfficiencyRecord| {
                let found = ratio(one.ratio.as_ref()?, 3);
                let what = match one.name.as_str() {
                    "socket" => "within a socket",
                    "system" => "of the system",
                    _ => "across sockets",
                };
                let the = if who.is_empty() { "The" } else { "the" };
                Some(format!("{who}{the} efficiency {what} is {found}."))
            }),
    );
    said
}

#[cfg(test)]
mod tests {
    use crate::summary::{findings, made};
    use measure::Known;
    use store::record::{FindingsRecord, PartRecord, TrialFinding};
    use study::resolve::resolve;
    use study::settings::Overrides;

    /// A machine of two sockets with four NUMA nodes each that scales by the two-level model; the
    /// second load is beyond the bound.
    fn run(rest: &str, gain: f64) -> FindingsRecord {
        let text = format!(
            "study: s\nquestion: q\nworkload: {{use: standard1, mix: {{write: 1}}}}\n\
             target: {{local: {{hosts: 1}}}}\nkeyspace: {{replication: 1}}\n\
             repeat: {{blocks: 5}}\n\
             variants:\n  as-it-comes: {{}}\n  \
             planned: {{target: {{local: {{topology: pinned}}}}}}\n\
             procedure: {{scale_up: {{units: numa, counts: [1, 2, 4, 8], \
             instances: one-per-numa, p99_ms: 10}}, {rest}}}\n"
        );
        let study = resolve("s", &text, &Overrides::default()).unwrap();
        let part = |name: &str| {
            let count = name.rsplit('-').nth(1).unwrap();
            let units: u32 = count.parse().unwrap();
            match units.checked_sub(4) {
                Some(rest) if rest > 0 => (units, vec![4, rest]),
                _ => (units, vec![units]),
            }
        };
        let mut trials = made::trials(&study, |trial| {
            let (units, split) = part(&trial.variant.name);
            let (n, s) = (f64::from(split[0]), split.len() as f64);
            let ideal = f64::from(units) * 1000.0;
            let slowed = ideal / (1.0 + 0.0068 * (n - 1.0)) / (1.0 + 0.0889 * (s - 1.0));
            let placed = if trial.variant.name.starts_with("planned") {
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
        }
        let first = |of: &[&TrialFinding]| Some(of.first()?.all.latency_ms.clone());
        findings(&study, trials, &first, None)
    }

    #[test]
    fn arms_have_the_three_efficiencies_and_what_placement_brings() {
        let found = run("fixed: {threads: 16}", 1.25);
        let [baseline, planned] = found.scale_ups.as_slice() else {
            panic!("{:#?}", found.scale_ups)
        };
        assert_eq!(
            (baseline.arm.as_str(), planned.arm.as_str()),
            ("as-it-comes", "planned")
        );
        let efficiency = |name: &str| {
            let of = planned
                .efficiencies
                .iter()
                .find(|one| one.name == name)
                .unwrap();
            let ratio = of.ratio.as_ref().unwrap();
            let [least, most] = ratio.ci95.unwrap();
            assert!(least < ratio.value && ratio.value < most, "{ratio:?}");
            ratio.value
        };
        assert!((efficiency("socket") - 0.98).abs() < 0.005);
        assert!((efficiency("system") - 0.90).abs() < 0.005);
        assert!((efficiency("cross") - 0.918).abs() < 0.005);
        let gains = &planned.improvements;
        assert!(gains.iter().all(|one| {
            one.ratio
                .as_ref()
                .is_some_and(|ratio| (ratio.value - 1.25).abs() < 0.01)
        }));
        let fills: Vec<&str> = gains.iter().map(|one| one.fills.as_str()).collect();
        assert_eq!(fills, ["", "", "socket", "system"]);
        assert!(baseline.improvements.is_empty());
        let said = planned.sentences.join("\n");
        assert!(
            said.contains("With 8 NUMA nodes in use no CPU was left for the client"),
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
        let found = run("sweep: {threads: [16, 64]}", 1.0);
        let first = &found.scale_ups[0].points[0];
        let ops = first.ops_per_s.unwrap();
        assert!((ops - 1000.0).abs() < 5.0, "{first:?}");
    }

    #[test]
    fn a_study_that_does_not_scale_up_has_none() {
        let text = "study: s\nquestion: q\ntarget: {null: {}}\nworkload: {use: standard1}\n\
                    procedure: {fixed: {threads: 1}}\n";
        let study = resolve("s", text, &Overrides::default()).unwrap();
        let trials = made::trials(&study, |_| (1.0, Known::default()));
        assert!(
            findings(&study, trials, &|_| None, None)
                .scale_ups
                .is_empty()
        );
    }
}
