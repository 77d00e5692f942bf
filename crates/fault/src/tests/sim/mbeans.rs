//! MBean operations of simulated nodes.

use super::*;

impl Mbeans for Sim {
    fn operate(&mut self, node: usize, what: Operation, _: Duration) -> Result<()> {
        if !matches!(what, Operation::Decommission | Operation::RemoveNode { .. }) {
            self.works.operate(node, what, self.now_ns);
            return Ok(());
        }
        if let Operation::RemoveNode { host_id } = &what {
            let is_down = self.standing() == Some(MemberStatus::Down);
            anyhow::ensure!(host_id == "id0" && is_down, "it is alive");
        }
        if self.breaks_another {
            self.stays_member = true;
        }
        self.at_work.push((node, what, self.now_ns + LEAVING_NS));
        Ok(())
    }

    fn operated(&mut self, node: usize) -> Option<Result<String>> {
        let mut at_work = self.at_work.iter();
        let Some((_, what, until)) = at_work.find(|(by, ..)| *by == node) else {
            return self.works.operated(self.now_ns, self.breaks_another);
        };
        let is_over = self.now_ns >= *until;
        is_over.then(|| {
            if self.stays_member {
                bail!("{what:?} is refused")
            } else {
                Ok("the node left the ring".to_owned())
            }
        })
    }

    fn tell(&mut self, _: usize, what: Operation, _: Duration) -> Result<String> {
        self.works.tell(what);
        Ok(String::new())
    }

    fn members(&mut self, node: usize, _: Duration) -> Result<Members> {
        Ok(self.members_of(node))
    }

    fn keyspaces(&mut self, _: usize, _: Duration) -> Result<Vec<String>> {
        Ok(vec!["shop".to_owned()])
    }

    fn live(&mut self, _: usize, _: Duration) -> Result<Vec<String>> {
        let nodes = self.nodes().into_iter();
        Ok(nodes.map(|node| node.storage.ip().to_string()).collect())
    }
}
