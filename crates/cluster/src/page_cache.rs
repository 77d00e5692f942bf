//! The page cache of the nodes' data, dropped, so that a trial reads from disk what it first reads.

use crate::cluster::Cluster;
use crate::local::Nodes;
use anyhow::Result;
use host::{Host, Hosts};

impl Cluster {
    /// Takes the files of all nodes' data out of the page cache. `false`: not all of it, because
    /// the nodes are not ours, or map their files (`disk_access_mode: mmap`), and what is mapped
    /// stays.
    ///
    /// On hosts that are kept apart, each host's whole cache goes, mapped or not. Otherwise no root
    /// is needed, and nothing else on the machine loses its cache.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn drop_page_cache(&self) -> Result<bool> {
        match self.local() {
            Some(nodes) => drop_of(self, nodes),
            None => Ok(false),
        }
    }
}

/// See [`Cluster::drop_page_cache`], of which `nodes` are.
fn drop_of(cluster: &Cluster, nodes: &Nodes) -> Result<bool> {
    let has_groups = |hosts: &&Hosts| hosts.all().iter().all(Host::has_groups);
    if let Some(hosts) = nodes.hosts().filter(has_groups) {
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
