//! A Kubernetes operator restarts the cluster with its own procedure, which cassay only observes.

use crate::behaviour::{Fault, Tell, Work};
use crate::cluster_under_test::{HealResult, World};
use crate::observation::{self, Health, Observation, Presence};
use anyhow::Result;
use std::time::Duration;
use target_spec::PerNode;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(_: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Restart::default())
}

#[derive(Default)]
struct Restart {
    /// Uids of the pods before the fault.
    before: PerNode<String>,
    /// True if the node is up again in a new pod.
    back: PerNode<bool>,
    began_ns: u64,
    /// Description of the request to the operator.
    told: String,
}

impl Fault for Restart {
    fn inject(&mut self, world: &mut dyn World, _: Duration) -> Result<()> {
        let nodes = world.nodes().indexes();
        let before: Result<PerNode<String>> = nodes.map(|node| Ok(world.pod(node)?.uid)).collect();
        self.before = before?;
        self.back = self.before.iter().map(|_| false).collect();
        self.began_ns = world.now_ns();
        self.told = world.restart_pods()?;
        Ok(())
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let pods = observation::or_unseen("the cluster", self.pods(world));
        pods.confirm(observation::all_clients(world, limit))
    }

    fn proceed(&mut self, world: &mut dyn World) -> Result<Work> {
        for node in self.before.indexes() {
            let pod = world.pod(node)?;
            let is_back = pod.is_ready && pod.uid != self.before[node];
            if is_back && !std::mem::replace(&mut self.back[node], true) {
                let after_s = (world.now_ns() - self.began_ns) as f64 / 1e9;
                return Ok(Work::Did(format!(
                    "{} is up again as another pod after {after_s:.1} s",
                    pod.name
                )));
            }
        }
        if self.back.iter().all(|is_back| *is_back) {
            let count = self.back.len();
            return Ok(Work::Done(format!("{} restarted {count} nodes", self.told)));
        }
        Ok(Work::Going)
    }

    fn heal(&mut self, _: &mut dyn World, _: Tell<'_>) -> Result<HealResult> {
        Ok(HealResult::default())
    }

    fn healing(&self) -> &'static str {
        "the cluster's operator finishes the restart"
    }

    fn is_ours(&self) -> bool {
        false
    }
}

impl Restart {
    fn pods(&self, world: &mut dyn World) -> Result<Observation> {
        let (mut others, mut away) = (Vec::new(), Vec::new());
        for node in world.nodes().indexes() {
            let pod = world.pod(node)?;
            if self.before.get(node).is_some_and(|before| *before != pod.uid) {
                others.push(pod.name.clone());
            }
            if !pod.is_ready {
                away.push(pod.name);
            }
        }
        let of = |names: &[String], none: &str, what: &str| match names {
            [] => none.to_owned(),
            names => format!("{} {what}", names.join(" and ")),
        };
        let ready = of(&away, "all pods are ready", "not ready");
        Ok(Observation {
            fault: Presence::from(!others.is_empty()),
            target: Health::from(away.is_empty()),
            words: if self.before.is_empty() {
                format!("the cluster reports: {ready}")
            } else {
                let anew = of(&others, "the operator replaced no pod", "created again");
                format!("the cluster reports: {anew}, {ready}")
            },
        })
    }
}
