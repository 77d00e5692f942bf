//! Pods of simulated nodes.

use super::*;

/// Time from the deletion of a pod until a new pod runs.
const BACK_NS: u64 = 2 * S;

impl Sim {
    fn is_cordoned(&self) -> bool {
        self.is(|what| matches!(what, Injection::Command { .. }))
    }

    pub fn is_podless(&self) -> bool {
        let is_away = |gone_ns: u64| {
            self.stays_broken || self.is_cordoned() || self.now_ns < gone_ns + BACK_NS
        };
        self.pod_gone_ns.is_some_and(is_away)
    }
}

impl Pods for Sim {
    fn pod(&mut self, node: NodeIndex) -> Result<PodSeen> {
        if self.now_ns < self.unseen_until_ns || self.is_unlooked() {
            bail!("the cluster is away");
        }
        let gone_ns = match self.rolled_ns {
            // The operator replaces the last pod first, and each other pod when the previous one is
            // ready.
            Some(ns) => Some(ns + (2 - node.0 as u64) * BACK_NS),
            None => self.pod_gone_ns,
        };
        let is_away = |gone_ns: u64| (gone_ns..gone_ns + BACK_NS).contains(&self.now_ns);
        let is_rolling = self.rolled_ns.is_some() && gone_ns.is_some_and(is_away);
        let uid = gone_ns.filter(|gone_ns| *gone_ns <= self.now_ns);
        Ok(PodSeen {
            name: format!("db-{}", node.0),
            node: if uid.is_some() { "m2" } else { "m1" }.to_owned(),
            uid: uid.map(|ns| ns.to_string()).unwrap_or_default(),
            is_ready: !is_rolling && !self.is_podless() && self.now_ns >= self.slow_until_ns,
            ..PodSeen::default()
        })
    }

    fn is_schedulable(&mut self, _: NodeIndex, machine: &str) -> Result<bool> {
        Ok(machine != "m1" || !self.is_cordoned())
    }

    fn delete_pod(&mut self, _: NodeIndex, _: Deletion) -> Result<()> {
        // The controller creates a new pod after every deletion, so this injection has no deadline.
        self.injected.push(Duration::MAX);
        if !self.breaks_another {
            self.pod_gone_ns = Some(self.now_ns);
        }
        Ok(())
    }

    fn restart_pods(&mut self) -> Result<String> {
        if !self.breaks_another {
            self.rolled_ns = Some(self.now_ns);
        }
        Ok("a rollout".to_owned())
    }

    fn cordon(&mut self, node: NodeIndex, within: Duration) -> Result<()> {
        let nothing = || target_spec::Invocation {
            words: Vec::new(),
            folder: PathBuf::new(),
        };
        let what = Injection::Command {
            inject: nothing(),
            heal: nothing(),
        };
        self.inject(ExecutedBy::Node(node), what, &[], within)
    }

    fn isolate(&mut self, _: HostIndex) -> Result<()> {
        self.injected.push(Duration::MAX);
        self.is_isolated = !self.breaks_another;
        Ok(())
    }
}
