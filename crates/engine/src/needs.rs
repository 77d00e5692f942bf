//! What of a study's needs this machine or a cluster's access does not give: known before anything
//! starts.

use crate::offer::workers;
use analysis::procedure::Point;
use anyhow::{Result, bail};
use cluster::{Ability, Capability, LocalSpec};
use load::{Connections, Room};
use study::needs::{Need, PROBES, Strength, needs};
use study::settings::{Settings, Study, Target};

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

/// Refuses a study that needs what is not there, all of it at once.
///
/// # Errors
/// What is missing, why it is, and what asks for it.
pub fn check(study: &Study) -> Result<()> {
    let refusing: Vec<Missing> = missing(study)
        .into_iter()
        .filter(|one| one.refuses)
        .collect();
    let mut crowded = crowded(study, &Room::here());
    crowded.extend(unplaceable(study));
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

/// Nodes that cannot be placed on this machine as a variant has it, each sentence once.
fn unplaceable(study: &Study) -> Vec<String> {
    let local = study
        .variants
        .iter()
        .filter_map(|variant| Some((variant.name.as_str(), variant.settings.target.local()?)));
    let (names, specs): (Vec<&str>, Vec<&LocalSpec>) = local.unzip();
    let mut all: Vec<String> = Vec::new();
    for (name, why) in names.into_iter().zip(cluster::unplaceable(&specs)) {
        let said = match (name, why) {
            (_, None) => continue,
            ("-", Some(why)) => why,
            (name, Some(why)) => format!("“{name}”: {why}"),
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
    let mut all: Vec<String> = settings
        .filter_map(|s| connections(s).refusal(room))
        .collect();
    all.sort();
    all.dedup();
    all
}

/// The connections of one variant at its most crowded point.
fn connections(settings: &Settings) -> Connections {
    let client = &settings.client;
    let outlook = settings.procedure.outlook();
    let points = outlook.points.into_iter().chain(outlook.up_to);
    let in_flight = points.map(|point| match point {
        Point::Threads(threads) => threads,
        Point::Rate(_) => client.in_flight_max,
    });
    let in_flight = in_flight.max().unwrap_or(1) as usize;
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

/// For the notes of a study: a sentence for each thing that its run will go without.
pub fn notes(missing: &[Missing]) -> Vec<String> {
    let wishes: Vec<&Missing> = missing.iter().filter(|one| !one.refuses).collect();
    let mut notes = Vec::new();
    if let Some(own) = wishes.iter().find(|one| one.need.ability == Ability::Hosts) {
        // One reason for all of them: what each limit would need by itself says no more.
        let limits = wishes
            .iter()
            .filter(|one| one.need.strength == Strength::MustIfApart);
        let limits: String = limits
            .map(|one| format!(", no {}", one.need.ability.name()))
            .collect();
        notes.push(format!(
            "no network of its own for each host{limits}: {}",
            own.detail
        ));
    }
    let unseen = wishes.iter().filter(|one| one.need.why.starts_with(PROBES));
    let unseen: Vec<String> = unseen
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
