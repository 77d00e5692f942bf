//! Where on their machine the nodes of a trial and the client run, as the kernel says it.

use crate::offer::workers_on;
use crate::running::Running;
use anyhow::Result;
use cluster::NodePlace;
use host::Whereabouts;
use store::record::PlacementRecord;
use study::settings::Settings;

/// What the client's machine is called where it is no stand-in.
const THIS_MACHINE: &str = "this machine";

/// Of the nodes, and of the client's workers as they will be.
///
/// # Errors
/// The kernel does not tell of one of them.
pub(super) fn records(
    running: &Running,
    settings: &Settings,
    places: Vec<Result<NodePlace, String>>,
) -> Result<Vec<PlacementRecord>> {
    let places: Result<Vec<NodePlace>, String> = places.into_iter().collect();
    let places = places.map_err(anyhow::Error::msg)?;
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let local = settings.target.local();
    let topology = local.map_or("none", |local| local.topology.placing.name());
    let mut records: Vec<PlacementRecord> = places
        .into_iter()
        .map(|place| node(running, place, topology))
        .collect();
    let mut client = client(running, settings)?;
    topology.clone_into(&mut client.topology);
    records.push(client);
    for sentence in running.cluster.placement_sentences() {
        // What is of one node begins with its name; the rest is of all of them.
        let first = sentence.split(' ').next().unwrap_or_default();
        let of = records.iter().position(|record| record.who == first);
        records[of.unwrap_or(0)].notes.push(sentence.clone());
    }
    Ok(records)
}

fn node(running: &Running, place: NodePlace, topology: &str) -> PlacementRecord {
    let NodePlace { node, host, found } = place;
    let is_apart = running.cluster.isolation() == "hosts";
    PlacementRecord {
        who: node,
        host: if is_apart {
            host
        } else {
            THIS_MACHINE.to_owned()
        },
        topology: topology.to_owned(),
        ..of(&found)
    }
}

/// The workers are pinned when load begins; before that it is known to what.
fn client(running: &Running, settings: &Settings) -> Result<PlacementRecord> {
    let found = Whereabouts::own()?;
    let cpus = running.client_cpus(&settings.client);
    let threads = workers_on(&settings.client, usize::MAX, &cpus);
    let used: Vec<String> = cpus.iter().take(threads).map(usize::to_string).collect();
    let kept = of(&found);
    Ok(PlacementRecord {
        who: PlacementRecord::CLIENT.to_owned(),
        host: THIS_MACHINE.to_owned(),
        cpus: match used.is_empty() {
            true => kept.cpus,
            false => used.join(","),
        },
        threads,
        mems: kept.mems,
        ..PlacementRecord::default()
    })
}

fn of(found: &Whereabouts) -> PlacementRecord {
    PlacementRecord {
        cpus: found.all_cpus().to_string(),
        mems: found.all_memory_nodes().to_string(),
        threads: found.threads,
        resident_bytes: found.resident_bytes.clone(),
        ..PlacementRecord::default()
    }
}
