//! Finds, before a run starts, the needs of its study that this machine or the access to a cluster
//! does not meet.

use crate::load_run::workers;
use analysis::procedure::Point;
use analysis::rules::Limits;
use anyhow::{Result, bail};
use cluster::Dirs;
use load::{Connections, Room, stream_ids_refusal};
use std::collections::BTreeSet;
use study::compile_workload::Work;
use study::needs::{Need, PROBES, Strength, needs};
use study::plan::Plan;
use study::settings::{Settings, Study};
use study::{estimate, units};
use target_spec::{Capability, CapabilityStatus, LocalSpec, Target};

/// A need that is not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmetNeed {
    /// The need, and the section of the study that causes it.
    pub need: Need,
    /// Reason why the need is not met, and how to meet it.
    pub detail: String,
    /// True if cassay refuses the run because of this need.
    pub refuses: bool,
}

/// Returns the unmet needs of a study on this machine, without duplicates. Probes this machine, but
/// does not start processes or contact an attached cluster.
pub fn missing(study: &Study) -> Vec<UnmetNeed> {
    let mut all: Vec<UnmetNeed> = Vec::new();
    let mut probed: Vec<(&Target, Vec<CapabilityStatus>)> = Vec::new();
    for variant in &study.variants {
        let target = &variant.settings.target;
        if matches!(target, Target::Null(_)) {
            continue;
        }
        if !probed.iter().any(|(known, _)| *known == target) {
            probed.push((target, cluster::capabilities_of(target)));
        }
        let known = probed.iter().find(|(known, _)| *known == target);
        let capabilities = known.map_or(&[][..], |(_, capabilities)| capabilities);
        for one in lacking(needs(&variant.settings), capabilities) {
            if !all.contains(&one) {
                all.push(one);
            }
        }
    }
    all
}

fn lacking(needs: Vec<Need>, capabilities: &[CapabilityStatus]) -> Vec<UnmetNeed> {
    let of = |capability: Capability| capabilities.iter().find(|one| one.capability == capability);
    let apart = of(Capability::Hosts).is_some_and(|hosts| hosts.present);
    let missing = |need: Need| {
        let lacking = of(need.capability).filter(|one| !one.present)?;
        let refuses = match need.strength {
            Strength::Must => true,
            Strength::MustIfApart => apart,
            Strength::Wish => false,
        };
        Some(UnmetNeed {
            need,
            detail: lacking.detail.clone(),
            refuses,
        })
    };
    needs.into_iter().filter_map(missing).collect()
}

/// Refuses a study with unmet needs. Reports all unmet needs at once, and does not start processes.
///
/// # Errors
/// The study has needs that are not met, or this machine cannot run the nodes or the client now.
/// The message lists all needs and reasons, with the section of the study that causes each need.
pub fn check(study: &Study, plan: &Plan, dirs: &Dirs) -> Result<()> {
    refuse(study, not_startable(study, plan, dirs))
}

/// Does the same as [`check`], and also connects to the machines of the study and checks them.
///
/// # Errors
/// [`check`] fails, a machine cannot be reached, or a machine cannot host nodes.
pub fn check_with_machines(study: &Study, plan: &Plan, dirs: &Dirs) -> Result<()> {
    let mut others = not_startable(study, plan, dirs);
    others.extend(unready(study));
    refuse(study, others)
}

/// Returns a sentence for each machine that cannot host the nodes of a variant. Connects to the
/// machines, but does not leave files or processes on them.
fn unready(study: &Study) -> Vec<String> {
    let mut asked: Vec<&LocalSpec> = Vec::new();
    let mut all: Vec<String> = Vec::new();
    for variant in &study.variants {
        let settings = &variant.settings;
        let locals = [settings.load_target().local(), settings.target.local()];
        for local in locals
            .into_iter()
            .flatten()
            .filter(|one| !one.machines().is_empty() && !one.is_in_pods())
        {
            let is_same = |known: &&LocalSpec| {
                let room = |spec: &LocalSpec| (spec.nodes, spec.heap_bytes);
                room(known) == room(local) && known.hosts == local.hosts
            };
            if !asked.iter().any(is_same) {
                asked.push(local);
                all.extend(cluster::machines::unready(local));
            }
        }
    }
    let mut said = BTreeSet::new();
    all.retain(|why| said.insert(why.clone()));
    all.into_iter().map(|why| why.replace('\n', "\n    ")).collect()
}

/// Refuses a study with unmet needs, with more connections or operations than this machine allows,
/// or with nodes that cannot be placed. `others` contains further reasons.
fn refuse(study: &Study, others: Vec<String>) -> Result<()> {
    let refusing: Vec<UnmetNeed> = missing(study).into_iter().filter(|one| one.refuses).collect();
    let mut crowded = crowded(study, &Room::here());
    crowded.extend(overfull(study));
    crowded.extend(unplaceable(study));
    crowded.extend(others);
    if refusing.is_empty() && crowded.is_empty() {
        return Ok(());
    }
    // One reason, such as missing root permissions, often explains several needs. So this code
    // groups the needs by reason.
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for UnmetNeed { need, detail, .. } in &refusing {
        let what = format!("no {} (`{}`)", need.capability.name(), need.why);
        match reasons.iter_mut().find(|(known, _)| known == detail) {
            Some((_, all)) => all.push(what),
            None => reasons.push((detail, vec![what])),
        }
    }
    let line = |(detail, all): &(&str, Vec<String>)| format!("\n  {}: {detail}", all.join(", "));
    let lines: String = reasons.iter().map(line).collect();
    let crowded: String = crowded.iter().map(|why| format!("\n  {why}")).collect();
    bail!(
        "the study requires capabilities that this machine or the target does not \
         have:{lines}{crowded}"
    );
}

/// Returns the reasons why this machine cannot start the nodes now, or does not have enough disk
/// space for the loaded rows. Returns each sentence only once.
fn not_startable(study: &Study, plan: &Plan, dirs: &Dirs) -> Vec<String> {
    let mut asked: Vec<&LocalSpec> = Vec::new();
    let mut all: Vec<String> = Vec::new();
    for (variant, work) in study.variants.iter().zip(&plan.works) {
        let settings = &variant.settings;
        // Only this machine is checked here. Other machines report missing disk space when cassay
        // connects to them.
        let is_here = |local: &&LocalSpec| local.machines().is_empty();
        let locals = [settings.load_target().local(), settings.target.local()];
        for local in locals.into_iter().flatten().filter(is_here) {
            // Variants may also differ in other settings, but those do not change the required disk
            // space.
            let is_same = |other: &&LocalSpec| {
                let room = (local.nodes, local.heap_bytes) == (other.nodes, other.heap_bytes);
                let from = (&local.release, &local.origin, &local.java);
                room && from == (&other.release, &other.origin, &other.java)
            };
            if !asked.iter().any(is_same) {
                asked.push(local);
                all.extend(cluster::not_startable(local, dirs));
            }
        }
        if settings.target.local().is_none_or(|local| is_here(&local)) {
            all.extend(too_much_to_load(settings, work, dirs));
        }
    }
    let mut said = BTreeSet::new();
    all.retain(|why| said.insert(why.clone()));
    all.into_iter().map(|why| why.replace('\n', "\n    ")).collect()
}

/// Smallest compressed size of loaded rows that cassay assumes, as a share of the uncompressed
/// size. Most random rows compress less.
const COMPRESSED_SHARE: f64 = 0.5;

/// Returns a sentence if the loaded rows do not fit on the disk of this machine. Returns `None` if
/// the rows fit, or if their size is unknown.
fn too_much_to_load(settings: &Settings, work: &Work, dirs: &Dirs) -> Option<String> {
    let loaded = estimate::loaded_bytes(settings, &work.program)?;
    let free = cluster::free_disk_bytes(dirs)?;
    (loaded as f64 * COMPRESSED_SHARE > free as f64).then(|| {
        format!(
            "too little disk space: {} rows and their replicas need about {} before compression, \
             but {} has only {} free\nhint: free some space, load fewer rows, or move cassay's \
             data folder (CASSAY_DATA)",
            units::count_for_people(settings.data.load_rows),
            measure::number::bytes(loaded),
            dirs.data.display(),
            measure::number::bytes(free)
        )
    })
}

/// Returns a sentence for each variant whose nodes cannot be placed on this machine as the study
/// requests.
fn unplaceable(study: &Study) -> Vec<String> {
    let local = study
        .variants
        .iter()
        .filter_map(|variant| Some((variant.name.name(), variant.settings.target.local()?)));
    let (names, specs): (Vec<Option<&str>>, Vec<&LocalSpec>) = local.unzip();
    let mut all: Vec<String> = Vec::new();
    for (name, why) in names.into_iter().zip(cluster::unplaceable(&specs)) {
        let said = match (name, why) {
            (_, None) => continue,
            (None, Some(why)) => why,
            (Some(name), Some(why)) => format!("“{name}”: {why}"),
        };
        if !all.contains(&said) {
            all.push(said);
        }
    }
    all
}

/// Returns a sentence for each variant that needs more connections than the limits of this machine
/// allow.
fn crowded(study: &Study, room: &Room) -> Vec<String> {
    let settings = study.variants.iter().map(|variant| &variant.settings);
    let mut all: Vec<String> = settings.filter_map(|s| connections(s).refusal(room)).collect();
    all.sort();
    all.dedup();
    all
}

/// Returns a sentence for each point that needs more operations in flight than the workers on this
/// machine can have. A machine with more CPUs may have more workers.
fn overfull(study: &Study) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for variant in &study.variants {
        let settings = &variant.settings;
        for in_flight in points_in_flight(settings) {
            let workers = workers(&settings.client, in_flight);
            all.extend(stream_ids_refusal(in_flight, workers));
        }
    }
    all.sort();
    all.dedup();
    all
}

fn points_in_flight(settings: &Settings) -> Vec<usize> {
    let outlook = settings.procedure.outlook();
    let points = outlook.points.into_iter().chain(outlook.up_to);
    let in_flight = points.map(|point| match point {
        Point::Threads(threads) => threads as usize,
        Point::Rate(_) => settings.client.in_flight_max as usize,
    });
    in_flight.collect()
}

/// Returns the connections that one variant needs at the point with the most operations in flight.
fn connections(settings: &Settings) -> Connections {
    let client = &settings.client;
    let in_flight = points_in_flight(settings).into_iter().max().unwrap_or(1);
    let (nodes, files_each) = match &settings.target {
        Target::Local(local) => (local.nodes, 1),
        // The cluster may have more nodes than contact points. The engine checks the limits again
        // when it has the list of nodes.
        Target::Attach(attach) => (attach.contact_points.len(), 1),
        Target::Null(_) => (1, 2),
    };
    Connections {
        workers: workers(client, in_flight),
        per_node: client.connections_per_node,
        nodes: nodes.max(1),
        files_each,
    }
}

/// Returns a sentence if the kernel reports that other programs keep this machine's CPUs busy now
/// (rule V18).
pub fn busy_neighbours() -> Option<String> {
    let text = std::fs::read_to_string("/proc/pressure/cpu").ok()?;
    let share = waited_share(&text)?;
    let [limit, _] = Limits::default().others_pressure_share;
    (share > limit).then(|| {
        format!(
            "other programs keep this machine busy: at least one task waited for a CPU during \
             {:.0} % of the last 10 s\nhint: close these programs. Otherwise trials may be \
             suspect, or invalid if the client or the nodes cannot run (only suspect with \
             CASSAY_SHARED_MACHINE=1)",
            share * 100.0
        )
    })
}

/// Parses a file of `/proc/pressure`. Returns the share of the last 10 s during which at least one
/// task waited, from 0 to 1.
fn waited_share(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let avg10 = some.split(' ').find_map(|word| word.strip_prefix("avg10="))?;
    Some(avg10.parse::<f64>().ok()? / 100.0)
}

/// Returns notes about the isolation and the measurements that a run of the study will lack.
pub fn notes(missing: &[UnmetNeed]) -> Vec<String> {
    let wishes: Vec<&UnmetNeed> = missing.iter().filter(|one| !one.refuses).collect();
    let mut notes = Vec::new();
    if let Some(own) = wishes.iter().find(|one| one.need.capability == Capability::Hosts) {
        // All limits have the same reason, so the note lists the limits and shows the reason once.
        let limits: String = wishes
            .iter()
            .filter(|one| one.need.strength == Strength::MustIfApart)
            .map(|one| format!(", no {}", one.need.capability.name()))
            .collect();
        notes.push(format!(
            "the hosts have no separate networks{limits}: {}",
            own.detail
        ));
    }
    let unseen: Vec<&&UnmetNeed> =
        wishes.iter().filter(|one| one.need.why.starts_with(PROBES)).collect();
    if !unseen.is_empty() {
        let names: Vec<String> = unseen.iter().map(|one| format!("`{}`", one.need.why)).collect();
        // The last clause of a detail is the remedy. Most causes have the same remedy, so the note
        // shows each remedy only once.
        let ways = unseen.iter().filter_map(|one| one.detail.rsplit("; ").next());
        let mut shown: Vec<&str> = Vec::new();
        for way in ways {
            if !shown.contains(&way) {
                shown.push(way);
            }
        }
        notes.push(format!(
            "cassay does not measure {} on this target: {}",
            names.join(", "),
            shown.join("; ")
        ));
    }
    notes
}

#[cfg(test)]
mod tests;
