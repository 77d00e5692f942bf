//! A node that is restarted as an operator does it: it drains, ends, and is started at once.

use crate::behaviour::Fault;
use crate::kind::{Hit, Options};
use crate::node_stop::Stop;

/// What carries it out.
pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Stop(hit.node()))
}
