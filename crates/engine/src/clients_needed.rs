//! Estimates, before a study starts, the number of client machines that its highest point needs.
//!
//! The estimate uses the measured ceiling of a client and the rate of the network links. Rule V3
//! allows half of the ceiling. The estimate does not contact machines. Ceilings come from the files
//! of earlier runs of the study. The kernel reports the link rate of the machine that runs cassay.
//! The estimate marks assumed values as assumed.

mod earlier_runs;
mod facts;
mod sentences;

use analysis::VariantName;
use analysis::procedure::Point;
use analysis::rules::Limits;
use earlier_runs::KnownRuns;
use facts::{Facts, HERE, Link, MeasuredClient, Shape};
use serde::Serialize;
use std::path::Path;
use study::compile_workload::Work;
use study::payload::Payload;
use study::plan::Plan;
use study::settings::{Client, ClientMachine, Split, Study, Variant};
use study::target_differences;
use target_spec::Target;

/// Client machines that the highest point of a variant needs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClientsNeeded {
    pub variant: VariantName,
    /// Highest point of the variant, such as `{"rate": 1200000}`.
    #[serde(serialize_with = "axis_and_value")]
    pub point: Point,
    /// Throughput at the highest point, in op/s. Absent if the point is a number of threads and no
    /// earlier run has measured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ops_per_s: Option<f64>,
    /// Number of machines that the point needs. A lower bound if no ceiling is known. Absent if
    /// unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machines: Option<usize>,
    /// Number of client machines that the study names.
    pub machines_named: usize,
    /// Measured ceiling of a client. Absent if no finished run of the study has measured a ceiling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<MeasuredClient>,
    /// Maximum share of the ceiling that rule V3 allows.
    pub ceiling_share_max: f64,
    /// Number of bytes of an operation's requests on the wire.
    pub request_bytes: f64,
    /// Approximate number of bytes of an operation's responses on the wire.
    pub answer_bytes: f64,
    /// Rate of the slowest link of the machines, in bit/s. Absent if the target is on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link_bits_per_s: Option<u64>,
    /// True if the rate of the link is assumed.
    pub link_is_assumed: bool,
    /// The estimate as a sentence for the user.
    pub sentence: String,
    /// Advice to the user if the highest point needs more machines than the study names. Absent
    /// otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

fn axis_and_value<S: serde::Serializer>(point: &Point, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map([(point.axis(), point.value())])
}

/// Estimates the clients that each variant of a study needs. Omits null targets, because the study
/// then measures the client itself. Also omits recorded traffic, because a single client offers it.
/// `results` is the folder of all runs.
pub fn clients_needed(study: &Study, plan: &Plan, results: &Path) -> Vec<ClientsNeeded> {
    let known = KnownRuns::read(&study.name, results);
    let variants = study.variants.iter().zip(&plan.works);
    let needed = variants.filter_map(|(variant, work)| {
        let facts = facts(variant, work, &known)?;
        Some(needed(variant.name.clone(), &facts, &study.source))
    });
    needed.collect()
}

/// Returns the sentence for a plan, and a warning if the plan needs one. The sentence describes the
/// variant that needs the most machines, or a variant whose need is unknown. The sentence starts
/// with the name of this variant if the variants have different sentences.
pub fn clients_words(all: &[ClientsNeeded]) -> Option<(String, Option<String>)> {
    let most = most_needed(all)?;
    let is_same = |one: &ClientsNeeded| one.sentence == most.sentence;
    let sentence = match most.variant.name() {
        Some(variant) if !all.iter().all(is_same) => format!("“{variant}”: {}", most.sentence),
        _ => most.sentence.clone(),
    };
    Some((sentence, most.warning.clone()))
}

/// Returns the first of the variants that need the most machines. Variants whose need is unknown
/// rank above variants that need a single machine.
fn most_needed(all: &[ClientsNeeded]) -> Option<&ClientsNeeded> {
    let rank = |one: &&ClientsNeeded| match one.machines {
        Some(machines) if machines > 1 => (2, machines),
        Some(_) if one.ceiling.is_some() => (0, 1),
        Some(_) | None => (1, 0),
    };
    all.iter().rev().max_by_key(rank)
}

fn facts(variant: &Variant, work: &Work, known: &KnownRuns) -> Option<Facts> {
    let settings = &variant.settings;
    if matches!(settings.target, Target::Null(_)) || settings.workload.recorded.is_some() {
        return None;
    }
    let outlook = settings.procedure.outlook();
    let points = outlook.points.into_iter().chain(outlook.up_to);
    let point = points.max_by(|one, other| one.value().total_cmp(&other.value()))?;
    let client = &settings.client;
    let places = places(client);
    let measured = known.measured(variant, &places);
    // If the study does not set the number of workers, the estimate uses the client's number on the
    // same machine in an earlier run.
    let workers = places.iter().zip(workers(client)).map(|(place, stated)| {
        let there = measured.iter().find(|one| one.place == *place);
        stated.or(there.map(|one| one.workers))
    });
    let only_here = target_differences::only_reached_from_here(&settings.target).is_some();
    Some(Facts {
        point,
        reached: known.reached(variant, point),
        payload: Payload::for_work(work, &known.rows_read(variant)),
        workers: workers.collect(),
        measured,
        link: (!only_here).then(|| known.slowest_link(&places)),
        only_here,
        names_machines: !client.machines.is_empty(),
        splits_range: client.split == Split::Range,
    })
}

fn places(client: &Client) -> Vec<&str> {
    match &client.machines[..] {
        [] => vec![HERE],
        machines => machines.iter().map(ClientMachine::place).collect(),
    }
}

fn workers(client: &Client) -> Vec<Option<usize>> {
    match &client.machines[..] {
        [] => vec![client.workers],
        machines => machines.iter().map(|one| one.workers.or(client.workers)).collect(),
    }
}

fn needed(variant: VariantName, facts: &Facts, source: &str) -> ClientsNeeded {
    let ceiling_share_max = Limits::default().ceiling_share[0];
    let slowest = |one: &&MeasuredClient, other: &&MeasuredClient| {
        one.per_worker().total_cmp(&other.per_worker())
    };
    let ceiling = facts.measured.iter().min_by(slowest);
    let shape = Shape::from_facts(facts, ceiling, ceiling_share_max);
    let machines_named = facts.workers.len();
    let machines = shape.machines();
    let lacks = machines.is_some_and(|machines| machines > machines_named);
    ClientsNeeded {
        variant,
        point: facts.point,
        ops_per_s: facts.reached.as_ref().map(|reached| reached.ops_per_s),
        machines,
        machines_named,
        ceiling: ceiling.cloned(),
        ceiling_share_max,
        request_bytes: facts.payload.request_bytes,
        answer_bytes: facts.payload.answer_bytes,
        link_bits_per_s: facts.link.as_ref().map(|link| link.bits_per_s),
        link_is_assumed: facts.link.as_ref().is_some_and(Link::is_assumed),
        sentence: sentences::sentence(facts, ceiling, &shape, source),
        warning: lacks.then(|| sentences::warning(facts, &shape)),
    }
}

#[cfg(test)]
mod tests;
