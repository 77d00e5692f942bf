//! Client access to simulated nodes.

use super::*;

impl Client for Sim {
    fn connect(&mut self, _: NodeIndex, _: Duration) -> Result<()> {
        Ok(())
    }

    fn is_connected(&mut self) -> bool {
        !self.is(|what| matches!(what, Injection::Reset(_)))
    }

    fn rows(&mut self, node: NodeIndex, view: View, _: Duration) -> Result<Vec<Row>> {
        Ok(self.works.rows(node, view, self.now_ns))
    }

    fn ask(&mut self, node: NodeIndex, limit: Duration) -> Result<()> {
        if self.works.is_starting(node, self.now_ns) {
            bail!("refused");
        }
        if node != HIT {
            return Ok(());
        }
        if self.is_mute() || self.is_cut(None, Some(HIT_HOST)) || self.is_lost(None, HIT_HOST, CQL)
        {
            self.now_ns += limit.as_nanos() as u64;
            bail!("the node did not answer before the timeout");
        }
        if self.is_gone() {
            bail!("refused")
        } else {
            Ok(())
        }
    }

    fn clock_off_ms(&mut self, node: NodeIndex, limit: Duration) -> Result<[i64; 2]> {
        self.ask(node, limit)?;
        Ok(long_operations::clock_off_ms(&self.broken))
    }
}
