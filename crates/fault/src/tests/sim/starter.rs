//! Starting simulated nodes.

use super::*;
use versions::Release;

impl Starter for Sim {
    fn restartable(&self, _: NodeIndex) -> Result<Restartable> {
        let command = host::process::command("/bin/true".as_ref());
        Restartable::new(*OWN, &command, "/dev/null".as_ref())
    }

    fn stopping(&self, node: NodeIndex) -> Result<Injection> {
        self.restartable(node).map(Injection::Stop)
    }

    fn upgrade(&mut self, node: NodeIndex, to: &Release) -> Result<Injection> {
        self.works.upgrade(node, to.line().pinned);
        self.restartable(node).map(Injection::Stop)
    }

    fn downgrade(&mut self, node: NodeIndex) -> Result<Injection> {
        self.works.downgrade(node)?;
        self.restartable(node).map(Injection::Stop)
    }

    fn killing(&self, node: NodeIndex) -> Result<Injection> {
        self.restartable(node).map(Injection::Kill)
    }

    fn pausing(&self, node: NodeIndex) -> Result<Injection> {
        Ok(Injection::Pause(self.works.process(node)))
    }

    fn anew(&self, node: NodeIndex, _: RestartMode) -> Result<(Restartable, Vec<PathBuf>)> {
        Ok((self.restartable(node)?, vec!["/host/data".into()]))
    }

    fn shifted(&self, node: NodeIndex, _: i64) -> Result<(Restartable, [FileStep; 2])> {
        let step = || FileStep::Remove("/host/clock.so".into());
        Ok((self.restartable(node)?, [step(), step()]))
    }

    fn newcomer(&self, host: HostIndex) -> Result<Join> {
        Ok(long_operations::join(host))
    }

    fn restart(&mut self, _: NodeIndex, _: bool) -> Result<()> {
        self.restarts_count += 1;
        self.has_stopped = false;
        Ok(())
    }
}
