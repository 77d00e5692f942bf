//! Describes how much throughput a machine gains if the nodes use more of its units.

use crate::interval::ends;
use measure::number::significant;
use store::record::{EfficiencyOf, EfficiencyRecord, ScaleUpRecord};

/// Returns the results of a scale-up study, with one sentence for each arm and each efficiency.
pub fn sentences(records: &[ScaleUpRecord]) -> Vec<String> {
    records.iter().flat_map(arm_sentences).collect()
}

fn arm_sentences(arm: &ScaleUpRecord) -> Vec<String> {
    let who = (arm.arm.as_ref()).map_or_else(String::new, |name| format!("“{name}”: "));
    let ratio = |ratio: &store::record::ScaleRatioRecord, digits: i32| {
        let value = significant(ratio.value, digits);
        match ratio.ci95 {
            Some(ci95) => value + &ends(ci95, |end| significant(end, digits)),
            None => format!("{value} (without an interval)"),
        }
    };
    let last = arm.points.iter().filter(|point| point.units > 1).max_by_key(|one| one.units);
    let mut said = Vec::new();
    if let Some(point) = last
        && let (Some(speed_up), Some(efficiency)) = (&point.speed_up, &point.efficiency)
    {
        said.push(format!(
            "{who}{} {} reach {} times the throughput of one, an efficiency of {}.",
            point.units,
            plural(&arm.unit),
            ratio(speed_up, 3),
            ratio(efficiency, 3)
        ));
    }
    said.extend(
        arm.efficiencies.iter().filter_map(|one: &EfficiencyRecord| {
            let found = ratio(one.ratio.as_ref()?, 3);
            let what = match one.name {
                EfficiencyOf::Socket => "within a socket",
                EfficiencyOf::System => "of the system",
                EfficiencyOf::Cross => "across sockets",
            };
            let the = if who.is_empty() { "The" } else { "the" };
            Some(format!("{who}{the} efficiency {what} is {found}."))
        }),
    );
    said
}

/// Returns the plural of the word for the kind of unit on which an instance runs.
pub fn plural(instances: &str) -> &str {
    match instances {
        "l3" => "L3 caches",
        "numa" => "NUMA nodes",
        other => other,
    }
}
