//! A node is restarted as an administrator would restart it. The node drains and ends, and is
//! started again immediately.

use super::node_stop::Stop;
use crate::behaviour::Fault;
use target_spec::fault::{Hit, Options};

pub(crate) fn behaviour(hit: &Hit, _: &Options) -> Box<dyn Fault> {
    Box::new(Stop(hit.node()))
}
