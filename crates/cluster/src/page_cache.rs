//! The page cache of the nodes' data, dropped, so that a trial reads from disk what it first reads.

use crate::cluster::Cluster;
use crate::local::Nodes;
use anyhow::Result;

/// See [`Cluster::drop_page_cache`], of which `nodes` are.
pub(crate) fn drop_of(cluster: &Cluster, nodes: &Nodes) -> Result<bool> {
    if let Some(hosts) = nodes.hosts() {
        for host in hosts.all() {
            host.drop_page_cache()?;
        }
        return Ok(true);
    }
    for place in &nodes.files() {
        place.host.uncache(&place.folder.join("data"))?;
    }
    let maps = |settings: &std::collections::BTreeMap<String, String>| {
        let mode = settings.get("disk_access_mode");
        mode.is_some_and(|mode| mode.starts_with("mmap"))
    };
    let settings = cluster.settings()?;
    Ok(!settings.iter().any(|(_, settings)| maps(settings)))
}
