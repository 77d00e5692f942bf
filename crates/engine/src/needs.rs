//! What of a study's needs this machine or a cluster's access does not give: known before anything
//! starts.

use crate::offer::workers;
use analysis::procedure::Point;
use analysis::rules::Limits;
use anyhow::{Result, bail};
use cluster::Dirs;
use load::{Connections, Room, stream_ids_refusal};
use std::collections::BTreeSet;
use study::needs::{Need, PROBES, Strength, needs};
use study::plan::Plan;
use study::settings::{Settings, Study};
use study::work::Work;
use study::{estimate, human};
use target::{Ability, Capability, LocalSpec, Target};

/// Something needed that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What asks for it.
    pub need: Need,
    /// Why it is not there, and what would bring it.
    pub detail: String,
    /// Whether the run is refused for it.
    pub refuses: bool,
}

/// What is missing for a study on this machine, each thing once. This machine is probed; nothing is
/// started, and nobody else's cluster is asked.
pub fn missing(study: &Study) -> Vec<Missing> {
    let mut all: Vec<Missing> = Vec::new();
    let mut probed: Vec<(&Target, Vec<Capability>)> = Vec::new();
    for variant in &study.variants {
        let target = &variant.settings.target;
        if matches!(target, Target::Null(_)) {
            continue;
        }
        if !probed.iter().any(|(known, _)| *known == target) {
            probed.push((target, cluster::abilities_of(target)));
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

/// Those needs that the capabilities do not meet.
fn lacking(needs: Vec<Need>, capabilities: &[Capability]) -> Vec<Missing> {
    let of = |ability: Ability| capabilities.iter().find(|one| one.ability == ability);
    let apart = of(Ability::Hosts).is_some_and(|hosts| hosts.present);
    let missing = |need: Need| {
        let lacking = of(need.ability).filter(|one| !one.present)?;
        let refuses = match need.strength {
            Strength::Must => true,
            Strength::MustIfApart => apart,
            Strength::Wish => false,
        };
        Some(Missing {
            need,
            detail: lacking.detail.clone(),
            refuses,
        })
    };
    needs.into_iter().filter_map(missing).collect()
}

/// Refuses a study that needs what is not there, all of it at once. Nothing is started.
///
/// # Errors
/// What is missing, why it is, and what asks for it.
pub fn check(study: &Study, plan: &Plan, dirs: &Dirs) -> Result<()> {
    refuse(study, not_startable(study, plan, dirs))
}

/// The same, and what its machines are without, which are reached for it.
///
/// # Errors
/// As [`check`]; or machines that are not reached, all of them.
pub fn check_with_machines(study: &Study, plan: &Plan, dirs: &Dirs) -> Result<()> {
    let mut others = not_startable(study, plan, dirs);
    others.extend(unready(study));
    refuse(study, others)
}

/// Machines that cannot have the nodes of a variant, all at once, each sentence once. They are
/// reached for it, and nothing stays there.
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

/// Refuses a study that needs what is not there, and for other reasons that are known already.
fn refuse(study: &Study, others: Vec<String>) -> Result<()> {
    let refusing: Vec<Missing> = missing(study).into_iter().filter(|one| one.refuses).collect();
    let mut crowded = crowded(study, &Room::here());
    crowded.extend(overfull(study));
    crowded.extend(unplaceable(study));
    crowded.extend(others);
    if refusing.is_empty() && crowded.is_empty() {
        return Ok(());
    }
    // One reason, such as the want of root, often stands behind several.
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for Missing { need, detail, .. } in &refusing {
        let what = format!("no {} (`{}`)", need.ability.name(), need.why);
        match reasons.iter_mut().find(|(known, _)| known == detail) {
            Some((_, all)) => all.push(what),
            None => reasons.push((detail, vec![what])),
        }
    }
    let line = |(detail, all): &(&str, Vec<String>)| format!("\n  {}: {detail}", all.join(", "));
    let lines: String = reasons.iter().map(line).collect();
    let crowded: String = crowded.iter().map(|why| format!("\n  {why}")).collect();
    bail!("the study needs what cannot be had here:{lines}{crowded}");
}

/// What keeps this machine from starting the nodes now, or from holding what is loaded, each
/// sentence once.
fn not_startable(study: &Study, plan: &Plan, dirs: &Dirs) -> Vec<String> {
    let mut asked: Vec<&LocalSpec> = Vec::new();
    let mut all: Vec<String> = Vec::new();
    for (variant, work) in study.variants.iter().zip(&plan.works) {
        let settings = &variant.settings;
        // Machines of their own say it themselves, when they are reached.
        let is_here = |local: &&LocalSpec| local.machines().is_empty();
        let locals = [settings.load_target().local(), settings.target.local()];
        for local in locals.into_iter().flatten().filter(is_here) {
            // What else differs between the variants takes no other room.
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

/// Rows that are loaded may be compressed to so small a share; most random ones are not.
const COMPRESSED_SHARE: f64 = 0.5;

/// Rows that have no room on this machine's disk once they are loaded; none: they have, or nobody
/// can say.
fn too_much_to_load(settings: &Settings, work: &Work, dirs: &Dirs) -> Option<String> {
    let loaded = estimate::loaded_bytes(settings, &work.program)?;
    let free = cluster::free_disk_bytes(dirs)?;
    (loaded as f64 * COMPRESSED_SHARE > free as f64).then(|| {
        format!(
            "too little disk: {} rows and their copies are thought to take {} before they are \
             compressed, and {} has {} free\nhint: make room, load fewer rows, or put cassay's \
             data folder elsewhere (CASSAY_DATA)",
            human::count_for_people(settings.data.load_rows),
            measure::number::bytes(loaded),
            dirs.data.display(),
            measure::number::bytes(free)
        )
    })
}

/// Nodes that cannot be placed on this machine as a variant has it, each sentence once.
fn unplaceable(study: &Study) -> Vec<String> {
    let local = study
        .variants
        .iter()
        .filter_map(|variant| Some((variant.name.named(), variant.settings.target.local()?)));
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

/// Connections for which there is no room, each sentence once.
fn crowded(study: &Study, room: &Room) -> Vec<String> {
    let settings = study.variants.iter().map(|variant| &variant.settings);
    let mut all: Vec<String> = settings.filter_map(|s| connections(s).refusal(room)).collect();
    all.sort();
    all.dedup();
    all
}

/// Operations in flight that the workers cannot hold, as many as this machine gives, each sentence
/// once. Another machine with more CPUs may have more of them.
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

/// Operations in flight of each point of one variant, as far as it is known.
fn points_in_flight(settings: &Settings) -> Vec<usize> {
    let outlook = settings.procedure.outlook();
    let points = outlook.points.into_iter().chain(outlook.up_to);
    let in_flight = points.map(|point| match point {
        Point::Threads(threads) => threads as usize,
        Point::Rate(_) => settings.client.in_flight_max as usize,
    });
    in_flight.collect()
}

/// The connections of one variant at its most crowded point.
fn connections(settings: &Settings) -> Connections {
    let client = &settings.client;
    let in_flight = points_in_flight(settings).into_iter().max().unwrap_or(1);
    let (nodes, files_each) = match &settings.target {
        Target::Local(local) => (local.nodes, 1),
        // It may have more: the engine looks again when it knows them.
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

/// A sentence where other programs keep this machine's CPUs busy now, as far as the kernel tells
/// (V18).
pub fn busy_neighbours() -> Option<String> {
    let text = std::fs::read_to_string("/proc/pressure/cpu").ok()?;
    let share = waited_share(&text)?;
    let [limit, _] = Limits::default().others_pressure_share;
    (share > limit).then(|| {
        format!(
            "other programs keep this machine busy: some task waited for a CPU {:.0} % of the last \
             10 s; close them, or trials will be suspect, and invalid where client or nodes cannot \
             run (CASSAY_SHARED_MACHINE=1 makes that suspect as well)",
            share * 100.0
        )
    })
}

/// The share of the last 10 s in which some task waited, as `/proc/pressure` has it.
fn waited_share(text: &str) -> Option<f64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let avg10 = some.split(' ').find_map(|word| word.strip_prefix("avg10="))?;
    Some(avg10.parse::<f64>().ok()? / 100.0)
}

/// For the notes of a study: a sentence for each thing that its run will go without.
pub fn notes(missing: &[Missing]) -> Vec<String> {
    let wishes: Vec<&Missing> = missing.iter().filter(|one| !one.refuses).collect();
    let mut notes = Vec::new();
    if let Some(own) = wishes.iter().find(|one| one.need.ability == Ability::Hosts) {
        // One reason for all of them: what each limit would need by itself says no more.
        let limits: String = wishes
            .iter()
            .filter(|one| one.need.strength == Strength::MustIfApart)
            .map(|one| format!(", no {}", one.need.ability.name()))
            .collect();
        notes.push(format!(
            "no network of its own for each host{limits}: {}",
            own.detail
        ));
    }
    let unseen: Vec<String> = wishes
        .iter()
        .filter(|one| one.need.why.starts_with(PROBES))
        .map(|one| format!("`{}` ({})", one.need.why, one.detail))
        .collect();
    if !unseen.is_empty() {
        notes.push(format!(
            "out of sight on this target: {}",
            unseen.join(", ")
        ));
    }
    notes
}

#[cfg(test)]
mod tests;
