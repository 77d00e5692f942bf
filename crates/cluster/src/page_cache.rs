//! Drops the nodes' data from the page cache, so that a trial's first read of each block comes from
//! disk.

use crate::cluster::Cluster;
use crate::local::Nodes;
use anyhow::Result;
use host::{Host, Hosts};

impl Cluster {
    /// Drops the nodes' data files from the page cache. Returns `false` if pages remain, because
    /// the nodes are not managed or because they map their files (`disk_access_mode: mmap`).
    ///
    /// On isolated hosts, drops the whole page cache of each host, including mapped pages.
    /// Otherwise it needs no root permissions, and does not affect other programs on the machine.
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
