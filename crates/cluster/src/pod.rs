//! A pod as somebody holds it who breaks it: only what the command line names is done to one of
//! others, and its node is followed to where it comes back.

use crate::door::Door;
use crate::moves::Moves;
use crate::service::may;
use anyhow::Result;
use kubernetes::{Deletion, Isolation, NodePod, Operator, PodSeen};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use target::{Invocation, NodeAct};

/// Who runs all nodes in Kubernetes.
#[derive(Clone, Debug)]
pub struct OperatorHandle {
    pub(crate) operator: Operator,
    /// The pods of the nodes.
    pub(crate) pods: Vec<Arc<NodePod>>,
    pub(crate) door: Option<Door>,
}

impl OperatorHandle {
    /// Has all nodes restarted in its way, and does not wait for that; what it was told.
    ///
    /// # Errors
    /// The command line does not name it, or it refuses it.
    pub fn restart(&self) -> Result<String> {
        may(self.door.as_ref(), NodeAct::Pods, "the cluster")?;
        let pods: Vec<&NodePod> = self.pods.iter().map(Arc::as_ref).collect();
        self.operator.restart(&pods)
    }
}

/// The pod of a node or of a host.
#[derive(Clone, Debug)]
pub struct PodHandle {
    pub(crate) pod: Arc<NodePod>,
    /// That of its node.
    pub(crate) name: String,
    /// Where its node answers CQL, as it is known.
    pub(crate) known: SocketAddr,
    pub(crate) moves: Moves,
    pub(crate) door: Option<Door>,
}

impl PodHandle {
    /// What the cluster tells of it. Where its node is now is known to all from then on.
    ///
    /// # Errors
    /// It does not tell.
    pub fn seen(&self) -> Result<PodSeen> {
        let seen = self.pod.seen()?;
        if let Some(ip) = seen.address.filter(|_| seen.is_ready) {
            self.moves.note(self.known, SocketAddr::new(ip, self.known.port()));
        }
        Ok(seen)
    }

    /// Whether pods may be put on a machine of its cluster.
    ///
    /// # Errors
    /// The cluster does not tell.
    pub fn is_schedulable(&self, machine: &str) -> Result<bool> {
        self.pod.is_schedulable(machine)
    }

    /// Has it deleted.
    ///
    /// # Errors
    /// The command line does not name it, nobody would make it again, or the cluster refuses it.
    pub fn delete(&self, how: Deletion) -> Result<()> {
        self.may(NodeAct::Pods)?;
        self.pod.delete(how)
    }

    /// The programs that keep pods off its machine, and let them there again.
    ///
    /// # Errors
    /// The command line does not name it, or the cluster does not tell where it is.
    pub fn cordon(&self) -> Result<[Invocation; 2]> {
        self.may(NodeAct::Pods)?;
        let program = |words| Invocation {
            words,
            folder: PathBuf::from("/"),
        };
        Ok(self.pod.cordon()?.map(program))
    }

    /// Cuts it off by a network policy, as long as what is returned is held.
    ///
    /// # Errors
    /// The command line does not name it, or the cluster refuses it.
    pub fn isolate(&self) -> Result<Isolation> {
        self.may(NodeAct::Network)?;
        self.pod.isolate()
    }

    fn may(&self, act: NodeAct) -> Result<()> {
        may(self.door.as_ref(), act, &self.name)
    }
}
