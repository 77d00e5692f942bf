//! Upgrades managed nodes one by one, and prepares the program that each node runs afterwards.
//!
//! Invariant: a node's configuration does not change before the node stops, because its agent may
//! restart the node. The configuration for the other release is in a separate folder.

use super::node_process::LocalNode;
use super::nodes::Nodes;
use super::program::{Classes, Program, Upgrade};
use super::settings;
use crate::cluster::Cluster;
use crate::dirs::Dirs;
use anyhow::{Context, Result};
use cassandra::UpgradedNode;
use serde_json::{Map, Value};
use std::sync::Arc;
use target_spec::{JavaWanted, LocalSpec, Origin, yaml_named};
use versions::Release;

impl Cluster {
    /// Makes the jars for an upgrade available on every machine. If nodes on this machine share
    /// classes, also dumps an archive of the new classes. `yaml` contains additional settings of
    /// upgraded nodes.
    ///
    /// # Errors
    /// The nodes are not managed, or a file is not available.
    pub fn prepare_upgrade(
        &mut self,
        (to, yaml): (&Release, &Map<String, Value>),
        dirs: &Dirs,
        say: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let not_ours = "cassay can upgrade only nodes that it started";
        let prepared = self.restarting(not_ours, |nodes| {
            nodes.prepare_upgrade((to, yaml), dirs, say)
        });
        prepared.with_context(|| format!("prepare the upgrade to Cassandra {to}"))
    }

    /// Records the releases that the nodes now run, in node order.
    ///
    /// # Errors
    /// The nodes are not managed.
    pub fn took_releases(&mut self, releases: &[Option<Release>]) -> Result<()> {
        let not_ours = "cassay can upgrade only nodes that it started";
        self.restarting(not_ours, |nodes| {
            nodes.took_releases(releases);
            Ok(())
        })
    }
}

impl Nodes {
    fn prepare_upgrade(
        &mut self,
        (to, yaml): (&Release, &Map<String, Value>),
        dirs: &Dirs,
        say: &mut dyn FnMut(&str),
    ) -> Result<()> {
        let mut settings = yaml_named(to.line(), &self.spec.yaml);
        settings.extend(yaml.clone());
        let is_it = |spec: &LocalSpec| spec.release == *to && spec.yaml == settings;
        if self.upgrade.as_ref().is_some_and(|upgrade| is_it(&upgrade.spec)) {
            return Ok(());
        }
        let spec = LocalSpec {
            release: to.clone(),
            origin: Origin::Maven,
            build: None,
            yaml: settings,
            ..self.spec.clone()
        };
        settings::check_overrides(&spec)?;
        let mut program = Program::for_spec(&spec, dirs, say)?;
        let clusters = self.folder.parent().context("find the folder of clusters")?.to_owned();
        let mut programs = Vec::new();
        if let Some(hosts) = self.hosts().filter(|hosts| hosts.are_machines()) {
            programs =
                super::machines::programs(hosts, (&program, &JavaWanted::from_spec(&spec)), say)?;
        } else if self.program.classes != Classes::Loaded {
            program.share_classes(&spec, &clusters, say)?;
        }
        self.upgrade = Some(Upgrade {
            spec,
            program,
            programs,
        });
        Ok(())
    }

    pub(super) fn upgrade_of(&self, node: &LocalNode) -> Option<&Upgrade> {
        let upgrade = self.upgrade.as_ref()?;
        (upgrade.spec.release == node.layout.release).then_some(upgrade)
    }

    /// Returns the files and start commands for the release of the prepared upgrade. Returns `None`
    /// if no upgrade was prepared, or the node already runs that release.
    pub(super) fn upgraded(&self, node: &LocalNode) -> Result<Option<UpgradedNode>> {
        let Some(upgrade) = &self.upgrade else {
            return Ok(None);
        };
        if upgrade.spec.release == node.layout.release {
            return Ok(None);
        }
        let mut layout = node.layout.clone();
        layout.release = upgrade.spec.release.clone();
        layout.conf_name = format!("conf-{}", upgrade.spec.release);
        let files = settings::files(&layout, &upgrade.spec.yaml, &self.secret);
        let then = LocalNode {
            layout,
            jolokia: None,
            host: Arc::clone(&node.host),
            process: None,
            // The numbers of log files continue after those of the earlier release.
            starts: Some(node.starts.map_or_else(|| node.starts_count(), Ok)?),
        };
        let back = LocalNode {
            layout: node.layout.clone(),
            starts: then.starts.map(|count| count + 1),
            jolokia: None,
            host: Arc::clone(&node.host),
            process: None,
        };
        Ok(Some(UpgradedNode {
            files,
            own: self.own(&then)?,
            former: self.own(&back)?,
        }))
    }

    fn took_releases(&mut self, releases: &[Option<Release>]) {
        for (node, release) in self.nodes.iter_mut().zip(releases) {
            let Some(release) = release.as_ref().filter(|one| **one != node.layout.release) else {
                continue;
            };
            node.layout.release = release.clone();
            node.layout.conf_name = format!("conf-{release}");
        }
    }
}
