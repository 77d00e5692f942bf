//! Release and schema version that a node reports to a client.

use crate::cluster_under_test::Client;
use anyhow::{Context, Result, bail};
use cassandra::View;
use std::time::Duration;
use target_spec::NodeIndex;

const LIMIT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Itself {
    pub release: String,
    pub schema: String,
}

impl Itself {
    pub fn read(world: &mut dyn Client, node: NodeIndex, limit: Duration) -> Result<Itself> {
        let rows = world.rows(node, View::Itself, limit)?;
        let row = rows.first().context("the node does not report its release")?;
        let cell = |name: &str| row.get(name).cloned().unwrap_or_default();
        Ok(Itself {
            release: cell("release_version"),
            schema: cell("schema_version"),
        })
    }
}

pub(crate) fn release(world: &mut dyn Client, node: NodeIndex) -> Result<String> {
    let seen = Itself::read(world, node, LIMIT).context("request the release of the node")?;
    Ok(seen.release)
}

pub(crate) fn is_release(world: &mut dyn Client, node: NodeIndex, expected: &str) -> Result<()> {
    let release = release(world, node)?;
    if release != expected {
        bail!("{} reports Cassandra {release}", node.name());
    }
    Ok(())
}
