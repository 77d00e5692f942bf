//! A node, and cassay's access to the node. The files of this crate add the methods of [`Node`] by
//! topic.

use crate::credentials::Access;
use crate::follow_address::follow;
use crate::jolokia::Jolokia;
use crate::metrics::{Metrics, has_metric_tables};
use crate::node_info::NodeInfo;
use crate::session::{CONTROL_TIMEOUT, Session};
use anyhow::Result;
use versions::{Line, Release};

#[derive(Clone, Debug)]
pub struct Node<'a> {
    pub info: &'a NodeInfo,
    /// All nodes of the cluster. If the node has moved, cassay requests its current address from
    /// the other nodes.
    pub members: &'a [NodeInfo],
    pub access: &'a Access,
    /// MBeans of the node, or the reason why they are not accessible.
    pub mbeans: std::result::Result<&'a Jolokia, String>,
}

impl<'a> Node<'a> {
    pub fn name(&self) -> &'a str {
        &self.info.name
    }

    /// Returns the release line of the node, or `None` for an unsupported line.
    pub fn line(&self) -> Option<&'static Line> {
        Release::built(&self.info.version).map(|release| release.line())
    }

    /// # Errors
    /// The MBeans are not accessible. The error contains the reason.
    pub fn agent(&self) -> Result<&'a Jolokia> {
        self.mbeans.clone().map_err(anyhow::Error::msg)
    }

    /// Opens a control session. If the node has moved, first requests its current address from the
    /// other nodes.
    ///
    /// # Errors
    /// The errors of [`Session::open`].
    pub fn session(&self) -> Result<Session> {
        let open = || Session::open(self.info.address, self.access, CONTROL_TIMEOUT);
        match open() {
            Err(_) if !follow(self.members, self.access).is_empty() => open(),
            opened => opened,
        }
    }

    /// # Errors
    /// The node has no metrics tables, and its MBeans are not accessible.
    pub fn metrics(&self) -> std::result::Result<Metrics, String> {
        match &self.mbeans {
            Ok(agent) => Ok(Metrics::ByAgent((*agent).clone())),
            Err(_) if has_metric_tables(&self.info.version) => Ok(Metrics::ByTables {
                node: self.info.address,
                access: self.access.clone(),
            }),
            Err(why) => Err(why.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
