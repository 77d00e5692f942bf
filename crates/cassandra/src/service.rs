//! Service of an attached node. cassay restarts and signals the node through the agent of the
//! node's machine, and performs only actions that the command line names.

use crate::permission_gate::StatementGate;
use anyhow::{Context, Result, bail};
use host::process::Identity;
use host::{Agent, Injection, Service, ServiceBreak, ServiceFault};
use std::sync::Arc;
use std::time::Duration;
use target_spec::NodeAct;

/// Handle of an attached node's service on the machine of the node.
#[derive(Clone, Debug)]
pub struct NodeService {
    /// Agent of the machine.
    pub agent: Arc<Agent>,
    /// Name of the machine.
    pub host: String,
    /// Way in which the agent finds, stops and starts the node.
    pub service: Service,
    /// Permission check of an attached cluster.
    pub door: Option<StatementGate>,
}

impl NodeService {
    /// Returns the node's current process. Returns `None` if the node is not running, or if its
    /// process cannot be determined.
    pub fn process(&self) -> Option<Identity> {
        self.agent.find(&self.service).ok().flatten()
    }

    /// Returns the injection of this kind of fault on the node.
    ///
    /// # Errors
    /// The command line does not name this action, or the node is not running.
    pub fn breaking(&self, how: ServiceBreak, process: Option<Identity>) -> Result<Injection> {
        for act in acts(how) {
            self.may(*act)?;
        }
        let serves = self.service.serves;
        let stopped = || format!("no process listens on {serves} on {}", self.host);
        Ok(Injection::Service(ServiceFault {
            service: self.service.clone(),
            process: process.with_context(stopped)?,
            how,
        }))
    }

    /// Starts the node as an administrator would, and returns its process, or `None` if no process
    /// appears in time. If a process of the node runs but does not serve clients, stops that
    /// process first.
    ///
    /// # Errors
    /// The command line does not name this action, or the start fails.
    pub fn restart(&self, within: Duration) -> Result<Option<Identity>> {
        self.may(NodeAct::Restart)?;
        match self.process() {
            None => self.agent.start_service(&self.service),
            process => {
                let stop = self.breaking(ServiceBreak::Stop, process)?;
                let healed = self.agent.heal(self.agent.inject(stop, within)?)?;
                Ok(healed.processes.first().copied())
            }
        }
    }

    /// Checks that the command line names this action on the node.
    ///
    /// # Errors
    /// The command line does not name the action.
    pub fn may(&self, act: NodeAct) -> Result<()> {
        may(self.door.as_ref(), act, &self.service.serves.to_string())
    }
}

/// Checks that an action on `what` is permitted. The action is permitted if the target is managed,
/// and so has no permission check, or if the command line names the action.
///
/// # Errors
/// The action is not permitted. The message names the option that would permit it.
pub fn may(door: Option<&StatementGate>, act: NodeAct, what: &str) -> Result<()> {
    match door {
        Some(door) if !door.may_do(act) => bail!("{}", refusal(act, what)),
        _ => Ok(()),
    }
}

/// Returns the actions that the user must permit for this kind of fault.
pub fn acts(how: ServiceBreak) -> &'static [NodeAct] {
    match how {
        ServiceBreak::Pause => &[NodeAct::Signal],
        ServiceBreak::Stop => &[NodeAct::Restart],
        ServiceBreak::Kill => &[NodeAct::Signal, NodeAct::Restart],
    }
}

/// Returns the reason why cassay refuses an action on `node`, and the option that would permit it.
fn refusal(act: NodeAct, node: &str) -> String {
    let what = match act {
        NodeAct::Restart => "does not stop or start the node",
        NodeAct::Signal => "sends no signals to the node",
        NodeAct::Network => "does not drop packets and connections of the node",
        NodeAct::Pods => "does not delete the pod of the node",
    };
    format!(
        "cassay did not start {node}, and {what} unless the command line permits it\nhint: to \
         permit this, add --allow {}",
        act.name()
    )
}
