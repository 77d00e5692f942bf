//! A node that is not ours as somebody holds it who restarts it or tells it by signals: by the
//! agent of its own machine, and only what the command line names.

use crate::door::Door;
use anyhow::{Context, Result, bail};
use host::process::Identity;
use host::{Agent, Injection, Service, ServiceBreak, ServiceFault};
use std::sync::Arc;
use std::time::Duration;
use target::NodeAct;

/// How a node that is not ours is stopped, started and told on its machine.
#[derive(Clone, Debug)]
pub struct NodeService {
    /// The agent of its machine.
    pub agent: Arc<Agent>,
    /// The name of that.
    pub host: String,
    pub(crate) service: Service,
    pub(crate) door: Option<Door>,
}

impl NodeService {
    /// Its process as its machine has it now; none if it does not run, or nobody can tell.
    pub fn process(&self) -> Option<Identity> {
        self.agent.find(&self.service).ok().flatten()
    }

    /// What breaks it so, by its agent.
    ///
    /// # Errors
    /// The command line does not name it, or it does not run.
    pub fn breaking(&self, how: ServiceBreak, process: Option<Identity>) -> Result<Injection> {
        for act in acts(how) {
            self.may(*act)?;
        }
        let serves = self.service.serves;
        let stopped = || format!("nothing serves {serves} on {}", self.host);
        Ok(Injection::Service(ServiceFault {
            service: self.service.clone(),
            process: process.with_context(stopped)?,
            how,
        }))
    }

    /// Starts it again, as an operator would; its process, if that shows soon. One that runs and
    /// serves nobody is stopped before.
    ///
    /// # Errors
    /// The command line does not name it, or it cannot be done.
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

    /// That it is done to it: the command line names it.
    ///
    /// # Errors
    /// It does not.
    pub fn may(&self, act: NodeAct) -> Result<()> {
        may(self.door.as_ref(), act, &self.service.serves.to_string())
    }
}

/// That something is done to `what`: it is ours and has no door, or the command line names it.
///
/// # Errors
/// It does not, with what would.
pub(crate) fn may(door: Option<&Door>, act: NodeAct, what: &str) -> Result<()> {
    match door {
        Some(door) if !door.may_do(act) => bail!("{}", refusal(act, what)),
        _ => Ok(()),
    }
}

/// What has to be allowed for it.
pub(crate) fn acts(how: ServiceBreak) -> &'static [NodeAct] {
    match how {
        ServiceBreak::Pause => &[NodeAct::Signal],
        ServiceBreak::Stop => &[NodeAct::Restart],
        ServiceBreak::Kill => &[NodeAct::Signal, NodeAct::Restart],
    }
}

/// Why something is not done to `node`, with what would allow it.
fn refusal(act: NodeAct, node: &str) -> String {
    let what = match act {
        NodeAct::Restart => "is not stopped and started",
        NodeAct::Signal => "is not told by signals",
        NodeAct::Network => "loses no packets and connections",
        NodeAct::Pods => "keeps its pod",
    };
    format!(
        "{node} was not started by cassay, and {what} unless the command line says so\n\
         hint: if that is meant, add --allow {}",
        act.name()
    )
}
