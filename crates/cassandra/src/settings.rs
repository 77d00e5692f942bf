//! Settings in effect on a node, as the node itself reports them, and their comparison with the
//! requested settings.
//!
//! A configuration file does not prove that its settings are in effect. So this module reads
//! settings from the server's virtual table and its schema. It reads flags, properties and the size
//! of the machine from the JVM.

pub mod compare_settings;
pub mod node_report;
mod outcome;
mod schema_options;

pub use node_report::{NodeConfiguration, NodeReport};
pub use outcome::{Effect, Proof};
pub use schema_options::SchemaOption;

use crate::node::Node;
use crate::session::ServerError;
use anyhow::Result;
use std::collections::BTreeMap;

impl Node<'_> {
    /// Returns the effective settings (`system_views.settings`). Returns `None` if the node does
    /// not have this table, or does not show it to this user.
    ///
    /// # Errors
    /// The node does not answer.
    pub fn settings(&self) -> Result<Option<BTreeMap<String, String>>> {
        let mut session = self.session()?;
        match session.pairs("SELECT name, value FROM system_views.settings") {
            Ok(settings) => Ok(Some(settings)),
            Err(error) if error.downcast_ref::<ServerError>().is_some() => Ok(None),
            Err(error) => Err(error.context(format!("read the settings of {}", self.name()))),
        }
    }

    /// Returns the part of its configuration that an attached node shows: its settings, and facts
    /// about its JVM. If the MBeans are not accessible, the facts about the JVM are absent.
    pub fn shown_configuration(&self, settings: BTreeMap<String, String>) -> NodeConfiguration {
        let java = self.mbeans.as_ref().ok().and_then(|agent| node_report::java_of(agent).ok());
        NodeConfiguration {
            node: self.name().to_owned(),
            version: self.info.version.clone(),
            settings,
            jvm: java.unwrap_or_default(),
            ..NodeConfiguration::default()
        }
    }
}
