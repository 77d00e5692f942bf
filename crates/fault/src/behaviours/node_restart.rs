//! A node is restarted as an administrator would restart it: it drains, ends, and starts again
//! immediately.

use super::node_stop::Stop;
use crate::behaviour::Fault;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Stop(hit.node()))
}
