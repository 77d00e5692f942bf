//! Settings in effect on a node, and their comparison with the requested settings.
//!
//! A configuration file does not prove that its settings are in effect. So cassay reads settings
//! from the server's virtual table and schema, and flags, properties and the machine size from the
//! JVM.

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
    /// Returns the rows of `system_views.settings`. Returns `None` if the node lacks this table, or
    /// hides it from this user.
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

    /// Returns the visible configuration of an attached node. Facts about the JVM are absent if the
    /// MBeans are not accessible.
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
