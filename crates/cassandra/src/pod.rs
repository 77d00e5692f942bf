//! Handles of pods for faults. On attached pods, cassay performs only actions that the command line
//! permits. After a fault, cassay follows a node to the address of its new pod.

use crate::address_map::NodeAddressMap;
use crate::permission_gate::StatementGate;
use crate::service::may;
use anyhow::Result;
use kubernetes::{Deletion, Isolation, NodePod, Operator, PodSeen};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use target_spec::{Invocation, NodeAct};

#[derive(Clone, Debug)]
pub struct OperatorHandle {
    pub operator: Operator,
    pub pods: Vec<Arc<NodePod>>,
    pub door: Option<StatementGate>,
}

impl OperatorHandle {
    /// Makes the operator restart all nodes with its own procedure. Returns a description of the
    /// request without waiting for the restart.
    ///
    /// # Errors
    /// The command line does not permit this action, or the operator refuses it.
    pub fn restart(&self) -> Result<String> {
        may(self.door.as_ref(), NodeAct::Pods, "the cluster")?;
        let pods: Vec<&NodePod> = self.pods.iter().map(Arc::as_ref).collect();
        self.operator.restart(&pods)
    }
}

#[derive(Clone, Debug)]
pub struct PodHandle {
    pub pod: Arc<NodePod>,
    pub name: String,
    /// First CQL address of the node.
    pub known: SocketAddr,
    pub moves: NodeAddressMap,
    pub door: Option<StatementGate>,
}

impl PodHandle {
    /// Reads the status of the pod from Kubernetes. If the pod is ready, records the current
    /// address of its Cassandra node in `moves`.
    ///
    /// # Errors
    /// Kubernetes does not answer.
    pub fn refresh(&self) -> Result<PodSeen> {
        let seen = self.pod.status()?;
        if let Some(ip) = seen.address.filter(|_| seen.is_ready) {
            self.moves.note(self.known, SocketAddr::new(ip, self.known.port()));
        }
        Ok(seen)
    }

    /// Returns true if the Kubernetes node `machine` accepts new pods.
    ///
    /// # Errors
    /// Kubernetes does not answer.
    pub fn is_schedulable(&self, machine: &str) -> Result<bool> {
        self.pod.is_schedulable(machine)
    }

    /// # Errors
    /// The command line does not permit this action, the pod has no controller that would recreate
    /// the pod, or Kubernetes refuses the deletion.
    pub fn delete(&self, how: Deletion) -> Result<()> {
        self.may(NodeAct::Pods)?;
        self.pod.delete(how)
    }

    /// Returns the commands that cordon and uncordon the Kubernetes node of the pod.
    ///
    /// # Errors
    /// The command line does not permit this action, or Kubernetes does not report the Kubernetes
    /// node of the pod.
    pub fn cordon(&self) -> Result<[Invocation; 2]> {
        self.may(NodeAct::Pods)?;
        let program = |words| Invocation {
            words,
            folder: PathBuf::from("/"),
        };
        Ok(self.pod.cordon()?.map(program))
    }

    /// Isolates the pod by a network policy until the caller drops the returned value.
    ///
    /// # Errors
    /// The command line does not permit this action, or Kubernetes refuses it.
    pub fn isolate(&self) -> Result<Isolation> {
        self.may(NodeAct::Network)?;
        self.pod.isolate()
    }

    fn may(&self, act: NodeAct) -> Result<()> {
        may(self.door.as_ref(), act, &self.name)
    }
}
