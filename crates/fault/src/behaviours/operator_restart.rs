//! A Kubernetes operator restarts the cluster in its own way. The order of pods is the operator's
//! choice and is only observed.

use crate::behaviour::{Fault, Tell, Work};
use crate::cluster_under_test::{HealResult, World};
use crate::observation::{self, Observation, both};
use anyhow::Result;
use std::time::Duration;
use target_spec::fault::{Hit, Options};

/// Returns the implementation.
pub(crate) fn behaviour(_: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Restart::default())
}

#[derive(Default)]
struct Restart {
    /// Pods before the fault. Empty until it begins.
    before: Vec<String>,
    /// True for each node that is up again in a new pod.
    back: Vec<bool>,
    began_ns: u64,
    /// Description of the request to the operator.
    told: String,
}

impl Fault for Restart {
    fn inject(&mut self, world: &mut dyn World, _: Duration) -> Result<()> {
        let nodes = 0..world.nodes().len();
        let before: Result<Vec<String>> = nodes.map(|node| Ok(world.pod(node)?.uid)).collect();
        self.before = before?;
        self.back = vec![false; self.before.len()];
        self.began_ns = world.now_ns();
        self.told = world.restart_pods()?;
        Ok(())
    }

    fn look(&mut self, world: &mut dyn World, limit: Duration) -> Observation {
        let pods = observation::or_unseen("the cluster", self.pods(world));
        let clients = observation::all_clients(world, limit);
        Observation {
            broken: pods.broken,
            whole: both(pods.whole, clients.whole),
            words: format!("{}, {}", pods.words, clients.words),
        }
    }

    fn proceed(&mut self, world: &mut dyn World) -> Result<Work> {
        for node in 0..self.before.len() {
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
            return Ok(Work::Done(format!(
                "{count} nodes were restarted by {}",
                self.told
            )));
        }
        Ok(Work::Going)
    }

    /// The operator finishes by itself, so healing only waits.
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
    /// Observes which pods were replaced, and if all are ready.
    fn pods(&self, world: &mut dyn World) -> Result<Observation> {
        let (mut others, mut away) = (Vec::new(), Vec::new());
        for node in 0..world.nodes().len() {
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
            broken: Some(!others.is_empty()),
            whole: Some(away.is_empty()),
            words: if self.before.is_empty() {
                format!("the cluster reports: {ready}")
            } else {
                let anew = of(&others, "the operator replaced no pod", "made anew");
                format!("the cluster reports: {anew}, {ready}")
            },
        })
    }
}
