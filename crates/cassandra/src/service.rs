//! Service of an attached node. cassay restarts and signals the node through the agent on the
//! node's machine. cassay performs only actions that the command line permits.

use crate::permission_gate::StatementGate;
use anyhow::{Context, Result, bail};
use host::process::Identity;
use host::{Agent, Injection, Service, ServiceBreak, ServiceFault};
use std::sync::Arc;
use std::time::Duration;
use target_spec::NodeAct;

#[derive(Clone, Debug)]
pub struct NodeService {
    /// Agent on the node's machine.
    pub agent: Arc<Agent>,
    pub host: String,
    /// Commands with which the agent finds, stops and starts the node.
    pub service: Service,
    pub door: Option<StatementGate>,
}

impl NodeService {
    /// Returns the node's current process, or `None` if the agent finds no process.
    pub fn process(&self) -> Option<Identity> {
        self.agent.find(&self.service).ok().flatten()
    }

    /// Returns the injection of the fault `how`.
    ///
    /// # Errors
    /// The command line does not permit this action, or the node is not running.
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

    /// Starts the node as an administrator would. Returns its process, or `None` if no process
    /// appears in time. Before the start, stops a process of the node that runs but does not serve
    /// clients.
    ///
    /// # Errors
    /// The command line does not permit this action, or the start fails.
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

    /// # Errors
    /// The command line does not permit this action on the node.
    pub fn may(&self, act: NodeAct) -> Result<()> {
        may(self.door.as_ref(), act, &self.service.serves.to_string())
    }
}

/// Checks that an action on `what` is permitted. Without a permission check (`door`), the target is
/// managed and every action is permitted.
///
/// # Errors
/// The action is not permitted. The message contains the option that would permit it.
pub fn may(door: Option<&StatementGate>, act: NodeAct, what: &str) -> Result<()> {
    match door {
        Some(door) if !door.may_do(act) => bail!("{}", refusal(act, what)),
        _ => Ok(()),
    }
}

/// Returns the actions that the command line must permit for this kind of fault.
pub fn acts(how: ServiceBreak) -> &'static [NodeAct] {
    match how {
        ServiceBreak::Pause => &[NodeAct::Signal],
        ServiceBreak::Stop => &[NodeAct::Restart],
        ServiceBreak::Kill => &[NodeAct::Signal, NodeAct::Restart],
    }
}

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
