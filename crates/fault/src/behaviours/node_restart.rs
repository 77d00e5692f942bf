//! A node that is restarted as an operator does it: it drains, ends, and is started at once.

use super::node_stop::Stop;
use crate::behaviour::Fault;
use target::fault::{Hit, Options};

/// What carries it out.
pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Stop(hit.node()))
}
