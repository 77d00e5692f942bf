//! Restores a snapshot while all nodes run: TRUNCATE, then import on all nodes in parallel.
//!
//! The order matters. Compactions are disabled before TRUNCATE, whose flush would trigger a
//! compaction that runs after the import and changes the layout. Before TRUNCATE, the restore also
//! checks that all nodes are up, to avoid a timeout of a minute, and that every volume has enough
//! space. Files are imported only into empty tables. Otherwise, the server would store every row
//! twice, and no row count would show it.

use super::{RestoreHow, RestoreResult, all_parts, on_all};
use crate::local::Nodes;
use anyhow::{Context, Result, anyhow, bail};
use cassandra::refused_requests::{self, LogMarks};
use cassandra::snapshot::manifest::Manifest;
use cassandra::snapshot::table_definitions::{self, Tables};
use cassandra::snapshot::{checksums, disk_space, import_files};
use cassandra::{NodeFiles, Session, mbeans};
use measure::clock;
use std::collections::BTreeMap;
use std::time::Duration;

/// Time limit of one TRUNCATE. The server gives up after `truncate_request_timeout`, 60 s by
/// default.
pub(super) const TRUNCATE_LIMIT: Duration = Duration::from_secs(75);

/// Hint for managed clusters after a failed restore.
const OFFLINE_HINT: &str = "; `snapshot restore --offline` (`data.restore: offline`) also works \
                            if a node is down or a volume is full";

pub(crate) fn restore(
    nodes: &Nodes,
    name: &str,
    say: &mut dyn FnMut(&str),
) -> Result<RestoreResult> {
    let began_ns = clock::now_ns();
    if let Some(died) = nodes.died(&[]).into_iter().next() {
        return Err(died).context("restore online, which needs all nodes");
    }
    let places = nodes.files();
    let manifests = all_parts::read(&places, name)?;
    let first = manifests.first().context("the cluster has no node")?;
    let names: Vec<&str> = first.tables.iter().map(|table| table.name.as_str()).collect();
    let keyspace = first.keyspace.as_str();
    for place in &places {
        check_ring(place, places.len())?;
    }
    all_parts::refuse_damaged(&places, name)?;
    on_all(&places, disk_space::check)?;
    let mut session = Session::open(nodes.node(0).cql_address(), nodes.access(), TRUNCATE_LIMIT)?;
    let tables = table_definitions::make_again(&mut session, keyspace, &names, &first.schema, say)?;
    let compacting = table_definitions::compacting(&mut session, keyspace, &names)?;
    let compacting: Vec<&str> = compacting.iter().map(String::as_str).collect();
    say(&format!(
        "cassay restores {keyspace} from {name} (TRUNCATE and import)"
    ));
    let marks = LogMarks::read(&places);
    let swapped = on_all(&places, |place| {
        mbeans::disable_compaction(place.agent()?, keyspace, &names)
    })
    .and_then(|_| {
        let swapped = swap(&places, &manifests, &mut session, &tables);
        swapped.map_err(|error| {
            let causes = refused_requests::causes(&places, &marks);
            unfinished(&error, keyspace, name, &causes, OFFLINE_HINT)
        })
    });
    // Enables compactions again even after an error. The first error takes precedence.
    let enabled = on_all(&places, |place| {
        mbeans::enable_compaction(place.agent()?, keyspace, &compacting)
    });
    let (truncate_s, import_s) = swapped.with_context(|| format!("restore {name} online"))?;
    enabled?;
    Ok(restored(
        &places,
        &manifests,
        RestoreHow::Online,
        began_ns,
        (truncate_s, import_s),
    ))
}

/// Describes the consequences of a failed restore, and the next step.
pub(super) fn unfinished(
    error: &anyhow::Error,
    keyspace: &str,
    name: &str,
    causes: &[String],
    else_hint: &str,
) -> anyhow::Error {
    // The next restore must verify the files of the snapshot again.
    checksums::doubt();
    let causes: String = causes.iter().map(|cause| format!("{cause}; ")).collect();
    anyhow!(
        "{causes}{error:#}\nthe snapshot {name} still exists, but tables of {keyspace} may be \
         empty or incomplete on some nodes: do not measure these tables\nhint: fix the cause, then \
         restore {name} again{else_hint}"
    )
}

/// Builds the result of a restore, after every node was compared with its manifest.
pub(super) fn restored(
    places: &[NodeFiles<'_>],
    manifests: &[Manifest],
    how: RestoreHow,
    began_ns: u64,
    (truncate_s, import_s): (f64, f64),
) -> RestoreResult {
    let layouts: Vec<_> = manifests.iter().map(Manifest::fingerprint).collect();
    let names = places.iter().map(|place| place.name.to_string());
    RestoreResult {
        how,
        seconds: seconds_since(began_ns),
        truncate_s,
        import_s,
        sstables: layouts.iter().map(|layout| layout.sstables()).sum(),
        bytes: layouts.iter().map(|layout| layout.bytes()).sum(),
        fingerprints: names.zip(layouts.iter().map(ToString::to_string)).collect(),
    }
}

/// Checks that all nodes are up, because TRUNCATE would wait for a node until its timeout.
fn check_ring(place: &NodeFiles<'_>, nodes_count: usize) -> Result<()> {
    let (live, unreachable) = mbeans::ring(place.agent()?)
        .with_context(|| format!("request the ring from {}", place.name))?;
    if live.len() != nodes_count || !unreachable.is_empty() {
        bail!(
            "{} reports {} of {nodes_count} nodes as up (not: {}). An online restore needs all \
             nodes: wait until all are up, or restore offline",
            place.name,
            live.len(),
            if unreachable.is_empty() {
                "unknown".to_string()
            } else {
                unreachable.join(", ")
            }
        );
    }
    Ok(())
}

/// Replaces the data of the tables. Returns the durations of TRUNCATE and of the import, in
/// seconds.
fn swap(
    places: &[NodeFiles<'_>],
    manifests: &[Manifest],
    session: &mut Session,
    tables: &Tables,
) -> Result<(f64, f64)> {
    let keyspace = manifests[0].keyspace.as_str();
    let began_ns = clock::now_ns();
    truncate(session, keyspace, tables)?;
    let truncate_s = seconds_since(began_ns);
    on_all(places, |place| mbeans::delete_hints(place.agent()?))?;
    let began_ns = clock::now_ns();
    let manifest_of: BTreeMap<&str, &Manifest> =
        places.iter().map(|place| place.name).zip(manifests).collect();
    on_all(places, |place| {
        import_files::import(place, manifest_of[place.name])
    })?;
    let import_s = seconds_since(began_ns);
    on_all(places, |place| {
        import_files::compare(place, manifest_of[place.name], tables)?;
        mbeans::invalidate_caches(place.agent()?)
    })?;
    Ok((truncate_s, import_s))
}

pub(super) fn truncate_statement(keyspace: &str, table: &str) -> String {
    format!("TRUNCATE \"{keyspace}\".\"{table}\"")
}

/// Empties the tables on all nodes of the ring.
///
/// # Errors
/// A node is down, or did not answer in time.
pub(super) fn truncate(session: &mut Session, keyspace: &str, tables: &Tables) -> Result<()> {
    for table in tables.keys() {
        session.query(&truncate_statement(keyspace, table)).with_context(|| {
            format!("truncate {keyspace}.{table}, which needs every node of the ring to answer")
        })?;
    }
    Ok(())
}

pub(super) fn seconds_since(began_ns: u64) -> f64 {
    (clock::now_ns() - began_ns) as f64 / clock::SECOND_NS as f64
}
