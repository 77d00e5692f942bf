//! Operations on the pods of a real cluster's nodes.

use super::Live;
use crate::cluster_under_test::{Agents, ExecutedBy, Pods};
use anyhow::{Context, Result};
use cassandra::{Deletion, PodHandle, PodSeen};
use host::Injection;
use std::time::Duration;
use target_spec::{HostIndex, NodeIndex};

impl Live {
    fn pod_of(&self, node: NodeIndex) -> Result<&PodHandle> {
        let known = self.node_handle(node)?;
        known
            .pod
            .as_ref()
            .with_context(|| format!("{} is not a pod of Kubernetes", known.name))
    }
}

impl Pods for Live {
    fn pod(&mut self, node: NodeIndex) -> Result<PodSeen> {
        self.pod_of(node)?.refresh()
    }

    fn is_schedulable(&mut self, node: NodeIndex, machine: &str) -> Result<bool> {
        self.pod_of(node)?.is_schedulable(machine)
    }

    fn delete_pod(&mut self, node: NodeIndex, how: Deletion) -> Result<()> {
        self.pod_of(node)?.delete(how)
    }

    fn restart_pods(&mut self) -> Result<String> {
        let operator = self.handles.operator.as_ref();
        operator.context("no Kubernetes operator manages these nodes")?.restart()
    }

    fn cordon(&mut self, node: NodeIndex, within: Duration) -> Result<()> {
        let [inject, heal] = self.pod_of(node)?.cordon()?;
        let what = Injection::Command { inject, heal };
        self.inject(ExecutedBy::Node(node), what, &[], within)
    }

    fn isolate(&mut self, host: HostIndex) -> Result<()> {
        let known = self.handles.hosts.get(host).context("the host does not exist")?;
        let none = || format!("{} is not a pod of Kubernetes", known.name);
        let isolation = known.pod.as_ref().with_context(none)?.isolate()?;
        self.isolated.push(isolation);
        Ok(())
    }
}
