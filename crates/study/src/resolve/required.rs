//! Reports requirements that can never be judged or met. cassay treats them as mistakes in the
//! study.

use crate::settings::{Require, Variant, Where};
use analysis::procedure::{Point, ProcedureEstimate};
use std::collections::BTreeSet;
use yaml::{Diagnostics, Node};

/// Reports the mistakes in the requirements of each variant, without duplicates.
pub(super) fn check(root: &Node, variants: &[Variant], out: &mut Diagnostics) {
    let mut said = BTreeSet::new();
    let own = || variants.iter().filter(|variant| !variant.is_added);
    for variant in own() {
        for (key, message, hint) in mistakes(variant, own().count()) {
            if said.insert(message.clone()) {
                let own = format!("variants.{}.require{key}", variant.name);
                let path = match root.find(&own) {
                    Some(_) => own,
                    None => format!("require{key}"),
                };
                out.add(&root.nearest(&path).place, message, hint);
            }
        }
    }
}

type Mistake = (&'static str, String, Option<String>);

fn mistakes(variant: &Variant, variants_count: usize) -> Vec<Mistake> {
    let require = &variant.settings.require;
    let outlook = variant.settings.procedure.outlook();
    let mut found = Vec::new();
    if require.ratio.is_some() && variants_count < 2 {
        let message = "`require.ratio` needs two variants, but the study has one".to_owned();
        let hint = "to compare two runs instead, use `cassay compare RUN RUN --require-not-slower`"
            .to_owned();
        found.push((".ratio", message, Some(hint)));
    }
    found.extend(beside_points(require, &outlook));
    found.extend(above_rates(require, &outlook));
    found
}

/// Reports requirements at points that the study does not measure, if all points are known.
fn beside_points(require: &Require, outlook: &ProcedureEstimate) -> Option<Mistake> {
    let Where::Values(values) = &require.at else {
        return None;
    };
    if outlook.points.is_empty() || outlook.points.len() < outlook.turns_max {
        return None;
    }
    let points: Vec<u64> = outlook.points.iter().map(|at| at.value() as u64).collect();
    let beside = values.iter().find(|value| !points.contains(value))?;
    let message = format!("`require.at` is `{beside}`, which is not a measured point");
    let known: Vec<String> = points.iter().map(u64::to_string).collect();
    let hint = format!("the points are {}", known.join(", "));
    Some((".at", message, Some(hint)))
}

/// Reports a required throughput that is higher than the offered rate.
fn above_rates(require: &Require, outlook: &ProcedureEstimate) -> Option<Mistake> {
    let least = require.ops_per_s?;
    let is_judged = |value: f64| match &require.at {
        Where::Values(values) => values.iter().any(|at| *at as f64 == value),
        Where::Auto | Where::Every | Where::Best => true,
    };
    let rates = outlook.points.iter().filter_map(|point| match point {
        Point::Rate(rate) => Some(*rate).filter(|rate| is_judged(*rate as f64)),
        Point::Threads(_) => None,
    });
    let offered = match require.at {
        Where::Best => rates.max(),
        _ => rates.min(),
    };
    let offered = offered.filter(|rate| least > *rate as f64)?;
    let message = format!(
        "`require.ops_per_s` is {least}, but the study offers at most {offered} op/s at its points"
    );
    let hint = "lower the limit, or select rates with `require.at`".to_owned();
    Some((".ops_per_s", message, Some(hint)))
}
