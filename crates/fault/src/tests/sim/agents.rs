//! Injection, healing and observation by simulated agents.

use super::*;

pub const CQL: u16 = 9042;
const STORAGE: u16 = 7000;
const MBEANS: u16 = 8778;

impl Agents for Sim {
    fn nodes(&self) -> PerNode<NodeSeen> {
        let node = |index: NodeIndex| NodeSeen {
            process: Some(self.works.process(index)),
            host: Some(host_of(index)),
            cql: ([10, 0, 0, index.number() as u8], CQL).into(),
            storage: ([10, 0, 0, index.number() as u8], STORAGE).into(),
            ports: vec![CQL, STORAGE, MBEANS],
            is_ours: true,
        };
        let added = usize::from(self.added_ns.is_some());
        (0..ADDED.0 + added).map(NodeIndex).map(node).collect()
    }

    fn refresh(&mut self) {}

    fn hosts(&self) -> PerHost<HostSeen> {
        let host = |index: HostIndex| HostSeen {
            name: index.name(),
            number: index.number(),
            addresses: vec![[10, 0, 0, index.number() as u8].into()],
            folder: "/host".into(),
            device: Some("loop1".to_owned()),
        };
        (0..3).map(HostIndex).map(host).collect()
    }

    fn has_switch(&self) -> bool {
        !self.are_machines
    }

    fn inject(
        &mut self,
        by: ExecutedBy,
        what: Injection,
        nodes: &[NodeIndex],
        within: Duration,
    ) -> Result<()> {
        if by == ExecutedBy::Switch && self.are_machines {
            bail!("there is no switch");
        }
        self.injected.push(within);
        if !self.breaks_another {
            if let (ExecutedBy::Host(at), Injection::HostPackets(losses)) = (by, &what) {
                self.own_losses.extend(losses.iter().map(|loss| (at, loss.clone())));
            }
            self.works.inject(&what, nodes, self.now_ns);
            if let Injection::Join(_) = &what {
                self.added_ns = Some(self.now_ns);
            }
            self.broken.push(what);
        }
        Ok(())
    }

    fn renew(&mut self, within: Duration) -> Result<()> {
        self.renewed.push((self.now_ns, within));
        Ok(())
    }

    fn heal(&mut self) -> Result<HealResult> {
        self.healed_ns = self.now_ns;
        if !self.stays_broken {
            self.broken.clear();
            self.own_losses.clear();
            self.added_ns = None;
            self.is_isolated = false;
        }
        self.has_stopped = self.stops_itself;
        Ok(HealResult {
            by_itself: self.healed_before,
            ..HealResult::default()
        })
    }

    fn heal_node(&mut self, node: NodeIndex) -> Result<()> {
        if self.broken.pop().is_some() {
            self.works.heal(node, self.now_ns);
        }
        Ok(())
    }

    fn see(&mut self, by: ExecutedBy, what: Query) -> Result<QueryAnswer> {
        if self.now_ns < self.unseen_until_ns {
            bail!("its volume is not mounted at present");
        }
        if self.is_unlooked() {
            bail!("the agent is away");
        }
        if let (Query::Process(_), ExecutedBy::Host(_), None) = (&what, by, self.added_ns) {
            return Ok(QueryAnswer::Process(None));
        }
        if let (Query::Process(process), ExecutedBy::Node(node)) = (&what, by)
            && *process != self.works.process(node)
        {
            return Ok(QueryAnswer::Process(None));
        }
        let Query::Reach { address, limit } = what else {
            return Ok(self.answer(what));
        };
        let of = |by: ExecutedBy| match by {
            ExecutedBy::Host(host) => Some(host),
            ExecutedBy::Node(node) => Some(host_of(node)),
            ExecutedBy::Switch => None,
        };
        let nodes = self.nodes();
        let to = nodes.position(|node| node.storage.ip() == address.ip()).map(host_of);
        let from = of(by);
        let delay = self.broken.iter().find_map(|what| match what {
            Injection::LinkTo { link, .. } => link.delay,
            _ => None,
        });
        Ok(QueryAnswer::Reach(
            if (self.is_isolated && (from == Some(HIT_HOST) || to == Some(HIT_HOST)))
                || self.is_cut(from, to)
                || self.is_cut(to, from)
                || to.is_some_and(|to| self.is_lost(from, to, address.port()))
            {
                self.now_ns += limit.as_nanos() as u64;
                Reach::Silent
            } else {
                Reach::Reached(delay.map_or(Duration::ZERO, |delay| delay * 2))
            },
        ))
    }

    fn receive(&mut self, _: ExecutedBy, _: Duration) -> Result<u16> {
        Ok(5000)
    }
}
